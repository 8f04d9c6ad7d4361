//! Operands as they come from Python.

use bitlane::{Complex, DType, Expr, Operand, Scalar, Tensor};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};

use crate::array::{Array, Value};
use crate::trace::Traced;

/// An operand: an array, or a number, which has a category but no dtype of its own.
pub enum Given<'a> {
    Tensor(&'a Tensor),
    Traced(&'a Traced),
    /// An array of NumPy, seen as one of ours.
    Foreign(Tensor),
    Number(Scalar),
}

impl Given<'_> {
    /// Returns the dtype of an array, or the one that a number has by default.
    pub fn dtype(&self) -> DType {
        match self {
            Given::Tensor(tensor) => tensor.dtype(),
            Given::Foreign(tensor) => tensor.dtype(),
            Given::Traced(traced) => traced.dtype,
            Given::Number(number) => number.dtype(),
        }
    }

    pub fn as_traced(&self) -> Option<&Traced> {
        match self {
            Given::Traced(traced) => Some(traced),
            _ => None,
        }
    }

    /// Returns the operand, unless it is traced.
    #[inline]
    pub fn operand(&self) -> Option<Operand<'_>> {
        match self {
            Given::Tensor(tensor) => Some(Operand::from(*tensor)),
            Given::Foreign(tensor) => Some(Operand::from(tensor)),
            Given::Number(number) => Some(Operand::from(*number)),
            Given::Traced(_) => None,
        }
    }

    /// Returns the operand as an expression of its own.
    pub fn expr(&self) -> Expr<'static> {
        match self {
            Given::Tensor(tensor) => (*tensor).clone().into_expr(),
            Given::Foreign(tensor) => tensor.clone().into_expr(),
            Given::Number(number) => Expr::from(*number),
            Given::Traced(traced) => traced.expr.clone(),
        }
    }

    /// Returns the shape; a number has none.
    #[inline]
    pub fn sizes(&self) -> &[usize] {
        match self {
            Given::Tensor(tensor) => tensor.shape(),
            Given::Foreign(tensor) => tensor.shape(),
            Given::Traced(traced) => &traced.shape,
            Given::Number(_) => &[],
        }
    }

    /// Returns whether computing with it waits for nothing but the CPU.
    #[inline]
    pub fn is_on_cpu(&self) -> bool {
        let device = match self {
            Given::Tensor(tensor) => tensor.device(),
            Given::Foreign(tensor) => tensor.device(),
            _ => return true,
        };
        *device == bitlane::Device::cpu()
    }
}

/// Returns how many elements operands have after they have been broadcast together, which is how much there is to
/// compute. Operands that do not fit are an error of the operation, and those without elements may count as more.
#[inline]
pub fn broadcast_elements<'a>(shapes: impl Iterator<Item = &'a [usize]> + Clone) -> usize {
    let (mut elements, mut axis) = (1usize, 1);
    loop {
        let sizes =
            shapes.clone().filter_map(|shape| shape.len().checked_sub(axis).map(|k| shape[k]));
        let Some(size) = sizes.max() else { return elements };
        elements = elements.saturating_mul(size);
        axis += 1;
    }
}

/// Reads an operand. Returns `None` for what is neither an array nor a number.
#[inline]
pub fn given<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Option<Given<'a>>> {
    if let Ok(array) = object.cast_exact::<Array>() {
        return Ok(Some(match &array.get().value {
            Value::Tensor(tensor) => Given::Tensor(tensor),
            Value::Traced(traced) => Given::Traced(traced),
        }));
    }
    if let Some(number) = exact_number(object)? {
        return Ok(Some(Given::Number(number)));
    }
    // NumPy's numbers have a dtype that counts, and some are Python's floats as well.
    if object.hasattr("__array_interface__")? {
        let tensor = crate::exchange::imported(object)?;
        return Ok(Some(Given::Foreign(tensor)));
    }
    number(object).map(|number| number.map(Given::Number))
}

/// Reads an operand that has to be one.
pub fn operand<'a>(op: &str, object: &'a Bound<'_, PyAny>) -> PyResult<Given<'a>> {
    given(object)?.ok_or_else(|| unfit(op, object))
}

/// The error for an operand that is none.
pub fn unfit(op: &str, object: &Bound<'_, PyAny>) -> PyErr {
    let kind = object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    pyo3::exceptions::PyTypeError::new_err(format!(
        "{op}: an operand is of type {kind}; give an array or a number (`bitlane.asarray` converts lists and arrays of \
         other libraries)"
    ))
}

/// Reads an object whose type is exactly one of Python's numbers.
#[inline]
fn exact_number(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Ok(float) = object.cast_exact::<PyFloat>() {
        return Ok(Some(Scalar::Float(float.value())));
    }
    if let Ok(int) = object.cast_exact::<PyInt>() {
        return integer(int).map(Some);
    }
    if let Ok(truth) = object.cast_exact::<PyBool>() {
        return Ok(Some(Scalar::Bool(truth.is_true())));
    }
    if let Ok(complex) = object.cast_exact::<PyComplex>() {
        return Ok(Some(Scalar::Complex(Complex::new(complex.real(), complex.imag()))));
    }
    Ok(None)
}

fn integer(int: &Bound<'_, PyInt>) -> PyResult<Scalar> {
    if let Ok(value) = int.extract::<i64>() {
        return Ok(Scalar::Int(value));
    }
    let value = int.extract::<u64>().map_err(|_| {
        PyOverflowError::new_err(format!("the integer {int} fits neither int64 nor uint64"))
    })?;
    Ok(Scalar::UInt(value))
}

/// Reads a number of any type.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Some(number) = exact_number(object)? {
        return Ok(Some(number));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(object.cast()?).map(Some);
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Some(Scalar::Float(object.extract()?)));
    }
    if object.is_instance_of::<PyComplex>() {
        return Ok(Some(Scalar::Complex(object.extract()?)));
    }
    Ok(None)
}
