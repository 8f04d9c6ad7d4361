//! From a loop nest to the kernel that runs it: the kernel's shape, and how wide its indices are.

use super::{Plan, Role};

macro_rules! define_shape {
    ($($shape:ident $name:literal $doc:literal;)*) => {
        /// The shapes in which there are kernels.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Shape {
            $(#[doc = $doc] $shape,)*
        }

        impl Shape {
            /// How many shapes there are.
            pub(crate) const COUNT: usize = [$(Shape::$shape),*].len();

            /// The front of a kernel's name.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Shape::$shape => $name,)*
                }
            }
        }
    };
}

define_shape! {
    Contig "contig" "Everything is one run of elements.";
    Scalar "scalar" "One run, and a right operand that stays the same.";
    Lscalar "lscalar" "One run, and a left operand that stays the same.";
    Row "row" "A matrix, and a right operand that is one row of it.";
    Lrow "lrow" "A matrix, and a left operand that is one row of it.";
    Col "col" "A matrix, and a right operand that is one column of it.";
    Lcol "lcol" "A matrix, and a left operand that is one column of it.";
    Gen2 "gen2" "Up to 2 loops; operands run or stand still along the inner one.";
    Gen4 "gen4" "The same for up to 4 loops.";
    Gen8 "gen8" "The same for up to 8 loops.";
    Gath2 "gath2" "Up to 2 loops; operands of any strides.";
    Gath4 "gath4" "The same for up to 4 loops.";
    Gath8 "gath8" "The same for up to 8 loops.";
    Mixed "mixed" "Any dtypes, any strides, any destination, with or without a mask.";
    Mixedw "mixedw" "The same with 64-bit indices.";
    Each "each" "A gradient, each element computed by one thread.";
    Sum "sum" "A gradient, each element summed by many threads.";
}

/// What a shape depends on besides the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit {
    /// How many elements of the computation's dtype make a vector of 16 bytes.
    pub(crate) lanes: usize,
    /// The size of such an element.
    pub(crate) element_size: usize,
    /// How many operands there are.
    pub(crate) arity: usize,
    /// Whether operands and destination have the dtypes of the computation, and there is no mask.
    pub(crate) uniform: bool,
    /// Where in a vector the first element lies, for the destination and the operands; 0 for an
    /// operand that is not in memory.
    pub(crate) places: [usize; 3],
    /// Whether the left and the right operand are numbers that come with the call.
    pub(crate) immediate: [bool; 2],
}

/// Elements, and offsets of elements, that 32-bit kernels can count.
const NARROW: usize = 1 << 31;

/// The largest second dimension of a grid.
const GRID_Y: usize = 65535;

/// Vectors of a row that one block of the column kernels takes.
const COLUMN_BLOCK: usize = 256 * 4;

impl Plan {
    /// The kernel for this loop nest.
    pub(crate) fn shape(&self, fit: &Fit) -> Shape {
        let fast =
            if fit.uniform && self.is_dense(Role::Out) { self.fast_shape(fit) } else { None };
        fast.unwrap_or_else(|| self.mixed_shape())
    }

    /// The kernel that takes everything.
    pub(crate) fn mixed_shape(&self) -> Shape {
        let roles = [Role::Out, Role::Lhs, Role::Rhs, Role::Mask];
        if self.is_narrow(&roles) { Shape::Mixed } else { Shape::Mixedw }
    }

    fn fast_shape(&self, fit: &Fit) -> Option<Shape> {
        let [out, lhs, rhs] = fit.places;
        if fit.arity == 1 {
            if fit.immediate[0] {
                return None;
            }
            let aligned = self.is_dense(Role::Lhs) && lhs == out;
            return if aligned { Some(Shape::Contig) } else { self.gather() };
        }
        let runs = [Role::Lhs, Role::Rhs].map(|role| self.is_dense(role));
        let stands = [Role::Lhs, Role::Rhs].map(|role| self.is_constant(role));
        match fit.immediate {
            [false, true] if runs[0] && lhs == out => return Some(Shape::Scalar),
            [true, false] if runs[1] && rhs == out => return Some(Shape::Lscalar),
            [false, false] => {}
            _ => return None,
        }
        if runs == [true, true] && lhs == out && rhs == out {
            return Some(Shape::Contig);
        }
        if runs[0] && stands[1] && lhs == out {
            return Some(Shape::Scalar);
        }
        if stands[0] && runs[1] && rhs == out {
            return Some(Shape::Lscalar);
        }
        self.matrix(fit).or_else(|| self.general(fit)).or_else(|| self.gather())
    }

    /// A matrix with a row or a column.
    fn matrix(&self, fit: &Fit) -> Option<Shape> {
        let [columns, rows] = [self.sizes[0], self.sizes[1]];
        let vectors = columns / fit.lanes;
        let fits = self.rank == 2
            && columns.is_multiple_of(fit.lanes)
            && rows < NARROW
            && columns * fit.element_size < 1 << 32;
        if !fits || fit.places[0] != 0 {
            return None;
        }
        let strides = |role: Role| [self.strides_of(role)[0], self.strides_of(role)[1]];
        let is_aligned = |role: Role| fit.places[role as usize] == 0;
        let is_matrix = |role: Role| strides(role) == [1, columns as isize] && is_aligned(role);
        let is_row = |role: Role| strides(role) == [1, 0] && is_aligned(role);
        let is_column = |role: Role| strides(role) == [0, 1];
        let pick = |kept: Role, right: Shape, left: Shape| {
            if kept == Role::Rhs { right } else { left }
        };
        let (kept, moving) =
            if is_matrix(Role::Lhs) { (Role::Rhs, Role::Lhs) } else { (Role::Lhs, Role::Rhs) };
        if !is_matrix(moving) {
            return None;
        }
        if is_row(kept) && vectors.div_ceil(1 << tile_log2(vectors)) <= GRID_Y {
            return Some(pick(kept, Shape::Row, Shape::Lrow));
        }
        let blocks = vectors.div_ceil(COLUMN_BLOCK);
        // Short rows would leave most of a block idle, and are left to the general kernel.
        let worth_it =
            vectors * 4 >= blocks * COLUMN_BLOCK * 3 || !self.is_narrow(&[Role::Lhs, Role::Rhs]);
        if is_column(kept) && blocks <= GRID_Y && worth_it {
            return Some(pick(kept, Shape::Col, Shape::Lcol));
        }
        None
    }

    /// Operands that run densely along the inner loop, or stand still along it.
    fn general(&self, fit: &Fit) -> Option<Shape> {
        let fits = |role: Role| {
            let strides = &self.strides_of(role)[..self.rank];
            let whole = |stride: &isize| stride.unsigned_abs().is_multiple_of(fit.lanes);
            match strides[0] {
                0 => true,
                1 => fit.places[role as usize] == 0 && strides[1..].iter().all(whole),
                _ => false,
            }
        };
        let possible = self.rank > 0
            && fit.places[0] == 0
            && self.sizes[0].is_multiple_of(fit.lanes)
            && self.is_narrow(&[Role::Lhs, Role::Rhs])
            && fits(Role::Lhs)
            && fits(Role::Rhs);
        // Where the inner loop is one vector long it is no loop any more.
        let loops = self.rank - usize::from(possible && self.sizes[0] == fit.lanes);
        possible.then_some(match loops {
            0..=2 => Shape::Gen2,
            3..=4 => Shape::Gen4,
            _ => Shape::Gen8,
        })
    }

    /// Operands of any strides and places.
    pub(crate) fn gather(&self) -> Option<Shape> {
        self.is_narrow(&[Role::Lhs, Role::Rhs]).then_some(match self.rank {
            0..=2 => Shape::Gath2,
            3..=4 => Shape::Gath4,
            _ => Shape::Gath8,
        })
    }

    /// Whether 31 bits count all elements, and all offsets of these roles from their first element.
    fn is_narrow(&self, roles: &[Role]) -> bool {
        let is_narrow = |&role: &Role| {
            let (mut back, mut forth) = (0usize, 0usize);
            for (&size, &stride) in self.sizes[..self.rank].iter().zip(self.strides_of(role)) {
                let reach = (size - 1).saturating_mul(stride.unsigned_abs());
                let side = if stride < 0 { &mut back } else { &mut forth };
                *side = side.saturating_add(reach);
            }
            back.max(forth) < NARROW
        };
        self.len < NARROW && roles.iter().all(is_narrow)
    }

    /// Two halves of the outermost loop that can be halved, for a nest with too many elements for
    /// one launch. `None`: there is just one element.
    pub(crate) fn split(&self) -> Option<(Plan, Plan)> {
        let outer = (0..self.rank).rev().find(|&level| self.sizes[level] > 1)?;
        let half = self.sizes[outer] / 2;
        let (mut front, mut back) = (self.clone(), self.clone());
        front.sizes[outer] = half;
        back.sizes[outer] -= half;
        front.len = front.sizes.iter().product();
        back.len = back.sizes.iter().product();
        for (offset, strides) in back.offsets.iter_mut().zip(&self.strides) {
            *offset = offset.wrapping_add_signed(strides[outer] * half as isize);
        }
        Some((front, back))
    }
}

/// Into how many neighbouring threads a row is best cut by the row kernels: as many as possible,
/// up to a block, without leaving more than a quarter of them idle.
pub(crate) fn tile_log2(row_vectors: usize) -> u32 {
    let threads = |log2: u32| row_vectors.next_multiple_of(1 << log2);
    (0..=8).rev().find(|&log2| threads(log2) * 3 <= row_vectors * 4).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    const LANES: usize = 4;

    fn fit() -> Fit {
        Fit {
            lanes: LANES,
            element_size: 4,
            arity: 2,
            uniform: true,
            places: [0; 3],
            immediate: [false; 2],
        }
    }

    fn plan(shape: &[usize], lhs: &Layout, rhs: &Layout) -> Plan {
        let out = Layout::row_major(shape);
        let lhs = lhs.broadcast_to("test", shape).unwrap();
        let rhs = rhs.broadcast_to("test", shape).unwrap();
        Plan::new(shape, [Some(&out), Some(&lhs), Some(&rhs), None])
    }

    fn dense(shape: &[usize], rhs: &[usize]) -> Shape {
        plan(shape, &Layout::row_major(shape), &Layout::row_major(rhs)).shape(&fit())
    }

    #[test]
    fn one_run_is_contiguous() {
        assert_eq!(dense(&[3, 5], &[3, 5]), Shape::Contig);
        assert_eq!(dense(&[], &[]), Shape::Contig);
        assert_eq!(dense(&[1 << 40], &[1 << 40]), Shape::Contig);
    }

    #[test]
    fn operands_need_the_same_place_in_a_vector() {
        let run = plan(&[100], &Layout::row_major(&[100]), &Layout::row_major(&[100]));
        assert_eq!(run.shape(&Fit { places: [3, 3, 3], ..fit() }), Shape::Contig);
        assert_eq!(run.shape(&Fit { places: [0, 1, 0], ..fit() }), Shape::Gath2);
        assert_eq!(run.shape(&Fit { uniform: false, ..fit() }), Shape::Mixed);
    }

    #[test]
    fn a_number_or_a_constant_is_a_scalar() {
        let layout = Layout::row_major(&[100]);
        let out = Some(&layout);
        let left = Plan::new(&[100], [out, out, None, None]);
        assert_eq!(left.shape(&Fit { immediate: [false, true], ..fit() }), Shape::Scalar);
        let right = Plan::new(&[100], [out, None, out, None]);
        assert_eq!(right.shape(&Fit { immediate: [true, false], ..fit() }), Shape::Lscalar);
        assert_eq!(dense(&[10, 10], &[]), Shape::Scalar);
        let apart = Fit { immediate: [false, true], places: [0, 1, 0], ..fit() };
        assert_eq!(left.shape(&apart), Shape::Mixed);
    }

    #[test]
    fn rows_and_columns_of_whole_vectors() {
        assert_eq!(dense(&[5, 8], &[8]), Shape::Row);
        assert_eq!(dense(&[5, 7], &[7]), Shape::Gath2);
        assert_eq!(dense(&[5, 4096], &[5, 1]), Shape::Col);
        assert_eq!(dense(&[5, 8], &[5, 1]), Shape::Gen2);
        let matrix = Layout::row_major(&[5, 4096]);
        let mirrored =
            |kept: &[usize]| plan(&[5, 4096], &Layout::row_major(kept), &matrix).shape(&fit());
        assert_eq!(mirrored(&[4096]), Shape::Lrow);
        assert_eq!(mirrored(&[5, 1]), Shape::Lcol);
    }

    #[test]
    fn more_loops_are_general_or_gathered() {
        assert_eq!(dense(&[3, 5, 8], &[3, 1, 8]), Shape::Gen4);
        assert_eq!(dense(&[2, 2, 2, 2, 8], &[2, 1, 2, 1, 8]), Shape::Gen8);
        assert_eq!(dense(&[3, 5, 7], &[3, 1, 7]), Shape::Gath4);
        // An inner loop of one vector is no loop.
        assert_eq!(dense(&[3, 5, 4], &[3, 1, 4]), Shape::Gen2);
        let turned = Layout::row_major(&[8, 6]).permute(&[1, 0]).unwrap();
        assert_eq!(plan(&[6, 8], &turned, &turned.flip(0).unwrap()).shape(&fit()), Shape::Gath2);
    }

    #[test]
    fn large_offsets_need_wide_indices() {
        let column = |rows: usize| {
            plan(&[rows, 3], &Layout::row_major(&[rows, 1]), &Layout::row_major(&[3]))
        };
        assert_eq!(column((1 << 31) / 3).shape(&fit()), Shape::Gath2);
        assert_eq!(column((1 << 31) / 3 + 1).shape(&fit()), Shape::Mixedw);
        let far = Layout::strided("test", &[2], &[1 << 31], 0, 1 << 40).unwrap();
        assert_eq!(plan(&[2], &far, &far).shape(&fit()), Shape::Mixedw);
        let back = Layout::strided("test", &[2], &[-(1 << 31)], 1 << 31, 1 << 40).unwrap();
        assert_eq!(plan(&[2], &back, &back).shape(&fit()), Shape::Mixedw);
    }

    #[test]
    fn columns_too_large_for_narrow_indices_stay_columns() {
        assert_eq!(dense(&[1 << 30, 4], &[1 << 30, 1]), Shape::Col);
    }

    #[test]
    fn unary_operations_have_fewer_shapes() {
        let unary = Fit { arity: 1, ..fit() };
        let run = Layout::row_major(&[10]);
        let of = |lhs: &Layout| Plan::new(&[10], [Some(&run), Some(lhs), None, None]);
        assert_eq!(of(&run).shape(&unary), Shape::Contig);
        assert_eq!(of(&run.flip(0).unwrap()).shape(&unary), Shape::Gath2);
        let fill = Plan::new(&[10], [Some(&run), None, None, None]);
        assert_eq!(fill.shape(&Fit { immediate: [true, false], ..unary }), Shape::Mixed);
    }

    #[test]
    fn destinations_with_gaps_are_mixed() {
        let gaps = Layout::strided("test", &[10], &[2], 0, 20).unwrap();
        let run = Layout::row_major(&[10]);
        let plan = Plan::new(&[10], [Some(&gaps), Some(&run), Some(&run), None]);
        assert_eq!(plan.shape(&fit()), Shape::Mixed);
    }

    #[test]
    fn tiles_waste_at_most_a_quarter() {
        for (vectors, log2) in
            [(1, 0), (2, 1), (3, 2), (5, 1), (9, 2), (255, 8), (256, 8), (10_000, 8)]
        {
            assert_eq!(tile_log2(vectors), log2, "{vectors} vectors");
        }
    }

    #[test]
    fn halves_cover_everything_once() {
        let whole = plan(&[5, 8], &Layout::row_major(&[5, 8]), &Layout::row_major(&[8]));
        let (front, back) = whole.split().unwrap();
        assert_eq!((front.len, back.len), (16, 24));
        assert_eq!(back.offsets, [16, 16, 0, 0]);
        // Down to single elements, from whichever loop is left.
        let mut parts = vec![whole];
        while let Some((front, back)) = parts.pop_if(|part| part.len > 1).and_then(|p| p.split()) {
            assert!(front.len > 0 && back.len > 0);
            parts.extend([back, front]);
            parts.sort_by_key(|part| part.len);
        }
        let mut places: Vec<usize> = parts.iter().map(|part| part.offsets[0]).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..40) && parts.iter().all(|part| part.split().is_none()));
    }
}
