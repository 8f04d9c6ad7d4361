//! Functions that make arrays.

use bitlane::{Complex, DType as Dtype, Device, Element, Scalar, Tensor};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::array::Array;
use crate::device::AsDevice;
use crate::dtype::{AsDType, long_name};
use crate::error::raised;
use crate::given::{number, unfit};
use crate::step::computed;

/// Returns an array of one number repeated.
#[pyfunction]
pub fn full(
    py: Python<'_>,
    shape: Vec<usize>,
    value: &Bound<'_, PyAny>,
    dtype: AsDType,
    device: AsDevice,
) -> PyResult<Array> {
    let value = number(value)?.ok_or_else(|| unfit("full", value))?;
    let work = shape.iter().fold(1usize, |all, &size| all.saturating_mul(size));
    let on_cpu = device.0 == Device::cpu();
    computed(py, work, on_cpu, || match value {
        Scalar::Int(0) => Tensor::zeros(&shape, dtype.0, &device.0),
        value => Tensor::full(&shape, value, dtype.0, &device.0),
    })
    .map(Array::new)
}

/// Returns the integers from one bound up to another.
#[pyfunction]
pub fn integers(start: i64, stop: i64, dtype: AsDType, device: AsDevice) -> PyResult<Array> {
    Tensor::arange(start..stop, dtype.0, &device.0).map(Array::new).map_err(raised)
}

/// Makes an array of a number, or of nested lists or tuples of numbers.
#[pyfunction]
pub fn from_nested(
    object: &Bound<'_, PyAny>,
    dtype: Option<AsDType>,
    device: AsDevice,
) -> PyResult<Array> {
    let mut shape = Vec::new();
    let mut depth = object.clone();
    while let Some(list) = listed(&depth)? {
        shape.push(list.len());
        match list.first() {
            Some(first) => depth = first.clone(),
            None => break,
        }
    }
    let mut numbers = Vec::new();
    flattened(object, &shape, &mut numbers)?;
    let tensor = tensor_of(&numbers, &shape, dtype.map(|dtype| dtype.0))?;
    tensor.to_device(&device.0).map(Array::new).map_err(raised)
}

/// Returns the elements of a list or tuple.
fn listed<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return object.try_iter()?.collect::<PyResult<Vec<_>>>().map(Some);
    }
    Ok(None)
}

fn flattened(
    object: &Bound<'_, PyAny>,
    shape: &[usize],
    numbers: &mut Vec<Scalar>,
) -> PyResult<()> {
    match (listed(object)?, shape) {
        (Some(list), [size, rest @ ..]) if list.len() == *size => {
            list.iter().try_for_each(|element| flattened(element, rest, numbers))
        }
        (None, []) => {
            // An array without dimensions, or a number of another library, is its element.
            let element = match number(object)? {
                Some(element) => Some(element),
                None if object.hasattr("item")? => number(&object.call_method0("item")?)?,
                None => None,
            };
            numbers.push(element.ok_or_else(|| unfit("asarray", object))?);
            Ok(())
        }
        _ => Err(PyValueError::new_err(
            "asarray: the lists are nested to different depths or lengths",
        )),
    }
}

/// Makes a tensor of numbers, in the default dtype of their category unless one is named.
fn tensor_of(numbers: &[Scalar], shape: &[usize], dtype: Option<Dtype>) -> PyResult<Tensor> {
    let is = |test: fn(&Scalar) -> bool| numbers.iter().any(test);
    let (has_complex, has_float) = (
        is(|n| matches!(n, Scalar::Complex(_))),
        is(|n| matches!(n, Scalar::Float(_))) || numbers.is_empty(),
    );
    let has_large = is(|n| matches!(n, Scalar::UInt(_)));
    let natural = if has_complex {
        Dtype::C128
    } else if has_float {
        Dtype::F64
    } else if has_large {
        Dtype::U64
    } else if numbers.iter().all(|n| matches!(n, Scalar::Bool(_))) {
        Dtype::Bool
    } else {
        Dtype::I64
    };
    let wanted = dtype.unwrap_or(natural);
    if natural.category() > wanted.category() && !numbers.is_empty() && wanted != Dtype::Bool {
        let text = format!(
            "asarray: {} elements do not go into {}; leave the dtype out, and cast with `astype`",
            natural.category(),
            long_name(wanted)
        );
        return Err(PyTypeError::new_err(text));
    }
    if wanted.is_int() {
        for number in numbers {
            let value = match *number {
                Scalar::Int(value) => i128::from(value),
                Scalar::UInt(value) => i128::from(value),
                _ => continue,
            };
            let bits = wanted.bits();
            let fits = match wanted.is_signed_int() {
                true => matches!(value >> (bits - 1), 0 | -1),
                false => value >> bits == 0,
            };
            if !fits {
                let text =
                    format!("asarray: the integer {value} does not fit {}", long_name(wanted));
                return Err(PyOverflowError::new_err(text));
            }
        }
    }
    let real = |number: &Scalar| match *number {
        Scalar::Bool(value) => f64::from(u8::from(value)),
        Scalar::Int(value) => value as f64,
        Scalar::UInt(value) => value as f64,
        Scalar::Float(value) => value,
        Scalar::Complex(value) => value.re,
    };
    let tensor = match natural {
        Dtype::C128 => made(numbers, shape, |number| match *number {
            Scalar::Complex(value) => value,
            _ => Complex::new(real(number), 0.0),
        }),
        Dtype::F64 => made(numbers, shape, real),
        Dtype::U64 => made(numbers, shape, |number| match *number {
            Scalar::Int(value) => value as u64,
            Scalar::UInt(value) => value,
            _ => real(number) as u64,
        }),
        Dtype::Bool => made(numbers, shape, |number| matches!(number, Scalar::Bool(true))),
        _ => made(numbers, shape, |number| match *number {
            Scalar::Int(value) => value,
            _ => real(number) as i64,
        }),
    };
    tensor.and_then(|tensor| tensor.cast(wanted)).map_err(raised)
}

fn made<T: Element>(
    numbers: &[Scalar],
    shape: &[usize],
    element: impl Fn(&Scalar) -> T,
) -> bitlane::Result<Tensor> {
    Tensor::from_vec(numbers.iter().map(element).collect::<Vec<T>>(), shape, &Device::cpu())
}
