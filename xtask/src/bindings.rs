//! `cargo xtask bindings`: the Rust twin of `cuda/params.h`, made by bindgen. It is checked in, so that users need no
//! libclang; `--check` fails if it is no longer what the header says.
//!
//! Bindgen takes a minute to build, so the twin begins with a digest of the header and of itself, which says as much as
//! generating it again: neither can have changed without the other. `--check --generate` does not rely on it.

use std::fs;
use std::path::PathBuf;

#[cfg(feature = "bindings")]
use crate::Failure;
use crate::Outcome;
use crate::run::root;

/// Writes the Rust twin of cuda/params.h with bindgen.
#[derive(clap::Args)]
pub struct Options {
    /// Only say whether it is up to date, by a digest.
    #[arg(long)]
    check: bool,
    /// Say so by making it again.
    #[arg(long, requires = "check")]
    generate: bool,
}

const OUTDATED: &str =
    "src/backend/cuda/params.rs is not what cuda/params.h says: run `cargo xtask bindings`";

pub fn run(options: Options) -> Outcome {
    if options.check && !options.generate { check_digest() } else { generate(options.check) }
}

fn header() -> PathBuf {
    root().join("cuda/params.h")
}

fn twin() -> PathBuf {
    root().join("src/backend/cuda/params.rs")
}

/// Returns the first line of the twin: a digest of the header and of all that follows the line.
fn seal(header: &str, declarations: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [header, declarations] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    format!("// Generated from cuda/params.h by `cargo xtask bindings`: {}\n", hasher.finalize())
}

fn check_digest() -> Outcome {
    let twin = fs::read_to_string(twin())?;
    let (line, declarations) = twin.split_at(twin.find('\n').map_or(0, |end| end + 1));
    if line != seal(&fs::read_to_string(header())?, declarations) {
        return Err(OUTDATED.into());
    }
    println!("src/backend/cuda/params.rs is what cuda/params.h says");
    Ok(())
}

/// Starts the command again with bindgen, which is a feature because the other commands need not wait for it.
#[cfg(not(feature = "bindings"))]
fn generate(check: bool) -> Outcome {
    let words = if check { " --check --generate" } else { "" };
    crate::run::finish(&mut crate::run::cargo(&format!(
        "run --quiet --release --package xtask --features bindings -- bindings{words}"
    )))
}

#[cfg(feature = "bindings")]
fn generate(check: bool) -> Outcome {
    let declarations = declarations()?;
    let made = seal(&fs::read_to_string(header())?, &declarations) + &declarations;
    if !check {
        return Ok(fs::write(twin(), made)?);
    }
    if fs::read_to_string(twin())? != made {
        return Err(OUTDATED.into());
    }
    println!("src/backend/cuda/params.rs is what bindgen makes of cuda/params.h");
    Ok(())
}

/// Returns what bindgen makes of the header.
#[cfg(feature = "bindings")]
fn declarations() -> Result<String, Failure> {
    let library = crate::wheels::LIBCLANG.path()?;
    // SAFETY: no other thread of this program runs yet.
    unsafe { std::env::set_var("LIBCLANG_PATH", library) };
    let bindings = bindgen::builder()
        .header(header().to_string_lossy())
        .disable_header_comment()
        .allowlist_type("(Bl|bl_).*")
        .allowlist_var("BL_.*")
        .prepend_enum_name(false)
        .derive_default(true)
        .use_core()
        .generate()?;
    Ok(bindings.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_tells_header_and_twin_apart() {
        let line = seal("ab", "c");
        assert_eq!(line, seal("ab", "c"));
        assert!(
            [seal("a", "bc"), seal("ab", "d"), seal("x", "c")].iter().all(|other| *other != line)
        );
    }
}
