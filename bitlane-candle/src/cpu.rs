//! Storages in host memory.

use std::ffi::c_void;

use bitlane::dlpack::{
    Capsule, DLDataType, DLDevice, DLManagedTensor, DLTensor, device_type, import,
};
use bitlane::{DType, Device, Expr, Tensor};
use bytemuck::allocation::try_zeroed_vec;
use candle_core::{CpuStorage, Layout, Result, Shape};

use crate::evaluate::{failed, refused};
use crate::storage::{Storage, for_each_dtype, no_such_dtype, not_in_candle, view};

/// DLPack's type code of the 8-bit float that candle has. On CUDA its memory is of a type that bitlane does not know.
const F8E4M3FN: u8 = 10;

impl Storage for CpuStorage {
    fn with_elements<T>(
        &self,
        op: &'static str,
        function: impl FnOnce(&Tensor) -> Result<T>,
    ) -> Result<T> {
        let elements = elements(op, self)?;
        // SAFETY: the storage is borrowed until the function returns, which gets the tensor by reference only. No clone
        // outlives the call: the functions passed here are this crate's own, and users' functions are given expressions,
        // which borrow the tensor. The tensor is never used as a destination, so nothing is written through it.
        let tensor = unsafe { tensor(op, elements) }?;
        function(&tensor)
    }

    fn with_elements_mut<T>(
        &mut self,
        op: &'static str,
        function: impl FnOnce(&mut Tensor) -> Result<T>,
    ) -> Result<T> {
        let mut elements = elements(op, self)?;
        elements.first = first_mut(self).unwrap_or(elements.first);
        // SAFETY: as in `with_elements`. The storage is mutably borrowed, and the pointer is derived from that borrow, so
        // the tensor may be written.
        let mut tensor = unsafe { tensor(op, elements) }?;
        function(&mut tensor)
    }

    fn evaluate(&self, op: &'static str, expr: Expr<'_>) -> Result<(Self, Shape)> {
        let (dtype, shape) = (expr.dtype().map_err(failed)?, expr.shape().map_err(failed)?);
        let mut storage = zeros(op, dtype, &shape)?;
        storage.with_elements_mut(op, |elements| {
            let mut out = view(op, elements, &Layout::contiguous(&*shape))?;
            expr.out(&mut out).run().map_err(failed)?;
            Ok(())
        })?;
        Ok((storage, shape.into()))
    }
}

/// The address, number and dtype of the elements of a storage.
struct Elements {
    first: *mut c_void,
    count: usize,
    code: u8,
    dtype: DType,
}

/// Returns the elements of a storage.
fn elements(op: &'static str, storage: &CpuStorage) -> Result<Elements> {
    macro_rules! find {
        ($($variant:ident: $rust:ident = $dtype:ident, $code:literal;)*) => {
            match storage {
                $(CpuStorage::$variant(elements) => Ok(Elements {
                    first: elements.as_ptr().cast_mut().cast(),
                    count: elements.len(),
                    code: $code,
                    dtype: DType::$dtype,
                }),)*
                CpuStorage::F8E4M3(elements) => Ok(Elements {
                    first: elements.as_ptr().cast_mut().cast(),
                    count: elements.len(),
                    code: F8E4M3FN,
                    dtype: DType::F8E4M3FN,
                }),
                _ => Err(no_such_dtype(op)),
            }
        };
    }
    for_each_dtype!(find)
}

/// Returns a pointer to the first element of a storage, through which it may be written.
fn first_mut(storage: &mut CpuStorage) -> Option<*mut c_void> {
    macro_rules! find {
        ($($variant:ident: $rust:ident = $dtype:ident, $code:literal;)*) => {
            match storage {
                $(CpuStorage::$variant(elements) => Some(elements.as_mut_ptr().cast()),)*
                CpuStorage::F8E4M3(elements) => Some(elements.as_mut_ptr().cast()),
                _ => None,
            }
        };
    }
    for_each_dtype!(find)
}

/// Creates a storage of zeros for a result of this dtype and shape; bools are stored as `u8`.
fn zeros(op: &'static str, dtype: DType, shape: &[usize]) -> Result<CpuStorage> {
    use bitlane::{bf16, f16};
    let too_large = || refused(op, &format!("there is no memory for {dtype} of shape {shape:?}"));
    let count = if shape.contains(&0) {
        0
    } else {
        // The sizes of views that broadcast do not have to fit memory, so their product may overflow.
        let product = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
        product.ok_or_else(too_large)?
    };
    macro_rules! make {
        ($($variant:ident: $rust:ident = $dtype:ident, $code:literal;)*) => {
            match dtype {
                DType::Bool => try_zeroed_vec(count).map(CpuStorage::U8).map_err(|()| too_large()),
                $(DType::$dtype => {
                    let zeros: std::result::Result<Vec<$rust>, ()> = try_zeroed_vec(count);
                    zeros.map(CpuStorage::$variant).map_err(|()| too_large())
                })*
                DType::F8E4M3FN => {
                    let mut zeros = Vec::new();
                    zeros.try_reserve_exact(count).map_err(|_| too_large())?;
                    // The number that all bits are 0 of is candle's default.
                    zeros.resize_with(count, Default::default);
                    Ok(CpuStorage::F8E4M3(zeros))
                }
                other => Err(not_in_candle(op, other)),
            }
        };
    }
    for_each_dtype!(make)
}

/// Creates a tensor of elements in borrowed memory.
///
/// # Safety
///
/// The elements must stay valid, and must not be written by anything else, for as long as the tensor or a clone of it
/// exists. The tensor must not be written unless `elements.first` may be written through.
unsafe fn tensor(op: &'static str, elements: Elements) -> Result<Tensor> {
    let Elements { first, count, code, dtype } = elements;
    let shape = Box::into_raw(Box::new(count as i64));
    let dl_tensor = DLTensor {
        data: first,
        device: DLDevice { device_type: device_type::CPU, device_id: 0 },
        ndim: 1,
        dtype: DLDataType { code, bits: dtype.bits() as u8, lanes: 1 },
        shape,
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let (manager_ctx, deleter) = (shape.cast(), Some(delete as _));
    let managed = Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter });
    // SAFETY: the structure was created above, with a shape that lives as long as it does and a deleter that any thread may
    // call. The elements are initialised, and none is a bool. The caller guarantees the rest. `import` checks that the
    // elements are aligned to their size; the dtypes of `for_each_dtype` are real numbers, so it never makes a copy, and
    // what is written to the tensor is written to the elements.
    let capsule = unsafe { Capsule::from_raw(Box::into_raw(managed)) };
    let capsule = capsule.ok_or_else(|| refused(op, "there is no memory"))?;
    import(capsule, &Device::cpu()).map_err(failed)
}

/// Frees what [`tensor`] has allocated; the elements belong to candle.
unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
    // SAFETY: `tensor` created both boxes, and a deleter is called exactly once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager_ctx.cast::<i64>()));
    }
}
