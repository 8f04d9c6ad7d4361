//! What programs rely on that were written for a real driver, with no setting changed.

mod support;
use std::ffi::c_void;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;
use std::time::Duration;
use support::driver::*;
use support::{ADD_ONE, Gpu, event, live, report, stream};

/// Every copy that ends in pageable memory is done when its call returns.
#[test]
fn copies_to_pageable_memory_are_complete_when_they_return() {
    for when in ["lazy", "eager", "seed:4"] {
        let gpu = Gpu::new(&[("async", when)]);
        let f = gpu.function(gpu.load(ADD_ONE), "add_one");
        let data = gpu.upload(&[5u32; 64]);
        let (s, other) = (stream(1), stream(1));
        let mut out = vec![0u32; 64];
        let to = out.as_mut_ptr();
        unsafe {
            assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, s, &[data, 64]), 0);
            assert_eq!(cuMemcpyDtoHAsync_v2(to.cast(), data, 256, s), 0);
            assert_eq!(out[..], [6; 64]);
            // By address alone, and after what the stream waits for.
            assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, s, &[data, 64]), 0);
            let e = event();
            assert_eq!(cuEventRecord(e, s), 0);
            assert_eq!(cuStreamWaitEvent(other, e, 0), 0);
            assert_eq!(cuMemcpyAsync(to as u64, data, 256, other), 0);
            assert_eq!(out[..], [7; 64]);
            // The fault of a kernel comes to light with it.
            assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, s, &[16, 64]), 0);
            assert_eq!(cuMemcpyDtoHAsync_v2(to.cast(), data, 256, s), 700);
        }
    }
}

/// Pinned memory, allocated or registered, is written when the copy happens, and graphs copy when launched.
#[test]
fn copies_to_pinned_memory_and_of_graphs_come_later() {
    let gpu = Gpu::new(&[]);
    let data = gpu.upload(&[9u32; 4]);
    let s = stream(1);
    let mut registered = vec![0u32; 1024];
    let mut pageable = [0u32; 4];
    let mut pinned: *mut c_void = std::ptr::null_mut();
    unsafe {
        assert_eq!(cuMemHostAlloc(&mut pinned, 16, 0), 0);
        pinned.cast::<u32>().write(0);
        let to: *mut c_void = registered.as_mut_ptr().cast();
        assert_eq!(cuMemHostRegister_v2(to, 4096, 0), 0);
        assert_eq!(cuMemcpyDtoHAsync_v2(pinned, data, 16, s), 0);
        assert_eq!(cuMemcpyDtoHAsync_v2(to, data, 16, s), 0);
        assert_eq!((pinned.cast::<u32>().read(), to.cast::<u32>().read()), (0, 0));
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!((pinned.cast::<u32>().read(), to.cast::<u32>().read()), (9, 9));
        assert_eq!(cuMemHostUnregister(to), 0);
        assert_eq!(cuMemFreeHost(pinned), 0);
        let (mut graph, mut exec) = (0, 0);
        let at = (&raw mut pageable).cast::<u32>();
        assert_eq!(cuStreamBeginCapture_v2(s, 2), 0);
        assert_eq!(cuMemcpyDtoHAsync_v2(at.cast(), data, 16, s), 0);
        assert_eq!(cuStreamEndCapture(s, &mut graph), 0);
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), 0);
        assert_eq!(at.read_volatile(), 0);
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(at.read_volatile(), 9);
    }
}

/// Streams and events know their context; a thread that has none may use and destroy them.
#[test]
fn streams_and_events_need_no_current_context() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let data = gpu.upload(&[5u32; 64]);
    let (s, other) = (stream(1), stream(1));
    let (a, b) = (event(), event());
    unsafe {
        assert_eq!(cuEventRecord(a, s), 0);
        assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, s, &[data, 64]), 0);
        assert_eq!(cuEventRecord(b, s), 0);
    }
    let context = gpu.context;
    std::thread::spawn(move || unsafe {
        let (mut ms, mut home, mut flags, mut status) = (-1.0, 0, 9, 9);
        assert_eq!(cuEventQuery(b), 600);
        assert_eq!(cuEventSynchronize(b), 0);
        assert_eq!(cuEventQuery(b), 0);
        assert_eq!(cuEventElapsedTime(&mut ms, a, b), 0);
        assert!(ms >= 0.0);
        assert_eq!(cuEventRecord(a, s), 0);
        assert_eq!(cuStreamWaitEvent(other, a, 0), 0);
        assert_eq!(cuStreamSynchronize(other), 0);
        assert_eq!(cuStreamQuery(s), 0);
        assert_eq!(cuStreamGetCtx(s, &mut home), 0);
        assert_eq!(cuStreamGetFlags(s, &mut flags), 0);
        assert_eq!(cuStreamIsCapturing(s, &mut status), 0);
        assert_eq!((home, flags, status), (context, 1, 0));
        assert_eq!(cuEventDestroy_v2(a), 0);
        assert_eq!(cuEventDestroy_v2(b), 0);
        assert_eq!(cuStreamDestroy_v2(s), 0);
        assert_eq!(cuStreamDestroy_v2(other), 0);
        assert_eq!(report(), "[]");
        // What has no context of its own still needs the thread's.
        assert_eq!(cuEventCreate(&mut home, 0), 201);
        assert_eq!(cuStreamSynchronize(0), 201);
        assert_eq!(cuEventDestroy_v2(a), 201);
    })
    .join()
    .expect("no assertion fails");
    assert_eq!(gpu.download::<u32>(data, 1), [6]);
    assert_eq!((live().streams, live().events), (0, 0));
}

extern "C" fn say_which_thread(data: *mut c_void) {
    // SAFETY: the test passes a sender that outlives the stream's work.
    let sender = unsafe { &*data.cast::<Sender<ThreadId>>() };
    let _ = sender.send(std::thread::current().id());
}

/// A host function runs on a thread of the driver's own, and a program may wait for it without synchronising.
#[test]
fn host_functions_come_by_themselves_on_another_thread() {
    for when in ["lazy", "eager", "seed:9"] {
        let gpu = Gpu::new(&[("async", when)]);
        let f = gpu.function(gpu.load(ADD_ONE), "add_one");
        let data = gpu.upload(&[5u32; 64]);
        let s = stream(1);
        let (sender, receiver) = channel::<ThreadId>();
        let argument = (&raw const sender) as *mut c_void;
        unsafe {
            assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, s, &[data, 64]), 0);
            assert_eq!(cuLaunchHostFunc(s, say_which_thread as *mut c_void, argument), 0);
            let there = receiver.recv_timeout(Duration::from_secs(20)).expect("it is called");
            assert_ne!(there, std::thread::current().id());
            // In a graph and while somebody synchronises, as well.
            let (mut graph, mut exec) = (0, 0);
            assert_eq!(cuStreamBeginCapture_v2(s, 2), 0);
            assert_eq!(cuLaunchHostFunc(s, say_which_thread as *mut c_void, argument), 0);
            assert_eq!(cuStreamEndCapture(s, &mut graph), 0);
            assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), 0);
            assert_eq!(cuGraphLaunch(exec, s), 0);
            assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(there));
            extern "C" fn callback(_stream: u64, status: u32, data: *mut c_void) {
                assert_eq!(status, 0);
                say_which_thread(data);
            }
            assert_eq!(cuStreamAddCallback(s, Some(callback), argument, 0), 0);
            assert_eq!(cuStreamSynchronize(s), 0);
            assert_eq!(receiver.try_recv(), Ok(there));
        }
    }
}

extern "C" fn wait_for_release(data: *mut c_void) {
    // SAFETY: the test passes a receiver that outlives the stream's work.
    let receiver = unsafe { &*data.cast::<Receiver<()>>() };
    let _ = receiver.recv_timeout(Duration::from_secs(20));
}

/// No question and no launch waits for a host function; only what synchronises does.
#[test]
fn a_host_function_that_waits_holds_nobody_up() {
    for when in ["lazy", "eager", "seed:2"] {
        let gpu = Gpu::new(&[("async", when)]);
        let f = gpu.function(gpu.load(ADD_ONE), "add_one");
        let data = gpu.upload(&[5u32; 64]);
        let (s, e) = (stream(1), event());
        let (release, receiver) = channel::<()>();
        unsafe {
            let argument = (&raw const receiver) as *mut c_void;
            assert_eq!(cuLaunchHostFunc(s, wait_for_release as *mut c_void, argument), 0);
            assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, s, &[data, 64]), 0);
            assert_eq!(cuEventRecord(e, s), 0);
            for _ in 0..10 {
                assert_eq!((cuEventQuery(e), cuStreamQuery(s)), (600, 600));
            }
            release.send(()).expect("the function is waiting");
            assert_eq!(cuEventSynchronize(e), 0);
            assert_eq!((cuEventQuery(e), cuStreamQuery(s)), (0, 0));
        }
        assert_eq!(gpu.download::<u32>(data, 1), [6]);
    }
}

#[test]
fn flags_of_an_instantiation_are_checked() {
    extern "C" fn nothing(_: *mut c_void) {}
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let data = gpu.upload(&[5u32; 64]);
    let s = stream(1);
    let (mut graph, mut with_host, mut exec) = (0, 0, 0);
    #[repr(C)]
    struct Params {
        flags: u64,
        stream: u64,
        node: u64,
        result: u32,
    }
    unsafe {
        assert_eq!(cuStreamBeginCapture_v2(s, 2), 0);
        assert_eq!(gpu.launch_on(f, [1; 3], [64, 1, 1], 0, s, &[data, 64]), 0);
        assert_eq!(cuStreamEndCapture(s, &mut graph), 0);
        assert_eq!(cuStreamBeginCapture_v2(s, 2), 0);
        assert_eq!(cuLaunchHostFunc(s, nothing as *mut c_void, std::ptr::null_mut()), 0);
        assert_eq!(cuStreamEndCapture(s, &mut with_host), 0);
        // An upload needs a stream to happen on; a launch by the device excludes frees at launch.
        for (flags, plain, with_params) in [
            (0, 0, 0),
            (1, 0, 0),
            (2, 1, 0),
            (4, 0, 0),
            (5, 1, 1),
            (8, 0, 0),
            (15, 1, 1),
            (16, 1, 1),
        ] {
            assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, flags), plain, "{flags}");
            let mut params = Params { flags, stream: s, node: 7, result: 7 };
            let at = (&raw mut params).cast();
            assert_eq!(cuGraphInstantiateWithParams(&mut exec, graph, at), with_params, "{flags}");
            assert_eq!((params.node, params.result), (0, with_params));
        }
        let mut params = Params { flags: 2, stream: 12345, node: 7, result: 7 };
        let at = (&raw mut params).cast();
        assert_eq!(cuGraphInstantiateWithParams(&mut exec, graph, at), 400);
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, with_host, 4), 1, "not on a device");
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, with_host, 0), 0);
    }
}

/// Functions that are not supported are there all the same, and say so.
#[test]
fn every_function_of_the_api_is_exported() {
    let _gpu = Gpu::new(&[]);
    assert_eq!(unsafe { (cuArrayCreate_v2(), cuTensorMapEncodeTiled()) }, (801, 801));
    assert!(report().contains("cuTensorMapEncodeTiled is not supported"), "{}", report());
    let mut to = std::ptr::dangling_mut::<c_void>();
    unsafe {
        let name = c"cuTensorMapEncodeTiled".as_ptr();
        assert_eq!(cuGetProcAddress(name, &mut to, 12000, 0), 500);
    }
    assert!(to.is_null());
}

#[test]
fn nothing_can_be_allocated_in_stream_order() {
    let _gpu = Gpu::new(&[]);
    let mut at = 77;
    unsafe {
        assert_eq!(cuMemAllocAsync(&mut at, 0, 0), 0);
        assert_eq!(at, 0);
        assert_eq!(cuMemFreeAsync(at, 0), 0);
    }
    assert_eq!(report(), "[]");
}

#[test]
fn calls_between_processes_are_found_and_refused() {
    let _gpu = Gpu::new(&[]);
    for name in [c"cuIpcGetMemHandle", c"cuIpcOpenMemHandle", c"cuIpcCloseMemHandle"] {
        let mut at = std::ptr::null_mut();
        let code = unsafe { cuGetProcAddress(name.as_ptr(), &mut at, 12000, 0) };
        assert!(code == 0 && !at.is_null(), "{name:?}");
        // SAFETY: the function takes no notice of its arguments.
        let call: extern "C" fn() -> u32 = unsafe { std::mem::transmute(at) };
        assert_eq!(call(), 801);
    }
}

#[test]
fn the_cuda_runtime_is_told_that_it_is_not_supported() {
    let _gpu = Gpu::new(&[]);
    let mut table = std::ptr::null();
    let runtime = 0xf99d_fd12_39d9_8789_4ae7_f45b_6cfb_d56bu128.to_le_bytes();
    unsafe {
        assert_eq!(cuGetExportTable(&mut table, [1u8; 16].as_ptr().cast()), 500);
        assert_eq!(report(), "[]");
        assert_eq!(cuGetExportTable(&mut table, runtime.as_ptr().cast()), 500);
    }
    assert!(report().contains("programs on the CUDA runtime are not supported"), "{}", report());
}

#[test]
fn a_pool_keeps_memory_from_others_until_it_is_trimmed() {
    let _gpu = Gpu::new(&[("memory", "8m")]);
    let properties: [i32; 22] = std::array::from_fn(|k| i32::from(k == 0 || k == 2));
    let (mut pool, mut own, mut other) = (0, 0, 0);
    let mut all = u64::MAX;
    unsafe {
        assert_eq!(cuMemPoolCreate(&mut pool, properties.as_ptr().cast()), 0);
        assert_eq!(cuMemPoolSetAttribute(pool, 4, (&raw mut all).cast()), 0);
        assert_eq!(cuMemAllocFromPoolAsync(&mut own, 6 << 20, pool, 0), 0);
        assert_eq!(cuMemFreeAsync(own, 0), 0);
        assert_eq!(cuStreamSynchronize(0), 0);
        assert_eq!(cuMemAllocAsync(&mut other, 6 << 20, 0), 2);
        assert_eq!(cuMemAllocFromPoolAsync(&mut own, 6 << 20, pool, 0), 0, "its own memory");
        assert_eq!(cuMemFreeAsync(own, 0), 0);
        assert_eq!(cuStreamSynchronize(0), 0);
        let mut reserved = 0u64;
        assert_eq!(cuMemPoolGetAttribute(pool, 5, (&raw mut reserved).cast()), 0);
        assert_eq!(reserved, 6 << 20);
        assert_eq!(cuMemPoolTrimTo(pool, 0), 0);
        assert_eq!(cuMemAllocAsync(&mut other, 6 << 20, 0), 0);
        assert_eq!(cuMemFreeAsync(other, 0), 0);
    }
}
