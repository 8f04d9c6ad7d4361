//! What the sizes of launches depend on: how many threads the device's multiprocessors hold.

/// A row of the table: an architecture, from its first compute capability on.
struct Row {
    capability: u32,
    /// The number of threads that a multiprocessor holds.
    resident_threads: usize,
}

/// The number of bytes that a thread has in flight where it adds up an output alone: two accesses, on every architecture.
const THREAD_BYTES: usize = 32;

/// The architectures, in ascending order.
const TABLE: [Row; 6] = [
    Row { capability: 75, resident_threads: 1024 },
    Row { capability: 80, resident_threads: 2048 },
    Row { capability: 86, resident_threads: 1536 },
    Row { capability: 90, resident_threads: 2048 },
    Row { capability: 110, resident_threads: 1536 },
    Row { capability: 120, resident_threads: 1536 },
];

/// The sizes for one device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// The number of threads that should be busy, if there is enough work.
    pub(super) threads: usize,
    /// The number of blocks that should be busy, if there is enough work: several for each multiprocessor, so that all of
    /// them finish at about the same time.
    pub(super) blocks: usize,
    /// The number of bytes that a thread has in flight where it adds up an output alone.
    pub(super) thread_bytes: usize,
}

impl Tuning {
    /// Returns the sizes for a device of this compute capability and number of multiprocessors.
    pub(super) fn of(capability: u32, multiprocessors: usize) -> Tuning {
        let row = TABLE.iter().rev().find(|row| row.capability <= capability).unwrap_or(&TABLE[0]);
        let multiprocessors = multiprocessors.max(1);
        Tuning {
            threads: multiprocessors * row.resident_threads,
            blocks: multiprocessors * 4,
            thread_bytes: THREAD_BYTES,
        }
    }

    /// Returns the sizes for an A100, for which kernels are generated where there is no device.
    pub(super) fn imagined() -> Tuning {
        Tuning::of(80, 108)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_a_row() {
        let sizes = |capability, multiprocessors| {
            let tuning = Tuning::of(capability, multiprocessors);
            (tuning.threads, tuning.blocks)
        };
        assert_eq!(sizes(75, 40), (40_960, 160));
        assert_eq!(sizes(89, 128), (196_608, 512));
        assert_eq!(sizes(100, 148), (303_104, 592));
        assert_eq!(sizes(121, 0), (1536, 4));
        assert!(TABLE.is_sorted_by_key(|row| row.capability));
    }
}
