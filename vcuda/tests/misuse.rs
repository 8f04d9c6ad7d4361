//! Wrong use: the documented error, and nothing left behind.

mod support;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use support::driver::*;
use support::{ADD_ONE, Gpu, event, fresh, live, report, stream};

const HUGE: [usize; 4] = [1 << 62, isize::MAX as usize, usize::MAX - 511, usize::MAX];

#[test]
fn a_result_without_a_place_makes_nothing() {
    let gpu = Gpu::new(&[]);
    let module = gpu.load(ADD_ONE);
    let f = gpu.function(module, "add_one");
    let before = live();
    let (mut n, mut p) = (0, 0);
    unsafe {
        assert_eq!(cuMemAlloc_v2(null_mut(), 16), 1);
        assert_eq!(cuMemAllocAsync(null_mut(), 16, 0), 1);
        assert_eq!(cuMemAllocManaged(null_mut(), 16, 1), 1);
        assert_eq!(cuMemHostAlloc(null_mut(), 16, 0), 1);
        assert_eq!(cuMemAllocHost_v2(null_mut(), 16), 1);
        assert_eq!(cuMemAllocPitch_v2(&mut p, null_mut(), 16, 4, 4), 1);
        assert_eq!(cuMemAllocPitch_v2(null_mut(), &mut n, 16, 4, 4), 1);
        assert_eq!((n, p), (0, 0), "not even half of an answer");
        assert_eq!(cuStreamCreate(null_mut(), 0), 1);
        assert_eq!(cuEventCreate(null_mut(), 0), 1);
        assert_eq!(cuCtxCreate_v2(null_mut(), 0, 0), 1);
        assert_eq!(cuGraphCreate(null_mut(), 0), 1);
        assert_eq!(cuMemGetInfo_v2(&mut n, null_mut()), 1);
        assert_eq!(n, 0);
        assert_eq!(cuModuleGetFunction(null_mut(), module, c"add_one".as_ptr()), 1);
        let mut size = 0;
        assert_eq!(cuOccupancyMaxPotentialBlockSize(null_mut(), &mut size, f, None, 0, 0), 1);
        assert_eq!(size, 0);
        assert_eq!(live(), before);
        // A primary context is not held by a call that failed.
        assert_eq!(cuDevicePrimaryCtxRetain(null_mut(), 0), 1);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 201);
    }
}

#[test]
fn sizes_beyond_all_memory() {
    let gpu = Gpu::new(&[("memory", "18446744073709551615")]);
    let p = gpu.zeros(4096);
    let mut host = [0u8; 16];
    let at = host.as_mut_ptr();
    let (mut q, mut n) = (0, 0);
    unsafe {
        for size in HUGE {
            assert_eq!(cuMemAlloc_v2(&mut q, size), 2, "{size}");
            assert_eq!(cuMemAllocAsync(&mut q, size, 0), 2, "{size}");
            assert_eq!(cuMemAllocManaged(&mut q, size, 1), 2, "{size}");
            assert_eq!(cuMemAllocHost_v2((&raw mut q).cast(), size), 2, "{size}");
            assert_ne!(cuMemAllocPitch_v2(&mut q, &mut n, size, 3, 4), 0, "{size}");
            assert_ne!(cuMemAllocPitch_v2(&mut q, &mut n, 3, size, 4), 0, "{size}");
            assert_eq!(cuMemHostRegister_v2(at.cast(), usize::MAX, 0), 1);
            assert_eq!(cuMemcpyHtoD_v2(p, at.cast(), size), 1);
            assert_eq!(cuMemcpyDtoHAsync_v2(at.cast(), p, size, 0), 1);
            assert_eq!(cuMemcpyDtoD_v2(p, p + 64, size), 1);
            assert_eq!(cuMemcpy(at as u64, at as u64 + 8, usize::MAX), 1);
            assert_eq!(cuMemsetD8_v2(p, 0, size), 1);
            assert_eq!(cuMemsetD16_v2(p, 0, size), 1);
            assert_eq!(cuMemsetD32Async(p, 0, size, 0), 1);
            assert_eq!(cuMemsetD2D32_v2(p, size & !3, 0, 1, size), 1);
            assert_eq!(cuMemsetD2D8_v2(p, size, 0, size, 2), 1);
            assert_eq!(cuMemPrefetchAsync_v2(p, size, 1, 0, 0), 1);
        }
        let f = gpu.function(gpu.load(ADD_ONE), "add_one");
        let mut blocks = -1;
        assert_eq!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, f, 32, usize::MAX), 0);
        assert_eq!(blocks, 0);
        assert_eq!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, f, c_int::MAX, 0), 0);
        assert_eq!(blocks, 0);
    }
    assert!(!report().contains("inside the virtual driver"), "{}", report());
    assert_eq!(live().allocations, 1);
}

#[test]
fn each_kind_of_memory_has_its_own_free() {
    let gpu = Gpu::new(&[]);
    let (device, mut managed, mut pinned) = (gpu.alloc(64), 0, null_mut::<c_void>());
    unsafe {
        assert_eq!(cuMemAllocManaged(&mut managed, 64, 1), 0);
        assert_eq!(cuMemAllocHost_v2(&mut pinned, 64), 0);
        let pinned_at = pinned as u64;
        assert_eq!(cuMemFree_v2(pinned_at), 1);
        assert_eq!(cuMemFreeAsync(pinned_at, 0), 1);
        assert_eq!(cuMemFreeAsync(managed, 0), 1);
        assert_eq!(cuMemFreeHost(managed as *mut c_void), 1);
        assert_eq!(cuMemFreeHost(device as *mut c_void), 1);
        assert_eq!(cuMemFree_v2(device + 8), 1);
        assert_eq!(cuMemHostRegister_v2(pinned, 64, 0), 712);
        assert_eq!(cuMemHostUnregister(pinned), 713);
        assert_eq!(live().allocations, 3);
        // A free that waits on another stream is still a free.
        let s = stream(1);
        assert_eq!(cuMemFreeAsync(device, s), 0);
        let mut second = 0;
        assert_eq!(cuCtxCreate_v2(&mut second, 0, 0), 0);
        assert_eq!(cuMemFree_v2(device), 1);
        assert_eq!(cuCtxDestroy_v2(second), 0);
        assert!(report().contains("whose free is already under way"), "{}", report());
        assert_eq!(cuMemFree_v2(managed), 0);
        assert_eq!(cuMemFreeHost(pinned), 0);
        assert_eq!(gpu.sync(), 0);
    }
    assert_eq!(live().allocations, 0);
}

#[test]
fn copies_know_their_ends() {
    let gpu = Gpu::new(&[]);
    let (a, b) = (gpu.upload(&[7u8; 64]), gpu.zeros(64));
    unsafe {
        assert_eq!(cuMemcpyHtoD_v2(b, a as *const c_void, 64), 1);
        assert_eq!(cuMemcpyDtoH_v2(b as *mut c_void, a, 64), 1);
        assert!(report().contains("device memory"), "{}", report());
        DRIVER.clear_findings();
        assert_eq!(cuMemcpy(b, a, 64), 0);
        assert_eq!(gpu.download::<u8>(b, 64), [7; 64]);
        assert_eq!(report(), "[]");
        assert_eq!(cuMemcpyDtoD_v2(a, a + 16, 32), 0);
        assert!(report().contains("overlap"), "{}", report());
        assert_eq!(cuMemcpyDtoD_v2(0, a, 0), 0, "nothing is copied from or to anywhere");
        assert_eq!(cuMemcpyPeer(a, 1, b, gpu.context, 8), 201);
    }
}

/// `CUDA_MEMCPY2D` and `CUDA_MEMCPY3D` word by word: both sides, then the size.
fn described(sides: [&[u64]; 2], size: &[u64]) -> Vec<u64> {
    [sides[0], sides[1], size].concat()
}

#[test]
fn planes_and_boxes_are_copied() {
    let gpu = Gpu::new(&[]);
    let mut out = vec![0u8; 12];
    let host: Vec<u8> = (0..60).collect();
    let mut pitch = 0;
    let mut p = 0;
    let (from, to) = (host.as_ptr() as u64, out.as_mut_ptr() as u64);
    unsafe {
        assert_eq!(cuMemAllocPitch_v2(&mut p, &mut pitch, 10, 6, 4), 0);
        assert!(pitch >= 10);
        assert_eq!(cuMemsetD2D8_v2(p, pitch, 0xee, 10, 6), 0);
        let wide = pitch as u64;
        // Six rows of ten bytes to the device; of them a window of three by four comes back.
        let up = described([&[0, 0, 1, from, 0, 0, 10], &[0, 0, 2, 0, p, 0, wide]], &[10, 6]);
        assert_eq!(cuMemcpy2DAsync_v2(up.as_ptr().cast(), 0), 0);
        let down = described([&[2, 1, 2, 0, p, 0, wide], &[0, 0, 1, to, 0, 0, 3]], &[3, 4]);
        assert_eq!(cuMemcpy2D_v2(down.as_ptr().cast()), 0);
        assert_eq!(out, [12, 13, 14, 22, 23, 24, 32, 33, 34, 42, 43, 44]);
        // A row longer than the pitch, memory past its end, arrays, and numbers that overflow.
        for (word, value) in
            [(6, 4), (1, 3), (1, u64::MAX), (0, u64::MAX), (2, 9), (14, usize::MAX as u64)]
        {
            let mut wrong = down.clone();
            wrong[word] = value;
            assert_eq!(cuMemcpy2D_v2(wrong.as_ptr().cast()), 1, "{word} {value}");
        }
        let mut array = down.clone();
        array[2] = 3;
        assert_eq!(cuMemcpy2D_v2(array.as_ptr().cast()), 801);
        assert_eq!(cuMemcpy2D_v2(null()), 1);
        // A box: the second of two planes of three rows.
        let up = described(
            [&[1, 0, 1, 0, 1, from, 0, 0, 0, 10, 3], &[0, 0, 0, 0, 2, 0, p, 0, 0, wide, 3]],
            &[2, 3, 1],
        );
        assert_eq!(cuMemcpy3D_v2(up.as_ptr().cast()), 0);
        assert_eq!(gpu.download::<u8>(p + wide, 2), [41, 42]);
        let both = described(
            [&[0, 0, 0, 0, 2, 0, p, 0, 0, wide, 3], &[0, 0, 0, 0, 1, to, 0, 0, 0, 2, 3]],
            &[2, 3, 2],
        );
        assert_eq!(cuMemcpy3DAsync_v2(both.as_ptr().cast(), 0), 0);
        assert_eq!(cuStreamSynchronize(0), 0);
        assert_eq!(out, [31, 32, 41, 42, 51, 52, 30, 31, 40, 41, 50, 51]);
        assert_eq!(cuMemcpy3D_v2(null()), 1);
    }
}

#[test]
fn events_and_their_flags() {
    let gpu = Gpu::new(&[("devices", "2")]);
    let (mut e, mut ms) = (0, -1.0f32);
    let s = stream(1);
    unsafe {
        assert_eq!(cuEventCreate(&mut e, 8), 1);
        assert_eq!(cuEventCreate(&mut e, 4), 1, "between processes, but with the time");
        assert_eq!(cuEventCreate(&mut e, 2), 0);
        let (a, b) = (event(), event());
        assert_eq!(cuStreamWaitEvent(s, a, 0), 0, "never recorded: nothing to wait for");
        assert_eq!(cuStreamWaitEvent(s, a, 2), 1);
        assert_eq!(cuEventRecordWithFlags(a, s, 2), 1);
        assert_eq!(cuEventQuery(a), 0);
        assert_eq!(cuEventSynchronize(a), 0);
        assert_eq!(cuEventElapsedTime(&mut ms, a, b), 400, "never recorded");
        assert_eq!(cuEventRecord(a, s), 0);
        assert_eq!(cuEventRecord(e, s), 0);
        assert_eq!(cuEventRecord(b, s), 0);
        assert_eq!(cuEventElapsedTime(&mut ms, a, b), 600);
        assert_eq!(cuEventSynchronize(b), 0);
        assert_eq!(cuEventElapsedTime(&mut ms, a, e), 400, "made without the time");
        assert_eq!(cuEventElapsedTime(null_mut(), a, b), 1);
        assert_eq!(ms, -1.0);
        assert_eq!(cuEventElapsedTime(&mut ms, a, b), 0);
        assert!(ms >= 0.0);
        // Recorded again, it is not done again.
        assert_eq!(cuEventRecord(a, s), 0);
        assert_eq!(cuEventElapsedTime(&mut ms, a, b), 600);
        // An event of another context can be waited for, but not recorded.
        let mut second = 0;
        assert_eq!(cuCtxCreate_v2(&mut second, 0, 1), 0);
        let other = stream(1);
        assert_eq!(cuStreamWaitEvent(other, a, 0), 0);
        assert_eq!(cuEventRecord(a, other), 400);
        assert_eq!(cuStreamSynchronize(other), 0);
        assert_eq!(cuCtxDestroy_v2(second), 0);
        assert_eq!(cuCtxSetCurrent(gpu.context), 0);
        assert_eq!(cuEventQuery(a), 0);
    }
}

#[test]
fn contexts_come_and_go() {
    let gpu = Gpu::new(&[("devices", "2")]);
    let (mut cx, mut flags, mut active, mut p) = (0, 9, 9, 0);
    unsafe {
        // A context destroyed while it is current elsewhere.
        assert_eq!(cuCtxCreate_v2(&mut cx, 0, 0), 0);
        let (told, wait) = std::sync::mpsc::channel();
        let (done, ended) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            assert_eq!(cuCtxSetCurrent(cx), 0);
            done.send(()).unwrap();
            wait.recv().unwrap();
            let (mut p, mut device) = (0, 0);
            assert_eq!(cuMemAlloc_v2(&mut p, 16), 709);
            assert_eq!(cuCtxSynchronize(), 709);
            assert_eq!(cuCtxGetDevice(&mut device), 709);
            assert_eq!(cuCtxSetCurrent(cx), 201);
            assert_eq!(cuCtxSetCurrent(0), 0);
            assert_eq!(cuMemAlloc_v2(&mut p, 16), 201);
        });
        ended.recv().unwrap();
        assert_eq!(cuCtxDestroy_v2(cx), 0);
        assert_eq!(cuCtxDestroy_v2(cx), 201);
        told.send(()).unwrap();
        thread.join().unwrap();
        assert_eq!(cuCtxDestroy_v2(gpu.context), 201, "a primary context is released");
        assert_eq!(cuCtxCreate_v2(&mut cx, 0, 2), 101);
        assert_eq!(cuCtxCreate_v2(&mut cx, 3, 0), 1, "two ways of waiting");
        assert_eq!(cuCtxCreate_v2(&mut cx, 1 << 20, 0), 1);
        // Primary contexts are counted, and their flags kept.
        assert_eq!(cuCtxSetCurrent(gpu.context), 0);
        assert_eq!(cuDevicePrimaryCtxSetFlags_v2(0, 4), 0);
        assert_eq!(cuDevicePrimaryCtxGetState(0, &mut flags, &mut active), 0);
        assert_eq!((flags, active), (4, 1));
        assert_eq!(cuDevicePrimaryCtxGetState(1, &mut flags, &mut active), 0);
        assert_eq!((flags, active), (0, 0));
        assert_eq!(cuCtxGetFlags(&mut flags), 0);
        assert_eq!(flags, 4);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut cx, 0), 0);
        assert_eq!(cx, gpu.context);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
        let kept = gpu.alloc(16);
        assert_eq!(cuDevicePrimaryCtxReset_v2(0), 0);
        assert_eq!(cuMemFree_v2(kept), 1, "a reset takes all memory");
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 0, "but whoever holds the context can go on");
        assert_eq!(cuMemFree_v2(p), 0);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 201);
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 709);
        let mut limit = 0;
        assert_eq!(cuDevicePrimaryCtxRetain(&mut cx, 0), 0);
        assert_eq!(cuCtxSetCurrent(cx), 0);
        assert_eq!(cuCtxGetLimit(&mut limit, 77), 215);
        assert_eq!(cuCtxSetLimit(2, 1 << 24), 0);
        assert_eq!(cuCtxGetLimit(&mut limit, 2), 0);
        assert_eq!(limit, 1 << 24);
        // Peers: another device, once, and not oneself.
        let mut second = 0;
        assert_eq!(cuDevicePrimaryCtxRetain(&mut second, 1), 0);
        assert_eq!(cuCtxEnablePeerAccess(cx, 0), 201);
        assert_eq!(cuCtxEnablePeerAccess(second, 1), 1);
        assert_eq!(cuCtxDisablePeerAccess(second), 705);
        assert_eq!(cuCtxEnablePeerAccess(second, 0), 0);
        assert_eq!(cuCtxEnablePeerAccess(second, 0), 704);
    }
}

#[test]
fn memory_of_a_peer() {
    let gpu = Gpu::new(&[("devices", "2")]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let (mut second, mut far, mut pool) = (0, 0, 0);
    unsafe {
        assert_eq!(cuDevicePrimaryCtxRetain(&mut second, 1), 0);
        assert_eq!(cuCtxSetCurrent(second), 0);
        let (x, on_second) = (gpu.upload(&[5u32; 32]), stream(1));
        // Pools say themselves who may use them.
        assert_eq!(cuDeviceGetDefaultMemPool(&mut pool, 1), 0);
        assert_eq!(cuDeviceSetMemPool(0, pool), 101);
        assert_eq!(cuMemAllocAsync(&mut far, 128, 0), 0);
        assert_eq!(cuMemsetD32Async(far, 1, 32, 0), 0);
        assert_eq!(gpu.sync(), 0);
        assert_eq!(cuCtxSetCurrent(gpu.context), 0);
        let near = gpu.zeros(128);
        let (mut there, mut device) = (0, -1i32);
        assert_eq!(cuMemAllocAsync(&mut there, 16, on_second), 0);
        assert_eq!(cuPointerGetAttribute((&raw mut device).cast(), 9, there), 0);
        assert_eq!(device, 1, "memory is that of the stream's device");
        assert_eq!(cuMemFreeAsync(there, on_second), 0);
        // A copy needs no peer access, a kernel does.
        assert_eq!(cuMemcpyPeer(near, gpu.context, x, second, 128), 0);
        assert_eq!(gpu.download::<u32>(near, 1), [5]);
        // In the legacy stream of either device it waits for both, and both wait for it.
        let (busy, mut got) = (stream(1), [0u32]);
        assert_eq!(cuCtxSetCurrent(second), 0);
        assert_eq!(cuMemsetD32Async(x, 6, 32, stream(1)), 0);
        assert_eq!(cuCtxSetCurrent(gpu.context), 0);
        assert_eq!(cuMemcpyPeerAsync(near, gpu.context, x, second, 128, 0), 0);
        assert_eq!(cuMemcpyDtoHAsync_v2(got.as_mut_ptr().cast(), near, 4, busy), 0);
        assert_eq!(cuStreamSynchronize(busy), 0);
        assert_eq!(got, [6]);
        let access = |what| [1i32, 0, what];
        assert_eq!(cuMemPoolSetAccess(pool, access(2).as_ptr().cast(), 1), 1);
        assert_eq!(cuMemPoolSetAccess(pool, [1i32, 9, 3].as_ptr().cast(), 1), 101);
        assert_eq!(cuMemPoolSetAccess(pool, null(), 1), 1);
        assert_eq!(cuMemPoolSetAccess(pool, access(3).as_ptr().cast(), 1), 0);
        gpu.run(f, 1, 32, &[far, 32]);
        assert_eq!(gpu.download::<u32>(far, 1), [2]);
        assert_eq!(cuMemPoolSetAccess(pool, access(0).as_ptr().cast(), 1), 0);
        assert_eq!(cuCtxEnablePeerAccess(second, 0), 0);
        gpu.run(f, 1, 32, &[x, 32]);
        assert_eq!(cuCtxDisablePeerAccess(second), 0);
        assert_eq!(gpu.launch(f, 1, 32, &[x, 32]), 0);
        assert_eq!(gpu.sync(), 700, "{}", report());
    }
}

#[test]
fn pools_count_their_own() {
    let gpu = Gpu::new(&[]);
    let properties = |kind: c_int, place: c_int, device: c_int| {
        let mut words = [0i32; 24];
        (words[0], words[2], words[3]) = (kind, place, device);
        words
    };
    let (mut pool, mut fixed, mut p) = (0, 0, 0);
    unsafe {
        let number = |pool, which| {
            let mut n = u64::MAX;
            assert_eq!(cuMemPoolGetAttribute(pool, which, (&raw mut n).cast()), 0);
            n
        };
        assert_eq!(cuMemPoolCreate(&mut pool, properties(1, 1, 5).as_ptr().cast()), 101);
        assert_eq!(cuMemPoolCreate(&mut pool, properties(7, 1, 0).as_ptr().cast()), 1);
        assert_eq!(cuMemPoolCreate(&mut pool, null()), 1);
        assert_eq!(cuMemPoolCreate(&mut pool, properties(1, 1, 0).as_ptr().cast()), 0);
        assert_eq!(cuDeviceGetDefaultMemPool(&mut fixed, 0), 0);
        assert_eq!(cuMemAllocFromPoolAsync(&mut p, 1000, pool, 0), 0);
        assert_eq!((number(pool, 7), number(fixed, 7)), (1000, 0));
        // Whatever frees it, the pool it is from has it back.
        assert_eq!(cuMemFreeAsync(p, 0), 0);
        assert_eq!(gpu.sync(), 0);
        assert_eq!((number(pool, 7), number(pool, 8)), (0, 1000));
        assert_eq!(cuMemAllocFromPoolAsync(&mut p, 500, pool, 0), 0);
        assert_eq!(cuMemFree_v2(p), 0);
        assert_eq!(number(pool, 7), 0);
        // What was the most can be forgotten, and nothing else be said about what is used.
        let (mut zero, mut one) = (0u64, 1u64);
        assert_eq!(cuMemPoolSetAttribute(pool, 8, (&raw mut one).cast()), 1);
        assert_eq!(cuMemPoolSetAttribute(pool, 7, (&raw mut zero).cast()), 1);
        assert_eq!(cuMemPoolSetAttribute(pool, 8, (&raw mut zero).cast()), 0);
        assert_eq!(number(pool, 8), 0);
        assert_eq!(cuMemPoolGetAttribute(pool, 7, null_mut()), 1);
        assert_eq!(cuMemPoolDestroy(fixed), 1);
        assert_eq!(cuMemAllocFromPoolAsync(&mut p, 500, pool, 0), 0);
        assert_eq!(cuMemPoolDestroy(pool), 0);
        assert_eq!(cuMemPoolDestroy(pool), 1);
        assert_eq!(cuMemFreeAsync(p, 0), 0, "memory outlives its pool");
        assert_eq!(cuMemAllocFromPoolAsync(&mut p, 500, pool, 0), 1);
        // A failed context gives everything back when it ends.
        assert_eq!(cuMemAllocAsync(&mut p, 64, 0), 0);
        let f = gpu.function(gpu.load(ADD_ONE), "add_one");
        assert_eq!(gpu.launch(f, 1, 32, &[16, 32]), 0);
        assert_eq!(cuMemFreeAsync(p, 0), 0);
        assert_eq!(gpu.sync(), 700);
        assert_eq!(cuDevicePrimaryCtxReset_v2(0), 0);
        assert_eq!((number(fixed, 7), live().allocations), (0, 0));
    }
}

#[test]
fn host_functions_must_not_call_the_driver() {
    extern "C" fn call(data: *mut c_void) {
        // SAFETY: the test passes a pair of the stream and a place for the answers.
        unsafe {
            let (stream, answers) = &mut *data.cast::<(u64, Vec<u32>)>();
            let mut name = null();
            answers.push(cuStreamSynchronize(*stream));
            answers.push(cuMemAlloc_v2(stream, 16));
            answers.push(cuGetErrorName(800, &mut name));
        }
    }
    let gpu = Gpu::new(&[]);
    let mut data = (stream(1), Vec::<u32>::new());
    unsafe {
        assert_eq!(cuLaunchHostFunc(data.0, call as *mut c_void, (&raw mut data).cast()), 0);
        assert_eq!(gpu.sync(), 0);
        assert_eq!((&raw const data.1).as_ref().unwrap(), &[800, 800, 0]);
        assert!(report().contains("in a host function"), "{}", report());
        // After a failure they are not called any more.
        let f = gpu.function(gpu.load(ADD_ONE), "add_one");
        assert_eq!(gpu.launch(f, 1, 32, &[16, 32]), 0);
        assert_eq!(cuLaunchHostFunc(0, call as *mut c_void, (&raw mut data).cast()), 0);
        assert_eq!(gpu.sync(), 700);
        assert_eq!((&raw const data.1).as_ref().unwrap().len(), 3);
    }
}

#[test]
fn devices_and_pointers_answer() {
    let gpu = Gpu::new(&[("devices", "2")]);
    let (mut n, mut m) = (0, 0);
    let p = gpu.alloc(100);
    unsafe {
        let mut id = [0 as std::ffi::c_char; 32];
        for device in 0..2 {
            assert_eq!(cuDeviceGetPCIBusId(id.as_mut_ptr(), 32, device), 0);
            assert_eq!(cuDeviceGetByPCIBusId(&mut n, id.as_ptr()), 0);
            assert_eq!(n, device, "the name leads back");
            assert_eq!(cuDeviceGetAttribute(&mut m, 33, device), 0);
            let text = std::ffi::CStr::from_ptr(id.as_ptr()).to_str().unwrap();
            assert_eq!(text, format!("0000:{m:02X}:00.0"), "the attribute says the same");
        }
        assert_eq!(cuDeviceGetPCIBusId(id.as_mut_ptr(), 4, 0), 1);
        assert_eq!(cuDeviceGetByPCIBusId(&mut n, c"0000:77:00.0".as_ptr()), 101);
        assert_eq!(cuDeviceGetAttribute(&mut n, 0, 0), 1);
        assert_eq!(cuDeviceGetAttribute(&mut n, 9999, 0), 1);
        assert_eq!(cuDeviceGetAttribute(&mut n, 1, 2), 101);
        assert_eq!(cuDeviceGetP2PAttribute(&mut n, 2, 0, 1), 0);
        assert_eq!(cuDeviceGetP2PAttribute(&mut n, 2, 1, 1), 101);
        assert_eq!(cuDeviceGetP2PAttribute(&mut n, 9, 0, 1), 1);
        // Blocks on a multiprocessor: as many as the device says.
        let f = gpu.function(gpu.load(ADD_ONE), "add_one");
        assert_eq!(cuDeviceGetAttribute(&mut n, 106, 0), 0);
        assert_eq!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut m, f, 32, 0), 0);
        assert_eq!(n, m);
        let (mut kind, mut size) = (0u32, 0u64);
        let mut to = [(&raw mut kind).cast::<c_void>(), (&raw mut size).cast()];
        let mut which = [2, 12];
        assert_eq!(cuPointerGetAttributes(2, which.as_mut_ptr(), to.as_mut_ptr(), p + 5), 0);
        assert_eq!((kind, size), (2, 100));
        assert_eq!(cuPointerGetAttributes(2, which.as_mut_ptr(), to.as_mut_ptr(), 5), 0);
        assert_eq!((kind, size), (0, 0), "unknown memory");
        assert_eq!(cuPointerGetAttribute((&raw mut size).cast(), 99, p), 1);
        assert_eq!(cuMemAdvise_v2(p, 100, 1, 0), 1, "for managed memory only");
    }
}

#[test]
fn entry_points_have_the_form_of_their_version() {
    let _turn = fresh(&[]);
    let find = |name: &std::ffi::CStr, version| unsafe {
        let mut at = null_mut();
        assert_eq!(cuGetProcAddress_v2(name.as_ptr(), &mut at, version, 0, null_mut()), 0);
        at as usize
    };
    assert_eq!(find(c"cuCtxCreate", 10000), address("cuCtxCreate_v2"));
    assert_eq!(find(c"cuCtxCreate", 11040), address("cuCtxCreate_v3"));
    assert_eq!(find(c"cuCtxCreate", 13000), address("cuCtxCreate_v4"));
    assert_eq!(find(c"cuMemPrefetchAsync", 12000), address("cuMemPrefetchAsync"));
    assert_eq!(find(c"cuMemPrefetchAsync", 13000), address("cuMemPrefetchAsync_v2"));
    assert_eq!(find(c"cuGetProcAddress", 11030), address("cuGetProcAddress"));
    unsafe {
        let mut at = null_mut();
        assert_eq!(cuGetProcAddress_v2(null(), &mut at, 13000, 0, null_mut()), 1);
        assert_eq!(cuGetProcAddress_v2(c"cuInit".as_ptr(), null_mut(), 13000, 0, null_mut()), 1);
        assert_eq!(cuGetProcAddress_v2(c"cuInit".as_ptr(), &mut at, 13000, 99, null_mut()), 1);
    }
}

#[test]
fn rules_that_could_never_fail_a_call() {
    let _turn = fresh(&[("fail", "cuInit:2:3,cuMemAlloc:1:2")]);
    // No such function, success as a failure, a rule too long, not a number, no such error.
    for rule in
        ["cuMemAloc:1:2", "cuInit:1:0", "cuInit:1:2:3", "cuInit:first:2", "cuInit:1:NO_SUCH_ERROR"]
    {
        assert!(DRIVER.set("fail", rule).is_err(), "{rule}");
    }
    let (mut cx, mut p) = (0, 0);
    unsafe {
        assert_eq!((cuInit(0), cuInit(0), cuInit(0)), (0, 3, 0), "the good rules are untouched");
        assert_eq!(cuDevicePrimaryCtxRetain(&mut cx, 0), 0);
        assert_eq!(cuCtxSetCurrent(cx), 0);
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 2, "a name without its version means every version");
        assert_eq!(cuMemAlloc_v2(&mut p, 16), 0);
    }
}
