//! Devices.

use std::collections::HashMap;
use std::sync::Mutex;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raised;

/// Where an array lives: `"cpu"`, or `"cuda:0"` and so on.
///
/// >>> import bitlane
/// >>> bitlane.Device("cpu") == bitlane.zeros(3).device
/// True
#[pyclass(frozen, module = "bitlane")]
#[derive(Clone)]
pub struct Device(pub bitlane::Device);

/// Opens a device. A CUDA device is opened once, because its stream orders the work.
pub fn opened(name: &str) -> PyResult<bitlane::Device> {
    static OPEN: Mutex<Option<HashMap<usize, bitlane::Device>>> = Mutex::new(None);
    if name == "cpu" {
        return Ok(bitlane::Device::cpu());
    }
    let ordinal = match name.strip_prefix("cuda") {
        Some("") => Some(0),
        Some(rest) => rest.strip_prefix(':').and_then(|ordinal| ordinal.parse::<usize>().ok()),
        None => None,
    };
    let Some(ordinal) = ordinal else {
        let text =
            format!("{name:?} names no device; devices are \"cpu\", \"cuda:0\", \"cuda:1\" …");
        return Err(PyValueError::new_err(text));
    };
    let mut open = OPEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let open = open.get_or_insert_default();
    if let Some(device) = open.get(&ordinal) {
        return Ok(device.clone());
    }
    let device = bitlane::Device::cuda(ordinal).map_err(raised)?;
    open.insert(ordinal, device.clone());
    Ok(device)
}

/// A device among the arguments of a function: a device, its name, or `None` for the CPU.
pub struct AsDevice(pub bitlane::Device);

impl<'py> FromPyObject<'_, 'py> for AsDevice {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<AsDevice> {
        if object.is_none() {
            return Ok(AsDevice(bitlane::Device::cpu()));
        }
        if let Ok(device) = object.cast::<Device>() {
            return Ok(AsDevice(device.get().0.clone()));
        }
        opened(&object.extract::<String>()?).map(AsDevice)
    }
}

#[pymethods]
impl Device {
    #[new]
    fn new(name: &str) -> PyResult<Device> {
        opened(name).map(Device)
    }

    /// Waits for the work that has been queued on the device.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.synchronize()).map_err(raised)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<Device>() {
            Ok(other) => self.0 == other.get().0,
            Err(_) => other.extract::<String>().is_ok_and(|other| other == self.0.to_string()),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.0.to_string().into_pyobject(py)?.hash()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Device('{}')", self.0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (String,)) {
        (py.get_type::<Device>().into_any(), (self.0.to_string(),))
    }
}

/// Returns the number of CUDA devices.
#[pyfunction]
pub fn cuda_count() -> usize {
    bitlane::Device::cuda_count()
}
