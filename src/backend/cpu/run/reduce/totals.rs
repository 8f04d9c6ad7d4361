//! What reductions fold their terms into: totals of a dtype, and the loops that combine them.

use std::mem::MaybeUninit;

use super::tree::{RUN_BYTES, Room};
use crate::DType;
use crate::backend::cpu::loops::fold::{Fold, MAX_RUN, RowKernel, fold};
use crate::backend::cpu::loops::table::{Recipe, recipe};
use crate::backend::cpu::loops::vector::Kernel;
use crate::backend::cpu::settings::Level;
use crate::op::ElementOp;
use crate::program::total_dtype;

/// How totals of one dtype are made of terms. The code around the loops only moves totals, so that it is compiled once
/// for each size and not for each dtype and operation.
#[derive(Clone, Copy)]
pub(super) struct Totals {
    pub(super) dtype: DType,
    /// The dtype that terms are converted to before they are folded.
    pub(super) terms: DType,
    /// The loop that combines two rows of totals.
    pub(super) rows: Kernel,
    /// The loop that combines rows of terms to one of totals.
    pub(super) rows_of_terms: RowKernel,
    first: Kernel,
    next: Option<Kernel>,
}

impl Totals {
    /// Returns `None` if the operation is not defined for the dtype of the terms.
    pub(super) fn new(combine: ElementOp, terms: DType, level: Level) -> Option<Totals> {
        let dtype = total_dtype(combine, terms);
        let Recipe::Loop(rows) = recipe(combine, dtype)? else { return None };
        let Fold { terms, first, next, rows: of_terms } = fold(combine, terms)?;
        let level = level as usize;
        Some(Totals {
            dtype,
            terms: *terms,
            rows: rows.all[level],
            rows_of_terms: of_terms[level],
            first: first[level],
            next: next.map(|next| next[level]),
        })
    }

    /// Returns how many terms are folded at a time: a power of two. Those that are in memory need no room, except for the
    /// totals of every eight.
    pub(super) fn run(&self, are_in_memory: bool) -> usize {
        let run = match are_in_memory {
            true => 8 * RUN_BYTES / self.dtype.size(),
            false => RUN_BYTES / self.terms.size(),
        };
        run.min(MAX_RUN)
    }

    /// Combines two totals.
    ///
    /// # Safety
    ///
    /// `A` must have the size and alignment of the dtype's elements, and both must be elements.
    pub(super) unsafe fn plus<A: Copy>(&self, left: A, right: A) -> A {
        let (left, right) = ([left], [right]);
        let mut out = MaybeUninit::<A>::uninit();
        // SAFETY: the loop reads one element of each, and writes one.
        unsafe {
            let right = right.as_ptr().cast();
            (self.rows)(&[left.as_ptr().cast(), right, right], out.as_mut_ptr().cast(), 1);
            out.assume_init()
        }
    }

    /// Combines a run of terms to one total, as the tree does; what is missing of a perfect tree is left out.
    ///
    /// # Safety
    ///
    /// `A` must have the size and alignment of the totals' elements. There must be `count` contiguous terms, at least one
    /// and at most a run of those in memory.
    pub(super) unsafe fn folded<A: Copy>(
        &self,
        terms: *const u8,
        rooms: &mut [Room; 2],
        count: usize,
    ) -> A {
        let [room, other] = rooms;
        let (mut to, mut other) = (room.as_ptr::<A>(), other.as_ptr::<A>());
        // SAFETY: the caller vouches for the terms. A room has room for an eighth of them.
        unsafe {
            (self.first)(&[terms; 3], to.cast(), count);
            if let Some(next) = self.next {
                let mut count = count.div_ceil(8);
                while count > 1 {
                    next(&[to.cast_const().cast(); 3], other.cast(), count);
                    std::mem::swap(&mut to, &mut other);
                    count = count.div_ceil(8);
                }
            }
            to.read()
        }
    }
}
