//! The locks of operations on storages that they share.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::storage::{Access, Destination, Part, Storage, with_locked};
use crate::{Result, in_every_order};

/// Memory of one number. Loom notices if a thread reads or writes it while another writes.
pub(crate) struct Memory(UnsafeCell<usize>);

impl Memory {
    fn read(&self) -> usize {
        // SAFETY: loom fails the test if another thread writes meanwhile.
        self.0.with(|number| unsafe { *number })
    }

    fn write(&self, number: usize) {
        // SAFETY: loom fails the test if another thread reads or writes meanwhile.
        self.0.with_mut(|place| unsafe { *place = number });
    }

    pub(crate) fn upload(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(bytes.len());
        Ok(())
    }

    pub(crate) fn clear(&mut self) -> Result<()> {
        self.write(0);
        Ok(())
    }
}

#[derive(Clone)]
pub(crate) struct Device;

impl Device {
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Memory> {
        Ok(Memory(UnsafeCell::new(bytes)))
    }
}

/// An operation on storages, which are given by their place in the order of the addresses.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// `with_locked`: a destination and two operands, any of which may be the same.
    Small(usize, [usize; 2]),
    /// `Access`: a destination and two operands, any of which may be the same.
    General(usize, [usize; 2]),
    /// `Access` and a second one under its locks, from a storage of its own to the same destination.
    Parts(usize, [usize; 2]),
    /// `with_locked`: two operands, and a destination that nobody knows yet.
    ReadTwo([usize; 2]),
    /// `with_locked`: three operands, and a destination that nobody knows yet.
    ReadThree([usize; 3]),
}

impl Operation {
    /// Whether it writes to none of the storages.
    fn reads(self) -> bool {
        matches!(self, Operation::ReadTwo(_) | Operation::ReadThree(_))
    }

    /// Runs the operation: it reads its operands, and writes to its destination.
    fn run(self, storages: &[Arc<Storage>]) {
        let add = |x: &Memory, y: &Memory| x.read().wrapping_add(y.read());
        let read = |operands: &[&Arc<Storage>]| {
            let mut new = Device.allocate(0).unwrap();
            with_locked(Destination::New(&mut new), operands, |_, memories| {
                let sum =
                    memories[1..].iter().map(|memory| memory.read()).fold(0, usize::wrapping_add);
                memories[0].write(sum);
            });
        };
        match self {
            Operation::Small(out, [x, y]) => {
                let [out, x, y] = [out, x, y].map(|place| &storages[place]);
                with_locked(Destination::Shared(out), &[x, y], |_, memories| {
                    memories[0].write(add(memories[1], memories[2]));
                });
            }
            Operation::General(out, [x, y]) => {
                let access = Access::new([out, x, y].map(|place| &storages[place]));
                access.memory(0).write(add(access.memory(1), access.memory(2)));
            }
            Operation::Parts(out, [x, y]) => {
                let access = Access::new([out, x, y].map(|place| &storages[place]));
                let between = Storage::allocate(&Device, 0).unwrap();
                {
                    let first = access.for_part([Part::Private(&between), Part::Held(1)]);
                    first.memory(0).write(first.memory(1).read());
                }
                let parts = [Part::Held(0), Part::Private(&between), Part::Held(2)];
                let second = access.for_part(parts);
                second.memory(0).write(add(second.memory(1), second.memory(2)));
            }
            Operation::ReadTwo(operands) => read(&operands.map(|place| &storages[place])),
            Operation::ReadThree(operands) => read(&operands.map(|place| &storages[place])),
        }
    }
}

/// Three storages in the order of their addresses.
#[allow(
    clippy::arc_with_non_send_sync,
    reason = "loom's locks have no `Send`; its threads are coroutines of one"
)]
fn storages() -> Arc<[Arc<Storage>]> {
    let mut storages =
        [1, 2, 3].map(|number| Arc::new(Storage::allocate(&Device, number).unwrap()));
    storages.sort_by_key(|storage| Arc::as_ptr(storage).addr());
    Arc::new(storages)
}

/// Runs operations at once, in every order.
fn at_once<const N: usize>(operations: [Operation; N]) {
    in_every_order(2, move || {
        let storages = storages();
        let threads = operations.map(|operation| {
            let storages = Arc::clone(&storages);
            thread::spawn(move || operation.run(&storages))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

pub fn two_operations_on_the_same_storages() {
    let mut operations = Vec::new();
    for out in 0..3 {
        let (low, high) = ((out + 1) % 3, (out + 2) % 3);
        for operands in [[low, high], [high, low], [low, low], [out, high]] {
            operations.push(Operation::Small(out, operands));
        }
        for operands in [[low, high], [high, low], [out, high], [low, out], [out, out]] {
            operations.push(Operation::General(out, operands));
        }
        operations.push(Operation::Parts(out, [low, high]));
    }
    for operands in [[0, 1], [1, 0], [2, 0], [2, 1], [1, 1]] {
        operations.push(Operation::ReadTwo(operands));
    }
    for operands in [[0, 1, 2], [2, 1, 0], [1, 2, 1]] {
        operations.push(Operation::ReadThree(operands));
    }
    for (index, &first) in operations.iter().enumerate() {
        // Two that only read have nothing to order.
        for &second in
            operations[index..].iter().filter(|second| !(first.reads() && second.reads()))
        {
            at_once([first, second]);
        }
    }
}

pub fn three_operations() {
    // Each writes what the next one reads.
    at_once([
        Operation::Small(0, [1, 1]),
        Operation::General(1, [2, 2]),
        Operation::Small(2, [0, 0]),
    ]);
    // Two write what a third one reads, which therefore has to wait behind them.
    for reading in [Operation::ReadTwo([1, 0]), Operation::ReadThree([2, 1, 0])] {
        at_once([reading, Operation::General(1, [0, 0]), Operation::Small(0, [2, 2])]);
    }
}
