//! A line of a golden file: operands, and the answers of the libraries.

use bitlane::{Complex, DType, Device, Rules, Scalar, Tensor, bf16, f8e4m3fn, f8e5m2, f16};
use serde_json::Value;

/// A call that was made to one or more libraries.
pub struct Record {
    pub id: String,
    pub op: String,
    pub params: Value,
    pub operands: Vec<Operand>,
    pub comparison: Option<Comparison>,
    pub tags: Vec<String>,
    pub answers: Vec<Answer>,
}

pub enum Operand {
    Tensor(Elements),
    Scalar(Scalar),
    /// Every value of a dtype or, in a binary operation, the left or the right operands of every pair of bytes.
    Every(DType),
}

/// A tensor, or a view (strides and offset) of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Elements {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub view: Option<(Vec<isize>, usize)>,
    /// Native-endian.
    pub bytes: Vec<u8>,
}

/// How closely a result must match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comparison {
    /// A NaN matches any NaN of its sign.
    NanSign,
    /// A NaN matches any NaN.
    NanAny,
}

pub struct Answer {
    pub rulebooks: Vec<Rules>,
    pub comparison: Option<Comparison>,
    pub content: Content,
}

pub enum Content {
    /// The results, the tolerance in units in the last place, and whether they are views of the operands.
    Tensors {
        tensors: Vec<Elements>,
        ulp: u64,
        shares_memory: bool,
    },
    /// Only digests of a single result.
    Digests {
        dtype: DType,
        shape: Vec<usize>,
        fnv1a64: String,
        sha256: String,
    },
    Error {
        kind: String,
        text: String,
    },
}

impl Record {
    /// Parses all lines of a file.
    pub fn read(lines: &str) -> Vec<Record> {
        lines.lines().map(|line| parse(&serde_json::from_str(line).unwrap())).collect()
    }
}

impl Operand {
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Operand::Tensor(Elements { dtype, .. }) | Operand::Every(dtype) => Some(*dtype),
            Operand::Scalar(_) => None,
        }
    }

    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Operand::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }
}

impl Elements {
    /// Creates the tensor or view on a device.
    pub fn upload(&self, device: &Device) -> Tensor {
        let Some((strides, offset)) = &self.view else {
            return Tensor::from_bytes(self.dtype, &self.bytes, &self.shape, device).unwrap();
        };
        let len = self.bytes.len() / self.dtype.size();
        let base = Tensor::from_bytes(self.dtype, &self.bytes, [len], device).unwrap();
        base.as_strided(&self.shape, strides, *offset).unwrap()
    }

    /// Returns an element as an `f64`, for a float dtype and a tensor that is not a view.
    pub fn float(&self, index: usize) -> f64 {
        let bytes = &self.bytes[index * self.dtype.size()..][..self.dtype.size()];
        match self.dtype {
            DType::F8E4M3FN => f8e4m3fn::from_bits(bytes[0]).to_f64(),
            DType::F8E5M2 => f8e5m2::from_bits(bytes[0]).to_f64(),
            DType::F16 => f16::from_ne_bytes(bytes.try_into().unwrap()).into(),
            DType::BF16 => bf16::from_ne_bytes(bytes.try_into().unwrap()).into(),
            DType::F32 => f32::from_ne_bytes(bytes.try_into().unwrap()).into(),
            DType::F64 => f64::from_ne_bytes(bytes.try_into().unwrap()),
            other => panic!("{other} is no float"),
        }
    }

    pub fn download(tensor: &Tensor) -> Elements {
        Elements {
            dtype: tensor.dtype(),
            shape: tensor.shape().to_vec(),
            view: None,
            bytes: tensor.to_bytes().unwrap(),
        }
    }
}

fn parse(line: &Value) -> Record {
    let mut operands = Vec::new();
    if let Some(inputs) = line["inputs"].as_array() {
        operands.extend(inputs.iter().map(operand));
    }
    operands.extend(["x", "y", "g"].iter().filter_map(|&key| line.get(key)).map(operand));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    Record {
        id: text(&line["id"]),
        op: text(&line["op"]),
        params: line["params"].clone(),
        operands,
        comparison: comparison(line),
        tags: list(&line["tags"]).iter().map(text).collect(),
        answers: list(&line["expect"]).iter().map(answer).collect(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_string()
}

fn comparison(value: &Value) -> Option<Comparison> {
    value.get("cmp").map(|cmp| match cmp.as_str().unwrap() {
        "nan_sign" => Comparison::NanSign,
        "nan_any" => Comparison::NanAny,
        other => panic!("unknown comparison {other}"),
    })
}

fn operand(value: &Value) -> Operand {
    if let Some(dtype) = value.get("exhaustive") {
        return Operand::Every(text(dtype).parse().unwrap());
    }
    match value.get("scalar") {
        Some(category) => Operand::Scalar(scalar(&text(category), &text(&value["value"]))),
        None => Operand::Tensor(elements(value)),
    }
}

fn scalar(category: &str, value: &str) -> Scalar {
    let float = |hex: &str| f64::from_bits(u64::from_str_radix(hex, 16).unwrap());
    match category {
        "bool" => Scalar::Bool(value.parse().unwrap()),
        "int" => value.parse().map_or_else(|_| Scalar::UInt(value.parse().unwrap()), Scalar::Int),
        "float" => Scalar::Float(float(value)),
        "complex" => Scalar::Complex(Complex::new(float(&value[..16]), float(&value[16..]))),
        other => panic!("unknown category {other}"),
    }
}

fn elements(value: &Value) -> Elements {
    let dtype: DType = text(&value["dtype"]).parse().unwrap();
    let numbers = |value: &Value| -> Vec<i64> {
        value.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
    };
    let shape = numbers(&value["shape"]).into_iter().map(|size| size.try_into().unwrap());
    let view = value.get("strides").map(|strides| {
        let strides = numbers(strides).into_iter().map(|stride| stride.try_into().unwrap());
        (strides.collect(), value["offset"].as_u64().unwrap().try_into().unwrap())
    });
    // A complex number is two floats, each written with its most significant digit first.
    let part = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
    let digits = text(&value["bits"]);
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    let mut bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
    if cfg!(target_endian = "little") {
        bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    }
    Elements { dtype, shape: shape.collect(), view, bytes }
}

fn answer(value: &Value) -> Answer {
    let rulebooks = value["lib"].as_array().unwrap();
    let tensors = |tensors: Vec<Elements>| Content::Tensors {
        tensors,
        ulp: value.get("ulp").map_or(0, |ulp| ulp.as_u64().unwrap()),
        shares_memory: value.get("shares_memory").is_some_and(|shares| shares.as_bool().unwrap()),
    };
    let content = if let Some(error) = value.get("error") {
        Content::Error { kind: text(&error["kind"]), text: text(&error["text"]) }
    } else if let Some(digest) = value.get("fnv1a64") {
        let shape = value["shape"].as_array().unwrap();
        Content::Digests {
            dtype: text(&value["dtype"]).parse().unwrap(),
            shape: shape.iter().map(|size| size.as_u64().unwrap() as usize).collect(),
            fnv1a64: text(digest),
            sha256: text(&value["sha256"]),
        }
    } else if let Some(outputs) = value.get("outputs") {
        tensors(outputs.as_array().unwrap().iter().map(elements).collect())
    } else if let Some(gx) = value.get("gx") {
        tensors(vec![elements(gx), elements(&value["gy"])])
    } else {
        tensors(vec![elements(value)])
    };
    Answer {
        rulebooks: rulebooks.iter().map(|lib| text(lib).parse().unwrap()).collect(),
        comparison: comparison(value),
        content,
    }
}
