//! A process forked after the CPU backend's threads have started has none of them, and computes on its only thread.

use std::time::{Duration, Instant};

use super::cpu_pool::alone;
use bitlane::{DType, Device, Tensor, cpu};

/// Enough elements for the work to be split among threads.
const LEN: usize = 4 << 20;

fn computes() -> bool {
    let sum = Tensor::ones([LEN], DType::I32, &Device::cpu()).and_then(|x| &x + 41);
    sum.and_then(|sum| sum.to_vec::<i32>()).is_ok_and(|sum| sum.iter().all(|&x| x == 42))
}

/// Runs a function in a forked process and returns whether it returned `true` within a minute.
fn in_a_fork(function: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child has a copy of this process's memory and only the calling thread. It computes, takes no lock
    // that another thread could have held, and exits without running destructors.
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
            0 if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
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
fn a_forked_process_computes_without_the_threads() {
    let _turn = alone();
    assert!(computes(), "the threads are started");
    assert!(in_a_fork(computes), "a forked process hangs, or computes something else");
    assert!(in_a_fork(|| cpu::threads() == 1), "a forked process believes that it has threads");
    // So does a child of the child, and the parent continues as before.
    assert!(in_a_fork(|| computes() && in_a_fork(computes)));
    assert!(computes());
}
