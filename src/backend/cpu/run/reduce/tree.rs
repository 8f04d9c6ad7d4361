//! The tree of a reduction: from aligned runs of terms to their total.

use std::mem::MaybeUninit;

use super::totals::Totals;
use crate::backend::cpu::loops::vector::Kernel;

/// Bytes of totals that are combined together.
pub(super) const RUN_BYTES: usize = 8192;

/// Room for a run of totals of any dtype that have not been computed yet.
#[repr(align(64))]
pub(super) struct Room(MaybeUninit<[u8; RUN_BYTES]>);

impl Room {
    pub(super) const fn new() -> Self {
        Room(MaybeUninit::uninit())
    }

    pub(super) fn as_ptr<A>(&mut self) -> *mut A {
        self.0.as_mut_ptr().cast()
    }
}

/// Totals of aligned runs that wait for their neighbours, at most one of each size.
#[derive(Clone)]
pub(super) struct Tree<A: Copy> {
    waiting: [MaybeUninit<A>; 64],
    /// Which of them are there.
    occupied: u64,
}

impl<A: Copy> Tree<A> {
    pub(super) fn new() -> Self {
        Tree { waiting: [MaybeUninit::uninit(); 64], occupied: 0 }
    }

    /// Adds the total of the next run of 2^`level` terms; only the last run may be shorter.
    ///
    /// # Safety
    ///
    /// As for [`Totals::plus`].
    pub(super) unsafe fn push(&mut self, totals: &Totals, total: A, level: u32) {
        let (mut total, mut level) = (total, level);
        while self.occupied >> level & 1 == 1 {
            // SAFETY: the bit says that it has been written; the caller's promise.
            total = unsafe { totals.plus(self.waiting[level as usize].assume_init(), total) };
            self.occupied &= !(1 << level);
            level += 1;
        }
        self.waiting[level as usize].write(total);
        self.occupied |= 1 << level;
    }

    /// Returns the totals that wait, those of later and smaller runs first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = A> {
        let levels = (0..64).filter(|level| self.occupied >> level & 1 == 1);
        // SAFETY: the bit says that it has been written.
        levels.map(|level| unsafe { self.waiting[level].assume_init() })
    }

    /// Combines everything that has been pushed, which must be something. Smaller runs are later ones, and lack only
    /// neighbours that do not exist.
    ///
    /// # Safety
    ///
    /// As for [`Totals::plus`]; there must have been a push.
    pub(super) unsafe fn total(&self, totals: &Totals) -> A {
        let lowest = self.occupied.trailing_zeros() as usize;
        // SAFETY: the bits say which totals have been written, and that of the lowest is set after a push.
        unsafe {
            let mut total = self.waiting[lowest].assume_init();
            for level in lowest + 1..64 {
                if self.occupied >> level & 1 == 1 {
                    total = totals.plus(self.waiting[level].assume_init(), total);
                }
            }
            total
        }
    }
}

/// Bytes for the totals of several results at a time: part of an L2 cache. The wider a forest, the longer are the rows that are
/// read from memory one after another.
const FOREST_BYTES: usize = 256 * 1024;

/// Rows of a forest beside those of its levels.
const SPARE_ROWS: usize = 2;

/// How many results of so many terms each a forest has room for.
pub(super) fn width<A>(terms: usize) -> usize {
    (FOREST_BYTES / (levels(terms) + SPARE_ROWS) / size_of::<A>()).min(2048)
}

fn levels(terms: usize) -> usize {
    terms.ilog2() as usize + 1
}

/// The trees of several results, which grow together, a term of each at a time.
pub(super) struct Forest<A> {
    /// A row of totals for each level that waits for its neighbour, and spare rows.
    room: Vec<MaybeUninit<A>>,
    add: Kernel,
    levels: usize,
    /// The length of a row.
    width: usize,
    /// Which levels are there.
    occupied: u64,
}

impl<A: Copy> Forest<A> {
    /// A forest of at most [`width`] results of so many terms each; `add` is the loop that adds two rows.
    pub(super) fn new(add: Kernel, terms: usize, width: usize) -> Self {
        let levels = levels(terms);
        let room = vec![MaybeUninit::uninit(); (levels + SPARE_ROWS) * width];
        Forest { room, add, levels, width, occupied: 0 }
    }

    fn row(&mut self, row: usize) -> *mut A {
        self.room.as_mut_ptr().cast::<A>().wrapping_add(row * self.width)
    }

    fn is_occupied(&self, level: usize) -> bool {
        self.occupied >> level & 1 == 1
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.occupied = 0;
    }

    /// Where the total of the next 2^`level` terms of each result belongs.
    pub(super) fn next(&mut self, level: usize) -> *mut A {
        if self.is_occupied(level) {
            self.row(self.levels + level % SPARE_ROWS)
        } else {
            self.row(level)
        }
    }

    /// Adds the totals of 2^`level` terms that have been written to [`Forest::next`].
    ///
    /// # Safety
    ///
    /// They must have been, for the same number of results, at most the width, since the forest was empty; no lower level
    /// may be waiting, and there must not be more terms than the forest was made for.
    pub(super) unsafe fn push(&mut self, level: usize, count: usize) {
        let mut right = self.next(level);
        let mut level = level;
        while self.is_occupied(level) {
            self.occupied &= !(1 << level);
            let is_last = !self.is_occupied(level + 1);
            let sum =
                self.row(if is_last { level + 1 } else { self.levels + (level + 1) % SPARE_ROWS });
            // SAFETY: both rows have been written; that of the sum is that of a free level, or the spare one that
            // does not hold `right`.
            unsafe {
                (self.add)(
                    &[self.row(level).cast_const().cast(), right.cast_const().cast(), right.cast()],
                    sum.cast(),
                    count,
                )
            };
            right = sum;
            level += 1;
        }
        self.occupied |= 1 << level;
    }

    /// Combines all that has been pushed with the terms that have been written to [`Forest::next`] and not been pushed
    /// yet, in the order of a scan. Returns the results, in one of the rooms or where the terms are.
    ///
    /// # Safety
    ///
    /// As for [`Forest::push`]; the rooms must have room for a row each, apart.
    pub(super) unsafe fn prefix(&mut self, count: usize, rooms: [*mut A; 2]) -> *const A {
        let [mut to, mut other] = rooms;
        let mut right = self.next(0);
        for level in 0..self.levels {
            if self.is_occupied(level) {
                let (left, from) = (self.row(level).cast_const().cast(), right.cast_const().cast());
                // SAFETY: both rows have been written, and are apart from the room.
                unsafe { (self.add)(&[left, from, from], to.cast(), count) };
                right = to;
                std::mem::swap(&mut to, &mut other);
            }
        }
        right
    }

    /// Returns the totals. Later levels are smaller and earlier ones larger, as in [`Tree::total`].
    ///
    /// # Safety
    ///
    /// At least one term of as many results must have been pushed.
    pub(super) unsafe fn totals(&mut self, count: usize) -> &[A] {
        let mut total = self.row(self.occupied.trailing_zeros() as usize);
        for level in self.occupied.trailing_zeros() as usize + 1..self.levels {
            if self.is_occupied(level) {
                let sum = self.row(self.levels + level % SPARE_ROWS);
                let sum = if sum == total {
                    self.row(self.levels + (level + 1) % SPARE_ROWS)
                } else {
                    sum
                };
                // SAFETY: both rows have been written, and the spare one is neither of them.
                unsafe {
                    (self.add)(
                        &[
                            self.row(level).cast_const().cast(),
                            total.cast_const().cast(),
                            total.cast(),
                        ],
                        sum.cast(),
                        count,
                    )
                };
                total = sum;
            }
        }
        // SAFETY: the row has been written, and nothing changes it while the forest is borrowed.
        unsafe { std::slice::from_raw_parts(total, count) }
    }
}
