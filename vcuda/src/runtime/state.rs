//! The state of the driver, behind a single lock.

use super::{Event, Exec, Graph, Kernel, Library, LibraryKernel, Link, Module, Stream};
use crate::config;
use crate::error::{
    Code, ERROR_CONTEXT_IS_DESTROYED, ERROR_INVALID_CONTEXT, ERROR_INVALID_DEVICE,
    ERROR_NOT_INITIALIZED, ERROR_OUT_OF_MEMORY,
};
use crate::exec::Region;
use crate::memory::{Arena, Block, Heap};
use crate::sanitizer::lock;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

/// The state of the driver.
#[derive(Debug, Default)]
pub struct State {
    pub initialised: bool,
    pub devices: Vec<Device>,
    pub contexts: HashMap<u64, Context>,
    pub streams: HashMap<u64, Stream>,
    pub events: HashMap<u64, Event>,
    pub modules: HashMap<u64, Module>,
    pub kernels: HashMap<u64, Kernel>,
    pub libraries: HashMap<u64, Library>,
    pub library_kernels: HashMap<u64, LibraryKernel>,
    /// Function names returned to the program as C strings, by function.
    pub names: HashMap<u64, CString>,
    pub graphs: HashMap<u64, Graph>,
    pub execs: HashMap<u64, Exec>,
    pub links: HashMap<u64, Link>,
    pub pools: HashMap<u64, Pool>,
    /// Pinned and managed memory.
    pub host: Option<Region>,
    /// Host ranges registered by `cuMemHostRegister`: start, end and context.
    pub registered: Vec<(u64, u64, u64)>,
    /// Host functions submitted by the current API call: the stream, and the number on it.
    pub host_functions: Vec<(u64, u64)>,
    /// Allocations whose free is pending on a stream.
    pub freeing: HashSet<u64>,
    /// Launches and instructions per kernel name.
    pub launches: BTreeMap<String, (u64, u64)>,
    pub random: u64,
    pub order: super::order::Order,
    next: u64,
}

/// A device.
#[derive(Debug)]
pub struct Device {
    pub region: Option<Region>,
    pub primary: u64,
    pub primary_refs: u32,
    /// The flags of the primary context.
    pub flags: u32,
    pub default_pool: u64,
    pub current_pool: u64,
}

/// A context.
#[derive(Debug)]
pub struct Context {
    pub device: usize,
    pub primary: bool,
    /// The error that every call returns once a kernel has failed; zero before that.
    pub sticky: Code,
    /// The stream and the error of a kernel with a finding that hardware tolerates. The error is returned once, by the
    /// first call that waits for that stream.
    pub passing: Option<(u64, Code)>,
    pub peers: HashSet<usize>,
    /// The legacy default stream.
    pub legacy: u64,
    /// The per-thread default streams that have been used, by thread.
    pub per_thread: HashMap<u64, u64>,
    pub flags: u32,
    pub limits: HashMap<i32, usize>,
}

/// A memory pool. It has attributes only; memory comes from the device's heap.
#[derive(Debug, Default)]
pub struct Pool {
    pub attributes: HashMap<i32, u64>,
    pub device: usize,
    /// The other devices that may use it.
    pub access: HashSet<usize>,
    pub used: u64,
    pub high: u64,
    /// The memory that it holds, in use or not.
    pub reserved: u64,
    /// Whether it is the default pool of a device, which cannot be destroyed.
    pub fixed: bool,
}

impl Pool {
    /// Returns what is beyond a number of bytes and not in use to the device.
    pub fn release(&mut self, keep: u64) {
        self.reserved = self.used.max(self.reserved.min(keep));
    }
}

/// The lock on the state.
pub type Guard = MutexGuard<'static, State>;

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);

/// Whether `cuInit` was called, readable without the lock.
static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Returns whether `cuInit` was called.
pub fn initialised() -> bool {
    INITIALISED.load(Relaxed)
}

/// Locks the state.
pub fn enter() -> Guard {
    lock(&STATE)
}

/// Locks the state if the lock is free.
pub fn try_enter() -> Option<Guard> {
    STATE.try_lock().ok()
}

thread_local! {
    static THREAD: u64 = {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        THREADS.fetch_add(1, Relaxed)
    };
    /// The thread's context stack; the last context is current.
    static STACK: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Returns a number that identifies the calling thread and is never reused.
pub fn thread() -> u64 {
    THREAD.with(|n| *n)
}

/// Returns the thread's context stack.
pub fn stack() -> Vec<u64> {
    STACK.with_borrow(Vec::clone)
}

/// Replaces the thread's context stack.
pub fn set_stack(stack: Vec<u64>) {
    STACK.set(stack);
}

/// Returns the thread's current context; zero if there is none.
pub fn current() -> u64 {
    STACK.with_borrow(|s| s.last().copied().unwrap_or(0))
}

impl State {
    /// Creates a fresh handle.
    pub fn handle(&mut self) -> u64 {
        self.next += 1;
        0x5_0000_0000 + self.next * 16
    }

    /// Creates the devices according to the settings.
    pub fn initialise(&mut self) {
        if self.initialised {
            return;
        }
        self.initialised = true;
        INITIALISED.store(true, Relaxed);
        for device in 0..config::with(|c| c.devices) as usize {
            let pool = self.handle();
            self.pools.insert(pool, Pool { fixed: true, device, ..Pool::default() });
            self.devices.push(Device {
                region: None,
                primary: 0,
                primary_refs: 0,
                flags: 0,
                default_pool: pool,
                current_pool: pool,
            });
        }
    }

    /// Fails unless `cuInit` was called.
    pub fn ready(&self) -> Result<(), Code> {
        if self.initialised { Ok(()) } else { Err(ERROR_NOT_INITIALIZED) }
    }

    /// Returns a device by its ordinal.
    pub fn device(&mut self, ordinal: i32) -> Result<&mut Device, Code> {
        self.ready()?;
        usize::try_from(ordinal)
            .ok()
            .and_then(|k| self.devices.get_mut(k))
            .ok_or(ERROR_INVALID_DEVICE)
    }

    /// Returns the thread's current context, or an error if there is none, or it was destroyed or has failed.
    pub fn context(&self) -> Result<u64, Code> {
        self.ready()?;
        let cx = current();
        let missing = if cx == 0 { ERROR_INVALID_CONTEXT } else { ERROR_CONTEXT_IS_DESTROYED };
        let context = self.contexts.get(&cx).ok_or(missing)?;
        if context.sticky != 0 { Err(context.sticky) } else { Ok(cx) }
    }

    /// Returns the device of a context.
    pub fn device_of(&self, cx: u64) -> usize {
        self.contexts.get(&cx).map_or(0, |c| c.device)
    }

    /// Returns the memory of a device, which is mapped on first use.
    pub fn region(&mut self, device: usize) -> Result<Region, Code> {
        let memory = config::with(|c| c.memory);
        let device = self.devices.get_mut(device).ok_or(ERROR_INVALID_DEVICE)?;
        if device.region.is_none() {
            device.region = Some(reserve(memory)?);
        }
        device.region.clone().ok_or(ERROR_OUT_OF_MEMORY)
    }

    /// Returns the memory of a context's device.
    pub fn region_for(&mut self, cx: u64) -> Result<Region, Code> {
        self.region(self.device_of(cx))
    }

    /// Returns pinned and managed memory, which is mapped on first use.
    pub fn host_region(&mut self) -> Result<Region, Code> {
        if self.host.is_none() {
            self.host = Some(reserve(16 << 30)?);
        }
        self.host.clone().ok_or(ERROR_OUT_OF_MEMORY)
    }

    /// Returns all mapped memory with its device, pinned and managed memory last.
    pub fn regions(&self) -> Vec<(Option<usize>, Region)> {
        let devices = self
            .devices
            .iter()
            .enumerate()
            .filter_map(|(k, d)| d.region.clone().map(|r| (Some(k), r)));
        devices.chain(self.host.clone().map(|r| (None, r))).collect()
    }

    /// Returns the memory that contains an address, and its device.
    pub fn region_of(&self, addr: u64) -> Option<(Option<usize>, Region)> {
        self.regions().into_iter().find(|(_, r)| r.arena.contains(addr, 1))
    }

    /// Returns the live allocation that contains an address.
    pub fn block(&self, addr: u64) -> Option<Block> {
        let (_, region) = self.region_of(addr)?;
        lock(&region.heap).covering(addr, 1).cloned()
    }

    /// Returns whether an allocation of `size` more bytes stays within a device's memory. A pool (0: none) can use what
    /// it keeps itself; what other pools keep is not available.
    pub fn fits(&mut self, device: usize, pool: u64, size: u64) -> Result<bool, Code> {
        let used = lock(&self.region(device)?.heap).used();
        let kept = self.kept(device, pool);
        Ok(used.saturating_add(kept).saturating_add(size) <= config::with(|c| c.memory))
    }

    /// Returns how much of a device's memory its pools hold without using it, apart from one.
    pub fn kept(&self, device: usize, except: u64) -> u64 {
        let others = self.pools.iter().filter(|(pool, p)| p.device == device && **pool != except);
        others.map(|(_, p)| p.reserved.saturating_sub(p.used)).sum()
    }

    /// Returns the next random number.
    pub fn draw(&mut self) -> u64 {
        // xorshift64*
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }
}

fn reserve(memory: u64) -> Result<Region, Code> {
    // Four times the memory, because freed ranges are quarantined before they are reused.
    let size = memory.clamp(1 << 30, 1 << 40).next_power_of_two() * 4;
    let arena = Arena::reserve(size).map_err(|_| ERROR_OUT_OF_MEMORY)?;
    let heap = Heap::new(arena);
    Ok(Region { arena: heap.arena().clone(), heap: Arc::new(Mutex::new(heap)) })
}

/// Returns the numbers of live allocations, streams, events, modules, graphs and contexts, and the bytes allocated.
pub fn live() -> [u64; 7] {
    let s = enter();
    let heaps: Vec<_> = s.regions();
    let allocations = heaps.iter().map(|(_, r)| lock(&r.heap).count() as u64).sum();
    let bytes = heaps.iter().map(|(_, r)| lock(&r.heap).used()).sum();
    let streams = s.streams.values().filter(|x| x.user && !x.destroyed).count() as u64;
    [
        allocations,
        streams,
        s.events.len() as u64,
        (s.modules.values().filter(|m| m.library == 0).count() + s.libraries.len()) as u64,
        (s.graphs.len() + s.execs.len()) as u64,
        s.contexts.len() as u64,
        bytes,
    ]
}

/// Returns the launches and instructions of each kernel.
pub fn stats() -> BTreeMap<String, (u64, u64)> {
    enter().launches.clone()
}

/// Resets the state: contexts end without a report, and `cuInit` must be called again.
pub fn reset() {
    let mut s = enter();
    let next = s.next;
    *s = State { next, ..State::default() };
    INITIALISED.store(false, Relaxed);
    set_stack(Vec::new());
    let _ = super::exchange_mode(0);
}
