//! Makes calls take another kernel than they would, so that tests reach every kernel with small
//! tensors.

use std::env;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::plan::{Fit, Plan, Role, Shape};

/// Which kernels calls are made to take, where those can run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Force {
    /// The ones they would take anyway.
    Nothing,
    /// `gath`, for all that has a contiguous destination and one dtype.
    Gather,
    /// `mixed`.
    Mixed,
    /// `mixedw`, with 64-bit indices.
    Wide,
}

/// The names of the settings in the environment.
const NAMES: [(&str, Force); 3] =
    [("gath", Force::Gather), ("mixed", Force::Mixed), ("mixedw", Force::Wide)];

/// Not read from the environment yet.
const UNSET: u8 = u8::MAX;

static FORCE: AtomicU8 = AtomicU8::new(UNSET);

/// Sets what calls are made to take from now on, on every thread.
pub(crate) fn set(force: Force) {
    FORCE.store(force as u8, Ordering::Relaxed);
}

#[inline]
fn current() -> u8 {
    match FORCE.load(Ordering::Relaxed) {
        UNSET => read_environment(),
        force => force,
    }
}

#[cold]
fn read_environment() -> u8 {
    let wish = env::var("BITLANE_FORCE_KERNEL").unwrap_or_default();
    let named = NAMES.iter().find(|(name, _)| *name == wish);
    let force = named.map_or(Force::Nothing, |&(_, force)| force) as u8;
    // A setting made meanwhile wins.
    match FORCE.compare_exchange(UNSET, force, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => force,
        Err(set) => set,
    }
}

/// The shape to take instead of the one that fits best.
#[inline]
pub(super) fn apply(plan: &Plan, fit: &Fit, shape: Shape) -> Shape {
    let force = current();
    if force == Force::Nothing as u8 { shape } else { forced(force, plan, fit, shape) }
}

#[cold]
fn forced(force: u8, plan: &Plan, fit: &Fit, shape: Shape) -> Shape {
    if force == Force::Wide as u8 {
        return Shape::Mixedw;
    }
    if force == Force::Mixed as u8 {
        return plan.mixed_shape();
    }
    let possible = fit.uniform && plan.is_dense(Role::Out) && fit.immediate == [false; 2];
    if possible { plan.gather().unwrap_or(shape) } else { shape }
}
