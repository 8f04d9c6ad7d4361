//! More threads than any machine has use for are not started.

use std::process::Command;
use std::thread::available_parallelism;
use std::{env, str};

use bitlane::{DType, Device, Tensor, cpu};

/// Enough elements for the work to be split among threads.
const LEN: usize = 4 << 20;

/// Set in the process that the test starts.
const CHILD: &str = "BITLANE_TEST_CHILD";

/// In a process of its own, because the number of threads is settled when the first of them starts.
#[test]
fn an_absurd_number_of_threads_is_limited() {
    if env::var_os(CHILD).is_some() {
        return ask_for_too_many();
    }
    let name = "threads::an_absurd_number_of_threads_is_limited";
    let mut child = Command::new(env::current_exe().unwrap());
    let output = child.args(["--exact", name]).env(CHILD, "1").output().unwrap();
    let text = str::from_utf8(&output.stdout).unwrap();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn ask_for_too_many() {
    let limit = available_parallelism().map_or(1, usize::from).max(256);
    cpu::set_threads(usize::MAX);
    assert_eq!(cpu::threads(), limit);
    let sum = (&Tensor::ones([LEN], DType::I32, &Device::cpu()).unwrap() + 41).unwrap();
    assert!(sum.to_vec::<i32>().unwrap().iter().all(|&x| x == 42));
    assert!((1..=limit).contains(&cpu::threads()), "{}", cpu::threads());
    #[cfg(target_os = "linux")]
    {
        // The threads of the test itself are a few more.
        let started = std::fs::read_dir("/proc/self/task").unwrap().count();
        assert!(started < limit + 16, "{started} threads");
    }
    cpu::set_threads(2);
    assert!(cpu::threads() <= 2);
}
