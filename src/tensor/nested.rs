//! Tensors from nested arrays and vectors.

use super::Tensor;
use crate::{Device, Element, Error, Result};

/// Elements in nested arrays, vectors and slices, as [`Tensor::from_nested`] takes them. The nesting defines the shape.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor};
/// let rows = vec![vec![1.5f32, 2.5], vec![3.5, 4.5]];
/// let x = Tensor::from_nested(rows, &Device::cpu())?;
/// assert_eq!(x.shape(), [2, 2]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an element nor nested elements",
    note = "elements are bool, integers of 8 to 64 bits, `f8e4m3fn`, `f8e5m2`, `f16`, `bf16`, `f32`, `f64` and their complex numbers; \
            they may be nested in arrays, vectors and slices"
)]
pub trait Nested {
    /// The type of the elements.
    type Element: Element;

    /// Appends the sizes of this nesting, outermost first, as read from the first item of each level.
    ///
    /// `first` is `None` inside an empty level, where only the lengths of arrays are known; others count as 0.
    fn sizes(first: Option<&Self>, sizes: &mut Vec<usize>);

    /// Appends all elements in row-major order, provided that the nesting has exactly these sizes.
    ///
    /// # Errors
    ///
    /// Returns the first size that differs from the expected one, and its depth.
    fn elements(&self, sizes: &[usize], elements: &mut Vec<Self::Element>) -> Result<(), Ragged>;
}

/// A level of a nesting whose size differs from that of its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ragged {
    /// The number of items found.
    pub found: usize,
    /// The number of items in the first sibling.
    pub expected: usize,
    /// The number of dimensions nested inside this one.
    pub depth: usize,
}

impl<T: Element> Nested for T {
    type Element = T;

    fn sizes(_: Option<&T>, _: &mut Vec<usize>) {}

    fn elements(&self, _: &[usize], elements: &mut Vec<T>) -> Result<(), Ragged> {
        elements.push(*self);
        Ok(())
    }
}

macro_rules! nested {
    ($([$($generics:tt)*] $nesting:ty: $item:ident, $len:expr;)*) => {$(
        impl<$item: Nested $($generics)*> Nested for $nesting {
            type Element = $item::Element;

            fn sizes(first: Option<&Self>, sizes: &mut Vec<usize>) {
                let len: fn(Option<&Self>) -> usize = $len;
                sizes.push(len(first));
                $item::sizes(first.and_then(|items| items.first()), sizes);
            }

            fn elements(
                &self,
                sizes: &[usize],
                elements: &mut Vec<Self::Element>,
            ) -> Result<(), Ragged> {
                let (&expected, inner) = sizes.split_first().unwrap_or((&0, &[]));
                if self.len() != expected {
                    return Err(Ragged { found: self.len(), expected, depth: inner.len() });
                }
                self.iter().try_for_each(|item| item.elements(inner, elements))
            }
        }
    )*};
}

nested! {
    [, const N: usize] [I; N]: I, |_| N;
    [] Vec<I>: I, |items| items.map_or(0, Vec::len);
    [] &[I]: I, |items| items.map_or(0, |items| items.len());
}

impl Tensor {
    /// Creates a tensor by copying nested arrays, vectors or slices to a device. The nesting defines the shape.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([[1, 2, 3], [4, 5, 6]], &Device::cpu())?;
    /// assert_eq!(x.shape(), [2, 3]);
    /// assert_eq!(Tensor::from_nested(2.5f32, &Device::cpu())?.rank(), 0);
    /// let ragged = vec![vec![1, 2], vec![3]];
    /// assert!(Tensor::from_nested(ragged, &Device::cpu()).is_err());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if the sizes at one level differ or there are more than 8 levels,
    /// [`Error::OutOfMemory`] if the device cannot allocate the memory.
    pub fn from_nested<N: Nested>(nested: N, device: &Device) -> Result<Tensor> {
        let op = "from_nested";
        let mut sizes = Vec::new();
        N::sizes(Some(&nested), &mut sizes);
        let mut elements = Vec::new();
        nested.elements(&sizes, &mut elements).map_err(|ragged| {
            let axis = sizes.len().saturating_sub(ragged.depth + 1);
            let (found, expected) = (ragged.found, ragged.expected);
            let reason =
                format!("sizes differ in dimension {axis}: {expected} first, then {found}");
            Error::InvalidShape { op, shape: sizes.as_slice().into(), reason }
        })?;
        Tensor::from_slice(&elements, &sizes, device)
    }
}
