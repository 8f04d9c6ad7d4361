//! Storage shared by tensors and their views, and the locks under which operations touch it.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::backend::Memory;
use crate::plan::{ROLES, Role};
use crate::{Device, Result};

/// Memory of a device, shared by every clone and view of the tensor it was made for.
pub(crate) struct Storage {
    device: Device,
    bytes: usize,
    memory: RwLock<Memory>,
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
        Storage { device: device.clone(), bytes, memory: RwLock::new(memory) }
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

/// The locks of one operation: each storage once, the destination's for writing, taken in the
/// order of their addresses so that no two operations can wait for each other.
pub(crate) struct Access<'a> {
    guards: [Option<Guard<'a>>; ROLES],
    guard_of_role: [Option<usize>; ROLES],
}

enum Guard<'a> {
    Read(RwLockReadGuard<'a, Memory>),
    Write(RwLockWriteGuard<'a, Memory>),
    /// Memory whose lock another access holds.
    Lent(&'a Memory),
}

/// Where one of several calls under the same locks finds the memory of a role.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// In this role of the access that holds the locks.
    Held(Role),
    /// In storage that nobody else has seen yet.
    Private(&'a Storage),
}

impl<'a> Access<'a> {
    /// Locks the storages of the roles that have one; the first role is the one written to.
    pub(crate) fn new(storages: [Option<&'a Arc<Storage>>; ROLES]) -> Access<'a> {
        let mut order: [Option<(usize, &'a Arc<Storage>)>; ROLES] = [None; ROLES];
        for (slot, storage) in order.iter_mut().zip(storages) {
            *slot = storage.map(|storage| (Arc::as_ptr(storage).addr(), storage));
        }
        order.sort_unstable_by_key(|entry| entry.map_or(usize::MAX, |(address, _)| address));
        let written = storages[Role::Out as usize].map(|storage| Arc::as_ptr(storage).addr());

        let mut access = Access { guards: [const { None }; ROLES], guard_of_role: [None; ROLES] };
        let mut last = None;
        let mut used = 0;
        for (address, storage) in order.into_iter().flatten() {
            if last == Some(address) {
                continue;
            }
            last = Some(address);
            access.guards[used] = Some(if written == Some(address) {
                Guard::Write(storage.write())
            } else {
                Guard::Read(storage.read())
            });
            for (role, candidate) in storages.iter().enumerate() {
                if candidate.is_some_and(|candidate| Arc::ptr_eq(candidate, storage)) {
                    access.guard_of_role[role] = Some(used);
                }
            }
            used += 1;
        }
        access
    }

    /// An access for one of several calls that together are one step to everybody else: memory that
    /// is locked here, in other roles, and private storage. No lock is let go of in between.
    pub(crate) fn for_part<'b>(&'b self, parts: [Option<Part<'b>>; ROLES]) -> Access<'b> {
        let mut access = Access { guards: [const { None }; ROLES], guard_of_role: [None; ROLES] };
        for (role, part) in parts.into_iter().enumerate() {
            access.guards[role] = match part {
                Some(Part::Held(held)) => self.memory(held).map(Guard::Lent),
                Some(Part::Private(storage)) if role == Role::Out as usize => {
                    Some(Guard::Write(storage.write()))
                }
                Some(Part::Private(storage)) => Some(Guard::Read(storage.read())),
                None => None,
            };
            access.guard_of_role[role] = access.guards[role].is_some().then_some(role);
        }
        access
    }

    /// The memory in a role, if that role was given any.
    pub(crate) fn memory(&self, role: Role) -> Option<&Memory> {
        let guard = self.guard_of_role[role as usize]?;
        self.guards[guard].as_ref().map(|guard| match guard {
            Guard::Read(memory) => &**memory,
            Guard::Write(memory) => &**memory,
            Guard::Lent(memory) => memory,
        })
    }

    /// Whether a role's memory is the destination's own.
    pub(crate) fn is_written(&self, role: Role) -> bool {
        match (self.memory(role), self.memory(Role::Out)) {
            (Some(memory), Some(written)) => std::ptr::eq(memory, written),
            _ => false,
        }
    }
}
