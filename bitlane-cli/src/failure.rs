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
        Error::CudaUnavailable { reason, remedy } => {
            let remedy = match remedy.strip_prefix("use ").filter(|rest| is_of_numbers(rest)) {
                Some(numbers) => format!("use --device cuda:N with N = {numbers}"),
                None => remedy.replace("Device::cpu()", "--device cpu"),
            };
            format!("CUDA is not available: {reason}; {remedy}")
        }
        other => {
            let own = |text: String, (theirs, ours): &(&str, &str)| text.replace(theirs, ours);
            WORDS.iter().fold(other.to_string(), own)
        }
    }
}

/// What the library says to do, and how it is done on the command line.
const WORDS: [(&str, &str); 5] = [
    ("save `x.bitcast(DType::U8)`", "save bitcast(x, u8), or a .safetensors file"),
    (
        "which only a tensor can; call `Tensor::bitcast`",
        "which only an array with a name can; save this one with --output first",
    ),
    ("call `contiguous` first", "save the array in row-major order first"),
    ("drop tensors, or use smaller ones", "use smaller arrays"),
    ("`cast`", "cast"),
];

/// Whether a text is the number of a device, or a range such as `0 to 3`.
fn is_of_numbers(text: &str) -> bool {
    let mut parts = text.splitn(2, " to ");
    parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the name of a rulebook, as `--rules` takes it.
pub fn rules_word(rules: &Rules) -> String {
    rules.name().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitlane::{DType, Device, Tensor};

    #[test]
    fn devices_are_named_as_the_option_names_them() {
        if !cfg!(feature = "cuda") {
            return;
        }
        let said = |remedy: &str| {
            let reason = "there is no device 7".into();
            in_own_words(&Error::CudaUnavailable { reason, remedy: remedy.into() })
        };
        let start = "CUDA is not available: there is no device 7; use --device c";
        assert_eq!(said("use 0"), format!("{start}uda:N with N = 0"));
        assert_eq!(said("use 0 to 3"), format!("{start}uda:N with N = 0 to 3"));
        assert_eq!(said("use Device::cpu()"), format!("{start}pu"));
    }

    /// What the library really says has words of the program in it, and none of Rust.
    #[test]
    fn remedies_are_those_of_the_program() {
        let x = Tensor::zeros([2, 3], DType::F32, &Device::cpu()).unwrap();
        let turned = x.transpose(0, 1).unwrap();
        let resized = x.expr().bitcast(DType::U8).run();
        for (error, words) in [
            (turned.bitcast(DType::U8).unwrap_err(), "row-major order first"),
            (resized.unwrap_err(), "with --output first"),
            (reshaped(&turned), "row-major order first"),
        ] {
            let said = in_own_words(&error);
            assert!(said.contains(words), "{said}");
            assert!(!said.contains(['`']) && !said.contains("::"), "{said}");
        }
    }

    /// The error of a view that no strides express.
    fn reshaped(x: &Tensor) -> Error {
        x.reshape(6).unwrap_err()
    }
}
