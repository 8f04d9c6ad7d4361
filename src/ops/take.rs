//! Look-ups by index, and the places of what is not zero.

use smallvec::SmallVec;

use crate::gather::GatherRequest;
use crate::layout::{Layout, MAX_RANK, Shape, boxed};
use crate::plan::Plan;
use crate::storage::Access;
use crate::tensor::IntoAxis;
use crate::{DType, Error, Result, Tensor, backend};

/// # Look-ups by index
///
/// The indices are `i32` or `i64`, and negative ones count from the end. An index out of range is
/// [`Error::OutOfBounds`]; on CUDA the call therefore waits until a kernel has looked at all indices.
/// [`Tensor::take_clamped`] does not.
///
/// The indices are checked first and read again for the look-up, and are not locked in between. If another thread
/// replaces one by an index out of range meanwhile, it is clamped: nothing outside the tensor is ever read.
impl Tensor {
    /// Looks up the elements at the given indices along an axis. The dimensions of the indices take the place of the axis.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let device = Device::cpu();
    /// let x = Tensor::from_nested([[1, 2, 3], [4, 5, 6]], &device)?;
    /// let columns = x.take(&Tensor::from_nested([2, -3], &device)?, 1)?;
    /// assert_eq!(columns.to_vec::<i32>()?, [3, 1, 6, 4]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::OutOfBounds`] if the axis does not exist or an index is out of range.
    /// - [`Error::UnsupportedDType`] if the indices are neither `i32` nor `i64`.
    /// - [`Error::InvalidShape`] if the result would have more than 8 dimensions.
    /// - [`Error::DeviceMismatch`] if the indices are on another device.
    /// - [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    #[doc(alias = "index_select")]
    pub fn take(&self, indices: &Tensor, axis: impl IntoAxis) -> Result<Tensor> {
        let op = "take";
        let axis = self.axis(op, axis)?;
        self.check_indices(op, indices, axis)?;
        self.take_unchecked(op, indices, axis)
    }

    /// Looks up as [`Tensor::take`] does, but takes the first or the last element for an index out of range. It never waits
    /// for the device.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let device = Device::cpu();
    /// let x = Tensor::from_nested([10, 20, 30], &device)?;
    /// let clamped = x.take_clamped(&Tensor::from_nested([1, 7, -9], &device)?, 0)?;
    /// assert_eq!(clamped.to_vec::<i32>()?, [20, 30, 10]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::take`]; [`Error::OutOfBounds`] only if the axis does not exist or has no elements.
    pub fn take_clamped(&self, indices: &Tensor, axis: impl IntoAxis) -> Result<Tensor> {
        let op = "take_clamped";
        let axis = self.axis(op, axis)?;
        check_dtype(op, indices)?;
        self.take_unchecked(op, indices, axis)
    }

    /// Looks up one element along an axis for every index, at the same place in the other dimensions, which are broadcast.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([[1, 5, 3], [4, 2, 6]], &Device::cpu())?;
    /// let largest = x.take_along_axis(&x.argmax_keepdims(1)?, 1)?;
    /// assert_eq!(largest.to_vec::<i32>()?, [5, 6]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::take`]; [`Error::InvalidShape`] if the indices have another number of dimensions, and
    /// [`Error::Broadcast`] if their other dimensions do not broadcast with those of the tensor.
    #[doc(alias = "gather")]
    pub fn take_along_axis(&self, indices: &Tensor, axis: impl IntoAxis) -> Result<Tensor> {
        let op = "take_along_axis";
        let axis = self.axis(op, axis)?;
        if indices.rank() != self.rank() {
            let reason = format!("the indices must have {} dimensions too", self.rank());
            return Err(Error::InvalidShape { op, shape: boxed(indices.shape()), reason });
        }
        self.check_indices(op, indices, axis)?;
        let mut along = Shape::of(self.shape()).to_vec();
        along[axis] = indices.shape()[axis];
        let shape = crate::layout::broadcast(op, &along, indices.shape())?;
        self.gather(op, indices, axis, &shape, || {
            let operand = self.layout().first_of(axis).broadcast_to(op, &shape)?;
            Ok((operand, indices.layout().broadcast_to(op, &shape)?))
        })
    }

    /// Returns where the elements are that are not zero: for each dimension the indices along it, as `i64`, in row-major
    /// order of the elements. It waits for the device, to know how many there are.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([[0, 5, 0], [4, 0, 6]], &Device::cpu())?;
    /// let places = x.nonzero()?;
    /// assert_eq!(places[0].to_vec::<i64>()?, [0, 1, 1]);
    /// assert_eq!(places[1].to_vec::<i64>()?, [1, 0, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    pub fn nonzero(&self) -> Result<Vec<Tensor>> {
        let places = self.places_of_truth("nonzero")?;
        let along = |axis: usize| {
            // Both are at least 1 if there is a place.
            let inner = self.shape()[axis + 1..].iter().product::<usize>().max(1) as i64;
            let size = self.shape()[axis].max(1) as i64;
            match (axis, inner) {
                (0, 1) => Ok(places.clone()),
                (0, _) => places.floor_divide(inner),
                (_, 1) => places.remainder(size),
                _ => places.expr().floor_divide(inner).remainder(size).run(),
            }
        };
        (0..self.rank()).map(along).collect()
    }

    /// Returns the elements for which the mask is true, in row-major order. The mask is broadcast to the shape of the
    /// tensor. It waits for the device, to know how many there are.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([[1, 5, 3], [4, 2, 6]], &Device::cpu())?;
    /// assert_eq!(x.compress(&x.greater_than(3)?)?.to_vec::<i32>()?, [5, 4, 6]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the mask is not bool, [`Error::Broadcast`] if it does not broadcast to the shape of the
    /// tensor, [`Error::DeviceMismatch`] if it is on another device; [`Error::OutOfMemory`], and on CUDA
    /// [`Error::Compile`] or [`Error::Driver`].
    #[doc(alias = "masked_select")]
    #[doc(alias = "boolean_mask")]
    pub fn compress(&self, mask: &Tensor) -> Result<Tensor> {
        let op = "compress";
        self.device().expect_same(op, mask.device())?;
        if mask.dtype() != DType::Bool {
            let reason = format!("the mask is {}, not bool; cast or compare it", mask.dtype());
            return Err(Error::InvalidArgument { op, reason });
        }
        let mask = mask.with_layout(mask.layout().broadcast_to(op, self.shape())?);
        let places = mask.places_of_truth(op)?;
        if places.is_empty() {
            return Tensor::undefined(op, self.device(), &[0], self.dtype());
        }
        self.contiguous()?.reshape([self.len()])?.take_unchecked(op, &places, 0)
    }

    /// Returns the places of all elements that are not zero, in row-major order.
    fn places_of_truth(&self, op: &'static str) -> Result<Tensor> {
        let reason = "the length of the result is read from the device; do it before the capture, or use select";
        backend::forbid_in_graphs(self.device(), op, reason)?;
        // A copy that nobody else can change between the two passes.
        let truth =
            if self.dtype() == DType::Bool { self.copy()? } else { self.cast(DType::Bool)? };
        let truth = truth.reshape([self.len()])?;
        let count = truth.count_nonzero(..)?.item::<i64>()? as usize;
        let places = Tensor::undefined(op, self.device(), &[count], DType::I64)?;
        if count > 0 {
            // The place of each among the results, where it is not found on the way.
            let sums = match backend::counts_on_the_way(self.device()) {
                true => None,
                false => Some(truth.cumulative_sum(0)?),
            };
            let storages: SmallVec<[&Tensor; 3]> =
                [&places, &truth].into_iter().chain(sums.as_ref()).collect();
            let access = Access::new(storages.into_iter().map(Tensor::storage));
            backend::places(self.device(), op, truth.len(), &access)?;
        }
        Ok(places)
    }

    /// Refuses indices of another dtype or device, and those out of range.
    fn check_indices(&self, op: &'static str, indices: &Tensor, axis: usize) -> Result<()> {
        check_dtype(op, indices)?;
        self.device().expect_same(op, indices.device())?;
        if indices.is_empty() {
            return Ok(());
        }
        let reason = "it waits for a kernel to check the indices; use take_clamped, which does not, or do it before \
                      the capture";
        backend::forbid_in_graphs(self.device(), op, reason)?;
        // An `i64` holds every size.
        let size = self.shape()[axis] as i64;
        let wide = || indices.expr().cast(DType::I64);
        let is_wrong = wide().less_than(-size).logical_or(wide().greater_equal(size));
        if !is_wrong.any(..).run()?.item::<bool>()? {
            return Ok(());
        }
        let numbers = indices.cast(DType::I64)?.to_vec::<i64>()?;
        let wrong = numbers.iter().find(|&&number| number < -size || number >= size);
        let index = wrong.map_or("an index".into(), |number| format!("index {number}"));
        let reason = format!("{index} of axis {axis} of size {size}");
        Err(Error::OutOfBounds { op, reason })
    }

    /// Looks up by indices that the dimensions of the result contain in place of an axis.
    fn take_unchecked(&self, op: &'static str, indices: &Tensor, axis: usize) -> Result<Tensor> {
        let (before, after) = (&self.shape()[..axis], &self.shape()[axis + 1..]);
        let shape: Vec<usize> =
            [before, indices.shape(), after].into_iter().flatten().copied().collect();
        if shape.len() > MAX_RANK {
            let reason = format!("a tensor has at most {MAX_RANK} dimensions");
            return Err(Error::InvalidShape { op, shape: boxed(&shape), reason });
        }
        self.gather(op, indices, axis, &shape, || {
            let mut operand = self.layout().first_of(axis).squeeze(axis)?;
            for _ in indices.shape() {
                operand = operand.unsqueeze(axis)?;
            }
            let mut places = *indices.layout();
            for _ in after {
                places = places.unsqueeze(places.rank())?;
            }
            Ok((operand.broadcast_to(op, &shape)?, places.broadcast_to(op, &shape)?))
        })
    }

    /// Looks up into a new tensor. `layouts` returns those of the operand at the start of the axis and of the indices, both
    /// broadcast to the shape of the result.
    fn gather(
        &self,
        op: &'static str,
        indices: &Tensor,
        axis: usize,
        shape: &[usize],
        layouts: impl FnOnce() -> Result<(Layout, Layout)>,
    ) -> Result<Tensor> {
        self.device().expect_same(op, indices.device())?;
        let out = Tensor::undefined(op, self.device(), shape, self.dtype())?;
        if out.is_empty() {
            return Ok(out);
        }
        let len = self.shape()[axis];
        if len == 0 {
            let reason = format!("axis {axis} has no elements");
            return Err(Error::OutOfBounds { op, reason });
        }
        let (operand, places) = layouts()?;
        let plan = Plan::new(shape, [out.layout(), &operand, &places]);
        let request = GatherRequest {
            op,
            dtype: self.dtype(),
            indices: indices.dtype(),
            plan: &plan,
            stride: self.strides()[axis],
            len,
        };
        let access = Access::new([out.storage(), self.storage(), indices.storage()]);
        backend::gather(out.device(), &request, &access)?;
        drop(access);
        Ok(out)
    }
}

/// Refuses indices that are no integers of 32 or 64 bits.
fn check_dtype(op: &'static str, indices: &Tensor) -> Result<()> {
    match indices.dtype() {
        DType::I32 | DType::I64 => Ok(()),
        dtype => Err(Error::UnsupportedDType { op, dtype, allowed: "i32 and i64 as indices" }),
    }
}
