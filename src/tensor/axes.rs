//! The axes of a reduction.

use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use smallvec::SmallVec;

use super::IntoAxis;
use crate::layout::{MAX_RANK, checked_axis};
use crate::{Error, Result};

/// The axes argument of a reduction: one axis, an array, slice or vector of axes, or a range; `..` stands for all axes,
/// and an empty list for none.
///
/// An axis is a `usize`, `isize`, `i32` or `i64`. Negative numbers count from the end, also as the bounds of a range.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// let x = Tensor::ones([2, 3, 4], DType::I32, &Device::cpu())?;
/// assert_eq!(x.sum(-1)?.shape(), [2, 3]);
/// assert_eq!(x.sum([0, -1])?.shape(), [3]);
/// assert_eq!(x.sum(0..2)?.shape(), [4]);
/// assert_eq!(x.sum(-2..)?.shape(), [2]);
/// assert_eq!(x.sum(..)?.rank(), 0);
/// let none: [usize; 0] = [];
/// assert_eq!(x.sum(none)?.shape(), [2, 3, 4]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// The elements of an empty list have no type that could be inferred. `x.sum([])` does not compile; all axes are
/// `x.sum(..)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name axes",
    label = "expected an axis, a list of axes or a range of axes",
    note = "axes are an integer such as `-1`, an array, slice or vector such as `[0, -1]`, a range such as `0..2`, or \
            `..` for all"
)]
pub trait IntoAxes {
    /// Returns the axes as given.
    fn into_axes(self) -> Axes;
}

/// Axes that have not been checked against a shape. Made by [`IntoAxes`], and printed as they would be written.
///
/// # Examples
///
/// ```
/// use bitlane::IntoAxes;
/// assert_eq!([0, -1].into_axes().to_string(), "[0, -1]");
/// assert_eq!((1..).into_axes().to_string(), "1..");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes(Named);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    List(SmallVec<[i128; 2]>),
    /// From the first bound up to, but not including, the second.
    Range(Option<i128>, Option<i128>),
}

impl Axes {
    /// Returns `true` for `..`.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self.0, Named::Range(None, None))
    }

    /// Returns which dimensions of a shape these are.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if one does not exist, and [`Error::InvalidArgument`] if one is named twice or a range
    /// ends before it begins.
    pub(crate) fn of(&self, op: &'static str, shape: &[usize]) -> Result<[bool; MAX_RANK]> {
        let mut chosen = [false; MAX_RANK];
        match &self.0 {
            Named::List(axes) => {
                for &axis in axes {
                    let axis = checked_axis(op, axis, shape)?;
                    if std::mem::replace(&mut chosen[axis], true) {
                        let reason = format!("axis {axis} is named twice in {self}");
                        return Err(Error::InvalidArgument { op, reason });
                    }
                }
            }
            Named::Range(start, end) => {
                let rank = shape.len();
                let bound = |bound: Option<i128>, default: usize| match bound {
                    None => Some(default),
                    Some(bound) => {
                        let counted =
                            if bound < 0 { bound.saturating_add(rank as i128) } else { bound };
                        usize::try_from(counted).ok().filter(|&bound| bound <= rank)
                    }
                };
                let (Some(start), Some(end)) = (bound(*start, 0), bound(*end, rank)) else {
                    let reason = format!("axes {self} of a tensor of rank {rank} ({shape:?})");
                    return Err(Error::OutOfBounds { op, reason });
                };
                let Some(range) = chosen.get_mut(start..end) else {
                    let reason =
                        format!("the axes {self} of a tensor of rank {rank} end before they begin");
                    return Err(Error::InvalidArgument { op, reason });
                };
                range.fill(true);
            }
        }
        Ok(chosen)
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Named::List(axes) => write!(f, "{axes:?}"),
            Named::Range(start, end) => {
                let bound = |bound: &Option<i128>| bound.map_or(String::new(), |it| it.to_string());
                write!(f, "{}..{}", bound(start), bound(end))
            }
        }
    }
}

impl IntoAxes for Axes {
    fn into_axes(self) -> Axes {
        self
    }
}

impl IntoAxes for &Axes {
    fn into_axes(self) -> Axes {
        self.clone()
    }
}

impl IntoAxes for RangeFull {
    fn into_axes(self) -> Axes {
        Axes(Named::Range(None, None))
    }
}

impl<A: IntoAxis> IntoAxes for A {
    fn into_axes(self) -> Axes {
        Axes(Named::List(SmallVec::from_slice(&[self.number()])))
    }
}

macro_rules! lists {
    ($([$($generics:tt)*] $list:ty;)*) => {$(
        impl<A: IntoAxis $($generics)*> IntoAxes for $list {
            fn into_axes(self) -> Axes {
                Axes(Named::List(self.iter().map(|axis| axis.number()).collect()))
            }
        }
    )*};
}

lists! {
    [] &[A];
    [, const N: usize] [A; N];
    [, const N: usize] &[A; N];
    [] Vec<A>;
    [] &Vec<A>;
}

macro_rules! ranges {
    ($($range:ident: $it:ident => $start:expr, $end:expr;)*) => {$(
        impl<A: IntoAxis> IntoAxes for $range<A> {
            fn into_axes(self) -> Axes {
                let $it = self;
                Axes(Named::Range($start, $end))
            }
        }
    )*};
}

ranges! {
    Range: it => Some(it.start.number()), Some(it.end.number());
    RangeFrom: it => Some(it.start.number()), None;
    RangeTo: it => None, Some(it.end.number());
    RangeInclusive: it => Some(it.start().number()), after(it.end().number());
    RangeToInclusive: it => None, after(it.end.number());
}

/// Returns the bound after the last axis of a range; none after −1, which is the last of all.
fn after(last: i128) -> Option<i128> {
    (last != -1).then(|| last.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn of(axes: impl IntoAxes, rank: usize) -> std::result::Result<Vec<usize>, ErrorKind> {
        let chosen = axes.into_axes().of("sum", &[2; MAX_RANK][..rank]);
        let chosen = chosen.map_err(|error| error.kind())?;
        Ok((0..MAX_RANK).filter(|&axis| chosen[axis]).collect())
    }

    #[test]
    fn axes_and_lists() {
        assert_eq!(of(-1, 3), Ok(vec![2]));
        assert_eq!(of([2usize, 0], 3), Ok(vec![0, 2]));
        assert_eq!(of(&[-1i64, -3][..], 3), Ok(vec![0, 2]));
        let list = vec![1isize];
        assert_eq!((of(&list, 3), of(list, 3)), (Ok(vec![1]), Ok(vec![1])));
        assert_eq!(of([0i32; 0], 3), Ok(vec![]));
        assert_eq!(of([0, -3], 3), Err(ErrorKind::InvalidArgument));
        assert_eq!(of(3, 3), Err(ErrorKind::OutOfBounds));
        assert_eq!(of(-4, 3), Err(ErrorKind::OutOfBounds));
        assert_eq!(of(0, 0), Err(ErrorKind::OutOfBounds));
        assert_eq!(of(i128::MIN, MAX_RANK), Err(ErrorKind::OutOfBounds));
        assert_eq!(of(usize::MAX, MAX_RANK), Err(ErrorKind::OutOfBounds));
    }

    #[test]
    fn ranges() {
        assert_eq!(of(.., 3), Ok(vec![0, 1, 2]));
        assert_eq!(of(.., 0), Ok(vec![]));
        assert_eq!(of(0..2, 3), Ok(vec![0, 1]));
        assert_eq!(of(1.., 3), Ok(vec![1, 2]));
        assert_eq!(of(-2.., 3), Ok(vec![1, 2]));
        assert_eq!(of(..-1, 3), Ok(vec![0, 1]));
        assert_eq!(of(..=-1, 3), Ok(vec![0, 1, 2]));
        assert_eq!(of(0..=1, 3), Ok(vec![0, 1]));
        assert_eq!(of(-3..=-2, 3), Ok(vec![0, 1]));
        assert_eq!(of(1..1, 3), Ok(vec![]));
        assert_eq!(of(3..3, 3), Ok(vec![]));
        assert_eq!(of(0..4, 3), Err(ErrorKind::OutOfBounds));
        assert_eq!(of(..-4, 3), Err(ErrorKind::OutOfBounds));
        assert_eq!(of(0..=i128::MAX, MAX_RANK), Err(ErrorKind::OutOfBounds));
        assert_eq!(of(i128::MIN.., MAX_RANK), Err(ErrorKind::OutOfBounds));
        #[allow(clippy::reversed_empty_ranges, reason = "it is refused")]
        let reversed = 2..1;
        assert_eq!(of(reversed, 3), Err(ErrorKind::InvalidArgument));
        assert_eq!(of(-1..1, 3), Err(ErrorKind::InvalidArgument));
    }

    #[test]
    fn axes_print_as_they_are_written() {
        let text = |axes: Axes| axes.to_string();
        assert_eq!(text((-1).into_axes()), "[-1]");
        assert_eq!(text((..).into_axes()), "..");
        assert_eq!(text((0..=1).into_axes()), "0..2");
        assert_eq!(text((..-1).into_axes()), "..-1");
    }
}
