//! Everything that can be computed at once and can be a step of an expression.

use bitlane::{BinaryOp, DType, Expr, Packing, ReduceOp, Result, Slice, Tensor, UnaryOp};
use bitlane::{binary, clip, reduce, select, unary};
use pyo3::prelude::*;

use crate::array::{Array, Value};
use crate::error::raised;
use crate::given::{Given, broadcast_elements};
use crate::{rules, trace};

/// Fewer elements are computed while other threads of Python wait: letting them run takes longer.
const SMALL: usize = 8192;

#[derive(Clone, Debug)]
pub enum Step {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Select,
    Clip,
    Fma,
    Cast(DType),
    CastSaturating(DType),
    Bitcast(DType),
    Reduce(Reduction),
    View(View),
    Pack(Packing, isize),
    Unpack(Packing, isize),
    Repack(Packing, Packing, isize),
}

#[derive(Clone, Debug)]
pub struct Reduction {
    pub op: ReduceOp,
    /// `None` for all.
    pub axes: Option<Vec<i64>>,
    pub keepdims: bool,
    pub dtype: Option<DType>,
    pub correction: f64,
}

#[derive(Clone, Debug)]
pub enum View {
    Reshape(Vec<usize>),
    Permute(Vec<usize>),
    Unsqueeze(i64),
    Squeeze(i64),
    Slice(usize, Slice),
    Flip(i64),
    Broadcast(Vec<usize>),
}

impl View {
    fn of(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            View::Reshape(shape) => match x.reshape(shape) {
                // Strides that cannot express the shape; if the shape is wrong, the copy says so.
                Err(_) if !x.is_contiguous() => x.contiguous()?.reshape(shape),
                reshaped => reshaped,
            },
            View::Permute(order) => x.permute(order),
            View::Unsqueeze(axis) => x.unsqueeze(*axis),
            View::Squeeze(axis) => x.squeeze(*axis),
            View::Slice(axis, slice) => x.slice(*axis, *slice),
            View::Flip(axis) => x.flip(*axis),
            View::Broadcast(shape) => x.broadcast_to(shape),
        }
    }

    fn of_expr(&self, x: &Expr<'static>) -> Expr<'static> {
        match self {
            View::Reshape(shape) => x.reshape(shape),
            View::Permute(order) => x.permute(order),
            View::Unsqueeze(axis) => x.unsqueeze(*axis),
            View::Squeeze(axis) => x.squeeze(*axis),
            View::Slice(axis, slice) => x.slice(*axis, *slice),
            View::Flip(axis) => x.flip(*axis),
            View::Broadcast(shape) => x.broadcast_to(shape),
        }
    }
}

impl Reduction {
    fn of(&self, x: &Tensor) -> Result<Tensor> {
        let mut reduction = match &self.axes {
            Some(axes) => reduce(self.op, x, axes),
            None => reduce(self.op, x, ..),
        };
        if self.keepdims {
            reduction = reduction.keepdims();
        }
        if let Some(dtype) = self.dtype {
            reduction = reduction.dtype(dtype);
        }
        if matches!(self.op, ReduceOp::Var | ReduceOp::Std) {
            reduction = reduction.correction(self.correction);
        }
        reduction.run()
    }

    fn of_expr(&self, x: &Expr<'static>) -> Expr<'static> {
        let terms = match self.dtype {
            Some(dtype) => x.cast(dtype),
            None => x.clone(),
        };
        macro_rules! over {
            ($axes:expr) => {
                match (self.op, self.keepdims) {
                    (ReduceOp::Var, false) => terms.var($axes, self.correction),
                    (ReduceOp::Var, true) => terms.var_keepdims($axes, self.correction),
                    (ReduceOp::Std, false) => terms.std($axes, self.correction),
                    (ReduceOp::Std, true) => terms.std_keepdims($axes, self.correction),
                    (op, false) => terms.reduce(op, $axes),
                    (op, true) => terms.reduce_keepdims(op, $axes),
                }
            };
        }
        let reduced = match &self.axes {
            Some(axes) => over!(axes),
            None => over!(..),
        };
        match self.dtype {
            Some(dtype) => reduced.cast(dtype),
            None => reduced,
        }
    }
}

impl Step {
    /// Computes the step. The operands are as many as it takes, and none is traced.
    fn on_tensors(&self, operands: &[Given<'_>]) -> Result<Tensor> {
        let [first, rest @ ..] = operands else { return Err(missing()) };
        let second = || rest.first().and_then(Given::operand).ok_or_else(missing);
        let third = || rest.get(1).and_then(Given::operand).ok_or_else(missing);
        if let Step::Binary(op) = self {
            return binary(*op, first.operand().ok_or_else(missing)?, second()?).run();
        }
        let made;
        let x = match first {
            Given::Tensor(tensor) => *tensor,
            Given::Foreign(tensor) => tensor,
            Given::Number(number) => {
                made = Tensor::full((), *number, default_dtype(*number), &bitlane::Device::cpu())?;
                &made
            }
            Given::Traced(_) => return Err(missing()),
        };
        match self {
            Step::Binary(_) => Err(missing()),
            Step::Unary(op) => unary(*op, x).run(),
            Step::Select => select(x, second()?, third()?),
            Step::Clip => clip(x, second()?, third()?),
            Step::Fma => x.fma(second()?, third()?),
            Step::Cast(dtype) => x.cast(*dtype),
            Step::CastSaturating(dtype) => x.cast_saturating(*dtype),
            Step::Bitcast(dtype) => x.bitcast(*dtype),
            Step::Reduce(reduction) => reduction.of(x),
            Step::View(view) => view.of(x),
            Step::Pack(packing, axis) => x.pack(packing, *axis),
            Step::Unpack(packing, axis) => x.unpack(packing, *axis),
            Step::Repack(from, to, axis) => x.repack(from, to, *axis),
        }
    }

    /// Returns how many elements the step makes of one.
    fn values_per_element(&self) -> usize {
        match self {
            Step::Unpack(packing, _) => {
                (packing.word().bits() as usize).checked_div(packing.bits()).unwrap_or(1)
            }
            _ => 1,
        }
    }

    /// Adds the step to an expression.
    pub fn on_exprs(&self, operands: &[Expr<'static>]) -> Option<Expr<'static>> {
        let x = operands.first()?;
        let (y, z) = (operands.get(1), operands.get(2));
        Some(match self {
            Step::Unary(op) => x.unary(*op),
            Step::Binary(op) => x.binary(*op, y?),
            Step::Select => x.select(y?, z?),
            Step::Clip => x.clip(y?, z?),
            Step::Fma => x.fma(y?, z?),
            Step::Cast(dtype) => x.cast(*dtype),
            Step::CastSaturating(dtype) => x.cast_saturating(*dtype),
            Step::Bitcast(dtype) => x.bitcast(*dtype),
            Step::Reduce(reduction) => reduction.of_expr(x),
            Step::View(view) => view.of_expr(x),
            Step::Pack(packing, axis) => x.pack(packing, *axis),
            Step::Unpack(packing, axis) => x.unpack(packing, *axis),
            Step::Repack(from, to, axis) => x.repack(from, to, *axis),
        })
    }
}

/// Returns the dtype that the array API gives to a number.
pub fn default_dtype(number: bitlane::Scalar) -> DType {
    match number.dtype() {
        DType::F32 => DType::F64,
        DType::C64 => DType::C128,
        other => other,
    }
}

#[cold]
fn missing() -> bitlane::Error {
    bitlane::Error::InvalidArgument { op: "step", reason: "an operand is missing".into() }
}

/// Runs a function under the rulebook in force, and lets other threads of Python run meanwhile if that is worthwhile.
#[inline]
pub fn computed<T: Send>(
    py: Python<'_>,
    work: usize,
    on_cpu: bool,
    function: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let rules = rules();
    let done = if work <= SMALL && on_cpu {
        rules.scope(function)
    } else {
        py.detach(|| rules.scope(function))
    };
    done.map_err(raised)
}

/// Computes an operation on two operands. Few elements take the shortest way, since the way is all they take.
#[inline]
pub fn of_two(py: Python<'_>, op: BinaryOp, x: Given<'_>, y: Given<'_>) -> PyResult<Array> {
    let shapes = [x.sizes(), y.sizes()];
    if broadcast_elements(shapes.into_iter()) <= SMALL
        && x.is_on_cpu()
        && y.is_on_cpu()
        && let (Some(x), Some(y)) = (x.operand(), y.operand())
    {
        return binary(op, x, y).rules(rules()).run().map(Array::new).map_err(raised);
    }
    applied(py, Step::Binary(op), &[x, y])
}

/// Computes an operation on one operand, likewise.
#[inline]
pub fn of_one(py: Python<'_>, op: UnaryOp, x: Given<'_>) -> PyResult<Array> {
    if let Given::Tensor(tensor) = x
        && tensor.len() <= SMALL
        && x.is_on_cpu()
    {
        return unary(op, tensor).rules(rules()).run().map(Array::new).map_err(raised);
    }
    applied(py, Step::Unary(op), &[x])
}

/// Computes a step, or records it if an operand is traced.
pub fn applied(py: Python<'_>, step: Step, operands: &[Given<'_>]) -> PyResult<Array> {
    if let Some(traced) = operands.iter().find_map(Given::as_traced) {
        return trace::recorded(traced, step, operands)
            .map(|traced| Array { value: Value::Traced(traced) });
    }
    let work = broadcast_elements(operands.iter().map(Given::sizes))
        .saturating_mul(step.values_per_element());
    let on_cpu = operands.iter().all(Given::is_on_cpu);
    let tensor = computed(py, work, on_cpu, || step.on_tensors(operands))?;
    Ok(Array::new(tensor))
}

/// Computes a step of one operand.
pub fn applied_to(py: Python<'_>, step: Step, x: &Array) -> PyResult<Array> {
    applied(py, step, &[x.given()])
}
