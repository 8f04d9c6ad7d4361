//! Type promotion: the dtype of an operation's result, determined without computing anything.
//!
//! There are four rulebooks ([`Rules`]), each named after the library whose promotion it follows. Every operation of
//! the crate uses the same code as [`result_type`], so the answers here always match.
//!
//! # Examples
//!
//! ```
//! use bitlane::promote::{Kind, result_type};
//! use bitlane::{BinaryOp, DType, ErrorKind, Rules, Scalar};
//!
//! let (ints, floats) = (Kind::tensor(DType::I32), Kind::tensor(DType::F32));
//! // Paddle does not mix integers with floats. The others do, each in its own way.
//! let refused = result_type(BinaryOp::Add, ints, floats, Rules::Paddle).unwrap_err();
//! assert_eq!(refused.kind(), ErrorKind::Promotion);
//! assert_eq!(result_type(BinaryOp::Add, ints, floats, Rules::Torch)?, DType::F32);
//! assert_eq!(result_type(BinaryOp::Add, ints, floats, Rules::NumPy)?, DType::F64);
//! // A number adopts the dtype of the tensor, unless its category is higher.
//! let half = Kind::scalar(&Scalar::from(0.5));
//! assert_eq!(result_type(BinaryOp::Add, Kind::tensor(DType::F16), half, Rules::Paddle)?, DType::F16);
//! assert_eq!(result_type(BinaryOp::Add, ints, half, Rules::Paddle)?, DType::F32);
//! # Ok::<(), bitlane::Error>(())
//! ```

mod float8;
mod jax;
mod numpy;
mod op;
mod paddle;
mod scope;
#[cfg(test)]
mod tests;
mod torch;

use std::fmt;
use std::str::FromStr;

pub use self::op::Op;
pub(crate) use self::op::{Family, UnaryFamily};
use crate::{Category, DType, Error, ReduceOp, Result, Scalar, Tensor, UnaryOp};

/// A rulebook: the library whose rules determine the dtype of a result.
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
    /// JAX with 64-bit types enabled: a lattice in which every float is above every integer.
    Jax,
}

impl Rules {
    /// Every rulebook.
    pub const ALL: &'static [Rules] = &[Rules::Paddle, Rules::Torch, Rules::NumPy, Rules::Jax];

    /// Returns the name of the library, as printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::Rules;
    /// assert_eq!(Rules::Jax.name(), "JAX");
    /// ```
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

    /// Parses a name, ignoring ASCII case.
    fn from_str(text: &str) -> Result<Self> {
        let named = Rules::ALL.iter().find(|rules| rules.name().eq_ignore_ascii_case(text));
        named.copied().ok_or_else(|| Error::InvalidArgument {
            op: "rulebook",
            reason: format!("unknown name {text:?}; the names are paddle torch numpy jax"),
        })
    }
}

/// The properties of an operand that promotion depends on. Values are never among them.
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
    /// A tensor without dimensions. Under some rules it yields to a tensor with dimensions.
    ZeroD(DType),
    /// A number. Under every rulebook it yields to a tensor.
    Scalar(Category),
}

impl Kind {
    /// Returns the kind of a tensor with at least one dimension.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::DType;
    /// use bitlane::promote::Kind;
    /// assert_eq!(Kind::tensor(DType::U8), Kind::Tensor(DType::U8));
    /// ```
    pub const fn tensor(dtype: DType) -> Self {
        Kind::Tensor(dtype)
    }

    /// Returns the kind of a tensor without dimensions.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::DType;
    /// use bitlane::promote::Kind;
    /// assert_eq!(Kind::zero_d(DType::U8).to_string(), "0-d u8 tensor");
    /// ```
    pub const fn zero_d(dtype: DType) -> Self {
        Kind::ZeroD(dtype)
    }

    /// Returns the kind of a number, which is its category. The value does not matter.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::promote::Kind;
    /// use bitlane::{Category, Scalar};
    /// assert_eq!(Kind::scalar(&Scalar::from(1000)), Kind::Scalar(Category::Int));
    /// ```
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

/// Returns the dtype of the result of `op` under `rules`.
///
/// It is the dtype of the tensor that the operation returns. Shapes are not considered, nor is whether the value of a
/// number fits.
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
/// The errors with which the operation itself rejects its dtypes: [`Error::Promotion`] if the rules have no common
/// dtype for the operands, [`Error::UnsupportedDType`] if the operation is not defined for it, and
/// [`Error::InvalidArgument`] if both operands are numbers, or if an operand of a loss is a number.
pub fn result_type(
    op: impl Into<Op>,
    lhs: impl Into<Kind>,
    rhs: impl Into<Kind>,
    rules: Rules,
) -> Result<DType> {
    resolve(op.into(), lhs.into(), rhs.into(), rules).map(|resolved| resolved.result)
}

/// Returns the dtype of the result of a unary operation under `rules`.
///
/// Most unary operations are computed in the dtype of their operand under all rulebooks. The others, such as `sqrt`, are
/// functions of floats, and integers and bools are converted to one first: to `f32` under Paddle's and Torch's rules, to
/// the smallest float that holds them (`f64` for 64 bits) under NumPy's, and to `f32` or, for 64 bits, `f64` under JAX's.
/// Predicates give `bool`.
///
/// # Examples
///
/// ```
/// use bitlane::promote::unary_result_type;
/// use bitlane::{DType, Rules, UnaryOp};
/// assert_eq!(unary_result_type(UnaryOp::Abs, DType::I8, Rules::NumPy)?, DType::I8);
/// assert_eq!(unary_result_type(UnaryOp::Signbit, DType::F32, Rules::NumPy)?, DType::Bool);
/// assert_eq!(unary_result_type(UnaryOp::Sqrt, DType::U8, Rules::NumPy)?, DType::F16);
/// assert_eq!(unary_result_type(UnaryOp::Sqrt, DType::U8, Rules::Torch)?, DType::F32);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::UnsupportedDType`] if the operation is not defined for the dtype.
pub fn unary_result_type(op: UnaryOp, dtype: DType, rules: Rules) -> Result<DType> {
    resolve_unary(op, dtype, rules).map(|dtype| op.element().result(dtype))
}

/// Returns the dtype in which a unary operation is computed, for [`unary_result_type`] and for every call.
pub(crate) fn resolve_unary(op: UnaryOp, dtype: DType, rules: Rules) -> Result<DType> {
    let domain = op.element().domain();
    let compute = match op.family() {
        UnaryFamily::Own => dtype,
        UnaryFamily::Float => floating(dtype, rules),
    };
    if domain.contains(compute) {
        return Ok(compute);
    }
    Err(Error::UnsupportedDType { op: op.name(), dtype, allowed: domain.words() })
}

/// Returns the float to which a rulebook converts bools and integers for a function of floats. Other dtypes stay.
const fn floating(dtype: DType, rules: Rules) -> DType {
    if !(dtype.is_int() || matches!(dtype, DType::Bool)) {
        return dtype;
    }
    match rules {
        Rules::NumPy => numpy::smallest_float(dtype),
        Rules::Jax if dtype.size() == 8 => DType::F64,
        Rules::Jax | Rules::Paddle | Rules::Torch => DType::F32,
    }
}

/// Returns the dtype of the result of a reduction under `rules`.
///
/// It is the same under all rulebooks, though the libraries differ: Torch sums `u8` in `i64`, JAX sums `i32` in `i32`, and
/// NumPy's mean of integers is `f64`.
///
/// # Examples
///
/// ```
/// use bitlane::promote::reduce_result_type;
/// use bitlane::{DType, ReduceOp, Rules};
/// assert_eq!(reduce_result_type(ReduceOp::Sum, DType::U8, Rules::Torch)?, DType::U64);
/// assert_eq!(reduce_result_type(ReduceOp::Max, DType::U8, Rules::Torch)?, DType::U8);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::UnsupportedDType`] if the reduction is not defined for the dtype.
pub fn reduce_result_type(op: ReduceOp, dtype: DType, rules: Rules) -> Result<DType> {
    resolve_reduce(op, dtype, rules).map(|reduced| reduced.result)
}

/// The dtypes of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedReduce {
    /// The dtype to which the elements are converted before they are combined.
    pub(crate) terms: DType,
    /// The dtype to which the total is rounded.
    pub(crate) result: DType,
}

/// Determines the dtypes of a reduction, for [`reduce_result_type`] and for every call.
pub(crate) fn resolve_reduce(op: ReduceOp, dtype: DType, _rules: Rules) -> Result<ResolvedReduce> {
    if !op.domain().contains(dtype) {
        return Err(Error::UnsupportedDType { op: op.name(), dtype, allowed: op.domain().words() });
    }
    let terms = op.terms(dtype);
    Ok(ResolvedReduce { terms, result: op.result(terms) })
}

/// The dtypes of an operation: what its operands are converted to, and what it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// How the operands are converted.
    pub(crate) compute: Compute,
    /// The dtype of the result: bool for predicates, and the dtype of the computation otherwise, except that Torch
    /// rounds `huber_loss` to the dtype of its left operand.
    pub(crate) result: DType,
}

/// How operands are converted before an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compute {
    /// Both are converted to this dtype.
    In(DType),
    /// `u64` is compared with a signed dtype. No integer dtype holds both, so neither is converted.
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

/// Determines the dtypes of `op`, for [`result_type`] and for every operation.
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
        _ if float8::is_one(lhs) || float8::is_one(rhs) => float8::compute(family, lhs, rhs, rules),
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
            // The rules accept the pair. Their common dtype might round or wrap, but comparisons of integers are exact.
            narrowest_integer(l, r).map_or(Compute::ExactIntegers, Compute::In)
        }
        _ => Compute::In(common),
    };
    let result = match (family, rules, lhs) {
        _ if family.is_predicate() => DType::Bool,
        (Family::HuberLoss, Rules::Torch, Kind::Tensor(l) | Kind::ZeroD(l)) => l,
        _ => common,
    };
    Ok(Resolved { compute, result })
}

/// Determines the dtype of an operation on three operands: the common dtype of the first two, and then that of both with
/// the third. The operation need not be defined for the first. Two numbers are one of the higher category.
pub(crate) fn resolve_three(op: Op, [x, y, z]: [Kind; 3], rules: Rules) -> Result<DType> {
    if let (Kind::Scalar(x), Kind::Scalar(y)) = (x, y) {
        return Ok(resolve(op, Kind::Scalar(x.max(y)), z, rules)?.result);
    }
    let common = match decide(op, x, y, rules) {
        Ok(resolved) => resolved.result,
        Err(Refusal::Unsupported(common)) => common,
        Err(refusal) => return Err(refused(refusal, op, x, y, rules)),
    };
    let has_dimensions = [x, y].iter().any(|kind| matches!(kind, Kind::Tensor(_)));
    let both = if has_dimensions { Kind::Tensor(common) } else { Kind::ZeroD(common) };
    Ok(resolve(op, both, z, rules)?.result)
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

/// The common dtype of each pair of dtypes, if any. Rows and columns are in the order of [`DType::ALL`].
type Matrix = [[Option<DType>; DType::ALL.len()]; DType::ALL.len()];

const EMPTY: Matrix = [[None; DType::ALL.len()]; DType::ALL.len()];

/// Builds a [`Matrix`] from a table as printed in the documentation of the libraries; `-` is a rejected pair. The columns
/// are the rows. Floats of 8 bits are in no table.
macro_rules! matrix {
    ($($row:ident: [$($cell:tt)*])*) => {{
        let mut matrix = $crate::promote::EMPTY;
        let columns = [$($crate::DType::$row),*];
        $({
            let row = [$($crate::promote::matrix!(@ $cell)),*];
            let mut index = 0;
            while index < columns.len() {
                matrix[$crate::DType::$row as usize][columns[index] as usize] = row[index];
                index += 1;
            }
        })*
        matrix
    }};
    (@ -) => { None };
    (@ $dtype:ident) => { Some($crate::DType::$dtype) };
}
use matrix;

fn look_up(matrix: &Matrix, lhs: DType, rhs: DType) -> Option<DType> {
    matrix[lhs as usize][rhs as usize]
}

/// Returns the narrowest integer dtype that holds every value of two others, or `None` for `u64` with a signed one.
/// This is NumPy's rule for integers.
fn narrowest_integer(lhs: DType, rhs: DType) -> Option<DType> {
    look_up(&numpy::TENSORS, lhs, rhs).filter(|dtype| dtype.is_int())
}

/// The dtypes that Paddle and Torch give to numbers by default. They never override the dtype of a tensor of the same
/// or a higher category.
const fn scalar_dtype(category: Category) -> DType {
    match category {
        Category::Bool => DType::Bool,
        Category::Int => DType::I64,
        Category::Float => DType::F32,
        Category::Complex => DType::C64,
    }
}
