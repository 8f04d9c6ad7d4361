//! Partial sums, which `bitlane.dask` merges.

use std::ops::Range;

use bitlane::{ReduceOp, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::array::Array;
use crate::dtype::AsDType;
use crate::error::raised;

/// What one part of the terms contributes to a sum, a product, a mean or a variance over all of them.
///
/// Parts are merged in any order, and the result has the bits of the reduction of all terms at once.
///
/// >>> import bitlane
/// >>> x = bitlane.asarray([0.1, 0.2, 0.3, 0.4])
/// >>> head = bitlane.PartialSum.over("sum", x[:3], None, 0)
/// >>> tail = bitlane.PartialSum.over("sum", x[3:], None, 3)
/// >>> bool(tail.merge(head).finish(bitlane.float64) == bitlane.sum(x))
/// True
#[pyclass(frozen, module = "bitlane")]
pub struct PartialSum(bitlane::PartialSum);

type Terms<'a> = (&'a Tensor, Range<usize>);

/// Returns the tensor, and the range of its terms from a first one on.
fn terms<'a>(x: &'a Array, axes: &Option<Vec<i64>>, start: usize) -> PyResult<Terms<'a>> {
    let x = x.tensor("a partial sum")?;
    let rank = x.rank() as i64;
    let count = match axes {
        None => x.len(),
        Some(axes) => axes
            .iter()
            .map(|&axis| if axis < 0 { axis.saturating_add(rank) } else { axis })
            .map(|axis| usize::try_from(axis).ok().and_then(|axis| x.shape().get(axis)))
            .try_fold(1, |count, size| size.map(|size| count * size))
            .ok_or_else(|| {
                PyValueError::new_err(format!("axes {axes:?} of shape {:?}", x.shape()))
            })?,
    };
    let end = start.checked_add(count).ok_or_else(|| {
        PyValueError::new_err(format!("a partial sum of {count} terms cannot start at {start}"))
    })?;
    Ok((x, start..end))
}

#[pymethods]
impl PartialSum {
    /// Reduces an array over some axes, or all, as the terms from ``start`` on. ``op`` is ``"sum"`` or ``"prod"``.
    #[staticmethod]
    #[pyo3(signature = (op, x, axes, start, dtype=None))]
    fn over(
        py: Python<'_>,
        op: &str,
        x: &Bound<'_, Array>,
        axes: Option<Vec<i64>>,
        start: usize,
        dtype: Option<AsDType>,
    ) -> PyResult<PartialSum> {
        let op: ReduceOp = op.parse().map_err(raised)?;
        let (x, range) = terms(x.get(), &axes, start)?;
        let sum = py.detach(|| {
            let x = match dtype {
                Some(dtype) => &x.cast(dtype.0)?,
                None => x,
            };
            match &axes {
                Some(axes) => bitlane::PartialSum::over(op, x, axes, range),
                None => bitlane::PartialSum::over(op, x, .., range),
            }
        });
        sum.map(PartialSum).map_err(raised)
    }

    /// Sums the squares of the distances from the unrounded mean of all terms, for a variance.
    #[staticmethod]
    fn squares(
        py: Python<'_>,
        x: &Bound<'_, Array>,
        mean: &Bound<'_, Array>,
        axes: Option<Vec<i64>>,
        start: usize,
    ) -> PyResult<PartialSum> {
        let (x, range) = terms(x.get(), &axes, start)?;
        let mean = mean.get().tensor("a partial sum")?;
        let sum = py.detach(|| match &axes {
            Some(axes) => bitlane::PartialSum::squares(x, mean, axes, range),
            None => bitlane::PartialSum::squares(x, mean, .., range),
        });
        sum.map(PartialSum).map_err(raised)
    }

    /// Joins the sums of two neighbouring ranges of terms.
    fn merge(&self, py: Python<'_>, other: &Bound<'_, PartialSum>) -> PyResult<PartialSum> {
        let (one, other) = (self.0.clone(), other.get().0.clone());
        py.detach(|| bitlane::PartialSum::merge(one, other)).map(PartialSum).map_err(raised)
    }

    /// The first term and the one after the last.
    #[getter]
    fn range(&self) -> (usize, usize) {
        let range = self.0.range();
        (range.start, range.end)
    }

    /// Combines the terms and rounds once.
    fn finish(&self, py: Python<'_>, dtype: AsDType) -> PyResult<Array> {
        py.detach(|| self.0.finish(dtype.0)).map(Array::new).map_err(raised)
    }

    /// Divides the sum by the number of terms and rounds once.
    fn mean(&self, py: Python<'_>, dtype: AsDType) -> PyResult<Array> {
        py.detach(|| self.0.mean(dtype.0)).map(Array::new).map_err(raised)
    }

    /// Divides the sum of squares by the number of terms less the correction and rounds once.
    fn variance(&self, py: Python<'_>, correction: f64, dtype: AsDType) -> PyResult<Array> {
        py.detach(|| self.0.variance(correction, dtype.0)).map(Array::new).map_err(raised)
    }

    /// Computes the square root of the variance before it is rounded.
    fn deviation(&self, py: Python<'_>, correction: f64, dtype: AsDType) -> PyResult<Array> {
        py.detach(|| self.0.deviation(correction, dtype.0)).map(Array::new).map_err(raised)
    }

    #[staticmethod]
    fn _from_bytes(bytes: &[u8]) -> PyResult<PartialSum> {
        let sum = postcard::from_bytes(bytes);
        sum.map(PartialSum).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = py.detach(|| postcard::to_allocvec(&self.0));
        let bytes = bytes.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let restore = py.get_type::<PartialSum>().getattr("_from_bytes")?;
        Ok((restore, (PyBytes::new(py, &bytes),)))
    }

    fn __repr__(&self) -> String {
        let range = self.0.range();
        format!("PartialSum(terms {} to {})", range.start, range.end)
    }
}
