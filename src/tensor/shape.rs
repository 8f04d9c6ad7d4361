//! The argument types for shapes, axes, indices and ranges.

use std::ops::{Range, RangeFull, RangeInclusive};

use smallvec::SmallVec;

use crate::layout::{MAX_RANK, boxed, checked_len};
use crate::{Error, Result};

/// A shape argument: an array, slice, vector or tuple of sizes, a single size, or `()` for no dimensions.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// let device = Device::cpu();
/// let x = Tensor::zeros((2, 3), DType::I32, &device)?;
/// let like_x = Tensor::zeros(x.shape(), DType::I32, &device)?;
/// assert_eq!(like_x.shape(), [2, 3]);
/// assert_eq!(Tensor::zeros((), DType::I32, &device)?.rank(), 0);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "expected sizes of type `usize`",
    note = "a shape is `[2, 3]`, `(2, 3)`, `&[usize]`, `Vec<usize>`, a single `usize`, or `()` for no dimensions"
)]
pub trait IntoShape {
    /// Calls a function with the sizes.
    fn with_shape<R>(self, function: impl FnOnce(&[usize]) -> R) -> R;
}

/// The shape argument of [`reshape`](crate::Tensor::reshape): an [`IntoShape`], a tuple with one `..` for a size to
/// infer, or `..` alone to flatten.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// let x = Tensor::arange(24, DType::I32, &Device::cpu())?;
/// assert_eq!(x.reshape((2, .., 4))?.shape(), [2, 3, 4]);
/// assert_eq!(x.reshape((2, 12))?.reshape(..)?.shape(), [24]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape to reshape to",
    label = "expected sizes of type `usize`, one of which may be `..`",
    note = "such a shape is `[2, 3]`, `(2, 3)`, `(2, ..)`, `&[usize]`, `Vec<usize>`, a single `usize`, `()` or `..`"
)]
pub trait IntoReshape {
    /// Returns the sizes, with `None` for `..`.
    fn sizes(self) -> Vec<Option<usize>>;
}

macro_rules! into_shape {
    ($([$($generics:tt)*] $from:ty: $shape:ident => $sizes:expr;)*) => {$(
        impl<$($generics)*> IntoShape for $from {
            fn with_shape<R>(self, function: impl FnOnce(&[usize]) -> R) -> R {
                let $shape = self;
                function($sizes)
            }
        }

        impl<$($generics)*> IntoReshape for $from {
            fn sizes(self) -> Vec<Option<usize>> {
                self.with_shape(|shape| shape.iter().map(|&size| Some(size)).collect())
            }
        }
    )*};
}

into_shape! {
    [] &[usize]: shape => shape;
    [const N: usize] [usize; N]: shape => &shape;
    [const N: usize] &[usize; N]: shape => shape;
    [] Vec<usize>: shape => &shape;
    [] &Vec<usize>: shape => shape;
    [] usize: size => &[size];
    [] (): _shape => &[];
}

/// One size of a tuple passed to [`reshape`](crate::Tensor::reshape): a number, or `..` for the size to infer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a size",
    note = "a size is a `usize`, or `..` for the one that follows from the others"
)]
pub trait Size {
    /// Returns the size, or `None` for `..`.
    fn size(self) -> Option<usize>;
}

impl Size for usize {
    fn size(self) -> Option<usize> {
        Some(self)
    }
}

impl Size for RangeFull {
    fn size(self) -> Option<usize> {
        None
    }
}

impl IntoReshape for RangeFull {
    fn sizes(self) -> Vec<Option<usize>> {
        vec![None]
    }
}

macro_rules! tuple_shapes {
    ($($($name:ident $size:ident)*;)*) => {$(
        impl IntoShape for ($(tuple_shapes!(@usize $name),)*) {
            fn with_shape<R>(self, function: impl FnOnce(&[usize]) -> R) -> R {
                let ($($size,)*) = self;
                function(&[$($size),*])
            }
        }

        impl<$($name: Size),*> IntoReshape for ($($name,)*) {
            fn sizes(self) -> Vec<Option<usize>> {
                let ($($size,)*) = self;
                vec![$($size.size()),*]
            }
        }
    )*};
    (@usize $name:ident) => { usize };
}

tuple_shapes! {
    A a;
    A a B b;
    A a B b C c;
    A a B b C c D d;
    A a B b C c D d E e;
    A a B b C c D d E e F f;
    A a B b C c D d E e F f G g;
    A a B b C c D d E e F f G g H h;
}

/// Replaces the missing size by the one that makes `len` elements in total.
pub(crate) fn inferred(len: usize, sizes: &[Option<usize>]) -> Result<SmallVec<[usize; MAX_RANK]>> {
    let op = "reshape";
    let known: SmallVec<[usize; MAX_RANK]> = sizes.iter().map(|size| size.unwrap_or(1)).collect();
    let invalid = |reason: String| Error::InvalidShape { op, shape: boxed(&known), reason };
    let unknown = sizes.iter().filter(|size| size.is_none()).count();
    if unknown == 0 {
        return Ok(known);
    }
    if unknown > 1 {
        return Err(invalid(format!(
            "{unknown} sizes are `..`; only one can follow from the rest"
        )));
    }
    let product = checked_len(op, &known, 1)?;
    if product == 0 {
        return Err(invalid("with a size of 0, nothing follows for the size that is `..`".into()));
    }
    if !len.is_multiple_of(product) {
        let reason =
            format!("{len} elements are not a multiple of the {product} that the given sizes make");
        return Err(invalid(reason));
    }
    Ok(sizes.iter().map(|size| size.unwrap_or(len / product)).collect())
}

/// An axis or index argument: a `usize`, `isize`, `i32`, `i64` or `i128`. Negative numbers count from the end.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// let x = Tensor::zeros([2, 3, 4], DType::I32, &Device::cpu())?;
/// assert_eq!(x.transpose(0, -1)?.shape(), [4, 3, 2]);
/// assert_eq!(x.unsqueeze(-1)?.shape(), [2, 3, 4, 1]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an axis",
    note = "an axis is a `usize`, or an `isize`, `i32` or `i64` that may be negative to count from the back"
)]
pub trait IntoAxis: Copy {
    /// Returns the number as given, which may be negative.
    fn number(self) -> i128;
}

macro_rules! into_axis {
    ($($number:ty)*) => {$(
        impl IntoAxis for $number {
            fn number(self) -> i128 {
                self as i128
            }
        }
    )*};
}

into_axis! { usize isize i32 i64 }

/// A list of axes, or the index of an element: an array, slice or vector of numbers. Negative numbers count from the
/// end.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor};
/// let x = Tensor::from_nested([[1, 2], [3, 4]], &Device::cpu())?;
/// assert_eq!(x.get::<i32>([0, -1])?, 2);
/// assert_eq!(x.permute(&[1, 0])?.to_vec::<i32>()?, [1, 3, 2, 4]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an index nor a list of axes",
    note = "such a list is an array, slice or vector of `usize`, `isize`, `i32` or `i64`"
)]
pub trait IntoIndex {
    /// Returns the numbers as given, which may be negative.
    fn numbers(self) -> Vec<i128>;
}

macro_rules! into_index {
    ($([$($generics:tt)*] $list:ty;)*) => {$(
        impl<A: IntoAxis $($generics)*> IntoIndex for $list {
            fn numbers(self) -> Vec<i128> {
                self.iter().map(|number| number.number()).collect()
            }
        }
    )*};
}

into_index! {
    [] &[A];
    [, const N: usize] [A; N];
    [, const N: usize] &[A; N];
    [] Vec<A>;
    [] &Vec<A>;
}

impl IntoAxis for i128 {
    fn number(self) -> i128 {
        self
    }
}

/// The range argument of [`arange`](crate::Tensor::arange): a count, which stands for `0..count`, or a range of
/// integers.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// let x = Tensor::arange(-2..=2, DType::I8, &Device::cpu())?;
/// assert_eq!(x.to_vec::<i8>()?, [-2, -1, 0, 1, 2]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of integers",
    note = "`arange` takes a count (`usize`), or a range such as `2..5` or `-3..=3`"
)]
pub trait IntoRange {
    /// Returns the first number, and one past the last.
    fn bounds(self) -> (i128, i128);
}

impl IntoRange for usize {
    fn bounds(self) -> (i128, i128) {
        (0, self as i128)
    }
}

macro_rules! into_range {
    ($($number:ty)*) => {$(
        impl IntoRange for Range<$number> {
            fn bounds(self) -> (i128, i128) {
                (self.start as i128, self.end as i128)
            }
        }

        impl IntoRange for RangeInclusive<$number> {
            fn bounds(self) -> (i128, i128) {
                (*self.start() as i128, *self.end() as i128 + 1)
            }
        }
    )*};
}

into_range! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }
