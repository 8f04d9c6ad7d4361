//! Order between work items: a program in which every wait is needed, with each of them left out in turn.

mod support;
use std::ffi::c_void;
use support::driver::*;
use support::faults::kernel;
use support::{Gpu, event, report, stream};

const WHEN: [&str; 5] = ["lazy", "eager", "seed:1", "seed:2", "seed:3"];
const BYTES: usize = 1024;

fn gpu(when: &str) -> Gpu {
    Gpu::new(&[("order", "1"), ("async", when)])
}

/// Two streams on the same memory, with the waits between them.
struct Program {
    gpu: Gpu,
    /// The wait that is left out.
    without: usize,
    waits: usize,
    streams: [u64; 2],
    read: u64,
    write: u64,
}

impl Program {
    fn new(when: &str, without: usize) -> Program {
        let gpu = gpu(when);
        let function = |body: &str| gpu.function(gpu.load(&kernel(body)), "k");
        let read = function("ld.global.u32 %r6, [%rd2];");
        let write = function("st.global.u32 [%rd2], %r5;");
        Program { without, waits: 0, streams: [stream(1), stream(1)], read, write, gpu }
    }

    /// A program without one of its waits may fail at any later call.
    fn check(&self, code: u32) {
        assert!(code == 0 || self.without != usize::MAX, "{code}: {}", report());
    }

    /// Counts a wait and returns whether it is made.
    fn waits(&mut self) -> bool {
        self.waits += 1;
        self.waits - 1 != self.without
    }

    /// Lets one stream wait for the other.
    fn order(&mut self, first: usize, then: usize) {
        if self.waits() {
            let mut e = 0;
            unsafe {
                self.check(cuEventCreate(&mut e, 0));
                self.check(cuEventRecord(e, self.streams[first]));
                self.check(cuStreamWaitEvent(self.streams[then], e, 0));
            }
        }
    }

    fn launch(&self, f: u64, stream: usize, memory: u64) {
        self.check(self.gpu.launch_on(
            f,
            [2, 1, 1],
            [128, 1, 1],
            0,
            self.streams[stream],
            &[memory, 0],
        ));
    }

    /// Runs everything and returns the number of waits.
    fn run(&mut self) -> usize {
        let (mut memory, mut host) = (0, vec![0u8; BYTES]);
        let [a, b] = self.streams;
        unsafe {
            // Use of memory that another stream has allocated.
            self.check(cuMemAllocAsync(&mut memory, BYTES, a));
            self.order(0, 1);
            self.check(cuMemsetD8Async(memory, 1, BYTES, b));
            // A kernel after a fill, a kernel after a kernel that wrote, a write after a read.
            self.order(1, 0);
            self.launch(self.write, 0, memory);
            self.order(0, 1);
            self.launch(self.read, 1, memory);
            self.order(1, 0);
            self.launch(self.write, 0, memory);
            // A copy after a kernel, and a kernel after a copy.
            self.order(0, 1);
            self.check(cuMemcpyHtoDAsync_v2(memory, host.as_ptr().cast(), BYTES, b));
            self.order(1, 0);
            self.launch(self.read, 0, memory);
            // The host's wait before a copy on the legacy stream, which non-blocking streams do not wait for.
            self.launch(self.write, 0, memory);
            if self.waits() {
                self.check(cuStreamSynchronize(a));
            }
            let _ = cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), memory, BYTES);
            // A free after the last use.
            self.launch(self.read, 0, memory);
            self.order(0, 1);
            self.check(cuMemFreeAsync(memory, b));
        }
        self.gpu.sync();
        self.waits
    }
}

#[test]
fn every_wait_that_is_left_out_is_found() {
    for when in WHEN {
        // The findings are those of this program while it lives, since tests take turns.
        let mut whole = Program::new(when, usize::MAX);
        let waits = whole.run();
        assert_eq!(report(), "[]", "{when}");
        assert_eq!(waits, 8);
        drop(whole);
        for without in 0..waits {
            let mut program = Program::new(when, without);
            program.run();
            let found = report();
            // Work that runs before memory is made or after it is freed fails as on a device.
            let kinds = ["\"race\"", "\"out-of-bounds\"", "\"use-after-free\""];
            assert!(
                kinds.iter().any(|kind| found.contains(kind)),
                "{when}, wait {without}: {found}"
            );
        }
    }
}

#[test]
fn the_report_names_both() {
    let mut p = Program::new("lazy", 1);
    p.run();
    let found = report();
    assert!(found.contains("a fill of 1024 bytes"), "{found}");
    assert!(found.contains("not ordered with kernel k on stream"), "{found}");
    drop(p);
    let mut p = Program::new("eager", 1);
    p.run();
    assert!(report().contains("not ordered with a fill on stream"), "{}", report());
}

#[test]
fn what_is_ordered_is_no_race() {
    for when in WHEN {
        let gpu = gpu(when);
        let write = gpu.function(gpu.load(&kernel("st.global.u32 [%rd2], %r5;")), "k");
        let memory = gpu.zeros(BYTES);
        let (blocking, a, b) = (stream(0), stream(1), stream(1));
        let launch = |stream, at| {
            assert_eq!(gpu.launch_on(write, [1, 1, 1], [64, 1, 1], 0, stream, &[at, 0]), 0)
        };
        // The legacy stream and the streams that block on it.
        launch(0, memory);
        launch(blocking, memory);
        launch(0, memory);
        assert_eq!(gpu.sync(), 0);
        // Different bytes of one allocation.
        launch(a, memory);
        launch(b, memory + 512);
        assert_eq!(gpu.sync(), 0);
        // An event that is passed on, and the host's wait for one.
        let (first, second) = (event(), event());
        unsafe {
            launch(a, memory);
            assert_eq!(cuEventRecord(first, a), 0);
            assert_eq!(cuStreamWaitEvent(blocking, first, 0), 0);
            assert_eq!(cuEventRecord(second, blocking), 0);
            assert_eq!(cuStreamWaitEvent(b, second, 0), 0);
            launch(b, memory);
            assert_eq!(cuEventRecord(first, b), 0);
            assert_eq!(cuEventSynchronize(first), 0);
            launch(a, memory);
            while cuStreamQuery(a) == 600 {}
            launch(b, memory);
        }
        assert_eq!(gpu.sync(), 0);
        assert_eq!(report(), "[]", "{when}");
    }
}

#[test]
fn a_host_function_may_tell_the_program_that_work_is_complete() {
    extern "C" fn tell(flag: *mut c_void) {
        // SAFETY: the flag outlives the call.
        unsafe { &*flag.cast::<std::sync::atomic::AtomicBool>() }
            .store(true, std::sync::atomic::Ordering::Release);
    }
    let gpu = gpu("lazy");
    let write = gpu.function(gpu.load(&kernel("st.global.u32 [%rd2], %r5;")), "k");
    let memory = gpu.zeros(BYTES);
    let flag = std::sync::atomic::AtomicBool::new(false);
    let (a, b) = (stream(1), stream(1));
    assert_eq!(gpu.launch_on(write, [1, 1, 1], [64, 1, 1], 0, a, &[memory, 0]), 0);
    let data = std::ptr::from_ref(&flag) as *mut c_void;
    assert_eq!(unsafe { cuLaunchHostFunc(a, tell as *mut c_void, data) }, 0);
    while !flag.load(std::sync::atomic::Ordering::Acquire) {
        std::thread::yield_now();
    }
    assert_eq!(unsafe { cuStreamSynchronize(a) }, 0);
    assert_eq!(gpu.launch_on(write, [1, 1, 1], [64, 1, 1], 0, b, &[memory, 0]), 0);
    assert_eq!(gpu.sync(), 0);
    assert_eq!(report(), "[]");
}

/// A flag that one warp sets and another reads, without a barrier: by number, warp 0 always comes first.
#[test]
fn warps_run_in_the_order_of_the_seed() {
    let body = "setp.eq.u32 %p1, %r2, 0; @%p1 st.volatile.global.u32 [%rd1], 1; bar.warp.sync 0xffffffff;
        ld.volatile.global.u32 %r6, [%rd1]; setp.eq.u32 %p2, %r2, 992; @%p2 st.volatile.global.u32 [%rd1+4], %r6;";
    let seen = |warps: &str| {
        let gpu = Gpu::new(&[("warps", warps), ("report", "all")]);
        let f = gpu.function(gpu.load(&kernel(body)), "k");
        let memory = gpu.zeros(BYTES);
        gpu.run(f, 1, 1024, &[memory, 0]);
        gpu.download::<u32>(memory, 2)[1]
    };
    assert_eq!(seen("0"), 1);
    let results: Vec<u32> = (1..12).map(|seed| seen(&format!("seed:{seed}"))).collect();
    assert!(results.contains(&0) && results.contains(&1), "{results:?}");
    assert_eq!(results, (1..12).map(|seed| seen(&seed.to_string())).collect::<Vec<u32>>());
}
