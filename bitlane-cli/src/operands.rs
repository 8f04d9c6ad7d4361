//! Operands and devices on the command line.

use std::path::{Path, PathBuf};

use bitlane::{Device, Operand, Scalar, Tensor, npy};
use serde_json::{Value, json};

use crate::answer::{Answer, Failure, Outcome};

/// A loaded file, or a number.
pub enum Input {
    Array(Tensor),
    Number(Scalar),
}

impl Input {
    /// Parses a number. Anything else is the path of a `.npy` file, which is loaded.
    pub fn parse(text: &str, device: &Device) -> Result<Input, Failure> {
        match number(text) {
            Some(scalar) => Ok(Input::Number(scalar)),
            None => Ok(Input::Array(npy::load(Path::new(text), device)?)),
        }
    }

    /// Returns the array, unless it is a number.
    pub fn array(&self) -> Option<&Tensor> {
        match self {
            Input::Array(tensor) => Some(tensor),
            Input::Number(_) => None,
        }
    }

    /// Returns the input as an operand.
    pub fn operand(&self) -> Operand<'_> {
        match self {
            Input::Array(tensor) => tensor.into(),
            Input::Number(scalar) => (*scalar).into(),
        }
    }
}

/// Parses a number: decimal, or an integer in hexadecimal (`0x`) or binary (`0b`), all with an optional `-`; `true`,
/// `false`, `inf`, `-inf` and `nan`.
pub fn number(text: &str) -> Option<Scalar> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    // Checked here, because Rust would also parse `infinity` as a number, which may be a path.
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return match text {
            "true" => Some(Scalar::Bool(true)),
            "false" => Some(Scalar::Bool(false)),
            "inf" => Some(Scalar::Float(f64::INFINITY)),
            "-inf" => Some(Scalar::Float(f64::NEG_INFINITY)),
            "nan" => Some(Scalar::Float(f64::NAN)),
            _ => None,
        };
    }
    let digits = digits.replace('_', "");
    let integer = match digits.split_at_checked(2) {
        Some(("0x", hex)) => u64::from_str_radix(hex, 16).ok(),
        Some(("0b", bits)) => u64::from_str_radix(bits, 2).ok(),
        _ => digits.parse().ok(),
    };
    match integer {
        Some(value) if negative => i64::try_from(-i128::from(value)).ok().map(Scalar::Int),
        Some(value) => Some(Scalar::from(value)),
        None => digits
            .parse()
            .ok()
            .map(|value: f64| Scalar::Float(if negative { -value } else { value })),
    }
}

/// Opens a device by its name.
pub fn device(name: &str) -> Result<Device, Failure> {
    match name.split_once(':').unwrap_or((name, "0")) {
        ("best", _) => Ok(Device::best()?),
        ("cpu", "0") => Ok(Device::cpu()),
        ("cuda", number) if number.parse::<usize>().is_ok() => Ok(Device::cuda(number.parse()?)?),
        _ => {
            Err(format!("{name:?} is no device; devices are best, cpu, cuda and cuda:NUMBER")
                .into())
        }
    }
}

/// Saves a result to a file, or prints it.
pub fn deliver(result: &Tensor, output: Option<&PathBuf>) -> Outcome {
    let mut json = json!({
        "dtype": result.dtype().name(),
        "shape": result.shape(),
        "device": result.device().to_string(),
    });
    let Some(path) = output else {
        json["text"] = Value::String(format!("{result:#}"));
        return Ok(Answer::new(result.to_string(), json));
    };
    npy::save(path, result)?;
    json["output"] = Value::String(path.display().to_string());
    let (dtype, shape) = (result.dtype(), result.shape());
    Ok(Answer::new(format!("{}: {dtype}, shape {shape:?}", path.display()), json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_what_is_none() {
        assert_eq!(number("0x1_f"), Some(Scalar::Int(31)));
        assert_eq!(number("-0b11"), Some(Scalar::Int(-3)));
        assert_eq!(number("18446744073709551615"), Some(Scalar::UInt(u64::MAX)));
        assert_eq!(number("-2.5e3"), Some(Scalar::Float(-2500.0)));
        assert_eq!(number("-9223372036854775808"), Some(Scalar::Int(i64::MIN)));
        for path in ["x.npy", "-", "", "infinity", "1.npy", "0x", "e5"] {
            assert_eq!(number(path), None, "{path}");
        }
    }
}
