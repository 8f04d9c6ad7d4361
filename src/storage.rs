//! Storage shared by tensors and their views, and the locks under which operations touch it.

#[cfg(feature = "cpu")]
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;

use crate::backend::Memory;
use crate::exclusive::Exclusive;
use crate::plan::OUT;
use crate::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::{Device, Result};

/// Memory of a device, shared by every clone and view of the tensor it was made for.
pub(crate) struct Storage {
    device: Device,
    bytes: usize,
    memory: RwLock<Memory>,
    /// The number of [`Borrow`]s.
    borrows: AtomicUsize,
    /// The owner of borrowed host memory. It is dropped after `memory`, since fields drop in the order of their declaration.
    /// `AssertUnwindSafe` is justified because the owner is never accessed before that, so that nobody can observe it
    /// in a broken state after a panic.
    #[cfg(feature = "cpu")]
    _owner: Option<AssertUnwindSafe<Box<dyn Send + Sync>>>,
}

impl Storage {
    /// Allocates storage with undefined contents. The caller must write all of it before sharing it.
    pub(crate) fn allocate(device: &Device, bytes: usize) -> Result<Storage> {
        Ok(Storage::new(device, bytes, device.allocate(bytes)?))
    }

    /// Allocates storage and copies these bytes to it.
    pub(crate) fn from_bytes(device: &Device, bytes: &[u8]) -> Result<Storage> {
        let mut memory = device.allocate(bytes.len())?;
        memory.upload(bytes)?;
        Ok(Storage::new(device, bytes.len(), memory))
    }

    /// Allocates storage that is filled with zeros.
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
            borrows: AtomicUsize::new(0),
            #[cfg(feature = "cpu")]
            _owner: None,
        }
    }

    /// Keeps the owner of borrowed host memory for as long as the storage lives.
    #[cfg(feature = "cpu")]
    pub(crate) fn owned_by(self, owner: Box<dyn Send + Sync>) -> Storage {
        Storage { _owner: Some(AssertUnwindSafe(owner)), ..self }
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

    #[inline]
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Memory> {
        // Poisoning is ignored: a panic while the lock is held cannot leave invalid elements in memory.
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Memory> {
        loop {
            match self.write_unless_borrowed() {
                Some(lock) => return lock,
                None => self.wait_for_borrows(),
            }
        }
    }

    /// Locks the memory for writing, or returns `None` if it is borrowed. Whoever has other locks must release them before
    /// [waiting](Storage::wait_for_borrows), since a borrower may want them.
    #[inline]
    fn write_unless_borrowed(&self) -> Option<RwLockWriteGuard<'_, Memory>> {
        let lock = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        // Nobody borrows while the lock is held. `Acquire` pairs with the `Release` of the borrows that have ended.
        (self.borrows.load(Ordering::Acquire) == 0).then_some(lock)
    }

    /// Calls a function with the memory, and keeps the memory from being written until the borrow is dropped. The lock is not
    /// held meanwhile: a lock that somebody waits to write may refuse further readers, so that a thread that reads while it
    /// borrows, or reads what others keep locked, might wait for itself.
    pub(crate) fn borrow<R>(&self, function: impl FnOnce(&Memory) -> R) -> (R, Borrow<'_>) {
        let lock = self.read();
        self.borrows.fetch_add(1, Ordering::Relaxed); // seen by writers because of the lock
        (function(&lock), Borrow(self))
    }

    /// Waits until nobody borrows the memory. It may be borrowed again at once.
    #[cold]
    fn wait_for_borrows(&self) {
        let mut lock = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        while self.borrows.load(Ordering::Acquire) != 0 {
            lock = RETURNED.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// For those who wait for borrows, which are few.
static WAITING: std::sync::Mutex<()> = std::sync::Mutex::new(());
static RETURNED: std::sync::Condvar = std::sync::Condvar::new();

/// Memory that nobody writes, although its lock is free, because elements of it have been lent to the user.
pub(crate) struct Borrow<'a>(&'a Storage);

impl Drop for Borrow<'_> {
    fn drop(&mut self) {
        if self.0.borrows.fetch_sub(1, Ordering::Release) == 1 {
            // With the lock, so that nobody is about to wait who has seen the borrow.
            let _lock = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
            RETURNED.notify_all();
        }
    }
}

/// Where an operation writes.
pub(crate) enum Destination<'a> {
    /// To storage that others may use.
    Shared(&'a Arc<Storage>),
    /// To memory that nobody else can reach yet, which needs no lock.
    New(&'a mut Memory),
}

/// Locks a destination for writing and operands for reading, and calls `run` with the proof of the former and with their
/// memory, the destination's first.
///
/// The locks are those of [`Access`]. For up to two operands, they are taken without its lists, which would take longer
/// than a small operation does.
#[inline(always)]
pub(crate) fn with_locked<R>(
    out: Destination<'_>,
    inputs: &[&Arc<Storage>],
    run: impl FnOnce(Option<Exclusive<'_, Memory>>, &[&Memory]) -> R,
) -> R {
    let (x, y) = match *inputs {
        [x] => (x, x),
        [x, y] => (x, y),
        _ => return with_many_locked(out, inputs, run),
    };
    let (low, high) = if address(x) <= address(y) { (x, y) } else { (y, x) };
    let own = match out {
        Destination::Shared(out) => address(out),
        // Behind all others: there is nothing to wait for.
        Destination::New(_) => usize::MAX,
    };
    if own == address(low) || own == address(high) {
        return with_many_locked(out, inputs, run);
    }
    let is_one = address(low) == address(high);
    let first = (address(low) < own).then(|| low.read());
    let second = (!is_one && address(high) < own).then(|| high.read());
    let mut written;
    let out: &mut Memory = match out {
        Destination::Shared(shared) => {
            let Some(lock) = shared.write_unless_borrowed() else {
                drop((first, second));
                return with_many_locked(Destination::Shared(shared), inputs, run);
            };
            written = lock;
            &mut written
        }
        Destination::New(memory) => memory,
    };
    let out = Exclusive::new(out);
    let first = first.unwrap_or_else(|| low.read());
    let second = if is_one { None } else { Some(second.unwrap_or_else(|| high.read())) };
    let second = second.as_ref().map_or::<&Memory, _>(&first, |second| second);
    let memories = match address(low) == address(x) {
        true => [out.get(), &first, second],
        false => [out.get(), second, &first],
    };
    run(Some(out), &memories[..1 + inputs.len()])
}

/// [`with_locked`] for any number of operands, which may be the destination.
#[inline(never)]
fn with_many_locked<R>(
    out: Destination<'_>,
    inputs: &[&Arc<Storage>],
    run: impl FnOnce(Option<Exclusive<'_, Memory>>, &[&Memory]) -> R,
) -> R {
    let inputs = inputs.iter().copied();
    let (access, new) = match out {
        Destination::Shared(out) => (Access::new([out].into_iter().chain(inputs)), None),
        Destination::New(memory) => (Access::lock(inputs, false), Some(Exclusive::new(memory))),
    };
    let locked = (0..access.slots.len()).map(|slot| access.memory(slot));
    let memories: SmallVec<[&Memory; 8]> =
        new.map(Exclusive::get).into_iter().chain(locked).collect();
    run(new.or_else(|| access.destination()), &memories)
}

/// Returns the address of a storage, which determines the order in which locks are taken.
#[inline]
fn address(storage: &Arc<Storage>) -> usize {
    Arc::as_ptr(storage).addr()
}

/// The locks of one operation: one per storage, for writing that of the destination. They are taken in the order of the
/// addresses, so that operations cannot deadlock.
///
/// Memory is addressed by slot, as in a [`Plan`](crate::plan::Plan): slot 0 is the destination.
pub(crate) struct Access<'a> {
    guards: SmallVec<[Guard<'a>; 4]>,
    /// The index of the guard of each slot.
    slots: SmallVec<[usize; 8]>,
}

enum Guard<'a> {
    Read(RwLockReadGuard<'a, Memory>),
    Write(RwLockWriteGuard<'a, Memory>),
    /// Memory whose lock another access holds.
    Lent(&'a Memory),
    /// Memory that another access has locked for writing.
    #[cfg(feature = "cuda")]
    LentForWriting(Exclusive<'a, Memory>),
}

/// Where one of several calls under the same locks finds the memory of one of its slots.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// In this slot of the access that holds the locks.
    Held(usize),
    /// In storage that is not shared yet.
    Private(&'a Storage),
}

impl<'a> Access<'a> {
    /// Locks the storages of all slots. The first is the destination.
    pub(crate) fn new(storages: impl IntoIterator<Item = &'a Arc<Storage>>) -> Access<'a> {
        Access::lock(storages, true)
    }

    /// Locks the storages of all slots, the first of them for writing or for reading.
    fn lock(storages: impl IntoIterator<Item = &'a Arc<Storage>>, is_written: bool) -> Access<'a> {
        // The distinct storages, sorted by address. There are few, so insertion sort suffices.
        let mut distinct: SmallVec<[&'a Arc<Storage>; 4]> = SmallVec::new();
        // The index of each slot's storage in `distinct`, which is also that of its guard.
        let mut slots: SmallVec<[usize; 8]> = SmallVec::new();
        for storage in storages {
            let own = address(storage);
            let place = distinct.partition_point(|other| address(other) < own);
            if distinct.get(place).is_none_or(|other| address(other) != own) {
                distinct.insert(place, storage);
                // The storages after it have moved by one.
                slots.iter_mut().filter(|index| **index >= place).for_each(|index| *index += 1);
            }
            slots.push(place);
        }
        #[cfg(feature = "cuda")]
        crate::backend::cuda::note(&distinct, slots[OUT]);
        let written = is_written.then(|| slots[OUT]);
        loop {
            let lock = |(index, storage): (usize, &&'a Arc<Storage>)| match written {
                Some(out) if index == out => storage.write_unless_borrowed().map(Guard::Write),
                _ => Some(Guard::Read(storage.read())),
            };
            let guards: Option<SmallVec<_>> = distinct.iter().enumerate().map(lock).collect();
            match (guards, written) {
                (Some(guards), _) => return Access { guards, slots },
                (None, Some(out)) => distinct[out].wait_for_borrows(),
                (None, None) => {}
            }
        }
    }

    /// Creates an access for one of several calls that must appear as one to other threads. Its slots are memory that
    /// `self` has locked, which stays locked between the calls, and private storage.
    pub(crate) fn for_part<'b>(&'b self, parts: impl IntoIterator<Item = Part<'b>>) -> Access<'b> {
        let guard = |(slot, part)| match part {
            #[cfg(feature = "cuda")]
            Part::Held(held)
                if slot == OUT
                    && let Some(out) = self.destination()
                    && self.is_written(held) =>
            {
                Guard::LentForWriting(out)
            }
            Part::Held(held) => Guard::Lent(self.memory(held)),
            Part::Private(storage) if slot == OUT => Guard::Write(storage.write()),
            Part::Private(storage) => Guard::Read(storage.read()),
        };
        let guards: SmallVec<[Guard<'b>; 4]> = parts.into_iter().enumerate().map(guard).collect();
        Access { slots: (0..guards.len()).collect(), guards }
    }

    /// The number of slots.
    #[cfg(feature = "cuda")]
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The memory of a slot.
    pub(crate) fn memory(&self, slot: usize) -> &Memory {
        match &self.guards[self.slots[slot]] {
            Guard::Read(memory) => memory,
            Guard::Write(memory) => memory,
            Guard::Lent(memory) => memory,
            #[cfg(feature = "cuda")]
            Guard::LentForWriting(memory) => memory.get(),
        }
    }

    /// The memory of the destination, if it is locked for writing.
    pub(crate) fn destination(&self) -> Option<Exclusive<'_, Memory>> {
        match &self.guards[self.slots[OUT]] {
            Guard::Write(memory) => Some(Exclusive::locked(memory)),
            #[cfg(feature = "cuda")]
            Guard::LentForWriting(memory) => Some(*memory),
            Guard::Read(_) | Guard::Lent(_) => None,
        }
    }

    /// Returns `true` if the memory of a slot is that of the destination.
    pub(crate) fn is_written(&self, slot: usize) -> bool {
        std::ptr::eq(self.memory(slot), self.memory(OUT))
    }
}

#[cfg(all(test, feature = "cpu"))]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_the_memory_of_its_storage() {
        let storages: [_; 3] = std::array::from_fn(|index| {
            Arc::new(Storage::from_bytes(&Device::cpu(), &[index as u8]).unwrap())
        });
        // Every list of four slots, in any order of the addresses and with repetitions.
        for choice in 0..81 {
            let chosen = [choice % 3, choice / 3 % 3, choice / 9 % 3, choice / 27];
            let access = Access::new(chosen.iter().map(|&index| &storages[index]));
            for (slot, &index) in chosen.iter().enumerate() {
                let byte = access.memory(slot).download::<u8>(0..1).unwrap();
                assert_eq!(byte, [index as u8], "slot {slot} of {chosen:?}");
                assert_eq!(access.is_written(slot), index == chosen[OUT], "{chosen:?}");
            }
            drop(access);
            let mut new = Device::cpu().allocate(1).unwrap();
            new.upload(&[9]).unwrap();
            let [out, operands @ ..] = chosen.map(|index| &storages[index]);
            for count in 1..=operands.len() {
                for (out, first) in
                    [(Destination::Shared(out), chosen[OUT]), (Destination::New(&mut new), 9)]
                {
                    with_locked(out, &operands[..count], |out, memories| {
                        assert!(std::ptr::eq(out.unwrap().get(), memories[OUT]));
                        let bytes = memories.iter().map(|it| it.download::<u8>(0..1).unwrap()[0]);
                        let expected = [first].into_iter().chain(chosen[1..=count].iter().copied());
                        assert!(bytes.map(usize::from).eq(expected), "{count} of {chosen:?}");
                    });
                }
            }
        }
    }
}
