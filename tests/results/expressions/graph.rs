//! Random graphs, which can be built as an expression or evaluated eagerly, one operation after another.

use bitlane::{
    BinaryOp, DType, Device, Error, Expr, Rules, Scalar, Tensor, UnaryOp, binary, unary,
};

use super::steps::{Last, Step};
use crate::model::element::{Bits, to_bytes};
use crate::model::random::Random;

/// An input or an operation, whose operands are earlier entries of the graph.
#[derive(Clone, Debug)]
pub enum Entry {
    Tensor(usize),
    Number(Scalar),
    Unary(UnaryOp, usize),
    Cast(DType, usize),
    Bitcast(DType, usize),
    Binary(BinaryOp, usize, usize),
    Select(usize, usize, usize),
    Fma(usize, usize, usize),
    Reduce(Last, usize),
    Step(Step, usize),
}

impl Entry {
    /// Iterates over its operands.
    fn operands(&self) -> impl Iterator<Item = usize> {
        let operands = match *self {
            Entry::Tensor(_) | Entry::Number(_) => [None; 3],
            Entry::Unary(_, x)
            | Entry::Cast(_, x)
            | Entry::Bitcast(_, x)
            | Entry::Reduce(_, x)
            | Entry::Step(_, x) => [Some(x), None, None],
            Entry::Binary(_, x, y) => [Some(x), Some(y), None],
            Entry::Select(x, y, z) | Entry::Fma(x, y, z) => [Some(x), Some(y), Some(z)],
        };
        operands.into_iter().flatten()
    }
}

/// A graph whose result is its last entry.
pub struct Graph {
    pub entries: Vec<Entry>,
    pub tensors: Vec<Tensor>,
    pub rules: Rules,
    pub last: Option<Last>,
}

/// The dtypes of a graph's inputs. Each set has only a few, or the rulebooks would refuse most operations.
const FAMILIES: &[&[DType]] = &[
    &[DType::I32],
    &[DType::U8, DType::I64],
    &[DType::F32],
    &[DType::F16, DType::F32],
    &[DType::BF16, DType::I32, DType::Bool],
    &[DType::F64, DType::F32],
    &[DType::I8, DType::I16, DType::U16],
    &[DType::U32, DType::U64, DType::I64],
    &[DType::C64, DType::F32, DType::Bool],
    &[DType::C128, DType::F64, DType::I16],
    DType::ALL,
];

impl Graph {
    /// Draws a graph of up to `nodes` operations, most of which the rulebook allows.
    pub fn random(random: &mut Random, nodes: usize, device: &Device) -> Graph {
        let rules = Rules::ALL[random.below(Rules::ALL.len())];
        let dtypes = FAMILIES[random.below(FAMILIES.len())];
        let shape = shapes(random);
        let tensors = (0..1 + random.below(4))
            .map(|_| {
                let dtype = dtypes[random.below(dtypes.len())];
                tensor(random, dtype, &shape, device)
            })
            .collect();
        let mut graph = Graph { entries: vec![Entry::Tensor(0)], tensors, rules, last: None };
        for _ in 0..1 + random.below(nodes) {
            graph.add_operation(random);
        }
        if random.below(4) == 0 {
            graph.last = Some(Last::random(random, shape.len()));
        }
        graph
    }

    /// Draws a graph of 200 to 256 operations, as many as there may be. All have the dtype of the tensors, so that the
    /// rulebook allows them, and most take the result before. The tensors are one element, a row, a column or all
    /// elements: what is the same for many elements is computed apart from the rest.
    pub fn deep(random: &mut Random, device: &Device) -> Graph {
        let rules = Rules::ALL[random.below(Rules::ALL.len())];
        let dtype = DType::ALL[random.below(DType::ALL.len())];
        let shape = [1 + random.below(9), 1 + random.below(70)];
        let own = [vec![], vec![1], vec![shape[1]], vec![shape[0], 1], shape.to_vec()];
        let tensors = (0..2 + random.below(3))
            .map(|_| {
                let shape = &own[random.below(own.len())];
                let bytes = to_bytes(dtype, &random.elements(dtype, shape.iter().product()));
                Tensor::from_bytes(dtype, &bytes, shape.clone(), device).unwrap()
            })
            .collect();
        let mut graph = Graph { entries: vec![], tensors, rules, last: None };
        let tensors = graph.tensors.len();
        graph.entries.extend((0..tensors).map(Entry::Tensor));
        // Numbers are shared: an expression has fewer of them than operations.
        graph.entries.extend((0..4).map(|_| Entry::Number(Scalar::Int(random.below(4) as i64))));
        let inputs = graph.entries.len();
        let allowed = graph.allowed(dtype);
        for _ in 0..200 + random.below(57) {
            let newest = graph.entries.len() - 1;
            let value = match newest < inputs {
                true => random.below(tensors),
                false => newest - random.below(3).min(newest - inputs),
            };
            let other = match random.below(3) {
                0 => random.below(inputs),
                1 => random.below(tensors),
                _ => random.below(graph.entries.len()),
            };
            graph.entries.push(match allowed[random.below(allowed.len())] {
                Entry::Unary(name, _) => Entry::Unary(name, value),
                Entry::Binary(op, ..) if random.below(4) == 0 && other < tensors => {
                    Entry::Binary(op, other, value)
                }
                Entry::Binary(op, ..) => Entry::Binary(op, value, other),
                _ => Entry::Cast(dtype, value),
            });
        }
        graph
    }

    /// Returns the operations that the rulebook allows on the first tensors and a number, with results of their dtype.
    fn allowed(&mut self, dtype: DType) -> Vec<Entry> {
        let number = self.entries.len() - 1;
        let unary = UnaryOp::ALL.iter().map(|&op| Entry::Unary(op, 0));
        let binary = BinaryOp::ALL.iter().map(|&op| Entry::Binary(op, 0, 1));
        let mut allowed = Vec::new();
        // Choices that have run out are the first: with these, the chain is still deep.
        for entry in binary.chain(unary).chain([Entry::Cast(dtype, 0)]) {
            let with_number = match entry {
                Entry::Binary(op, ..) => Some(Entry::Binary(op, 0, number)),
                _ => None,
            };
            let fits = |entry: &Entry| {
                let graph = Graph {
                    entries: self.entries.iter().chain([entry]).cloned().collect(),
                    tensors: self.tensors.clone(),
                    rules: self.rules,
                    last: None,
                };
                graph.expr().dtype().is_ok_and(|result| result == dtype)
            };
            if fits(&entry) && with_number.as_ref().is_none_or(fits) {
                allowed.push(entry);
            }
        }
        allowed
    }

    fn add_operation(&mut self, random: &mut Random) {
        let kept = self.entries.len();
        // One attempt in twelve, and the last one, stays even if the rulebook refuses it: errors are compared as well.
        for attempt in 0..12 {
            let operation = self.operation(random);
            self.entries.push(operation);
            if random.below(12) == 0 || attempt == 11 || self.expr().dtype().is_ok() {
                return;
            }
            self.entries.truncate(kept);
        }
    }

    fn operation(&mut self, random: &mut Random) -> Entry {
        match random.below(15) {
            13 => {
                let x = self.earlier(random);
                let size = self.expr_of(x).dtype().map_or(4, DType::size);
                let alike: Vec<_> = DType::ALL.iter().filter(|to| to.size() == size).collect();
                Entry::Bitcast(*alike[random.below(alike.len())], x)
            }
            12 => Entry::Fma(self.operand(random), self.operand(random), self.operand(random)),
            10 => {
                let x = self.earlier(random);
                let mut reduction = Last::random(random, self.rank(x));
                // With the dimensions, the rest of the graph mostly broadcasts to its shape.
                reduction.keepdims |= random.below(4) > 0;
                Entry::Reduce(reduction, x)
            }
            11 => Entry::Step(Step::view(random), self.earlier(random)),
            14 if self.steps_of_packing() < 3 => {
                let x = self.earlier(random);
                let expr = self.expr_of(x);
                let (dtype, shape) = (expr.dtype().ok(), expr.shape().unwrap_or_default());
                Entry::Step(Step::packing(random, dtype, &shape), x)
            }
            0 => Entry::Unary(UnaryOp::ALL[random.below(UnaryOp::ALL.len())], self.earlier(random)),
            1 => {
                let dtype = DType::ALL[random.below(DType::ALL.len())];
                Entry::Cast(dtype, self.earlier(random))
            }
            2 => {
                let condition = self.condition(random);
                Entry::Select(condition, self.operand(random), self.operand(random))
            }
            _ => {
                let op = BinaryOp::ALL[random.below(BinaryOp::ALL.len())];
                Entry::Binary(op, self.operand(random), self.operand(random))
            }
        }
    }

    /// Returns how many steps pack or unpack. Each makes further kernels, which take long to compile.
    fn steps_of_packing(&self) -> usize {
        let is_packing =
            |entry: &&Entry| matches!(entry, Entry::Step(step, _) if step.is_packing());
        self.entries.iter().filter(is_packing).count()
    }

    /// Returns the rank of an entry; 0 for what has none.
    fn rank(&self, entry: usize) -> usize {
        self.expr_of(entry).shape().map_or(0, |shape| shape.len())
    }

    /// Draws an existing entry, preferring new ones.
    fn earlier(&self, random: &mut Random) -> usize {
        let back = random.below(4).min(random.below(self.entries.len()));
        self.entries.len() - 1 - back
    }

    /// Draws any operand: an existing entry, a new input, or a number.
    fn operand(&mut self, random: &mut Random) -> usize {
        let input = match random.below(6) {
            0 => Entry::Number(number(random)),
            1 | 2 => Entry::Tensor(random.below(self.tensors.len())),
            _ => return self.earlier(random),
        };
        self.entries.push(input);
        self.entries.len() - 1
    }

    /// Draws an operand that is bool if there is one.
    fn condition(&mut self, random: &mut Random) -> usize {
        let found = (0..self.entries.len())
            .rev()
            .find(|&entry| self.expr_of(entry).dtype().is_ok_and(|dtype| dtype == DType::Bool));
        found.unwrap_or_else(|| {
            let operand = self.earlier(random);
            self.entries.push(Entry::Unary(UnaryOp::LogicalNot, operand));
            self.entries.len() - 1
        })
    }

    /// Returns the whole graph as an expression.
    pub fn expr(&self) -> Expr<'_> {
        let expr = self.expr_of(self.entries.len() - 1);
        match &self.last {
            None => expr,
            Some(Last { op, axes, keepdims: false }) => expr.reduce(*op, axes),
            Some(Last { op, axes, keepdims: true }) => expr.reduce_keepdims(*op, axes),
        }
        .rules(self.rules)
    }

    /// Returns an entry as an expression; an entry that is used twice is one shared node. Its last use mostly takes it
    /// without a clone, as in a formula written by hand.
    fn expr_of(&self, root: usize) -> Expr<'_> {
        let mut uses = vec![0; root + 1];
        for entry in &self.entries[..=root] {
            entry.operands().for_each(|operand| uses[operand] += 1);
        }
        let mut built: Vec<Expr<'_>> = Vec::new();
        for entry in &self.entries[..=root] {
            let mut operand = |index: usize| {
                uses[index] -= 1;
                if uses[index] > 0 || index % 4 == 3 {
                    return built[index].clone();
                }
                std::mem::replace(&mut built[index], Expr::from(0))
            };
            let expr = match *entry {
                Entry::Tensor(index) => self.tensors[index].expr(),
                Entry::Number(scalar) => Expr::from(scalar),
                Entry::Reduce(ref reduction, x) => reduction.of_expr(&operand(x)),
                Entry::Step(ref step, x) => step.of_expr(&operand(x)),
                Entry::Unary(op, x) => operand(x).unary(op),
                Entry::Cast(dtype, x) => operand(x).cast(dtype),
                Entry::Bitcast(dtype, x) => operand(x).bitcast(dtype),
                Entry::Binary(op, x, y) => operand(x).binary(op, operand(y)),
                Entry::Select(condition, x, y) => operand(condition).select(operand(x), operand(y)),
                Entry::Fma(x, y, z) => operand(x).fma(operand(y), operand(z)),
            };
            built.push(expr);
        }
        built.swap_remove(root).rules(self.rules)
    }

    /// Evaluates the graph one operation after another: left operand, right operand, operation.
    pub fn eager(&self) -> Result<Outcome, Error> {
        let root = self.value(self.entries.len() - 1)?;
        let Value::Tensor(outcome) = root else {
            // There is no eager call on a number only.
            return Err(self.expr().run().expect_err("a number is no result"));
        };
        match &self.last {
            Some(last) => last.of(&outcome, self.rules),
            None => Ok(outcome),
        }
    }

    /// Computes an entry after its operands, without recursion: graphs may be deeper than the stack.
    fn value(&self, root: usize) -> Result<Value, Error> {
        let mut computed: Vec<Option<Value>> = vec![None; self.entries.len()];
        let mut wanted = vec![root];
        while let Some(&index) = wanted.last() {
            let mut operands = self.entries[index].operands();
            if let Some(missing) = operands.find(|&operand| computed[operand].is_none()) {
                wanted.push(missing);
                continue;
            }
            computed[index] = Some(self.operate(index, &computed)?);
            wanted.pop();
        }
        Ok(computed.swap_remove(root).expect("the root is computed"))
    }

    /// Computes an entry whose operands are computed.
    fn operate(&self, index: usize, computed: &[Option<Value>]) -> Result<Value, Error> {
        let operand = |index: usize| computed[index].clone().expect("operands are computed first");
        Ok(match self.entries[index] {
            Entry::Reduce(ref reduction, x) => {
                let x = operand(x).tensor(|x| reduction.of_expr(&x))?;
                Value::Tensor(reduction.of(&x, self.rules)?)
            }
            Entry::Step(ref step, x) => {
                let x = operand(x).tensor(|x| step.of_expr(&x))?;
                Value::Tensor(Outcome { result: step.of(&x.result)?, free: step.free(&x)? })
            }
            Entry::Tensor(tensor) => Value::input(&self.tensors[tensor])?,
            Entry::Number(scalar) => Value::Number(scalar),
            Entry::Unary(op, x) => {
                let x = operand(x).tensor(|x| x.unary(op))?;
                let result = unary(op, &x.result).rules(self.rules).run()?;
                let reads_sign = op == UnaryOp::Signbit;
                let free = if reads_sign { or(&x.free, &nans(&x.result)?)? } else { x.free };
                Value::Tensor(Outcome { result, free })
            }
            Entry::Cast(dtype, x) => {
                let x = operand(x).tensor(|x| x.cast(dtype))?;
                Value::Tensor(Outcome { result: x.result.cast(dtype)?, free: x.free })
            }
            Entry::Bitcast(dtype, x) => {
                let x = operand(x).tensor(|x| x.bitcast(dtype))?;
                // The bits of a NaN that was computed may be any, and become a number.
                let free = or(&x.free, &nans(&x.result)?)?;
                Value::Tensor(Outcome { result: x.result.bitcast(dtype)?, free })
            }
            Entry::Binary(op, x, y) => {
                let (x, y) = (operand(x), operand(y));
                let result = match (&x, &y) {
                    (Value::Tensor(x), Value::Tensor(y)) => binary(op, &x.result, &y.result),
                    (Value::Tensor(x), Value::Number(y)) => binary(op, &x.result, *y),
                    (Value::Number(x), Value::Tensor(y)) => binary(op, *x, &y.result),
                    (Value::Number(x), Value::Number(y)) => binary(op, *x, *y),
                };
                let result = result.rules(self.rules).run()?;
                let mut free = join(&result, [&x, &y])?;
                if let (BinaryOp::Copysign, Value::Tensor(y)) = (op, &y) {
                    free = or(&free, &nans(&y.result)?)?;
                }
                Value::Tensor(Outcome { result, free })
            }
            ref entry @ (Entry::Select(x, y, z) | Entry::Fma(x, y, z)) => {
                let operands = [x, y, z].map(operand);
                // The only eager form of these with a rulebook is an expression of one node.
                let [a, b, c] = operands.each_ref().map(Value::expr);
                let node = match entry {
                    Entry::Fma(..) => a.fma(b, c),
                    _ => a.select(b, c),
                };
                let result = node.rules(self.rules).run()?;
                let free = join(&result, &operands)?;
                Value::Tensor(Outcome { result, free })
            }
        })
    }
}

/// A result, and which of its elements are free because they depend on the sign or payload of a computed NaN.
#[derive(Clone)]
pub struct Outcome {
    pub result: Tensor,
    pub free: Tensor,
}

#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
enum Value {
    Number(Scalar),
    Tensor(Outcome),
}

impl Value {
    fn input(tensor: &Tensor) -> Result<Value, Error> {
        let free = Tensor::zeros((), DType::Bool, tensor.device())?;
        let free = free.broadcast_to(tensor.shape())?;
        Ok(Value::Tensor(Outcome { result: tensor.clone(), free }))
    }

    /// Returns the tensor; an operation on a number only is refused with the error of an expression.
    fn tensor(self, operation: impl Fn(Expr<'_>) -> Expr<'_>) -> Result<Outcome, Error> {
        match self {
            Value::Tensor(outcome) => Ok(outcome),
            Value::Number(scalar) => {
                let lonely = operation(Expr::from(scalar));
                Err(lonely.run().expect_err("a number is no operand"))
            }
        }
    }

    fn expr(&self) -> Expr<'_> {
        match self {
            Value::Number(scalar) => Expr::from(*scalar),
            Value::Tensor(outcome) => outcome.result.expr(),
        }
    }
}

fn or(x: &Tensor, y: &Tensor) -> Result<Tensor, Error> {
    x.logical_or(y)
}

/// Returns the union of the operands' free elements, broadcast to the result.
fn join<'a>(
    result: &Tensor,
    operands: impl IntoIterator<Item = &'a Value>,
) -> Result<Tensor, Error> {
    let mut free = Tensor::zeros((), DType::Bool, result.device())?;
    for operand in operands {
        if let Value::Tensor(outcome) = operand {
            free = or(&free, &outcome.free)?;
        }
    }
    free.broadcast_to(result.shape())
}

/// Returns where a tensor is NaN.
fn nans(x: &Tensor) -> Result<Tensor, Error> {
    x.not_equal(x)
}

fn shapes(random: &mut Random) -> Vec<usize> {
    const SIZES: [usize; 8] = [1, 2, 3, 5, 7, 16, 33, 0];
    let rank = random.below(4);
    // Rarely draw a shape large enough to fill blocks and vectors, and more rarely one without elements.
    match random.below(40) {
        0 => return vec![4100 + random.below(8)],
        1 => return vec![3, 700],
        _ => {}
    }
    (0..rank)
        .map(|_| {
            let kinds = if random.below(30) == 0 { SIZES.len() } else { SIZES.len() - 1 };
            SIZES[random.below(kinds)]
        })
        .collect()
}

/// Draws a view of random elements that broadcasts to the shape, with dimensions dropped or of size 1, transposed
/// storage, steps and negative strides.
fn tensor(random: &mut Random, dtype: DType, shape: &[usize], device: &Device) -> Tensor {
    let dropped = if random.below(3) == 0 { random.below(shape.len() + 1) } else { 0 };
    let own: Vec<usize> =
        shape[dropped..].iter().map(|&size| if random.below(5) == 0 { 1 } else { size }).collect();
    let step = if random.below(4) == 0 { 2 } else { 1 };
    let mut stored = own.clone();
    if let Some(last) = stored.last_mut() {
        *last *= step;
    }
    let is_reversed = random.below(4) == 0;
    if is_reversed {
        stored.reverse();
    }
    let len = stored.iter().product();
    let elements: Vec<Bits> = random.elements(dtype, len);
    let bytes = to_bytes(dtype, &elements);
    let mut tensor = Tensor::from_bytes(dtype, &bytes, stored, device).unwrap();
    let rank = own.len();
    if is_reversed {
        tensor = tensor.permute((0..rank).rev().collect::<Vec<_>>()).unwrap();
    }
    if rank > 0 {
        if step > 1 {
            let slice = bitlane::Slice::from(..).step(step as isize);
            tensor = tensor.slice(rank - 1, slice).unwrap();
        }
        if random.below(5) == 0 {
            tensor = tensor.flip(random.below(rank)).unwrap();
        }
    }
    tensor
}

fn number(random: &mut Random) -> Scalar {
    match random.below(8) {
        0 => Scalar::Bool(random.below(2) == 0),
        1 => Scalar::Float([0.5, -0.0, 1e10, f64::NAN, f64::NEG_INFINITY][random.below(5)]),
        2 => Scalar::Complex(bitlane::Complex::new(1.5, -2.0)),
        3 => Scalar::Float(random.below(200) as f64 / 16.0 - 6.0),
        4 => Scalar::Int([-1, i64::MIN, 1 << 40, 255, -128][random.below(5)]),
        _ => Scalar::Int(random.below(12) as i64),
    }
}
