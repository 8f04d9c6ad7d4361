//! Running cargo and other programs from the root of the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Outcome;

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// Whether builds are not going to be repeated.
static ONCE: AtomicBool = AtomicBool::new(false);

/// Makes [`cargo`] disable incremental compilation from now on, which makes the next build faster but this one slower.
pub fn build_once() {
    ONCE.store(true, Ordering::Relaxed);
}

/// Returns a cargo command that runs at the root of the workspace.
pub fn cargo(arguments: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(root()).args(arguments.split_whitespace());
    if ONCE.load(Ordering::Relaxed) {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Runs a command to its end. Fails, naming the command, unless it succeeds.
pub fn finish(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}

/// The target passed to builds with their own compiler flags. With an explicit target, cargo does not apply the flags
/// to build scripts.
pub const HOST: &str = "x86_64-unknown-linux-gnu";

/// Gives a build unstable compiler flags, and makes the stable compiler accept them.
pub fn unstable(mut cargo: Command, flags: &str) -> Command {
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags);
    cargo
}
