//! The gradient of copysign, summed over the dimensions in which an operand was broadcast.

use crate::DType;
use crate::cast::Cast;
use crate::dtype::for_each_dtype;
use crate::layout::MAX_RANK;
use crate::op::in_domain;
use crate::plan::{Plan, ROLES, Role};

/// Computes every element of the destination.
///
/// # Safety
///
/// The two plans together must reach, from the bases, only valid and initialised elements of the
/// function's dtype, and the destination must be apart from the operands.
pub(super) type Function = unsafe fn(kept: &Plan, summed: &Plan, bases: [*mut u8; ROLES]);

/// The function for a float dtype; other dtypes have none.
pub(super) fn function(dtype: DType) -> Option<Function> {
    macro_rules! of_dtype {
        ($($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
            match dtype {
                $(DType::$variant => in_domain!(Floats $class run::<$rust> as Function),)*
            }
        };
    }
    for_each_dtype!(of_dtype)
}

/// A float, its bits, and the float in which sums of it are kept.
trait Float: Copy + Cast<Self::Sum> {
    type Sum: Copy + Default + std::ops::Add<Output = Self::Sum> + Cast<Self>;
    fn is_negative(self) -> bool;
    fn is_zero(self) -> bool;
    fn negate(self) -> Self;
    const ZERO: Self;
}

macro_rules! floats {
    ($($float:ty, $bits:ty, $sum:ty;)*) => {$(
        impl Float for $float {
            type Sum = $sum;
            const ZERO: Self = Self::from_bits(0);

            fn is_negative(self) -> bool {
                self.to_bits() >> (<$bits>::BITS - 1) == 1
            }

            fn is_zero(self) -> bool {
                self.to_bits() << 1 == 0
            }

            fn negate(self) -> Self {
                Self::from_bits(self.to_bits() ^ (1 << (<$bits>::BITS - 1)))
            }
        }
    )*};
}

floats! {
    half::f16, u16, f32;
    half::bf16, u16, f32;
    f32, u32, f32;
    f64, u64, f64;
}

/// The gradient of one element: its sign turned where copysign turned the operand's.
#[inline(always)]
fn gradient<T: Float>(x: T, y: T, incoming: T) -> T {
    if x.is_zero() {
        T::ZERO
    } else if x.is_negative() == y.is_negative() {
        incoming
    } else {
        incoming.negate()
    }
}

/// # Safety
///
/// See [`Function`].
unsafe fn run<T: Float>(kept: &Plan, summed: &Plan, bases: [*mut u8; ROLES]) {
    let bases = bases.map(|base| base.cast::<T>());
    let [_, lhs, rhs, incoming] = bases;
    for_each_place(kept, |kept_places| {
        let out = bases[Role::Out as usize].wrapping_offset(kept_places[Role::Out as usize]);
        let term = |places: [isize; ROLES]| {
            let at = |base: *mut T, role: Role| {
                base.wrapping_offset(kept_places[role as usize] + places[role as usize])
            };
            // SAFETY: the caller vouches for every element that the two plans reach together.
            unsafe {
                gradient(
                    at(lhs, Role::Lhs).read(),
                    at(rhs, Role::Rhs).read(),
                    at(incoming, Role::Mask).read(),
                )
            }
        };
        let value = if summed.len == 1 {
            // Nothing to add: the incoming gradient's own bits, a NaN's payload included.
            term([0; ROLES])
        } else {
            let mut sum = Cascade::new();
            for_each_place(summed, |places| sum.add(term(places).cast()));
            sum.total().cast()
        };
        // SAFETY: the caller vouches for the destination's elements.
        unsafe { out.write(value) };
    });
}

/// Calls `function` with the offset of every element of every role, in elements.
fn for_each_place(plan: &Plan, mut function: impl FnMut([isize; ROLES])) {
    let mut places = [0; ROLES];
    let mut turns = [0; MAX_RANK];
    for _ in 0..plan.len {
        function(places);
        for level in 0..plan.rank {
            turns[level] += 1;
            let back = if turns[level] < plan.sizes[level] {
                1
            } else {
                turns[level] = 0;
                1 - plan.sizes[level] as isize
            };
            for (place, strides) in places.iter_mut().zip(&plan.strides) {
                *place += strides[level] * back;
            }
            if turns[level] != 0 {
                break;
            }
        }
    }
}

/// Sums in a fixed order with an error that grows with the logarithm of the count: runs are added
/// up one by one, and runs of equal length are added to each other.
struct Cascade<S> {
    run: S,
    run_len: usize,
    /// Sum `k` is of 2^k runs, and is there if bit `k` of the count is set.
    sums: [S; 64],
    count: u64,
}

impl<S: Copy + Default + std::ops::Add<Output = S>> Cascade<S> {
    const RUN: usize = 64;

    fn new() -> Self {
        Cascade { run: S::default(), run_len: 0, sums: [S::default(); 64], count: 0 }
    }

    fn add(&mut self, term: S) {
        self.run = if self.run_len == 0 { term } else { self.run + term };
        self.run_len += 1;
        if self.run_len == Self::RUN {
            let mut sum = self.run;
            let mut level = 0;
            while self.count >> level & 1 == 1 {
                sum = self.sums[level] + sum;
                level += 1;
            }
            self.sums[level] = sum;
            self.count += 1;
            self.run_len = 0;
        }
    }

    fn total(self) -> S {
        let mut total = (self.run_len > 0).then_some(self.run);
        for level in 0..64 {
            if self.count >> level & 1 == 1 {
                let sum = self.sums[level];
                total = Some(total.map_or(sum, |total| sum + total));
            }
        }
        total.unwrap_or_default()
    }
}
