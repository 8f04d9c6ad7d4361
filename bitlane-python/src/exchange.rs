//! Memory that is shared with other libraries by DLPack.

use std::ffi::CStr;

use bitlane::dlpack::{
    self, Capsule, DLManagedTensor, DLManagedTensorVersioned, Managed, VERSION, device_type,
};
use bitlane::{Device, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::array::Array;
use crate::device::{AsDevice, opened};
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

/// Returns an array of NumPy, or a buffer, as one of ours. NumPy shares what it can, and has dtypes that DLPack lacks.
pub fn imported(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = object.py().import("bitlane._numpy")?.getattr("from_numpy")?.call1((object,))?;
    array.cast_into::<Array>()?.get().tensor("an array of NumPy").cloned()
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
    let (capsule, knows_copy) = match object.call_method("__dlpack__", (), Some(&arguments)) {
        // Older libraries do not know these arguments.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            let stream = arguments.get_item("stream")?;
            let arguments = PyDict::new(py);
            if let Some(stream) = stream {
                arguments.set_item("stream", stream)?;
            }
            (object.call_method("__dlpack__", (), Some(&arguments))?, false)
        }
        capsule => (capsule?, true),
    };
    let capsule = capsule.cast::<PyCapsule>()?.as_ptr();
    // SAFETY: the object is a capsule, whose name says what it holds; the library that made it promises a valid managed
    // tensor. Renamed, it is ours alone.
    let (tensor, is_shared) = unsafe {
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
    }?;
    match copy {
        Some(false) if !is_shared => Err(PyBufferError::new_err(
            "from_dlpack: the memory may not be written, or is not aligned to whole complex numbers, so it has to be \
             copied; leave copy=False out",
        )),
        Some(true) if is_shared && !knows_copy => py.detach(|| tensor.copy()).map_err(raised),
        _ => Ok(tensor),
    }
}

/// Takes over a managed tensor. Returns whether its memory is shared, rather than copied because it has to be.
///
/// # Safety
///
/// As for [`Capsule::from_raw`].
pub unsafe fn owned<M: Managed>(managed: *mut M, device: &Device) -> PyResult<(Tensor, bool)> {
    // SAFETY: guaranteed by the caller.
    let capsule = unsafe { Capsule::from_raw(managed) };
    let capsule = capsule.ok_or_else(|| PyBufferError::new_err("from_dlpack: an empty capsule"))?;
    // SAFETY: the capsule is not null, and still owns the structure.
    let given = unsafe { (*managed).tensor() };
    let first = given.data.addr().wrapping_add(given.byte_offset as usize);
    // What cannot be shared is an error of the buffer, as other libraries say it.
    let refused = |error: bitlane::Error| PyBufferError::new_err(error.to_string());
    let tensor = dlpack::import(capsule, device).map_err(refused)?;
    let is_shared = tensor.is_empty() || address(&tensor).map_err(refused)? == first;
    Ok((tensor, is_shared))
}

/// Returns where the first element of a tensor is.
fn address(tensor: &Tensor) -> bitlane::Result<usize> {
    let managed = dlpack::export::<DLManagedTensor>(tensor)?.into_raw();
    // SAFETY: the managed tensor has just been made, and nobody else has it.
    unsafe {
        let data = (*managed).dl_tensor.data.addr();
        drop(Capsule::from_raw(managed));
        Ok(data)
    }
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
        let tensor = array.get().tensor("from_dlpack")?.clone();
        let tensor = if copy == Some(true) {
            x.py().detach(|| tensor.copy()).map_err(raised)?
        } else {
            tensor
        };
        return moved(x.py(), tensor, device, copy);
    }
    let (kind, ordinal) = x.call_method0("__dlpack_device__")?.extract::<(i32, i32)>()?;
    let source = match kind {
        device_type::CUDA => opened(&format!("cuda:{ordinal}"))?,
        // The import says which kinds it knows.
        _ => Device::cpu(),
    };
    moved(x.py(), taken(x, &source, copy)?, device, copy)
}

/// Returns an array on the device that was asked for, or on its own.
fn moved(
    py: Python<'_>,
    tensor: Tensor,
    device: Option<AsDevice>,
    copy: Option<bool>,
) -> PyResult<Array> {
    let Some(AsDevice(target)) = device.filter(|device| device.0 != *tensor.device()) else {
        return Ok(Array::new(tensor));
    };
    if copy == Some(false) {
        let text = format!("from_dlpack: a copy is needed from {} to {target}", tensor.device());
        return Err(PyValueError::new_err(text));
    }
    py.detach(|| tensor.to_device(&target)).map(Array::new).map_err(raised)
}
