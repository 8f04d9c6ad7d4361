//! Reductions: their methods, and the builder behind them.

#[cfg(doc)]
use crate::Error;
use crate::call::{Call, ReduceArguments, Target};
use crate::op::{ReduceOp, for_each_op};
use crate::promote::Rules;
use crate::tensor::IntoAxes;
use crate::{DType, Result, Scalar, Tensor};

/// A reduction that has not run yet, created by [`reduce`].
///
/// Optionally keep the reduced dimensions, choose a dtype, a rulebook, a destination and a mask, then
/// [`run`](Reduce::run) it.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, ReduceOp, Tensor, reduce};
/// let device = Device::cpu();
/// let x = Tensor::from_nested([[1u8, 2, 3], [4, 5, 6]], &device)?;
/// let mut out = Tensor::zeros([2, 1], DType::U32, &device)?;
/// reduce(ReduceOp::Sum, &x, -1).keepdims().dtype(DType::U32).out(&mut out).run()?;
/// assert_eq!(out.to_vec::<u32>()?, [6, 15]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until it is run"]
pub struct Reduce<'a> {
    op: ReduceOp,
    x: &'a Tensor,
    arguments: ReduceArguments,
    rules: Rules,
    target: Target<'a>,
}

/// Prepares a reduction of a tensor over some axes, to be completed and run with the methods of [`Reduce`].
///
/// # Examples
///
/// ```
/// use bitlane::{Device, ReduceOp, Tensor, reduce};
/// let x = Tensor::from_nested([[1, 5], [4, 2]], &Device::cpu())?;
/// assert_eq!(reduce(ReduceOp::Max, &x, 0).run()?.to_vec::<i32>()?, [4, 5]);
/// assert_eq!(reduce(ReduceOp::Max, &x, ..).run()?.item::<i32>()?, 5);
/// # Ok::<(), bitlane::Error>(())
/// ```
pub fn reduce(op: ReduceOp, x: &Tensor, axes: impl IntoAxes) -> Reduce<'_> {
    Reduce {
        op,
        x,
        arguments: ReduceArguments::new(axes),
        rules: Rules::current(),
        target: Target::default(),
    }
}

impl<'a> Reduce<'a> {
    /// Keeps the reduced dimensions in the result, with size 1, so that it broadcasts with the operand.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, ReduceOp, Tensor, reduce};
    /// let x = Tensor::from_nested([[1, 5], [4, 2]], &Device::cpu())?;
    /// let largest = reduce(ReduceOp::Max, &x, -1).keepdims().run()?;
    /// assert_eq!(largest.shape(), [2, 1]);
    /// assert_eq!((&x - &largest)?.to_vec::<i32>()?, [-4, 0, 0, -2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn keepdims(mut self) -> Self {
        self.arguments.keepdims = true;
        self
    }

    /// Sums or multiplies in this dtype: the elements are converted to it, and the result has it. Integers then wrap in
    /// their own width. Only `sum` and `prod` have this option.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, ReduceOp, Tensor, reduce};
    /// let x = Tensor::from_nested([200u8, 100], &Device::cpu())?;
    /// let sum = reduce(ReduceOp::Sum, &x, ..).dtype(DType::U8).run()?;
    /// assert_eq!(sum.item::<u8>()?, 44); // 300 wraps to 44
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.arguments.dtype = Some(dtype);
        self
    }

    /// Divides by the number of elements less this correction, which is 0 by default. Only `var` and `std` have this
    /// option; with 1 they estimate the variance of what the elements are a sample of.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, ReduceOp, Tensor, reduce};
    /// let x = Tensor::from_nested([1.0f32, 3.0, 5.0], &Device::cpu())?;
    /// let variance = reduce(ReduceOp::Var, &x, ..).correction(1).run()?;
    /// assert_eq!(variance.item::<f32>()?, 4.0);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn correction(mut self, correction: impl Into<Scalar>) -> Self {
        self.arguments.correction = Some(correction.into());
        self
    }

    /// Promotes the operand by this rulebook. The default is [`Rules::current`].
    ///
    /// Today every rulebook gives the same dtype, even where the libraries differ: Torch sums `u8` in `i64`, JAX sums
    /// `i32` in `i32`, and NumPy's mean of integers is `f64`. Choose another with [`Reduce::dtype`], or cast.
    ///
    /// See [`promote::reduce_result_type`](crate::promote::reduce_result_type) for the dtype of the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, ReduceOp, Rules, Tensor, reduce};
    /// let x = Tensor::from_nested([1i8, 2], &Device::cpu())?;
    /// assert_eq!(reduce(ReduceOp::Sum, &x, 0).rules(Rules::NumPy).run()?.dtype(), DType::I64);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn rules(self, rules: Rules) -> Self {
        Reduce { rules, ..self }
    }

    /// Writes the result to this tensor, the destination, instead of to a new one, as
    /// [`Binary::out`](crate::Binary::out) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, ReduceOp, Tensor, reduce};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([[1.5f32, 2.5], [3.0, 5.0]], &device)?;
    /// let mut out = Tensor::zeros([2], DType::F64, &device)?;
    /// reduce(ReduceOp::Mean, &x, 1).out(&mut out).run()?;
    /// assert_eq!(out.to_vec::<f64>()?, [2.0, 4.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn out(self, out: &'a mut Tensor) -> Self {
        Reduce { target: Target { out: Some(out), ..self.target }, ..self }
    }

    /// Writes only the results for which the mask is true, as [`Binary::mask`](crate::Binary::mask) does. The mask is
    /// broadcast to the shape of the result; it does not select the elements that are reduced.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, ReduceOp, Tensor, reduce};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([[1, 5], [4, 2]], &device)?;
    /// let mask = Tensor::from_nested([true, false], &device)?;
    /// let mut out = Tensor::zeros([2], DType::I32, &device)?;
    /// reduce(ReduceOp::Min, &x, 0).out(&mut out).mask(&mask).run()?;
    /// assert_eq!(out.to_vec::<i32>()?, [1, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn mask(self, mask: &'a Tensor) -> Self {
        Reduce { target: Target { mask: Some(mask), ..self.target }, ..self }
    }

    /// Runs the reduction. Returns the destination if there is one, and a new tensor otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, ReduceOp, Tensor, reduce};
    /// let x = Tensor::from_nested([[0, 5], [0, 0]], &Device::cpu())?;
    /// assert_eq!(reduce(ReduceOp::Any, &x, 1).run()?.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::UnsupportedDType`] if the reduction is not defined for the dtype.
    /// - [`Error::OutOfBounds`] if an axis does not exist, [`Error::InvalidArgument`] if an axis is named twice or a
    ///   range of axes ends before it begins.
    /// - [`Error::InvalidShape`] if there are no elements to reduce, and the reduction of none has no value.
    /// - [`Error::DeviceMismatch`], [`Error::InplaceShape`], [`Error::InplaceDtype`] or
    ///   [`Error::OverlappingDestination`] if the destination cannot hold the result.
    /// - [`Error::InvalidArgument`] if a mask is not `bool` or has no destination, or if a dtype is given to another
    ///   reduction than `sum` and `prod`, or a correction to another than `var` and `std`; [`Error::Broadcast`] if the mask does not broadcast to the result.
    /// - [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    ///
    /// On error the destination is unchanged.
    pub fn run(self) -> Result<Tensor> {
        let Reduce { op, x, arguments, rules, target } = self;
        let mut call = Call::new();
        let elements = call.tensor(x);
        let (terms, over) = call.reduce(op, elements, &arguments, rules)?;
        call.run(op.name(), terms, Some(over), target)
    }
}

macro_rules! define_methods {
    ($(
        $variant:ident $name:ident $domain:ident $result:ident
        {$method:ident $keepdims:ident $terms:ident $combine:ident $empty:ident $finish:ident $($alias:literal)*}
        $doc:literal {$x:literal => $dtype:ident $columns:literal $whole:literal};
    )*) => {
        /// # Reductions
        ///
        /// These methods reduce the given dimensions. The result no longer has them, or has them with size 1 if the
        /// name of the method ends in `_keepdims`. The axes are an integer, a list of integers, a range, or `..` for
        /// all; see [`IntoAxes`]. For a destination, a mask, other rules or the dtype of a sum see
        /// [`reduce`](crate::reduce()).
        ///
        /// Floats are added and multiplied in `f64` and rounded once. The order of the additions and multiplications
        /// depends only on the number of terms: the terms, in row-major order, are the leaves of a perfect binary tree.
        /// The result therefore has the same bits on every device, with any number of threads and for every layout. The
        /// error of a sum before rounding is at most 2⁻⁵³ times the depth of the tree (the binary logarithm of the
        /// number of terms, rounded up) times the sum of the magnitudes of the terms. The sign and payload of a NaN are
        /// unspecified.
        impl Tensor {
            $(define_method! {
                $finish $variant $method $keepdims [$($alias)*] $doc $x $dtype
                concat!("[", $columns, "]"), $whole
            })*
        }
    };
}

/// Defines the two methods of a row, by what becomes of its total.
macro_rules! define_method {
    (Variance $($row:tt)*) => {
        define_method!(@ [, correction: impl Into<Scalar>] [.correction(correction)] ", 0" $($row)*);
    };
    (Deviation $($row:tt)*) => {
        define_method!(@ [, correction: impl Into<Scalar>] [.correction(correction)] ", 0" $($row)*);
    };
    ($finish:ident $($row:tt)*) => {
        define_method!(@ [] [] "" $($row)*);
    };
    (
        @ [$($parameter:tt)*] [$($option:tt)*] $example:literal
        $variant:ident $method:ident $keepdims:ident [$($alias:literal)*]
        $doc:literal $x:literal $dtype:ident
        $columns:expr, $whole:literal
    ) => {
        #[doc = $doc]
        ///
        /// # Examples
        ///
        /// ```
        /// # use bitlane::{Device, Tensor};
        #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2, 3], &Device::cpu())?;")]
        #[doc = concat!(
            "assert_eq!(x.", stringify!($method), "(0", $example, ")?.to_vec::<", stringify!($dtype), ">()?, ",
            $columns, ");"
        )]
        #[doc = concat!(
            "assert_eq!(x.", stringify!($method), "(..", $example, ")?.item::<", stringify!($dtype), ">()?, ",
            $whole, ");"
        )]
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// See [`Reduce::run`](crate::Reduce::run).
        $(#[doc(alias = $alias)])*
        pub fn $method(&self, axes: impl IntoAxes $($parameter)*) -> Result<Tensor> {
            reduce(ReduceOp::$variant, self, axes)$($option)*.run()
        }

        #[doc = concat!(
            "Computes [`Tensor::", stringify!($method), "`] and keeps the reduced dimensions, with size 1."
        )]
        ///
        /// # Examples
        ///
        /// ```
        /// # use bitlane::{Device, Tensor};
        #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2, 3], &Device::cpu())?;")]
        #[doc = concat!("let kept = x.", stringify!($keepdims), "(0", $example, ")?;")]
        /// assert_eq!(kept.shape(), [1, 3]);
        #[doc = concat!("assert_eq!(kept.to_vec::<", stringify!($dtype), ">()?, ", $columns, ");")]
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// See [`Reduce::run`](crate::Reduce::run).
        pub fn $keepdims(&self, axes: impl IntoAxes $($parameter)*) -> Result<Tensor> {
            reduce(ReduceOp::$variant, self, axes)$($option)*.keepdims().run()
        }
    };
}

for_each_op!(reductions: define_methods);
