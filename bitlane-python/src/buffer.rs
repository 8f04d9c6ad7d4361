//! Memory that is lent to Python: buffers, and pickles, which are made of buffers.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use bitlane::dlpack::{
    self, Capsule, DLDataType, DLDevice, DLManagedTensorVersioned, DLTensor, VERSION, device_type,
};
use bitlane::{DType as Dtype, Device, Tensor};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::array::Array;
use crate::device::opened;
use crate::dtype::AsDType;
use crate::error::raised;
use crate::exchange::owned;

/// What a buffer of Python refers to while it is in use.
struct Lent {
    _capsule: Capsule<DLManagedTensorVersioned>,
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
}

/// Returns the letters that Python's buffers have for a dtype.
fn format_of(dtype: Dtype) -> Option<&'static CStr> {
    Some(match dtype {
        Dtype::Bool => c"?",
        Dtype::U8 => c"B",
        Dtype::U16 => c"H",
        Dtype::U32 => c"I",
        Dtype::U64 => c"Q",
        Dtype::I8 => c"b",
        Dtype::I16 => c"h",
        Dtype::I32 => c"i",
        Dtype::I64 => c"q",
        Dtype::F16 => c"e",
        Dtype::F32 => c"f",
        Dtype::F64 => c"d",
        Dtype::C64 => c"Zf",
        Dtype::C128 => c"Zd",
        Dtype::F8E4M3FN | Dtype::F8E5M2 | Dtype::BF16 => return None,
    })
}

/// Fills in a buffer of the elements of an array.
///
/// # Safety
///
/// `view` must point to a structure that Python lets us fill in.
pub unsafe fn get_buffer(
    slf: Bound<'_, Array>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let tensor =
        slf.get().tensor("a buffer").map_err(|e| PyBufferError::new_err(e.to_string()))?.clone();
    let format = format_of(tensor.dtype()).ok_or_else(|| {
        PyBufferError::new_err(format!("Python's buffers have no {}", tensor.dtype()))
    })?;
    // SAFETY: guaranteed by the caller.
    unsafe { lend(slf.into_any(), &tensor, Some(format), view, flags) }
}

/// Returns whether the elements lie side by side in column-major order.
fn is_column_major(tensor: &Tensor) -> PyResult<bool> {
    let order: Vec<usize> = (0..tensor.rank()).rev().collect();
    Ok(tensor.permute(&order).map_err(raised)?.is_contiguous())
}

/// # Safety
///
/// `view` must point to a structure that Python lets us fill in.
unsafe fn lend(
    owner: Bound<'_, PyAny>,
    tensor: &Tensor,
    format: Option<&'static CStr>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    if view.is_null() {
        return Err(PyBufferError::new_err("no buffer was given"));
    }
    // SAFETY: the caller lets us write. Without an owner the buffer counts as not filled in.
    unsafe { (*view).obj = ptr::null_mut() };
    if *tensor.device() != Device::cpu() {
        let text = format!("the array is on {}; `to_device(\"cpu\")` copies it", tensor.device());
        return Err(PyBufferError::new_err(text));
    }
    let is_shown = |flag: c_int| flags & flag == flag;
    let wants_strides = is_shown(ffi::PyBUF_STRIDES);
    // Who takes no strides reads the elements in row-major order.
    let rows = is_shown(ffi::PyBUF_C_CONTIGUOUS) || !wants_strides;
    let columns = is_shown(ffi::PyBUF_F_CONTIGUOUS);
    let either = is_shown(ffi::PyBUF_ANY_CONTIGUOUS);
    let (by_rows, by_columns) = (tensor.is_contiguous(), is_column_major(tensor)?);
    if rows && !by_rows || columns && !by_columns || either && !by_rows && !by_columns {
        return Err(PyBufferError::new_err("the elements are not contiguous; copy the array"));
    }
    let capsule = dlpack::export::<DLManagedTensorVersioned>(tensor).map_err(raised)?;
    let managed = capsule.into_raw();
    // SAFETY: the managed tensor has just been made.
    let data = unsafe { (*managed).dl_tensor.data };
    // SAFETY: nobody else has it.
    let capsule = unsafe { Capsule::from_raw(managed) };
    let Some(capsule) = capsule else { return Err(PyBufferError::new_err("no memory")) };
    let size = tensor.dtype().size();
    let (item, shape, strides) = match format {
        Some(_) => {
            let shape: Vec<_> = tensor.shape().iter().map(|&len| len as ffi::Py_ssize_t).collect();
            let strides = tensor.strides().iter().map(|&step| step * size as isize).collect();
            (size, shape, strides)
        }
        None => (1, vec![(tensor.len() * size) as ffi::Py_ssize_t], vec![1]),
    };
    let mut lent = Box::new(Lent { _capsule: capsule, shape, strides });
    // SAFETY: the caller lets us write these fields. What they point to lives in the box, which `release_buffer` drops,
    // in the array, and in constants.
    unsafe {
        let view = &mut *view;
        view.buf = if data.is_null() { ptr::without_provenance_mut(64) } else { data };
        view.len = (tensor.len() * size) as ffi::Py_ssize_t;
        view.itemsize = item as ffi::Py_ssize_t;
        view.readonly = 0;
        view.ndim = lent.shape.len() as c_int;
        view.format = match (is_shown(ffi::PyBUF_FORMAT), format) {
            (false, _) => ptr::null_mut(),
            (true, format) => format.unwrap_or(c"B").as_ptr().cast_mut(),
        };
        view.shape =
            if is_shown(ffi::PyBUF_ND) { lent.shape.as_mut_ptr() } else { ptr::null_mut() };
        view.strides = if wants_strides { lent.strides.as_mut_ptr() } else { ptr::null_mut() };
        view.suboffsets = ptr::null_mut();
        view.internal = Box::into_raw(lent).cast();
        view.obj = owner.into_ptr();
    }
    Ok(())
}

/// Releases what [`get_buffer`] has filled in.
///
/// # Safety
///
/// The structure must be one that [`lend`] has filled in, and must not be used afterwards.
pub unsafe fn release_buffer(view: *mut ffi::Py_buffer) {
    // SAFETY: `lend` has put a box there.
    unsafe {
        drop(Box::from_raw((*view).internal.cast::<Lent>()));
        (*view).internal = ptr::null_mut();
    }
}

/// The bytes of a contiguous array, for pickles.
#[pyclass(frozen, module = "bitlane._bitlane")]
struct Bytes(Tensor);

#[pymethods]
impl Bytes {
    // SAFETY: Python calls this with a structure to fill in.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let tensor = slf.get().0.clone();
        // SAFETY: as Python promises.
        unsafe { lend(slf.into_any(), &tensor, None, view, flags) }
    }

    // SAFETY: Python calls this with a structure that `__getbuffer__` has filled in.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: as Python promises.
        unsafe { release_buffer(view) }
    }
}

/// `__reduce_ex__`: from protocol 5 on, the elements are a buffer that need not be copied.
pub fn pickled<'py>(
    slf: &Bound<'py, Array>,
    protocol: u32,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
    let py = slf.py();
    let tensor = slf.get().tensor("a pickle")?;
    let host = py.detach(|| tensor.to_device(&Device::cpu())?.contiguous()).map_err(raised)?;
    let shape = PyTuple::new(py, tensor.shape())?;
    let elements = if protocol >= 5 {
        let bytes = Bound::new(py, Bytes(host))?;
        py.import("pickle")?.getattr("PickleBuffer")?.call1((bytes,))?
    } else {
        PyBytes::new(py, &py.detach(|| host.to_bytes()).map_err(raised)?).into_any()
    };
    let rebuild = py.import("bitlane._bitlane")?.getattr("rebuilt")?;
    let arguments =
        (elements, crate::dtype::object(py, tensor.dtype())?, shape, tensor.device().to_string());
    Ok((rebuild, arguments.into_pyobject(py)?))
}

/// What a managed tensor made by [`rebuilt`] keeps alive.
struct Held {
    _buffer: PyUntypedBuffer,
    shape: Vec<i64>,
}

unsafe extern "C" fn let_go(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: `rebuilt` has made both boxes, and a deleter is called once, after the last use.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager_ctx.cast::<Held>()));
    }
}

/// Makes an array of the bytes of a buffer, and shares its memory if it can be written.
#[pyfunction]
pub fn rebuilt(
    py: Python<'_>,
    elements: &Bound<'_, PyAny>,
    dtype: AsDType,
    shape: Vec<usize>,
    device: &str,
) -> PyResult<Array> {
    let (buffer, dtype) = (PyUntypedBuffer::get(elements)?, dtype.0);
    let wanted = shape.iter().try_fold(dtype.size(), |bytes, &size| bytes.checked_mul(size));
    if !buffer.is_c_contiguous() || wanted != Some(buffer.len_bytes()) {
        let text = format!(
            "{} bytes, contiguous or not, are no array of {dtype} of shape {shape:?}",
            buffer.len_bytes()
        );
        return Err(PyValueError::new_err(text));
    }
    let (start, len) = (buffer.buf_ptr().cast::<u8>(), buffer.len_bytes());
    let bytes: &[u8] = if len == 0 {
        &[]
    } else {
        // SAFETY: the buffer is contiguous, has this many bytes, and lives to the end of the function. Nobody writes to it
        // meanwhile, because the lock of the interpreter is held.
        unsafe { std::slice::from_raw_parts(start, len) }
    };
    let is_valid = dtype != Dtype::Bool || bytes.iter().all(|&byte| byte <= 1);
    let is_aligned = start.addr().is_multiple_of(dtype.size());
    let tensor = if buffer.readonly() || !is_aligned || !is_valid || len == 0 {
        // A bool that is neither 0 nor 1 is an error here.
        Tensor::from_bytes(dtype, bytes, &shape, &Device::cpu()).map_err(raised)?
    } else {
        shared(buffer, start.cast(), dtype, &shape)?
    };
    let device = opened(device)?;
    py.detach(|| tensor.to_device(&device)).map(Array::new).map_err(raised)
}

/// Makes a tensor of a buffer that is contiguous and can be written.
fn shared(
    buffer: PyUntypedBuffer,
    data: *mut c_void,
    dtype: Dtype,
    shape: &[usize],
) -> PyResult<Tensor> {
    // The codes of DLPack: 6 for bools, 5 for complex numbers, 1 for words. The bits are cast back to the dtype, which may
    // have no code of its own.
    let (word, code) = match dtype {
        Dtype::Bool => (dtype, 6),
        Dtype::U8 | Dtype::I8 | Dtype::F8E4M3FN | Dtype::F8E5M2 => (Dtype::U8, 1),
        Dtype::U16 | Dtype::I16 | Dtype::F16 | Dtype::BF16 => (Dtype::U16, 1),
        Dtype::U32 | Dtype::I32 | Dtype::F32 => (Dtype::U32, 1),
        Dtype::U64 | Dtype::I64 | Dtype::F64 | Dtype::C64 => (Dtype::U64, 1),
        Dtype::C128 => (dtype, 5),
    };
    let bits = 8 * dtype.size() as u8;
    let mut held =
        Box::new(Held { _buffer: buffer, shape: shape.iter().map(|&size| size as i64).collect() });
    let dl_tensor = DLTensor {
        data,
        device: DLDevice { device_type: device_type::CPU, device_id: 0 },
        ndim: shape.len() as i32,
        dtype: DLDataType { code, bits, lanes: 1 },
        shape: held.shape.as_mut_ptr(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let managed = Box::new(DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx: Box::into_raw(held).cast(),
        deleter: Some(let_go),
        flags: 0,
        dl_tensor,
    });
    // SAFETY: the memory is initialised, aligned, as long as the shape says, and lives until the deleter is called, which
    // may be by any thread. A pickle's buffer belongs to the array alone.
    let (tensor, _) = unsafe { owned(Box::into_raw(managed), &Device::cpu()) }?;
    if word == dtype { Ok(tensor) } else { tensor.bitcast(dtype).map_err(raised) }
}
