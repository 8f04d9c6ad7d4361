//! Graphs, captures that others have begun, and contexts of others: all are left as they are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bitlane::cuda::cudarc::driver::{CudaContext, sys};
use bitlane::cuda::{self, Graph};
use bitlane::{BinaryOp, DType, Device, Error, ErrorKind, Tensor, binary};

use crate::virtual_driver::isolated;

const LEN: usize = 1000;

fn first(tensor: &Tensor) -> i32 {
    tensor.to_vec::<i32>().unwrap()[0]
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>, words: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

pub fn a_graph_is_replayed() {
    for no_pools in ["0", "1"] {
        let variables = &[("VCUDA_NO_POOLS", no_pools), ("VCUDA_ASYNC", "lazy")];
        isolated(module_path!(), "a_graph_is_replayed", variables, |driver| {
            let device = Device::cuda(0).unwrap();
            let other = device.with_new_stream().unwrap();
            let mut x = Tensor::ones([LEN], DType::I32, &device).unwrap();
            let y = Tensor::full([LEN], 5, DType::I32, &other).unwrap();
            let mut total = Tensor::zeros([LEN], DType::I32, &other).unwrap();
            let calls = AtomicUsize::new(0);
            let (graph, (sum, sums)) = Graph::capture(&device, || {
                calls.fetch_add(1, Ordering::Relaxed);
                // A temporary tensor, tensors of two streams, a destination, and a reduction with temporary memory.
                let doubled = (&x * 2)?;
                let sum = (doubled.expr() + &y).run()?;
                drop(doubled);
                total.add_assign(&sum)?;
                let sums = sum.sum(..)?;
                Ok((sum, sums))
            })
            .unwrap();
            assert_eq!(calls.load(Ordering::Relaxed), 2);
            assert_eq!(first(&total), 0, "nothing has run");
            drop(y);
            for round in 1..4i32 {
                let launches = driver.calls_of("cuLaunchKernel");
                graph.launch().unwrap();
                assert_eq!(driver.calls_of("cuLaunchKernel"), launches);
                // Used on another stream at once.
                let seen = (&sum.to_device(&other).unwrap() + 1).unwrap();
                assert_eq!(first(&seen), 2 * round + 6);
                assert_eq!(first(&total), (1..=round).map(|k| 2 * k + 5).sum::<i32>());
                assert_eq!(sums.to_vec::<i64>().unwrap(), [i64::from(2 * round + 5) * LEN as i64]);
                x.add_assign(1).unwrap();
            }
            // On other threads, and with everything else gone.
            drop((x, sum, sums));
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| graph.launch().unwrap());
                }
            });
            assert_eq!(first(&total), 7 + 9 + 11 + 3 * 13);
            drop((graph, total));
            device.synchronize().unwrap();
            assert_eq!(driver.allocations(), 0);
        });
    }
}

pub fn scans_and_look_ups_are_replayed() {
    isolated(module_path!(), "scans_and_look_ups_are_replayed", &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let other = device.with_new_stream().unwrap();
        // More than a block scans, so that there are three launches with memory between them.
        let len = 5000;
        let mut x = Tensor::ones([len], DType::I32, &other).unwrap();
        let indices = Tensor::from_slice(&[-1, 0, 3, 1 << 20], [4], &device).unwrap();
        let launches = driver.calls_of("cuLaunchKernel");
        let calls = AtomicUsize::new(0);
        let (graph, (ends, largest)) = Graph::capture(&device, || {
            if calls.fetch_add(1, Ordering::Relaxed) == 1 {
                assert_eq!(driver.calls_of("cuLaunchKernel"), launches, "nothing has run");
            }
            let sums = x.cumulative_sum(0)?;
            Ok((sums.take_clamped(&indices, 0)?, sums.cumulative_max(0)?))
        })
        .unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        for round in 1..4i64 {
            graph.launch().unwrap();
            let [one, four, all] = [1, 4, len as i64].map(|count| round * count);
            assert_eq!(ends.to_vec::<i64>().unwrap(), [all, one, four, all]);
            assert_eq!(largest.to_vec::<i64>().unwrap()[len - 1], all);
            x.add_assign(1).unwrap();
        }
    });
}

pub fn what_a_graph_cannot_hold_is_refused() {
    isolated(module_path!(), "what_a_graph_cannot_hold_is_refused", &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::ones([LEN], DType::I32, &device).unwrap();
        let capture = |function: &dyn Fn() -> Result<(), Error>| {
            Graph::capture(&device, || {
                drop((&x + 1)?);
                function()
            })
            .map(drop)
        };
        refused(capture(&|| x.to_vec::<i32>().map(drop)), "a copy to the host cannot be part");
        let upload = || Tensor::from_slice(&[1], [1], &device).map(drop);
        refused(capture(&upload), "a copy from the host cannot be part");
        let zeros = || Tensor::zeros([1], DType::F32, &device).map(drop);
        refused(capture(&zeros), "a new tensor of zeros cannot be part");
        refused(capture(&|| device.synchronize()), "a wait for the device cannot be part");
        let indices = Tensor::from_slice(&[1], [1], &device).unwrap();
        let take = || x.take(&indices, 0).map(drop);
        refused(capture(&take), "take: it cannot be part of a graph, because it waits");
        let take = || x.take_along_axis(&indices, 0).map(drop);
        refused(capture(&take), "take_along_axis: it cannot be part of a graph");
        refused(capture(&|| x.nonzero().map(drop)), "nonzero: it cannot be part of a graph");
        let mask = x.equal(1).unwrap();
        let compress = || x.compress(&mask).map(drop);
        refused(capture(&compress), "compress: it cannot be part of a graph");
        refused(capture(&|| Graph::capture(&device, || Ok(())).map(drop)), "another capture");
        refused(Graph::capture(&Device::cpu(), || Ok(())), "not a CUDA device");
        // A kernel that the first call of the function did not need.
        let count = AtomicUsize::new(0);
        let cold = || match count.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(()),
            _ => (&x - 7).map(drop),
        };
        refused(capture(&cold), "before the capture");
        // A panic ends the capture, too.
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let count = AtomicUsize::new(0);
            capture(&|| {
                assert!(count.fetch_add(1, Ordering::Relaxed) == 0, "in the second call");
                Ok(())
            })
        }));
        assert!(panics.is_err());
        // What is lent is not there any more when the graph is launched.
        let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
        let slice = stream.clone_htod(&[1i32; LEN]).unwrap();
        let lent = cuda::with_view(&slice, [LEN], |view| Graph::capture(&device, || view + &x));
        refused(lent.unwrap().0.launch(), "has gone back to its owner");
        assert_eq!(first(&(&x + 1).unwrap()), 2);
        assert_eq!(driver.calls_of("cuStreamBeginCapture_v2"), 3);
    });
}

pub fn every_call_of_a_capture_may_fail() {
    isolated(module_path!(), "every_call_of_a_capture_may_fail", &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::ones([LEN], DType::I32, &device).unwrap();
        let work = || {
            let (graph, y) = Graph::capture(&device, || (&x + 1)?.sum(..))?;
            graph.launch()?;
            y.to_vec::<i64>()
        };
        work().unwrap();
        let total = || driver.calls().iter().map(|(_, count)| count).sum::<u64>();
        let before = total();
        work().unwrap();
        let calls = total() - before;
        for call in 1..=calls {
            driver.set("fail", &format!("*:{call}:12345"));
            let outcome = work();
            driver.set("fail", "");
            match outcome {
                Ok(sum) => assert_eq!(sum, [2 * LEN as i64]),
                Err(Error::Driver { code: 12345, .. }) => {}
                Err(error) => panic!("call {call}: {error}"),
            }
            assert_eq!(work().unwrap(), [2 * LEN as i64], "after call {call} failed");
        }
    });
}

pub fn drops_and_other_streams_leave_a_capture_alone() {
    let name = "drops_and_other_streams_leave_a_capture_alone";
    isolated(module_path!(), name, &[("VCUDA_ASYNC", "lazy")], |driver| {
        let context = CudaContext::new(0).unwrap();
        let [stream, other] = [(); 2].map(|()| context.new_stream().unwrap());
        let [device, there] = [&stream, &other].map(|stream| cuda::device_on(stream).unwrap());
        let x = Tensor::ones([LEN], DType::I32, &device).unwrap();
        let y = Tensor::ones([LEN], DType::I32, &there).unwrap();
        let mut out = Tensor::zeros([LEN], DType::I32, &device).unwrap();
        binary(BinaryOp::Add, &x, &x).out(&mut out).run().unwrap();
        let unused = Tensor::ones([LEN], DType::I32, &device).unwrap();
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
        // Memory from before the capture is freed after it, and memory from the capture in it.
        drop(unused);
        drop((&x + &x).unwrap());
        // Neither may the capture wait for the other stream, nor the other stream for the capture.
        refused(binary(BinaryOp::Add, &x, &y).out(&mut out).run(), "Tensor::to_device");
        refused(binary(BinaryOp::Add, &y, &x).run(), "Tensor::to_device");
        binary(BinaryOp::Add, out.clone(), &x).out(&mut out).run().unwrap();
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).unwrap().expect("something was captured");
        graph.launch().unwrap();
        assert_eq!(first(&out), 3);
        drop((graph, x, y, out));
        device.synchronize().unwrap();
        assert_eq!(driver.allocations(), 0);
    });
}

pub fn the_threads_context_is_restored() {
    let two = &[("VCUDA_DEVICES", "2")];
    isolated(module_path!(), "the_threads_context_is_restored", two, |_| {
        let [device, second] = [0, 1].map(|ordinal| Device::cuda(ordinal).unwrap());
        let current = || {
            let mut context = std::ptr::null_mut();
            // SAFETY: the driver is initialised, and writes one handle.
            let code = unsafe { sys::cuCtxGetCurrent(&mut context) };
            assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
            context as usize
        };
        let work = |device: &Device| {
            let stream = device.with_new_stream().unwrap();
            let mut x = Tensor::ones([LEN], DType::I32, device).unwrap();
            let y = (&x.to_device(&stream).unwrap() + 1).unwrap();
            x.add_assign(&y).unwrap();
            assert_eq!(first(&x), 3);
            let (graph, sum) = Graph::capture(device, || x.sum(..)).unwrap();
            graph.launch().unwrap();
            assert_eq!(sum.to_vec::<i64>().unwrap(), [3 * LEN as i64]);
            device.synchronize().unwrap();
            cuda::trim_pool(device).unwrap();
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                // A thread without a context gets none of the second device, and that of the first.
                assert_eq!(current(), 0);
                work(&second);
                assert_eq!(current(), 0);
                work(&device);
                assert_eq!(current(), cuda::context(&device).unwrap().cu_ctx() as usize);
            });
        });
        // Another library's context.
        let context = CudaContext::new(1).unwrap();
        context.bind_to_thread().unwrap();
        let theirs = current();
        work(&device);
        assert_eq!(current(), theirs);
        work(&second);
        assert_eq!(current(), theirs);
    });
}
