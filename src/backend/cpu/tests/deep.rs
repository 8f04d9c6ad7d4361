//! Programs as long as the longest expressions: what is kept of their values must fit, in every phase.

use std::collections::HashSet;

use super::*;
use crate::backend::cpu::loops::table::recipe;
use crate::backend::cpu::run::script::{Pattern, Script, SlotUse};
use crate::backend::cpu::settings::MAX_BLOCK_BYTES;

/// The most operations of an expression.
const LONGEST: usize = 256;

/// The lengths for most recipes. The one that has the most instructions per step runs at every length.
const SOME: [usize; 5] = [1, 9, 33, 171, LONGEST];

/// A program that applies an operation to its own result again and again; each step takes all other operands, too.
struct Chain {
    op: ElementOp,
    dtype: DType,
}

impl Chain {
    fn program(&self, len: usize) -> Program {
        let mut program = Program::new();
        let first = program.memory(self.dtype);
        let others = [program.memory(self.dtype), program.memory(DType::Bool)];
        let result = (0..len).fold(first, |value, _| self.step(&mut program, value, others));
        program.finish(result);
        program
    }

    /// Adds a step, and returns its result in the dtype of the chain.
    fn step(&self, program: &mut Program, value: Value, [other, condition]: [Value; 2]) -> Value {
        let result = match self.op.arity() {
            1 => program.apply(self.op, [value]),
            2 => program.apply(self.op, [value, other]),
            _ if self.op == ElementOp::Select => program.apply(self.op, [condition, value, other]),
            _ => program.apply(self.op, [value, other, other]),
        };
        program.cast(result, self.dtype)
    }
}

/// Every operation and dtype with a recipe.
fn chains() -> impl Iterator<Item = Chain> {
    let of = |op| DType::ALL.iter().map(move |&dtype| Chain { op, dtype });
    let all = ElementOp::ALL.iter().copied().flat_map(of);
    all.filter(|chain| recipe(chain.op, chain.dtype).is_some())
}

/// The layouts of the first operand and of the others, and the shape of the result.
fn forms() -> Vec<([Layout; 2], Vec<usize>)> {
    let (whole, row) = (Layout::row_major(&[5, 3]), Layout::row_major(&[3]));
    let (element, nothing) = (Layout::row_major(&[1]), Layout::row_major(&[]));
    let pairs = [
        (&nothing, &nothing, vec![]),
        (&element, &nothing, vec![1]),
        (&nothing, &nothing, vec![5, 3]),
        (&row, &nothing, vec![5, 3]),
        (&row, &row, vec![5, 3]),
        (&whole, &nothing, vec![5, 3]),
        (&whole, &row, vec![5, 3]),
        (&whole, &whole, vec![5, 3]),
    ];
    let form = |(first, others, shape): (&Layout, &Layout, Vec<usize>)| {
        let layouts = [first, others].map(|layout| layout.broadcast_to("test", &shape).unwrap());
        (layouts, shape)
    };
    pairs.into_iter().map(form).collect()
}

/// What decides which instructions a chain has, and so which registers.
fn structure(chain: &Chain) -> Vec<(usize, usize, usize)> {
    let patterns = [Pattern::Dense, Pattern::Still, Pattern::Row, Pattern::Strided];
    let mut structure = Vec::new();
    for first in patterns {
        for others in patterns {
            let patterns = [Pattern::Dense, first, others, others];
            let memory = SlotUse {
                patterns: &patterns,
                is_written: &[false; 4],
                mask: None,
                writes_directly: true,
            };
            let program = chain.program(4);
            let script = Script::new(&program, None, &memory, Level::Baseline).unwrap();
            structure.push((script.len(), script.registers, script.widest));
        }
    }
    structure
}

/// One recipe of each structure runs; those that share it differ in nothing but the loops. The results must be those of
/// the same steps one after another, each of them a program of its own.
#[test]
fn recipes_of_every_structure_run_at_every_length_on_operands_of_every_form() {
    let mut random = Random(5);
    let mut known = HashSet::new();
    for chain in chains() {
        if !known.insert(structure(&chain)) {
            continue;
        }
        let is_longest = chain.op == ElementOp::Pow && chain.dtype == DType::F16;
        let lengths = if is_longest { (1..=LONGEST).collect() } else { SOME.to_vec() };
        let operands = [chain.dtype, chain.dtype, DType::Bool]
            .map(|dtype| storage(&random.elements(dtype, 15)));
        for ([first, others], shape) in forms() {
            let layouts = [first, others, others];
            let dense = Layout::row_major(&shape);
            let mut eager = operands[0].clone();
            let mut eager_layout = layouts[0];
            let one = chain.program(1);
            let mut done = 0;
            for &len in &lengths {
                while done < len {
                    let now = [eager_layout, others, others];
                    let operands = [eager, operands[1].clone(), operands[2].clone()];
                    eager = storage(&run(&one, chain.dtype, &now, &operands));
                    eager_layout = dense;
                    done += 1;
                }
                let bytes = eager.read().download::<u8>(0..eager.bytes()).unwrap();
                let expected = canonical(chain.dtype, &bytes);
                let program = chain.program(len);
                let lists = ["", "block=64"];
                let lists = if is_longest { &lists[len % 2..][..1] } else { &lists[..] };
                for list in lists {
                    let got =
                        Settings::forced(list, || run(&program, chain.dtype, &layouts, &operands));
                    let (op, dtype) = (chain.op, chain.dtype);
                    assert_eq!(
                        canonical(dtype, &got),
                        expected,
                        "{len} times {op:?} of {dtype}, {layouts:?}, {list:?}"
                    );
                }
            }
        }
    }
    // The table has recipes of several structures: those of one, two and three arguments, by way of another dtype, …
    assert!(known.len() > 20, "{}", known.len());
}

/// Registers are free after their last use, so their number does not grow with the length of a chain.
#[test]
fn long_chains_take_no_more_registers_than_short_ones() {
    for chain in chains() {
        for pattern in [Pattern::Still, Pattern::Row, Pattern::Dense, Pattern::Strided] {
            let patterns = [pattern; 4];
            let memory = SlotUse {
                patterns: &patterns,
                is_written: &[false; 4],
                mask: None,
                writes_directly: true,
            };
            let registers = |len: usize| {
                let program = chain.program(len);
                Script::new(&program, None, &memory, Level::Baseline).unwrap().registers
            };
            let (op, dtype) = (chain.op, chain.dtype);
            assert!(registers(LONGEST) <= registers(4) + 1, "{op:?} of {dtype}, {pattern:?}");
        }
    }
}

/// So many values are needed at the same time that the stack has no room for them: no expression has, but nothing here
/// depends on that.
#[test]
fn more_values_than_the_stack_has_room_for_are_kept_apart() {
    const VALUES: usize = MAX_BLOCK_BYTES / 16 + 100;
    let mut program = Program::new();
    let first = program.memory(DType::I64);
    let mut values = vec![first];
    for _ in 0..VALUES {
        values.push(program.apply(ElementOp::Multiply, [values[values.len() - 1], first]));
    }
    let mut sum = values[0];
    for &value in &values[1..] {
        let shifted = program.apply(ElementOp::BitwiseXor, [sum, value]);
        sum = program.apply(ElementOp::Add, [shifted, value]);
    }
    let numbers: Vec<i64> = (3..18).collect();
    let expected = |x: &i64| {
        let powers: Vec<i64> =
            (1..=VALUES as u32 + 1).map(|exponent| x.wrapping_pow(exponent)).collect();
        powers[1..].iter().fold(powers[0], |sum, power| (sum ^ power).wrapping_add(*power))
    };
    let operand = storage(bytemuck::cast_slice(&numbers));
    for ([layout, _], shape) in forms() {
        let got = run(&program, DType::I64, &[layout], std::slice::from_ref(&operand));
        let place = |index: usize| match shape.len() == 2 {
            true => {
                let strides = layout.strides();
                (index / 3) * strides[0] as usize + index % 3 * strides[1] as usize
            }
            false => 0,
        };
        let count = shape.iter().product();
        let expected: Vec<i64> = (0..count).map(|index| expected(&numbers[place(index)])).collect();
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, i64>(&got), expected, "{layout:?}");
    }
}
