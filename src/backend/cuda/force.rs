//! Overrides kernel selection, so that tests reach every kernel with small tensors. The cost is one relaxed atomic
//! load per call.

use std::ops::BitOr;
use std::sync::atomic::{AtomicU8, Ordering};

/// A set of overrides of kernel selection, combined with `|`. An override applies only to calls that the selected
/// kernel can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Force(u8);

impl Force {
    /// No override.
    pub const NOTHING: Force = Force(0);
    /// The `gath` kernels, for every call that a hand-written kernel can run and that has no number as an operand.
    pub const GATHER: Force = Force(1);
    /// A generated kernel even where a hand-written one applies.
    pub const GENERATED: Force = Force(2);
    /// A generated kernel whose loops count elements, even where whole groups or a single loop would do.
    pub const ELEMENTS: Force = Force(4);
    /// A generated kernel with 64-bit indices.
    pub const WIDE: Force = Force(8);
    /// Sums by one thread per output and segment; scans by one thread per longest chunk.
    pub const THREAD_SUMS: Force = Force(16);
    /// Sums by several threads of a warp, or by a block, per output; scans by blocks.
    pub const BLOCK_SUMS: Force = Force(32);
    /// Sums in the smallest segments possible, which need more stages and larger grids; scans by one thread per 8 elements.
    pub const SMALL_SEGMENTS: Force = Force(64);

    /// Whether any override in `other` is set.
    pub(super) const fn has(self, other: Force) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the overrides rule out the hand-written kernels.
    pub(super) const fn wants_generated(self) -> bool {
        self.has(Force(Force::GENERATED.0 | Force::ELEMENTS.0 | Force::WIDE.0))
    }
}

impl BitOr for Force {
    type Output = Force;

    fn bitor(self, other: Force) -> Force {
        Force(self.0 | other.0)
    }
}

static FORCE: AtomicU8 = AtomicU8::new(0);

/// Sets the overrides for all later calls, on every thread.
pub(crate) fn set(force: Force) {
    FORCE.store(force.0, Ordering::Relaxed);
}

#[inline]
pub(super) fn current() -> Force {
    Force(FORCE.load(Ordering::Relaxed))
}
