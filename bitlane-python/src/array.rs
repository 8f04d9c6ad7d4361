//! The class `Array`: its value, and what its methods have in common.

use bitlane::{BinaryOp, DType as Dtype, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::given::{Given, given};
use crate::step::{computed, of_two};
use crate::trace::{Traced, unknown};

/// An array of numbers on a device: what every function of this package takes and returns.
///
/// Arrays are made by :func:`asarray`, :func:`zeros`, :func:`arange` and so on. Indexing with integers, slices, ``...``
/// and ``None`` gives a view, which shares the memory; everything else gives a new array.
///
/// >>> import bitlane
/// >>> x = bitlane.asarray([[1, 2], [3, 4]])
/// >>> x.shape, x.dtype, x.device
/// ((2, 2), bitlane.int64, Device('cpu'))
/// >>> x[:, 0] << 3
/// Array([ 8, 24], dtype=int64)
#[pyclass(frozen, weakref, module = "bitlane")]
pub struct Array {
    pub value: Value,
}

pub enum Value {
    Tensor(Tensor),
    /// In a function that is being traced.
    Traced(Traced),
}

impl Array {
    pub fn new(tensor: Tensor) -> Array {
        Array { value: Value::Tensor(tensor) }
    }

    /// Returns the tensor, or the error that `what` needs it.
    #[inline]
    pub fn tensor(&self, what: &str) -> PyResult<&Tensor> {
        match &self.value {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Traced(_) => Err(unknown(what)),
        }
    }

    #[inline]
    pub fn given(&self) -> Given<'_> {
        match &self.value {
            Value::Tensor(tensor) => Given::Tensor(tensor),
            Value::Traced(traced) => Given::Traced(traced),
        }
    }

    pub fn sizes(&self) -> &[usize] {
        match &self.value {
            Value::Tensor(tensor) => tensor.shape(),
            Value::Traced(traced) => &traced.shape,
        }
    }

    pub fn element_type(&self) -> Dtype {
        match &self.value {
            Value::Tensor(tensor) => tensor.dtype(),
            Value::Traced(traced) => traced.dtype,
        }
    }

    /// Returns the only element, converted.
    pub fn scalar<T: bitlane::Element>(
        &self,
        py: Python<'_>,
        what: &str,
        dtype: Dtype,
    ) -> PyResult<T> {
        let tensor = self.tensor(what)?;
        if tensor.len() != 1 {
            let shape = tensor.shape();
            let text =
                format!("{what}: an array of shape {shape:?} has {} elements, not 1", tensor.len());
            return Err(if what == "bool" {
                PyValueError::new_err(text)
            } else {
                PyTypeError::new_err(text)
            });
        }
        computed(py, 1, *tensor.device() == bitlane::Device::cpu(), || tensor.cast(dtype)?.item())
    }

    /// Computes a binary operation, or returns `NotImplemented` if the other operand is not one.
    #[inline]
    pub fn operated(
        &self,
        op: BinaryOp,
        other: &Bound<'_, PyAny>,
        is_reflected: bool,
    ) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Some(other) = given(other)? else { return Ok(py.NotImplemented()) };
        let (x, y) = if is_reflected { (other, self.given()) } else { (self.given(), other) };
        Ok(Py::new(py, of_two(py, op, x, y)?)?.into_any())
    }

    /// Computes a binary operation in place.
    pub fn assigned<'py>(
        slf: &Bound<'py, Self>,
        op: BinaryOp,
        symbol: &str,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let other = crate::given::operand(op.name(), other)?;
        match (&this.value, other.operand()) {
            (Value::Tensor(tensor), Some(_)) => {
                let on_cpu = *tensor.device() == bitlane::Device::cpu();
                computed(py, tensor.len(), on_cpu, || {
                    let mut out = tensor.clone();
                    let Some(other) = other.operand() else { return Ok(out) };
                    bitlane::binary(op, tensor, other).out(&mut out).run()
                })?;
                Ok(slf.clone().into_any().unbind())
            }
            // A result under the same name would not be what other names of the array, and views of it, see.
            _ => Err(PyTypeError::new_err(format!(
                "{}: an array cannot be changed in a function that is fused; write `x = x {symbol} y`, not `x {symbol}= y`",
                op.name()
            ))),
        }
    }
}
