//! What reductions fold their terms into: sums, and the largest and smallest of all.

use num_complex::Complex;

use super::super::element::{self, Apply};
use super::super::loops::{Kernels, Versions};
use crate::DType;
use crate::op::ElementOp;

/// What terms are folded into, and how.
pub(in super::super) trait Total: Copy + Send + Sync {
    const DTYPE: DType;
    /// What changes nothing that it is combined with.
    const NOTHING: Self;
    /// The operation that combines two totals.
    const COMBINE: ElementOp;
    /// The loops that combine neighbours.
    const HALVE: &'static Versions;
    fn plus(self, right: Self) -> Self;
    /// A sum divided by a number of terms; only sums of fractions are.
    fn over(self, _: f64) -> Self {
        self
    }
}

impl Total for u64 {
    const DTYPE: DType = DType::U64;
    const NOTHING: u64 = 0;
    const COMBINE: ElementOp = ElementOp::Add;
    const HALVE: &'static Versions = &Kernels::halve::<u64, element::Add>();

    fn plus(self, right: u64) -> u64 {
        self.wrapping_add(right)
    }
}

impl Total for f64 {
    const DTYPE: DType = DType::F64;
    const NOTHING: f64 = -0.0;
    const COMBINE: ElementOp = ElementOp::Add;
    const HALVE: &'static Versions = &Kernels::halve::<f64, element::Add>();

    fn plus(self, right: f64) -> f64 {
        self + right
    }

    fn over(self, count: f64) -> f64 {
        self / count
    }
}

impl Total for [f64; 2] {
    const DTYPE: DType = DType::C128;
    const NOTHING: [f64; 2] = [-0.0; 2];
    const COMBINE: ElementOp = ElementOp::Add;
    const HALVE: &'static Versions = &Kernels::halve::<Complex<f64>, element::Add>();

    fn plus(self, right: [f64; 2]) -> [f64; 2] {
        [self[0] + right[0], self[1] + right[1]]
    }

    fn over(self, count: f64) -> [f64; 2] {
        self.map(|part| part / count)
    }
}

/// A total that is the larger of two.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Largest<T>(T);

/// A total that is the smaller of two.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Smallest<T>(T);

macro_rules! extremes {
    ($($total:ty: $dtype:ident $lowest:expr, $highest:expr;)*) => {$(
        impl Total for Largest<$total> {
            const DTYPE: DType = DType::$dtype;
            const NOTHING: Self = Largest($lowest);
            const COMBINE: ElementOp = ElementOp::Maximum;
            const HALVE: &'static Versions = &Kernels::halve::<$total, element::Maximum>();

            fn plus(self, right: Self) -> Self {
                Largest(element::Maximum::apply(self.0, right.0))
            }
        }

        impl Total for Smallest<$total> {
            const DTYPE: DType = DType::$dtype;
            const NOTHING: Self = Smallest($highest);
            const COMBINE: ElementOp = ElementOp::Minimum;
            const HALVE: &'static Versions = &Kernels::halve::<$total, element::Minimum>();

            fn plus(self, right: Self) -> Self {
                Smallest(element::Minimum::apply(self.0, right.0))
            }
        }
    )*};
}

extremes! {
    u64: U64 u64::MIN, u64::MAX;
    i64: I64 i64::MIN, i64::MAX;
    f64: F64 f64::NEG_INFINITY, f64::INFINITY;
}
