//! Many threads use the same tensors, including in-place operations (docs/semantics.md, section 10): every operation is
//! atomic with respect to all others, nothing tears, and nothing deadlocks.
//!
//! ThreadSanitizer finds what a lucky schedule hides. With a nightly toolchain and its `rust-src`:
//!
//! ```text
//! RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std \
//!     --target x86_64-unknown-linux-gnu --test interface concurrency::
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use crate::devices::devices;
use bitlane::{BinaryOp, DType, Device, Shift, Tensor, binary};

const THREADS: usize = 8;

/// Fails if the work takes so long that it must have deadlocked.
fn without_a_deadlock(name: &str, work: impl FnOnce() + Send + 'static) {
    // Finding the devices may take a while, because the virtual driver may have to be built; do not count that.
    devices();
    let (done, wait) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        // The receiver is gone if the wait has timed out.
        let _ = done.send(());
    });
    match wait.recv_timeout(Duration::from_secs(100)) {
        Ok(()) => worker.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{name}: threads wait for each other"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(worker.join().unwrap_err())
        }
    }
}

/// Runs a function in many threads that start together.
fn in_many_threads(work: impl Fn(usize) + Sync) {
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (work, start) = (&work, &start);
            scope.spawn(move || {
                start.wait();
                work(number);
            });
        }
    });
}

/// Returns a size that one thread processes, and one that the backend splits among its threads.
fn sizes(device: &Device) -> [(usize, i32); 2] {
    if device.to_string() == "cpu" {
        [(1000, 200), (200_000, 6)]
    } else {
        [(1000, 20), (150_000, 3)]
    }
}

#[test]
fn every_in_place_operation_counts_once() {
    without_a_deadlock("in place", || {
        for device in devices() {
            for (len, rounds) in sizes(&device) {
                let x = Tensor::zeros([len], DType::I32, &device).unwrap();
                in_many_threads(|number| {
                    // Each thread writes through its own view: the whole tensor, or reversed.
                    let mut own = if number % 2 == 0 { x.clone() } else { x.flip(0).unwrap() };
                    for _ in 0..rounds {
                        own.add_assign(1).unwrap();
                    }
                });
                let expected = rounds * THREADS as i32;
                let elements = x.to_vec::<i32>().unwrap();
                assert!(elements.iter().all(|&value| value == expected), "an addition was lost");
            }
        }
    });
}

#[test]
fn readers_see_an_operation_whole_or_not_at_all() {
    without_a_deadlock("readers", || {
        for device in devices() {
            for (len, rounds) in sizes(&device) {
                let x = Tensor::zeros([len], DType::I32, &device).unwrap();
                let done = AtomicBool::new(false);
                thread::scope(|scope| {
                    for reader in 0..THREADS / 2 {
                        let (x, done) = (&x, &done);
                        scope.spawn(move || {
                            let mut last = 0;
                            while !done.load(Ordering::Acquire) {
                                let seen = match reader % 3 {
                                    0 => x.to_vec::<i32>(),
                                    1 => x.flip(0).unwrap().to_vec::<i32>(),
                                    _ => x.add(0).unwrap().to_vec::<i32>(),
                                };
                                let seen = seen.unwrap();
                                assert!(seen.iter().all(|&value| value == seen[0]), "a torn read");
                                assert!(seen[0] >= last, "time ran backwards");
                                last = seen[0];
                            }
                        });
                    }
                    let mut own = x.clone();
                    let mut write = || (0..rounds).try_for_each(|_| own.add_assign(1));
                    let outcome = write();
                    done.store(true, Ordering::Release);
                    outcome.unwrap();
                });
                assert_eq!(x.to_vec::<i32>().unwrap()[0], rounds);
            }
        }
    });
}

#[test]
fn any_order_of_operands_comes_to_an_end() {
    without_a_deadlock("orders", || {
        for device in devices() {
            let rounds = if device.to_string() == "cpu" { 300 } else { 20 };
            let tensors: Vec<_> =
                (0..3).map(|_| Tensor::ones([257], DType::I64, &device).unwrap()).collect();
            let mask = Tensor::ones([257], DType::Bool, &device).unwrap();
            in_many_threads(|number| {
                for round in 0..rounds {
                    let order = number + round;
                    let pick =
                        |offset: usize| tensors[(order * (number % 2 + 1) + offset) % 3].clone();
                    let (x, y, mut out) = (pick(0), pick(1), pick(number % 3));
                    let call = binary(BinaryOp::BitwiseOr, &x, &y).out(&mut out);
                    if number % 4 == 0 { call.mask(&mask).run() } else { call.run() }.unwrap();
                    if number == 3 {
                        let mut mask = mask.clone();
                        mask.logical_or_assign(true).unwrap();
                    }
                }
            });
            // OR of ones is one, in any order.
            for tensor in &tensors {
                assert!(tensor.to_vec::<i64>().unwrap().iter().all(|&value| value == 1));
            }
        }
    });
}

#[test]
fn overlapping_views_are_written_one_after_the_other() {
    without_a_deadlock("overlapping views", || {
        for device in devices() {
            let rounds = if device.to_string() == "cpu" { 200 } else { 10 };
            let len = 3000;
            let x = Tensor::zeros([len], DType::I32, &device).unwrap();
            in_many_threads(|number| {
                // Neighbouring windows that share a third of their elements.
                let mut window = x.narrow(0, number * 250, 1000).unwrap();
                for _ in 0..rounds {
                    window.subtract_assign(1).unwrap();
                }
            });
            for (place, value) in x.to_vec::<i32>().unwrap().into_iter().enumerate() {
                let windows = (0..THREADS).filter(|n| (n * 250..n * 250 + 1000).contains(&place));
                assert_eq!(value, -(rounds * windows.count() as i32), "place {place}");
            }
        }
    });
}

#[test]
fn a_write_that_reads_its_neighbour_keeps_all_of_it() {
    without_a_deadlock("neighbours", || {
        for device in devices() {
            let rounds = if device.to_string() == "cpu" { 100 } else { 5 };
            // Each half is added to the other. The values depend on the order, but all elements of a half stay equal,
            // which a partial operation would break.
            let x = Tensor::ones([2000], DType::U64, &device).unwrap();
            let halves = [x.narrow(0, 0, 1000).unwrap(), x.narrow(0, 1000, 1000).unwrap()];
            in_many_threads(|number| {
                let (mut to, from) = (halves[number % 2].clone(), &halves[1 - number % 2]);
                for _ in 0..rounds {
                    to.add_assign(from).unwrap();
                }
            });
            for half in &halves {
                let elements = half.to_vec::<u64>().unwrap();
                assert!(elements.iter().all(|&value| value == elements[0]), "a torn operation");
            }
        }
    });
}

#[test]
fn an_operation_by_way_of_a_temporary_is_one_step_too() {
    without_a_deadlock("temporaries", || {
        for device in devices() {
            for _ in 0..20 {
                // Adding the first element to all elements, including itself, doubles every element if all are equal;
                // no other operation may come between reading and writing.
                let x = Tensor::ones([3000], DType::U64, &device).unwrap();
                let first = x.narrow(0, 0, 1).unwrap().broadcast_to([3000]).unwrap();
                in_many_threads(|_| {
                    let mut own = x.clone();
                    for _ in 0..7 {
                        own.add_assign(&first).unwrap();
                    }
                });
                let expected = 1 << (7 * THREADS);
                assert!(x.to_vec::<u64>().unwrap().iter().all(|&value| value == expected));
            }
        }
    });
}

#[test]
fn tensors_die_on_any_thread() {
    without_a_deadlock("drops", || {
        for device in devices() {
            let (send, receive) = mpsc::channel::<Tensor>();
            let reader = thread::spawn(move || {
                let mut sum = 0;
                for tensor in receive {
                    sum += i64::from(tensor.to_vec::<i32>().unwrap()[0]);
                }
                sum
            });
            in_many_threads(|number| {
                for round in 0..20 {
                    let x = Tensor::full([100], number as i32, DType::I32, &device).unwrap();
                    let y = x.bitwise_left_shift(1, Shift::Arithmetic).unwrap();
                    // The view outlives the tensor it was made from, and both are dropped on another thread.
                    send.send(y.slice(0, round..).unwrap()).unwrap();
                }
            });
            drop(send);
            assert_eq!(reader.join().unwrap(), 20 * 2 * (0..THREADS as i64).sum::<i64>());
        }
    });
}

#[test]
fn everything_is_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    shared::<Tensor>();
    shared::<Device>();
    shared::<bitlane::Error>();
    shared::<bitlane::Operand<'static>>();
    shared::<bitlane::Binary<'static>>();
}

#[test]
fn workers_of_a_thread_pool_do_not_wait_for_themselves() {
    use rayon::prelude::*;
    without_a_deadlock("a thread pool", || {
        for device in devices() {
            for (len, rounds) in sizes(&device) {
                let x = Tensor::zeros([len], DType::I32, &device).unwrap();
                // Each worker waits for the previous one to release the tensor, and must not start another of these
                // operations in the middle of its own.
                (0..rounds).into_par_iter().for_each(|_| x.clone().add_assign(1).unwrap());
                assert!(x.to_vec::<i32>().unwrap().iter().all(|&value| value == rounds));
            }
        }
    });
}
