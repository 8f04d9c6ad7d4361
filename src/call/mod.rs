//! A computation being put together: from operands to a [`Program`] and the tensors it reads.
//!
//! Every operation reaches a backend through here. An ordinary call adds one operation, a loss a handful, an expression
//! one per node; each addition promotes, broadcasts and reports errors in the same way. [`run`](Call::run) then allocates
//! or checks the destination, makes the plan and calls the backend. `prepared` remembers what becomes of small calls.

mod part;
pub(crate) mod prepared;
mod reduce;
#[cfg(feature = "cpu")]
pub(crate) mod rows;
mod run;
mod saturate;
mod variance;

use smallvec::SmallVec;

pub(crate) use self::reduce::ReduceArguments;
pub(crate) use self::run::{ReduceAxes, Target};
use crate::expr::graph::{Node, Operation};
use crate::layout::{Shape, boxed, broadcast};
use crate::op::ElementOp;
use crate::operand::{InMemory, Operand};
use crate::program::{Program, Value};
use crate::promote::{
    Compute, Family, Kind, Op, Resolved, Rules, resolve, resolve_three, resolve_unary,
};
use crate::scalar::ElementBytes;
use crate::{BinaryOp, DType, Device, Error, Result, Scalar, Tensor, UnaryOp};

/// The steps so far, and what they read.
#[derive(Clone)]
pub(crate) struct Call<'a> {
    pub(crate) program: Program,
    /// The inputs in memory, in the order of their slots.
    inputs: SmallVec<[InMemory<'a>; 4]>,
    /// The shapes of inputs and results, each once: most calls have just one.
    shapes: SmallVec<[Shape; 2]>,
    /// How many numbers there are.
    numbers: usize,
    /// How those that are operands were converted, in the order in which they were added.
    conversions: SmallVec<[Conversion; 2]>,
}

/// How an operand that is a number becomes an input of the program.
#[derive(Clone, Copy, Debug)]
struct Conversion {
    /// The index of the input.
    input: u16,
    meaning: Meaning,
    dtype: DType,
}

/// An operand of an operation that is being added.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Term<'a> {
    /// A number, which is converted where it is used.
    Number(Scalar),
    /// An element for every index.
    Elements(Elements<'a>),
}

/// One of the shapes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShapeId(u16);

/// A value of the program, with what promotion and broadcasting see of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements<'a> {
    pub(crate) value: Value,
    pub(crate) shape: ShapeId,
    /// The device of the tensors it is computed from; `None` for arrays of the host.
    pub(crate) device: Option<&'a Device>,
}

impl<'a> From<Elements<'a>> for Term<'a> {
    fn from(elements: Elements<'a>) -> Self {
        Term::Elements(elements)
    }
}

impl<'a> Term<'a> {
    /// Returns the shape; `None` for a number, which broadcasts to any.
    fn shape(&self) -> Option<ShapeId> {
        match self {
            Term::Number(_) => None,
            Term::Elements(elements) => Some(elements.shape),
        }
    }

    fn device(&self) -> Option<&'a Device> {
        match self {
            Term::Number(_) => None,
            Term::Elements(elements) => elements.device,
        }
    }

    /// Refuses a number where there must be elements.
    pub(crate) fn elements(self, op: &'static str) -> Result<Elements<'a>> {
        match self {
            Term::Elements(elements) => Ok(elements),
            Term::Number(scalar) => {
                let reason = format!(
                    "the operand is the number {scalar}; at least one operand must be a tensor"
                );
                Err(Error::InvalidArgument { op, reason })
            }
        }
    }
}

/// Runs one operation on operands.
///
/// # Errors
///
/// Those of [`Call::operation`] and [`Call::run`].
#[inline]
pub(crate) fn run_operation<'a, const N: usize>(
    operation: Operation,
    operands: [&'a Operand<'a>; N],
    rules: Rules,
    target: Target<'a>,
) -> Result<Tensor> {
    let mut all = prepared::Operands::new();
    if operands.iter().try_for_each(|operand| all.add(operand)).is_some()
        && let Some(output) = prepared::run(&[Node::on_inputs(operation)], &all, rules, target)
    {
        return Ok(output?.tensor());
    }
    run_general(operation, &operands, rules, target)
}

/// [`run_operation`] where nothing is prepared.
#[cold]
fn run_general<'a>(
    operation: Operation,
    operands: &[&'a Operand<'a>],
    rules: Rules,
    target: Target<'a>,
) -> Result<Tensor> {
    let mut call = Call::new();
    let mut terms = [Term::Number(Scalar::Bool(false)); 3];
    for (term, operand) in terms.iter_mut().zip(operands) {
        *term = call.operand(operand);
    }
    let result = call.operation(operation, terms, rules)?;
    call.run(operation.name(), result, None, target)
}

/// Which of the two operands of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl<'a> Call<'a> {
    pub(crate) fn new() -> Call<'a> {
        Call {
            program: Program::new(),
            inputs: SmallVec::new(),
            shapes: SmallVec::new(),
            numbers: 0,
            conversions: SmallVec::new(),
        }
    }

    /// Adds a shape, unless it is there already.
    pub(crate) fn add_shape(&mut self, sizes: &[usize]) -> ShapeId {
        let known = self.shapes.iter().position(|shape| **shape == *sizes);
        ShapeId(known.unwrap_or_else(|| {
            self.shapes.push(Shape::of(sizes));
            self.shapes.len() - 1
        }) as u16)
    }

    /// Returns a shape that was added.
    pub(crate) fn shape(&self, id: ShapeId) -> &Shape {
        &self.shapes[usize::from(id.0)]
    }

    /// Returns the shape to which two operands broadcast.
    fn broadcast(
        &mut self,
        op: &'static str,
        lhs: Option<ShapeId>,
        rhs: Option<ShapeId>,
    ) -> Result<ShapeId> {
        match (lhs, rhs) {
            (Some(lhs), Some(rhs)) if lhs != rhs => {
                let shape = broadcast(op, self.shape(lhs), self.shape(rhs))?;
                Ok(self.add_shape(&shape))
            }
            (Some(shape), _) | (None, Some(shape)) => Ok(shape),
            (None, None) => Ok(self.add_shape(&[])),
        }
    }

    /// Returns how many tensors and arrays are read.
    pub(crate) fn tensors(&self) -> usize {
        self.inputs.len()
    }

    /// Returns how many numbers there are.
    pub(crate) fn numbers(&self) -> usize {
        self.numbers
    }

    /// Adds an operand.
    pub(crate) fn operand(&mut self, operand: &'a Operand<'_>) -> Term<'a> {
        match operand.source() {
            Ok(source) => Term::Elements(self.source(source)),
            Err(scalar) => Term::Number(*scalar),
        }
    }

    /// Adds a tensor.
    pub(crate) fn tensor(&mut self, tensor: &'a Tensor) -> Elements<'a> {
        self.source(InMemory::Tensor(tensor))
    }

    /// Adds a tensor or an array; the same view is added once.
    fn source(&mut self, source: InMemory<'a>) -> Elements<'a> {
        let (shape, device) = (self.add_shape(source.shape()), source.device());
        let value = match self.input_like(&source) {
            Some(value) => value,
            None => {
                let value = self.program.memory(source.dtype());
                self.inputs.push(source);
                value
            }
        };
        Elements { value, shape, device }
    }

    /// Returns the input that reads the same view, if there is one.
    fn input_like(&self, source: &InMemory<'_>) -> Option<Value> {
        let known = self.inputs.iter().position(|known| known.is_same(source))?;
        self.program.input_in_slot(known + 1)
    }

    /// Adds a tensor as an input of its own, even if it is the same view as another.
    fn tensor_apart(&mut self, tensor: &'a Tensor) -> Elements<'a> {
        let value = self.program.memory(tensor.dtype());
        self.inputs.push(InMemory::Tensor(tensor));
        Elements { value, shape: self.add_shape(tensor.shape()), device: Some(tensor.device()) }
    }

    /// Adds a number as an element of a dtype.
    pub(crate) fn number(&mut self, dtype: DType, bytes: ElementBytes) -> Value {
        self.numbers += 1;
        self.program.number(dtype, bytes)
    }

    /// Adds an operand that is a number, as an operation reads it.
    ///
    /// # Errors
    ///
    /// [`Error::ScalarOverflow`] for an integer that does not fit.
    fn converted_number(
        &mut self,
        op: &'static str,
        scalar: Scalar,
        meaning: Meaning,
        dtype: DType,
    ) -> Result<Value> {
        let conversion = Conversion { input: self.program.inputs().len() as u16, meaning, dtype };
        let bytes = conversion.element(scalar);
        self.conversions.push(conversion);
        Ok(self.number(dtype, bytes.ok_or(Error::ScalarOverflow { op, scalar, dtype })?))
    }

    /// Adds a number, rounded to a dtype.
    pub(crate) fn constant(&mut self, number: impl Into<Scalar>, dtype: DType) -> Value {
        self.number(dtype, number.into().wrap_to_element(dtype))
    }

    /// Returns what promotion sees of a term.
    pub(crate) fn kind(&self, term: &Term<'a>) -> Kind {
        match term {
            Term::Number(scalar) => Kind::scalar(scalar),
            Term::Elements(elements) => {
                let dtype = self.program.dtype(elements.value);
                let is_zero_d = self.shape(elements.shape).is_empty();
                if is_zero_d { Kind::ZeroD(dtype) } else { Kind::Tensor(dtype) }
            }
        }
    }

    /// Adds an operation that is computed element by element. Terms beyond its arity are ignored.
    ///
    /// # Errors
    ///
    /// Those of the operation, and [`Error::InvalidArgument`] for a reduction or a view.
    pub(crate) fn operation(
        &mut self,
        operation: Operation,
        [x, y, z]: [Term<'a>; 3],
        rules: Rules,
    ) -> Result<Elements<'a>> {
        let name = operation.name();
        match operation {
            Operation::Unary(op) => self.unary(op, x.elements(name)?, rules),
            Operation::Cast(dtype) => Ok(self.cast(x.elements(name)?, dtype)),
            Operation::CastSaturating(dtype) => self.cast_saturating(x.elements(name)?, dtype),
            Operation::Bitcast(dtype) => self.bitcast(x.elements(name)?, dtype),
            Operation::Binary(op) => self.binary(op, x, y, rules),
            Operation::Select => self.select(x, y, z, rules),
            Operation::Fma => self.fma([x, y, z], rules),
            Operation::Reduce(..) | Operation::View(..) => {
                let reason = "it is not computed element by element".into();
                Err(Error::InvalidArgument { op: name, reason })
            }
        }
    }

    /// Adds a binary operation.
    ///
    /// # Errors
    ///
    /// Errors about the devices, dtypes, shapes and numbers of the operands, in this order.
    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        lhs: Term<'a>,
        rhs: Term<'a>,
        rules: Rules,
    ) -> Result<Elements<'a>> {
        let name = op.name();
        let device = common_device(name, [&lhs, &rhs])?;
        let resolved = resolve(op.into(), self.kind(&lhs), self.kind(&rhs), rules)?;
        let shape = self.broadcast(name, lhs.shape(), rhs.shape())?;
        let value = match resolved.compute {
            Compute::In(dtype) => {
                let lhs = self.converted(op, &lhs, Side::Left, dtype)?;
                let rhs = self.converted(op, &rhs, Side::Right, dtype)?;
                self.program.apply(op.element(), [lhs, rhs])
            }
            Compute::ExactIntegers => match (lhs, rhs) {
                (Term::Elements(lhs), Term::Elements(rhs)) => {
                    self.program.compare_integers(op.element(), lhs.value, rhs.value)
                }
                // Only tensors are compared exactly; a number has been given the tensor's dtype.
                _ => {
                    return Err(Error::InvalidArgument {
                        op: name,
                        reason: "a number without a dtype".into(),
                    });
                }
            },
        };
        let value = self.program.cast(value, resolved.result);
        Ok(Elements { value, shape, device })
    }

    /// Converts an operand of a binary operation to the dtype of the computation.
    fn converted(
        &mut self,
        op: BinaryOp,
        term: &Term<'a>,
        side: Side,
        dtype: DType,
    ) -> Result<Value> {
        match term {
            Term::Elements(elements) => Ok(self.program.cast(elements.value, dtype)),
            Term::Number(scalar) => {
                self.converted_number(op.name(), *scalar, Meaning::of(op, side), dtype)
            }
        }
    }

    /// Adds a unary operation.
    pub(crate) fn unary(
        &mut self,
        op: UnaryOp,
        x: Elements<'a>,
        rules: Rules,
    ) -> Result<Elements<'a>> {
        let dtype = resolve_unary(op, self.program.dtype(x.value), rules)?;
        let value = self.program.cast(x.value, dtype);
        Ok(Elements { value: self.program.apply(op.element(), [value]), ..x })
    }

    /// Adds a conversion.
    pub(crate) fn cast(&mut self, x: Elements<'a>, dtype: DType) -> Elements<'a> {
        Elements { value: self.program.cast(x.value, dtype), ..x }
    }

    /// Adds a step that reads the elements as another dtype of the same size.
    pub(crate) fn bitcast(&mut self, x: Elements<'a>, dtype: DType) -> Result<Elements<'a>> {
        let (op, from) = ("bitcast", self.program.dtype(x.value));
        from.check_bitcast(op, dtype)?;
        if from == dtype {
            return Ok(x);
        }
        let sizes = (from.size(), dtype.size());
        if sizes.0 != sizes.1 {
            let shape = boxed(self.shape(x.shape));
            let reason = format!(
                "elements of {} bytes become elements of {}, which only a tensor can; call `Tensor::bitcast`",
                sizes.0, sizes.1
            );
            return Err(Error::InvalidShape { op, shape, reason });
        }
        Ok(Elements { value: self.program.bitcast(x.value, dtype), ..x })
    }

    /// Adds a selection: `x` where the condition is true, else `y`. Two numbers count as tensors without
    /// dimensions.
    pub(crate) fn select(
        &mut self,
        condition: Term<'a>,
        x: Term<'a>,
        y: Term<'a>,
        rules: Rules,
    ) -> Result<Elements<'a>> {
        let op = ElementOp::Select;
        let name = op.name();
        let device = common_device(name, [&condition, &x, &y])?;
        let condition = match condition {
            Term::Elements(elements) if self.program.dtype(elements.value) == DType::Bool => {
                elements
            }
            other => {
                let given = self.kind(&other);
                let reason = format!("the condition is a {given}, not bool; compare or cast it");
                return Err(Error::InvalidArgument { op: name, reason });
            }
        };
        let both_numbers = matches!((&x, &y), (Term::Number(_), Term::Number(_)));
        let [x, y] = [x, y].map(|term| match term {
            Term::Number(scalar) if both_numbers => {
                let value = self.constant(scalar, scalar.dtype());
                Term::Elements(Elements { value, shape: self.add_shape(&[]), device: None })
            }
            term => term,
        });
        let resolved = resolve(Op::SELECT, self.kind(&x), self.kind(&y), rules)?;
        let shape = self.broadcast(name, x.shape(), y.shape())?;
        let shape = self.broadcast(name, Some(condition.shape), Some(shape))?;
        let mut sides = [condition.value; 2];
        for (side, term) in sides.iter_mut().zip([x, y]) {
            *side = self.in_dtype(name, &term, resolved.result)?;
        }
        let value = self.program.apply(op, [condition.value, sides[0], sides[1]]);
        Ok(Elements { value, shape, device })
    }

    /// Adds a fused multiplication and addition, `x · y + z`.
    pub(crate) fn fma(&mut self, terms: [Term<'a>; 3], rules: Rules) -> Result<Elements<'a>> {
        let op = ElementOp::Fma;
        let name = op.name();
        let device = common_device(name, &terms)?;
        let [x, y, z] = &terms;
        let dtype = resolve_three(Op::FMA, [x, y, z].map(|term| self.kind(term)), rules)?;
        let shape = self.broadcast(name, x.shape(), y.shape())?;
        let shape = self.broadcast(name, Some(shape), z.shape())?;
        let mut values = [Value::Input(0); 3];
        for (value, term) in values.iter_mut().zip(&terms) {
            *value = self.in_dtype(name, term, dtype)?;
        }
        Ok(Elements { value: self.program.apply(op, values), shape, device })
    }

    /// Converts an operand, a number as a value that has to fit.
    fn in_dtype(&mut self, op: &'static str, term: &Term<'a>, dtype: DType) -> Result<Value> {
        match term {
            Term::Elements(elements) => Ok(self.program.cast(elements.value, dtype)),
            Term::Number(scalar) => self.converted_number(op, *scalar, Meaning::Value, dtype),
        }
    }

    /// Checks that two operands of an operation are on one device and have a common dtype and shape, without
    /// adding anything: for operations that are composed of several steps.
    pub(crate) fn resolve_pair(
        &mut self,
        op: impl Into<Op>,
        lhs: &Term<'a>,
        rhs: &Term<'a>,
    ) -> Result<(Resolved, ShapeId, Option<&'a Device>)> {
        let op = op.into();
        let device = common_device(op.name(), [lhs, rhs])?;
        let resolved = resolve(op, self.kind(lhs), self.kind(rhs), Rules::Paddle)?;
        Ok((resolved, self.broadcast(op.name(), lhs.shape(), rhs.shape())?, device))
    }
}

/// How an operation reads a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// As a value, which has to fit.
    Value,
    /// As bits, signed or unsigned, which have to fit.
    Bits,
    /// As a shift amount, which is never wrapped.
    Amount,
    /// As the amount of a rotation, modulo the width.
    Turn,
    /// As the sign that the number has before it is converted.
    Sign,
}

impl Meaning {
    /// Returns how a binary operation reads a number on this side.
    fn of(op: BinaryOp, side: Side) -> Meaning {
        match (op.family(), side) {
            (_, Side::Right) if matches!(op, BinaryOp::RotateLeft | BinaryOp::RotateRight) => {
                Meaning::Turn
            }
            (Family::Shift, Side::Right) => Meaning::Amount,
            (Family::Copysign, Side::Right) => Meaning::Sign,
            (Family::Bitwise, _) => Meaning::Bits,
            _ => Meaning::Value,
        }
    }

    /// Converts a number to an element; returns `None` for an integer that does not fit.
    fn element(self, number: Scalar, dtype: DType) -> Option<ElementBytes> {
        match self {
            Meaning::Value => number.checked_to_element(dtype),
            Meaning::Bits => number.checked_to_bits(dtype),
            Meaning::Amount => Some(number.to_shift_amount(dtype)),
            Meaning::Turn => Some(number.to_turn(dtype)),
            Meaning::Sign => Some(number.to_sign(dtype)),
        }
    }
}

impl Conversion {
    /// Converts a number; returns `None` for an integer that does not fit.
    #[inline]
    fn element(&self, number: Scalar) -> Option<ElementBytes> {
        self.meaning.element(number, self.dtype)
    }
}

/// Returns the device of the first operand that has one, which must be the device of all others.
pub(crate) fn common_device<'a, 'b>(
    op: &'static str,
    terms: impl IntoIterator<Item = &'b Term<'a>>,
) -> Result<Option<&'a Device>>
where
    'a: 'b,
{
    let mut devices = terms.into_iter().filter_map(Term::device);
    let Some(first) = devices.next() else { return Ok(None) };
    for other in devices {
        first.expect_same(op, other)?;
    }
    Ok(Some(first))
}
