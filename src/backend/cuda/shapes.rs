//! Selection of hand-written kernels: which of them, if any, runs a request.
//!
//! They cover programs of one binary step whose operands have the dtype of the computation and whose destination is
//! contiguous and has the dtype of the result, except those of floats of 8 bits. There they are faster than generated kernels, because they pack narrow
//! lanes into words and are specialised by broadcast. All other requests run on generated kernels.

use super::force::Force;
use super::generate::{NARROW, Operand, is_large, is_near};
use super::kernels::Module;
use super::params::{BL_COL_VECTORS, BL_THREADS, BL_VECTOR_BYTES, BlValue};
use crate::plan::{OUT, Plan};
use crate::program::{Action, Input, Value};
use crate::request::Request;

macro_rules! define_shapes {
    ($($shape:ident $name:literal $doc:literal;)*) => {
        /// The hand-written kernels of a module, by the layout of their operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum KernelShape {
            $(#[doc = $doc] $shape,)*
        }

        impl KernelShape {
            /// Every shape.
            pub(crate) const ALL: &'static [KernelShape] = &[$(KernelShape::$shape),*];

            /// Returns the prefix of the kernel's name.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(KernelShape::$shape => $name,)*
                }
            }
        }
    };
}

define_shapes! {
    Contig "contig" "Contiguous operands.";
    Scalar "scalar" "A contiguous left operand and one right element.";
    Lscalar "lscalar" "One left element and a contiguous right operand.";
    Row "row" "A contiguous matrix on the left and one row, broadcast, on the right.";
    Lrow "lrow" "One row, broadcast, on the left and a contiguous matrix on the right.";
    Col "col" "A contiguous matrix on the left and one column, broadcast, on the right.";
    Lcol "lcol" "One column, broadcast, on the left and a contiguous matrix on the right.";
    Gen2 "gen2" "Up to 2 loops; along the inner one each operand has stride 1 or 0.";
    Gen4 "gen4" "Up to 4 loops, otherwise like `gen2`.";
    Gen8 "gen8" "Up to 8 loops, otherwise like `gen2`.";
    Gath2 "gath2" "Up to 2 loops; operands with any strides.";
    Gath4 "gath4" "Up to 4 loops, otherwise like `gath2`.";
    Gath8 "gath8" "Up to 8 loops, otherwise like `gath2`.";
}

/// The largest y dimension of a grid.
const GRID_Y: usize = 65535;

/// Vectors of a row that one block of a column kernel computes.
const COLUMN_BLOCK: usize = (BL_THREADS * BL_COL_VECTORS) as usize;

/// Bound on the vectors of the linear kernels, which count them in 32 bits.
const LINEAR_VECTORS: usize = 1 << 31;

/// One side of a binary step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    /// The operand in memory in this slot.
    Memory(usize),
    /// A number.
    Number(BlValue),
}

impl Side {
    /// Returns the slot of an operand in memory, or `None` for a number.
    pub(super) fn slot(&self) -> Option<usize> {
        match self {
            Side::Memory(slot) => Some(*slot),
            Side::Number(_) => None,
        }
    }
}

/// A request of one plain binary step, with everything that the choice of a hand-written kernel depends on.
pub(super) struct Pair<'a> {
    pub(super) module: Module,
    pub(super) plan: &'a Plan,
    pub(super) operands: &'a [Operand],
    pub(super) sides: [Side; 2],
    /// The size of an operand's element in bytes.
    pub(super) element_size: usize,
    /// The number of such elements in a vector.
    pub(super) lanes: usize,
}

impl<'a> Pair<'a> {
    /// Returns the request as a pair, or `None` if it is anything but one plain binary step.
    #[inline]
    pub(super) fn of(request: &Request<'a>, operands: &'a [Operand]) -> Option<Pair<'a>> {
        let [step] = request.program.steps() else { return None };
        let Action::Apply(op) = step.action else { return None };
        let [Value::Input(lhs), Value::Input(rhs)] = step.arguments() else { return None };
        if request.masked
            || request.reduction.is_some()
            || is_large(op)
            || step.dtype.is_float8()
            || request.out != step.result
            || request.program.result() != Value::Step(0)
            || !request.plan.is_dense(OUT)
        {
            return None;
        }
        let side = |index: u16| match &request.program.inputs()[usize::from(index)] {
            Input::Memory(_, slot) => Side::Memory(*slot),
            Input::Number(_, bytes) => Side::Number(BlValue { bits: bytemuck::cast(bytes.0) }),
        };
        let element_size = step.dtype.size();
        Some(Pair {
            module: Module { op, dtype: step.dtype },
            plan: request.plan,
            operands,
            sides: [side(*lhs), side(*rhs)],
            element_size,
            lanes: BL_VECTOR_BYTES as usize / element_size,
        })
    }

    /// Returns the hand-written kernel for the pair, or `None` if there is none.
    #[inline]
    pub(super) fn shape(&self, force: Force) -> Option<KernelShape> {
        if force.has(Force::GATHER) && self.sides.iter().all(|side| side.slot().is_some()) {
            return self.gather();
        }
        let slots = match self.sides {
            [Side::Memory(lhs), Side::Memory(rhs)] => [lhs, rhs],
            [Side::Memory(lhs), Side::Number(_)] => {
                return self.runs(lhs).then_some(KernelShape::Scalar);
            }
            [Side::Number(_), Side::Memory(rhs)] => {
                return self.runs(rhs).then_some(KernelShape::Lscalar);
            }
            [Side::Number(_), Side::Number(_)] => return None,
        };
        let runs = slots.map(|slot| self.runs(slot));
        let constant = slots.map(|slot| self.plan.is_constant(slot));
        if runs == [true, true] {
            return Some(KernelShape::Contig);
        }
        if runs[0] && constant[1] {
            return Some(KernelShape::Scalar);
        }
        if constant[0] && runs[1] {
            return Some(KernelShape::Lscalar);
        }
        self.matrix(slots).or_else(|| self.general(slots)).or_else(|| self.gather())
    }

    /// Returns the lane of a vector in which the first element of a slot lies. A vector of the destination has as many
    /// elements as one of an operand, whatever their size.
    pub(super) fn place(&self, slot: usize) -> usize {
        let operand = &self.operands[slot];
        (operand.address >> operand.size.trailing_zeros()) as usize & (self.lanes - 1)
    }

    /// Whether a slot is contiguous, short enough for a linear kernel, and reaches a vector boundary at the same element
    /// as the destination.
    fn runs(&self, slot: usize) -> bool {
        let few = self.plan.len / self.lanes < LINEAR_VECTORS;
        few && self.plan.is_dense(slot) && self.place(slot) == self.place(OUT)
    }

    /// Chooses a kernel for a matrix with a broadcast row or column.
    fn matrix(&self, [lhs, rhs]: [usize; 2]) -> Option<KernelShape> {
        let plan = self.plan;
        let [columns, rows] = [plan.sizes[0], plan.sizes[1]];
        let vectors = columns / self.lanes;
        let fits = plan.rank == 2
            && columns.is_multiple_of(self.lanes)
            && rows < NARROW
            && columns * self.element_size < 1 << 32;
        if !fits || self.place(OUT) != 0 {
            return None;
        }
        let strides = |slot: usize| [plan.slots[slot].strides[0], plan.slots[slot].strides[1]];
        let is_matrix =
            |slot: usize| strides(slot) == [1, columns as isize] && self.place(slot) == 0;
        let is_row = |slot: usize| strides(slot) == [1, 0] && self.place(slot) == 0;
        let is_column = |slot: usize| strides(slot) == [0, 1];
        let (kept, moving, right) =
            if is_matrix(lhs) { (rhs, lhs, true) } else { (lhs, rhs, false) };
        if !is_matrix(moving) {
            return None;
        }
        if is_row(kept) && vectors.div_ceil(1 << tile_log2(vectors)) <= GRID_Y {
            return Some(if right { KernelShape::Row } else { KernelShape::Lrow });
        }
        let blocks = vectors.div_ceil(COLUMN_BLOCK);
        // Short rows would leave much of a block idle, and are left to the general kernel where that can index them.
        let worth_it = vectors * 4 >= blocks * COLUMN_BLOCK * 3 || !self.is_narrow();
        if is_column(kept) && blocks <= GRID_Y && worth_it {
            return Some(if right { KernelShape::Col } else { KernelShape::Lcol });
        }
        None
    }

    /// Chooses a kernel for operands with stride 1 or 0 along the inner loop.
    fn general(&self, slots: [usize; 2]) -> Option<KernelShape> {
        let plan = self.plan;
        let fits = |slot: usize| {
            let strides = &plan.slots[slot].strides[..plan.rank];
            let whole = |stride: &isize| stride.unsigned_abs().is_multiple_of(self.lanes);
            match strides[0] {
                0 => true,
                1 => self.place(slot) == 0 && strides[1..].iter().all(whole),
                _ => false,
            }
        };
        let possible = plan.rank > 0
            && self.place(OUT) == 0
            && plan.sizes[0].is_multiple_of(self.lanes)
            && self.is_narrow()
            && slots.into_iter().all(fits);
        // An inner loop of a single vector is dropped.
        let loops = plan.rank - usize::from(possible && plan.sizes[0] == self.lanes);
        possible.then_some(match loops {
            0..=2 => KernelShape::Gen2,
            3..=4 => KernelShape::Gen4,
            _ => KernelShape::Gen8,
        })
    }

    /// Chooses a kernel for operands with any strides and alignment.
    fn gather(&self) -> Option<KernelShape> {
        self.is_narrow().then_some(match self.plan.rank {
            0..=2 => KernelShape::Gath2,
            3..=4 => KernelShape::Gath4,
            _ => KernelShape::Gath8,
        })
    }

    /// Whether the number of elements and all offsets of the operands are below 2^31.
    fn is_narrow(&self) -> bool {
        let near = |slot: usize| is_near(self.plan, &self.plan.slots[slot]);
        self.plan.len < NARROW && self.sides.iter().filter_map(Side::slot).all(near)
    }
}

/// Returns the binary logarithm of the number of neighbouring threads that share a row in the row kernels: as many as
/// possible, up to a whole block, without leaving more than a quarter of them idle.
pub(super) fn tile_log2(row_vectors: usize) -> u32 {
    let threads = |log2: u32| row_vectors.next_multiple_of(1 << log2);
    (0..=BL_THREADS.ilog2()).rev().find(|&log2| threads(log2) * 3 <= row_vectors * 4).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::layout::Layout;
    use crate::op::ElementOp;
    use crate::program::Program;
    use crate::scalar::ElementBytes;

    const LANES: usize = 4;

    /// Returns the kernel chosen to add two `i32` operands. The first elements of destination, left and right operand
    /// lie in the given lanes of a vector.
    fn shape_at(
        shape: &[usize],
        lhs: &Layout,
        rhs: &Layout,
        places: [u64; 3],
    ) -> Option<KernelShape> {
        let mut program = Program::new();
        let (x, y) = (program.memory(DType::I32), program.memory(DType::I32));
        program.apply(ElementOp::Add, [x, y]);
        let [lhs, rhs] = [lhs, rhs].map(|layout| layout.broadcast_to("test", shape).unwrap());
        let plan = Plan::new(shape, [&Layout::row_major(shape), &lhs, &rhs]);
        chosen(&program, &plan, places.as_slice(), Force::NOTHING)
    }

    fn chosen(program: &Program, plan: &Plan, places: &[u64], force: Force) -> Option<KernelShape> {
        let out = program.dtype(program.result());
        let request = Request { op: "test", program, plan, out, masked: false, reduction: None };
        let operand = |&place: &u64| Operand { address: 4096 + place * 4, size: 4 };
        let operands: Vec<_> = places.iter().map(operand).collect();
        Pair::of(&request, &operands)?.shape(force)
    }

    fn dense(shape: &[usize], rhs: &[usize]) -> Option<KernelShape> {
        shape_at(shape, &Layout::row_major(shape), &Layout::row_major(rhs), [0; 3])
    }

    #[test]
    fn one_run_is_contiguous() {
        assert_eq!(dense(&[3, 5], &[3, 5]), Some(KernelShape::Contig));
        assert_eq!(dense(&[], &[]), Some(KernelShape::Contig));
        // More vectors than the linear kernels count.
        assert_eq!(dense(&[1 << 40], &[1 << 40]), None);
    }

    #[test]
    fn operands_need_the_same_place_in_a_vector() {
        let run = Layout::row_major(&[100]);
        assert_eq!(shape_at(&[100], &run, &run, [3, 3, 3]), Some(KernelShape::Contig));
        assert_eq!(shape_at(&[100], &run, &run, [0, 1, 0]), Some(KernelShape::Gath2));
    }

    #[test]
    fn a_number_or_a_constant_is_a_scalar() {
        let run = Layout::row_major(&[100]);
        for (number_first, expected) in [(false, KernelShape::Scalar), (true, KernelShape::Lscalar)]
        {
            let mut program = Program::new();
            let x = program.memory(DType::I32);
            let number = program.number(DType::I32, ElementBytes([0; 16]));
            let arguments = if number_first { [number, x] } else { [x, number] };
            program.apply(ElementOp::Add, arguments);
            let plan = Plan::new(&[100], [&run, &run]);
            assert_eq!(chosen(&program, &plan, &[0, 0], Force::NOTHING), Some(expected));
            assert_eq!(chosen(&program, &plan, &[0, 0], Force::GATHER), Some(expected));
            assert_eq!(chosen(&program, &plan, &[0, 1], Force::NOTHING), None);
        }
        assert_eq!(dense(&[10, 10], &[]), Some(KernelShape::Scalar));
    }

    #[test]
    fn rows_and_columns_of_whole_vectors() {
        assert_eq!(dense(&[5, 8], &[8]), Some(KernelShape::Row));
        assert_eq!(dense(&[5, 7], &[7]), Some(KernelShape::Gath2));
        assert_eq!(dense(&[5, 4096], &[5, 1]), Some(KernelShape::Col));
        assert_eq!(dense(&[5, 8], &[5, 1]), Some(KernelShape::Gen2));
        let matrix = Layout::row_major(&[5, 4096]);
        let mirrored =
            |kept: &[usize]| shape_at(&[5, 4096], &Layout::row_major(kept), &matrix, [0; 3]);
        assert_eq!(mirrored(&[4096]), Some(KernelShape::Lrow));
        assert_eq!(mirrored(&[5, 1]), Some(KernelShape::Lcol));
        // More elements than `gen2` can index, but not than `col` can.
        assert_eq!(dense(&[1 << 30, 4], &[1 << 30, 1]), Some(KernelShape::Col));
    }

    #[test]
    fn more_loops_are_general_or_gathered() {
        assert_eq!(dense(&[3, 5, 8], &[3, 1, 8]), Some(KernelShape::Gen4));
        assert_eq!(dense(&[2, 2, 2, 2, 8], &[2, 1, 2, 1, 8]), Some(KernelShape::Gen8));
        assert_eq!(dense(&[3, 5, 7], &[3, 1, 7]), Some(KernelShape::Gath4));
        // An inner loop of one vector is dropped.
        assert_eq!(dense(&[3, 5, LANES], &[3, 1, LANES]), Some(KernelShape::Gen2));
        let turned = Layout::row_major(&[8, 6]).permute(&[1, 0]).unwrap();
        let flipped = turned.flip(0).unwrap();
        assert_eq!(shape_at(&[6, 8], &turned, &flipped, [0; 3]), Some(KernelShape::Gath2));
    }

    #[test]
    fn offsets_beyond_31_bits_have_no_kernel() {
        let column = |rows: usize| {
            shape_at(&[rows, 3], &Layout::row_major(&[rows, 1]), &Layout::row_major(&[3]), [0; 3])
        };
        assert_eq!(column((1 << 31) / 3), Some(KernelShape::Gath2));
        assert_eq!(column((1 << 31) / 3 + 1), None);
        let far = Layout::strided("test", &[2], &[1 << 31], 0, 1 << 40).unwrap();
        assert_eq!(shape_at(&[2], &far, &far, [0; 3]), None);
        let back = Layout::strided("test", &[2], &[-(1 << 31)], 1 << 31, 1 << 40).unwrap();
        assert_eq!(shape_at(&[2], &back, &back, [0; 3]), None);
    }

    #[test]
    fn everything_but_one_plain_binary_step_is_generated() {
        let run = Layout::row_major(&[10]);
        let mut unary = Program::new();
        let x = unary.memory(DType::I32);
        unary.apply(ElementOp::Negative, [x]);
        assert_eq!(chosen(&unary, &Plan::new(&[10], [&run, &run]), &[0, 0], Force::NOTHING), None);
        let mut large = Program::new();
        let (x, y) = (large.memory(DType::I32), large.memory(DType::I32));
        large.apply(ElementOp::Pow, [x, y]);
        let plan = Plan::new(&[10], [&run, &run, &run]);
        assert_eq!(chosen(&large, &plan, &[0, 0, 0], Force::NOTHING), None);
        let gaps = Layout::strided("test", &[10], &[2], 0, 20).unwrap();
        let mut sum = Program::new();
        let (x, y) = (sum.memory(DType::I32), sum.memory(DType::I32));
        sum.apply(ElementOp::Add, [x, y]);
        assert_eq!(
            chosen(&sum, &Plan::new(&[10], [&gaps, &run, &run]), &[0; 3], Force::NOTHING),
            None
        );
    }

    #[test]
    fn tiles_waste_at_most_a_quarter() {
        for (vectors, log2) in
            [(1, 0), (2, 1), (3, 2), (5, 1), (9, 2), (255, 8), (256, 8), (10_000, 8)]
        {
            assert_eq!(tile_log2(vectors), log2, "{vectors} vectors");
        }
    }
}
