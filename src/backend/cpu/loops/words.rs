//! Shifts of 16-bit integers by an amount per element. AVX2 has no such instruction for 16 bits, but has one for 32,
//! so two elements share a vector lane. The compiler would widen each to a lane and narrow the results, which takes
//! twice as long.

use super::element::{ShiftLeft, ShiftRight};
use super::vector::Kernels;

/// The loops of a left shift.
pub(crate) const fn shift_left() -> Kernels {
    let kernels = Kernels::of_two::<u16, ShiftLeft>();
    #[cfg(target_arch = "x86_64")]
    let kernels = in_pairs::<u16, ShiftLeft, pairs::Left>(kernels);
    kernels
}

/// The loops of a logical right shift.
pub(crate) const fn shift_right_logical() -> Kernels {
    let kernels = Kernels::of_two::<u16, ShiftRight>();
    #[cfg(target_arch = "x86_64")]
    let kernels = in_pairs::<u16, ShiftRight, pairs::LogicalRight>(kernels);
    kernels
}

/// The loops of an arithmetic right shift.
pub(crate) const fn shift_right() -> Kernels {
    let kernels = Kernels::of_two::<i16, ShiftRight>();
    #[cfg(target_arch = "x86_64")]
    let kernels = in_pairs::<i16, ShiftRight, pairs::Right>(kernels);
    kernels
}

#[cfg(target_arch = "x86_64")]
use pairs::in_pairs;

#[cfg(target_arch = "x86_64")]
mod pairs {
    use crate::backend::cpu::loops::element::Apply;
    use crate::backend::cpu::loops::vector::{Kernels, avx2, plain};
    use crate::backend::cpu::settings::Level;

    /// Two neighbouring elements, aligned like one.
    #[derive(Clone, Copy)]
    #[repr(C, packed(2))]
    pub(crate) struct Pair(u32);

    /// The half that has the higher bits.
    const HIGH: u32 = 0xffff_0000;

    /// Replaces the loop over elements of their own by one over pairs.
    pub(crate) const fn in_pairs<T, F, P>(mut kernels: Kernels) -> Kernels
    where
        T: Copy,
        F: Apply<T>,
        P: Apply<Pair>,
    {
        kernels.all[Level::Avx2 as usize] = both::<T, F, P>;
        kernels
    }

    /// # Safety
    ///
    /// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel).
    unsafe fn both<T, F, P>(args: &[*const u8; 3], out: *mut u8, len: usize)
    where
        T: Copy,
        F: Apply<T>,
        P: Apply<Pair>,
    {
        // SAFETY: the caller's promise: half as many pairs occupy the memory of the elements, with their alignment.
        unsafe { avx2::both::<Pair, P>(args, out, len / 2) };
        if len % 2 == 1 {
            let offset = (len - 1) * size_of::<T>();
            let args = args.map(|arg| arg.wrapping_add(offset));
            // SAFETY: the caller's promise, for the last element; arguments beyond the second are ignored.
            unsafe { plain::both::<T, F>(&args, out.add(offset), 1) };
        }
    }

    /// A shift of each half by the half of the same place. Amounts that are too large for an element are so for a lane,
    /// or leave nothing but zeros or signs in a half.
    macro_rules! shifts {
        ($($name:ident: |$x:ident, $y:ident| $low:expr, $high:expr;)*) => {$(
            pub(crate) struct $name;

            impl Apply<Pair> for $name {
                type Output = Pair;

                #[inline(always)]
                fn apply(Pair($x): Pair, Pair($y): Pair) -> Pair {
                    Pair(($low & !HIGH) | ($high & HIGH))
                }
            }
        )*};
    }

    shifts! {
        Left: |x, y| x.unbounded_shl(y & !HIGH), (x & HIGH).unbounded_shl(y >> 16);
        LogicalRight: |x, y| (x & !HIGH).unbounded_shr(y & !HIGH), x.unbounded_shr(y >> 16);
        Right: |x, y|
            ((x << 16) as i32).unbounded_shr(y & !HIGH) as u32 >> 16,
            (x as i32).unbounded_shr(y >> 16) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::settings::Level;

    /// Every level gives what the baseline gives, also for an odd number of elements and every amount.
    #[test]
    fn pairs_shift_as_single_elements_do() {
        let amounts = (-3..=35).chain([i16::MIN, i16::MAX, 0x100]);
        let cases: Vec<[i16; 2]> = amounts
            .flat_map(|amount| [1, -1, i16::MIN, i16::MAX, 0x1234, -0x4321].map(|x| [x, amount]))
            .collect();
        for kernels in [shift_left(), shift_right_logical(), shift_right()] {
            for len in [1, 2, 3, 32, 33, cases.len() - 1, cases.len()] {
                let x: Vec<i16> = cases[..len].iter().map(|case| case[0]).collect();
                let y: Vec<i16> = cases[cases.len() - len..].iter().map(|case| case[1]).collect();
                let run = |level: Level| {
                    let mut out = vec![0x5a5a_i16; len + 1];
                    let args = [x.as_ptr().cast(), y.as_ptr().cast(), x.as_ptr().cast()];
                    // SAFETY: there are so many elements, and the machine has the instructions.
                    unsafe { kernels.all[level as usize](&args, out.as_mut_ptr().cast(), len) };
                    out
                };
                for level in Level::available() {
                    assert_eq!(run(level), run(Level::Baseline), "{level:?}, {len} elements");
                }
            }
        }
    }
}
