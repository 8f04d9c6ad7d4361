//! The output of a command: text for people, JSON for programs, and the exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::failure::Failure;

/// The result of a command.
pub type Outcome = Result<Answer, Failure>;

/// The output of a command, which is printed at the end.
pub struct Answer {
    pub text: String,
    pub json: Value,
    /// The exit code.
    pub code: u8,
}

impl Answer {
    /// Creates the answer of a command that succeeded.
    pub fn new(text: impl Into<String>, json: Value) -> Answer {
        Answer { text: text.into(), json, code: 0 }
    }

    /// Creates the answer of a command that ran, and found a fault unless `ok`.
    pub fn judged(ok: bool, text: String, json: Value) -> Answer {
        Answer { text, json, code: u8::from(!ok) }
    }

    /// Creates the answer of a command that failed. Its text is empty, because the error is printed to standard error.
    pub fn failed(failure: &Failure) -> Answer {
        let json = json!({ "error": failure.to_string(), "kind": failure.kind() });
        Answer { text: String::new(), json, code: failure.code() }
    }

    /// Prints the answer and returns the exit code.
    pub fn print(self, as_json: bool) -> ExitCode {
        let mut text = if as_json { self.json.to_string() } else { self.text };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let mut output = io::stdout().lock();
        match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
            Ok(()) => {}
            // The reader has closed the pipe, as `head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => {
                eprintln!("bitlane: the answer cannot be printed: {error}");
                return ExitCode::FAILURE;
            }
        }
        ExitCode::from(self.code)
    }
}

/// Formats rows as columns, each as wide as its longest cell.
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
