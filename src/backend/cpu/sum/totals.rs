//! What reductions fold their terms into: totals of four types, and the functions that combine two of them.

use std::marker::PhantomData;

use num_complex::Complex;

use super::super::element::{self, Apply};
use super::super::loops::{Kernels, Versions};
use super::super::{Call, settings::Settings};
use super::run_as;
use crate::DType;
use crate::op::ElementOp;
use crate::request::Reduction;

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
    fn over(self, count: f64) -> Self;
}

/// The type of a total.
pub(in super::super) trait Number: Copy + Send + Sync {
    const DTYPE: DType;

    fn over(self, _: f64) -> Self {
        self
    }
}

impl Number for u64 {
    const DTYPE: DType = DType::U64;
}

impl Number for i64 {
    const DTYPE: DType = DType::I64;
}

impl Number for f64 {
    const DTYPE: DType = DType::F64;

    fn over(self, count: f64) -> f64 {
        self / count
    }
}

impl Number for Complex<f64> {
    const DTYPE: DType = DType::C128;

    fn over(self, count: f64) -> Complex<f64> {
        Complex::new(self.re / count, self.im / count)
    }
}

/// A function that combines two totals.
pub(in super::super) trait Combine<T>: Apply<T, Output = T> + Send + Sync {
    const OP: ElementOp;
    const IDENTITY: T;
}

/// A total of type `T` that is combined with others by `F`.
#[repr(transparent)]
pub(super) struct Folded<T, F>(T, PhantomData<F>);

impl<T: Copy, F> Clone for Folded<T, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy, F> Copy for Folded<T, F> {}

impl<T: Number, F: Combine<T>> Total for Folded<T, F> {
    const DTYPE: DType = T::DTYPE;
    const NOTHING: Self = Folded(F::IDENTITY, PhantomData);
    const COMBINE: ElementOp = F::OP;
    const HALVE: &'static Versions = &Kernels::halve::<T, F>();

    fn plus(self, right: Self) -> Self {
        Folded(F::apply(self.0, right.0), PhantomData)
    }

    fn over(self, count: f64) -> Self {
        Folded(self.0.over(count), PhantomData)
    }
}

/// Defines which functions combine totals of which dtypes, with their identities.
macro_rules! combine {
    ($($function:ident: $($dtype:ident $total:ty = $identity:expr),*;)*) => {
        $($(
            impl Combine<$total> for element::$function {
                const OP: ElementOp = ElementOp::$function;
                const IDENTITY: $total = $identity;
            }
        )*)*

        /// Runs a request with a reduction whose totals have the dtype `totals`; returns `None` if a step is not
        /// defined for its dtype.
        pub(super) fn run(
            totals: DType,
            call: &Call<'_>,
            reduction: &Reduction<'_>,
            settings: &Settings,
        ) -> Option<()> {
            match (reduction.op.combine(), totals) {
                $($(
                    (ElementOp::$function, DType::$dtype) => {
                        run_as::<Folded<$total, element::$function>>(call, reduction, settings)
                    }
                )*)*
                _ => None,
            }
        }
    };
}

combine! {
    // −0 is what changes no float that is added to it: −0 + −0 is −0.
    Add: U64 u64 = 0, F64 f64 = -0.0, C128 Complex<f64> = Complex::new(-0.0, -0.0);
    Maximum: U64 u64 = u64::MIN, I64 i64 = i64::MIN, F64 f64 = f64::NEG_INFINITY;
    Minimum: U64 u64 = u64::MAX, I64 i64 = i64::MAX, F64 f64 = f64::INFINITY;
}
