//! Access patterns of operands, as finely as kernels distinguish them.

use crate::plan::{Plan, Slot};

/// The access pattern of one operand along the loops. It contains no sizes, strides or addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::backend::cuda) enum Class {
    /// The same element everywhere.
    Constant,
    /// Contiguous over all loops, every group of elements aligned.
    DenseAligned,
    /// Contiguous over all loops, at any address.
    Dense,
    /// Contiguous along the inner loop, every group of elements aligned.
    RunAligned,
    /// Contiguous along the inner loop, at any address.
    Run,
    /// The same element along the inner loop (stride 0).
    Column,
    /// Any other stride along the inner loop.
    Strided,
    /// Contiguous along the other loop of a tile, and read through shared memory.
    Turned,
}

impl Class {
    /// Whether the address depends on the position in each loop rather than on the linear index alone.
    pub(super) fn is_located(self) -> bool {
        matches!(
            self,
            Class::RunAligned | Class::Run | Class::Column | Class::Strided | Class::Turned
        )
    }
}

/// How the elements of the loop nest are divided among threads, in groups of consecutive elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::backend::cuda) enum Walk {
    /// Every operand is contiguous or constant, so there is only one loop.
    Linear,
    /// The inner loop is a multiple of the group size, and the loops count groups.
    Groups,
    /// The loops count elements, and a group may straddle the end of the inner loop.
    Elements,
    /// The loops count square tiles of the inner loop and another one, each of which a block computes.
    Tiles,
}

/// One operand in memory: what its class depends on besides the plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::backend::cuda) struct Operand {
    /// The address of the first element.
    pub(in crate::backend::cuda) address: u64,
    /// The size of an element in bytes.
    pub(in crate::backend::cuda) size: usize,
}

impl Operand {
    /// Returns the alignment, in elements, that vector accesses to a group need: the whole group, or 16 bytes.
    fn grain(&self, group: usize) -> usize {
        group.min((super::VECTOR / self.size).max(1))
    }

    /// Whether contiguous elements from index `first` on can be read with vector accesses, group by group.
    pub(super) fn is_aligned(&self, group: usize, first: usize) -> bool {
        let bytes = (self.grain(group) * self.size) as u64;
        (self.address + (first * self.size) as u64).is_multiple_of(bytes)
    }

    /// Returns the number of elements before the first aligned group.
    pub(super) fn head(&self, group: usize) -> usize {
        let grain = self.grain(group);
        let place = (self.address / self.size as u64) as usize % grain;
        (grain - place) % grain
    }

    /// Returns the class of the operand in `slot` of the plan. `head` is the number of elements before the first group.
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
            return Class::Constant;
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

    /// Whether these strides lead from an aligned element to other aligned elements.
    pub(super) fn keeps_alignment(&self, strides: &[isize], group: usize) -> bool {
        let grain = self.grain(group);
        strides.iter().all(|stride| stride.unsigned_abs().is_multiple_of(grain))
    }
}

/// Bound on element counts and offsets for 32-bit indices.
pub(in crate::backend::cuda) const NARROW: usize = 1 << 31;

/// Whether every offset of a slot from its first element is below 2^31 in magnitude.
pub(in crate::backend::cuda) fn is_near(plan: &Plan, slot: &Slot) -> bool {
    let (mut back, mut forth) = (0usize, 0usize);
    for (&size, &stride) in plan.sizes[..plan.rank].iter().zip(&slot.strides) {
        let reach = (size - 1).saturating_mul(stride.unsigned_abs());
        let side = if stride < 0 { &mut back } else { &mut forth };
        *side = side.saturating_add(reach);
    }
    back.max(forth) < NARROW
}

/// Returns the number of loops to compile a kernel for, if it needs at least `rank`.
pub(super) fn rank_bucket(rank: usize) -> u8 {
    match rank {
        0..=1 => 1,
        2 => 2,
        3..=4 => 4,
        _ => 8,
    }
}
