//! Commands that run beside the steps of a long task, on the cores that those leave idle.

use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::{Failure, Outcome};

/// A command that has ended.
pub struct Output {
    pub name: String,
    pub seconds: f64,
    pub outcome: Outcome,
    /// All that it has printed.
    pub said: String,
}

/// Commands that run one after the other. If this program ends before they do, they end when they next print.
pub struct Aside(JoinHandle<Vec<Output>>);

impl Aside {
    pub fn start(commands: Vec<(String, Command)>) -> Aside {
        let run = |(name, mut command)| {
            let start = Instant::now();
            let (said, outcome) = said_by(&mut command);
            Output { name, seconds: start.elapsed().as_secs_f64(), outcome, said }
        };
        Aside(thread::spawn(move || commands.into_iter().map(run).collect()))
    }

    /// Waits for the last of them.
    pub fn finish(self) -> Vec<Output> {
        self.0.join().unwrap_or_default()
    }
}

/// Runs a command to its end, without input. Returns what it has printed, and whether it succeeded.
pub fn said_by(command: &mut Command) -> (String, Outcome) {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => return (String::new(), Err(error.into())),
    };
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let ended = || Failure::from(format!("ended with {}", output.status));
    let outcome = if output.status.success() { Ok(()) } else { Err(ended()) };
    (said, outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> (String, Command) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        (script.into(), command)
    }

    #[test]
    fn commands_run_in_order_and_say_how_they_ended() {
        let done = Aside::start(vec![shell("echo one; echo two >&2"), shell("exit 3")]).finish();
        assert_eq!(done.len(), 2);
        assert!(done[0].outcome.is_ok() && done[1].outcome.is_err());
        assert_eq!(done[0].said, "one\ntwo\n");
    }
}
