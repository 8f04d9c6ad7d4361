//! Running cargo and other programs from the root of the workspace.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::{Failure, Outcome};

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// What every command is started with, beside the environment of this program.
static ENVIRONMENT: OnceLock<Vec<(&str, String)>> = OnceLock::new();

/// Sets what [`command`] and [`cargo`] add to the environment from now on. Only the first call counts.
pub fn set_environment(variables: Vec<(&'static str, String)>) {
    let _ = ENVIRONMENT.set(variables);
}

/// Returns a command with the common environment.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.envs(ENVIRONMENT.get().into_iter().flatten().map(|(name, value)| (name, value)));
    command
}

/// Returns a cargo command that runs at the root of the workspace.
pub fn cargo(arguments: &str) -> Command {
    let mut command = command(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(root()).args(arguments.split_whitespace());
    command
}

/// A program that cargo has built.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name of its target.
    pub name: String,
    /// The folder of its package, in which cargo would run it.
    pub package: PathBuf,
    pub path: PathBuf,
    /// Whether it runs tests, rather than being a program that they start.
    pub is_test: bool,
}

/// Runs a build to its end and returns the programs built, including those that were up to date.
pub fn executables(command: &mut Command) -> Result<Vec<Program>, Failure> {
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}", output.status).into());
    }
    let mut programs = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        if let Some(path) = message["executable"].as_str() {
            let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
            programs.push(Program {
                name: message["target"]["name"].as_str().unwrap_or_default().into(),
                package: manifest.parent().unwrap_or(manifest).into(),
                path: path.into(),
                is_test: message["profile"]["test"] == true,
            });
        }
    }
    Ok(programs)
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
