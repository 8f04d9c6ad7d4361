//! Random programs in which driver calls fail. Afterwards every tensor must equal its counterpart on the CPU, the
//! virtual driver must have detected no error, and all memory must have been freed.
//!
//! The tests take a minute together; `BITLANE_FUZZ_SECONDS` sets the duration of each. A failure prints the seed and
//! the steps of its program; `BITLANE_FUZZ_SEED` sets the first seed.

mod program;

use std::env;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bitlane::{DType, Device, Tensor};

use self::program::{LEN, Pair, Program, elements};
use crate::model::random::Random;
use crate::virtual_driver::{Driver, isolated};

/// The driver functions that operations call, each of which may fail.
const FUNCTIONS: [&str; 24] = [
    "*",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuEventCreate",
    "cuEventDestroy",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuLaunchKernel",
    "cuMemAlloc",
    "cuMemAllocFromPoolAsync",
    "cuMemFree",
    "cuMemFreeAsync",
    "cuMemHostAlloc",
    "cuMemPoolTrimTo",
    "cuMemcpyDtoHAsync",
    "cuMemcpyHtoDAsync",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuStreamIsCapturing",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuThreadExchangeStreamCaptureMode",
];

/// Invalid value, out of memory, invalid handle, unknown error, and a code that does not exist.
const CODES: [u32; 5] = [1, 2, 400, 999, 12345];

/// The functions that fail in a round: only a few, so that the same ones fail repeatedly.
struct Faults([&'static str; 3]);

impl Faults {
    fn new(random: &mut Random) -> Faults {
        Faults([(); 3].map(|()| FUNCTIONS[random.below(FUNCTIONS.len())]))
    }

    /// Returns a rule for the virtual driver: which call fails, and with which code.
    fn next(&self, random: &mut Random) -> String {
        let function = self.0[random.below(self.0.len())];
        let code = CODES[random.below(CODES.len())];
        match (function, random.below(6)) {
            (_, 0) => format!("{function}:*:{code}"),
            ("*", _) => format!("*:{}:{code}", 1 + random.below(16)),
            _ => format!("{function}:{}:{code}", 1 + random.below(3)),
        }
    }
}

/// Runs rounds with consecutive seeds until the time is up.
fn rounds(seconds: u64, mut round: impl FnMut(u64)) {
    let number = |name: &str| env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let seconds = number("BITLANE_FUZZ_SECONDS").unwrap_or(seconds);
    let end = Instant::now() + Duration::from_secs(seconds);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    let first = number("BITLANE_FUZZ_SEED").unwrap_or(now);
    for seed in first.. {
        round(seed);
        if Instant::now() > end {
            println!("seeds {first} to {seed} passed");
            return;
        }
    }
}

/// Returns three streams on each of two devices, and sets when the virtual driver executes queued work.
fn streams(driver: &Driver, random: &mut Random) -> [Vec<Device>; 2] {
    let when = match random.below(8) {
        0 => "eager".into(),
        1..4 => "lazy".into(),
        _ => format!("seed:{}", random.below(1000)),
    };
    driver.set("async", &when);
    [0, 1].map(|ordinal| {
        let device = Device::cuda(ordinal).unwrap();
        let others = [(); 2].map(|()| device.with_new_stream().unwrap());
        [device].into_iter().chain(others).collect()
    })
}

/// Checks after a round that the virtual driver has detected no error and that all memory is freed.
fn expect_nothing_left(driver: &Driver, seed: u64) {
    driver.set("fail", "");
    for ordinal in 0..2 {
        let device = Device::cuda(ordinal).unwrap();
        device.synchronize().unwrap();
        bitlane::cuda::trim_pool(&device).unwrap();
    }
    assert_eq!(driver.report(), "[]", "seed {seed}");
    assert_eq!(driver.allocations(), 0, "seed {seed}: something was not freed");
}

/// Runs a program on one thread. Some steps fail, and a few steps later all tensors are compared. They are not compared
/// at once, because a comparison waits for all work and so would hide a wrong order.
fn one_thread(driver: &Driver, seed: u64) {
    let mut random = Random::new(seed ^ 0x5eed);
    let (streams, faults) = (streams(driver, &mut random), Faults::new(&mut random));
    let mut program = Program::new(seed, &streams, &[]);
    let mut compare_in = None;
    for _ in 0..80 {
        let armed = random.below(3) == 0;
        if armed {
            let fault = faults.next(&mut random);
            driver.set("fail", &fault);
            program.note(format!("fails: {fault}"));
        }
        let outcome = program.step();
        driver.set("fail", "");
        if let Err(error) = outcome {
            assert!(armed, "seed {seed}: failed without a fault: {error}");
            compare_in = compare_in.or(Some(random.below(12)));
        }
        compare_in = match compare_in {
            Some(0) => {
                program.compare();
                assert_eq!(driver.report(), "[]", "seed {seed}");
                None
            }
            steps => steps.map(|steps: usize| steps - 1),
        };
    }
    program.compare();
    drop((program, streams));
    expect_nothing_left(driver, seed);
}

pub fn programs_whose_calls_fail() {
    let variables = &[("VCUDA_DEVICES", "2"), ("VCUDA_NO_POOLS", "0")];
    isolated(module_path!(), "programs_whose_calls_fail", variables, |driver| {
        rounds(30, |seed| one_thread(driver, seed));
    });
}

pub fn programs_without_pools_whose_calls_fail() {
    let variables = &[("VCUDA_DEVICES", "2"), ("VCUDA_NO_POOLS", "1")];
    isolated(module_path!(), "programs_without_pools_whose_calls_fail", variables, |driver| {
        rounds(10, |seed| one_thread(driver, seed));
    });
}

/// Runs programs on several threads, which read the same tensors and add to the same ones, while driver calls fail at
/// any time.
fn many_threads(driver: &Driver, seed: u64) {
    let mut random = Random::new(seed ^ 0x5eed);
    let (streams, faults) = (streams(driver, &mut random), Faults::new(&mut random));
    let shared: Vec<_> = (0..4)
        .map(|at| Pair::upload(&elements(&mut random), at % 2, &streams[at % 2][at / 2]).unwrap())
        .collect();
    let sums =
        [0, 1].map(|ordinal| Tensor::zeros([LEN], DType::I32, &streams[ordinal][1]).unwrap());
    let added = [const { AtomicI32::new(0) }; 2];
    // Held for reading during comparisons, so that no call fails meanwhile.
    let calm = RwLock::new(());
    let done = AtomicBool::new(false);
    let run = |seed: u64| {
        let mut program = {
            let _calm = calm.read().unwrap();
            Program::new(seed, &streams, &shared)
        };
        for _ in 0..60 {
            let _ = program.step();
            let ordinal = program.random.below(2);
            let stream = &streams[ordinal][program.random.below(3)];
            let sum = sums[ordinal].to_device(stream);
            if sum.and_then(|mut sum| sum.add_assign(1)).is_ok() {
                added[ordinal].fetch_add(1, Ordering::Relaxed);
            }
            if program.random.below(12) == 0 {
                let _calm = calm.read().unwrap();
                program.compare();
            }
        }
        let _calm = calm.read().unwrap();
        program.compare();
    };
    thread::scope(|scope| {
        let start = |at| scope.spawn(move || run(seed.wrapping_mul(3) + at));
        let programs: Vec<_> = (0..3).map(start).collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _turmoil = calm.write();
                driver.set("fail", &faults.next(&mut random));
                thread::sleep(Duration::from_micros(random.below(1500) as u64));
                driver.set("fail", "");
            }
        });
        let outcomes: Vec<_> = programs.into_iter().map(|program| program.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(outcomes.iter().all(Result::is_ok), "seed {seed}");
    });
    for pair in &shared {
        pair.compare("a shared tensor");
    }
    for (sum, added) in sums.iter().zip(&added) {
        let added = added.load(Ordering::Relaxed);
        assert_eq!(sum.to_vec::<i32>().unwrap(), [added; LEN], "seed {seed}");
    }
    drop((shared, sums, streams));
    expect_nothing_left(driver, seed);
}

pub fn threads_whose_calls_fail() {
    let variables = &[("VCUDA_DEVICES", "2"), ("VCUDA_NO_POOLS", "0")];
    isolated(module_path!(), "threads_whose_calls_fail", variables, |driver| {
        rounds(20, |seed| many_threads(driver, seed));
    });
}
