//! Errors that end a command, in the words of the command line.

use std::fmt;

use bitlane::promote::{Op, result_type};
use bitlane::{Error, Rules};

/// What a build without the feature `cuda` says of every CUDA device.
pub const NO_CUDA: &str =
    "this build has no CUDA; get one with `cargo install bitlane-cli --features cuda`";

/// An error that ends a command, printed as a message for the user.
#[derive(Debug)]
pub struct Failure {
    message: String,
    /// The kind of the library's error, `Usage` for a wrong command line, else `Failure`.
    kind: String,
}

impl Failure {
    /// Creates the error for a command line that is wrong, whatever the machine and its files.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), kind: "Usage".into() }
    }

    /// Returns the word for programs.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the exit code: 2 if the command line is wrong, else 1.
    pub fn code(&self) -> u8 {
        if self.kind == "Usage" { 2 } else { 1 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { message: in_own_words(&error), kind: error.kind().to_string() }
    }
}

macro_rules! failure_from {
    ($($from:ty)*) => {$(
        impl From<$from> for Failure {
            fn from(error: $from) -> Failure {
                Failure { message: error.to_string(), kind: "Failure".into() }
            }
        }
    )*};
}

failure_from! { &str String std::io::Error serde_json::Error }
#[cfg(feature = "cuda")]
failure_from! { bitlane::cuda::cudarc::driver::DriverError }

/// Returns the message of an error with remedies that can be had on the command line.
pub fn in_own_words(error: &Error) -> String {
    match error {
        Error::Promotion { op, lhs, rhs, rules } => {
            let accepts = |other: &&Rules| {
                op.parse::<Op>().is_ok_and(|op| result_type(op, *lhs, *rhs, **other).is_ok())
            };
            let others: Vec<_> = Rules::ALL.iter().filter(accepts).map(rules_word).collect();
            let cast = "convert one with cast in `bitlane eval`";
            let remedy = match &others[..] {
                [] => cast.to_owned(),
                others => {
                    format!("{cast}, or ask for other rules with --rules {}", others.join("|"))
                }
            };
            format!("{op}: {rules} rules give {lhs} and {rhs} no common dtype; {remedy}")
        }
        Error::ScalarOverflow { op, scalar, dtype } => format!(
            "{op}: {scalar} does not fit {dtype}; convert the other operand to a wider dtype with cast in \
             `bitlane eval`"
        ),
        Error::CudaUnavailable { .. } if !cfg!(feature = "cuda") => NO_CUDA.into(),
        other => other.to_string().replace("Device::cpu()", "--device cpu"),
    }
}

/// Returns the name of a rulebook, as `--rules` takes it.
pub fn rules_word(rules: &Rules) -> String {
    rules.name().to_ascii_lowercase()
}
