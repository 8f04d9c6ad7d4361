//! Size classes: every block has the size of its class, so any free block of a class serves any
//! request of that class, and free blocks never have to be split or joined.
//!
//! There are eight classes between two powers of two, all multiples of 64 bytes. At most an eighth of a block above
//! 512 bytes is therefore unused, and the unused end of a large one is never touched.

use super::ALIGNMENT;

/// The power of two below which classes are simply the multiples of 64.
const LINEAR_BITS: u32 = 9;

/// How many classes lie between two powers of two, as a power of two itself.
const STEP_BITS: u32 = 3;

/// A size class, by number; a larger number is a larger size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SizeClass(u16);

impl SizeClass {
    /// How many classes there are.
    pub(super) const COUNT: usize = SizeClass::of_last(usize::MAX).index() + 1;

    /// The smallest class whose blocks hold this many bytes, of which there is at least one.
    pub(super) const fn of(bytes: usize) -> SizeClass {
        SizeClass::of_last(bytes.saturating_sub(1))
    }

    /// The class of a block whose last byte has this offset.
    const fn of_last(last: usize) -> SizeClass {
        if last >> LINEAR_BITS == 0 {
            return SizeClass((last / ALIGNMENT) as u16); // at most 7
        }
        let octave = last.ilog2();
        let step = (last >> (octave - STEP_BITS)) as u16; // 8 to 15
        SizeClass(((octave - LINEAR_BITS) << STEP_BITS) as u16 + step)
    }

    /// The bytes of a block; `None` if no allocation can be that large.
    pub(super) const fn bytes(self) -> Option<usize> {
        let number = self.0 as usize;
        let (step, shift) = match number.checked_sub(1 << STEP_BITS) {
            None => (number, LINEAR_BITS - STEP_BITS),
            Some(above) => {
                let octave = LINEAR_BITS + (above >> STEP_BITS) as u32;
                (number % (1 << STEP_BITS) + (1 << STEP_BITS), octave - STEP_BITS)
            }
        };
        let bytes = step + 1;
        if bytes > isize::MAX as usize >> shift { None } else { Some(bytes << shift) }
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Every class.
    #[cfg(test)]
    fn all() -> impl Iterator<Item = SizeClass> {
        (0..SizeClass::COUNT as u16).map(SizeClass)
    }

    /// The class with this number, which must be below [`SizeClass::COUNT`].
    pub(super) const fn numbered(index: usize) -> SizeClass {
        SizeClass(index as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_tight() {
        let mut below = 0;
        for class in SizeClass::all() {
            let Some(bytes) = class.bytes() else {
                assert!(below > isize::MAX as usize / 2, "{class:?} has no size");
                continue;
            };
            assert!(bytes > below && bytes.is_multiple_of(ALIGNMENT), "{class:?} of {bytes}");
            assert_eq!(SizeClass::of(bytes), class, "the largest request of {bytes}");
            assert_eq!(SizeClass::of(below + 1), class, "the smallest request of {bytes}");
            assert!(bytes <= 512 || (bytes - below) * 8 <= bytes, "{class:?} wastes too much");
            below = bytes;
        }
    }

    #[test]
    fn sizes_that_cannot_exist_have_no_block() {
        assert_eq!(SizeClass::of(usize::MAX).bytes(), None);
        assert_eq!(SizeClass::of(isize::MAX as usize).bytes(), None);
        assert!(SizeClass::of(isize::MAX as usize / 2).bytes().is_some());
    }
}
