//! Random choices and elements, from a seed or from bytes that a fuzzer provides.

use bitlane::DType;

use super::element::{Bits, edge_values};

/// The source of choices. A generator of cases does not know which one it is.
pub enum Random {
    /// A small generator (SplitMix64), the same on every machine.
    Seed(u64),
    /// Bytes, as few as each choice needs, then zeros: a generator must terminate on zeros.
    Bytes { bytes: Vec<u8>, used: usize },
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random::Seed(seed)
    }

    pub fn from_bytes(bytes: &[u8]) -> Random {
        Random::Bytes { bytes: bytes.to_vec(), used: 0 }
    }

    pub fn next(&mut self) -> u64 {
        self.word(8)
    }

    /// Returns a number of `size` bytes, at most 8; a seed always gives all 8.
    fn word(&mut self, size: usize) -> u64 {
        match self {
            Random::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^ mixed >> 31
            }
            Random::Bytes { bytes, used } => {
                let rest = bytes.get(*used..).unwrap_or_default();
                let taken = &rest[..size.min(rest.len())];
                *used += taken.len();
                taken.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
            }
        }
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        let size = match end {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 8,
        };
        (self.word(size) % end as u64) as usize
    }

    /// Returns one of several values.
    pub fn choice<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Returns elements, half of them edge values, half of them any bits.
    pub fn elements(&mut self, dtype: DType, len: usize) -> Vec<Bits> {
        let edges = edge_values(dtype);
        (0..len)
            .map(|_| {
                if dtype == DType::Bool || self.below(2) == 0 {
                    return edges[self.below(edges.len())];
                }
                let [high, low] = [dtype.size().saturating_sub(8), dtype.size().min(8)];
                let bits = Bits::from(self.word(high)) << 64 | Bits::from(self.word(low));
                if dtype.bits() == 128 { bits } else { bits & ((1 << dtype.bits()) - 1) }
            })
            .collect()
    }
}
