//! Loads, stores and atomics of a warp, with every byte checked.

mod faults;
mod global;
mod spaces;

use super::block::BlockState;
use super::program::{Access, Change, Inst, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use super::track::Touch;
use super::warp::Warp;
use crate::isa::lane::{LANES, lanes};
use crate::memory::RAW;
use crate::ptx::ast::{Class, Space};
use crate::sanitizer::{Finding, Kind};

/// Bytes on either side of an access that are searched for more padding like that within it.
const NEARBY: u64 = 128;

/// The finding that stops a launch.
pub type Fault = Box<Finding>;

/// Whether an access reads, writes or does both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
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

/// What all lanes of an access have in common.
#[derive(Clone, Copy)]
struct Job<'i> {
    inst: &'i Inst,
    a: &'i Access,
    way: Way,
    /// The update of an atomic; `None` for loads and stores.
    change: Option<Change>,
    /// Bytes per lane.
    size: u64,
}

impl Job<'_> {
    /// Returns the access as the race check sees it. The arguments are constants at the call sites.
    #[inline(always)]
    fn touch(&self, way: Way, strong: bool, shared: bool) -> Touch {
        Touch { way, strong, readonly: self.a.readonly, shared }
    }

    /// Returns whether the unwritten bytes of an access are padding of structures that are merely copied: the program
    /// uses the values of none of them, and they are small holes with more such holes nearby. `at` is the index of the
    /// access in `states`.
    #[cold]
    fn moves_padding(&self, states: &[u8], at: usize) -> bool {
        let raw = |k: &usize| states[*k] == RAW;
        let is_padding = |k: usize| {
            let start = (0..=k).rev().take_while(raw).last().unwrap_or(k);
            let end = (k..states.len()).take_while(raw).last().unwrap_or(k);
            let element = (k - at) / usize::from(self.a.bytes);
            self.a.moved >> element & 1 != 0
                && end - start < 15
                && (0..start).chain(end + 1..states.len()).any(|k| raw(&k))
        };
        self.way == Way::Read && (at..at + self.size as usize).filter(raw).all(is_padding)
    }

    /// Describes the access for a report.
    fn words(&self, addr: u64) -> String {
        format!("{} of {} bytes at {addr:#x}", self.way.word(), self.size)
    }
}

impl Warp {
    #[inline(always)]
    fn receive(&mut self, a: &Access, slot: u32, lane: usize, value: u64) {
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
    fn send(&self, a: &Access, slot: u32, lane: usize) -> u64 {
        if a.class == Class::Wide {
            self.regs.wide[slot as usize][lane]
        } else {
            self.regs.word[slot as usize][lane].into()
        }
    }

    /// Runs a load or a store, or an atomic if `change` is given.
    pub fn access(
        &mut self,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        way: Way,
        change: Option<Change>,
    ) -> Result<(), Fault> {
        let size = u64::from(a.bytes) * u64::from(a.count);
        let job = Job { inst, a, way, change, size };
        if block.launch.program.fences {
            self.synchronise(block, &job, mask);
        }
        let base = self.regs.wide[inst.o.s[0] as usize];
        // Addresses in shared, local and parameter space have 32 bits: a negative index held in a word wraps around.
        let narrow = matches!(a.space, Space::Shared | Space::Local | Space::Param);
        let bits = if narrow { u64::from(u32::MAX) } else { u64::MAX };
        let addresses: [u64; LANES] =
            std::array::from_fn(|lane| base[lane].wrapping_add(inst.o.imm) & bits);
        if a.space != Space::Generic {
            return self.in_space(a.space, block, &job, mask, &addresses);
        }
        // Generic addresses: the window gives the space, per lane.
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
            self.in_space(space, block, &job, same, &offsets)?;
            rest &= !same;
        }
        Ok(())
    }

    /// Applies the ordering that an access establishes between threads, in a kernel with fences.
    fn synchronise(&self, block: &mut BlockState<'_>, job: &Job<'_>, mask: u32) {
        if job.a.fence {
            block.order(|track| track.publish(self.index, mask));
        }
        if job.way == Way::Both || job.a.strong && job.way == Way::Read {
            block.order(|track| track.acquire(self.index, mask, track.now()));
        }
    }

    #[inline(always)]
    fn in_space(
        &mut self,
        space: Space,
        block: &mut BlockState<'_>,
        job: &Job<'_>,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Fault> {
        let size = job.size;
        let mut bad = 0;
        for (lane, addr) in addresses.iter().enumerate() {
            bad |= u32::from(addr & (size - 1) != 0) << lane;
        }
        if let Some(lane) = lanes(bad & mask).next() {
            let words = job.words(addresses[lane]);
            let text = format!("{words}, which is not a multiple of {size}");
            return Err(self.fault(block, job.inst, lane, Kind::Misaligned, text));
        }
        match (space, job.way) {
            (Space::Global | Space::Generic | Space::Const, Way::Read) => {
                self.global_load(block, job, mask, addresses)
            }
            (Space::Const, _) => Err(self.write_to_constants(block, job, mask, addresses)),
            (Space::Global | Space::Generic, Way::Write) => {
                self.global_store(block, job, mask, addresses)
            }
            (Space::Global | Space::Generic, Way::Both) => {
                self.global_atomic(block, job, mask, addresses)
            }
            (Space::Shared, _) => self.shared(block, job, mask, addresses),
            (Space::Local, _) => self.local(block, job, mask, addresses),
            (Space::Param, _) => self.parameter(block, job, mask, addresses),
        }
    }
}
