//! Steps of a long task: each is announced, timed, and listed at the end.

use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::arguments::Arguments;
use crate::aside::Aside;
use crate::run::{cargo, finish};
use crate::{Failure, Outcome, parallel};

/// The steps done so far.
pub struct Steps {
    /// A step that fails is not the last one: what takes so long should tell all it knows.
    keep_going: bool,
    passed: Vec<(String, f64)>,
    failed: Vec<String>,
}

impl Steps {
    pub fn new(keep_going: bool) -> Steps {
        Steps { keep_going, passed: Vec::new(), failed: Vec::new() }
    }

    pub fn cargo(&mut self, name: &str, arguments: &str) -> Outcome {
        self.run(name, || finish(&mut cargo(arguments)))
    }

    pub fn task(&mut self, task: &crate::Command, words: &str) -> Outcome {
        let arguments = Arguments::new(words.split_whitespace().map(str::to_owned));
        self.run(&format!("cargo xtask {} {words}", task.name), || (task.run)(arguments))
    }

    pub fn run(&mut self, name: &str, step: impl FnOnce() -> Outcome) -> Outcome {
        println!("== {name}");
        let start = Instant::now();
        match step() {
            Ok(()) => self.passed.push((name.into(), start.elapsed().as_secs_f64())),
            Err(reason) if self.keep_going => {
                eprintln!("{name}: {reason}");
                self.failed.push(name.into());
            }
            Err(reason) => return Err(format!("{name}: {reason}").into()),
        }
        Ok(())
    }

    /// Builds tests, then runs them two at a time: most have phases on one core alone. What each prints is shown when it
    /// has ended.
    pub fn tests_side_by_side(
        &mut self,
        name: &str,
        build: &mut Command,
        tests: Vec<(String, Command)>,
    ) -> Outcome {
        self.run(&format!("{name}: build"), || finish(build))?;
        self.run(name, || {
            let tests: Vec<_> =
                tests.into_iter().map(|(name, test)| (name, Mutex::new(test))).collect();
            let results = parallel::map("tests", &tests, |(name, test)| {
                let mut test = test.lock().unwrap_or_else(PoisonError::into_inner);
                let start = Instant::now();
                let output = test.stdin(Stdio::null()).output()?;
                let said = [output.stdout, output.stderr].concat();
                let seconds = start.elapsed().as_secs_f64();
                println!(
                    "-- {name}, {seconds:.1} s\n{}",
                    String::from_utf8_lossy(&said).trim_end()
                );
                match output.status.success() {
                    true => Ok(()),
                    false => Err(Failure::from(format!("{name} ended with {}", output.status))),
                }
            });
            let failed: Vec<_> = results.into_iter().filter_map(Result::err).collect();
            match failed.is_empty() {
                true => Ok(()),
                false => Err(failed
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join("; ")
                    .into()),
            }
        })
    }

    /// Waits for what has run beside the steps, shows what it has said, and counts it among them.
    pub fn join(&mut self, aside: Aside) -> Outcome {
        let start = Instant::now();
        let mut all = aside.finish();
        let waited = start.elapsed().as_secs_f64();
        for done in &mut all {
            println!("== {} ({:.1} s, beside other steps)\n{}", done.name, done.seconds, done.said);
            let outcome = std::mem::replace(&mut done.outcome, Ok(()));
            self.run(&format!("{}, beside other steps", done.name), || outcome)?;
        }
        self.passed.push(("waiting for what runs beside other steps".into(), waited));
        Ok(())
    }

    pub fn report(&self) -> Outcome {
        let total: f64 = self.passed.iter().map(|(_, seconds)| seconds).sum();
        println!("\n{} steps passed in {:.1} minutes:", self.passed.len(), total / 60.0);
        for (name, seconds) in &self.passed {
            println!("  {seconds:6.1} s  {name}");
        }
        if self.failed.is_empty() {
            return Ok(());
        }
        Err(format!("{} steps failed: {}", self.failed.len(), self.failed.join("; ")).into())
    }
}
