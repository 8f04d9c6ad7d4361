//! Tests that can be shown as ignored where what they need is not there.

/// Makes a test of every function in the list. One that is forgotten here is dead code, about which clippy complains.
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
