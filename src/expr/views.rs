//! Views as steps of expressions.
//!
//! A view moves no data. It commutes with elementwise operations, so a view of their result is computed from views of
//! their operands. `split` says what becomes of a shape that the strides of an operand cannot express.

use std::fmt::Display;
use std::sync::Arc;

use super::Expr;
use super::graph::Root;
use super::packing::PackingStep;
use crate::slice::Slice;
use crate::tensor::{IntoAxis, IntoIndex, IntoReshape, IntoShape};
use crate::{Result, Tensor};

/// A step of an expression that changes the shape.
#[derive(Clone)]
pub(super) struct View {
    pub(super) name: &'static str,
    /// The arguments, as they are printed.
    pub(super) arguments: String,
    pub(super) step: ViewStep,
}

/// What a [`View`] does.
#[derive(Clone)]
pub(super) enum ViewStep {
    /// Returns the view of a tensor.
    Of(Arc<ViewOf>),
    /// Another shape, in which one size may be missing.
    Reshape(Box<[Option<usize>]>),
    Packing(Arc<PackingStep>),
}

/// Returns the view of a tensor.
type ViewOf = dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync;

/// # Views
///
/// The methods of the same names return views of tensors, and what they refuse, [`run`](Expr::run) refuses, except that
/// every shape of the same number of elements can be had. The operands are read through the view.
impl<'a> Expr<'a> {
    /// Gives the elements another shape, in the same row-major order.
    ///
    /// Where the strides of an operand cannot express the shape, as those of a broadcast dimension cannot if it is merged
    /// with another one, the computation keeps finer dimensions, and the result is written in the shape. Only if one shape
    /// does not refine the other, as with `[2, 3]` and `[3, 2]`, is the operand computed first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(6, DType::I32, &Device::cpu())?;
    /// let sums = (x.expr() * 10).reshape((2, ..)).sum(1);
    /// assert_eq!(sums.run()?.to_vec::<i64>()?, [30, 120]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn reshape(&self, shape: impl IntoReshape) -> Expr<'a> {
        let sizes = shape.sizes();
        let word = |size: &Option<usize>| size.map_or("..".into(), |size| size.to_string());
        let words: Vec<String> = sizes.iter().map(word).collect();
        let arguments = format!("[{}]", words.join(", "));
        self.step("reshape", arguments, ViewStep::Reshape(sizes.iter().copied().collect()))
    }

    /// Inserts a dimension of size 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
    /// let products = (x.expr() + 1).unsqueeze(-1) * &x;
    /// assert_eq!(products.run()?.to_vec::<i32>()?, [0, 1, 2, 0, 2, 4, 0, 3, 6]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn unsqueeze(&self, axis: impl IntoAxis) -> Expr<'a> {
        let axis = axis.number();
        self.view("unsqueeze", axis, move |tensor| tensor.unsqueeze(axis))
    }

    /// Removes a dimension of size 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?.reshape([3, 1])?;
    /// assert_eq!((x.expr() + 1).squeeze(1).run()?.to_vec::<i32>()?, [1, 2, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn squeeze(&self, axis: impl IntoAxis) -> Expr<'a> {
        let axis = axis.number();
        self.view("squeeze", axis, move |tensor| tensor.squeeze(axis))
    }

    /// Exchanges two dimensions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([[1, 2], [3, 4]], &Device::cpu())?;
    /// let sum = (x.expr() * 10).transpose(0, 1) + &x;
    /// assert_eq!(sum.run()?.to_vec::<i32>()?, [11, 32, 23, 44]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn transpose(&self, first: impl IntoAxis, second: impl IntoAxis) -> Expr<'a> {
        let (first, second) = (first.number(), second.number());
        let arguments = format!("{first}, {second}");
        self.view("transpose", arguments, move |tensor| tensor.transpose(first, second))
    }

    /// Puts the dimensions into another order.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3, 4], DType::I32, &Device::cpu())?;
    /// assert_eq!((x.expr() + 1).permute([2, 0, 1]).shape()?, [4, 2, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn permute(&self, order: impl IntoIndex) -> Expr<'a> {
        let order = order.numbers();
        self.view("permute", format!("{order:?}"), move |tensor| tensor.permute(&order))
    }

    /// Selects elements along a dimension by a range, which may have a step.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(5, DType::I32, &Device::cpu())?;
    /// let differences = x.expr().square().slice(0, 1..) - x.expr().square().slice(0, ..-1);
    /// assert_eq!(differences.run()?.to_vec::<i32>()?, [1, 3, 5, 7]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn slice(&self, axis: impl IntoAxis, slice: impl Into<Slice>) -> Expr<'a> {
        let (axis, slice) = (axis.number(), slice.into());
        let arguments = format!("{axis}, {slice}");
        self.view("slice", arguments, move |tensor| tensor.slice(axis, slice))
    }

    /// Selects `len` elements along a dimension, beginning with number `start`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(5, DType::I32, &Device::cpu())?;
    /// assert_eq!((x.expr() + 1).narrow(0, 1, 2).run()?.to_vec::<i32>()?, [2, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn narrow(&self, axis: impl IntoAxis, start: usize, len: usize) -> Expr<'a> {
        let axis = axis.number();
        let arguments = format!("{axis}, {start}, {len}");
        self.view("narrow", arguments, move |tensor| tensor.narrow(axis, start, len))
    }

    /// Reverses the order of the elements along a dimension.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
    /// assert_eq!((x.expr() * 2).flip(0).run()?.to_vec::<i32>()?, [4, 2, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn flip(&self, axis: impl IntoAxis) -> Expr<'a> {
        let axis = axis.number();
        self.view("flip", axis, move |tensor| tensor.flip(axis))
    }

    /// Broadcasts the elements to a shape.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
    /// assert_eq!((x.expr() + 1).broadcast_to([2, 3]).run()?.to_vec::<i32>()?, [1, 2, 3, 1, 2, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn broadcast_to(&self, shape: impl IntoShape) -> Expr<'a> {
        let shape = shape.with_shape(<[usize]>::to_vec);
        self.view("broadcast_to", format!("{shape:?}"), move |tensor| tensor.broadcast_to(&shape))
    }

    fn view(
        &self,
        name: &'static str,
        arguments: impl Display,
        of: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Expr<'a> {
        self.step(name, arguments, ViewStep::Of(Arc::new(of)))
    }

    /// Adds a step that changes the shape.
    pub(super) fn step(
        &self,
        name: &'static str,
        arguments: impl Display,
        step: ViewStep,
    ) -> Expr<'a> {
        let view = View { name, arguments: arguments.to_string(), step };
        Expr::of(Root::view(view, self.root.clone()))
    }
}
