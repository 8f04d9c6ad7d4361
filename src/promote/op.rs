//! The operations with promotion rules, and the families within which the rules are the same.

use std::fmt;
use std::str::FromStr;

use crate::op::{Domain, OtherOp};
use crate::{BinaryOp, Error, Result};

/// A set of operations that every rulebook promotes in the same way, apart from their [`Domain`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Shift,
    Bitwise,
    Copysign,
    Arithmetic,
    Divide,
    Modular,
    Pow,
    Equality,
    Ordering,
    Logical,
    MinMax,
    Select,
    LogAddExp,
    NextAfter,
    Atan2,
    /// `l1_loss` and `smooth_l1_loss`.
    Loss,
    MseLoss,
    HuberLoss,
    PoissonLoss,
}

impl Family {
    /// Returns `true` if the result is always bool.
    pub(crate) const fn is_predicate(self) -> bool {
        self.is_comparison() || matches!(self, Family::Logical)
    }

    pub(crate) const fn is_comparison(self) -> bool {
        matches!(self, Family::Equality | Family::Ordering)
    }

    pub(super) const fn is_loss(self) -> bool {
        use Family::{HuberLoss, Loss, MseLoss, PoissonLoss};
        matches!(self, Loss | MseLoss | HuberLoss | PoissonLoss)
    }
}

/// How the operand of a unary operation is promoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryFamily {
    /// Not at all: the operation is computed in the dtype of its operand.
    Own,
    /// Integers and bools are converted to a float first.
    Float,
}

/// An operation that [`result_type`](super::result_type) knows: any [`BinaryOp`], `select`, `fma`, or one of the losses.
///
/// # Examples
///
/// ```
/// use bitlane::BinaryOp;
/// use bitlane::promote::Op;
/// assert_eq!("add".parse::<Op>()?, Op::from(BinaryOp::Add));
/// assert_eq!("where".parse::<Op>()?.name(), "select");
/// assert!(Op::ALL.iter().any(|op| op.name() == "huber_loss"));
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Op(Row);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Row {
    Binary(BinaryOp),
    Other(OtherOp),
}

impl Op {
    /// `select`.
    pub(crate) const SELECT: Op = Op(Row::Other(OtherOp::Select));

    /// `fma`.
    pub(crate) const FMA: Op = Op(Row::Other(OtherOp::Fma));

    /// Every operation.
    pub const ALL: &'static [Op] = &{
        let mut all = [Op(Row::Other(OtherOp::Select)); BinaryOp::ALL.len() + OtherOp::ALL.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = Op(if index < BinaryOp::ALL.len() {
                Row::Binary(BinaryOp::ALL[index])
            } else {
                Row::Other(OtherOp::ALL[index - BinaryOp::ALL.len()])
            });
            index += 1;
        }
        all
    };

    /// Returns the name, as printed and parsed.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::BinaryOp;
    /// use bitlane::promote::Op;
    /// assert_eq!(Op::from(BinaryOp::Fmax).name(), "fmax");
    /// ```
    pub const fn name(self) -> &'static str {
        match self.0 {
            Row::Binary(op) => op.name(),
            Row::Other(op) => op.name(),
        }
    }

    pub(super) const fn family(self) -> Family {
        match self.0 {
            Row::Binary(op) => op.family(),
            Row::Other(op) => op.family(),
        }
    }

    /// The dtypes in which the operation can be computed.
    pub(super) const fn domain(self) -> Domain {
        match self.0 {
            Row::Binary(op) => op.element().domain(),
            Row::Other(op) => op.domain(),
        }
    }
}

impl From<BinaryOp> for Op {
    fn from(op: BinaryOp) -> Self {
        Op(Row::Binary(op))
    }
}

impl From<OtherOp> for Op {
    fn from(op: OtherOp) -> Self {
        Op(Row::Other(op))
    }
}

impl FromStr for Op {
    type Err = Error;

    /// Parses a name. `where` and `mod`, the names of `select` and `remainder` in NumPy and Paddle, are accepted as
    /// well.
    fn from_str(text: &str) -> Result<Self> {
        let name = match text {
            "where" => "select",
            "mod" => "remainder",
            _ => text,
        };
        Op::ALL.iter().find(|op| op.name() == name).copied().ok_or_else(|| Error::InvalidArgument {
            op: "Op",
            reason: format!(
                "unknown name {text:?}; the names are {}",
                Op::ALL.iter().map(|op| op.name()).collect::<Vec<_>>().join(" ")
            ),
        })
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
