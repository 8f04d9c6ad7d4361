//! Scans: their methods, and the builder behind them.

use crate::call::{Call, Target};
use crate::op::{ScanOp, for_each_op};
use crate::scan::ScanRequest;
use crate::storage::Access;
use crate::tensor::IntoAxis;
use crate::{DType, Error, Result, Tensor, backend};

/// A scan that has not run yet, created by [`scan`](crate::scan()).
///
/// Optionally choose a dtype, a destination and a mask, then [`run`](Scan::run) it.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, ScanOp, Tensor, scan};
/// let device = Device::cpu();
/// let x = Tensor::from_nested([[1u8, 2, 3], [4, 5, 6]], &device)?;
/// let mut out = Tensor::zeros([2, 3], DType::U32, &device)?;
/// scan(ScanOp::Sum, &x, -1).dtype(DType::U32).out(&mut out).run()?;
/// assert_eq!(out.to_vec::<u32>()?, [1, 3, 6, 4, 9, 15]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until it is run"]
pub struct Scan<'a> {
    op: ScanOp,
    x: &'a Tensor,
    axis: Result<usize>,
    dtype: Option<DType>,
    target: Target<'a>,
}

/// Prepares a scan of a tensor along an axis, to be completed and run with the methods of [`Scan`].
///
/// # Examples
///
/// ```
/// use bitlane::{Device, ScanOp, Tensor, scan};
/// let x = Tensor::from_nested([[1, 5], [4, 2]], &Device::cpu())?;
/// assert_eq!(scan(ScanOp::Max, &x, 0).run()?.to_vec::<i32>()?, [1, 5, 4, 5]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[doc(alias = "accumulate")]
#[doc(alias = "associative_scan")]
pub fn scan(op: ScanOp, x: &Tensor, axis: impl IntoAxis) -> Scan<'_> {
    Scan { op, x, axis: x.axis(op.name(), axis), dtype: None, target: Target::default() }
}

impl<'a> Scan<'a> {
    /// Sums or multiplies in this dtype: the elements are converted to it, and the result has it. Integers then wrap in
    /// their own width. Only `cumulative_sum` and `cumulative_prod` have this option.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, ScanOp, Tensor, scan};
    /// let x = Tensor::from_nested([200u8, 100], &Device::cpu())?;
    /// let sums = scan(ScanOp::Sum, &x, 0).dtype(DType::U8).run()?;
    /// assert_eq!(sums.to_vec::<u8>()?, [200, 44]); // 300 wraps to 44
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn dtype(self, dtype: DType) -> Self {
        Scan { dtype: Some(dtype), ..self }
    }

    /// Writes the result to this tensor, the destination, instead of to a new one, as
    /// [`Binary::out`](crate::Binary::out) does. It may be the operand.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, ScanOp, Tensor, scan};
    /// let x = Tensor::from_nested([1.0f32, 2.0, 3.0], &Device::cpu())?;
    /// scan(ScanOp::Sum, &x, 0).out(&mut x.clone()).run()?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 3.0, 6.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn out(self, out: &'a mut Tensor) -> Self {
        Scan { target: Target { out: Some(out), ..self.target }, ..self }
    }

    /// Writes only the results for which the mask is true, as [`Binary::mask`](crate::Binary::mask) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, ScanOp, Tensor, scan};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([1, 2, 3], &device)?;
    /// let mask = Tensor::from_nested([true, false, true], &device)?;
    /// let mut out = Tensor::zeros([3], DType::I64, &device)?;
    /// scan(ScanOp::Sum, &x, 0).out(&mut out).mask(&mask).run()?;
    /// assert_eq!(out.to_vec::<i64>()?, [1, 0, 6]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn mask(self, mask: &'a Tensor) -> Self {
        Scan { target: Target { mask: Some(mask), ..self.target }, ..self }
    }

    /// Runs the scan. Returns the destination if there is one, and a new tensor otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, ScanOp, Tensor, scan};
    /// let x = Tensor::from_nested([3, 1, 2], &Device::cpu())?;
    /// assert_eq!(scan(ScanOp::Min, &x, 0).run()?.to_vec::<i32>()?, [3, 1, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::OutOfBounds`] if the axis does not exist.
    /// - [`Error::UnsupportedDType`] if the scan is not defined for the dtype.
    /// - [`Error::DeviceMismatch`], [`Error::InplaceShape`], [`Error::InplaceDtype`] or
    ///   [`Error::OverlappingDestination`] if the destination cannot hold the result.
    /// - [`Error::InvalidArgument`] if a mask is not `bool` or has no destination, or if a dtype is given to another scan
    ///   than a sum or a product; [`Error::Broadcast`] if the mask does not broadcast to the result.
    /// - [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    ///
    /// On error the destination is unchanged.
    pub fn run(self) -> Result<Tensor> {
        let Scan { op, x, axis, dtype, target } = self;
        let result = fresh(op, x, axis?, dtype)?;
        if target.out.is_none() && target.mask.is_none() {
            return Ok(result);
        }
        let mut call = Call::new();
        let elements = call.tensor(&result);
        call.run(op.name(), elements, None, target)
    }
}

/// Computes a scan into a new tensor.
fn fresh(op: ScanOp, x: &Tensor, axis: usize, dtype: Option<DType>) -> Result<Tensor> {
    let name = op.name();
    let own = dtype.unwrap_or(x.dtype());
    if dtype.is_some() && !op.takes_dtype() {
        let reason =
            format!("the dtype {own} was given, which can be chosen for sums and products");
        return Err(Error::InvalidArgument { op: name, reason });
    }
    for dtype in [x.dtype(), own] {
        if !op.domain().contains(dtype) {
            let allowed = op.domain().words();
            return Err(Error::UnsupportedDType { op: name, dtype, allowed });
        }
    }
    let x = if own == x.dtype() { x.contiguous()? } else { x.cast(own)? };
    let x = x.cast(own.reduced_as())?;
    let result = dtype.unwrap_or(op.result(own));
    let out = Tensor::undefined(name, x.device(), x.shape(), result)?;
    if out.is_empty() {
        return Ok(out);
    }
    let request = ScanRequest {
        op: name,
        combine: op.combine(),
        terms: x.dtype(),
        out: result,
        outer: x.shape()[..axis].iter().product(),
        len: x.shape()[axis],
        inner: x.shape()[axis + 1..].iter().product(),
        offset: x.layout().offset(),
    };
    let access = Access::new([out.storage(), x.storage()]);
    backend::scan(out.device(), &request, &access)?;
    drop(access);
    Ok(out)
}

macro_rules! define_methods {
    ($(
        $variant:ident $name:ident $domain:ident $result:ident {$combine:ident $($alias:literal)*}
        $doc:literal {$x:literal => $dtype:ident $rows:literal};
    )*) => {
        /// # Scans
        ///
        /// These methods reduce all elements along an axis up to each one. For a destination, a mask or the dtype of a sum
        /// see [`scan`](crate::scan()).
        ///
        /// Sums and products of floats are computed in `f64` and rounded once. Their order depends only on the place of an
        /// element: the elements are the leaves of a perfect binary tree, and a prefix that ends in the right half is the
        /// sum of the left half plus the prefix within the right half. The results have the same bits on every device,
        /// with any number of threads and for every layout.
        impl Tensor {
            $(
                #[doc = $doc]
                ///
                /// # Examples
                ///
                /// ```
                /// # use bitlane::{Device, Tensor};
                #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2, 3], &Device::cpu())?;")]
                #[doc = concat!("let rows = x.", stringify!($name), "(-1)?;")]
                #[doc = concat!(
                    "assert_eq!(rows.to_vec::<", stringify!($dtype), ">()?, [", $rows, "]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                ///
                /// # Errors
                ///
                /// See [`Scan::run`](crate::Scan::run).
                $(#[doc(alias = $alias)])*
                pub fn $name(&self, axis: impl IntoAxis) -> Result<Tensor> {
                    scan(ScanOp::$variant, self, axis).run()
                }
            )*
        }
    };
}

for_each_op!(scans: define_methods);
