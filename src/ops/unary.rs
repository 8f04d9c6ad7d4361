//! Unary operations: their methods, and the builder behind them.

#[cfg(doc)]
use crate::Error;
use crate::call::{Target, run_operation};
use crate::expr::graph::Operation;
use crate::op::{UnaryOp, for_each_op};
use crate::promote::Rules;
use crate::{Result, Tensor};

/// A unary operation that has not run yet, created by [`unary`].
///
/// Optionally choose a rulebook, a destination and a mask, then [`run`](Unary::run) it.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, UnaryOp, unary};
/// let device = Device::cpu();
/// let mut x = Tensor::from_nested([1, -2, -3], &device)?;
/// let mask = Tensor::from_nested([true, true, false], &device)?;
/// unary(UnaryOp::Negative, &x.clone()).out(&mut x).mask(&mask).run()?;
/// assert_eq!(x.to_vec::<i32>()?, [-1, 2, -3]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until it is run"]
pub struct Unary<'a> {
    op: UnaryOp,
    x: &'a Tensor,
    rules: Rules,
    target: Target<'a>,
}

/// Prepares an operation on one operand, to be completed and run with the methods of [`Unary`].
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, UnaryOp, unary};
/// let x = Tensor::from_nested([0b01u8, 0b10], &Device::cpu())?;
/// for &op in UnaryOp::ALL.iter().filter(|op| op.is_defined_for(x.dtype())) {
///     println!("{op}: {}", unary(op, &x).run()?);
/// }
/// # Ok::<(), bitlane::Error>(())
/// ```
pub fn unary(op: UnaryOp, x: &Tensor) -> Unary<'_> {
    Unary { op, x, rules: Rules::current(), target: Target::default() }
}

impl<'a> Unary<'a> {
    /// Promotes the operand by this rulebook. The default is [`Rules::current`].
    ///
    /// See [`promote::unary_result_type`](crate::promote::unary_result_type) for the dtype of the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Rules, Tensor, UnaryOp, unary};
    /// let x = Tensor::from_nested([1i8, -1], &Device::cpu())?;
    /// assert_eq!(unary(UnaryOp::Abs, &x).rules(Rules::NumPy).run()?.dtype(), DType::I8);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn rules(self, rules: Rules) -> Self {
        Unary { rules, ..self }
    }

    /// Writes the result to this tensor, the destination, instead of to a new one, as
    /// [`Binary::out`](crate::Binary::out) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor, UnaryOp, unary};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([1.5f32, -2.5], &device)?;
    /// let mut out = Tensor::zeros([2], DType::F64, &device)?;
    /// unary(UnaryOp::Abs, &x).out(&mut out).run()?;
    /// assert_eq!(out.to_vec::<f64>()?, [1.5, 2.5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn out(self, out: &'a mut Tensor) -> Self {
        Unary { target: Target { out: Some(out), ..self.target }, ..self }
    }

    /// Writes only the elements for which the mask is true, as [`Binary::mask`](crate::Binary::mask) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor, UnaryOp, unary};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([1, 2], &device)?;
    /// let mask = Tensor::from_nested([false, true], &device)?;
    /// let mut out = Tensor::zeros([2], DType::I32, &device)?;
    /// unary(UnaryOp::BitwiseNot, &x).out(&mut out).mask(&mask).run()?;
    /// assert_eq!(out.to_vec::<i32>()?, [0, -3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn mask(self, mask: &'a Tensor) -> Self {
        Unary { target: Target { mask: Some(mask), ..self.target }, ..self }
    }

    /// Runs the operation. Returns the destination if there is one, and a new tensor otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor, UnaryOp, unary};
    /// let x = Tensor::from_nested([-0.0f32, 1.0], &Device::cpu())?;
    /// assert_eq!(unary(UnaryOp::Signbit, &x).run()?.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::UnsupportedDType`] if the operation is not defined for the dtype.
    /// - [`Error::DeviceMismatch`], [`Error::InplaceShape`], [`Error::InplaceDtype`] or
    ///   [`Error::OverlappingDestination`] if the destination cannot hold the result.
    /// - [`Error::InvalidArgument`] if a mask is not `bool` or has no destination, [`Error::Broadcast`] if it does not
    ///   broadcast to the result.
    /// - [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    ///
    /// On error the destination is unchanged.
    pub fn run(self) -> Result<Tensor> {
        let Unary { op, x, rules, target } = self;
        run_operation(Operation::Unary(op), [&x.into()], rules, target)
    }
}

macro_rules! define_methods {
    ($(
        $variant:ident $name:ident $domain:ident $result:ident {$family:ident $($alias:literal)*}
        $doc:literal {$x:literal => $dtype:ty, $expected:literal};
    )*) => {
        /// # Unary operations
        ///
        /// For other rules, a destination or a mask see [`unary`](crate::unary()).
        impl Tensor {
            $(
                #[doc = $doc]
                ///
                /// # Examples
                ///
                /// ```
                /// # use bitlane::{Complex, Device, Tensor};
                #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2], &Device::cpu())?;")]
                #[doc = concat!(
                    "assert_eq!(x.", stringify!($name), "()?.to_vec::<", stringify!($dtype), ">()?, [",
                    $expected, "]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                ///
                /// # Errors
                ///
                /// See [`Unary::run`](crate::Unary::run).
                $(#[doc(alias = $alias)])*
                pub fn $name(&self) -> Result<Tensor> {
                    unary(UnaryOp::$variant, self).run()
                }
            )*
        }
    };
}

for_each_op!(unary: define_methods);
