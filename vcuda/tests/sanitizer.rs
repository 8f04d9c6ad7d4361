//! Every finding about memory, calls and contexts, triggered.

mod support;
use support::driver::*;
use support::faults::{expect, fine, kernel};
use support::{Gpu, live, report, set};
use vcuda_control::Live;

#[test]
fn out_of_bounds() {
    let text = expect("st.global.u32 [%rd2], %r5;", 1, 257, 700, "out-of-bounds");
    for word in [
        "kernel k",
        "block (0,0,0)",
        "thread (256,0,0)",
        "PTX line 20",
        "0 bytes past the end of allocation #1 (1024 bytes",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let text = expect("ld.global.u32 %r6, [%rd1+-4];", 1, 1, 700, "out-of-bounds");
    assert!(text.contains("4 bytes before allocation #1"), "{text}");
    expect("ld.global.u32 %r6, [16];", 1, 1, 700, "out-of-bounds");
    expect("st.shared.u32 [fixed+128], %r5;", 1, 1, 700, "out-of-bounds");
    expect("st.shared.u32 [dynamic], %r5;", 1, 1, 700, "out-of-bounds");
    expect("st.local.u32 [depot+16], %r5;", 1, 1, 700, "out-of-bounds");
    expect("ld.u64 %rd5, [%rd1+1020];", 1, 1, 716, "misaligned");
    fine("st.global.u32 [%rd2], %r5;", 2, 128);
}

#[test]
fn misaligned() {
    let text = expect("ld.global.u32 %r6, [%rd1+2];", 1, 1, 716, "misaligned");
    assert!(text.contains("not a multiple of 4"), "{text}");
    expect("ld.global.v4.u32 {%r6,%r7,%r8,%r9}, [%rd1+8];", 1, 1, 716, "misaligned");
    fine("ld.global.v2.u32 {%r6,%r7}, [%rd1+8];", 1, 1);
}

/// Runs a body on an address of 1003 bytes between two other allocations.
fn at(body: &str, address: impl Fn(u64) -> u64) -> (u32, u64, String) {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel(body)), "k");
    let [_, middle, _] = [gpu.zeros(1000), gpu.zeros(1003), gpu.zeros(1000)];
    let address = address(middle);
    assert_eq!(gpu.launch(f, 1, 1, &[address, 0]), 0);
    (gpu.sync(), address, report())
}

#[test]
fn every_width_at_both_ends() {
    let host = [0u64; 8];
    for (kind, bytes) in [
        ("u8 %r6", 1),
        ("u16 %r6", 2),
        ("u32 %r6", 4),
        ("u64 %rd6", 8),
        ("v2.u32 {%r6,%r7}", 8),
        ("v4.u32 {%r6,%r7,%r8,%r9}", 16),
        ("v2.u64 {%rd6,%rd7}", 16),
    ] {
        let (form, registers) = kind.split_once(' ').unwrap();
        let size = 1003 / bytes * bytes;
        for (body, word) in [
            (format!("ld.global.{form} {registers}, [%rd1];"), "read"),
            (format!("st.global.{form} [%rd1], {registers};"), "write"),
            (format!("ld.{form} {registers}, [%rd1];"), "read"),
            (format!("st.{form} [%rd1], {registers};"), "write"),
        ] {
            assert_eq!(at(&body, |a| a).0, 0);
            assert_eq!(at(&body, |a| a + size - bytes).0, 0);
            let fails = |code: u32, near: &str, address: &dyn Fn(u64) -> u64| {
                let (got, address, text) = at(&body, address);
                assert_eq!(got, code, "{body}: {text}");
                let what = format!("{word} of {bytes} bytes at {address:#x}");
                for word in ["kernel k, block (0,0,0), thread (0,0,0), PTX line 20", &what, near] {
                    assert!(text.contains(word), "{word}: {text}");
                }
            };
            fails(700, &format!("{bytes} bytes before allocation #2 (1003"), &|a| a - bytes);
            fails(700, "0 bytes past the end of allocation #2 (1003", &|a| a + size);
            fails(700, "bytes past the end of allocation #2 (1003", &|a| a + size + bytes);
            fails(700, "a null pointer", &|_| 0);
            fails(700, "near no allocation", &|_| u64::MAX - bytes + 1);
            fails(700, "near no allocation", &|_| (host.as_ptr() as u64 + 15) & !15);
            if bytes > 1 {
                fails(716, &format!("multiple of {bytes}"), &|a| a + bytes / 2);
            }
        }
    }
}

#[test]
fn what_was_written_in_part() {
    // `written` bytes of eight, then a load of them all.
    let part = |store: &str, load: &str| {
        let gpu = Gpu::new(&[]);
        let f = gpu.function(gpu.load(&kernel(&format!("{store} {load}"))), "k");
        let memory = gpu.alloc(64);
        assert_eq!(gpu.launch(f, 1, 1, &[memory, 0]), 0);
        (gpu.sync(), report())
    };
    let half = "st.global.u32 [%rd1], 1;";
    for (store, load, at) in [
        (half, "ld.global.u64 %rd6, [%rd1]; add.u64 %rd6, %rd6, 1;", 4),
        (half, "ld.global.v2.u32 {%r6,%r7}, [%rd1]; add.u32 %r7, %r7, 1;", 4),
        ("st.global.u8 [%rd1], 1;", "ld.global.u16 %r6, [%rd1];", 1),
        (half, "ld.global.u8 %r6, [%rd1+4];", 4),
        // A moved value counts too, where it does not look like padding.
        (half, "ld.global.u32 %r6, [%rd1+4]; st.global.u32 [%rd1+32], %r6;", 4),
    ] {
        let (code, text) = part(store, load);
        let what = format!("at byte {at} of allocation #1");
        assert!(
            code == 719 && text.contains("uninitialised-read") && text.contains(&what),
            "{text}"
        );
    }
    // Structures of a byte and a word, moved as words: nobody looks at the three bytes between.
    let gpu = Gpu::new(&[]);
    let make =
        "mad.wide.u32 %rd3, %r5, 8, %rd1; st.global.u8 [%rd3], 1; st.global.u32 [%rd3+4], 2;";
    let load = "mad.wide.u32 %rd3, %r5, 8, %rd1; ld.global.v2.u32 {%r6,%r7}, [%rd3];";
    let moved = format!("{load} st.global.v2.u32 [%rd3+512], {{%r6,%r7}};");
    let half = format!("{load} st.global.u32 [%rd3+516], %r7;");
    let used = format!("{load} add.u32 %r6, %r6, 1; st.global.u32 [%rd3+512], %r6;");
    let [make, moved, half, used] =
        [make, &moved, &half, &used].map(|body| gpu.function(gpu.load(&kernel(body)), "k"));
    let memory = gpu.alloc(1024);
    gpu.run(make, 1, 32, &[memory, 0]);
    gpu.run(moved, 1, 32, &[memory, 0]);
    gpu.run(half, 1, 32, &[memory, 0]);
    assert_eq!(report(), "[]");
    assert_eq!(gpu.launch(used, 1, 32, &[memory, 0]), 0);
    assert_eq!(gpu.sync(), 719, "{}", report());
}

#[test]
fn variables_of_a_block() {
    let text = |body: &str, block: u32| expect(body, 1, block, 700, "out-of-bounds");
    // Static variables have gaps between them, as a device has not.
    let two = ".shared .align 4 .b8 second[20];";
    let text1 = text(&format!("{two} st.shared.u32 [fixed+128], 1;"), 1);
    assert!(text1.contains("0 bytes past the end of fixed (128 bytes)"), "{text1}");
    let text2 = text(&format!("{two} st.shared.u32 [second+-4], 1;"), 1);
    assert!(text2.contains("past the end of fixed"), "{text2}");
    text(&format!("{two} mov.u32 %r6, second; st.shared.u8 [%r6+20], 1;"), 1);
    text("mov.u64 %rd6, fixed; cvta.shared.u64 %rd6, %rd6; st.u32 [%rd6+128], 1;", 1);
    text("mov.u64 %rd6, depot; cvta.local.u64 %rd6, %rd6; st.u32 [%rd6+16], 1;", 1);
    text("mov.u32 %r6, fixed; st.shared.u32 [%r6+-4], 1;", 1);
    text("st.local.u64 [depot+-8], %rd1;", 1);
    text("mov.u64 %rd6, pointer; cvta.param.u64 %rd6, %rd6; st.u32 [%rd6], 1;", 1);
    text("ld.param.u32 %r6, [pointer+12];", 1);
    fine(&format!("{two} st.shared.u32 [second+16], 1; st.shared.u32 [fixed+124], 1;"), 1, 1);
    expect(
        "st.shared.u16 [fixed], 1; ld.shared.u32 %r6, [fixed];",
        1,
        1,
        719,
        "uninitialised-read",
    );
    expect("ld.shared.u32 %r6, [fixed+2];", 1, 1, 716, "misaligned");
    expect("ld.local.u64 %rd6, [depot+4];", 1, 1, 716, "misaligned");
    // What a block leaves behind is nothing to the next.
    let leftover =
        "setp.eq.u32 %p1, %r3, 0; @%p1 st.shared.u32 [fixed], 1; ld.shared.u32 %r6, [fixed];";
    let text = expect(leftover, 2, 1, 719, "uninitialised-read");
    assert!(text.contains("block (1,0,0)"), "{text}");
}

#[test]
fn uninitialised() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel("ld.global.u32 %r6, [%rd2];")), "k");
    let memory = gpu.alloc(256);
    assert_eq!(unsafe { cuMemsetD8_v2(memory, 1, 128) }, 0);
    gpu.run(f, 1, 32, &[memory, 0]);
    // A copy moves the state along; reading it is the fault, not moving it.
    let other = gpu.alloc(256);
    assert_eq!(unsafe { cuMemcpyDtoD_v2(other, memory, 256) }, 0);
    gpu.run(f, 1, 32, &[other, 0]);
    assert_eq!(report(), "[]");
    assert_eq!(gpu.launch(f, 1, 33, &[other, 0]), 0);
    assert_eq!(gpu.sync(), 719);
    assert!(
        report().contains("uninitialised-read") && report().contains("thread (32,0,0)"),
        "{}",
        report()
    );
    drop(gpu);
    expect("ld.shared.u32 %r6, [fixed];", 1, 1, 719, "uninitialised-read");
    expect("ld.local.u32 %r6, [depot];", 1, 1, 719, "uninitialised-read");
    // Bringing such bytes to the host is a finding, not a failure.
    let gpu = Gpu::new(&[]);
    let memory = gpu.alloc(64);
    gpu.download::<u8>(memory, 64);
    assert!(report().contains("uninitialised-copy"), "{}", report());
}

#[test]
fn use_after_free_and_double_free() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel("ld.global.u32 %r6, [%rd2];")), "k");
    let memory = gpu.zeros(64);
    assert_eq!(unsafe { cuMemFree_v2(memory) }, 0);
    assert_eq!(unsafe { cuMemFree_v2(memory) }, 1);
    assert!(
        report().contains("bad-call") && report().contains("of the freed allocation"),
        "{}",
        report()
    );
    assert_eq!(unsafe { cuMemFree_v2(memory + 8) }, 1);
    assert_eq!(gpu.launch(f, 1, 1, &[memory, 0]), 0);
    assert_eq!(gpu.sync(), 700);
    assert!(report().contains("use-after-free"), "{}", report());
}

#[test]
fn stream_ordered_memory_in_its_life() {
    let body = "ld.global.u32 %r6, [%rd2]; add.u32 %r6, %r6, 1; st.global.u32 [%rd2], %r6;";
    let (mut a, mut b, mut event, mut memory, mut other) = (0, 0, 0, 0, 0);
    let mut start = |gpu: &Gpu| unsafe {
        assert_eq!(cuStreamCreate(&mut a, 1), 0);
        assert_eq!(cuStreamCreate(&mut b, 1), 0);
        assert_eq!(cuEventCreate(&mut event, 2), 0);
        assert_eq!(cuMemAllocAsync(&mut memory, 64, a), 0);
        assert_eq!(cuMemsetD32Async(memory, 1, 16, a), 0);
        (gpu.function(gpu.load(&kernel(body)), "k"), a, b, event, memory)
    };
    // Two streams in order by events: nothing to tell, though work happens late.
    let gpu = Gpu::new(&[]);
    let (f, first, second, event, memory) = start(&gpu);
    unsafe {
        for (from, to) in [(first, second), (second, first), (first, second)] {
            assert_eq!(gpu.launch_on(f, [1; 3], [16, 1, 1], 0, from, &[memory, 0]), 0);
            assert_eq!(cuEventRecord(event, from), 0);
            assert_eq!(cuStreamWaitEvent(to, event, 0), 0);
        }
        assert_eq!(cuMemFreeAsync(memory, second), 0);
        // Memory that is used again holds nothing.
        assert_eq!(cuMemAllocAsync(&mut other, 64, second), 0);
        assert_eq!(cuStreamSynchronize(second), 0, "{}", report());
        assert_eq!(report(), "[]");
        assert_eq!(gpu.launch_on(f, [1; 3], [16, 1, 1], 0, second, &[other, 0]), 0);
        assert_eq!(cuStreamSynchronize(second), 719);
    }
    assert!(report().contains("uninitialised-read"), "{}", report());
    drop(gpu);
    // Freed in its stream, then used there.
    let gpu = Gpu::new(&[]);
    let (f, first, second, _, memory) = start(&gpu);
    unsafe { assert_eq!(cuMemFreeAsync(memory, first), 0) };
    assert_eq!(gpu.launch_on(f, [1; 3], [1; 3], 0, first, &[memory, 0]), 0);
    unsafe { assert_eq!(cuStreamSynchronize(first), 700) };
    assert!(report().contains("use-after-free"), "{}", report());
    assert_eq!(gpu.launch_on(f, [1; 3], [1; 3], 0, second, &[memory, 0]), 700);
    drop(gpu);
    // A free of other memory waits for what is queued.
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel(body)), "k");
    let memory = gpu.zeros(64);
    assert_eq!(gpu.launch(f, 1, 16, &[memory, 0]), 0);
    unsafe { assert_eq!(cuMemFree_v2(memory), 0) };
    assert_eq!((gpu.sync(), report()), (0, "[]".into()));
}

#[test]
fn stream_ordered_memory_of_another_stream() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel("st.global.u32 [%rd2], %r5;")), "k");
    let (mut a, mut b, mut memory) = (0, 0, 0);
    unsafe {
        assert_eq!(cuStreamCreate(&mut a, 1), 0);
        assert_eq!(cuStreamCreate(&mut b, 1), 0);
        assert_eq!(cuMemAllocAsync(&mut memory, 64, a), 0);
    }
    // Stream b knows nothing of the allocation on stream a.
    assert_eq!(gpu.launch_on(f, [1; 3], [1; 3], 0, b, &[memory, 0]), 0);
    assert_eq!(unsafe { cuStreamSynchronize(b) }, 700);
    assert!(report().contains("which its stream has not made"), "{}", report());
}

#[test]
fn errors_stick_until_the_context_ends() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel("trap;")), "k");
    assert_eq!(gpu.launch(f, 1, 1, &[0, 0]), 0);
    assert_eq!(gpu.sync(), 719);
    let (mut addr, mut stream) = (0, 0);
    unsafe {
        assert_eq!(cuMemAlloc_v2(&mut addr, 16), 719);
        assert_eq!(cuStreamCreate(&mut stream, 0), 719);
        assert_eq!(
            cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, std::ptr::null_mut(), std::ptr::null_mut()),
            719
        );
        assert_eq!(cuMemFree_v2(0), 719);
        // The device itself still answers.
        let mut count = 0;
        assert_eq!(cuDeviceGetCount(&mut count), 0);
        assert_eq!(cuDevicePrimaryCtxReset_v2(0), 0);
        assert_eq!(cuMemAlloc_v2(&mut addr, 16), 0);
        assert_eq!(cuMemFree_v2(addr), 0);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
        assert_eq!(cuMemAlloc_v2(&mut addr, 16), 709);
        let mut context = 0;
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuMemAlloc_v2(&mut addr, 16), 0);
    }
}

#[test]
fn leaks_are_told_at_the_end() {
    let gpu = Gpu::new(&[]);
    gpu.load(&kernel(""));
    let memory = gpu.alloc(100);
    let (mut stream, mut event) = (0, 0);
    unsafe {
        assert_eq!(cuStreamCreate(&mut stream, 0), 0);
        assert_eq!(cuEventCreate(&mut event, 0), 0);
    }
    let made = Live {
        allocations: 1,
        streams: 1,
        events: 1,
        modules: 1,
        graphs: 0,
        contexts: 1,
        bytes: 100,
    };
    assert_eq!(live(), made);
    assert_eq!(unsafe { cuDevicePrimaryCtxRelease_v2(0) }, 0);
    let text = report();
    for word in [
        "\"leak\"",
        "allocation #1 of 100 bytes from cuMemAlloc",
        "1 streams",
        "1 events",
        "1 modules",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(live(), Live::default());
    assert_eq!(unsafe { cuMemFree_v2(memory) }, 709);
}

#[test]
fn memory_of_another_device() {
    let gpu = Gpu::new(&[("devices", "2")]);
    let f = gpu.function(gpu.load(&kernel("ld.global.u32 %r6, [%rd2];")), "k");
    let mut second = 0;
    unsafe {
        assert_eq!(cuDevicePrimaryCtxRetain(&mut second, 1), 0);
        assert_eq!(cuCtxSetCurrent(second), 0);
    }
    let theirs = gpu.upload(&[1u32, 2, 3, 4]);
    unsafe { assert_eq!(cuCtxSetCurrent(gpu.context), 0) };
    let ours = gpu.zeros(16);
    unsafe { assert_eq!(cuMemcpyPeerAsync(ours, gpu.context, theirs, second, 16, 0), 0) };
    assert_eq!(gpu.download::<u32>(ours, 4), [1, 2, 3, 4]);
    unsafe {
        assert_eq!(cuCtxEnablePeerAccess(second, 0), 0);
        assert_eq!(cuCtxEnablePeerAccess(second, 0), 704);
    }
    gpu.run(f, 1, 4, &[theirs, 0]);
    unsafe { assert_eq!(cuCtxDisablePeerAccess(second), 0) };
    assert_eq!(gpu.launch(f, 1, 4, &[theirs, 0]), 0);
    assert_eq!(gpu.sync(), 700);
    assert!(report().contains("another device"), "{}", report());
    // The other device is not affected.
    unsafe {
        assert_eq!(cuCtxSetCurrent(second), 0);
        assert_eq!(cuCtxSynchronize(), 0);
    }
}

#[test]
fn sparse_memory_beyond_four_gigabytes() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel("mul.wide.u32 %rd5, %r5, 0x40000000; add.u64 %rd6, %rd1, %rd5; ld.global.u32 %r6, [%rd6]; add.u32 %r6, %r6, %r5; st.global.u32 [%rd6], %r6;")), "k");
    let memory = gpu.zeros(6 << 30);
    gpu.run(f, 1, 6, &[memory, 0]);
    for k in 0..6 {
        assert_eq!(gpu.download::<u32>(memory + (k << 30), 1), [k as u32]);
    }
    assert_eq!(gpu.launch(f, 1, 7, &[memory, 0]), 0);
    assert_eq!(gpu.sync(), 700);
    // Uninitialised where nothing was written.
    drop(gpu);
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel("ld.global.u32 %r6, [%rd2];")), "k");
    let memory = gpu.alloc(5 << 30);
    unsafe { assert_eq!(cuMemsetD32_v2(memory + (4 << 30), 7, 8), 0) };
    gpu.run(f, 1, 8, &[memory + (4 << 30), 0]);
    assert_eq!(gpu.launch(f, 1, 9, &[memory + (4 << 30), 0]), 0);
    assert_eq!(gpu.sync(), 719);
    set("quiet", "1");
}
