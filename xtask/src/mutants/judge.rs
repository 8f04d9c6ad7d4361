//! Runs tests on a mutant, and distinguishes a mutant that is caught from all other outcomes.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::tree::Tree;
use crate::run::root;
use crate::{Failure, virtual_cuda, wheels};

/// The time limit for the tests of a mutant.
pub const PATIENCE: Duration = Duration::from_secs(150);

/// The time limit for tests without a mutant, which compile every kernel they use.
pub const PATIENCE_WITHOUT: Duration = Duration::from_secs(900);

/// How long to wait for the message of a failed test.
const LATE: Duration = Duration::from_millis(300);

/// How a kernel that NVRTC refuses shows in the output of a test, as `Display` and as `Debug`.
const REFUSED_KERNEL: [&str; 2] = ["cannot compile ", "Compile { kernel"];

/// The outcome for a mutant.
pub enum Verdict {
    /// A test failed: its name, and the first line of its message.
    Caught { test: String, said: String },
    /// Every test passed.
    Survived,
    /// The tests did not finish in time. This does not count as caught.
    Hung,
    /// The mutant does not compile, as Rust or as CUDA, so it tests nothing.
    Broken(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Caught { test, said } => {
                write!(f, "caught by {test}: {}", said.chars().take(150).collect::<String>())
            }
            Verdict::Survived => f.write_str("SURVIVED"),
            Verdict::Hung => f.write_str("HUNG"),
            Verdict::Broken(line) => write!(f, "DOES NOT COMPILE: {line}"),
        }
    }
}

/// Runs tests in the copy of the tree, on the CPU and the virtual device.
pub struct Judge {
    tree: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Judge {
    pub fn new(tree: &Tree) -> Result<Judge, Failure> {
        let (driver, nvrtc) = (virtual_cuda::build()?, wheels::NVRTC_12.path()?);
        let folder = root().join("target/mutants");
        let mut variables = virtual_cuda::variables(&driver, &nvrtc).to_vec();
        variables.extend([
            ("BITLANE_CACHE", folder.join("cache").display().to_string()),
            ("CARGO_TARGET_DIR", folder.join("target").display().to_string()),
            // Linking is faster without debug information.
            ("CARGO_PROFILE_DEV_DEBUG", "0".into()),
            ("CARGO_TERM_COLOR", "never".into()),
            ("VCUDA_QUIET", "1".into()),
        ]);
        Ok(Judge { tree: tree.root().into(), variables })
    }

    fn cargo(&self, tests: &str, more: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        command
            .current_dir(&self.tree)
            .args(["test", "--features", "bitlane/cuda,bitlane/dlpack,bitlane/models"])
            .args(tests.split_whitespace())
            .args(more)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Builds the tests and runs them up to the first failure.
    pub fn run(&self, tests: &str, patience: Duration) -> Result<Verdict, Failure> {
        let built = self.cargo(tests, &["--no-run"]).output()?;
        if !built.status.success() {
            let said = String::from_utf8_lossy(&built.stderr);
            let error = said.lines().find(|line| line.starts_with("error"));
            return Ok(Verdict::Broken(error.unwrap_or("no message").into()));
        }
        // With one thread, libtest would print the start of a line before the test and its end after it.
        let more = ["--", "--nocapture", "--format=pretty", "--test-threads=2"];
        let mut command = self.cargo(tests, &more);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A process group of its own, so that programs started by the tests are killed with them.
        let mut child = command.process_group(0).spawn()?;
        let watched = watch(&mut child, patience);
        end(&mut child);
        let status = child.wait()?;
        Ok(match watched {
            Watched::Hung => Verdict::Hung,
            Watched::Failed(test, lines) => caught(test, &lines),
            // No test failed, but the program did not succeed: it has crashed.
            Watched::Ended(lines) if !status.success() => {
                caught("the death of the test program".into(), &lines)
            }
            Watched::Ended(lines) if !lines.iter().any(|line| line.ends_with("... ok")) => {
                return Err(format!("`cargo test {tests}` runs no test").into());
            }
            Watched::Ended(_) => Verdict::Survived,
        })
    }
}

enum Watched {
    Failed(String, Vec<String>),
    Ended(Vec<String>),
    Hung,
}

/// Reads the output of the tests until one has failed, all have ended, or the time limit is reached.
fn watch(child: &mut Child, patience: Duration) -> Watched {
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        read_lines(output, sender.clone());
    }
    if let Some(errors) = child.stderr.take() {
        read_lines(errors, sender);
    }
    let deadline = Instant::now() + patience;
    let mut lines = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok(line) => {
                let failed = failed_test(&line);
                lines.push(line);
                if let Some(test) = failed {
                    // The message goes through another pipe than the result, and may arrive later.
                    let late = Instant::now() + LATE;
                    let left = || late.saturating_duration_since(Instant::now());
                    lines.extend(std::iter::from_fn(|| receiver.recv_timeout(left()).ok()));
                    return Watched::Failed(test, lines);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Watched::Ended(lines),
            Err(RecvTimeoutError::Timeout) => return Watched::Hung,
        }
    }
}

fn read_lines(output: impl Read + Send + 'static, lines: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            let Ok(line) = line else { return };
            // The receiver is gone once a test has failed.
            if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
}

/// Returns the name of the test that a line of libtest reports as failed.
fn failed_test(line: &str) -> Option<String> {
    let named = line.strip_suffix(" ... FAILED")?;
    // A test's own output may precede it on the line, and libtest-mimic pads names to the same length.
    named.rfind("test ").map(|at| named[at + "test ".len()..].trim_end().into())
}

fn caught(test: String, lines: &[String]) -> Verdict {
    if let Some(line) =
        lines.iter().find(|line| REFUSED_KERNEL.iter().any(|words| line.contains(words)))
    {
        return Verdict::Broken(line.clone());
    }
    // Skip the exit status that a test which runs its body in another process prints first.
    let said = lines
        .windows(2)
        .filter(|pair| pair[0].contains("panicked at "))
        .map(|pair| &pair[1])
        .find(|said| !said.starts_with("exit status") && !said.starts_with("signal"))
        .or(lines.last());
    Verdict::Caught { test, said: said.cloned().unwrap_or_default() }
}

/// Kills the tests and all programs that they have started, which may have ended already.
fn end(child: &mut Child) {
    let group = format!("-{}", child.id());
    // This fails if nothing is left to kill.
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_from_the_output() {
        assert_eq!(failed_test("test a::b ... FAILED").as_deref(), Some("a::b"));
        assert_eq!(failed_test("noise test c ... FAILED").as_deref(), Some("c"));
        assert_eq!(failed_test("test a::b ... ok"), None);
    }

    #[test]
    fn a_kernel_that_does_not_compile_is_no_catch() {
        let lines = |said: &str| vec!["thread 't' panicked at x.rs:1:2:".into(), said.into()];
        let verdict = |said| caught("t".into(), &lines(said));
        assert!(matches!(verdict("1, not 2"), Verdict::Caught { .. }));
        assert!(matches!(verdict("cannot compile add_i32 (…): …"), Verdict::Broken(_)));
    }
}
