//! Copies and fills. The shadow is copied with the data: copying bytes that were never written within the device is
//! allowed, copying them to the host is a finding.
//!
//! Host memory that the driver neither allocated nor registered is pageable. As with a real driver, a copy *from* it
//! reads the bytes at the call, and a copy *to* it is complete when the call returns, while pinned memory is read and
//! written when the copy runs. In strict mode, copies to pageable memory are deferred as well, and until then the
//! destination is filled with a pattern, so that reading it too early shows.

use super::state::State;
use crate::config;
use crate::error::{Code, ERROR_ILLEGAL_ADDRESS, ERROR_INVALID_VALUE};
use crate::memory::{self, DATA};
use crate::sanitizer::{self, Finding, Kind, describe, lock};
use std::sync::Arc;

/// The pattern in a host buffer that a pending copy will write.
const NOT_YET: u8 = 0xa5;

/// The source of a copy.
#[derive(Debug, Clone)]
pub enum Source {
    /// Bytes read at the call.
    Staged(Arc<[u8]>),
    /// An address to read when the copy runs.
    Address(u64),
}

/// A fill of rows with a pattern of one, two or four bytes.
#[derive(Debug, Clone, Copy)]
pub struct Fill {
    pub addr: u64,
    pub value: u32,
    /// The size of the pattern, in bytes.
    pub width: u64,
    /// Patterns per row.
    pub count: u64,
    /// The number of rows.
    pub rows: u64,
    /// The bytes from one row to the next.
    pub pitch: u64,
}

/// Reads pageable memory at the call, unless the settings defer that or the stream is being captured.
///
/// # Safety
/// `from` must be readable for `len` bytes.
pub unsafe fn stage(s: &State, from: u64, len: u64, capturing: bool) -> Source {
    if s.is_pinned(from, len) || capturing || config::with(|c| c.late_host) {
        return Source::Address(from);
    }
    // SAFETY: the caller guarantees it.
    Source::Staged(unsafe { std::slice::from_raw_parts(from as *const u8, len as usize) }.into())
}

/// Fills a host buffer with the pattern that marks it as not written yet.
///
/// # Safety
/// `to` must be writable for `len` bytes.
pub unsafe fn mark_pending(to: u64, len: u64) {
    // SAFETY: the caller guarantees it.
    unsafe { std::ptr::write_bytes(to as *mut u8, NOT_YET, len as usize) };
}

impl State {
    /// Returns whether host memory was allocated by the driver or registered with it.
    pub fn is_pinned(&self, addr: u64, len: u64) -> bool {
        let within =
            |&(start, end, _): &(u64, u64, u64)| addr >= start && addr.saturating_add(len) <= end;
        self.region_of(addr).is_some() || self.registered.iter().any(within)
    }

    /// Fails unless a range lies in one live allocation.
    pub fn check_range(&self, addr: u64, len: u64) -> Result<(), Code> {
        let (_, region) = self.region_of(addr).ok_or(ERROR_INVALID_VALUE)?;
        let heap = lock(&region.heap);
        if len == 0 || heap.covering(addr, len).is_some() {
            Ok(())
        } else {
            Err(ERROR_INVALID_VALUE)
        }
    }

    /// Fails the context because a copy or fill accesses memory that is not allocated any more.
    fn gone(&mut self, cx: u64, what: &str, addr: u64, len: u64) {
        let near = self.region_of(addr).map(|(_, r)| lock(&r.heap).neighbour(addr));
        let freed = matches!(near, Some(memory::Neighbour::Freed(..)));
        let text = format!(
            "{what} of {len} bytes at {addr:#x}, {}",
            near.map_or("near no allocation".into(), |n| describe(&n))
        );
        self.fail(
            cx,
            Finding {
                kind: if freed { Kind::UseAfterFree } else { Kind::OutOfBounds },
                code: ERROR_ILLEGAL_ADDRESS,
                place: None,
                text,
            },
        );
    }

    /// Returns whether the bytes are allocated at this point in stream order.
    pub fn exists(&self, addr: u64, len: u64) -> bool {
        let Some((_, region)) = self.region_of(addr) else { return false };
        let mut heap = lock(&region.heap);
        if heap.covering(addr, len).is_none() {
            return false;
        }
        let ends = [addr, addr + len - 1];
        ends.iter().all(|&at| {
            heap.materialise(at, 1);
            region.arena.shadow_of(at, 1)[0] != memory::NONE
        })
    }

    /// Copies between any two addresses.
    pub fn copy(&mut self, cx: u64, to: u64, from: Source, len: u64) {
        if len == 0 {
            return;
        }
        let target = self.region_of(to);
        if target.is_some() && !self.exists(to, len) {
            return self.gone(cx, "copy to", to, len);
        }
        match from {
            Source::Staged(bytes) => {
                // SAFETY: the destination was found allocated, or is host memory that the program keeps valid until the
                // copy is synchronised; no kernel runs; the staged bytes are owned here.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, len as usize)
                };
                if let Some((_, region)) = target {
                    lock(&region.heap).mark(to, len, DATA);
                }
            }
            Source::Address(from) => {
                let source = self.region_of(from);
                if source.is_some() && !self.exists(from, len) {
                    return self.gone(cx, "copy from", from, len);
                }
                if let Some((_, region)) = &source {
                    lock(&region.heap).materialise(from, len);
                    if target.is_none() {
                        self.report_holes(region, from, len);
                    }
                }
                // SAFETY: both ends were found allocated, or are host memory that the program keeps valid until the
                // copy is synchronised; no kernel runs. `copy` allows an overlap.
                unsafe { std::ptr::copy(from as *const u8, to as *mut u8, len as usize) };
                if let Some((_, region)) = target {
                    lock(&region.heap).mark(to, len, DATA);
                    if let Some((_, source)) = &source {
                        region.arena.copy_shadow(to, &source.arena, from, len);
                    }
                }
            }
        }
    }

    fn report_holes(&self, region: &crate::exec::Region, from: u64, len: u64) {
        if let Some((hole, _)) = region.arena.first_hole(from, len) {
            let near = describe(&lock(&region.heap).neighbour(hole));
            let text = format!(
                "copy of {len} bytes from {from:#x} to the host: the byte at {hole:#x}, {near}, was never written"
            );
            sanitizer::report(Finding {
                kind: Kind::UninitialisedCopy,
                code: 0,
                place: None,
                text,
            });
        }
    }

    /// Fills memory with a pattern.
    pub fn fill(&mut self, cx: u64, f: Fill) {
        for row in 0..f.rows {
            let (addr, len) = (f.addr + row * f.pitch, f.count * f.width);
            if len == 0 {
                continue;
            }
            if !self.exists(addr, len) {
                return self.gone(cx, "fill", addr, len);
            }
            let Some((_, region)) = self.region_of(addr) else { continue };
            let bytes = f.value.to_le_bytes();
            let pattern = &bytes[..f.width as usize];
            if pattern.iter().all(|b| *b == pattern[0]) {
                region.arena.fill(addr, len, pattern[0]);
            } else {
                for k in 0..len {
                    region.arena.fill(addr + k, 1, pattern[(k % f.width) as usize]);
                }
            }
            lock(&region.heap).mark(addr, len, DATA);
        }
    }
}
