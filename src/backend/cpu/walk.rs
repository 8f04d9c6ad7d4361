//! Walking a plan: rows of the innermost loop, cut into blocks where elements need converting, and
//! shared among threads where that pays.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::convert::{Convert, Scatter};
use super::kernels::{BinaryLoop, UnaryLoop};
use super::threads::threads;
use crate::layout::MAX_RANK;
use crate::plan::{Plan, ROLES, Role};

/// How an inner loop gets the elements of an operand.
#[derive(Clone, Copy)]
pub(super) enum Feed {
    /// From memory: they lie side by side, in the dtype of the computation.
    Direct,
    /// From a block into which they are converted.
    Block(Convert),
    /// From one place for the whole row, converted.
    Constant(Convert),
}

/// What is done to the elements.
#[derive(Clone, Copy)]
pub(super) enum Body {
    /// A loop over both operands.
    Binary(BinaryLoop, Feed, Feed),
    /// A loop over the left operand.
    Unary(UnaryLoop, Feed),
    /// The left operand, converted, is the result.
    Copy(Convert),
}

/// How results reach the destination.
#[derive(Clone, Copy)]
pub(super) enum Store {
    /// The loop writes them where they belong.
    Direct,
    /// They are placed from a block, and converted before if they have another dtype.
    Placed { convert: Option<(Convert, usize)>, scatter: Scatter, masked: bool },
}

/// An operation over a plan, ready to run.
pub(super) struct Walk<'a> {
    pub(super) plan: &'a Plan,
    pub(super) body: Body,
    pub(super) store: Store,
    /// The first element of each role, or null.
    pub(super) bases: [*mut u8; ROLES],
    /// The size of an element of each role in bytes.
    pub(super) sizes: [usize; ROLES],
}

// SAFETY: the pointers are into memory whose locks the caller of `run` holds until it returns, and
// the threads that share a walk write disjoint ranges of the destination.
unsafe impl Sync for Walk<'_> {}

/// The largest element is 16 bytes, so a block holds this many of any dtype.
const BLOCK_LEN: usize = 256;

/// Below this many bytes, waking another thread costs more than it saves.
const PARALLEL_BYTES: usize = 2 * 1024 * 1024;

/// Room for a block of elements of any dtype.
#[repr(align(64))]
struct Block([MaybeUninit<u8>; BLOCK_LEN * 16]);

impl Block {
    const fn new() -> Block {
        Block([MaybeUninit::uninit(); BLOCK_LEN * 16])
    }

    fn as_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// One thread's blocks: the operands, the result, and the result in the destination's dtype.
struct Blocks {
    lhs: Block,
    rhs: Block,
    result: Block,
    converted: Block,
}

impl Walk<'_> {
    /// Runs over all elements.
    ///
    /// # Safety
    ///
    /// From the bases the plan must reach only valid memory, aligned for the dtypes there, the
    /// destination's elements distinct and every operand's initialised; an operand read directly
    /// must be apart from the destination, and any other either apart from it or element for
    /// element the same; all this until the call returns. Body and store must fit the dtypes.
    pub(super) unsafe fn run(&self) {
        let len = self.plan.len;
        let bytes = len.saturating_mul(self.sizes.iter().sum());
        // A worker of somebody's pool would do other work of that pool while it waits here, and
        // that work may want the locks that are held.
        let alone = bytes < PARALLEL_BYTES || rayon::current_thread_index().is_some();
        let Some(threads) = (!alone).then(threads).flatten() else {
            // SAFETY: the caller's promise, for all elements.
            return unsafe { self.range(0..len) };
        };
        // Threads take shares as they come, this one among them, so that one which wakes late or runs
        // slowly holds nobody up.
        let shares = threads.current_num_threads() * 8;
        let share = len.div_ceil(shares).next_multiple_of(BLOCK_LEN);
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let start = next.fetch_add(1, Ordering::Relaxed) * share;
                if start >= len {
                    return;
                }
                // SAFETY: the caller's promise; ranges are disjoint, and so is what they write.
                unsafe { self.range(start..len.min(start + share)) }
            }
        };
        threads.in_place_scope(|scope| {
            for _ in 1..threads.current_num_threads() {
                scope.spawn(|_| work());
            }
            work();
        });
    }

    /// Runs over a range of elements, counted in the order of the plan.
    ///
    /// # Safety
    ///
    /// As for [`Walk::run`], for the elements of the range.
    unsafe fn range(&self, range: Range<usize>) {
        let mut blocks = Blocks {
            lhs: Block::new(),
            rhs: Block::new(),
            result: Block::new(),
            converted: Block::new(),
        };
        let row_len = self.plan.sizes[0];
        let mut column = range.start % row_len;
        let mut row = Row::new(self, range.start / row_len);
        let mut left = range.len();
        while left > 0 {
            let len = left.min(row_len - column);
            let mut places = row.places;
            for (role, place) in places.iter_mut().enumerate() {
                *place = place.wrapping_offset(self.step(role) * column as isize);
            }
            // SAFETY: the places are those of element `column` of a row of the plan, and
            // `column + len` is at most the length of the row.
            unsafe { self.segment(places, len, &mut blocks) };
            left -= len;
            column = 0;
            row.advance(self);
        }
    }

    /// The step of the innermost loop in bytes.
    fn step(&self, role: usize) -> isize {
        self.plan.strides[role][0] * self.sizes[role] as isize
    }

    /// Whether no block is needed, so that a row is one call of its loop.
    fn is_direct(&self) -> bool {
        let operands = match self.body {
            Body::Binary(_, lhs, rhs) => {
                !matches!(lhs, Feed::Block(_)) && !matches!(rhs, Feed::Block(_))
            }
            Body::Unary(_, lhs) => !matches!(lhs, Feed::Block(_)),
            Body::Copy(_) => true,
        };
        operands && matches!(self.store, Store::Direct)
    }

    /// Runs over `len` elements of one row, the first of which are at `places`.
    ///
    /// # Safety
    ///
    /// As for [`Walk::run`], for these elements.
    unsafe fn segment(&self, places: [*mut u8; ROLES], len: usize, blocks: &mut Blocks) {
        let block_len = if self.is_direct() { len } else { BLOCK_LEN };
        let mut start = 0;
        while start < len {
            let count = block_len.min(len - start);
            let at = |role: Role| {
                let role = role as usize;
                places[role].wrapping_offset(self.step(role) * start as isize)
            };
            let result = match self.store {
                Store::Direct => at(Role::Out),
                Store::Placed { .. } => blocks.result.as_ptr(),
            };
            let (lhs_step, rhs_step) =
                (self.step(Role::Lhs as usize), self.step(Role::Rhs as usize));
            // SAFETY: elements `start` to `start + count` are in the segment, a block has room for
            // as many of any dtype, and blocks are apart from everything.
            unsafe {
                match self.body {
                    Body::Copy(convert) => convert(at(Role::Lhs), lhs_step, result, count),
                    Body::Unary(function, lhs) => {
                        let x = lhs.bring(at(Role::Lhs), lhs_step, &mut blocks.lhs, count);
                        function(x, result, count);
                    }
                    Body::Binary(function, lhs, rhs) => {
                        let x = lhs.bring(at(Role::Lhs), lhs_step, &mut blocks.lhs, count);
                        let y = rhs.bring(at(Role::Rhs), rhs_step, &mut blocks.rhs, count);
                        function(x, y, result, count);
                    }
                }
                if let Store::Placed { convert, scatter, masked } = self.store {
                    let mut placed = result;
                    if let Some((convert, size)) = convert {
                        placed = blocks.converted.as_ptr();
                        convert(result, size as isize, placed, count);
                    }
                    let mask = masked
                        .then(|| (at(Role::Mask).cast_const(), self.step(Role::Mask as usize)));
                    scatter(placed, at(Role::Out), self.step(Role::Out as usize), mask, count);
                }
            }
            start += count;
        }
    }
}

impl Feed {
    /// The place where a loop finds `count` elements, or the one that stands for all of them.
    ///
    /// # Safety
    ///
    /// As for [`Convert`], with `count` at most a block's length unless nothing is converted.
    unsafe fn bring(
        self,
        from: *const u8,
        step: isize,
        block: &mut Block,
        count: usize,
    ) -> *const u8 {
        let (convert, count) = match self {
            Feed::Direct => return from,
            Feed::Block(convert) => (convert, count),
            Feed::Constant(convert) => (convert, 1),
        };
        let block = block.as_ptr();
        // SAFETY: the caller's promise; the block is apart from every tensor.
        unsafe { convert(from, step, block, count) };
        block
    }
}

/// A row of the innermost loop: where each role starts, and which turn each outer loop is at.
struct Row {
    places: [*mut u8; ROLES],
    turns: [usize; MAX_RANK],
}

impl Row {
    fn new(walk: &Walk<'_>, mut index: usize) -> Row {
        let mut row = Row { places: walk.bases, turns: [0; MAX_RANK] };
        for level in 1..walk.plan.rank {
            let size = walk.plan.sizes[level];
            row.turns[level] = index % size;
            row.shift(walk, level, (index % size) as isize);
            index /= size;
        }
        row
    }

    /// Goes to the next row, and from the last one back to the first.
    fn advance(&mut self, walk: &Walk<'_>) {
        for level in 1..walk.plan.rank {
            self.turns[level] += 1;
            if self.turns[level] < walk.plan.sizes[level] {
                self.shift(walk, level, 1);
                return;
            }
            self.turns[level] = 0;
            self.shift(walk, level, 1 - walk.plan.sizes[level] as isize);
        }
    }

    fn shift(&mut self, walk: &Walk<'_>, level: usize, turns: isize) {
        for (role, place) in self.places.iter_mut().enumerate() {
            let step = walk.plan.strides[role][level] * walk.sizes[role] as isize;
            *place = place.wrapping_offset(step * turns);
        }
    }
}
