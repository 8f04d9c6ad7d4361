//! Which elements share memory: within a destination, and between it and what is read.

use crate::layout::{Layout, MAX_RANK};

/// How a destination and an operand in the same storage relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alias {
    /// No element of one lies on an element of the other.
    Disjoint,
    /// Element for element the same memory: each is read before it is written.
    Same,
    /// Anything else: the operation has to go through a temporary.
    Overlapping,
}

/// Relates a destination to an operand of the same storage. Interleaved views that never touch
/// count as overlapping, which costs a temporary and is never wrong.
pub(crate) fn alias(destination: &Layout, operand: &Layout) -> Alias {
    let (written, read) = (destination.reach(), operand.reach());
    if written.end <= read.start || read.end <= written.start {
        Alias::Disjoint
    } else if destination.is_same_view(operand) {
        Alias::Same
    } else {
        Alias::Overlapping
    }
}

impl Layout {
    /// Whether two elements share a place. Exact, and quick for every layout that slicing makes.
    pub(crate) fn overlaps_itself(&self) -> bool {
        let mut axes = [(0usize, 0usize); MAX_RANK];
        let mut used = 0;
        for (&size, &stride) in self.shape().iter().zip(self.strides()) {
            if size > 1 {
                axes[used] = (stride.unsigned_abs(), size - 1);
                used += 1;
            }
        }
        let axes = &mut axes[..used];
        if self.is_empty() || axes.is_empty() {
            return false;
        }
        axes.sort_unstable();
        let mut span = 0usize;
        let mut nested = true;
        for &(stride, last) in axes.iter() {
            nested &= stride > span;
            span += stride * last;
        }
        // Each stride steps over everything the smaller ones reach: all places differ.
        if nested {
            return false;
        }
        if axes[0].0 == 0 || self.len() > span + 1 {
            return true;
        }
        overlap_by_marking(axes, span)
    }
}

/// Marks every place reached. Memory that cannot be had counts as an overlap, which is the safe side.
fn overlap_by_marking(axes: &[(usize, usize)], span: usize) -> bool {
    let mut marks: Vec<u64> = Vec::new();
    if marks.try_reserve_exact(span / 64 + 1).is_err() {
        return true;
    }
    marks.resize(span / 64 + 1, 0);
    let mut index = [0usize; MAX_RANK];
    let mut place = 0;
    loop {
        let mark = &mut marks[place / 64];
        if *mark >> (place % 64) & 1 == 1 {
            return true;
        }
        *mark |= 1 << (place % 64);
        let mut axis = 0;
        loop {
            if axis == axes.len() {
                return false;
            }
            let (stride, last) = axes[axis];
            if index[axis] < last {
                index[axis] += 1;
                place += stride;
                break;
            }
            place -= stride * last;
            index[axis] = 0;
            axis += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_told_apart() {
        let all = Layout::row_major(&[10]);
        let front = all.narrow(0, 0, 5).unwrap();
        let back = all.narrow(0, 5, 5).unwrap();
        assert_eq!(alias(&front, &back), Alias::Disjoint);
        assert_eq!(alias(&front, &front), Alias::Same);
        assert_eq!(alias(&front, &all.narrow(0, 1, 5).unwrap()), Alias::Overlapping);
        assert_eq!(alias(&front, &front.flip(0).unwrap()), Alias::Overlapping);
    }

    #[test]
    fn self_overlap_is_exact() {
        let strided = |shape: &[usize], strides: &[isize]| {
            Layout::strided("test", shape, strides, 0, 1000).unwrap()
        };
        assert!(!strided(&[3, 2], &[2, 3]).overlaps_itself());
        assert!(strided(&[4, 2], &[2, 4]).overlaps_itself());
        assert!(strided(&[2], &[0]).overlaps_itself());
        assert!(!strided(&[1, 3], &[0, 2]).overlaps_itself());
        assert!(strided(&[3, 3], &[1, 2]).overlaps_itself());
    }
}
