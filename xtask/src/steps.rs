//! Steps of a long task: each is announced, timed, and listed at the end.

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clap::Parser;

use crate::aside::{Aside, Output, said_by};
use crate::run::{cargo, finish};
use crate::{Failure, Outcome, Task, parallel};

/// The steps done so far.
pub struct Steps {
    /// A step that fails is not the last one: what takes so long should tell all it knows.
    keep_going: bool,
    /// Steps without this in their name are left out.
    only: Option<String>,
    start: Instant,
    passed: Vec<(String, f64)>,
    failed: Vec<String>,
    /// A test whose name ends like this may be ignored; any other that is makes its step fail.
    may_be_ignored: Option<&'static str>,
    /// Steps that this machine cannot run, and why.
    not_run: Vec<(String, String)>,
}

impl Steps {
    pub fn new(
        keep_going: bool,
        only: Option<String>,
        may_be_ignored: Option<&'static str>,
    ) -> Steps {
        Steps {
            keep_going,
            only,
            may_be_ignored,
            start: Instant::now(),
            passed: Vec::new(),
            failed: Vec::new(),
            not_run: Vec::new(),
        }
    }

    pub fn cargo(&mut self, name: &str, arguments: &str) -> Outcome {
        self.run(name, || finish(&mut cargo(arguments)))
    }

    /// Runs another command of this program.
    pub fn task(&mut self, words: &str) -> Outcome {
        let words = ["xtask"].into_iter().chain(words.split_whitespace());
        let name = format!("cargo {}", words.clone().collect::<Vec<_>>().join(" "));
        self.run(&name, || Task::try_parse_from(words)?.run())
    }

    /// Whether a step of this name is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }

    pub fn run(&mut self, name: &str, step: impl FnOnce() -> Outcome) -> Outcome {
        self.run_for(name, [], step)
    }

    /// Runs a step that others need, if it or one of them is asked for.
    pub fn run_for(
        &mut self,
        name: &str,
        others: impl IntoIterator<Item = String>,
        step: impl FnOnce() -> Outcome,
    ) -> Outcome {
        if !others.into_iter().chain([name.into()]).any(|name| self.wants(&name)) {
            return Ok(());
        }
        println!("== {name}");
        let start = Instant::now();
        let outcome = step().map(|()| start.elapsed().as_secs_f64());
        self.note(name, outcome)
    }

    /// Remembers a step that this machine cannot run. It is listed at the end, and never as one that passed.
    pub fn not_run(&mut self, name: &str, reason: String) {
        if self.wants(name) {
            println!("== {name} is NOT run: {reason}");
            self.not_run.push((name.into(), reason));
        }
    }

    /// Remembers how long a step took, or that it failed.
    fn note(&mut self, name: &str, outcome: Result<f64, Failure>) -> Outcome {
        match outcome {
            Ok(seconds) => self.passed.push((name.into(), seconds)),
            Err(reason) if self.keep_going => {
                eprintln!("{name}: {reason}");
                self.failed.push(name.into());
            }
            Err(reason) => return Err(format!("{name}: {reason}").into()),
        }
        Ok(())
    }

    /// Runs commands side by side, one on each core, since most leave the others idle at times. What each prints is
    /// shown when it has ended, and each is a step of its own.
    pub fn side_by_side(&mut self, commands: Vec<(String, Command)>) -> Outcome {
        let may_be_ignored = self.may_be_ignored;
        let commands: Vec<_> = commands
            .into_iter()
            .filter(|(name, _)| self.wants(name))
            .map(|(name, command)| (name, Mutex::new(command)))
            .collect();
        let results = parallel::map("side by side", &commands, |(name, command)| {
            let mut command = command.lock().unwrap_or_else(PoisonError::into_inner);
            let start = Instant::now();
            let (said, outcome) = said_by(&mut command);
            println!("== {name}\n{}", said.trim_end());
            outcome?;
            // What a test program does not find it reports as ignored, and ends well.
            match ignored(&said, may_be_ignored) {
                Some(test) => Err(format!("{test} was ignored").into()),
                None => Ok(start.elapsed().as_secs_f64()),
            }
        });
        for ((name, _), outcome) in commands.iter().zip(results) {
            self.note(name, outcome)?;
        }
        Ok(())
    }

    /// Waits for what has run beside the steps, shows what it has said, and counts it among them.
    pub fn join(&mut self, aside: Aside) -> Outcome {
        let start = Instant::now();
        let all = aside.finish();
        if all.is_empty() {
            return Ok(());
        }
        self.passed.push(("waiting for what runs beside".into(), start.elapsed().as_secs_f64()));
        for Output { name, seconds, outcome, said } in all {
            println!("== {name}, beside the steps above\n{}", said.trim_end());
            self.note(&format!("{name}, beside others"), outcome.map(|()| seconds))?;
        }
        Ok(())
    }

    pub fn report(&self) -> Outcome {
        let minutes = self.start.elapsed().as_secs_f64() / 60.0;
        println!("\n{} steps passed in {minutes:.1} minutes:", self.passed.len());
        for (name, seconds) in &self.passed {
            println!("  {seconds:6.1} s  {name}");
        }
        if !self.not_run.is_empty() {
            println!("{} steps were NOT run:", self.not_run.len());
        }
        for (name, reason) in &self.not_run {
            println!("  {name}: {reason}");
        }
        if self.passed.is_empty() && self.failed.is_empty() && self.not_run.is_empty() {
            return Err("no step has such a name".into());
        }
        if self.failed.is_empty() {
            return Ok(());
        }
        Err(format!("{} steps failed: {}", self.failed.len(), self.failed.join("; ")).into())
    }
}

/// Returns a test that a test program has ignored, but for those whose names end in `except`.
fn ignored<'a>(said: &'a str, except: Option<&str>) -> Option<&'a str> {
    // What other tests print can stand before a name.
    let before = said.lines().filter_map(|line| Some(line.split_once(" ... ignored")?.0));
    let mut names = before.filter_map(|before| before.split_whitespace().last());
    names.find(|name| !except.is_some_and(|end| name.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(line: &str) -> Vec<(String, Command)> {
        let mut command = Command::new("echo");
        command.arg(line);
        vec![("results of here".into(), command)]
    }

    #[test]
    fn an_ignored_test_is_a_failure() {
        let mut steps = Steps::new(false, None, Some("_of_torch"));
        assert!(steps.side_by_side(says("test a::b ... ok")).is_ok());
        assert!(steps.side_by_side(says("test python::files_of_torch ... ignored")).is_ok());
        for line in ["test a::b   ... ignored", "another's test a::b ... ignored, for a reason"] {
            let failure = steps.side_by_side(says(line)).unwrap_err();
            assert_eq!(failure.to_string(), "results of here: a::b was ignored");
        }
        let mut steps = Steps::new(false, None, None);
        assert!(steps.side_by_side(says("test python::files_of_torch ... ignored")).is_err());
    }

    #[test]
    fn only_what_is_asked_for_is_run() {
        let mut steps = Steps::new(false, Some("results".into()), None);
        assert!(steps.wants("results of here") && !steps.wants("format"));
        steps.run("format", || Err("it ran".into())).unwrap();
        assert_eq!(steps.report().unwrap_err().to_string(), "no step has such a name");
        steps.side_by_side(says("test a::b ... ok")).unwrap();
        steps.report().unwrap();
    }
}
