//! Loads, stores and atomics of a warp, each byte checked on the way.

mod faults;
mod global;
mod spaces;

use super::block::BlockState;
use super::program::{Access, Change, Inst, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use super::warp::Warp;
use crate::error::ERROR_MISALIGNED_ADDRESS;
use crate::isa::lane::{LANES, lanes};
use crate::ptx::ast::{Class, Space};
use crate::sanitizer::{Finding, Kind};

/// What went wrong in which lane.
pub type Fault = Box<Finding>;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Read,
    Write,
    Both,
}

impl Way {
    pub(super) fn word(self) -> &'static str {
        match self {
            Way::Read => "read",
            Way::Write => "write",
            Way::Both => "atomic access",
        }
    }
}

impl Warp {
    #[inline(always)]
    pub(super) fn receive(&mut self, a: &Access, slot: u32, lane: usize, value: u64) {
        if a.class == Class::Wide {
            self.regs.wide[slot as usize][lane] = value;
        } else {
            let value = match (a.signed, a.bytes) {
                (true, 1) => value as u8 as i8 as u32,
                (true, 2) => value as u16 as i16 as u32,
                _ => value as u32,
            };
            self.regs.word[slot as usize][lane] = value;
        }
    }

    #[inline(always)]
    pub(super) fn send(&self, a: &Access, slot: u32, lane: usize) -> u64 {
        if a.class == Class::Wide {
            self.regs.wide[slot as usize][lane]
        } else {
            self.regs.word[slot as usize][lane].into()
        }
    }

    /// Runs a load or store, or an atomic if there is a change to make.
    pub fn access(
        &mut self,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        store: bool,
        change: Option<Change>,
    ) -> Result<(), Fault> {
        let base = self.regs.wide[inst.o.s[0] as usize];
        // Inside a block's memory an address has 32 bits: a negative index held in a word wraps around.
        let narrow = matches!(a.space, Space::Shared | Space::Local | Space::Param);
        let bits = if narrow { u64::from(u32::MAX) } else { u64::MAX };
        let addresses: [u64; LANES] =
            std::array::from_fn(|lane| base[lane].wrapping_add(inst.o.imm) & bits);
        if a.space != Space::Generic {
            return self.in_space(a.space, block, inst, a, mask, &addresses, store, change);
        }
        // Generic: the window tells the space, lane by lane.
        let mut rest = mask;
        while rest != 0 {
            let window = addresses[rest.trailing_zeros() as usize] >> 32;
            let (space, start) = match window << 32 {
                SHARED_WINDOW => (Space::Shared, SHARED_WINDOW),
                LOCAL_WINDOW => (Space::Local, LOCAL_WINDOW),
                PARAM_WINDOW => (Space::Param, PARAM_WINDOW),
                _ => (Space::Global, 0),
            };
            let same = lanes(rest)
                .filter(|&l| {
                    start == 0 && addresses[l] < SHARED_WINDOW || addresses[l] >> 32 == window
                })
                .fold(0, |m, l| m | 1 << l);
            let offsets = addresses.map(|a| a.wrapping_sub(start));
            self.in_space(space, block, inst, a, same, &offsets, store, change)?;
            rest &= !same;
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn in_space(
        &mut self,
        space: Space,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        addresses: &[u64; LANES],
        store: bool,
        change: Option<Change>,
    ) -> Result<(), Fault> {
        let size = u64::from(a.bytes) * u64::from(a.count);
        let mut bad = 0;
        for (lane, addr) in addresses.iter().enumerate() {
            bad |= u32::from(addr & (size - 1) != 0) << lane;
        }
        if let Some(lane) = lanes(bad & mask).next() {
            let text = format!(
                "{} of {size} bytes at {:#x}, which is not a multiple of {size}",
                if store { "write" } else { "read" },
                addresses[lane]
            );
            return Err(self.fault(
                block,
                inst,
                lane,
                Kind::Misaligned,
                ERROR_MISALIGNED_ADDRESS,
                text,
            ));
        }
        match space {
            Space::Global | Space::Const | Space::Generic => match change {
                Some(change) => self.global_atomic(block, inst, a, mask, addresses, change),
                None if store => self.global_store(block, inst, a, mask, addresses, size),
                None => self.global_load(block, inst, a, mask, addresses, size),
            },
            Space::Shared => self.shared(block, inst, a, mask, addresses, store, change),
            Space::Local => self.local(block, inst, a, mask, addresses, store, change),
            Space::Param => {
                self.parameter(block, inst, a, mask, addresses, store || change.is_some())
            }
        }
    }
}
