//! Findings that hardware would go on after: by setting they are reported and not fatal, or not even reported.

mod support;
use support::driver::*;
use support::faults::kernel;
use support::{Gpu, report, set, stream};

const RACE: &str =
    "st.global.u32 [%rd1], %r5; ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd2], %r6;";
const RACE_IN_SHARED: &str = "st.shared.u32 [fixed], %r5; st.global.u32 [%rd2], 1;";
const UNINITIALISED: &str = "ld.global.u32 %r6, [%rd1+1024]; st.global.u32 [%rd2], 1;";
const UNINITIALISED_SHARED: &str = "ld.shared.u32 %r6, [fixed]; st.global.u32 [%rd2], %r6;";
const UNINITIALISED_LOCAL: &str =
    "ld.local.u32 %r6, [depot]; add.u32 %r6, %r6, 1; st.global.u32 [%rd2], %r6;";
const READ_ONLY: &str = "ld.global.nc.u32 %r6, [%rd2]; st.global.u32 [%rd2], 1;";
const WRONG_MASK: &str =
    "mov.u32 %r6, 1; shfl.sync.idx.b32 %r7, %r5, 0, 31, 2; st.global.u32 [%rd2], 1;";

/// Each finding with a kernel that has it.
const CASES: [(&str, &str); 7] = [
    ("race", RACE),
    ("race", RACE_IN_SHARED),
    ("uninitialised-read", UNINITIALISED),
    ("uninitialised-read", UNINITIALISED_SHARED),
    ("uninitialised-read", UNINITIALISED_LOCAL),
    ("readonly-written", READ_ONLY),
    ("wrong-synchronisation", WRONG_MASK),
];

/// Runs a kernel of 32 threads: the error, the report, and whether the last thread came to its end.
fn run(settings: &[(&str, &str)], body: &str) -> (u32, String, bool) {
    let gpu = Gpu::new(settings);
    let f = gpu.function(gpu.load(&kernel(body)), "k");
    let memory = gpu.alloc(2048);
    assert_eq!(unsafe { cuMemsetD8_v2(memory, 0xff, 1024) }, 0);
    assert_eq!(gpu.launch(f, 1, 32, &[memory, 0]), 0);
    let code = gpu.sync();
    let ended = code == 0 && gpu.download::<u32>(memory, 32)[31] != u32::MAX;
    (code, report(), ended)
}

#[test]
fn what_hardware_tolerates_is_reported_and_not_fatal() {
    for (kind, body) in CASES {
        let word = format!("\"kind\":\"{kind}\"");
        let (code, text, _) = run(&[], body);
        assert!(code == 719 && text.contains(&word), "{body}: {code} {text}");
        // With all or with this finding tolerated, it is told once for each instruction, and the kernel goes on.
        for tolerated in ["all", "1", kind] {
            let (code, text, ended) = run(&[("report", tolerated)], body);
            assert!(code == 0 && ended && text.contains(&word), "{body}: {code} {text}");
            assert!(text.contains("\"code\":0") && text.contains("PTX line "), "{text}");
            assert!(text.matches(&word).count() <= 3, "{text}");
        }
        // Ignored, it is not told.
        let (code, text, ended) = run(&[("ignore", kind)], body);
        assert!(code == 0 && ended && !text.contains(&word), "{body}: {code} {text}");
        // Another switch does not help.
        let other = if kind == "race" { "uninitialised-read" } else { "race" };
        for setting in ["report", "ignore"] {
            let (code, text, _) = run(&[(setting, other)], body);
            assert!(code == 719 && text.contains(&word), "{body}: {code} {text}");
        }
    }
}

/// Devices round the sizes of allocations up, and let kernels read what is there.
#[test]
fn padding_may_be_read_if_asked_for() {
    let run = |settings: &[(&str, &str)], offset: u32, write: bool| {
        let gpu = Gpu::new(settings);
        let access = match write {
            true => format!("st.global.u32 [%rd1+{offset}], %r5;"),
            false => format!("ld.global.u32 %r6, [%rd1+{offset}];"),
        };
        let body = format!("{access} st.global.u32 [%rd2], 1;");
        let f = gpu.function(gpu.load(&kernel(&body)), "k");
        let memory = gpu.alloc(130);
        assert_eq!(unsafe { cuMemsetD8_v2(memory, 0, 130) }, 0);
        assert_eq!(gpu.launch(f, 1, 1, &[memory, 0]), 0);
        (gpu.sync(), report())
    };
    for settings in [[("report", "padding-read")], [("report", "all")]] {
        // Partly and wholly past the end.
        for offset in [128, 132, 252] {
            let (code, text) = run(&settings, offset, false);
            assert!(code == 0 && text.contains("\"kind\":\"padding-read\""), "{offset}: {text}");
        }
        // Beyond the padding, and a write.
        for (offset, write) in [(256, false), (132, true)] {
            let (code, text) = run(&settings, offset, write);
            assert!(code == 700 && text.contains("\"kind\":\"out-of-bounds\""), "{offset}: {text}");
        }
    }
    assert_eq!(run(&[("ignore", "padding-read")], 132, false).0, 0);
    for settings in [&[][..], &[("report", "race")]] {
        let (code, text) = run(settings, 132, false);
        assert!(code == 700 && text.contains("\"kind\":\"out-of-bounds\""), "{text}");
    }
}

/// An error that no device gives goes to whoever waits for that stream, once: the rest of the program goes on.
#[test]
fn the_error_of_what_hardware_tolerates_is_given_once() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel(RACE)), "k");
    let memory = gpu.alloc(2048);
    assert_eq!(unsafe { cuMemsetD8_v2(memory, 0, 1024) }, 0);
    let (guilty, other) = (stream(1), stream(1));
    assert_eq!(gpu.launch_on(f, [1; 3], [32, 1, 1], 0, guilty, &[memory, 0]), 0);
    unsafe {
        assert_eq!(cuStreamSynchronize(other), 0);
        assert_eq!(cuStreamSynchronize(guilty), 719);
        assert_eq!(cuStreamSynchronize(guilty), 0);
    }
    assert_eq!(gpu.sync(), 0);
    assert!(report().contains("race"));
    // What ends a kernel on a device ends its context, too.
    let f = gpu.function(gpu.load(&kernel("trap;")), "k");
    assert_eq!(gpu.launch_on(f, [1; 3], [32, 1, 1], 0, guilty, &[memory, 0]), 0);
    unsafe {
        assert_eq!(cuStreamSynchronize(guilty), 719);
        assert_eq!(cuStreamSynchronize(other), 719);
    }
}

#[test]
fn what_hardware_does_not_tolerate_stays_fatal() {
    let all = &[("report", "all"), ("ignore", "all")];
    assert_eq!(run(all, "ld.global.u32 %r6, [%rd1+65536];").0, 700);
    assert_eq!(run(all, "ld.global.u32 %r6, [%rd1+1];").0, 716);
    assert_eq!(run(all, "trap;").0, 719);
}

/// Leaks, copies of bytes that nobody wrote and wrong calls have their switches too.
#[test]
fn findings_outside_of_kernels_can_be_ignored() {
    let all = ["leak", "uninitialised-copy", "bad-call"];
    for ignored in all.map(Some).into_iter().chain([None]) {
        let gpu = Gpu::new(&[]);
        if let Some(kind) = ignored {
            set("ignore", kind);
        }
        let memory = gpu.alloc(64);
        gpu.download::<u32>(memory, 16);
        stream(1);
        unsafe {
            assert_eq!(cuMemFree_v2(memory + 4096), 1);
            assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
        }
        let text = report();
        for kind in all {
            let told = text.contains(&format!("\"kind\":\"{kind}\""));
            assert_eq!(told, ignored != Some(kind), "{kind}: {text}");
        }
    }
}
