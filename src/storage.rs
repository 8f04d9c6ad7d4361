//! Storage shared by tensors and their views, and the locks under which operations touch it.

#[cfg(feature = "dlpack")]
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use smallvec::SmallVec;

use crate::backend::Memory;
use crate::plan::OUT;
use crate::{Device, Result};

/// Memory of a device, shared by every clone and view of the tensor it was made for.
pub(crate) struct Storage {
    device: Device,
    bytes: usize,
    memory: RwLock<Memory>,
    /// Whoever frees the memory if it does not free itself. Only kept, and dropped after the memory, as the fields
    /// stand here; nothing of it can be seen after a panic.
    #[cfg(feature = "dlpack")]
    _owner: Option<AssertUnwindSafe<Box<dyn Send + Sync>>>,
}

impl Storage {
    /// Storage with undefined contents: whoever asks for it writes all of it before sharing it.
    pub(crate) fn allocate(device: &Device, bytes: usize) -> Result<Storage> {
        Ok(Storage::new(device, bytes, device.allocate(bytes)?))
    }

    /// Storage that starts out as these bytes.
    pub(crate) fn from_bytes(device: &Device, bytes: &[u8]) -> Result<Storage> {
        let mut memory = device.allocate(bytes.len())?;
        memory.upload(bytes)?;
        Ok(Storage::new(device, bytes.len(), memory))
    }

    /// Storage of zero bytes.
    pub(crate) fn zeroed(device: &Device, bytes: usize) -> Result<Storage> {
        let mut memory = device.allocate(bytes)?;
        memory.clear()?;
        Ok(Storage::new(device, bytes, memory))
    }

    pub(crate) fn new(device: &Device, bytes: usize, memory: Memory) -> Storage {
        Storage {
            device: device.clone(),
            bytes,
            memory: RwLock::new(memory),
            #[cfg(feature = "dlpack")]
            _owner: None,
        }
    }

    /// Keeps the owner of borrowed memory for as long as the storage lives.
    #[cfg(feature = "dlpack")]
    pub(crate) fn owned_by(self, owner: Box<dyn Send + Sync>) -> Storage {
        Storage { _owner: Some(AssertUnwindSafe(owner)), ..self }
    }

    /// Whether borrowed memory is kept by its owner for as long as the storage lives.
    #[cfg(all(feature = "dlpack", feature = "cuda"))]
    pub(crate) fn has_owner(&self) -> bool {
        self._owner.is_some()
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn into_memory(self) -> Memory {
        self.memory.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Memory> {
        // A panic elsewhere cannot leave memory in a state that is wrong for elements to have.
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs something on a destination and on memory that is read, which may be one but not the destination. Locks are taken as
/// an [`Access`] takes them.
pub(crate) fn with_written<R>(
    out: &Arc<Storage>,
    x: &Arc<Storage>,
    y: &Arc<Storage>,
    run: impl FnOnce(&Memory, &Memory, &Memory) -> R,
) -> R {
    let (low, high) = if address(x) <= address(y) { (x, y) } else { (y, x) };
    let is_one = address(low) == address(high);
    let first = (address(low) < address(out)).then(|| low.read());
    let second = (!is_one && address(high) < address(out)).then(|| high.read());
    let written = out.write();
    let first = first.unwrap_or_else(|| low.read());
    if is_one {
        return run(&written, &first, &first);
    }
    let second = second.unwrap_or_else(|| high.read());
    if address(low) == address(x) {
        run(&written, &first, &second)
    } else {
        run(&written, &second, &first)
    }
}

/// Runs something on memory that is read, which may be one.
pub(crate) fn with_read<R>(
    x: &Arc<Storage>,
    y: &Arc<Storage>,
    run: impl FnOnce(&Memory, &Memory) -> R,
) -> R {
    if address(x) == address(y) {
        let memory = x.read();
        return run(&memory, &memory);
    }
    let (low, high) = if address(x) < address(y) { (x, y) } else { (y, x) };
    let (first, second) = (low.read(), high.read());
    if address(low) == address(x) { run(&first, &second) } else { run(&second, &first) }
}

/// The locks of an operation that writes nothing that others can see yet: each storage once, taken as an [`Access`] takes
/// them.
#[cfg(feature = "cpu")]
pub(crate) struct Reading<'a> {
    /// By address.
    guards: SmallVec<[(usize, RwLockReadGuard<'a, Memory>); 4]>,
}

#[cfg(feature = "cpu")]
impl<'a> Reading<'a> {
    pub(crate) fn new(storages: impl Iterator<Item = &'a Arc<Storage>> + Clone) -> Reading<'a> {
        let mut reading = Reading { guards: SmallVec::new() };
        let mut last = 0;
        // There are few, so the next one is looked for among all.
        let next = |last: usize| {
            storages.clone().filter(|it| address(it) > last).min_by_key(|it| address(it))
        };
        while let Some(storage) = next(last) {
            last = address(storage);
            reading.guards.push((last, storage.read()));
        }
        reading
    }

    /// The memory of one of the storages.
    pub(crate) fn memory(&self, storage: &Arc<Storage>) -> &Memory {
        let own = address(storage);
        let place = self.guards.iter().position(|(address, _)| *address == own);
        &self.guards[place.unwrap_or(0)].1
    }
}

/// What decides the order of locks.
fn address(storage: &Arc<Storage>) -> usize {
    Arc::as_ptr(storage).addr()
}

/// The locks of one operation: each storage once, the destination's for writing, taken in the
/// order of their addresses so that no two operations can wait for each other.
///
/// Memory is found by slot, as in a [`Plan`](crate::plan::Plan): slot 0 is the destination.
pub(crate) struct Access<'a> {
    guards: SmallVec<[Guard<'a>; 4]>,
    /// The guard of each slot.
    slots: SmallVec<[u8; 8]>,
}

enum Guard<'a> {
    Read(RwLockReadGuard<'a, Memory>),
    Write(RwLockWriteGuard<'a, Memory>),
    /// Memory whose lock another access holds.
    Lent(&'a Memory),
}

/// Where one of several calls under the same locks finds the memory of a slot.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// In this slot of the access that holds the locks.
    Held(usize),
    /// In storage that nobody else has seen yet.
    Private(&'a Storage),
}

impl<'a> Access<'a> {
    /// Locks storages, one per slot; the first is the one written to.
    pub(crate) fn new(storages: impl IntoIterator<Item = &'a Arc<Storage>>) -> Access<'a> {
        let mut all: SmallVec<[&'a Arc<Storage>; 4]> = SmallVec::new();
        // The places of distinct storages in `all`, by address: there are few, so each is put in its place.
        let mut order: SmallVec<[u8; 8]> = SmallVec::new();
        for storage in storages {
            let own = address(storage);
            let place = order.iter().position(|&other| address(all[usize::from(other)]) >= own);
            match place {
                Some(place) if address(all[usize::from(order[place])]) == own => {}
                Some(place) => order.insert(place, all.len() as u8),
                None => order.push(all.len() as u8),
            }
            all.push(storage);
        }
        let mut access = Access { guards: SmallVec::new(), slots: SmallVec::new() };
        for &first in &order {
            let storage = all[usize::from(first)];
            access.guards.push(if address(storage) == address(all[OUT]) {
                Guard::Write(storage.write())
            } else {
                Guard::Read(storage.read())
            });
        }
        for storage in &all {
            let own = address(storage);
            let guard = order.iter().position(|&other| address(all[usize::from(other)]) == own);
            access.slots.push(guard.unwrap_or(0) as u8);
        }
        access
    }

    /// An access for one of several calls that together are one step to everybody else: memory that
    /// is locked here, in other slots, and private storage. No lock is let go of in between.
    pub(crate) fn for_part<'b>(&'b self, parts: impl IntoIterator<Item = Part<'b>>) -> Access<'b> {
        let guard = |(slot, part)| match part {
            Part::Held(held) => Guard::Lent(self.memory(held)),
            Part::Private(storage) if slot == OUT => Guard::Write(storage.write()),
            Part::Private(storage) => Guard::Read(storage.read()),
        };
        let guards: SmallVec<[Guard<'b>; 4]> = parts.into_iter().enumerate().map(guard).collect();
        Access { slots: (0..guards.len() as u8).collect(), guards }
    }

    /// How many slots there are.
    #[cfg(feature = "cuda")]
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The memory of a slot.
    pub(crate) fn memory(&self, slot: usize) -> &Memory {
        match &self.guards[usize::from(self.slots[slot])] {
            Guard::Read(memory) => memory,
            Guard::Write(memory) => memory,
            Guard::Lent(memory) => memory,
        }
    }

    /// Whether a slot's memory is the destination's own.
    pub(crate) fn is_written(&self, slot: usize) -> bool {
        std::ptr::eq(self.memory(slot), self.memory(OUT))
    }
}
