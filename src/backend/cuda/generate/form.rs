//! Forms: everything that the source of a generated kernel depends on.

use smallvec::SmallVec;

use super::class::{Class, Walk};
use crate::DType;
use crate::op::{self, ElementOp, ReduceOp};
use crate::program::{Action, Input, Program, Value, total_dtype};

/// What a kernel does with the results of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::backend::cuda) enum KernelKind {
    /// It stores them elementwise.
    Map,
    /// It reduces them.
    Sum(Adders, Fold, Finish),
}

/// How a kernel reduces terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::backend::cuda) enum Fold {
    /// With a binary operation.
    Value(ElementOp),
    /// With `maximum` or `minimum`, remembering the place of the first term that is the result.
    Place(ElementOp),
}

impl Fold {
    /// Returns how a reduction folds its terms.
    pub(super) fn of(op: ReduceOp) -> Fold {
        match op.finish() {
            op::Finish::Place => Fold::Place(op.combine()),
            _ => Fold::Value(op.combine()),
        }
    }

    /// Returns the dtype of the totals of terms of a dtype. An extreme and its place are kept in the 16 bytes of a
    /// complex number, whatever the dtype.
    pub(super) const fn total_dtype(self, terms: DType) -> DType {
        match self {
            Fold::Value(op) => total_dtype(op, terms),
            Fold::Place(_) => DType::C128,
        }
    }

    /// Returns the name of the operation.
    fn name(self) -> &'static str {
        match self {
            Fold::Value(op) => op.name(),
            Fold::Place(ElementOp::Minimum) => "argmin",
            Fold::Place(_) => "argmax",
        }
    }

    /// Returns the type of the totals in `cuda/totals.cuh`.
    pub(super) fn type_of(self, terms: DType) -> String {
        match self {
            Fold::Value(ElementOp::Add)
                if matches!(terms, DType::F32 | DType::F16 | DType::BF16) =>
            {
                "Scaled".into()
            }
            Fold::Value(op) => {
                format!("Folded<op::{}, dtype_{}>", op.name(), self.total_dtype(terms))
            }
            Fold::Place(ElementOp::Minimum) => "Best<Pick::smaller>".into(),
            Fold::Place(_) => "Best<Pick::larger>".into(),
        }
    }
}

/// Which threads add up the terms of one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::backend::cuda) enum Adders {
    /// One thread, or one per segment.
    Thread,
    /// A power of two of neighbouring threads of a warp.
    Lanes,
    /// One block, or one per segment.
    Block,
}

/// What a kernel does with a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::backend::cuda) enum Finish {
    /// Stores it as it is: it is the total of one segment only.
    Part,
    /// Rounds it to the dtype of the destination.
    Whole,
    /// Divides it, then rounds it.
    Quotient,
    /// Divides it and takes the square root, then rounds it.
    Root,
}

impl From<op::Finish> for Finish {
    fn from(finish: op::Finish) -> Finish {
        match finish {
            op::Finish::Total | op::Finish::Place => Finish::Whole,
            op::Finish::Mean | op::Finish::Variance => Finish::Quotient,
            op::Finish::Deviation => Finish::Root,
        }
    }
}

/// Everything that the source of a kernel depends on. The values of numbers, sizes, strides and addresses are not part
/// of it; they are parameters.
#[derive(Clone, Debug)]
pub(in crate::backend::cuda) struct Form<'a> {
    pub(super) program: &'a Program,
    pub(super) kind: KernelKind,
    /// The dtype of the destination.
    pub(super) out: DType,
    /// Whether the last slot is a mask.
    pub(super) masked: bool,
    /// The access pattern of each slot, the destination first.
    pub(super) classes: SmallVec<[Class; 8]>,
    pub(super) walk: Walk,
    /// The number of loops that the kernel is compiled for; 0 if no slot needs its position in each loop.
    pub(super) rank: u8,
    /// The number of loops over the outputs of a sum that the kernel is compiled for.
    pub(super) outer_rank: u8,
    /// Whether indices have 64 bits.
    pub(super) wide: bool,
    /// The number of elements per group.
    pub(super) group: u8,
    /// The number of groups per thread, all of whose loads are issued before the first is used. In sums by lanes and by
    /// blocks, those of a thread in a tile.
    pub(super) depth: u8,
    /// The elements along a side of a tile; 0 if there are no tiles.
    pub(super) tile: u8,
}

/// A form as bytes, under which its kernel is looked up.
pub(in crate::backend::cuda) type Key = SmallVec<[u8; 64]>;

impl Form<'_> {
    /// Returns the form as bytes. Keys are equal if and only if the sources are.
    pub(in crate::backend::cuda) fn key(&self) -> Key {
        let (kind, combine, finish) = match self.kind {
            KernelKind::Map => (0, 0, 0),
            KernelKind::Sum(adders, Fold::Value(op), finish) => {
                (1 + adders as u8, op as u8, finish as u8)
            }
            KernelKind::Sum(adders, Fold::Place(op), finish) => {
                ((1 + adders as u8) | 1 << 7, op as u8, finish as u8)
            }
        };
        let (inputs, steps) = (self.program.inputs(), self.program.steps());
        let mut key = Key::with_capacity(16 + self.classes.len() + inputs.len() + 9 * steps.len());
        key.extend_from_slice(&[
            kind,
            combine,
            finish,
            self.walk as u8,
            self.rank,
            self.outer_rank,
            u8::from(self.wide) | u8::from(self.masked) << 1,
            self.group,
            self.depth,
            self.tile,
            self.out as u8,
        ]);
        // The lengths, by which a reader of the key would know where each list ends. Like all indices of a program, they
        // fit into 16 bits.
        key.extend_from_slice(&(self.classes.len() as u16).to_le_bytes());
        key.extend_from_slice(&(inputs.len() as u16).to_le_bytes());
        key.extend(self.classes.iter().map(|&class| class as u8));
        for input in inputs {
            let number = u8::from(matches!(input, Input::Number(..)));
            key.push(input.dtype() as u8 | number << 7);
        }
        for step in steps {
            let action = match step.action {
                Action::Cast => u8::MAX,
                Action::Bitcast => u8::MAX - 1,
                Action::Apply(op) => op as u8,
            };
            key.extend_from_slice(&[action, step.dtype as u8, step.result as u8]);
            for &argument in step.arguments() {
                key.extend_from_slice(&value_bytes(argument));
            }
        }
        key.extend_from_slice(&value_bytes(self.program.result()));
        key
    }

    /// Returns how many slots have an address of their own in each group.
    pub(super) fn located(&self) -> usize {
        self.classes.iter().filter(|class| class.is_located()).count()
    }

    /// Returns the slot of the mask, if there is one.
    pub(super) fn mask(&self) -> Option<usize> {
        self.masked.then(|| self.classes.len() - 1)
    }

    /// Returns the name of the kernel: its kind, its first few operations and the dtype of the destination.
    pub(in crate::backend::cuda) fn name(&self) -> String {
        let mut name = String::from(match self.kind {
            KernelKind::Map => match self.walk {
                Walk::Linear => "linear",
                Walk::Groups => "groups",
                Walk::Elements => "elements",
                Walk::Tiles => "tiles",
            },
            KernelKind::Sum(Adders::Thread, ..) => "thread",
            KernelKind::Sum(Adders::Lanes, ..) => "lanes",
            KernelKind::Sum(Adders::Block, ..) => "block",
        });
        if let KernelKind::Sum(_, fold, _) = self.kind {
            name.push('_');
            name.push_str(fold.name());
        }
        if self.rank > 1 {
            name.push_str(&self.rank.to_string());
        }
        if self.wide {
            name.push('w');
        }
        if self.masked {
            name.push_str("_masked");
        }
        let steps = self.program.steps();
        for step in steps.iter().take(NAMED_STEPS) {
            name.push('_');
            name.push_str(match step.action {
                Action::Cast => "cast",
                Action::Bitcast => "bitcast",
                Action::Apply(op) => op.name(),
            });
        }
        if steps.len() > NAMED_STEPS {
            name.push_str(&format!("_and_{}", steps.len() - NAMED_STEPS));
        }
        if steps.is_empty() {
            let fills = matches!(self.program.inputs().first(), Some(Input::Number(..)));
            name.push_str(if fills { "_fill" } else { "_copy" });
        }
        format!("{name}_{}", self.out)
    }
}

/// The number of steps that the name of a kernel lists.
const NAMED_STEPS: usize = 4;

fn value_bytes(value: Value) -> [u8; 2] {
    // Bit 15 distinguishes inputs from steps; there are far fewer than 2^15 of either.
    let bits = match value {
        Value::Input(index) => index,
        Value::Step(index) => index | 1 << 15,
    };
    bits.to_le_bytes()
}

/// Whether an operation is so large that it should be inlined only a few times, and so slow that memory bandwidth does
/// not matter. Such operations have no hand-written kernels, and their generated kernels compute few elements per
/// thread.
pub(in crate::backend::cuda) const fn is_large(op: ElementOp) -> bool {
    use ElementOp::{
        Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cos, Cosh, Exp, Exp2, Expm1, FloorDivide,
        Hypot, Log, Log1p, Log2, Log10, LogAddExp, Pow, Remainder, Sin, Sinh, Tan, Tanh,
    };
    matches!(op, FloorDivide | Remainder | Pow | LogAddExp | Atan2 | Hypot)
        || matches!(op, Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p)
        || matches!(op, Sinh | Cosh | Tanh | Asinh | Acosh | Atanh)
        || matches!(op, Sin | Cos | Tan | Asin | Acos | Atan)
}

/// Whether a program applies one of the large operations.
pub(super) fn calls_large(program: &Program) -> bool {
    program.steps().iter().any(|step| match step.action {
        // The absolute value of a complex number is a hypot.
        Action::Apply(op) => is_large(op) || (op == ElementOp::Abs && step.dtype.is_complex()),
        Action::Cast | Action::Bitcast => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(program: &Program) -> Key {
        let form = Form {
            program,
            kind: KernelKind::Map,
            out: program.dtype(program.result()),
            masked: false,
            classes: SmallVec::from_elem(Class::Constant, program.slots()),
            walk: Walk::Linear,
            rank: 0,
            outer_rank: 0,
            wide: false,
            group: 1,
            depth: 1,
            tile: 0,
        };
        form.key()
    }

    /// Returns a program of bool inputs in memory whose result is the first of them.
    fn inputs(count: usize) -> Program {
        let mut program = Program::new();
        let first = program.memory(DType::Bool);
        for _ in 1..count {
            program.memory(DType::Bool);
        }
        program.finish(first);
        program
    }

    #[test]
    fn keys_tell_long_lists_from_steps() {
        // Apart from the lengths, both keys end in zeros only: the classes, the inputs, and every byte of a step.
        let many = inputs(1 + 7 * 256);
        let mut few = inputs(1);
        let x = few.result();
        let op = ElementOp::ShiftLeft;
        assert_eq!(
            (op as u8, DType::Bool as u8, Class::Constant as u8, value_bytes(x)),
            (0, 0, 0, [0; 2])
        );
        for _ in 0..2 * 256 {
            few.apply(op, [x, x]);
        }
        few.finish(x);
        assert_eq!(key(&many).len(), key(&few).len());
        assert_ne!(key(&many), key(&few));
    }
}
