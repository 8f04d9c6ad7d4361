//! From operands to a loop nest: which dimensions are left to walk, in which order, and how.
//!
//! A plan is a value that can be printed and tested; both backends run it, and neither sees a
//! shape to broadcast or a dtype to promote.

#[cfg(any(feature = "cuda", test))]
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "only the CUDA backend asks"))]
mod shape;

use crate::layout::{Layout, MAX_RANK};

#[cfg(feature = "cuda")]
pub(crate) use self::shape::{Fit, Shape, tile_log2};

/// The parts that memory plays in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The destination.
    Out,
    /// The left (or only) operand.
    Lhs,
    /// The right operand.
    Rhs,
    /// The mask: elements of the destination whose mask is false are left alone.
    Mask,
}

/// How many roles there are.
pub(crate) const ROLES: usize = 4;

/// A loop nest over up to four pieces of memory, collapsed to as few loops as their strides allow.
///
/// Loops are ordered by the destination's strides, the innermost first, and the destination's
/// strides are positive; so a destination without gaps is written from front to back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// How many elements there are.
    pub(crate) len: usize,
    /// How many loops are left.
    pub(crate) rank: usize,
    /// The lengths of the loops, innermost first; 1 from `rank` on.
    pub(crate) sizes: [usize; MAX_RANK],
    /// The step of each loop in elements, per role; 0 for a role that is absent.
    pub(crate) strides: [[isize; MAX_RANK]; ROLES],
    /// The first element, per role.
    pub(crate) offsets: [usize; ROLES],
}

impl Plan {
    /// Plans a walk over `shape`. Each layout must be broadcast to that shape already.
    pub(crate) fn new(shape: &[usize], roles: [Option<&Layout>; ROLES]) -> Plan {
        let mut plan = Plan {
            len: shape.iter().product(),
            rank: 0,
            sizes: [1; MAX_RANK],
            strides: [[0; MAX_RANK]; ROLES],
            offsets: [0; ROLES],
        };
        for (role, layout) in roles.iter().enumerate() {
            if let Some(layout) = layout {
                debug_assert_eq!(layout.shape(), shape);
                plan.offsets[role] = layout.offset();
            }
        }
        if plan.len == 0 {
            return plan;
        }
        for (axis, &size) in shape.iter().enumerate().rev() {
            if size != 1 {
                let strides = roles.map(|role| role.map_or(0, |layout| layout.strides()[axis]));
                plan.push(size, strides);
            }
        }
        plan.collapse();
        plan
    }

    /// Inserts a loop where the destination's stride puts it, walking that stride forwards.
    fn push(&mut self, size: usize, mut strides: [isize; ROLES]) {
        if strides[Role::Out as usize] < 0 {
            for (role, stride) in strides.iter_mut().enumerate() {
                let last = *stride * (size as isize - 1);
                self.offsets[role] = self.offsets[role].wrapping_add_signed(last);
                *stride = -*stride;
            }
        }
        let mut place = self.rank;
        while place > 0 && self.strides[Role::Out as usize][place - 1] > strides[Role::Out as usize]
        {
            place -= 1;
        }
        self.sizes.copy_within(place..self.rank, place + 1);
        self.sizes[place] = size;
        for (all, stride) in self.strides.iter_mut().zip(strides) {
            all.copy_within(place..self.rank, place + 1);
            all[place] = stride;
        }
        self.rank += 1;
    }

    /// Joins neighbouring loops that every role walks as one.
    fn collapse(&mut self) {
        let mut kept = 0;
        for next in 1..self.rank {
            let size = self.sizes[kept] as isize;
            let joins = self.strides.iter().all(|stride| stride[next] == stride[kept] * size);
            if joins {
                self.sizes[kept] *= self.sizes[next];
            } else {
                kept += 1;
                self.sizes[kept] = self.sizes[next];
                for stride in &mut self.strides {
                    stride[kept] = stride[next];
                }
            }
        }
        self.rank = self.rank.min(kept + 1);
        for loop_ in self.rank..MAX_RANK {
            self.sizes[loop_] = 1;
            for stride in &mut self.strides {
                stride[loop_] = 0;
            }
        }
    }

    /// The steps of one role's loops, innermost first.
    pub(crate) fn strides_of(&self, role: Role) -> &[isize; MAX_RANK] {
        &self.strides[role as usize]
    }

    /// Whether the role walks its memory from front to back without gaps.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn is_dense(&self, role: Role) -> bool {
        let strides = self.strides_of(role);
        let mut expected = 1;
        (0..self.rank).all(|loop_| {
            let dense = strides[loop_] == expected;
            expected *= self.sizes[loop_] as isize;
            dense
        })
    }

    /// Whether the role stands still: the same element everywhere.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn is_constant(&self, role: Role) -> bool {
        self.strides_of(role).iter().all(|&stride| stride == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shape: &[usize], out: &Layout, lhs: &Layout) -> Plan {
        let lhs = lhs.broadcast_to("test", shape).unwrap();
        Plan::new(shape, [Some(out), Some(&lhs), None, None])
    }

    #[test]
    fn contiguous_operands_become_one_loop() {
        let layout = Layout::row_major(&[2, 3, 1, 4]);
        let plan = plan(&[2, 3, 1, 4], &layout, &layout);
        assert_eq!((plan.rank, plan.sizes[0], plan.len), (1, 24, 24));
        assert!(plan.is_dense(Role::Out) && plan.is_dense(Role::Lhs));
    }

    #[test]
    fn a_row_and_a_column_stay_two_loops() {
        let out = Layout::row_major(&[5, 7]);
        let row = plan(&[5, 7], &out, &Layout::row_major(&[7]));
        assert_eq!(
            (row.rank, &row.sizes[..2], &row.strides[1][..2]),
            (2, &[7, 5][..], &[1, 0][..])
        );
        let column = plan(&[5, 7], &out, &Layout::row_major(&[5, 1]));
        assert_eq!(&column.strides[1][..2], &[0, 1]);
    }

    #[test]
    fn equally_permuted_operands_collapse() {
        let layout = Layout::row_major(&[2, 3, 4]).permute(&[2, 0, 1]).unwrap();
        let plan = plan(&[4, 2, 3], &layout, &layout);
        assert_eq!((plan.rank, plan.sizes[0]), (1, 24));
    }

    #[test]
    fn a_backward_destination_is_walked_forwards() {
        let out = Layout::row_major(&[6]).flip(0).unwrap();
        let plan = plan(&[6], &out, &Layout::row_major(&[6]));
        assert_eq!(plan.offsets[..2], [0, 5]);
        assert_eq!((plan.strides[0][0], plan.strides[1][0]), (1, -1));
    }

    #[test]
    fn nothing_and_one_element_need_no_loop() {
        let empty = Layout::row_major(&[3, 0]);
        assert_eq!(plan(&[3, 0], &empty, &empty).len, 0);
        let scalar = Layout::row_major(&[]);
        let one = plan(&[], &scalar, &scalar);
        assert_eq!((one.len, one.rank), (1, 0));
    }
}
