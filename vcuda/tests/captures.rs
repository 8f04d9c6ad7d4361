//! Stream capture and graphs.

mod support;
use std::ffi::c_void;
use std::ptr::null_mut;
use support::driver::*;
use support::{ADD_ONE, Gpu, event, live, report, stream};

#[test]
fn capture_and_graphs() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let (a, b) = (stream(1), stream(1));
    let (fork, join) = (event(), event());
    let x = gpu.upload(&[0u32; 32]);
    let y = gpu.upload(&[0u32; 32]);
    let (mut graph, mut exec, mut status, mut count) = (0, 0, 0, 0);
    unsafe {
        assert_eq!(cuStreamBeginCapture_v2(0, 0), 900);
        assert_eq!(cuStreamBeginCapture_v2(a, 0), 0);
        assert_eq!(cuStreamBeginCapture_v2(a, 0), 401);
        assert_eq!(cuEventRecord(fork, a), 0);
        assert_eq!(cuStreamWaitEvent(b, fork, 0), 0);
        assert_eq!(gpu.launch_on(f, [1; 3], [32, 1, 1], 0, a, &[x, 32]), 0);
        assert_eq!(gpu.launch_on(f, [1; 3], [32, 1, 1], 0, b, &[y, 32]), 0);
        assert_eq!(cuEventQuery(fork), 907);
        assert_eq!(cuEventRecord(join, b), 0);
        assert_eq!(cuStreamWaitEvent(a, join, 0), 0);
        assert_eq!(cuStreamIsCapturing(b, &mut status), 0);
        assert_eq!(status, 1);
        assert_eq!(cuStreamEndCapture(b, &mut graph), 903);
        assert_eq!(cuStreamEndCapture(a, &mut graph), 0);
        assert_eq!(cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count), 0);
        assert_eq!(count, 2);
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), 0);
        assert_eq!(cuGraphDestroy(graph), 0);
        assert_eq!(gpu.download::<u32>(x, 1), [0], "capturing runs nothing");
        assert_eq!(cuGraphUpload(exec, a), 0);
        for _ in 0..3 {
            assert_eq!(cuGraphLaunch(exec, a), 0);
        }
        assert_eq!(cuStreamSynchronize(a), 0);
        assert_eq!(gpu.download::<u32>(x, 1), [3]);
        assert_eq!(gpu.download::<u32>(y, 1), [3]);
        assert_eq!(cuGraphExecDestroy(exec), 0);
        assert_eq!(cuGraphLaunch(exec, a), 1);
        // Synchronising a captured stream spoils the capture.
        assert_eq!(cuStreamBeginCapture_v2(a, 0), 0);
        assert_eq!(cuStreamSynchronize(a), 900);
        assert_eq!(gpu.launch_on(f, [1; 3], [32, 1, 1], 0, a, &[x, 32]), 901);
        assert_eq!(cuStreamEndCapture(a, &mut graph), 901);
        // So does a call that waits for everything.
        assert_eq!(cuStreamBeginCapture_v2(a, 0), 0);
        assert_eq!(cuMemAlloc_v2(&mut graph, 16), 900);
        assert_eq!(cuStreamEndCapture(a, &mut graph), 901);
        // Work forked off and not joined.
        assert_eq!(cuStreamBeginCapture_v2(a, 2), 0);
        assert_eq!(cuEventRecord(fork, a), 0);
        assert_eq!(cuStreamWaitEvent(b, fork, 0), 0);
        assert_eq!(cuStreamEndCapture(a, &mut graph), 904);
        assert_eq!(cuStreamEndCapture(a, &mut graph), 401);
        assert_eq!(cuStreamSynchronize(b), 0);
    }
}

/// A capture in a mode on a stream of its own, by this thread.
fn captured(mode: u32) -> u64 {
    let s = stream(1);
    assert_eq!(unsafe { cuStreamBeginCapture_v2(s, mode) }, 0);
    s
}

/// Ends a capture: its error and, if there is none, the graph.
fn end(s: u64) -> (u32, u64) {
    let mut graph = 0;
    let code = unsafe { cuStreamEndCapture(s, &mut graph) };
    (code, graph)
}

fn exchange(mode: u32) -> (u32, u32) {
    let mut mode = mode;
    let code = unsafe { cuThreadExchangeStreamCaptureMode(&mut mode) };
    (code, mode)
}

/// Runs a body on another thread with the same context.
fn elsewhere<T: Send>(context: u64, body: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let run = || {
            assert_eq!(unsafe { cuCtxSetCurrent(context) }, 0);
            body()
        };
        scope.spawn(run).join().expect("the thread ends")
    })
}

#[test]
fn modes_of_threads_are_exchanged() {
    let gpu = Gpu::new(&[]);
    assert_eq!(exchange(2), (0, 0));
    assert_eq!(exchange(1), (0, 2));
    assert_eq!(exchange(3), (1, 3));
    assert_eq!(elsewhere(gpu.context, || exchange(1)), (0, 0), "each thread has its own");
    assert_eq!(exchange(0), (0, 1));
    assert_eq!(unsafe { cuThreadExchangeStreamCaptureMode(null_mut()) }, 1);
}

#[test]
fn whom_a_capture_keeps_from_unsafe_calls() {
    let gpu = Gpu::new(&[]);
    let unsafe_call = || {
        let mut p = 0;
        let code = unsafe { cuMemAlloc_v2(&mut p, 16) };
        assert_eq!(unsafe { cuMemFree_v2(p) }, 0);
        code
    };
    // The capture's mode, the caller's mode: refused to its own thread, to another one.
    for (mode, caller, own, other) in [
        (0, 0, 900, 900),
        (0, 1, 900, 0),
        (0, 2, 0, 0),
        (1, 0, 900, 0),
        (1, 1, 900, 0),
        (1, 2, 0, 0),
        (2, 0, 0, 0),
        (2, 1, 0, 0),
        (2, 2, 0, 0),
    ] {
        let ended = |code| if code == 0 { 0 } else { 901 };
        let s = captured(mode);
        let got = elsewhere(gpu.context, || {
            exchange(caller);
            unsafe_call()
        });
        assert_eq!((got, end(s).0), (other, ended(other)), "{mode} {caller} elsewhere");
        let s = captured(mode);
        exchange(caller);
        let got = unsafe_call();
        exchange(0);
        assert_eq!((got, end(s).0), (own, ended(own)), "{mode} {caller}");
    }
}

#[test]
fn calls_that_could_disturb_a_capture() {
    let gpu = Gpu::new(&[]);
    let (p, e, other) = (gpu.zeros(64), event(), stream(1));
    let mut out = [0u8; 64];
    let (mut q, mut host) = (0, null_mut::<c_void>());
    unsafe {
        assert_eq!(cuEventRecord(e, other), 0);
        let text = std::ffi::CString::new(ADD_ONE).unwrap();
        let calls: [(&str, &mut dyn FnMut() -> u32); 14] = [
            ("cuCtxSynchronize", &mut || cuCtxSynchronize()),
            ("cuMemAllocManaged", &mut || cuMemAllocManaged(&mut q, 16, 1)),
            ("cuMemHostAlloc", &mut || cuMemHostAlloc(&mut host, 16, 0)),
            ("cuMemFree", &mut || cuMemFree_v2(p)),
            ("cuMemcpyDtoH", &mut || cuMemcpyDtoH_v2(out.as_mut_ptr().cast(), p, 64)),
            ("cuMemcpyHtoD", &mut || cuMemcpyHtoD_v2(p, text.as_ptr().cast(), 64)),
            ("cuMemcpyDtoD", &mut || cuMemcpyDtoD_v2(p, p + 32, 32)),
            ("cuMemsetD8", &mut || cuMemsetD8_v2(p, 0, 64)),
            ("cuEventQuery", &mut || cuEventQuery(e)),
            ("cuEventSynchronize", &mut || cuEventSynchronize(e)),
            ("cuStreamQuery", &mut || cuStreamQuery(other)),
            ("cuStreamSynchronize", &mut || cuStreamSynchronize(other)),
            ("cuModuleLoadData", &mut || cuModuleLoadData(&mut 0, text.as_ptr().cast())),
            ("cuMemHostRegister", &mut || {
                cuMemHostRegister_v2((&raw const text) as *mut c_void, 1, 0)
            }),
        ];
        for (name, call) in calls {
            let s = captured(0);
            assert_eq!((call(), end(s).0), (900, 901), "{name}");
        }
        // Work on other streams, and stream-ordered memory, is safe.
        let s = captured(0);
        assert_eq!(cuMemAllocAsync(&mut q, 16, other), 0);
        assert_eq!(cuMemsetD8Async(q, 0, 16, other), 0);
        assert_eq!(cuMemFreeAsync(q, other), 0);
        assert_eq!(end(s).0, 0);
    }
}

#[test]
fn threads_and_default_streams_of_a_capture() {
    let gpu = Gpu::new(&[]);
    let p = gpu.zeros(64);
    unsafe {
        for (mode, ended) in [(0, 908), (1, 908), (2, 0)] {
            let s = captured(mode);
            let code = elsewhere(gpu.context, || end(s).0);
            assert_eq!(code, ended, "{mode}");
            assert_eq!(end(s).0, if ended == 0 { 401 } else { 0 });
        }
        // The legacy stream would wait for a blocking stream that is captured.
        let s = stream(0);
        assert_eq!(cuStreamBeginCapture_v2(s, 2), 0);
        assert_eq!(cuMemsetD8Async(p, 1, 64, 0), 906);
        assert_eq!(end(s).0, 901);
        // Asking whether it is captured fails too, but does no harm.
        let s = stream(0);
        assert_eq!(cuStreamBeginCapture_v2(s, 2), 0);
        assert_eq!(cuStreamIsCapturing(0, &mut 0), 906);
        assert_eq!(end(s).0, 0);
        // No mode allows to wait for a context with a captured stream.
        let s = captured(2);
        exchange(2);
        assert_eq!((cuCtxSynchronize(), end(s).0), (900, 901));
        exchange(0);
        let s = captured(2);
        assert_eq!(cuMemsetD8Async(p, 1, 64, 0), 0, "but not for a non-blocking one");
        assert_eq!(end(s).0, 0);
        // A thread's own default stream can be captured, and each thread has its own.
        assert_eq!(cuStreamBeginCapture_v2(2, 1), 0);
        assert_eq!(cuMemsetD8Async(p, 2, 64, 2), 0);
        let theirs = elsewhere(gpu.context, || (cuStreamBeginCapture_v2(2, 1), end(2).0));
        assert_eq!(theirs, (0, 0));
        assert_eq!(end(2).0, 0);
        // Two captures cannot become one.
        let (a, b, e) = (captured(2), captured(2), event());
        assert_eq!(cuEventRecord(e, a), 0);
        assert_eq!(cuStreamWaitEvent(b, e, 0), 902);
        assert_eq!((end(a).0, end(b).0), (901, 901));
        // A captured stream that is destroyed takes its graph with it.
        let graphs = live().graphs;
        let s = captured(0);
        assert_eq!(cuStreamDestroy_v2(s), 0);
        assert_eq!(live().graphs, graphs);
        assert_eq!(gpu.sync(), 0);
    }
}

#[test]
fn graphs_are_cloned_updated_and_destroyed() {
    extern "C" fn count(data: *mut c_void) {
        // SAFETY: the test passes a counter that outlives the launches.
        unsafe { *data.cast::<u32>() += 1 };
    }
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let (x, y) = (gpu.upload(&[0u32; 32]), gpu.upload(&[0u32; 32]));
    let mut calls = 0u32;
    let mut graph_of = |target: u64, host: bool| unsafe {
        let s = captured(1);
        assert_eq!(gpu.launch_on(f, [1; 3], [32, 1, 1], 0, s, &[target, 32]), 0);
        if host {
            assert_eq!(cuLaunchHostFunc(s, count as *mut c_void, (&raw mut calls).cast()), 0);
        }
        let (code, graph) = end(s);
        assert_eq!(code, 0);
        graph
    };
    let (on_x, on_y, longer) = (graph_of(x, true), graph_of(y, true), graph_of(x, false));
    let s = stream(1);
    unsafe {
        let (mut clone, mut exec, mut result) = (0, 0, 9);
        assert_eq!(cuGraphClone(&mut clone, on_x), 0);
        assert_eq!(cuGraphDestroy(on_x), 0);
        assert_eq!(cuGraphDestroy(on_x), 1);
        assert_eq!(cuGraphInstantiateWithFlags(null_mut(), clone, 0), 1);
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, clone, 1 << 20), 1);
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, clone, 0), 0);
        assert_eq!(cuGraphDestroy(clone), 0);
        assert_eq!(cuGraphLaunch(exec, s), 0);
        // Another target for the same nodes; the launch before keeps its own.
        assert_eq!(cuGraphExecUpdate_v2(exec, on_y, &mut result), 0);
        assert_eq!(result, 0);
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuGraphExecUpdate_v2(exec, longer, &mut result), 910);
        assert_ne!(result, 0);
        assert_eq!(cuGraphExecUpdate_v2(77, on_y, &mut result), 1);
        // Destroying it does not lose a launch under way.
        assert_eq!(cuGraphExecDestroy(exec), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!((gpu.download::<u32>(x, 1), gpu.download::<u32>(y, 1)), (vec![1], vec![1]));
        // A graph may be launched after its memory is gone, and that is found.
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, on_y, 0), 0);
        assert_eq!(cuMemFree_v2(y), 0);
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuStreamSynchronize(s), 700);
        assert!(report().contains("use-after-free"), "{}", report());
    }
    assert_eq!(calls, 2);
}

#[test]
fn memory_of_a_graph_lives_as_long_as_the_graph() {
    let gpu = Gpu::new(&[]);
    let out = gpu.zeros(64);
    let s = captured(1);
    let mut p = 0;
    unsafe {
        assert_eq!(cuMemAllocAsync(&mut p, 64, s), 0);
        assert_eq!(cuMemsetD8Async(p, 7, 64, s), 0);
        assert_eq!(cuMemcpyDtoDAsync_v2(out, p, 64, s), 0);
        assert_eq!(cuMemFreeAsync(p, s), 0);
        let (code, graph) = end(s);
        assert_eq!(code, 0);
        let mut exec = 0;
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), 0);
        assert_eq!(cuGraphDestroy(graph), 0);
        for _ in 0..2 {
            assert_eq!(cuGraphLaunch(exec, s), 0);
        }
        assert_eq!(live().allocations, 2);
        assert_eq!(cuGraphExecDestroy(exec), 0);
        assert_eq!(live().allocations, 1, "{}", report());
        assert_eq!(gpu.download::<u8>(out, 64), [7; 64]);
        // Without a free in the graph the program frees it, and the next launch makes it again.
        let s = captured(1);
        assert_eq!(cuMemAllocAsync(&mut p, 64, s), 0);
        assert_eq!(cuMemsetD8Async(p, 8, 64, s), 0);
        let (code, graph) = end(s);
        assert_eq!(code, 0);
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), 0);
        assert_eq!(cuGraphDestroy(graph), 0);
        for _ in 0..2 {
            assert_eq!(cuGraphLaunch(exec, s), 0);
            assert_eq!(cuMemcpyDtoDAsync_v2(out, p, 64, s), 0);
            assert_eq!(cuMemFreeAsync(p, s), 0);
        }
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuStreamSynchronize(s), 0, "{}", report());
        assert_eq!(cuGraphExecDestroy(exec), 0);
        assert_eq!(gpu.download::<u8>(p, 64), [8; 64], "it outlives the graph");
        assert_eq!(cuMemFreeAsync(p, s), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(live().allocations, 1);
        // A capture that fails gives it back as well.
        let s = captured(1);
        assert_eq!(cuMemAllocAsync(&mut p, 64, s), 0);
        assert_eq!(cuStreamSynchronize(s), 900);
        assert_eq!(end(s).0, 901);
        assert_eq!(live().allocations, 1);
    }
}

#[test]
fn graphs_are_made_node_by_node() {
    extern "C" fn count(data: *mut c_void) {
        // SAFETY: the test passes a counter that outlives the launches.
        unsafe { *data.cast::<u32>() += 1 };
    }
    #[repr(C)]
    struct Kernel(u64, [u32; 7], *mut *mut c_void, *mut *mut c_void, u64, u64);
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(ADD_ONE), "add_one");
    let (x, y) = (gpu.zeros(128), gpu.zeros(128));
    let (mut calls, mut kind, mut size) = (0u32, -1, 0);
    let (mut graph, mut exec, mut fill, mut add, mut copy, mut host, mut last) =
        (0, 0, 0, 0, 0, 0, 0);
    unsafe {
        let on = |target: &u64, body: &mut dyn FnMut(*const c_void)| {
            let n = 32u32;
            let mut args = [(&raw const *target) as *mut c_void, (&raw const n) as *mut c_void];
            let dims = [1, 1, 1, 32, 1, 1, 0];
            let params = Kernel(f, dims, args.as_mut_ptr(), null_mut(), 0, 0);
            body((&raw const params).cast());
        };
        assert_eq!(cuGraphCreate(&mut graph, 0), 0);
        let memset: [u64; 5] = [x, 0, 4 << 32 | 5, 32, 1];
        assert_eq!(
            cuGraphAddMemsetNode(&mut fill, graph, std::ptr::null(), 0, memset.as_ptr().cast(), 0),
            0
        );
        on(&x, &mut |p| {
            assert_eq!(cuGraphAddKernelNode_v2(&mut add, graph, &fill, 1, p.cast()), 0)
        });
        let copied: [u64; 25] =
            [0, 0, 0, 0, 2, 0, x, 0, 0, 128, 1, 0, 0, 0, 0, 2, 0, y, 0, 0, 128, 1, 128, 1, 1];
        assert_eq!(cuGraphAddMemcpyNode(&mut copy, graph, &add, 1, copied.as_ptr().cast(), 0), 0);
        let function: [u64; 2] = [count as *const () as u64, (&raw mut calls) as u64];
        assert_eq!(
            cuGraphAddHostNode(&mut host, graph, std::ptr::null(), 0, function.as_ptr().cast()),
            0
        );
        assert_eq!(cuGraphAddEmptyNode(&mut last, graph, [copy, host].as_ptr(), 2), 0);
        assert_eq!(cuGraphGetNodes(graph, null_mut(), &mut size), 0);
        let mut nodes = vec![0; size];
        assert_eq!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut size), 0);
        assert_eq!(nodes, [fill, add, copy, host, last]);
        for (node, expected) in [(fill, 2), (add, 0), (copy, 1), (host, 3), (last, 5)] {
            assert_eq!(cuGraphNodeGetType(node, &mut kind), 0);
            assert_eq!(kind, expected);
        }
        assert_eq!(cuGraphAddDependencies(graph, &copy, &host, 1), 0);
        assert_eq!(cuGraphAddDependencies(graph, &host, &copy, 1), 801, "against the order");
        assert_eq!(cuGraphAddDependencies(graph, &host, &host, 1), 1);
        assert_eq!(cuGraphAddEmptyNode(&mut last, graph, &77, 1), 1);
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), 0);
        let s = stream(1);
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(gpu.download::<u32>(y, 32), [6; 32]);
        // The kernel of the executable graph gets another target.
        on(&y, &mut |p| assert_eq!(cuGraphExecKernelNodeSetParams_v2(exec, add, p.cast()), 0));
        on(&y, &mut |p| assert_eq!(cuGraphExecKernelNodeSetParams_v2(exec, copy, p.cast()), 1));
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(gpu.download::<u32>(y, 32), [5; 32]);
        // As a part of another graph.
        let mut parent = 0;
        assert_eq!(cuGraphCreate(&mut parent, 0), 0);
        assert_eq!(cuGraphAddChildGraphNode(&mut last, parent, std::ptr::null(), 0, graph), 0);
        assert_eq!(cuGraphDestroy(graph), 0);
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, parent, 0), 0);
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(gpu.download::<u32>(y, 32), [6; 32]);
    }
    assert_eq!(calls, 3);
    assert_eq!(report(), "[]");
}
