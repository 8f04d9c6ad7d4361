//! Steps of a long task: each is announced, timed, and listed at the end.

use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clap::Parser;

use crate::aside::{Aside, Done};
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
    /// Steps that this machine cannot run, and why.
    not_run: Vec<(String, String)>,
}

impl Steps {
    pub fn new(keep_going: bool, only: Option<String>) -> Steps {
        Steps {
            keep_going,
            only,
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
        if !self.wants(name) {
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
        let commands: Vec<_> = commands
            .into_iter()
            .filter(|(name, _)| self.wants(name))
            .map(|(name, command)| (name, Mutex::new(command)))
            .collect();
        let results = parallel::map("side by side", &commands, |(name, command)| {
            let mut command = command.lock().unwrap_or_else(PoisonError::into_inner);
            let start = Instant::now();
            let output = command.stdin(Stdio::null()).output()?;
            let said = [output.stdout, output.stderr].concat();
            println!("== {name}\n{}", String::from_utf8_lossy(&said).trim_end());
            Ok((output.status, start.elapsed().as_secs_f64()))
        });
        for ((name, _), result) in commands.iter().zip(results) {
            let outcome = match result {
                Ok((status, seconds)) if status.success() => Ok(seconds),
                Ok((status, _)) => Err(format!("ended with {status}").into()),
                Err(failure) => Err(failure),
            };
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
        for Done { name, seconds, outcome, said } in all {
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
