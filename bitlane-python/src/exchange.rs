//! Memory that is shared with other libraries: DLPack, Python's buffers, and pickles.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use bitlane::dlpack::{
    self, Capsule, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor,
    Managed, VERSION, device_type,
};
use bitlane::{DType as Dtype, Device, Tensor};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyTuple};

use crate::array::Array;
use crate::device::{AsDevice, opened};
use crate::dtype::AsDType;
use crate::error::raised;

const OLD: &CStr = c"dltensor";
const NEW: &CStr = c"dltensor_versioned";
const OLD_USED: &CStr = c"used_dltensor";
const NEW_USED: &CStr = c"used_dltensor_versioned";

/// Returns the device in terms of DLPack.
pub fn device(tensor: &Tensor) -> PyResult<(i32, i32)> {
    let name = tensor.device().to_string();
    match name.strip_prefix("cuda:") {
        Some(ordinal) => Ok((device_type::CUDA, ordinal.parse()?)),
        None => Ok((device_type::CPU, 0)),
    }
}

/// `__dlpack__`.
pub fn exported<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    stream: Option<Bound<'py, PyAny>>,
    max_version: Option<(u32, u32)>,
    dl_device: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let own = device(tensor)?;
    let mut tensor = tensor.clone();
    let wanted = dl_device.unwrap_or(own);
    if wanted != own {
        if copy == Some(false) || wanted.0 != device_type::CPU {
            let text =
                format!("__dlpack__: the array is on {}; `to_device` copies it", tensor.device());
            return Err(PyBufferError::new_err(text));
        }
        tensor = py.detach(|| tensor.to_device(&Device::cpu())).map_err(raised)?;
    } else if copy == Some(true) {
        tensor = py.detach(|| tensor.copy()).map_err(raised)?;
    }
    // Whichever stream the consumer uses, the elements are there. -1 asks for no order.
    let is_unordered = stream.is_some_and(|stream| stream.extract::<i64>().is_ok_and(|s| s == -1));
    if own.0 == device_type::CUDA && !is_unordered {
        py.detach(|| tensor.device().synchronize()).map_err(raised)?;
    }
    if max_version.is_some_and(|(major, _)| major >= VERSION.major) {
        capsule::<DLManagedTensorVersioned>(py, &tensor, NEW)
    } else {
        capsule::<DLManagedTensor>(py, &tensor, OLD)
    }
}

fn capsule<'py, M: Managed>(
    py: Python<'py>,
    tensor: &Tensor,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyAny>> {
    let managed = dlpack::export::<M>(tensor).map_err(raised)?.into_raw();
    // SAFETY: the pointer is that of a managed tensor, and the destructor deletes it if nobody has taken it.
    let made = unsafe { ffi::PyCapsule_New(managed.cast(), name.as_ptr(), Some(unused::<M>)) };
    if made.is_null() {
        // SAFETY: nobody has got the managed tensor.
        drop(unsafe { Capsule::from_raw(managed) });
        return Err(PyErr::fetch(py));
    }
    // SAFETY: `PyCapsule_New` returns a new reference.
    Ok(unsafe { Bound::from_owned_ptr(py, made) })
}

/// Deletes the managed tensor of a capsule that nobody has taken.
unsafe extern "C" fn unused<M: Managed>(capsule: *mut ffi::PyObject) {
    for name in [OLD, NEW] {
        // SAFETY: Python calls this with a capsule of `capsule`. One that has been taken has another name.
        let is_own = unsafe { ffi::PyCapsule_IsValid(capsule, name.as_ptr()) } == 1;
        if is_own {
            // SAFETY: its name says that the capsule still owns the managed tensor, which `capsule::<M>` has made.
            drop(unsafe {
                Capsule::from_raw(ffi::PyCapsule_GetPointer(capsule, name.as_ptr()).cast::<M>())
            });
        }
    }
}

/// Returns an array that shares the memory of another library's.
pub fn imported(
    object: &Bound<'_, PyAny>,
    device: &Device,
    copy: Option<bool>,
) -> PyResult<Tensor> {
    let py = object.py();
    if !object.hasattr("__dlpack__")? || object.hasattr("__array_interface__")? {
        // NumPy shares what it can, and has dtypes that DLPack does not express there.
        let array = py.import("bitlane._numpy")?.getattr("from_numpy")?.call1((object, copy))?;
        let array = array.cast_into::<Array>()?;
        let tensor = array.get().tensor("an array of NumPy")?;
        return tensor.to_device(device).map_err(raised);
    }
    let (kind, ordinal) = object.call_method0("__dlpack_device__")?.extract::<(i32, i32)>()?;
    let source = match kind {
        device_type::CPU | device_type::CUDA_HOST => Device::cpu(),
        device_type::CUDA => opened(&format!("cuda:{ordinal}"))?,
        other => {
            let text = format!("from_dlpack: memory of device type {other}; 1, 2 and 3 are known");
            return Err(PyBufferError::new_err(text));
        }
    };
    let tensor = taken(object, &source, copy)?;
    if source == *device {
        return Ok(tensor);
    }
    if copy == Some(false) {
        let text = format!("from_dlpack: a copy is needed from {source} to {device}");
        return Err(PyValueError::new_err(text));
    }
    py.detach(|| tensor.to_device(device)).map_err(raised)
}

/// Returns an array that shares the memory of an object with `__dlpack__`, on the device that holds it.
pub fn taken(object: &Bound<'_, PyAny>, device: &Device, copy: Option<bool>) -> PyResult<Tensor> {
    let py = object.py();
    let arguments = PyDict::new(py);
    arguments.set_item("max_version", (VERSION.major, VERSION.minor))?;
    if let Some(copy) = copy {
        arguments.set_item("copy", copy)?;
    }
    #[cfg(feature = "cuda")]
    if let Some(stream) = bitlane::cuda::stream(device) {
        arguments.set_item("stream", stream.cu_stream() as usize)?;
    }
    let capsule = match object.call_method("__dlpack__", (), Some(&arguments)) {
        // Older libraries do not know these arguments.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            let stream = arguments.get_item("stream")?;
            let arguments = PyDict::new(py);
            if let Some(stream) = stream {
                arguments.set_item("stream", stream)?;
            }
            object.call_method("__dlpack__", (), Some(&arguments))?
        }
        capsule => capsule?,
    };
    let capsule = capsule.cast::<PyCapsule>()?.as_ptr();
    // SAFETY: the object is a capsule, whose name says what it holds; the library that made it promises a valid managed
    // tensor. Renamed, it is ours alone.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NEW.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, NEW.as_ptr());
            ffi::PyCapsule_SetName(capsule, NEW_USED.as_ptr());
            owned(managed.cast::<DLManagedTensorVersioned>(), device)
        } else if ffi::PyCapsule_IsValid(capsule, OLD.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, OLD.as_ptr());
            ffi::PyCapsule_SetName(capsule, OLD_USED.as_ptr());
            owned(managed.cast::<DLManagedTensor>(), device)
        } else {
            Err(PyBufferError::new_err(
                "from_dlpack: the capsule has been used, or holds something else",
            ))
        }
    }
}

/// # Safety
///
/// As for [`Capsule::from_raw`].
unsafe fn owned<M: Managed>(managed: *mut M, device: &Device) -> PyResult<Tensor> {
    // SAFETY: guaranteed by the caller.
    let capsule = unsafe { Capsule::from_raw(managed) };
    let capsule = capsule.ok_or_else(|| PyBufferError::new_err("from_dlpack: an empty capsule"))?;
    // What cannot be shared is an error of the buffer, as other libraries say it.
    dlpack::import(capsule, device).map_err(|error| PyBufferError::new_err(error.to_string()))
}

/// Returns an array that shares the memory of any library with `__dlpack__`.
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
pub fn from_dlpack(
    x: &Bound<'_, PyAny>,
    device: Option<AsDevice>,
    copy: Option<bool>,
) -> PyResult<Array> {
    if let Ok(array) = x.cast_exact::<Array>() {
        let tensor = array.get().tensor("from_dlpack")?;
        let target = device.map_or_else(|| tensor.device().clone(), |device| device.0);
        let moved = tensor.to_device(&target).map_err(raised)?;
        let moved = if copy == Some(true) { moved.copy().map_err(raised)? } else { moved };
        return Ok(Array::new(moved));
    }
    let (kind, ordinal) = x.call_method0("__dlpack_device__")?.extract::<(i32, i32)>()?;
    let source = match kind {
        device_type::CUDA => opened(&format!("cuda:{ordinal}"))?,
        _ => Device::cpu(),
    };
    let target = device.map_or_else(|| source.clone(), |device| device.0);
    let tensor = taken(x, &source, copy)?;
    if target == source {
        return Ok(Array::new(tensor));
    }
    if copy == Some(false) {
        let text = format!("from_dlpack: a copy is needed from {source} to {target}");
        return Err(PyValueError::new_err(text));
    }
    Ok(Array::new(x.py().detach(|| tensor.to_device(&target)).map_err(raised)?))
}

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
        _ => return None,
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
    let wants_strides = flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES;
    let wants_dense = flags & ffi::PyBUF_C_CONTIGUOUS == ffi::PyBUF_C_CONTIGUOUS;
    if (!wants_strides || wants_dense) && !tensor.is_contiguous() {
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
    let is_shown = |flag: c_int| flags & flag == flag;
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
    // The codes of DLPack: signed, unsigned, float, and so on. The bits are cast back to the dtype, which may have none.
    let (word, bits) = match dtype {
        Dtype::Bool => (dtype, 8),
        _ => match dtype.size() {
            1 => (Dtype::U8, 8),
            2 => (Dtype::U16, 16),
            4 => (Dtype::U32, 32),
            8 => (Dtype::U64, 64),
            _ => (Dtype::C128, 128),
        },
    };
    let code = match word {
        Dtype::Bool => 6,
        Dtype::C128 => 5,
        _ => 1,
    };
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
    let tensor = unsafe { owned(Box::into_raw(managed), &Device::cpu()) }?;
    if word == dtype { Ok(tensor) } else { tensor.bitcast(dtype).map_err(raised) }
}
