//! Processes for the parts of the verdict: a fault on a device ends all work of its process, and must not end the verdict.
//!
//! Such a process runs the steps of a part and tells of each on standard output, in lines of JSON with one key: `steps`
//! with their number, then `begin` with the name and `done` with the outcome of each, then `facts`, and `end` if it has
//! come to the last one. After a fault it leaves early, and the steps that remain are run by another process.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::progress::Progress;

/// How long a step may take. A kernel that does not end takes longer.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// How many processes a part may use up.
const PROCESSES: usize = 12;

/// Tells of something, in the process of a part.
pub fn tell(key: &str, value: Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{}", json!({ key: value }))?;
    output.flush()
}

/// What the processes of a part have told.
pub struct Told {
    /// The facts, as far as they were told, of each process.
    pub facts: Vec<Value>,
    /// Why steps are missing, unless all were run.
    pub outcome: Result<(), String>,
}

/// Runs a part. `command` makes the process that begins with a given step, and `take` gets the outcome of every step: what
/// was told, or why nothing was.
pub fn run(
    title: &'static str,
    patience: Duration,
    command: impl Fn(usize) -> io::Result<Command>,
    mut take: impl FnMut(&str, Result<Value, String>),
) -> Told {
    let mut progress = None;
    let mut facts = Vec::new();
    let mut over = 0;
    let outcome = 'all: {
        for _ in 0..PROCESSES {
            let started = command(over).and_then(|mut command| Process::start(&mut command));
            let mut process = match started {
                Ok(process) => process,
                Err(error) => break 'all Err(format!("a process cannot be started: {error}")),
            };
            let (first, mut current, mut error) = (over, None, None);
            loop {
                let mut told = match process.lines.recv_timeout(patience) {
                    Ok(told) => told,
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {
                        process.kill();
                        error = Some(format!("it took more than {} s", patience.as_secs()));
                        break;
                    }
                };
                if let Some(steps) = told["steps"].as_u64() {
                    progress.get_or_insert_with(|| Progress::new(title, steps as usize));
                } else if let Some(name) = told["begin"].as_str() {
                    if let Some(progress) = &progress {
                        progress.step(name);
                    }
                    current = Some(name.to_owned());
                } else if let (true, Some(name)) = (told["done"] != Value::Null, current.take()) {
                    take(&name, Ok(told["done"].take()));
                    over += 1;
                } else if told["facts"] != Value::Null {
                    facts.push(told["facts"].take());
                } else if told.get("end").is_some() {
                    process.wait();
                    break 'all Ok(());
                } else if let Some(words) = told["error"].as_str() {
                    error = Some(words.to_owned());
                }
            }
            let ended = process.wait();
            let words = error.unwrap_or(ended);
            match current {
                // Its process did not survive it.
                Some(name) => {
                    take(&name, Err(words));
                    over += 1;
                }
                None if over == first => break 'all Err(words),
                None => {}
            }
        }
        Err(format!("given up after {PROCESSES} processes, in each of which something failed"))
    };
    if let Some(progress) = progress {
        progress.finish();
    }
    Told { facts, outcome }
}

/// A process of a part.
struct Process {
    child: Child,
    lines: Receiver<Value>,
    /// Collects what it says on standard error.
    errors: Option<JoinHandle<String>>,
}

impl Process {
    fn start(command: &mut Command) -> io::Result<Process> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (sender, lines) = channel();
        thread::spawn(move || {
            let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
            for line in lines.map_while(Result::ok) {
                // A library may print something else.
                if let Ok(told) = serde_json::from_str(&line)
                    && sender.send(told).is_err()
                {
                    break;
                }
            }
        });
        let errors = thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut errors) = errors {
                let _ = errors.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Ok(Process { child, lines, errors: Some(errors) })
    }

    fn kill(&mut self) {
        // It fails if the process has ended.
        let _ = self.child.kill();
    }

    /// Waits for its end, and describes it.
    fn wait(&mut self) -> String {
        let ended = match self.child.wait() {
            Ok(status) => format!("the process ended with {status}"),
            Err(error) => format!("the process is lost: {error}"),
        };
        let said = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        match said.trim().lines().last() {
            Some(last) => format!("{ended}: {last}"),
            None => ended,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Runs the lines of a shell script per process, and returns the steps and the outcome.
    fn steps(scripts: &[&str]) -> (Vec<String>, Result<(), String>) {
        let mut seen = Vec::new();
        let script = |over: usize| {
            let mut command = Command::new("sh");
            command.args(["-c", scripts[over.min(scripts.len() - 1)]]);
            Ok(command)
        };
        let told = run("test", Duration::from_millis(500), script, |name, outcome| {
            seen.push(format!(
                "{name} {}",
                outcome.map_or_else(|words| words, |value| value.to_string())
            ));
        });
        (seen, told.outcome)
    }

    #[test]
    fn a_step_that_its_process_does_not_survive_is_not_the_last() {
        let first = r#"echo '{"steps":3}'; echo '{"begin":"a"}'; echo oops >&2; exit 3"#;
        let hangs = r#"echo '{"begin":"b"}'; exec sleep 60"#;
        let last = r#"echo noise; echo '{"begin":"c"}'; echo '{"done":7}'; echo '{"end":0}'"#;
        let (seen, outcome) = steps(&[first, hangs, last]);
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert!(seen[0].starts_with("a the process ended with") && seen[0].ends_with("3: oops"));
        assert!(seen[1].starts_with("b it took more than"), "{seen:?}");
        assert_eq!(seen[2], "c 7");
        assert_eq!(outcome, Ok(()));
    }

    #[test]
    fn processes_that_get_nowhere_are_given_up() {
        let (seen, outcome) = steps(&[r#"echo '{"error":"no device"}'; exit 1"#]);
        assert_eq!((seen.len(), outcome), (0, Err("no device".into())));
        let (seen, outcome) = steps(&[r#"echo '{"begin":"x"}'; exit 1"#]);
        assert_eq!(seen.len(), PROCESSES);
        assert!(outcome.unwrap_err().contains("given up"));
    }
}
