//! Errors of the library as exceptions of Python.

use bitlane::{Error, ErrorKind};
use pyo3::PyErr;
use pyo3::exceptions::{
    PyIndexError, PyMemoryError, PyOSError, PyOverflowError, PyRuntimeError, PyTypeError,
    PyValueError,
};

/// Returns the exception that a Python programmer expects, with the text of the library.
pub fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Promotion | ErrorKind::UnsupportedDType | ErrorKind::InplaceDtype => {
            PyTypeError::new_err(text)
        }
        ErrorKind::OutOfBounds => PyIndexError::new_err(text),
        ErrorKind::ScalarOverflow => PyOverflowError::new_err(text),
        ErrorKind::OutOfMemory => PyMemoryError::new_err(text),
        ErrorKind::CudaUnavailable | ErrorKind::Compile | ErrorKind::Driver => {
            PyRuntimeError::new_err(text)
        }
        ErrorKind::File => PyOSError::new_err(text),
        // `ErrorKind` may grow; the others are about shapes and values.
        _ => PyValueError::new_err(text),
    }
}
