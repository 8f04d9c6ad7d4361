//! How a loop nest walks each operand, as coarse as kernels tell it apart.

use crate::plan::{Plan, Slot};

/// How the elements of one operand lie along the loops. Never a size, a stride or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::backend::cuda) enum Class {
    /// The same element everywhere.
    Still,
    /// One run over all loops, every group of elements aligned.
    DenseAligned,
    /// One run over all loops, at any address.
    Dense,
    /// A run along the inner loop, every group of elements aligned.
    RunAligned,
    /// A run along the inner loop, at any address.
    Run,
    /// The same element along the inner loop.
    Column,
    /// Any other step along the inner loop.
    Strided,
}

impl Class {
    /// Whether the place follows from the position in each loop, not from the number of the element alone.
    pub(super) fn is_located(self) -> bool {
        matches!(self, Class::RunAligned | Class::Run | Class::Column | Class::Strided)
    }
}

/// How the elements of the whole loop nest are handed out to threads, in groups of some consecutive ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::backend::cuda) enum Walk {
    /// Every operand is one run or stands still: there is but one loop.
    Linear,
    /// The inner loop is made of whole groups, which the loops then count.
    Groups,
    /// The loops count elements, and a group may end in another run of the inner loop than it began.
    Elements,
}

/// One operand in memory, as far as its class depends on it.
#[derive(Clone, Copy, Debug)]
pub(in crate::backend::cuda) struct Operand {
    /// The address of the first element.
    pub(in crate::backend::cuda) address: u64,
    /// The size of an element.
    pub(in crate::backend::cuda) size: usize,
}

impl Operand {
    /// To how many elements a group must be aligned to be read at once: to all of it, or to 16 bytes.
    fn grain(&self, group: usize) -> usize {
        group.min((super::VECTOR / self.size).max(1))
    }

    /// Whether a run from some element on can be read group by group.
    pub(super) fn is_aligned(&self, group: usize, first: usize) -> bool {
        let bytes = (self.grain(group) * self.size) as u64;
        (self.address + (first * self.size) as u64).is_multiple_of(bytes)
    }

    /// How many elements lie before the first whole group.
    pub(super) fn head(&self, group: usize) -> usize {
        let grain = self.grain(group);
        let place = (self.address / self.size as u64) as usize % grain;
        (grain - place) % grain
    }

    /// The class in a nest that is walked by its own loops.
    pub(super) fn class(
        &self,
        plan: &Plan,
        slot: usize,
        walk: Walk,
        group: usize,
        head: usize,
    ) -> Class {
        if plan.is_dense(slot) {
            return if self.is_aligned(group, head) { Class::DenseAligned } else { Class::Dense };
        }
        if plan.is_constant(slot) {
            return Class::Still;
        }
        let strides = &plan.slots[slot].strides[..plan.rank];
        match strides[0] {
            0 => Class::Column,
            1 if walk == Walk::Groups
                && self.is_aligned(group, 0)
                && self.keeps_alignment(&strides[1..], group) =>
            {
                Class::RunAligned
            }
            1 => Class::Run,
            _ => Class::Strided,
        }
    }

    /// Whether steps by these strides lead from an aligned element to another.
    pub(super) fn keeps_alignment(&self, strides: &[isize], group: usize) -> bool {
        let grain = self.grain(group);
        strides.iter().all(|stride| stride.unsigned_abs().is_multiple_of(grain))
    }
}

/// Elements, and offsets of elements, that 32-bit indices can count.
pub(in crate::backend::cuda) const NARROW: usize = 1 << 31;

/// Whether 31 bits hold every offset of a slot from its first element.
pub(in crate::backend::cuda) fn is_near(plan: &Plan, slot: &Slot) -> bool {
    let (mut back, mut forth) = (0usize, 0usize);
    for (&size, &stride) in plan.sizes[..plan.rank].iter().zip(&slot.strides) {
        let reach = (size - 1).saturating_mul(stride.unsigned_abs());
        let side = if stride < 0 { &mut back } else { &mut forth };
        *side = side.saturating_add(reach);
    }
    back.max(forth) < NARROW
}

/// The number of loops that a kernel is compiled for, where so many are needed.
pub(super) fn rank_bucket(rank: usize) -> u8 {
    match rank {
        0..=1 => 1,
        2 => 2,
        3..=4 => 4,
        _ => 8,
    }
}
