//! Packing of small integers into words.

use bitlane::{DType as Dtype, Packing as Layout};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::Array;
use crate::dtype::{AsDType, DType, long_name, object};
use crate::step::{Step, applied_to};

/// The arguments of a packing that have no names.
type Arguments = (usize, Py<DType>);

/// How values of 1 to 8 bits lie in words.
///
/// >>> import bitlane
/// >>> nibbles = bitlane.Packing(4, bitlane.uint8)
/// >>> words = bitlane.pack(bitlane.asarray([1, 2, 3, 4], dtype=bitlane.uint8), nibbles)
/// >>> format(words, "x")
/// '[21 43]'
/// >>> bitlane.unpack(words, nibbles)
/// Array([1, 2, 3, 4], dtype=uint8)
#[pyclass(frozen, module = "bitlane")]
#[derive(Clone)]
pub struct Packing {
    layout: Layout,
    bits: usize,
    word: Dtype,
    order: Option<Vec<usize>>,
    big_endian: bool,
    signed: bool,
}

#[pymethods]
impl Packing {
    #[new]
    #[pyo3(signature = (bits, word, *, order=None, big_endian=false, signed=false))]
    fn new(
        bits: usize,
        word: AsDType,
        order: Option<Vec<usize>>,
        big_endian: bool,
        signed: bool,
    ) -> Packing {
        let mut layout = Layout::new(bits, word.0);
        if let Some(order) = &order {
            layout = layout.order(order.iter().copied());
        }
        if big_endian {
            layout = layout.big_endian_fields();
        }
        if signed {
            layout = layout.signed();
        }
        Packing { layout, bits, word: word.0, order, big_endian, signed }
    }

    fn __repr__(&self) -> String {
        let mut text = format!("Packing({}, {}", self.bits, long_name(self.word));
        if let Some(order) = &self.order {
            text += &format!(", order={order:?}");
        }
        if self.big_endian {
            text += ", big_endian=True";
        }
        if self.signed {
            text += ", signed=True";
        }
        text + ")"
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Arguments, Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("order", self.order.clone())?;
        named.set_item("big_endian", self.big_endian)?;
        named.set_item("signed", self.signed)?;
        Ok(((self.bits, object(py, self.word)?), named))
    }
}

/// Packs small integers into words along an axis.
#[pyfunction]
#[pyo3(signature = (x, packing, /, *, axis=-1))]
pub fn pack(
    py: Python<'_>,
    x: &Bound<'_, Array>,
    packing: &Packing,
    axis: isize,
) -> PyResult<Array> {
    applied_to(py, Step::Pack(packing.layout.clone(), axis), x.get())
}

/// Unpacks the values of words along an axis, to ``uint8`` or, for a signed packing, ``int8``.
#[pyfunction]
#[pyo3(signature = (x, packing, /, *, axis=-1))]
pub fn unpack(
    py: Python<'_>,
    x: &Bound<'_, Array>,
    packing: &Packing,
    axis: isize,
) -> PyResult<Array> {
    applied_to(py, Step::Unpack(packing.layout.clone(), axis), x.get())
}

/// Packs the values of words in another way, in one pass.
#[pyfunction]
#[pyo3(signature = (x, source, target, /, *, axis=-1))]
pub fn repack(
    py: Python<'_>,
    x: &Bound<'_, Array>,
    source: &Packing,
    target: &Packing,
    axis: isize,
) -> PyResult<Array> {
    let step = Step::Repack(source.layout.clone(), target.layout.clone(), axis);
    applied_to(py, step, x.get())
}
