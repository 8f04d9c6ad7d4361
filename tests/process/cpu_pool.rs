//! The memory pool of the CPU backend: what is reused, what is returned to the system, and that nothing is lost.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use bitlane::cpu::{self, PoolStatistics};
use bitlane::{DType, Device, ErrorKind, Packing, Tensor};

/// The most bytes of small blocks that a thread keeps.
const THREAD_BYTES: usize = 256 << 10;

/// The tests share one pool, so they take turns; each starts with an empty pool.
pub struct Turn {
    _lock: MutexGuard<'static, ()>,
}

pub fn alone() -> Turn {
    static TURN: Mutex<()> = Mutex::new(());
    let lock = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    cpu::set_pool_limit(256 << 20);
    cpu::trim_pool();
    Turn { _lock: lock }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Otherwise this thread would return its small blocks when it ends, during the next turn.
        cpu::trim_pool();
    }
}

fn statistics() -> PoolStatistics {
    cpu::pool_statistics()
}

fn bytes(len: usize) -> Tensor {
    Tensor::full([len], 7, DType::U8, &Device::cpu()).unwrap()
}

/// Pseudorandom numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// Returns a size from 1 byte to 8 MiB, all orders of magnitude equally likely.
    fn size(&mut self) -> usize {
        let bits = self.below(24);
        1 + self.below(1 << bits)
    }
}

#[test]
fn freed_memory_is_used_again_and_zeroed_again() {
    let _turn = alone();
    for len in [1, 64, 65, 4096, 32 << 10, (32 << 10) + 1, 1 << 20, (2 << 20) + 1] {
        drop(bytes(len));
        let before = statistics();
        let zeros = Tensor::zeros([len], DType::U8, &Device::cpu()).unwrap();
        let after = statistics();
        assert_eq!(after.reused, before.reused + 1, "{len} bytes");
        assert_eq!(after.allocated, before.allocated, "{len} bytes");
        assert_eq!(after.kept_blocks, before.kept_blocks - 1, "{len} bytes");
        assert!(zeros.to_vec::<u8>().unwrap().iter().all(|&byte| byte == 0), "{len} bytes");
    }
}

#[test]
fn a_block_serves_every_size_of_its_class_and_no_other() {
    let _turn = alone();
    drop(bytes(1 << 20));
    let before = statistics();
    drop(bytes((1 << 20) - 1000));
    assert_eq!(statistics().reused, before.reused + 1);
    drop(bytes((1 << 20) + 1));
    drop(bytes(800 << 10));
    assert_eq!(statistics().reused, before.reused + 1);
    assert_eq!(statistics().allocated, before.allocated + 2);
}

#[test]
fn the_pool_never_keeps_more_than_its_limit() {
    let _turn = alone();
    let limit = 8 << 20;
    cpu::set_pool_limit(limit);
    assert_eq!(statistics().limit, limit);
    let tensors: Vec<Tensor> = (0..20).map(|_| bytes(1 << 20)).collect();
    drop(tensors);
    assert_eq!(statistics().kept_bytes, limit);
    drop(bytes(5 << 20));
    assert_eq!(statistics().kept_bytes, limit, "newer memory takes the place of older memory");
    drop(bytes(limit + 1));
    assert_eq!(statistics().kept_bytes, limit, "a block that cannot fit drives nothing out");
    cpu::set_pool_limit(6 << 20);
    assert!(statistics().kept_bytes <= 6 << 20);
}

#[test]
fn a_limit_of_zero_switches_the_pool_off() {
    let _turn = alone();
    cpu::set_pool_limit(0);
    let before = statistics();
    for len in [1, 1 << 10, 1 << 20] {
        drop(bytes(len));
        drop(bytes(len));
    }
    let after = statistics();
    assert_eq!((after.kept_bytes, after.kept_blocks), (0, 0));
    assert_eq!((after.reused, after.allocated), (before.reused, before.allocated + 6));
}

#[test]
fn trimming_gives_everything_back_and_no_more() {
    let _turn = alone();
    let used = statistics().used_bytes;
    let alive = bytes(1 << 20);
    for len in [1, 1 << 10, 1 << 20, 3 << 20] {
        drop(bytes(len));
    }
    assert!(statistics().kept_bytes > 4 << 20);
    cpu::trim_pool();
    let after = statistics();
    assert_eq!((after.kept_bytes, after.kept_blocks), (0, 0));
    assert_eq!(after.used_bytes, used + (1 << 20));
    assert!(alive.to_vec::<u8>().unwrap().iter().all(|&byte| byte == 7));
}

#[test]
fn idle_memory_is_given_back_without_any_call() {
    let _turn = alone();
    drop(bytes(4 << 20));
    assert_eq!(statistics().kept_bytes, 4 << 20);
    let end = Instant::now() + Duration::from_secs(30);
    while statistics().kept_bytes > 0 && Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(statistics().kept_bytes, 0);
}

#[test]
fn memory_that_cannot_be_had_is_an_error_and_empties_the_pool() {
    let _turn = alone();
    drop(bytes(4 << 20));
    let error = Tensor::zeros([1 << 50], DType::U8, &Device::cpu()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(statistics().kept_bytes, 0, "what was kept was given back for a second try");
    let used = statistics().used_bytes;
    for len in [isize::MAX as usize, (1 << 62) + 1] {
        assert!(Tensor::zeros([len], DType::U8, &Device::cpu()).is_err());
    }
    assert_eq!(statistics().used_bytes, used);
}

/// Creates tensors of all sizes and drops them in another order.
fn churn(seed: u64, rounds: usize) {
    let mut numbers = Numbers(seed);
    let mut alive: Vec<Option<Tensor>> = (0..16).map(|_| None).collect();
    for _ in 0..rounds {
        let place = numbers.below(alive.len());
        alive[place] = Some(bytes(numbers.size()));
    }
}

#[test]
fn a_long_run_is_a_flat_line() {
    let _turn = alone();
    let limit = 64 << 20;
    cpu::set_pool_limit(limit);
    let used = statistics().used_bytes;
    let mut resident = Vec::new();
    for seed in 0..12 {
        churn(seed, 300);
        let now = statistics();
        assert_eq!(now.used_bytes, used, "tensors are gone, their memory is not");
        assert!(now.kept_bytes <= limit + THREAD_BYTES, "{now:?}");
        resident.push(resident_bytes());
    }
    // The first rounds fill the pool; after that, nothing may grow.
    let (early, late) = (resident[3], resident[11]);
    assert!(late <= early + (48 << 20), "resident memory went from {early} to {late} bytes");
    let before = statistics();
    cpu::trim_pool();
    assert_eq!(statistics().kept_bytes, 0);
    assert!(before.reused > 0);
}

#[test]
fn the_same_work_needs_no_new_memory() {
    let _turn = alone();
    let work = || {
        let (x, y) = (bytes(1 << 20), bytes(1000));
        let shifted = (&x << 1).unwrap();
        drop((&shifted & &x).unwrap());
        drop((&y + 1).unwrap());
    };
    work();
    let before = statistics();
    for _ in 0..100 {
        work();
    }
    let after = statistics();
    assert_eq!(after.allocated, before.allocated);
    assert_eq!(after.kept_bytes, before.kept_bytes);
    assert_eq!(after.reused, before.reused + 500);
}

#[test]
fn threads_that_come_and_go_lose_nothing() {
    let _turn = alone();
    let used = statistics().used_bytes;
    for wave in 0..4 {
        thread::scope(|scope| {
            let churn = |seed: u64| scope.spawn(move || churn(100 * wave + seed, 100));
            let threads: Vec<_> = (0..6).map(churn).collect();
            // Join the threads: the scope alone would wait for their closures only, not for the threads to end.
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert_eq!(statistics().used_bytes, used, "wave {wave}");
    }
    cpu::trim_pool();
    assert_eq!(statistics().kept_bytes, 0, "threads that have ended keep nothing");
}

#[test]
fn memory_may_be_freed_by_another_thread() {
    let _turn = alone();
    let used = statistics().used_bytes;
    let (sender, receiver) = mpsc::sync_channel::<Tensor>(8);
    let consumer = thread::spawn(move || {
        let mut sum = 0usize;
        for tensor in receiver {
            sum +=
                tensor.to_vec::<u8>().unwrap().iter().map(|&byte| usize::from(byte)).sum::<usize>();
        }
        (sum, statistics().kept_bytes)
    });
    let mut numbers = Numbers(5);
    let mut expected = 0;
    for _ in 0..2000 {
        let len = 1 + numbers.below(60_000);
        expected += 7 * len;
        sender.send(bytes(len)).unwrap();
    }
    drop(sender);
    let (sum, kept) = consumer.join().unwrap();
    assert_eq!(sum, expected, "no block was handed out twice");
    assert!(kept <= statistics().limit + 2 * THREAD_BYTES);
    assert_eq!(statistics().used_bytes, used);
}

#[test]
fn tensors_may_outlive_their_thread_and_its_destructors() {
    struct Late(Option<Tensor>);

    impl Drop for Late {
        fn drop(&mut self) {
            // Runs while the thread ends, possibly after its small blocks have been returned.
            drop(self.0.take());
            drop(bytes(100));
        }
    }

    thread_local! {
        static LATE: std::cell::RefCell<Late> = const { std::cell::RefCell::new(Late(None)) };
    }

    let _turn = alone();
    let used = statistics().used_bytes;
    for first in [true, false] {
        let survivor = thread::spawn(move || {
            let keep = || LATE.with(|late| late.borrow_mut().0 = Some(bytes(200)));
            if first {
                keep();
            }
            let survivor = bytes(300);
            keep();
            survivor
        });
        let survivor = survivor.join().unwrap();
        assert_eq!(statistics().used_bytes, used + 320);
        assert_eq!(survivor.to_vec::<u8>().unwrap(), [7; 300]);
    }
    assert_eq!(statistics().used_bytes, used);
}

/// Returns the resident memory of this process.
#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[cfg(not(target_os = "linux"))]
fn resident_bytes() -> usize {
    let now = statistics();
    now.used_bytes + now.kept_bytes
}

#[cfg(unix)]
mod forked {
    use super::*;

    /// Runs a function in a forked process and returns whether it returned `true` within a minute.
    fn in_a_fork(function: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child has a copy of this process's memory and only the calling thread. It uses the pool, whose
        // locks never block, and exits without running destructors.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "there can be no other process");
        if child == 0 {
            let code = i32::from(!function());
            // SAFETY: `_exit` is always safe to call; it ends the process.
            unsafe { libc::_exit(code) }
        }
        let end = Instant::now() + Duration::from_secs(60);
        let mut status = 0;
        loop {
            // SAFETY: the child belongs to this process, and `status` is a valid place for its status.
            match unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } {
                0 if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
                0 => {
                    // SAFETY: the child has not been waited for, so its process ID has not been reused.
                    unsafe { libc::kill(child, libc::SIGKILL) };
                    // SAFETY: as above.
                    unsafe { libc::waitpid(child, &mut status, 0) };
                    return false;
                }
                _ => return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
            }
        }
    }

    #[test]
    fn a_forked_process_goes_on_with_its_copy_of_the_pool() {
        let _turn = alone();
        drop(bytes(4 << 20));
        assert!(in_a_fork(|| {
            let before = statistics();
            drop(bytes(4 << 20));
            statistics().reused == before.reused + 1
        }));
        assert_eq!(statistics().kept_bytes, 4 << 20, "the child's doings are its own");
    }

    #[test]
    fn forks_amid_the_work_of_other_threads_do_not_hang() {
        let _turn = alone();
        let stop = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            for seed in 0..3 {
                let stop = &stop;
                scope.spawn(move || {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        churn(seed, 20);
                    }
                });
            }
            // Some of these forks happen while another thread holds a lock of the pool.
            let done = (0..20).all(|seed| {
                in_a_fork(|| {
                    churn(seed, 20);
                    true
                })
            });
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(done, "a forked process hangs");
        });
    }
}

/// What an expression would give is told without memory, also where it has reductions inside or is packed in parts.
#[test]
fn dtypes_and_shapes_of_expressions_take_no_memory() {
    let _turn = alone();
    let x = Tensor::arange(3 << 20, DType::I32, &Device::cpu()).unwrap();
    let x = x.reshape([3, 1 << 20]).unwrap();
    let centred = &x.expr() - &x.expr().max_keepdims(0);
    // The last values are no whole word, so that they are packed apart, and the operand is computed for that.
    let packing = Packing::new(4, DType::U32);
    let packed = (x.expr() & 7).narrow(1, 0, 1_000_003).pack(&packing, 1);
    let unpacked = x.transpose(0, 1).unwrap().into_expr().bitcast(DType::U32).unpack(&packing, 0);
    let shapes = [vec![3, 1 << 20], vec![3, 125_001], vec![8 << 20, 3]];
    let dtypes = [DType::I32, DType::U32, DType::U8];
    for (expr, (shape, dtype)) in
        [centred, packed, unpacked].iter().zip(shapes.into_iter().zip(dtypes))
    {
        cpu::trim_pool();
        let before = statistics();
        assert_eq!((expr.shape().unwrap(), expr.dtype().unwrap()), (shape, dtype), "{expr}");
        let after = statistics();
        assert_eq!(
            (after.allocated, after.reused),
            (before.allocated, before.reused),
            "{expr} took memory"
        );
    }
}
