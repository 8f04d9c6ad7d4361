//! Functions that are traced once, and then run as expressions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bitlane::{DType, Device, Expr, Rules, Scalar, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::array::{Array, Value};
use crate::error::raised;
use crate::given::Given;
use crate::rules;
use crate::step::{Step, computed};

/// What a traced function has computed so far.
#[derive(Default)]
pub struct Tape {
    rules: Rules,
    nodes: Vec<Node>,
    /// The most elements that an argument or a step has.
    work: usize,
    /// Set when the function has returned; an array that has escaped it cannot be used any more.
    is_closed: bool,
}

enum Node {
    /// An argument, by its place.
    Argument(usize),
    Step(Step, Vec<Source>),
}

/// Where an operand of a step comes from.
#[derive(Clone)]
enum Source {
    Node(usize),
    /// An array that is no argument, such as a global variable.
    Constant(Tensor),
    Number(Scalar),
}

/// An array inside a function that is being traced: its shape and dtype are known, its elements are not.
#[derive(Clone)]
pub struct Traced {
    tape: Arc<Mutex<Tape>>,
    place: usize,
    /// The expression so far, on the arrays with which the function was first called: it knows shapes, dtypes and errors.
    pub expr: Expr<'static>,
    pub shape: Vec<usize>,
    pub dtype: DType,
    pub device: Device,
}

fn locked(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error for what needs the elements of a traced array.
#[cold]
pub fn unknown(what: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{what} needs the elements of the array, which are not known while a function is fused; compute it outside \
         `bitlane.fuse`"
    ))
}

/// Adds a step to the tape of a traced array.
pub fn recorded(traced: &Traced, step: Step, operands: &[Given<'_>]) -> PyResult<Traced> {
    let mut tape = locked(&traced.tape);
    if tape.is_closed {
        let text = "an array of a fused function was used after the function had returned; return it instead";
        return Err(PyRuntimeError::new_err(text));
    }
    if tape.rules != rules() {
        let text = format!(
            "the function was entered under {} rules and cannot change to {} rules while it is fused",
            tape.rules,
            rules()
        );
        return Err(PyValueError::new_err(text));
    }
    let mut sources = Vec::with_capacity(operands.len());
    for operand in operands {
        sources.push(match operand {
            Given::Traced(other) if !Arc::ptr_eq(&other.tape, &traced.tape) => {
                let text = "an array of another fused function cannot be an operand; pass it as an argument";
                return Err(PyValueError::new_err(text));
            }
            Given::Traced(other) => Source::Node(other.place),
            Given::Tensor(tensor) => Source::Constant((*tensor).clone()),
            Given::Foreign(tensor) => Source::Constant(tensor.clone()),
            Given::Number(number) => Source::Number(*number),
        });
    }
    let exprs: Vec<_> = operands.iter().map(Given::expr).collect();
    let expr = step.on_exprs(&exprs).ok_or_else(|| PyRuntimeError::new_err("missing operand"))?;
    let expr = expr.rules(tape.rules);
    let (shape, dtype) = (expr.shape().map_err(raised)?, expr.dtype().map_err(raised)?);
    tape.nodes.push(Node::Step(step, sources));
    tape.work = tape.work.max(shape.iter().product());
    let place = tape.nodes.len() - 1;
    Ok(Traced {
        tape: traced.tape.clone(),
        place,
        expr,
        shape,
        dtype,
        device: traced.device.clone(),
    })
}

/// Returns an array for each argument that stands for it in a function that is being traced.
#[pyfunction]
pub fn trace(arguments: Vec<PyRef<'_, Array>>) -> PyResult<Vec<Array>> {
    let tape = Arc::new(Mutex::new(Tape { rules: rules(), ..Tape::default() }));
    let mut traced = Vec::new();
    for (place, argument) in arguments.iter().enumerate() {
        let tensor = argument.tensor("tracing")?;
        let mut tape_now = locked(&tape);
        tape_now.nodes.push(Node::Argument(place));
        tape_now.work = tape_now.work.max(tensor.len());
        drop(tape_now);
        traced.push(Array {
            value: Value::Traced(Traced {
                tape: tape.clone(),
                place,
                expr: tensor.clone().into_expr(),
                shape: tensor.shape().to_vec(),
                dtype: tensor.dtype(),
                device: tensor.device().clone(),
            }),
        });
    }
    Ok(traced)
}

/// A function that has been traced: expressions that wait for their arrays.
#[pyclass(frozen, module = "bitlane._bitlane")]
pub struct Program {
    nodes: Vec<Node>,
    outputs: Vec<Source>,
    /// How often each node is used.
    uses: Vec<usize>,
    rules: Rules,
    arguments: usize,
    /// The most elements that an argument or a step has, which is what decides whether other threads may run meanwhile.
    work: usize,
}

#[pymethods]
impl Program {
    /// Ends the tracing of a function that has returned these arrays.
    #[new]
    fn new(arguments: Vec<PyRef<'_, Array>>, results: Vec<PyRef<'_, Array>>) -> PyResult<Program> {
        let Some(Value::Traced(first)) = arguments.first().map(|array| &array.value) else {
            return Err(PyValueError::new_err(
                "a fused function needs an array among its arguments",
            ));
        };
        let mut outputs = Vec::new();
        for result in &results {
            outputs.push(match &result.value {
                Value::Traced(traced) if !Arc::ptr_eq(&traced.tape, &first.tape) => {
                    let text = "the function returned an array of another fused function";
                    return Err(PyValueError::new_err(text));
                }
                Value::Traced(traced) => Source::Node(traced.place),
                Value::Tensor(tensor) => Source::Constant(tensor.clone()),
            });
        }
        let mut tape = locked(&first.tape);
        tape.is_closed = true;
        let nodes = std::mem::take(&mut tape.nodes);
        let mut uses = vec![0; nodes.len()];
        let mut count = |source: &Source| {
            if let Source::Node(place) = source {
                uses[*place] += 1;
            }
        };
        outputs.iter().for_each(&mut count);
        // Steps whose results nothing uses are counted too; they cost little and are never run.
        for node in &nodes {
            if let Node::Step(_, sources) = node {
                sources.iter().for_each(&mut count);
            }
        }
        let (rules, work) = (tape.rules, tape.work);
        Ok(Program { nodes, outputs, uses, rules, arguments: arguments.len(), work })
    }

    /// Runs the program on other arrays of the same shapes.
    fn run(&self, py: Python<'_>, arguments: Vec<PyRef<'_, Array>>) -> PyResult<Vec<Array>> {
        if arguments.len() != self.arguments {
            let (given, wanted) = (arguments.len(), self.arguments);
            let text = format!("{given} arrays were given to a function of {wanted}");
            return Err(PyValueError::new_err(text));
        }
        let mut tensors = Vec::with_capacity(arguments.len());
        for argument in &arguments {
            tensors.push(argument.tensor("running a fused function")?);
        }
        let on_cpu = tensors.iter().all(|tensor| *tensor.device() == Device::cpu());
        let results = computed(py, self.work, on_cpu, || {
            let exprs = self.exprs(&tensors);
            exprs.into_iter().map(|expr| expr.rules(self.rules).run()).collect()
        })?;
        Ok(Vec::into_iter(results).map(Array::new).collect())
    }

    /// The number of steps.
    fn __len__(&self) -> usize {
        self.nodes.len() - self.arguments
    }
}

impl Program {
    /// Builds the expressions of the results. A result that is used once is moved into its user, which keeps the graph
    /// in one piece.
    fn exprs(&self, tensors: &[&Tensor]) -> Vec<Expr<'static>> {
        let mut made: Vec<Option<Expr<'static>>> = Vec::with_capacity(self.nodes.len());
        let mut left = self.uses.clone();
        let mut taken = |made: &mut Vec<Option<Expr<'static>>>, source: &Source| match source {
            Source::Constant(tensor) => Some(tensor.clone().into_expr()),
            Source::Number(number) => Some(Expr::from(*number)),
            Source::Node(place) => {
                left[*place] -= 1;
                if left[*place] == 0 { made[*place].take() } else { made[*place].clone() }
            }
        };
        for node in &self.nodes {
            let expr = match node {
                Node::Argument(place) => Some(tensors[*place].clone().into_expr()),
                Node::Step(step, sources) => {
                    let operands: Option<Vec<_>> =
                        sources.iter().map(|source| taken(&mut made, source)).collect();
                    operands.and_then(|operands| step.on_exprs(&operands))
                }
            };
            made.push(expr);
        }
        self.outputs.iter().filter_map(|output| taken(&mut made, output)).collect()
    }
}
