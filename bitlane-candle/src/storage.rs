//! Memory of candle as tensors of bitlane, for as long as a call lasts.

use std::ffi::c_void;

use bitlane::dlpack::{
    Capsule, DLDataType, DLDevice, DLManagedTensor, DLTensor, device_type, import,
};
use bitlane::{DType, Device, Tensor};
use candle_core::{CpuStorage, Layout, Result};

use crate::evaluate::{failed, refused};

/// Calls `$callback!` with every dtype that both libraries have: candle's variant, the Rust type, bitlane's variant, and
/// what DLPack calls it.
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

/// Where elements are, and of which dtype.
struct Elements {
    first: *mut c_void,
    count: usize,
    code: u8,
    dtype: DType,
}

/// The elements of a storage.
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

/// A storage of zeros for a result of this dtype; candle holds bools as bytes.
pub(crate) fn zeros(op: &'static str, dtype: DType, count: usize) -> Result<CpuStorage> {
    use bitlane::{bf16, f16};
    macro_rules! make {
        ($($variant:ident: $rust:ident = $dtype:ident, $code:literal;)*) => {
            match dtype {
                DType::Bool => Ok(CpuStorage::U8(vec![0; count])),
                $(DType::$dtype => Ok(CpuStorage::$variant(vec![<$rust>::default(); count])),)*
                other => Err(refused(op, &format!("the result is {other}, which candle does not have; cast it"))),
            }
        };
    }
    for_each_dtype!(make)
}

/// Calls a function with a tensor that reads a storage where it is.
pub(crate) fn with_tensor<T>(
    op: &'static str,
    storage: &CpuStorage,
    layout: &Layout,
    function: impl FnOnce(&Tensor) -> Result<T>,
) -> Result<T> {
    let elements = elements(op, storage)?;
    // SAFETY: the storage is borrowed until the function returns, and the tensor is only lent to it. No clone outlives it:
    // the functions are this crate's own, and users' functions are given expressions, which borrow the tensor. Nothing
    // writes it, because nobody has it as a destination.
    let tensor = unsafe { tensor(op, &elements, layout) }?;
    function(&tensor)
}

/// Calls a function with a tensor that writes a storage of row-major elements.
pub(crate) fn with_destination<T>(
    op: &'static str,
    storage: &mut CpuStorage,
    shape: &[usize],
    function: impl FnOnce(&mut Tensor) -> Result<T>,
) -> Result<T> {
    let elements = elements(op, storage)?;
    // SAFETY: as in `with_tensor`, and the storage is borrowed for writing.
    let mut tensor = unsafe { tensor(op, &elements, &Layout::contiguous(shape)) }?;
    function(&mut tensor)
}

/// What a tensor that is made of candle's memory keeps until it is dropped.
struct Context {
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// A tensor in somebody else's memory.
///
/// # Safety
///
/// The elements must be there, and be written by nobody else, for as long as the tensor or a clone of it exists. Only if
/// they are borrowed for writing may the tensor be written.
unsafe fn tensor(op: &'static str, elements: &Elements, layout: &Layout) -> Result<Tensor> {
    let last: usize =
        layout.dims().iter().zip(layout.stride()).map(|(&n, &s)| n.saturating_sub(1) * s).sum();
    let is_empty = layout.dims().contains(&0);
    if !is_empty && layout.start_offset() + last >= elements.count {
        return Err(refused(op, "the layout reaches beyond the storage"));
    }
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
        byte_offset: (layout.start_offset() * elements.dtype.size()) as u64,
    };
    let manager_ctx = Box::into_raw(context).cast();
    let managed = Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(delete) });
    // SAFETY: the structure was made here, with sizes and strides that live as long as it does; the elements are
    // initialised, and none is a bool. The rest is the caller's promise.
    let capsule = unsafe { Capsule::from_raw(Box::into_raw(managed)) };
    let capsule = capsule.ok_or_else(|| refused(op, "there is no memory"))?;
    import(capsule, &Device::cpu()).map_err(failed)
}

/// Frees what [`tensor`] has made; the elements are candle's.
unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
    // SAFETY: `tensor` made both boxes, and a deleter is called once, at the end.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager_ctx.cast::<Context>()));
    }
}
