//! A process that was forked after the CPU's threads have started has none of them, and computes on
//! its own.

#![cfg(all(feature = "cpu", unix))]

use std::time::{Duration, Instant};

use bitlane::{DType, Device, Tensor};

/// Enough elements for the threads to share the work.
const LEN: usize = 4 << 20;

fn computes() -> bool {
    let sum = Tensor::ones([LEN], DType::I32, &Device::cpu()).and_then(|x| &x + 41);
    sum.and_then(|sum| sum.to_vec::<i32>()).is_ok_and(|sum| sum.iter().all(|&x| x == 42))
}

/// Runs a function in a forked process, and says whether it was true within a minute.
fn in_a_fork(function: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child has the memory of this process and the calling thread alone. It computes,
    // takes no lock that another thread could have held, and ends without running destructors.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "there can be no other process");
    if child == 0 {
        let code = i32::from(!function());
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) }
    }
    let end = Instant::now() + Duration::from_secs(60);
    let mut status = 0;
    loop {
        // SAFETY: the child is this process' own, and its status is written to an int.
        match unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } {
            0 if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            0 => {
                // SAFETY: the child has not been waited for, so the number is still its own.
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
    assert!(computes(), "the threads are started");
    assert!(in_a_fork(computes), "a forked process hangs, or computes something else");
    // So does the process that a forked one forks, and the first one goes on as before.
    assert!(in_a_fork(|| computes() && in_a_fork(computes)));
    assert!(computes());
}
