//! Views candle storages as bitlane tensors for the duration of a call.

use std::ffi::c_void;

use bitlane::dlpack::{
    Capsule, DLDataType, DLDevice, DLManagedTensor, DLTensor, device_type, import,
};
use bitlane::{DType, Device, Tensor};
use bytemuck::allocation::try_zeroed_vec;
use candle_core::{CpuStorage, Layout, Result};

use crate::evaluate::{failed, refused};

/// Calls `$callback!` with every dtype that both libraries have: candle's variant, the Rust type, bitlane's variant,
/// and DLPack's type code.
macro_rules! for_each_dtype {
    ($callback:ident) => {
        $callback! {
            U8: u8 = U8, 1;
            U32: u32 = U32, 1;
            I16: i16 = I16, 0;
            I32: i32 = I32, 0;
            I64: i64 = I64, 0;
            BF16: bf16 = BF16, 4;
            F16: f16 = F16, 2;
            F32: f32 = F32, 2;
            F64: f64 = F64, 2;
        }
    };
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
                _ => Err(refused(op, "bitlane has no such dtype; cast the operand")),
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
                _ => None,
            }
        };
    }
    for_each_dtype!(find)
}

/// Creates a storage of zeros for a result of this dtype and shape; bools are stored as `u8`.
pub(crate) fn zeros(op: &'static str, dtype: DType, shape: &[usize]) -> Result<CpuStorage> {
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
                other => Err(refused(op, &format!("the result is {other}, which candle does not have; cast it"))),
            }
        };
    }
    for_each_dtype!(make)
}

/// Calls a function with a tensor that views a storage.
pub(crate) fn with_tensor<T>(
    op: &'static str,
    storage: &CpuStorage,
    layout: &Layout,
    function: impl FnOnce(&Tensor) -> Result<T>,
) -> Result<T> {
    let elements = elements(op, storage)?;
    // SAFETY: the storage is borrowed until the function returns, which gets the tensor by reference only. No clone
    // outlives the call: the functions passed here are this crate's own, and users' functions are given expressions,
    // which borrow the tensor. The tensor is never used as a destination, so nothing is written through it.
    let tensor = unsafe { tensor(op, &elements, layout) }?;
    function(&tensor)
}

/// Calls a function with a tensor that views a storage in row-major order, to be written.
pub(crate) fn with_destination<T>(
    op: &'static str,
    storage: &mut CpuStorage,
    shape: &[usize],
    function: impl FnOnce(&mut Tensor) -> Result<T>,
) -> Result<T> {
    let mut elements = elements(op, storage)?;
    elements.first = first_mut(storage).unwrap_or(elements.first);
    // SAFETY: as in `with_tensor`. The storage is mutably borrowed, and the pointer is derived from that borrow, so the
    // tensor may be written.
    let mut tensor = unsafe { tensor(op, &elements, &Layout::contiguous(shape)) }?;
    function(&mut tensor)
}

/// Returns the largest offset that a layout without zero-sized dimensions reaches, or `None` if it overflows. Layouts are
/// checked because they can be constructed from arbitrary numbers.
fn last_element(layout: &Layout) -> Option<usize> {
    let mut last = layout.start_offset();
    for (&size, &stride) in layout.dims().iter().zip(layout.stride()) {
        last = last.checked_add(size.checked_sub(1)?.checked_mul(stride)?)?;
    }
    Some(last)
}

/// What a DLPack tensor points to, kept alive until its deleter is called.
struct Context {
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// Creates a tensor in borrowed memory.
///
/// # Safety
///
/// The elements must stay valid, and must not be written by anything else, for as long as the tensor or a clone of it
/// exists. The tensor must not be written unless `elements.first` may be written through.
unsafe fn tensor(op: &'static str, elements: &Elements, layout: &Layout) -> Result<Tensor> {
    if layout.stride().len() != layout.dims().len() {
        return Err(refused(op, "the layout has another number of strides than of dimensions"));
    }
    let is_empty = layout.dims().contains(&0);
    if !is_empty && last_element(layout).is_none_or(|last| last >= elements.count) {
        return Err(refused(op, "the layout reaches beyond the storage"));
    }
    // An empty layout reads nothing, so its offset may be arbitrary.
    let start = if is_empty { 0 } else { layout.start_offset() };
    let signed = |numbers: &[usize]| numbers.iter().map(|&number| number as i64).collect();
    let mut context =
        Box::new(Context { shape: signed(layout.dims()), strides: signed(layout.stride()) });
    let dl_tensor = DLTensor {
        data: elements.first,
        device: DLDevice { device_type: device_type::CPU, device_id: 0 },
        ndim: layout.dims().len() as i32,
        dtype: DLDataType { code: elements.code, bits: elements.dtype.bits() as u8, lanes: 1 },
        shape: context.shape.as_mut_ptr(),
        strides: context.strides.as_mut_ptr(),
        byte_offset: (start * elements.dtype.size()) as u64,
    };
    let manager_ctx = Box::into_raw(context).cast();
    let managed = Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(delete) });
    // SAFETY: the structure was created above, with a shape and strides that live as long as it does and a deleter that
    // any thread may call. The layout lies within the elements, which are initialised, and none is a bool. The caller
    // guarantees the rest. `import` checks that the elements are aligned to their size; the dtypes of `for_each_dtype` are
    // real numbers, so it never makes a copy, and what is written to the tensor is written to the elements.
    let capsule = unsafe { Capsule::from_raw(Box::into_raw(managed)) };
    let capsule = capsule.ok_or_else(|| refused(op, "there is no memory"))?;
    import(capsule, &Device::cpu()).map_err(failed)
}

/// Frees what [`tensor`] has allocated; the elements belong to candle.
unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
    // SAFETY: `tensor` created both boxes, and a deleter is called exactly once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager_ctx.cast::<Context>()));
    }
}
