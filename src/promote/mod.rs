//! Type promotion: which dtype an operation gives, asked without computing anything.
//!
//! Four rulebooks answer, each a table in a file of its own that can be read beside the
//! documentation of the library it follows. Every operation of the crate asks [`result_type`]'s own
//! code, so what is answered here is what happens.
//!
//! ```
//! use bitlane::promote::{Kind, result_type};
//! use bitlane::{BinaryOp, DType, ErrorKind, Rules, Scalar};
//!
//! let (ints, floats) = (Kind::tensor(DType::I32), Kind::tensor(DType::F32));
//! // Paddle does not mix integers with floats, the others do, each in its own way.
//! let refused = result_type(BinaryOp::Add, ints, floats, Rules::Paddle).unwrap_err();
//! assert_eq!(refused.kind(), ErrorKind::Promotion);
//! assert_eq!(result_type(BinaryOp::Add, ints, floats, Rules::Torch)?, DType::F32);
//! assert_eq!(result_type(BinaryOp::Add, ints, floats, Rules::NumPy)?, DType::F64);
//! // A number follows the tensor, unless its category is higher.
//! let half = Kind::scalar(&Scalar::from(0.5));
//! assert_eq!(result_type(BinaryOp::Add, Kind::tensor(DType::F16), half, Rules::Paddle)?, DType::F16);
//! assert_eq!(result_type(BinaryOp::Add, ints, half, Rules::Paddle)?, DType::F32);
//! # Ok::<(), bitlane::Error>(())
//! ```

mod jax;
mod numpy;
mod op;
mod paddle;
#[cfg(test)]
mod tests;
mod torch;

use std::fmt;
use std::str::FromStr;

pub(crate) use self::op::Family;
pub use self::op::Op;
use crate::{Category, DType, Error, Result, Scalar, Tensor};

/// Whose rules decide the dtype of a result.
///
/// # Examples
///
/// ```
/// use bitlane::Rules;
/// assert_eq!(Rules::default(), Rules::Paddle);
/// assert_eq!("jax".parse::<Rules>()?, Rules::Jax);
/// assert_eq!(Rules::NumPy.to_string(), "NumPy");
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Paddle 3: integers of different dtypes do not mix, nor do integers with floats.
    #[default]
    Paddle,
    /// PyTorch 2: the category decides first, then the rank, then the width.
    Torch,
    /// NumPy 2 (NEP 50): the smallest dtype that holds both, whatever the rank.
    NumPy,
    /// JAX with 64-bit types enabled: a lattice in which a float beats every integer.
    Jax,
}

impl Rules {
    /// Every rulebook.
    pub const ALL: &'static [Rules] = &[Rules::Paddle, Rules::Torch, Rules::NumPy, Rules::Jax];

    /// The name of the library, as printed.
    pub const fn name(self) -> &'static str {
        match self {
            Rules::Paddle => "Paddle",
            Rules::Torch => "Torch",
            Rules::NumPy => "NumPy",
            Rules::Jax => "JAX",
        }
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rules {
    type Err = Error;

    /// Parses a name in any case.
    fn from_str(text: &str) -> Result<Self> {
        let named = Rules::ALL.iter().find(|rules| rules.name().eq_ignore_ascii_case(text));
        named.copied().ok_or_else(|| Error::InvalidArgument {
            op: "Rules",
            reason: format!("{text:?} names no rulebook; the names are paddle torch numpy jax"),
        })
    }
}

/// What promotion sees of an operand: never its values.
///
/// # Examples
///
/// ```
/// use bitlane::promote::Kind;
/// use bitlane::{DType, Device, Scalar, Tensor};
/// assert_eq!(Kind::tensor(DType::I32).to_string(), "i32 tensor");
/// assert_eq!(Kind::scalar(&Scalar::from(3)).to_string(), "int scalar");
/// let t = Tensor::from_slice(&[1.5f32], (), &Device::cpu())?;
/// assert_eq!(Kind::from(&t), Kind::zero_d(DType::F32));
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A tensor with at least one dimension.
    Tensor(DType),
    /// A tensor without dimensions, weak under some rules.
    ZeroD(DType),
    /// A number, weak under every rulebook.
    Scalar(Category),
}

impl Kind {
    /// A tensor with at least one dimension.
    pub const fn tensor(dtype: DType) -> Self {
        Kind::Tensor(dtype)
    }

    /// A tensor without dimensions.
    pub const fn zero_d(dtype: DType) -> Self {
        Kind::ZeroD(dtype)
    }

    /// A number; its value has no say.
    pub const fn scalar(scalar: &Scalar) -> Self {
        Kind::Scalar(scalar.category())
    }
}

impl From<&Tensor> for Kind {
    fn from(tensor: &Tensor) -> Self {
        if tensor.rank() == 0 { Kind::ZeroD(tensor.dtype()) } else { Kind::Tensor(tensor.dtype()) }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self {
            Kind::Tensor(dtype) => format!("{dtype} tensor"),
            Kind::ZeroD(dtype) => format!("0-d {dtype} tensor"),
            Kind::Scalar(category) => format!("{category} scalar"),
        })
    }
}

/// The dtype of `op`'s result under `rules`.
///
/// The answer is the dtype that the operation itself would give. Shapes, and whether a number fits, are not looked at.
///
/// # Examples
///
/// ```
/// use bitlane::promote::{Kind, Op, result_type};
/// use bitlane::{BinaryOp, DType, Rules};
/// let (wide, narrow) = (Kind::tensor(DType::F32), Kind::zero_d(DType::F64));
/// assert_eq!(result_type(BinaryOp::Multiply, wide, narrow, Rules::Paddle)?, DType::F32);
/// let op: Op = "select".parse()?;
/// assert_eq!(result_type(op, wide, narrow, Rules::Paddle)?, DType::F64);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// What the operation itself would say of its dtypes: [`Error::Promotion`] if the rules give the operands no common dtype,
/// [`Error::UnsupportedDType`] if the operation is not defined in the one they give.
pub fn result_type(
    op: impl Into<Op>,
    lhs: impl Into<Kind>,
    rhs: impl Into<Kind>,
    rules: Rules,
) -> Result<DType> {
    resolve(op.into(), lhs.into(), rhs.into(), rules).map(|resolved| resolved.result)
}

/// How an operation computes, and what it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// What both operands are converted to.
    pub(crate) compute: Compute,
    /// The dtype of the result: bool for predicates, else the dtype of the computation (but Torch
    /// rounds `huber_loss` to the dtype of its left operand).
    pub(crate) result: DType,
}

/// What the operands become before an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compute {
    /// Both are converted to this dtype.
    In(DType),
    /// `u64` is compared with a signed dtype: no dtype holds both, so neither is converted.
    ExactIntegers,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Both operands are numbers.
    Numbers,
    /// An operand of a loss is a number.
    NumberInLoss,
    /// The rules give the operands no common dtype.
    NoCommonDtype,
    /// The operation is not defined in the common dtype.
    Unsupported(DType),
}

/// Decides how `op` computes; what [`result_type`] and every operation ask.
pub(crate) fn resolve(op: Op, lhs: Kind, rhs: Kind, rules: Rules) -> Result<Resolved> {
    decide(op, lhs, rhs, rules).map_err(|refusal| refused(refusal, op, lhs, rhs, rules))
}

/// [`resolve`] for callers that do not report the error: what it returns fits into a register.
pub(crate) fn decide(
    op: Op,
    lhs: Kind,
    rhs: Kind,
    rules: Rules,
) -> std::result::Result<Resolved, Refusal> {
    let family = op.family();
    let scalars = [lhs, rhs].map(|kind| matches!(kind, Kind::Scalar(_)));
    if scalars == [true, true] {
        return Err(Refusal::Numbers);
    }
    if family.is_loss() && scalars != [false, false] {
        return Err(Refusal::NumberInLoss);
    }
    let common = match rules {
        Rules::Paddle => paddle::compute(family, lhs, rhs),
        Rules::Torch => torch::compute(family, lhs, rhs),
        Rules::NumPy => numpy::compute(family, lhs, rhs),
        Rules::Jax => jax::compute(family, lhs, rhs),
    };
    let Some(common) = common else { return Err(Refusal::NoCommonDtype) };
    if !op.domain().contains(common) {
        return Err(Refusal::Unsupported(common));
    }
    let compute = match (lhs, rhs) {
        (Kind::Tensor(l) | Kind::ZeroD(l), Kind::Tensor(r) | Kind::ZeroD(r))
            if family.is_comparison() && l.is_int() && r.is_int() =>
        {
            // The rules have allowed the pair; whatever they would round or wrap, an order of
            // integers is exact.
            narrowest_integer(l, r).map_or(Compute::ExactIntegers, Compute::In)
        }
        _ => Compute::In(common),
    };
    let result = match (family, rules, lhs) {
        (Family::Equality | Family::Ordering | Family::Logical, ..) => DType::Bool,
        (Family::HuberLoss, Rules::Torch, Kind::Tensor(l) | Kind::ZeroD(l)) => l,
        _ => common,
    };
    Ok(Resolved { compute, result })
}

#[cold]
fn refused(refusal: Refusal, op: Op, lhs: Kind, rhs: Kind, rules: Rules) -> Error {
    let op_name = op.name();
    let invalid = |reason: &str| Error::InvalidArgument { op: op_name, reason: reason.into() };
    match refusal {
        Refusal::Numbers => invalid("at least one operand must be a tensor"),
        Refusal::NumberInLoss => invalid("both operands of a loss must be tensors"),
        Refusal::NoCommonDtype => Error::Promotion { op: op_name, lhs, rhs, rules },
        Refusal::Unsupported(dtype) => {
            Error::UnsupportedDType { op: op_name, dtype, allowed: op.domain().words() }
        }
    }
}

/// Which dtype two dtypes have in common, if any; by row and column in the order of the dtypes.
type Matrix = [[Option<DType>; DType::ALL.len()]; DType::ALL.len()];

const EMPTY: Matrix = [[None; DType::ALL.len()]; DType::ALL.len()];

/// Writes a [`Matrix`] as it is printed in the libraries' documentation; `-` is a refused pair.
macro_rules! matrix {
    ($($row:ident: [$($cell:tt)*])*) => {{
        let mut matrix = $crate::promote::EMPTY;
        $(matrix[$crate::DType::$row as usize] = [$($crate::promote::matrix!(@ $cell)),*];)*
        matrix
    }};
    (@ -) => { None };
    (@ $dtype:ident) => { Some($crate::DType::$dtype) };
}
use matrix;

fn look_up(matrix: &Matrix, lhs: DType, rhs: DType) -> Option<DType> {
    matrix[lhs as usize][rhs as usize]
}

/// The narrowest integer dtype that holds every value of two others; `u64` has none with a signed
/// one. NumPy's rule for integers is just this.
fn narrowest_integer(lhs: DType, rhs: DType) -> Option<DType> {
    look_up(&numpy::TENSORS, lhs, rhs).filter(|dtype| dtype.is_int())
}

/// What Paddle and Torch take a number for: their default dtypes, of which only a weak use is made.
const fn scalar_dtype(category: Category) -> DType {
    match category {
        Category::Bool => DType::Bool,
        Category::Int => DType::I64,
        Category::Float => DType::F32,
        Category::Complex => DType::C64,
    }
}
