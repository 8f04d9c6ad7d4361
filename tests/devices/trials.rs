//! Tests that are reported as ignored if a requirement is missing.

/// Makes a test of every function in the list. A function missing from it is dead code, about which the compiler warns.
macro_rules! trials {
    ($ignored:ident $($module:ident { $($(#[$condition:meta])* $test:ident)* })*) => {
        vec![$($(
            $(#[$condition])*
            libtest_mimic::Trial::test(concat!(stringify!($module), "::", stringify!($test)), || {
                $module::$test();
                Ok(())
            })
            .with_ignored_flag($ignored),
        )*)*]
    };
}
