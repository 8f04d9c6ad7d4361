//! What a command answers: text for people, JSON for programs, and whether all is well.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

/// Whatever stops a command, as a line for the user.
pub type Failure = Box<dyn Error>;

/// How a command ends.
pub type Outcome = Result<Answer, Failure>;

/// What a command has to say. It is printed at once, at the end.
pub struct Answer {
    pub text: String,
    pub json: Value,
    /// Whether the exit code is 0.
    pub ok: bool,
}

impl Answer {
    /// An answer of a command that has gone well.
    pub fn new(text: impl Into<String>, json: Value) -> Answer {
        Answer { text: text.into(), json, ok: true }
    }

    /// The answer of a command that has failed; its text has gone to the standard error already.
    pub fn failed(failure: &dyn Error) -> Answer {
        Answer { text: String::new(), json: json!({ "error": failure.to_string() }), ok: false }
    }

    /// Prints the answer, and gives the exit code.
    pub fn print(self, as_json: bool) -> ExitCode {
        let mut text = if as_json { self.json.to_string() } else { self.text };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let mut output = io::stdout().lock();
        match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
            Ok(()) => {}
            // Whoever reads has seen enough, as `head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => {
                eprintln!("bitlane: the answer cannot be printed: {error}");
                return ExitCode::FAILURE;
            }
        }
        if self.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Lines in columns as wide as their longest cell.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}
