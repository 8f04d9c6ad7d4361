//! Indexing with integers, slices, `...` and `None`. Everything else is in Python, in terms of these.

use bitlane::{Device, Slice, Tensor};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};

use crate::array::{Array, Value};
use crate::given::{Given, operand};
use crate::step::{Step, View, applied_to, computed};

/// One part of an index that gives a view.
enum Part<'py> {
    Integer(isize),
    Slice(Bound<'py, PySlice>),
    Ellipsis,
    NewAxis,
}

/// Reads an index. Returns `None` if a part of it is an array.
fn parts<'py>(key: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Part<'py>>>> {
    let Ok(tuple) = key.cast::<PyTuple>() else { return Ok(part(key)?.map(|part| vec![part])) };
    let mut parts = Vec::with_capacity(tuple.len());
    for item in tuple.iter_borrowed() {
        match part(&item)? {
            Some(part) => parts.push(part),
            None => return Ok(None),
        }
    }
    Ok(Some(parts))
}

fn part<'py>(key: &Bound<'py, PyAny>) -> PyResult<Option<Part<'py>>> {
    if let Ok(slice) = key.cast::<PySlice>() {
        return Ok(Some(Part::Slice(slice.clone())));
    }
    if let Ok(number) = key.cast_exact::<PyInt>() {
        return integer(number).map(|number| Some(Part::Integer(number)));
    }
    if key.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    if key.is_instance_of::<PyInt>() {
        return Ok(Some(Part::Integer(integer(key)?)));
    }
    if key.is_none() {
        return Ok(Some(Part::NewAxis));
    }
    if key.is_instance_of::<PyEllipsis>() {
        return Ok(Some(Part::Ellipsis));
    }
    if let Ok(array) = key.cast_exact::<Array>() {
        let array = array.get();
        if !(array.sizes().is_empty() && array.element_type().is_int()) {
            return Ok(None);
        }
        return Ok(Some(Part::Integer(integer(key)?)));
    }
    // The integers of other libraries; their arrays are none.
    if key.hasattr("__index__")? && !key.hasattr("__len__")? {
        return Ok(Some(Part::Integer(integer(key)?)));
    }
    Ok(None)
}

/// Reads an integer; what is beyond every array stays beyond it.
fn integer(object: &Bound<'_, PyAny>) -> PyResult<isize> {
    // Numbers of any type that has `__index__`.
    match object.extract::<isize>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
            Ok(if object.lt(0)? { isize::MIN } else { isize::MAX })
        }
        value => value,
    }
}

/// Returns the view at a place along an axis.
pub fn at(py: Python<'_>, array: &Array, axis: usize, place: usize) -> PyResult<Array> {
    if let Value::Tensor(tensor) = &array.value {
        return tensor.index_axis(axis, place).map(Array::new).map_err(crate::error::raised);
    }
    let slice = Slice::new(Some(place as isize), Some(place as isize + 1), 1);
    let one = applied_to(py, Step::View(View::Slice(axis, slice)), array)?;
    applied_to(py, Step::View(View::Squeeze(axis as i64)), &one)
}

/// Returns what a slice of Python selects of this many elements, or `None` if that is everything as it is.
fn resolved(slice: &Bound<'_, PySlice>, size: usize) -> PyResult<Option<Slice>> {
    let found = slice.indices(size as isize)?;
    if found.slicelength == 0 {
        return Ok(Some(Slice::new(Some(0), Some(0), 1)));
    }
    if found.slicelength == size && found.step == 1 {
        return Ok(None);
    }
    // Before the first element there is no place, and -1 would be the last one.
    let stop = Some(found.stop).filter(|&stop| stop >= 0);
    Ok(Some(Slice::new(Some(found.start), stop, found.step)))
}

/// Returns the place of an index that may count from the end.
fn bounded(index: isize, axis: usize, size: usize) -> PyResult<usize> {
    let place = if index < 0 { index.checked_add_unsigned(size) } else { Some(index) };
    let place = place.and_then(|place| usize::try_from(place).ok()).filter(|&place| place < size);
    place.ok_or_else(|| {
        PyIndexError::new_err(format!(
            "index {index} is out of bounds for axis {axis} of size {size}"
        ))
    })
}

/// Returns the view that an index gives.
fn view(py: Python<'_>, array: &Array, parts: &[Part<'_>]) -> PyResult<Array> {
    let sizes = array.sizes();
    let used =
        parts.iter().filter(|part| matches!(part, Part::Integer(_) | Part::Slice(_))).count();
    if used > sizes.len() {
        let text = format!("{used} indices are too many for an array of shape {sizes:?}");
        return Err(PyIndexError::new_err(text));
    }
    if parts.iter().filter(|part| matches!(part, Part::Ellipsis)).count() > 1 {
        return Err(PyIndexError::new_err("an index has at most one `...`"));
    }
    let mut result = match &array.value {
        Value::Tensor(tensor) => Array::new(tensor.clone()),
        Value::Traced(traced) => Array { value: Value::Traced(traced.clone()) },
    };
    let mut axis = 0;
    for part in parts {
        match part {
            Part::Ellipsis => axis += sizes.len() - used,
            Part::NewAxis => {
                result = applied_to(py, Step::View(View::Unsqueeze(axis as i64)), &result)?;
                axis += 1;
            }
            Part::Slice(slice) => {
                let size = result.sizes()[axis];
                if let Some(slice) = resolved(slice, size)? {
                    result = applied_to(py, Step::View(View::Slice(axis, slice)), &result)?;
                }
                axis += 1;
            }
            Part::Integer(index) => {
                let place = bounded(*index, axis, result.sizes()[axis])?;
                result = at(py, &result, axis, place)?;
            }
        }
    }
    Ok(result)
}

/// `array[key]`.
pub fn get<'py>(array: &Bound<'py, Array>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    // What a loop over an array does most.
    if let (Ok(number), Some(&size)) = (key.cast_exact::<PyInt>(), array.get().sizes().first()) {
        let place = bounded(integer(number)?, 0, size)?;
        return Ok(Bound::new(py, at(py, array.get(), 0, place)?)?.into_any());
    }
    match parts(key)? {
        Some(parts) => Ok(Bound::new(py, view(py, array.get(), &parts)?)?.into_any()),
        None => py.import("bitlane._indexing")?.getattr("get")?.call1((array, key)),
    }
}

/// Removes dimensions of size 1 that a value has before those of its target, as NumPy does.
fn without_leading_ones(value: Given<'_>, rank: usize) -> PyResult<Given<'_>> {
    let mut tensor = match &value {
        Given::Tensor(tensor) => (*tensor).clone(),
        Given::Foreign(tensor) => tensor.clone(),
        _ => return Ok(value),
    };
    while tensor.rank() > rank && tensor.shape().first() == Some(&1) {
        tensor = tensor.index_axis(0, 0).map_err(crate::error::raised)?;
    }
    Ok(Given::Foreign(tensor))
}

/// `array[key] = value`.
pub fn set<'py>(
    array: &Bound<'py, Array>,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let py = array.py();
    if let Value::Traced(_) = &array.get().value {
        let text = "an array cannot be changed in a function that is fused; use `where`";
        return Err(PyTypeError::new_err(text));
    }
    let Some(parts) = parts(key)? else {
        py.import("bitlane._indexing")?.getattr("set")?.call1((array, key, value))?;
        return Ok(());
    };
    let view = view(py, array.get(), &parts)?;
    let mut target: Tensor = view.tensor("assignment")?.clone();
    let value = without_leading_ones(operand("assignment", value)?, target.rank())?;
    let work = target.len();
    let on_cpu = *target.device() == Device::cpu();
    let Some(_) = value.operand() else { return Err(crate::trace::unknown("assignment")) };
    computed(py, work, on_cpu, || match value.operand() {
        Some(value) => target.copy_from(value),
        None => Ok(()),
    })
}

/// Writes where a mask is true.
#[pyfunction]
pub fn assign_where(
    py: Python<'_>,
    array: &Bound<'_, Array>,
    mask: &Bound<'_, Array>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let mut target = array.get().tensor("assignment")?.clone();
    let mask = mask.get().tensor("assignment")?;
    let value = operand("assignment", value)?;
    let on_cpu = *target.device() == Device::cpu();
    let Some(_) = value.operand() else { return Err(crate::trace::unknown("assignment")) };
    computed(py, target.len(), on_cpu, || match value.operand() {
        Some(value) => target.assign_where(mask, value),
        None => Ok(()),
    })
}

/// Returns, for each of this many places, the number of the last index that is this place, or -1. The indices are read by
/// the host, so that assigning to many of them takes two kernels rather than one for each.
#[pyfunction]
pub fn last_indices(py: Python<'_>, indices: &Bound<'_, Array>, places: usize) -> PyResult<Array> {
    let indices = indices.get().tensor("assignment")?;
    let work = indices.len().max(places);
    let on_cpu = *indices.device() == Device::cpu();
    let last = computed(py, work, on_cpu, || {
        let mut last = vec![-1i64; places];
        for (number, place) in indices.to_vec::<i64>()?.into_iter().enumerate() {
            // They have been checked.
            if let Some(last) = usize::try_from(place).ok().and_then(|place| last.get_mut(place)) {
                *last = number as i64;
            }
        }
        Tensor::from_vec(last, [places], indices.device())
    })?;
    Ok(Array::new(last))
}
