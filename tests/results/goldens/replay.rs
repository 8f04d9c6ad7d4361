//! Runs a record and compares the result with a library's answer.

use std::fmt;

use bitlane::{BinaryOp, Category, DType, Device, Error, ErrorKind, Rules, Tensor, binary};
use sha2::{Digest, Sha256};

use super::operations;
use super::record::{Answer, Comparison, Content, Elements, Operand, Record};

/// A library's answer, and the crate's under that library's rulebook.
pub struct Case<'a> {
    pub record: &'a Record,
    pub rules: Rules,
    pub answer: &'a Answer,
    pub ours: Result<Ours, Error>,
}

pub struct Ours {
    pub tensors: Vec<Elements>,
    /// Whether each result is a view of the operand it came from.
    pub shares_memory: bool,
}

impl Ours {
    /// Creates the outcome of a single result that is not a view of an operand.
    fn fresh(result: Tensor) -> Ours {
        Ours { tensors: vec![Elements::download(&result)], shares_memory: false }
    }
}

/// An element in which the two answers differ, given as the bits of its parts.
pub struct Difference {
    pub tensor: usize,
    pub index: usize,
}

impl<'a> Case<'a> {
    /// Runs the operation on a device.
    pub fn run(record: &'a Record, answer: &'a Answer, rules: Rules, device: &Device) -> Case<'a> {
        let ours = match record.op.strip_prefix("atleast_") {
            Some(rank) => atleast(record, rank, device),
            None if record.op == "copysign_grad" => copysign_grad(record, device),
            None => operations::run(record, rules, device)
                .unwrap_or_else(|| elementwise(record, rules, device))
                .map(Ours::fresh),
        };
        Case { record, rules, answer, ours }
    }

    pub fn agrees(&self) -> bool {
        match (&self.answer.content, &self.ours) {
            (Content::Error { kind, .. }, Err(error)) => means(kind, error.kind()),
            (Content::Tensors { tensors, shares_memory, .. }, Ok(ours)) => {
                let forms = |tensors: &[Elements]| {
                    tensors.iter().map(|t| (t.dtype, t.shape.clone())).collect::<Vec<_>>()
                };
                forms(tensors) == forms(&ours.tensors)
                    && self.differences().is_empty()
                    && (!shares_memory || ours.shares_memory)
            }
            (Content::Digests { dtype, shape, fnv1a64, sha256 }, Ok(ours)) => {
                let [ours] = &*ours.tensors else { return false };
                let any_nan = self.record.comparison == Some(Comparison::NanAny);
                let bytes = if any_nan {
                    canonical(ours, self.has_tag("any_zero"))
                } else {
                    ours.bytes.clone()
                };
                (ours.dtype, &ours.shape) == (*dtype, shape)
                    && fnv(&bytes) == *fnv1a64
                    && hex(&Sha256::digest(&bytes)) == *sha256
            }
            _ => false,
        }
    }

    /// Returns the elements in which results of the same dtypes and shapes differ.
    pub fn differences(&self) -> Vec<Difference> {
        let (Content::Tensors { tensors, ulp, .. }, Ok(ours)) = (&self.answer.content, &self.ours)
        else {
            return Vec::new();
        };
        let comparison = self.answer.comparison.or(self.record.comparison);
        // The records were made for floats, of which `abs` keeps the bits. Of complex numbers it is computed.
        let is_computed =
            self.record.op == "abs" && self.x().dtype().is_some_and(DType::is_complex);
        let comparison = comparison.or(is_computed.then_some(Comparison::NanAny));
        let mut differences = Vec::new();
        for (tensor, (theirs, ours)) in tensors.iter().zip(&ours.tensors).enumerate() {
            let part = Part::of(theirs.dtype);
            let per_element = theirs.dtype.size() / part.size;
            let parts =
                theirs.bytes.chunks_exact(part.size).zip(ours.bytes.chunks_exact(part.size));
            for (at, (theirs, ours)) in parts.enumerate() {
                if !part.matches(theirs, ours, comparison, *ulp) {
                    differences.push(Difference { tensor, index: at / per_element });
                }
            }
        }
        differences
    }

    // Predicates for the lists of excuses.

    pub fn is(&self, rules: Rules, ops: &[&str]) -> bool {
        self.rules == rules && ops.contains(&&*self.record.op)
    }

    pub fn is_shift(&self) -> bool {
        self.record.op.ends_with("_shift")
    }

    pub fn has_tag(&self, tag: &str) -> bool {
        self.record.tags.iter().any(|own| own == tag)
    }

    pub fn form(&self) -> &str {
        self.record.params["form"].as_str().unwrap_or_default()
    }

    pub fn x(&self) -> &Operand {
        &self.record.operands[0]
    }

    pub fn y(&self) -> &Operand {
        &self.record.operands[1]
    }

    pub fn categories(&self) -> [Category; 2] {
        [self.x(), self.y()].map(|operand| match operand {
            Operand::Scalar(scalar) => scalar.category(),
            operand => operand.dtype().unwrap().category(),
        })
    }

    pub fn has_dtype(&self, dtypes: &[DType]) -> bool {
        self.record.operands.iter().filter_map(Operand::dtype).any(|own| dtypes.contains(&own))
    }

    /// Returns the library's result, if there is exactly one.
    pub fn theirs(&self) -> Option<&Elements> {
        match &self.answer.content {
            Content::Tensors { tensors, .. } => tensors.first(),
            _ => None,
        }
    }

    pub fn their_dtype(&self) -> Option<DType> {
        self.theirs().map(|tensor| tensor.dtype)
    }

    pub fn our_dtype(&self) -> Option<DType> {
        self.ours.as_ref().ok().map(|ours| ours.tensors[0].dtype)
    }

    pub fn we_refuse_as(&self, kind: ErrorKind) -> bool {
        self.ours.as_ref().is_err_and(|error| error.kind() == kind)
    }
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { id, op, params, operands, tags, .. } = self.record;
        write!(f, "{id} {} {op} {params} {tags:?} of ", self.rules)?;
        for operand in operands {
            match operand {
                Operand::Tensor(elements) => write!(f, "{} ", Shown(elements))?,
                Operand::Scalar(scalar) => write!(f, "{} {scalar} ", scalar.category())?,
                Operand::Every(dtype) => write!(f, "every {dtype} ")?,
            }
        }
        write!(f, "\n  theirs: ")?;
        match &self.answer.content {
            Content::Tensors { tensors, shares_memory, .. } => {
                tensors.iter().try_for_each(|tensor| write!(f, "{} ", Shown(tensor)))?;
                write!(f, "({:?}, shared: {shares_memory})", self.answer.comparison)?;
            }
            Content::Digests { dtype, sha256, .. } => write!(f, "{dtype} of digest {sha256}")?,
            Content::Error { kind, text } => write!(f, "{kind}: {text}")?,
        }
        write!(f, "\n  ours:   ")?;
        match &self.ours {
            Ok(ours) => {
                ours.tensors.iter().try_for_each(|tensor| write!(f, "{} ", Shown(tensor)))?;
                write!(f, "(shared: {})", ours.shares_memory)?;
            }
            Err(error) => write!(f, "{:?}: {error}", error.kind())?,
        }
        let differences = self.differences();
        if !differences.is_empty() {
            let at: Vec<_> = differences.iter().map(|d| (d.tensor, d.index)).collect();
            write!(f, "\n  differ at (result, element) {at:?}")?;
        }
        Ok(())
    }
}

/// A tensor in a message, truncated if it is long.
struct Shown<'a>(&'a Elements);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Elements { dtype, shape, view, bytes } = self.0;
        write!(f, "{dtype}{shape:?}")?;
        if let Some((strides, offset)) = view {
            write!(f, " strides {strides:?} offset {offset}")?;
        }
        write!(f, " [")?;
        let size = Part::of(*dtype).size;
        for (at, part) in bytes.chunks_exact(size).enumerate().take(48) {
            let bits = hex(&part.iter().rev().copied().collect::<Vec<_>>());
            write!(f, "{}{bits}", if at == 0 { "" } else { " " })?;
        }
        write!(f, "{}]", if bytes.len() > 48 * size { " …" } else { "" })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fnv(bytes: &[u8]) -> String {
    let digest = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{digest:016x}")
}

/// Returns whether a recorded kind of error stands for an error kind of the crate.
fn means(kind: &str, ours: ErrorKind) -> bool {
    match kind {
        "promotion" | "dtype_mismatch" => ours == ErrorKind::Promotion,
        "unsupported" => ours == ErrorKind::UnsupportedDType,
        "shape" => ours == ErrorKind::Broadcast,
        "inplace_shape" => ours == ErrorKind::InplaceShape,
        "inplace_dtype" => ours == ErrorKind::InplaceDtype,
        "overflow" => ours == ErrorKind::ScalarOverflow,
        // A dtype that the crate does not have.
        "outside" => ours == ErrorKind::Promotion,
        "argument" => ours == ErrorKind::InvalidArgument,
        // An error that none of the crate's rules corresponds to.
        "other" => false,
        other => panic!("unknown kind of error {other}"),
    }
}

fn elementwise(record: &Record, rules: Rules, device: &Device) -> Result<Tensor, Error> {
    let logical = record.params["is_arithmetic"].as_bool() == Some(false);
    let name = format!("{}{}", record.op, if logical { "_logical" } else { "" });
    let op: BinaryOp = name.parse().unwrap();
    let [x, y] = [0, 1].map(|side| match &record.operands[side] {
        Operand::Tensor(elements) => bitlane::Operand::from(elements.upload(device)),
        Operand::Scalar(scalar) => (*scalar).into(),
        Operand::Every(dtype) => every_pair(*dtype, side, device).into(),
    });
    if record.params["form"] == "inplace" {
        let Operand::Tensor(elements) = &record.operands[0] else { panic!("{}", record.id) };
        let mut x = elements.upload(device);
        // The left operand is the destination: the same view of the same storage.
        binary(op, x.clone(), y).rules(rules).out(&mut x).run()?;
        Ok(x)
    } else {
        binary(op, x, y).rules(rules).run()
    }
}

fn every_pair(dtype: DType, side: usize, device: &Device) -> Tensor {
    let bytes = (0..=u8::MAX).flat_map(|x| (0..=u8::MAX).map(move |y| [x, y][side]));
    Tensor::from_bytes(dtype, &bytes.collect::<Vec<_>>(), [256, 256], device).unwrap()
}

fn copysign_grad(record: &Record, device: &Device) -> Result<Ours, Error> {
    let [x, y, g] = [0, 1, 2].map(|at| match &record.operands[at] {
        Operand::Tensor(elements) => elements.upload(device),
        _ => panic!("{}", record.id),
    });
    let (gx, gy) = x.copysign_grad(&y, &g)?;
    Ok(Ours { tensors: [gx, gy].iter().map(Elements::download).collect(), shares_memory: false })
}

fn atleast(record: &Record, rank: &str, device: &Device) -> Result<Ours, Error> {
    let tensors: Vec<_> = record
        .operands
        .iter()
        .map(|operand| match operand {
            Operand::Tensor(elements) => Some(elements.upload(device)),
            _ => None,
        })
        .collect();
    let operands = record.operands.iter().zip(&tensors).map(|(operand, tensor)| match operand {
        Operand::Scalar(scalar) => bitlane::Operand::from(*scalar),
        _ => tensor.as_ref().unwrap().into(),
    });
    let results = match rank {
        "1d" => bitlane::atleast_1d(operands),
        "2d" => bitlane::atleast_2d(operands),
        _ => bitlane::atleast_3d(operands),
    }?;
    let shares = |(tensor, result): (&Option<Tensor>, &Tensor)| {
        tensor.as_ref().is_none_or(|tensor| tensor.shares_storage(result))
    };
    Ok(Ours {
        shares_memory: tensors.iter().zip(&results).all(shares),
        tensors: results.iter().map(Elements::download).collect(),
    })
}

/// Returns the bytes of floats of 8 bits with the positive quiet NaN for every NaN and, where the order of zeros is free,
/// 0 for −0; those of other dtypes as they are.
fn canonical(elements: &Elements, any_zero: bool) -> Vec<u8> {
    let nan = match elements.dtype {
        DType::F8E4M3FN => 0x7f,
        DType::F8E5M2 => 0x7e,
        _ => return elements.bytes.clone(),
    };
    let part = Part::of(elements.dtype);
    let canonical = |&byte: &u8| match byte {
        0x80 if any_zero => 0,
        _ if part.is_nan(byte.into()) => nan,
        _ => byte,
    };
    elements.bytes.iter().map(canonical).collect()
}

/// The format of an element, or of a part of a complex element.
struct Part {
    size: usize,
    /// For floats: the largest bits of a positive number, above which all are NaNs.
    last: Option<u64>,
}

impl Part {
    fn of(dtype: DType) -> Part {
        let (size, last) = match dtype {
            DType::F8E4M3FN => (1, Some(0x7e)),
            DType::F8E5M2 => (1, Some(0x7c)),
            DType::F16 => (2, Some(0x7c00)),
            DType::BF16 => (2, Some(0x7f80)),
            DType::F32 | DType::C64 => (4, Some(0x7f80_0000)),
            DType::F64 | DType::C128 => (8, Some(0x7ff0_0000_0000_0000)),
            other => (other.size(), None),
        };
        Part { size, last }
    }

    fn sign(&self) -> u64 {
        1 << (self.size * 8 - 1)
    }

    fn is_nan(&self, bits: u64) -> bool {
        self.last.is_some_and(|last| bits & (self.sign() - 1) > last)
    }

    fn matches(&self, theirs: &[u8], ours: &[u8], how: Option<Comparison>, ulp: u64) -> bool {
        if self.last.is_none() {
            return theirs == ours;
        }
        let [theirs, ours] = [theirs, ours].map(|bytes| {
            let mut wide = [0; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            u64::from_ne_bytes(wide)
        });
        let same_sign = (theirs ^ ours) & self.sign() == 0;
        let [nan, our_nan] = [theirs, ours].map(|bits| self.is_nan(bits));
        let free = match how {
            _ if theirs == ours => true,
            Some(Comparison::NanAny) => nan && our_nan,
            Some(Comparison::NanSign) => nan && our_nan && same_sign,
            None => false,
        };
        free || same_sign && !nan && !our_nan && theirs.abs_diff(ours) <= ulp
    }
}
