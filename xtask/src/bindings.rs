//! `cargo xtask bindings`: generates the Rust declarations of `cuda/params.h` with bindgen. They are checked in, so
//! that users need no libclang; `--check` fails if they do not match the header.

use crate::arguments::Arguments;
use crate::{Command, Outcome};

pub const COMMAND: Command = Command {
    name: "bindings",
    usage: "[--check]",
    about: "Generates the Rust declarations of cuda/params.h with bindgen; --check only reports whether they are \
            up to date.",
    run,
};

/// Runs the command again with the feature `bindings`, which is optional because bindgen takes long to build.
#[cfg(not(feature = "bindings"))]
fn run(mut arguments: Arguments) -> Outcome {
    use crate::run::{cargo, finish};
    let check = if arguments.flag("--check") { " --check" } else { "" };
    arguments.finish()?;
    finish(&mut cargo(&format!(
        "run --quiet --release --package xtask --features bindings -- bindings{check}"
    )))
}

#[cfg(feature = "bindings")]
fn run(mut arguments: Arguments) -> Outcome {
    let check = arguments.flag("--check");
    arguments.finish()?;
    let file = crate::run::root().join("src/backend/cuda/params.rs");
    let made = generate()?;
    if !check {
        return Ok(std::fs::write(file, made)?);
    }
    if std::fs::read_to_string(&file)? != made {
        return Err(
            "src/backend/cuda/params.rs is not what cuda/params.h says: run `cargo xtask bindings`"
                .into(),
        );
    }
    println!("src/backend/cuda/params.rs is what cuda/params.h says");
    Ok(())
}

#[cfg(feature = "bindings")]
fn generate() -> Result<String, crate::Failure> {
    let library = crate::wheels::LIBCLANG.path()?;
    // SAFETY: this program has started no other thread yet.
    unsafe { std::env::set_var("LIBCLANG_PATH", library) };
    let header = crate::run::root().join("cuda/params.h");
    let bindings = bindgen::builder()
        .header(header.to_string_lossy())
        .disable_header_comment()
        .raw_line("// Made from cuda/params.h by `cargo xtask bindings`, which also checks that it still is; not to be edited.")
        .allowlist_type("(Bl|bl_).*")
        .allowlist_var("BL_.*")
        .prepend_enum_name(false)
        .derive_default(true)
        .use_core()
        .generate()?;
    Ok(bindings.to_string())
}
