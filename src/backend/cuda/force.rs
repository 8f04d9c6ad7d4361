//! Makes calls take another kernel than they would, so that tests reach every kernel with small tensors.
//! It costs a call one load of an atomic.

use std::ops::BitOr;
use std::sync::atomic::{AtomicU8, Ordering};

/// Which kernels calls are made to take, where those can run them. Wishes can be combined with `|`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Force(u8);

impl Force {
    /// The kernels that calls would take anyway.
    pub const NOTHING: Force = Force(0);
    /// `gath`, for all that a hand-written kernel can do, but for numbers.
    pub const GATHER: Force = Force(1);
    /// A generated kernel where there is a hand-written one.
    pub const GENERATED: Force = Force(2);
    /// A generated kernel that counts elements, where another one would do.
    pub const ELEMENTS: Force = Force(4);
    /// A generated kernel with 64-bit indices.
    pub const WIDE: Force = Force(8);
    /// Sums by one thread per output and segment.
    pub const THREAD_SUMS: Force = Force(16);
    /// Sums by more than one thread per output.
    pub const BLOCK_SUMS: Force = Force(32);
    /// Sums in the smallest segments there are, and so in more stages and larger grids.
    pub const SMALL_SEGMENTS: Force = Force(64);

    /// Whether a wish is among these.
    pub(super) const fn has(self, wish: Force) -> bool {
        self.0 & wish.0 != 0
    }

    /// Whether the hand-written kernels are out of the question.
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

/// Sets what calls are made to take from now on, on every thread.
pub(crate) fn set(force: Force) {
    FORCE.store(force.0, Ordering::Relaxed);
}

#[inline]
pub(super) fn current() -> Force {
    Force(FORCE.load(Ordering::Relaxed))
}
