//! The driver API: order of work, contexts, memory, injected faults.

mod support;
use std::ffi::c_void;
use support::driver::*;
use support::{ADD_ONE, Gpu, event, fresh, live, report, set, stream};

#[test]
fn before_initialisation() {
    let _turn = fresh(&[]);
    let (mut n, mut p) = (0, 0);
    unsafe {
        assert_eq!(cuDeviceGetCount(&mut n), 3);
        assert_eq!(cuCtxGetCurrent(&mut p), 3);
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 3);
        assert_eq!(cuModuleLoadData(&mut p, std::ptr::null()), 3);
        assert_eq!(cuMemcpy2D_v2(std::ptr::null()), 3);
        assert_eq!(cuProfilerStart(), 3);
        assert_eq!(cuModuleGetLoadingMode(&mut n), 3);
        assert_eq!(cuDriverGetVersion(&mut n), 0);
        assert_eq!(cuInit(1), 1);
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDeviceGetCount(&mut n), 0);
        assert_eq!(n, 1);
        assert_eq!(cuDeviceGetCount(std::ptr::null_mut()), 1);
        assert_eq!(cuDeviceGet(&mut n, 1), 101);
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 201);
        assert!(report().contains("no current context"));
    }
}

#[test]
fn no_devices() {
    let _turn = fresh(&[("devices", "0")]);
    assert_eq!(unsafe { cuInit(0) }, 100);
}

#[test]
fn launch_limits() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let launch = |g: [u32; 3], b: [u32; 3], shared| gpu.launch_on(f, g, b, shared, 0, &[0, 0]);
    assert_eq!(launch([0, 1, 1], [1; 3], 0), 1);
    assert_eq!(launch([1, 65536, 1], [1; 3], 0), 1);
    assert_eq!(launch([1; 3], [257, 1, 1], 0), 1);
    assert_eq!(launch([1; 3], [1, 1, 65], 0), 1);
    assert_eq!(launch([1; 3], [1; 3], 49153), 1);
    assert!(
        report().contains("257 threads in a block, where the kernel allows 256"),
        "{}",
        report()
    );
    unsafe {
        assert_eq!(cuFuncSetAttribute(f, 8, 100_000), 0);
        assert_eq!(cuFuncSetAttribute(f, 8, 1 << 20), 1);
        assert_eq!(
            cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, std::ptr::null_mut(), std::ptr::null_mut()),
            1
        );
        assert_eq!(
            cuLaunchKernel(5, 1, 1, 1, 1, 1, 1, 0, 0, std::ptr::null_mut(), std::ptr::null_mut()),
            400
        );
        let (mut blocks, mut size) = (0, 0);
        assert_eq!(cuOccupancyMaxPotentialBlockSize(&mut blocks, &mut size, f, None, 0, 0), 0);
        assert_eq!(size, 256);
        // With shared memory that grows with the block, fewer threads fit; with a lot of it, one block.
        extern "C" fn per_thread(size: i32) -> usize {
            size as usize * 400
        }
        assert_eq!(
            cuOccupancyMaxPotentialBlockSize(&mut blocks, &mut size, f, Some(per_thread), 0, 0),
            0
        );
        let mut fit = 0;
        let bytes = per_thread(size);
        assert_eq!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut fit, f, size, bytes), 0);
        assert!(fit > 0 && blocks % fit == 0, "{blocks} {size} {fit}");
        assert_eq!(
            cuOccupancyMaxPotentialBlockSize(&mut blocks, &mut size, f, None, 150 << 10, 0),
            0
        );
        assert_eq!((blocks, size), (4, 256));
    }
    assert_eq!(launch([1; 3], [1; 3], 99_000), 0);
}

#[test]
fn work_waits_for_its_synchronisation() {
    let gpu = Gpu::new(&[("strict", "1")]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let data = gpu.upload(&[5u32; 64]);
    let s = stream(1);
    let mut out = vec![0u32; 64];
    unsafe {
        assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, s, &[data, 64]), 0);
        assert_eq!(cuMemcpyDtoHAsync_v2(out.as_mut_ptr().cast(), data, 256, s), 0);
        assert_eq!(out[0], 0xa5a5_a5a5);
        // Polling gets there in the end.
        let mut polls = 0;
        while cuStreamQuery(s) == 600 {
            polls += 1;
        }
        assert_eq!((out[63], polls), (6, 2));
        // Pageable memory is taken at the call, pinned memory when the copy happens.
        let mut host = vec![1u32; 64];
        assert_eq!(cuMemcpyHtoDAsync_v2(data, host.as_ptr().cast(), 256, s), 0);
        host.fill(2);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(gpu.download::<u32>(data, 1), [1]);
        let mut pinned: *mut c_void = std::ptr::null_mut();
        assert_eq!(cuMemHostAlloc(&mut pinned, 256, 0), 0);
        pinned.cast::<u32>().write(10);
        assert_eq!(cuMemcpyHtoDAsync_v2(data, pinned, 256, s), 0);
        pinned.cast::<u32>().write(11);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(gpu.download::<u32>(data, 1), [11]);
        // The legacy stream does not wait for a non-blocking one.
        assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, s, &[data, 64]), 0);
        assert_eq!(gpu.download::<u32>(data, 1), [11]);
        assert_eq!(gpu.sync(), 0);
        assert_eq!(gpu.download::<u32>(data, 1), [12]);
        // But for a blocking one it does.
        let blocking = stream(0);
        assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, blocking, &[data, 64]), 0);
        assert_eq!(gpu.download::<u32>(data, 1), [13]);
        assert_eq!(cuMemFreeHost(pinned), 0);
        assert_eq!(cuMemFreeHost(out.as_mut_ptr().cast()), 1);
    }
}

#[test]
fn events_order_streams() {
    for when in ["lazy", "eager", "seed:1", "seed:2", "seed:3"] {
        let gpu = Gpu::new(&[("async", when)]);
        let f = gpu.function(gpu.load(ADD_ONE), "add_one");
        let (a, b) = (stream(1), stream(1));
        let (e, late) = (event(), event());
        let (x, y) = (gpu.upload(&[0u32; 32]), gpu.zeros(128));
        gpu.sync();
        unsafe {
            for _ in 0..10 {
                assert_eq!(gpu.launch_on(f, [1; 3], [32, 1, 1], 0, a, &[x, 32]), 0);
            }
            assert_eq!(cuEventRecord(e, a), 0);
            assert_eq!(cuStreamWaitEvent(b, e, 0), 0);
            assert_eq!(cuMemcpyDtoDAsync_v2(y, x, 128, b), 0);
            assert_eq!(cuEventRecord(late, b), 0);
            assert_eq!(cuStreamSynchronize(b), 0);
            assert_eq!(gpu.download::<u32>(y, 1), [10], "{when}");
            let mut ms = -1.0;
            assert_eq!(cuEventElapsedTime(&mut ms, e, late), 0);
            assert!(ms >= 0.0);
            // Destroying a stream does not lose its work.
            assert_eq!(gpu.launch_on(f, [1; 3], [32, 1, 1], 0, a, &[x, 32]), 0);
            assert_eq!(cuStreamDestroy_v2(a), 0);
            assert_eq!(cuStreamSynchronize(a), 400);
            assert_eq!(gpu.sync(), 0);
            assert_eq!(gpu.download::<u32>(x, 1), [11]);
            assert_eq!(cuEventDestroy_v2(e), 0);
            assert_eq!(cuEventQuery(e), 400);
            assert_eq!(cuEventRecord(late, a), 400);
        }
    }
}

#[test]
fn stream_ordered_memory_and_pools() {
    let _gpu = Gpu::new(&[("memory", "1m")]);
    let s = stream(1);
    let (mut p, mut pool, mut used, mut threshold) = (0, 0, 0u64, 77u64);
    unsafe {
        assert_eq!(cuDeviceGetDefaultMemPool(&mut pool, 0), 0);
        assert_eq!(cuMemPoolSetAttribute(pool, 4, (&raw mut threshold).cast()), 0);
        assert_eq!(cuMemPoolGetAttribute(pool, 4, (&raw mut used).cast()), 0);
        assert_eq!(used, 77);
        assert_eq!(cuMemAllocAsync(&mut p, 1000, s), 0);
        assert_eq!(cuMemPoolGetAttribute(pool, 7, (&raw mut used).cast()), 0);
        assert_eq!(used, 1000);
        assert_eq!(cuMemFreeAsync(p, s), 0);
        assert_eq!(cuMemFreeAsync(p, s), 1);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(cuMemFreeAsync(p, s), 1);
        assert_eq!(cuMemPoolTrimTo(pool, 0), 0);
        assert_eq!(cuMemAllocAsync(&mut p, 0, s), 0);
        assert_eq!(cuMemAllocAsync(&mut p, 2 << 20, s), 2);
        assert_eq!(cuMemAlloc_v2(&mut p, 2 << 20), 2);
        let (mut free, mut total) = (0, 0);
        assert_eq!(cuMemGetInfo_v2(&mut free, &mut total), 0);
        assert_eq!((free, total), (1 << 20, 1 << 20));
        set("no_pools", "1");
        assert_eq!(cuMemAllocAsync(&mut p, 16, s), 801);
        let mut value = 9;
        assert_eq!(cuDeviceGetAttribute(&mut value, 115, 0), 0);
        assert_eq!(value, 0);
    }
}

#[test]
fn a_long_program_without_synchronisation() {
    // Neither memory nor the queue may run out, however late the work happens.
    let gpu = Gpu::new(&[("memory", "1m")]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let s = stream(1);
    for _ in 0..3000 {
        let mut p = 0;
        unsafe {
            assert_eq!(cuMemAllocAsync(&mut p, 100_000, s), 0);
            assert_eq!(cuMemsetD8Async(p, 0, 128, s), 0);
            assert_eq!(gpu.launch_on(f, [1; 3], [32, 1, 1], 0, s, &[p, 32]), 0);
            assert_eq!(cuMemFreeAsync(p, s), 0);
        }
    }
    assert_eq!(gpu.sync(), 0);
    assert_eq!(live().allocations, 0);
}

#[test]
fn copies_fills_and_pointers() {
    let gpu = Gpu::new(&[]);
    let p = gpu.alloc(64);
    unsafe {
        assert_eq!(cuMemsetD16_v2(p, 0x1234, 32), 0);
        assert_eq!(gpu.download::<u16>(p, 32), [0x1234; 32]);
        assert_eq!(cuMemsetD32Async(p, 0xdead_beef, 16, 0), 0);
        assert_eq!(gpu.download::<u32>(p, 16), [0xdead_beef; 16]);
        assert_eq!(cuMemsetD32_v2(p + 2, 0, 1), 1);
        assert_eq!(cuMemsetD8_v2(p, 0, 65), 1);
        let mut byte = 0u8;
        assert_eq!(cuMemcpyDtoH_v2((&raw mut byte).cast(), p + 64, 1), 1);
        assert_eq!(cuMemcpyDtoH_v2((&raw mut byte).cast(), 0x1000, 1), 1);
        assert_eq!(cuMemcpyHtoD_v2(p, std::ptr::null(), 4), 1);
        let (mut kind, mut device, mut base, mut size) = (0u32, -1i32, 0u64, 0usize);
        assert_eq!(cuPointerGetAttribute((&raw mut kind).cast(), 2, p + 5), 0);
        assert_eq!(cuPointerGetAttribute((&raw mut device).cast(), 9, p + 5), 0);
        assert_eq!(cuMemGetAddressRange_v2(&mut base, &mut size, p + 5), 0);
        assert_eq!((kind, device, base, size), (2, 0, p, 64));
        assert_eq!(cuPointerGetAttribute((&raw mut kind).cast(), 2, 5), 1);
        // Managed memory is in reach of both sides.
        let mut m = 0;
        assert_eq!(cuMemAllocManaged(&mut m, 128, 1), 0);
        std::slice::from_raw_parts_mut(m as *mut u32, 32).fill(8);
        gpu.run(gpu.function(gpu.load(ADD_ONE), "add_one"), 1, 32, &[m, 32]);
        assert_eq!((m as *const u32).read(), 9);
        assert_eq!(cuMemFree_v2(m), 0);
    }
}

#[test]
fn contexts_on_threads() {
    let gpu = Gpu::new(&[("devices", "2")]);
    let context = gpu.context;
    std::thread::spawn(move || unsafe {
        let (mut p, mut c, mut d) = (0, 0, 9);
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 201);
        assert_eq!(cuCtxSetCurrent(12345), 201);
        assert_eq!(cuCtxPushCurrent_v2(context), 0);
        assert_eq!(cuCtxGetDevice(&mut d), 0);
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 0);
        assert_eq!(cuMemFree_v2(p), 0);
        assert_eq!(cuCtxPopCurrent_v2(&mut c), 0);
        assert_eq!((c, d), (context, 0));
        assert_eq!(cuCtxPopCurrent_v2(&mut c), 201);
        assert_eq!(cuCtxCreate_v2(&mut c, 0, 1), 0);
        assert_eq!(cuCtxGetDevice(&mut d), 0);
        assert_eq!(d, 1);
        assert_eq!(cuCtxDestroy_v2(c), 0);
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 201);
    })
    .join()
    .unwrap();
    unsafe {
        // A stream of one context is no good in another for launches.
        let f = gpu.function(gpu.load(ADD_ONE), "add_one");
        let mut second = 0;
        assert_eq!(cuDevicePrimaryCtxRetain(&mut second, 1), 0);
        assert_eq!(cuCtxSetCurrent(second), 0);
        assert_eq!(gpu.launch_on(f, [1; 3], [1; 3], 0, 0, &[0, 0]), 400);
        assert!(report().contains("another context"));
    }
}

#[test]
fn many_threads_many_streams() {
    let gpu = Gpu::new(&[("async", "seed:5")]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let context = gpu.context;
    std::thread::scope(|scope| {
        for t in 0..8u32 {
            let gpu = &gpu;
            scope.spawn(move || unsafe {
                assert_eq!(cuCtxSetCurrent(context), 0);
                let s = stream(1);
                for round in 0..20u32 {
                    let data = vec![t * 100 + round; 500];
                    let (mut p, mut out) = (0, vec![0u32; 500]);
                    assert_eq!(cuMemAllocAsync(&mut p, 2000, s), 0);
                    assert_eq!(cuMemcpyHtoDAsync_v2(p, data.as_ptr().cast(), 2000, s), 0);
                    assert_eq!(gpu.launch_on(f, [2, 1, 1], [256, 1, 1], 0, s, &[p, 500]), 0);
                    assert_eq!(cuMemcpyDtoHAsync_v2(out.as_mut_ptr().cast(), p, 2000, s), 0);
                    assert_eq!(cuMemFreeAsync(p, s), 0);
                    assert_eq!(cuStreamSynchronize(s), 0);
                    assert!(out.iter().all(|x| *x == t * 100 + round + 1));
                }
                assert_eq!(cuStreamDestroy_v2(s), 0);
            });
        }
    });
    assert_eq!(report(), "[]");
    let left = live();
    assert_eq!((left.allocations, left.streams, left.events), (0, 0, 0));
}

#[test]
fn host_functions_run_in_order() {
    extern "C" fn add(data: *mut c_void) {
        // SAFETY: the test passes a counter that outlives the stream's work.
        unsafe { *data.cast::<u32>() += 5 };
    }
    let _gpu = Gpu::new(&[("strict", "1")]);
    let s = stream(1);
    let mut counter = 0u32;
    unsafe {
        assert_eq!(cuLaunchHostFunc(s, add as *mut c_void, (&raw mut counter).cast()), 0);
        assert_eq!(cuLaunchHostFunc(s, std::ptr::null_mut(), std::ptr::null_mut()), 1);
        assert_eq!((&raw const counter).read_volatile(), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!((&raw const counter).read_volatile(), 5);
    }
}

#[test]
fn injected_faults() {
    let gpu = Gpu::new(&[("fail", "cuMemAlloc_v2:2:OUT_OF_MEMORY")]);
    let mut p = 0;
    unsafe {
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 0);
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 2);
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 0);
        set("fail", "");
        set("fail", "*:3:999,cuCtxSynchronize:*:700");
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 0);
        assert_eq!(cuCtxSynchronize(), 700);
        assert_eq!(cuMemFree_v2(p), 999);
        assert_eq!(cuMemFree_v2(p), 0);
        assert_eq!(gpu.sync(), 700);
        assert!(DRIVER.set("fail", "nonsense").is_err());
        assert!(DRIVER.set("colour", "red").is_err());
    }
}

#[test]
fn a_failing_call_leaves_no_copy_behind() {
    let gpu = Gpu::new(&[("strict", "1")]);
    let s = stream(1);
    let data = gpu.upload(&[7u32; 64]);
    unsafe {
        let mut out = vec![0u32; 64];
        assert_eq!(cuMemcpyDtoHAsync_v2(out.as_mut_ptr().cast(), data, 256, s), 0);
        assert_eq!(out[0], 0xa5a5_a5a5);
        set("fail", "cuStreamSynchronize:1:999");
        assert_eq!(cuStreamSynchronize(s), 999);
        // The program may drop its buffer now: nothing will be written to it any more.
        assert_eq!(out[0], 7);
        drop(out);
        assert_eq!(cuStreamSynchronize(s), 0);
    }
}

#[test]
fn entry_points_by_name() {
    let _turn = fresh(&[]);
    unsafe {
        let (mut at, mut status) = (std::ptr::null_mut(), 9);
        assert_eq!(cuGetProcAddress_v2(c"cuMemAlloc".as_ptr(), &mut at, 13000, 0, &mut status), 0);
        assert_eq!((at as usize, status), (address("cuMemAlloc_v2"), 0));
        assert_eq!(
            cuGetProcAddress_v2(c"cuInit".as_ptr(), &mut at, 13000, 0, std::ptr::null_mut()),
            0
        );
        assert_eq!(at as usize, address("cuInit"));
        assert_eq!(cuGetProcAddress(c"cuNothing".as_ptr(), &mut at, 13000, 0), 500);
        let mut table = std::ptr::dangling();
        assert_eq!(cuGetExportTable(&mut table, std::ptr::null()), 500);
        assert!(table.is_null());
        let mut name = std::ptr::null();
        assert_eq!(cuGetErrorName(700, &mut name), 0);
        assert_eq!(std::ffi::CStr::from_ptr(name), c"CUDA_ERROR_ILLEGAL_ADDRESS");
        assert_eq!(cuGetErrorName(12345, &mut name), 1);
    }
}

#[test]
fn stub_mode_launches_nothing() {
    let gpu = Gpu::new(&[("stub", "1")]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let p = gpu.upload(&[1u32; 32]);
    gpu.run(f, 1, 32, &[p, 32]);
    assert_eq!(gpu.download::<u32>(p, 1), [1]);
    assert_eq!(gpu.launch(f, 1, 512, &[p, 32]), 1);
    assert_eq!(DRIVER.stats().kernels, [("add_one".into(), 1, 0)]);
}

#[test]
fn the_ends_of_a_grid_alone() {
    let gpu = Gpu::new(&[("ends", "1")]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let p = gpu.upload(&[1u32; 160]);
    gpu.run(f, 5, 32, &[p, 160]);
    let blocks: Vec<u32> = gpu.download::<u32>(p, 160).into_iter().step_by(32).collect();
    assert_eq!(blocks, [2, 1, 1, 1, 2]);
    // A grid that has no more than its ends is run as ever.
    gpu.run(f, 2, 32, &[p, 64]);
    assert_eq!(gpu.download::<u32>(p, 64).into_iter().step_by(32).collect::<Vec<_>>(), [3, 2]);
}
