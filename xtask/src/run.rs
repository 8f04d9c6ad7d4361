//! Running cargo and other programs from the root of the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Outcome;

/// The root of the workspace.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// Whether builds are for once.
static ONCE: AtomicBool = AtomicBool::new(false);

/// From now on [`cargo`] does without what makes the next build quicker and this one slower.
pub fn build_once() {
    ONCE.store(true, Ordering::Relaxed);
}

/// Cargo, at the root of the workspace.
pub fn cargo(arguments: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(root()).args(arguments.split_whitespace());
    if ONCE.load(Ordering::Relaxed) {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Runs a command to its end; anything but success is an error that shows the command.
pub fn finish(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}

/// The target that is named where a build has flags of its own, so that build scripts go without them.
pub const HOST: &str = "x86_64-unknown-linux-gnu";

/// A build with compiler flags that the stable compiler keeps for nightly ones, but has.
pub fn unstable(mut cargo: Command, flags: &str) -> Command {
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags);
    cargo
}
