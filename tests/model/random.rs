//! Random elements from a fixed seed: half of them edge values, half of them any bits.

use bitlane::DType;

use super::element::{Bits, edge_values};

/// A small generator (SplitMix64), the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn elements(&mut self, dtype: DType, len: usize) -> Vec<Bits> {
        let edges = edge_values(dtype);
        (0..len)
            .map(|_| {
                if dtype == DType::Bool || self.next() & 1 == 0 {
                    return edges[self.below(edges.len())];
                }
                let bits = Bits::from(self.next()) << 64 | Bits::from(self.next());
                if dtype.bits() == 128 { bits } else { bits & ((1 << dtype.bits()) - 1) }
            })
            .collect()
    }
}
