//! Steps of a long task: each is announced, timed, and listed at the end.

use std::time::Instant;

use crate::arguments::Arguments;
use crate::run::{cargo, finish};
use crate::{Command, Outcome};

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

    pub fn task(&mut self, task: &Command, words: &str) -> Outcome {
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
