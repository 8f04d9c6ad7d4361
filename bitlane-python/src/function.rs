//! Functions of arrays, from the tables of the library.

use bitlane::loss::{self, PoissonNll};
use bitlane::{BinaryOp, ReduceOp, ScanOp, Tensor, UnaryOp};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::array::{Array, Value};
use crate::dtype::AsDType;
use crate::error::raised;
use crate::given::{given, operand};
use crate::step::{Reduction, Step, View, applied, applied_to, computed, of_one, of_two};

#[derive(Clone, Copy)]
enum Op {
    Unary(UnaryOp),
    Binary(BinaryOp),
}

/// A function of one array, or of two arrays or numbers.
#[pyclass(frozen, dict, module = "bitlane")]
pub struct Function {
    op: Op,
    name: String,
}

#[pymethods]
impl Function {
    #[new]
    fn new(op: &str, name: String) -> PyResult<Function> {
        let op = match op.parse::<BinaryOp>() {
            Ok(op) => Op::Binary(op),
            Err(_) => Op::Unary(op.parse().map_err(raised)?),
        };
        Ok(Function { op, name })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Array> {
        if let Some(name) = kwargs.and_then(|kwargs| kwargs.keys().get_item(0).ok()) {
            let text = format!("{}() got an unexpected keyword argument {name}", self.name);
            return Err(PyTypeError::new_err(text));
        }
        let arity = match self.op {
            Op::Unary(_) => 1,
            Op::Binary(_) => 2,
        };
        if args.len() != arity {
            let given = args.len();
            let text = format!(
                "{}() takes {arity} positional arguments, but {given} were given",
                self.name
            );
            return Err(PyTypeError::new_err(text));
        }
        let first = args.get_borrowed_item(0)?;
        match self.op {
            Op::Unary(op) => of_one(py, op, operand(&self.name, &first)?),
            Op::Binary(op) => {
                let second = args.get_borrowed_item(1)?;
                of_two(py, op, operand(&self.name, &first)?, operand(&self.name, &second)?)
            }
        }
    }

    #[getter]
    fn __name__(&self) -> &str {
        &self.name
    }

    #[getter]
    fn __qualname__(&self) -> &str {
        &self.name
    }

    /// What it computes, as the table of the library says.
    #[getter]
    fn description(&self) -> &'static str {
        match self.op {
            Op::Unary(op) => op.description(),
            Op::Binary(op) => op.description(),
        }
    }

    /// The number of operands.
    #[getter]
    fn arity(&self) -> usize {
        match self.op {
            Op::Unary(_) => 1,
            Op::Binary(_) => 2,
        }
    }

    fn __repr__(&self) -> String {
        format!("<function bitlane.{}>", self.name)
    }

    fn __reduce__(&self) -> String {
        self.name.clone()
    }
}

/// Returns the names of all functions of one array and of two, as the library has them.
#[pyfunction]
pub fn operations() -> (Vec<&'static str>, Vec<&'static str>) {
    (
        UnaryOp::ALL.iter().map(|op| op.name()).collect(),
        BinaryOp::ALL.iter().map(|op| op.name()).collect(),
    )
}

/// Returns the names of all reductions and scans.
#[pyfunction]
pub fn reductions() -> (Vec<&'static str>, Vec<&'static str>) {
    (
        ReduceOp::ALL.iter().map(|op| op.name()).collect(),
        ScanOp::ALL.iter().map(|op| op.name()).collect(),
    )
}

#[pyfunction]
#[pyo3(signature = (op, x, axes=None, keepdims=false, dtype=None, correction=0.0))]
pub fn reduce(
    py: Python<'_>,
    op: &str,
    x: &Bound<'_, Array>,
    axes: Option<Vec<i64>>,
    keepdims: bool,
    dtype: Option<AsDType>,
    correction: f64,
) -> PyResult<Array> {
    let op: ReduceOp = op.parse().map_err(raised)?;
    let dtype = dtype.map(|dtype| dtype.0);
    applied_to(py, Step::Reduce(Reduction { op, axes, keepdims, dtype, correction }), x.get())
}

/// Takes three operands for a step.
fn three(
    py: Python<'_>,
    name: &str,
    step: Step,
    operands: [&Bound<'_, PyAny>; 3],
) -> PyResult<Array> {
    let [x, y, z] = operands;
    applied(py, step, &[operand(name, x)?, operand(name, y)?, operand(name, z)?])
}

#[pyfunction]
pub fn select(
    py: Python<'_>,
    condition: &Bound<'_, PyAny>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    three(py, "where", Step::Select, [condition, x, y])
}

#[pyfunction]
pub fn clip(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    low: &Bound<'_, PyAny>,
    high: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    three(py, "clip", Step::Clip, [x, low, high])
}

/// Computes ``x * y + z``, rounded once.
///
/// >>> import bitlane
/// >>> bitlane.fma(bitlane.asarray([1.5, 2.0]), 2.0, 0.5)
/// Array([3.5, 4.5], dtype=float64)
#[pyfunction]
#[pyo3(signature = (x, y, z, /))]
pub fn fma(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    z: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    three(py, "fma", Step::Fma, [x, y, z])
}

#[pyfunction]
pub fn cast(py: Python<'_>, x: &Bound<'_, Array>, dtype: AsDType) -> PyResult<Array> {
    applied_to(py, Step::Cast(dtype.0), x.get())
}

/// Convert an array to another dtype, after its values have been limited to those that are finite in the dtype.
///
/// >>> import bitlane
/// >>> x = bitlane.asarray([500.0, -1.5, float("inf")])
/// >>> bitlane.cast_saturating(x, bitlane.float8_e4m3fn).tolist()
/// [448.0, -1.5, 448.0]
/// >>> bitlane.cast_saturating(x, bitlane.uint8)
/// Array([255,   0, 255], dtype=uint8)
#[pyfunction]
#[pyo3(signature = (x, dtype, /))]
pub fn cast_saturating(py: Python<'_>, x: &Bound<'_, Array>, dtype: AsDType) -> PyResult<Array> {
    applied_to(py, Step::CastSaturating(dtype.0), x.get())
}

/// Convert an array to another dtype.
///
/// >>> import bitlane
/// >>> bitlane.astype(bitlane.asarray([1.5, -2.7]), bitlane.int8)
/// Array([ 1, -2], dtype=int8)
#[pyfunction]
#[pyo3(signature = (x, dtype, /, *, copy=true, device=None))]
pub fn astype(
    x: &Bound<'_, Array>,
    dtype: AsDType,
    copy: bool,
    device: Option<Bound<'_, PyAny>>,
) -> PyResult<Py<Array>> {
    let Some(device) = device else { return Array::astype(x, dtype, copy, None) };
    let moved = x.call_method1("to_device", (device,))?.cast_into::<Array>()?;
    Array::astype(&moved, dtype, copy, None)
}

/// Returns the same bits as elements of another dtype, as a view.
///
/// >>> import bitlane
/// >>> bitlane.bitcast(bitlane.asarray([1.0], dtype=bitlane.float32), bitlane.uint32)
/// Array([1065353216], dtype=uint32)
#[pyfunction]
#[pyo3(signature = (x, dtype, /))]
pub fn bitcast(py: Python<'_>, x: &Bound<'_, Array>, dtype: AsDType) -> PyResult<Array> {
    applied_to(py, Step::Bitcast(dtype.0), x.get())
}

#[pyfunction]
pub fn reshape(py: Python<'_>, x: &Bound<'_, Array>, shape: Vec<i64>) -> PyResult<Array> {
    let array = x.get();
    if let Some(size) = shape.iter().find(|&&size| size < -1) {
        let text = format!("reshape: a size is {size}; only -1 stands for the size that is left");
        return Err(PyValueError::new_err(text));
    }
    let len: usize = array.sizes().iter().product();
    let mut known = shape.iter().filter_map(|&size| usize::try_from(size).ok());
    let known = known.try_fold(1usize, |all, size| all.checked_mul(size));
    let unknown = shape.iter().filter(|&&size| size == -1).count();
    let inferred = match (unknown, known) {
        (0, _) => 0,
        (1, Some(known)) if known > 0 && len.is_multiple_of(known) => len / known,
        _ => {
            let text = format!(
                "reshape: an array of shape {:?} has {len} elements and does not fit {shape:?}",
                array.sizes()
            );
            return Err(PyValueError::new_err(text));
        }
    };
    let sizes = shape.iter().map(|&size| usize::try_from(size).unwrap_or(inferred)).collect();
    applied_to(py, Step::View(View::Reshape(sizes)), array)
}

macro_rules! views {
    ($($name:ident($argument:ident: $kind:ty) $view:ident;)*) => {$(
        #[pyfunction]
        pub fn $name(py: Python<'_>, x: &Bound<'_, Array>, $argument: $kind) -> PyResult<Array> {
            applied_to(py, Step::View(View::$view($argument)), x.get())
        }
    )*};
}

views! {
    permute(order: Vec<usize>) Permute;
    unsqueeze(axis: i64) Unsqueeze;
    squeeze(axis: i64) Squeeze;
    flip(axis: i64) Flip;
    broadcast_to(shape: Vec<usize>) Broadcast;
}

fn tensors(name: &str, arrays: &[Bound<'_, Array>]) -> PyResult<Vec<Tensor>> {
    arrays.iter().map(|array| array.get().tensor(name).cloned()).collect()
}

fn work(tensors: &[Tensor]) -> (usize, bool) {
    let on_cpu = tensors.iter().all(|tensor| *tensor.device() == bitlane::Device::cpu());
    (tensors.iter().map(Tensor::len).sum(), on_cpu)
}

#[pyfunction]
pub fn concatenate(py: Python<'_>, arrays: Vec<Bound<'_, Array>>, axis: i64) -> PyResult<Array> {
    let tensors = tensors("concat", &arrays)?;
    let (work, on_cpu) = work(&tensors);
    computed(py, work, on_cpu, || Tensor::concatenate(&tensors, axis)).map(Array::new)
}

#[pyfunction]
pub fn stack(py: Python<'_>, arrays: Vec<Bound<'_, Array>>, axis: i64) -> PyResult<Array> {
    let tensors = tensors("stack", &arrays)?;
    let (work, on_cpu) = work(&tensors);
    computed(py, work, on_cpu, || Tensor::stack(&tensors, axis)).map(Array::new)
}

/// Returns the gradients of ``copysign(x, y)`` for a gradient of its result.
///
/// >>> import bitlane
/// >>> x, g = bitlane.asarray([1.5, -2.0]), bitlane.ones(2)
/// >>> bitlane.copysign_grad(x, -1.0, g)[0]
/// Array([-1.,  1.], dtype=float64)
#[pyfunction]
#[pyo3(signature = (x, y, gradient, /))]
pub fn copysign_grad(
    py: Python<'_>,
    x: &Bound<'_, Array>,
    y: &Bound<'_, PyAny>,
    gradient: &Bound<'_, Array>,
) -> PyResult<(Array, Array)> {
    let tensor = x.get().tensor("copysign_grad")?;
    let gradient = gradient.get().tensor("copysign_grad")?;
    let y = operand("copysign_grad", y)?;
    if y.operand().is_none() {
        return Err(crate::trace::unknown("copysign_grad"));
    }
    let on_cpu = *tensor.device() == bitlane::Device::cpu();
    let (dx, dy) = computed(py, gradient.len(), on_cpu, || match y.operand() {
        Some(y) => tensor.copysign_grad(y, gradient),
        None => tensor.copysign_grad(tensor, gradient),
    })?;
    Ok((Array::new(dx), Array::new(dy)))
}

/// Computes a loss. ``parameter`` is that of the loss, if it has one.
#[pyfunction]
#[pyo3(signature = (name, x, y, reduction, parameter=1.0, log_input=true, full=false, epsilon=1e-8))]
#[allow(clippy::too_many_arguments, reason = "the arguments of Python")]
pub fn computed_loss(
    py: Python<'_>,
    name: &str,
    x: &Bound<'_, Array>,
    y: &Bound<'_, Array>,
    reduction: &str,
    parameter: f64,
    log_input: bool,
    full: bool,
    epsilon: f64,
) -> PyResult<Array> {
    let reduction = match reduction {
        "none" => loss::Reduction::None,
        "sum" => loss::Reduction::Sum,
        "mean" => loss::Reduction::Mean,
        other => {
            let text =
                format!("{name}: the reduction is \"none\", \"sum\" or \"mean\", not {other:?}");
            return Err(PyValueError::new_err(text));
        }
    };
    let (x, y) = (x.get().tensor(name)?, y.get().tensor(name)?);
    let on_cpu = *x.device() == bitlane::Device::cpu();
    computed(py, x.len().max(y.len()), on_cpu, || match name {
        "l1" => loss::l1(x, y, reduction),
        "mse" => loss::mse(x, y, reduction),
        "huber" => loss::huber(x, y, parameter, reduction),
        "smooth_l1" => loss::smooth_l1(x, y, parameter, reduction),
        _ => loss::poisson_nll(x, y, PoissonNll { log_input, full, epsilon }, reduction),
    })
    .map(Array::new)
}

/// Returns whether two arrays have the same dtype, shape and bits; NaNs with the same bits are equal.
///
/// >>> import bitlane
/// >>> x = bitlane.asarray([0.0, float("nan")])
/// >>> bitlane.bits_equal(x, x), bitlane.bits_equal(x, -x)
/// (True, False)
#[pyfunction]
#[pyo3(signature = (x, y, /))]
pub fn bits_equal(py: Python<'_>, x: &Bound<'_, Array>, y: &Bound<'_, Array>) -> PyResult<bool> {
    let (x, y) = (x.get().tensor("bits_equal")?, y.get().tensor("bits_equal")?);
    py.detach(|| x.bits_equal(y)).map_err(raised)
}

/// Returns whether an array stands for elements that are not known yet, in a function that is being fused.
#[pyfunction]
pub fn is_traced(x: &Bound<'_, PyAny>) -> bool {
    x.cast_exact::<Array>().is_ok_and(|array| matches!(array.get().value, Value::Traced(_)))
}

/// Returns whether two arrays share memory.
#[pyfunction]
#[pyo3(signature = (x, y, /))]
pub fn shares_memory(x: &Bound<'_, Array>, y: &Bound<'_, Array>) -> PyResult<bool> {
    let (x, y) = (x.get().tensor("shares_memory")?, y.get().tensor("shares_memory")?);
    Ok(x.shares_storage(y))
}

/// Returns an object as an array if it is an operand: an array, a number, or an array of NumPy.
#[pyfunction]
pub fn as_operand(py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    use crate::given::Given;
    Ok(match given(x)? {
        Some(Given::Foreign(tensor)) => Some(Py::new(py, Array::new(tensor))?.into_any()),
        Some(_) => Some(x.clone().unbind()),
        None => None,
    })
}
