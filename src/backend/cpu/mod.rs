//! The CPU backend: programs of steps over blocks of elements that stay in the cache.
//!
//! - [`run()`] looks up the memory of every slot, and hands the request to `run::walk` or, with a reduction, to
//!   `run::reduce`. Calls on few contiguous elements need no request: `executable` keeps the script of a program, and
//!   runs it on contiguous memory;
//! - `run` translates the program to a script, and runs it on blocks of elements that stay in the cache;
//! - `loops` are the vector loops that do the work;
//! - `settings` chooses the instructions and sizes, and `threads` share large operations;
//! - `memory` holds the elements, and `pool` keeps freed blocks for reuse.

mod executable;
mod loops;
mod memory;
pub(crate) mod pool;
mod run;
mod settings;
#[cfg(test)]
mod tests;
pub(crate) mod threads;

pub(crate) use executable::Executable;
pub(crate) use memory::CpuMemory;

/// Returns the settings in force, as a list like that of `BITLANE_CPU`.
pub(crate) fn settings() -> String {
    Settings::get().list()
}

use smallvec::SmallVec;

use self::run::nest::Slots;
use self::run::{gather, reduce, rows, walk};
use self::settings::Settings;
use super::Memory;
use crate::gather::GatherRequest;
use crate::plan::Plan;
use crate::request::{Request, RowsRequest};
use crate::scan::ScanRequest;
use crate::storage::Access;
use crate::{DType, Error, Result};

/// Runs a request on memory that the caller has locked. A reduction must have a term.
pub(crate) fn run(request: &Request<'_>, access: &Access<'_>) -> Result<()> {
    // The loops below have at least one iteration.
    if request.plan.len == 0 {
        return Ok(());
    }
    if request.reduction.as_ref().is_some_and(|reduction| reduction.terms.len == 0) {
        let reason = "a reduction of no terms has no loop".into();
        return Err(Error::InvalidArgument { op: request.op, reason });
    }
    let settings = Settings::get();
    let located = Located::new(request, access);
    let ready = match &request.reduction {
        None => walk::run(&located, settings),
        Some(reduction) => reduce::run(&located, reduction, settings),
    };
    ready.ok_or_else(|| missing_loop(request.op, request.out))
}

/// Returns how many iterations of the innermost of some loops over rows are a block, or `None` if blocks do not pay off.
pub(crate) fn rows_of_a_block(rows: &Plan, row_bytes: usize) -> Option<usize> {
    rows::rows_of_a_block(rows, row_bytes, Settings::get())
}

/// Runs requests that share rows. The caller has locked the memory: the slots of the access are the one that is locked for
/// writing, and then those of the request, which nobody else has if they are written.
pub(crate) fn run_rows(request: &RowsRequest<'_>, access: &Access<'_>) -> Result<()> {
    let lacking = || match request.stages.first() {
        Some(stage) => missing_loop(stage.op, stage.out),
        None => missing_loop("expression", DType::Bool),
    };
    rows::run(request, access, Settings::get()).ok_or_else(lacking)
}

/// Runs a scan on memory that the caller has locked.
pub(crate) fn scan(request: &ScanRequest, access: &Access<'_>) -> Result<()> {
    let from = address(access, 1, request.offset * request.terms.size());
    // SAFETY: operand and result are contiguous and inside their storages, whose locks are held.
    let ready = unsafe { reduce::scan::run(request, from, address(access, 0, 0), Settings::get()) };
    ready.ok_or_else(|| missing_loop(request.op, request.terms))
}

/// Runs a look-up on memory that the caller has locked.
pub(crate) fn gather(request: &GatherRequest<'_>, access: &Access<'_>) {
    gather::run(request, access, Settings::get());
}

/// Writes the places of `len` bools that are true.
pub(crate) fn places(len: usize, access: &Access<'_>) {
    gather::places(len, access, Settings::get());
}

/// A request with the memory it works on.
struct Located<'a> {
    request: &'a Request<'a>,
    /// The first element of each slot.
    bases: Slots,
    /// The size of an element of each slot in bytes.
    sizes: SmallVec<[usize; 4]>,
    /// Whether each slot's memory is the destination's.
    is_written: SmallVec<[bool; 4]>,
}

// SAFETY: the pointers are into memory whose locks the caller of `run` holds until it returns, and
// the threads that share a call write disjoint parts of the destination.
unsafe impl Sync for Located<'_> {}

impl<'a> Located<'a> {
    fn new(request: &'a Request<'a>, access: &Access<'_>) -> Located<'a> {
        let sizes: SmallVec<[usize; 4]> = std::iter::once(request.out.size())
            .chain(request.program.input_sizes())
            .chain(request.masked.then_some(1))
            .collect();
        let base = |(slot, size): (usize, &usize)| {
            address(access, slot, request.plan.slots[slot].offset * size)
        };
        let bases = sizes.iter().enumerate().map(base).collect();
        let is_written = (0..sizes.len()).map(|slot| access.is_written(slot)).collect();
        Located { request, bases, sizes, is_written }
    }

    fn mask(&self) -> Option<usize> {
        self.request.masked.then(|| self.sizes.len() - 1)
    }
}

/// Returns the address at a byte offset into the memory of a slot.
fn address(access: &Access<'_>, slot: usize, offset: usize) -> *mut u8 {
    start(access.memory(slot)).wrapping_add(offset)
}

/// Returns the address of a block of memory.
#[inline]
fn start(memory: &Memory) -> *mut u8 {
    match memory {
        Memory::Cpu(memory) => memory.as_ptr(),
        #[cfg(feature = "cuda")]
        Memory::Cuda(_) => std::ptr::null_mut(),
    }
}

/// Unreachable while the op table and the promotion tables agree; a test checks that they do.
fn missing_loop(op: &'static str, dtype: DType) -> Error {
    Error::UnsupportedDType { op, dtype, allowed: "other dtypes" }
}
