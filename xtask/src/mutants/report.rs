//! The results, for the terminal and as Markdown.

use std::fmt::Write;
use std::fs;
use std::time::Duration;

use super::judge::Verdict;
use super::list::{Mutant, TABLES};
use crate::Outcome;
use crate::run::root;

/// A mutant and its outcome.
pub struct Row {
    pub mutant: &'static Mutant,
    pub verdict: Verdict,
    pub seconds: f64,
}

impl Row {
    pub fn print(&self) {
        println!("{:32} {:5.0} s  {}", self.mutant.name, self.seconds, self.verdict);
        if let Verdict::Caught { said, .. } = &self.verdict {
            println!("{:42} {}", "", said.chars().take(150).collect::<String>());
        }
    }
}

pub fn summary(rows: &[Row], time: Duration) {
    let caught = rows.iter().filter(|row| row.verdict.is_caught()).count();
    let minutes = time.as_secs_f64() / 60.0;
    println!("{caught} of {} mutants were caught, in {minutes:.1} minutes", rows.len());
}

/// Writes the results as a page of the documentation.
pub fn markdown(rows: &[Row], file: &str) -> Outcome {
    let caught = rows.iter().filter(|row| row.verdict.is_caught()).count();
    let mut page = String::from(
        "# Mutation testing\n\n\
         A test suite is worth what it catches. `cargo xtask mutants` applies one mutant at a time to a \
         copy of the sources and runs the tests that should fail, on the CPU and on the virtual CUDA \
         device. A mutant that does not compile, or that only makes the tests hang, does not count as \
         caught. `--list` lists the mutants, `--only NAME` runs one, `--resume` continues an interrupted \
         run. The exact changes are the tables in `xtask/src/mutants`; a unit test of `xtask` fails if \
         one of them no longer applies to the sources.\n\n",
    );
    writeln!(
        page,
        "This page is written by `cargo xtask mutants --markdown FILE`: {caught} of {} mutants are caught.",
        rows.len()
    )?;
    for (what, mutants) in TABLES {
        write!(
            page,
            "\n## {what}\n\n| Mutant | File | What goes wrong | First test to fail |\n|---|---|---|---|\n"
        )?;
        for row in rows.iter().filter(|row| mutants.iter().any(|m| m.name == row.mutant.name)) {
            let Mutant { name, file, breaks, tests, .. } = row.mutant;
            let verdict = match &row.verdict {
                Verdict::Caught { test, .. } => format!("`{test}` (`{tests}`)"),
                other => format!("**{other}**"),
            };
            writeln!(page, "| {name} | `{file}` | {breaks} | {verdict} |")?;
        }
    }
    fs::write(root().join(file), page)?;
    println!("written to {file}");
    Ok(())
}
