//! Plans: the loop nest for given layouts, that is, which loops remain and in which order.
//!
//! A plan is a value that can be printed and tested. Both backends execute plans, and neither ever broadcasts a shape
//! or promotes a dtype.

use smallvec::SmallVec;

use crate::layout::{Layout, MAX_RANK};

/// The slot of the destination.
pub(crate) const OUT: usize = 0;

/// How a loop nest accesses the memory of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The first element.
    pub(crate) offset: usize,
    /// The stride of each loop in elements, innermost first; 0 from the rank of the plan on.
    pub(crate) strides: [isize; MAX_RANK],
}

/// A loop nest over the memory of several slots, collapsed to as few loops as their strides allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The number of elements.
    pub(crate) len: usize,
    /// The number of loops.
    pub(crate) rank: usize,
    /// The lengths of the loops, innermost first; 1 from `rank` on.
    pub(crate) sizes: [usize; MAX_RANK],
    /// The access pattern of each slot; the first is the destination.
    pub(crate) slots: SmallVec<[Slot; 4]>,
}

/// The criterion for the order of the loops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The strides of the destination, smallest innermost.
    Destination,
    /// The order of the dimensions, last innermost.
    RowMajor,
}

impl Plan {
    /// Plans the loops over `shape`, to which all layouts must have been broadcast. The first is that of the
    /// destination.
    ///
    /// The loops are ordered by the strides of the destination, smallest innermost, and a negative stride of the
    /// destination is reversed. A destination without gaps is therefore written from front to back.
    pub(crate) fn new<'a>(shape: &[usize], layouts: impl IntoIterator<Item = &'a Layout>) -> Plan {
        Plan::build(shape, layouts, Order::Destination)
    }

    /// Plans the loops in row-major order, with the last dimension innermost, whatever the strides.
    pub(crate) fn in_order<'a>(
        shape: &[usize],
        layouts: impl IntoIterator<Item = &'a Layout>,
    ) -> Plan {
        Plan::build(shape, layouts, Order::RowMajor)
    }

    fn build<'a>(
        shape: &[usize],
        layouts: impl IntoIterator<Item = &'a Layout>,
        order: Order,
    ) -> Plan {
        let mut plan = Plan {
            len: shape.iter().product(),
            rank: 0,
            sizes: [1; MAX_RANK],
            slots: SmallVec::new(),
        };
        // A loop with `push`, because the overhead of `collect` is noticeable in small calls.
        let mut seen: SmallVec<[&Layout; 4]> = SmallVec::new();
        for layout in layouts {
            debug_assert_eq!(layout.shape(), shape);
            plan.slots.push(Slot { offset: layout.offset(), strides: [0; MAX_RANK] });
            seen.push(layout);
        }
        let layouts = seen;
        if plan.len == 0 {
            return plan;
        }
        for (axis, &size) in shape.iter().enumerate().rev() {
            if size != 1 {
                plan.insert(size, &layouts, axis, order);
            }
        }
        plan.collapse();
        plan
    }

    /// Inserts a loop at its position in the order.
    fn insert(&mut self, size: usize, layouts: &[&Layout], axis: usize, order: Order) {
        let mut place = self.rank;
        let mut direction = 1;
        if order == Order::Destination {
            let stride = layouts[OUT].strides()[axis];
            direction = if stride < 0 { -1 } else { 1 };
            while place > 0 && self.slots[OUT].strides[place - 1] > stride * direction {
                place -= 1;
            }
        }
        self.sizes.copy_within(place..self.rank, place + 1);
        self.sizes[place] = size;
        for (slot, layout) in self.slots.iter_mut().zip(layouts) {
            let stride = layout.strides()[axis];
            if direction < 0 {
                slot.offset = slot.offset.wrapping_add_signed(stride * (size as isize - 1));
            }
            slot.strides.copy_within(place..self.rank, place + 1);
            slot.strides[place] = stride * direction;
        }
        self.rank += 1;
    }

    /// Merges adjacent loops wherever one stride describes both in every slot.
    fn collapse(&mut self) {
        let mut kept = 0;
        for next in 1..self.rank {
            let size = self.sizes[kept] as isize;
            let joins = |slot: &Slot| slot.strides[next] == slot.strides[kept].wrapping_mul(size);
            if self.slots.iter().all(joins) {
                self.sizes[kept] *= self.sizes[next];
            } else {
                kept += 1;
                self.sizes[kept] = self.sizes[next];
                for slot in &mut self.slots {
                    slot.strides[kept] = slot.strides[next];
                }
            }
        }
        self.rank = self.rank.min(kept + 1);
        self.sizes[self.rank..].fill(1);
        for slot in &mut self.slots {
            slot.strides[self.rank..].fill(0);
        }
    }

    /// Returns `true` if the loops access the memory of a slot from front to back without gaps.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn is_dense(&self, slot: usize) -> bool {
        let strides = &self.slots[slot].strides;
        let mut expected = 1;
        (0..self.rank).all(|level| {
            let dense = strides[level] == expected;
            expected *= self.sizes[level] as isize;
            dense
        })
    }

    /// Returns `true` if all strides of a slot are 0, so that every iteration accesses the same element.
    #[cfg(feature = "cuda")]
    pub(crate) fn is_constant(&self, slot: usize) -> bool {
        self.slots[slot].strides.iter().all(|&stride| stride == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shape: &[usize], out: &Layout, lhs: &Layout) -> Plan {
        let lhs = lhs.broadcast_to("test", shape).unwrap();
        Plan::new(shape, [out, &lhs])
    }

    #[test]
    fn contiguous_operands_become_one_loop() {
        let layout = Layout::row_major(&[2, 3, 1, 4]);
        let plan = plan(&[2, 3, 1, 4], &layout, &layout);
        assert_eq!((plan.rank, plan.sizes[0], plan.len), (1, 24, 24));
        assert!(plan.is_dense(OUT) && plan.is_dense(1));
    }

    #[test]
    fn a_row_and_a_column_stay_two_loops() {
        let out = Layout::row_major(&[5, 7]);
        let row = plan(&[5, 7], &out, &Layout::row_major(&[7]));
        assert_eq!(
            (row.rank, &row.sizes[..2], &row.slots[1].strides[..2]),
            (2, &[7, 5][..], &[1, 0][..])
        );
        let column = plan(&[5, 7], &out, &Layout::row_major(&[5, 1]));
        assert_eq!(&column.slots[1].strides[..2], &[0, 1]);
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
        assert_eq!([plan.slots[OUT].offset, plan.slots[1].offset], [0, 5]);
        assert_eq!((plan.slots[OUT].strides[0], plan.slots[1].strides[0]), (1, -1));
    }

    #[test]
    fn row_major_order_is_kept_where_it_is_asked_for() {
        let still = Layout::row_major(&[]).broadcast_to("test", &[2, 3]).unwrap();
        let terms = Layout::row_major(&[3, 2]).transpose(0, 1).unwrap().flip(0).unwrap();
        let plan = Plan::in_order(&[2, 3], [&still, &terms]);
        assert_eq!((plan.rank, &plan.sizes[..2]), (2, &[3, 2][..]));
        assert_eq!(&plan.slots[1].strides[..2], &[2, -1]);
        assert_eq!(plan.slots[1].offset, 1);
        let dense = Layout::row_major(&[2, 3]);
        assert_eq!(Plan::in_order(&[2, 3], [&still, &dense]).rank, 1);
        // This holds even if the strides of the first slot suggest another order.
        let plan = Plan::in_order(&[2, 3], [&terms, &dense]);
        assert_eq!((plan.rank, &plan.sizes[..2]), (2, &[3, 2][..]));
        assert_eq!(&plan.slots[OUT].strides[..2], &[2, -1]);
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
