//! Scans and look-ups by index, which cannot be steps of an expression.

use bitlane::{DType as Dtype, ScanOp, Tensor};
use pyo3::prelude::*;

use crate::array::Array;
use crate::dtype::AsDType;
use crate::error::raised;
use crate::step::computed;

#[pyfunction]
#[pyo3(signature = (op, x, axis, dtype=None))]
pub fn scan(
    py: Python<'_>,
    op: &str,
    x: &Bound<'_, Array>,
    axis: i64,
    dtype: Option<AsDType>,
) -> PyResult<Array> {
    let name = op;
    let op: ScanOp = op.parse().map_err(raised)?;
    on_tensor(py, name, x, 0, |x| {
        let scan = bitlane::scan(op, x, axis);
        match dtype {
            Some(dtype) => scan.dtype(dtype.0).run(),
            None => scan.run(),
        }
    })
}

/// Computes what cannot be a step of an expression. The work is more than the elements if the result is larger.
fn on_tensor(
    py: Python<'_>,
    name: &str,
    x: &Bound<'_, Array>,
    work: usize,
    function: impl FnOnce(&Tensor) -> bitlane::Result<Tensor> + Send,
) -> PyResult<Array> {
    let tensor = x.get().tensor(name)?;
    let on_cpu = *tensor.device() == bitlane::Device::cpu();
    computed(py, work.max(tensor.len()), on_cpu, || function(tensor)).map(Array::new)
}

#[pyfunction]
pub fn take(
    py: Python<'_>,
    x: &Bound<'_, Array>,
    indices: &Bound<'_, Array>,
    axis: i64,
) -> PyResult<Array> {
    let indices = indices.get().tensor("take")?;
    let size = usize::try_from(axis).ok().and_then(|axis| x.get().sizes().get(axis).copied());
    let work = indices
        .len()
        .saturating_mul(x.get().sizes().iter().product::<usize>() / size.unwrap_or(1).max(1));
    on_tensor(py, "take", x, work, |x| x.take(&signed(indices)?, axis))
}

#[pyfunction]
pub fn take_along_axis(
    py: Python<'_>,
    x: &Bound<'_, Array>,
    indices: &Bound<'_, Array>,
    axis: i64,
) -> PyResult<Array> {
    let indices = indices.get().tensor("take_along_axis")?;
    on_tensor(py, "take_along_axis", x, indices.len(), |x| {
        x.take_along_axis(&signed(indices)?, axis)
    })
}

/// Indices of any integer dtype as one of those that the library takes.
fn signed(indices: &Tensor) -> bitlane::Result<Tensor> {
    match indices.dtype() {
        Dtype::I32 | Dtype::I64 => Ok(indices.clone()),
        // What is beyond int64 stays beyond every array.
        dtype if dtype.is_int() => indices.cast_saturating(Dtype::I64),
        // The library says what it takes.
        _ => Ok(indices.clone()),
    }
}

#[pyfunction]
pub fn compress(py: Python<'_>, x: &Bound<'_, Array>, mask: &Bound<'_, Array>) -> PyResult<Array> {
    let mask = mask.get().tensor("a boolean mask")?;
    on_tensor(py, "a boolean mask", x, mask.len(), |x| x.compress(mask))
}

#[pyfunction]
pub fn nonzero(py: Python<'_>, x: &Bound<'_, Array>) -> PyResult<Vec<Array>> {
    let tensor = x.get().tensor("nonzero")?;
    let on_cpu = *tensor.device() == bitlane::Device::cpu();
    let places = computed(py, tensor.len(), on_cpu, || tensor.nonzero())?;
    Ok(places.into_iter().map(Array::new).collect())
}
