//! `ndarray`: arrays and views as operands, and conversions in both directions that keep strides.

use std::fmt;
use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn, ShapeBuilder};

use crate::layout::{Layout, checked_len};
use crate::storage::Storage;
use crate::{DType, Device, Element, Error, Operand, Result, Tensor};

/// A host array that can be copied to a device.
trait Upload: Send + Sync {
    fn dtype(&self) -> DType;
    fn shape(&self) -> &[usize];
    fn upload(&self, device: &Device) -> Result<Tensor>;
}

impl<T, S, D> Upload for ArrayBase<S, D>
where
    T: Element,
    S: Data<Elem = T> + Send + Sync,
    D: Dimension,
{
    fn dtype(&self) -> DType {
        T::DTYPE
    }

    fn shape(&self) -> &[usize] {
        ArrayBase::shape(self)
    }

    fn upload(&self, device: &Device) -> Result<Tensor> {
        let op = "from_ndarray";
        checked_len(op, self.shape(), size_of::<T>())?;
        let Some(elements) = self.as_slice_memory_order() else {
            let mut elements = Vec::new();
            elements.try_reserve_exact(self.len()).map_err(|_| Error::OutOfMemory {
                device: "host".into(),
                bytes: self.len() * size_of::<T>(),
            })?;
            elements.extend(self.iter().copied());
            return Tensor::from_slice(&elements, self.shape(), device);
        };
        // The slice starts at the lowest address, which with negative strides is not that of the first element.
        let offset = self.shape().iter().zip(self.strides());
        let offset = offset
            .filter(|&(&size, &stride)| size > 1 && stride < 0)
            .map(|(&size, &stride)| (size - 1) * stride.unsigned_abs())
            .sum();
        let layout = Layout::strided(op, self.shape(), self.strides(), offset, elements.len())?;
        let storage = Storage::from_bytes(device, bytemuck::cast_slice(elements))?;
        Ok(Tensor::row_major(storage, self.shape(), T::DTYPE).with_layout(layout))
    }
}

/// An array as an operand: borrowed, or owned if it was passed by value.
#[derive(Clone)]
pub(crate) struct HostArray<'a>(Held<'a>);

#[derive(Clone)]
enum Held<'a> {
    Borrowed(&'a dyn Upload),
    Owned(Arc<dyn Upload + 'a>),
}

impl HostArray<'_> {
    fn array(&self) -> &dyn Upload {
        match &self.0 {
            Held::Borrowed(array) => *array,
            Held::Owned(array) => &**array,
        }
    }

    pub(crate) fn dtype(&self) -> DType {
        self.array().dtype()
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.array().shape()
    }

    pub(crate) fn upload(&self, device: &Device) -> Result<Tensor> {
        self.array().upload(device)
    }
}

impl fmt::Debug for HostArray<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostArray")
    }
}

/// A borrowed array or view is copied to the device of the other operand when the operation runs.
impl<'a, T, S, D> From<&'a ArrayBase<S, D>> for Operand<'a>
where
    T: Element,
    S: Data<Elem = T> + Send + Sync,
    D: Dimension,
{
    fn from(array: &'a ArrayBase<S, D>) -> Self {
        Operand::from_array(HostArray(Held::Borrowed(array)))
    }
}

/// An array or view passed by value is copied to the device of the other operand when the operation runs.
impl<'a, T, S, D> From<ArrayBase<S, D>> for Operand<'a>
where
    T: Element,
    S: Data<Elem = T> + Send + Sync + 'a,
    D: Dimension + 'a,
{
    fn from(array: ArrayBase<S, D>) -> Self {
        Operand::from_array(HostArray(Held::Owned(Arc::new(array))))
    }
}

/// # Conversion from and to `ndarray`
impl Tensor {
    /// Creates a tensor by copying an array or view to a device.
    ///
    /// An array without gaps keeps its strides, whatever the order of its axes. Any other becomes a row-major tensor.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Device, Tensor};
    /// use ndarray::array;
    /// let array = array![[1u8, 2, 3], [4, 5, 6]];
    /// let columns = Tensor::from_ndarray(&array.t(), &Device::cpu())?;
    /// assert_eq!((columns.shape(), columns.strides()), (&[3, 2][..], &[1, 3][..]));
    /// // As an operand an array needs no conversion.
    /// let shifted = (&columns << &array.t())?;
    /// assert_eq!(shifted.to_ndarray::<u8>()?, array![[2, 64], [8, 160], [24, 128]].into_dyn());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if the rank is above 8, [`Error::OutOfMemory`] if the device cannot allocate the memory.
    pub fn from_ndarray<T, S, D>(array: &ArrayBase<S, D>, device: &Device) -> Result<Tensor>
    where
        T: Element,
        S: Data<Elem = T> + Send + Sync,
        D: Dimension,
    {
        array.upload(device)
    }

    /// Copies the elements to an array. Waits for the device.
    ///
    /// A tensor without gaps keeps its strides, whatever the order of its dimensions. Any other becomes a row-major
    /// array.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Device, Tensor};
    /// use ndarray::array;
    /// let x = Tensor::from_nested([[1, 2], [3, 4]], &Device::cpu())?;
    /// assert_eq!(x.transpose(0, 1)?.to_ndarray::<i32>()?, array![[1, 3], [2, 4]].into_dyn());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::to_vec`].
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let op = "to_ndarray";
        let mut order: Vec<usize> = (0..self.rank()).collect();
        order.sort_by_key(|&axis| std::cmp::Reverse(self.strides()[axis]));
        let in_memory_order = self.permute(&order)?;
        let wrong_shape = |error: ndarray::ShapeError| Error::InvalidShape {
            op,
            shape: self.shape().into(),
            reason: error.to_string(),
        };
        if !in_memory_order.is_contiguous() || self.is_empty() {
            return ArrayD::from_shape_vec(self.shape(), self.elements(op)?).map_err(wrong_shape);
        }
        // An axis of size 1 may have any stride, even one that `ndarray` rejects.
        let largest = isize::MAX.unsigned_abs();
        let strides = self.strides().iter().map(|&stride| stride.unsigned_abs().min(largest));
        let strides = IxDyn(&strides.collect::<Vec<_>>());
        let elements = in_memory_order.elements(op)?;
        ArrayD::from_shape_vec(IxDyn(self.shape()).strides(strides), elements).map_err(wrong_shape)
    }
}
