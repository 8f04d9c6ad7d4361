//! Operands and devices on the command line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bitlane::{Category, DType, Device, Operand, Rules, Scalar, Tensor, npy, safetensors};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};

use crate::answer::{Answer, Outcome};
use crate::failure::Failure;
use crate::names::nearest;

/// A loaded file, or a number.
pub enum Input {
    Array(Tensor),
    Number(Scalar),
}

impl Input {
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

/// Loads operands. A file of several arrays is read once.
pub struct Loader<'a> {
    device: &'a Device,
    archives: RefCell<BTreeMap<PathBuf, BTreeMap<String, Tensor>>>,
}

impl<'a> Loader<'a> {
    pub fn new(device: &'a Device) -> Loader<'a> {
        Loader { device, archives: RefCell::default() }
    }

    /// Parses a number. Anything else is the path of a `.npy` file, or of a file of named arrays with a name after a
    /// colon, `model.safetensors:layer.weight` or `arrays.npz:x`, which may be missing if there is one array.
    pub fn input(&self, text: &str) -> Result<Input, Failure> {
        if let Some(scalar) = number(text) {
            return Ok(Input::Number(scalar));
        }
        for ending in [".safetensors", ".npz"] {
            let named = text.split_once(&format!("{ending}:"));
            let named = named.map(|(stem, name)| (format!("{stem}{ending}"), Some(name)));
            let whole = || text.ends_with(ending).then(|| (text.to_owned(), None));
            if let Some((path, name)) = named.or_else(whole) {
                return self.member(Path::new(&path), name).map(Input::Array);
            }
        }
        let path = Path::new(text);
        if !path.exists() {
            return Err(format!("{text:?} is neither a number nor a file").into());
        }
        Ok(Input::Array(npy::load(path, self.device)?))
    }

    /// Returns an array of a file of named arrays.
    fn member(&self, path: &Path, name: Option<&str>) -> Result<Tensor, Failure> {
        let mut archives = self.archives.borrow_mut();
        if !archives.contains_key(path) {
            let arrays = match path.extension() {
                Some(ending) if ending == "npz" => {
                    npy::load_npz(path, self.device)?.into_iter().collect()
                }
                _ => safetensors::load(path, self.device)?,
            };
            archives.insert(path.to_owned(), arrays);
        }
        let arrays = archives.get(path).into_iter().flatten();
        let names: Vec<&str> = arrays.clone().map(|(name, _)| &**name).collect();
        let wanted = name.or(if let [only] = names[..] { Some(only) } else { None });
        let found = arrays.clone().find(|(name, _)| Some(&***name) == wanted);
        let Some((_, tensor)) = found else {
            let path = path.display();
            return Err(match name.and_then(|name| nearest(name, names.iter().copied())) {
                Some(near) => format!("{path} has no {}; did you mean {near}?", name.unwrap_or("")),
                None => format!(
                    "{path} has {} arrays; name one as {path}:NAME: {}",
                    names.len(),
                    names.join(" ")
                ),
            }
            .into());
        };
        Ok(tensor.clone())
    }
}

/// Parses the name of a dtype.
pub fn dtype(text: &str) -> Result<DType, Failure> {
    text.parse().map_err(|_| {
        let names = || DType::ALL.iter().map(|dtype| dtype.name());
        Failure::usage(match of_another_library(text).or_else(|| nearest(text, names())) {
            Some(near) => format!("unknown dtype {text:?}; did you mean {near}?"),
            None => {
                let names: Vec<_> = names().collect();
                format!("unknown dtype {text:?}; the dtypes are {}", names.join(" "))
            }
        })
    })
}

/// Returns the dtype that NumPy or PyTorch calls by this name, such as `int32`, `bfloat16` and `half`.
fn of_another_library(text: &str) -> Option<&'static str> {
    let name = match text {
        "half" => "f16".into(),
        "float" => "f32".into(),
        "double" => "f64".into(),
        "bool_" => "bool".into(),
        _ => {
            let stems =
                [("uint", "u"), ("int", "i"), ("bfloat", "bf"), ("float", "f"), ("complex", "c")];
            let short = |(stem, short)| Some(format!("{short}{}", text.strip_prefix(stem)?));
            stems.into_iter().find_map(short)?
        }
    };
    DType::ALL.iter().map(|dtype| dtype.name()).find(|known| *known == name)
}

/// Returns the parser of `--rules`.
pub fn rules() -> impl TypedValueParser<Value = Rules> {
    PossibleValuesParser::new(["paddle", "torch", "numpy", "jax"])
        .try_map(|name| name.parse::<Rules>())
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
        ("cuda", number) => match number.parse() {
            Ok(number) => Ok(Device::cuda(number)?),
            Err(_) => Err(no_device(name)),
        },
        _ => Err(no_device(name)),
    }
}

fn no_device(name: &str) -> Failure {
    Failure::usage(format!("unknown device {name:?}; devices are best, cpu, cuda and cuda:NUMBER"))
}

/// Parses the path of `--output`.
pub fn output(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("npy" | "safetensors") => Ok(path),
        _ => Err("the name has to end in .npy or .safetensors".into()),
    }
}

/// Saves a result to a file, or prints it.
pub fn deliver(result: &Tensor, output: Option<&PathBuf>) -> Outcome {
    let (dtype, shape) = (result.dtype(), result.shape());
    let device = result.device().to_string();
    let mut json = json!({ "dtype": dtype.name(), "shape": shape, "device": device });
    let Some(path) = output else {
        json["values"] = values(result)?;
        return Ok(Answer::new(result.to_string(), json));
    };
    match path.extension() {
        Some(ending) if ending == "safetensors" => safetensors::save(path, [("result", result)])?,
        _ => npy::save(path, result)?,
    }
    json["output"] = Value::String(path.display().to_string());
    Ok(Answer::new(format!("{}: {dtype}, shape {shape:?}", path.display()), json))
}

/// Returns all elements as nested arrays. Infinities and NaNs, which JSON lacks, are the words that the command line
/// takes, and a complex number is an array of two.
fn values(tensor: &Tensor) -> Result<Value, Failure> {
    let flat: Vec<Value> = match tensor.dtype().category() {
        Category::Bool => tensor.to_vec::<bool>()?.into_iter().map(Value::from).collect(),
        Category::Int if tensor.dtype() == DType::U64 => {
            tensor.to_vec::<u64>()?.into_iter().map(Value::from).collect()
        }
        Category::Int => {
            tensor.cast(DType::I64)?.to_vec::<i64>()?.into_iter().map(Value::from).collect()
        }
        Category::Float => {
            tensor.cast(DType::F64)?.to_vec::<f64>()?.into_iter().map(float).collect()
        }
        Category::Complex => {
            let elements = tensor.cast(DType::C128)?.to_vec::<bitlane::Complex<f64>>()?;
            elements.into_iter().map(|z| Value::from(vec![float(z.re), float(z.im)])).collect()
        }
    };
    Ok(nested(&mut flat.into_iter(), tensor.shape()))
}

fn float(value: f64) -> Value {
    match value {
        _ if value.is_nan() => "nan".into(),
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        _ => value.into(),
    }
}

fn nested(flat: &mut impl Iterator<Item = Value>, shape: &[usize]) -> Value {
    match shape {
        [] => flat.next().unwrap_or(Value::Null),
        [size, inner @ ..] => (0..*size).map(|_| nested(flat, inner)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_of_other_libraries() {
        let said = |text: &str| dtype(text).unwrap_err().to_string();
        for (text, near) in [
            ("int32", "i32"),
            ("uint8", "u8"),
            ("bfloat16", "bf16"),
            ("float64", "f64"),
            ("complex64", "c64"),
            ("half", "f16"),
            ("f33", "f32"),
        ] {
            assert!(said(text).ends_with(&format!("; did you mean {near}?")), "{}", said(text));
        }
        assert!(said("string").contains("the dtypes are bool u8"));
        assert!(said("int7").contains("the dtypes are bool u8"));
    }

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
