//! Interoperability with cudarc: its contexts, streams, memory and captures.

use std::panic;

use bitlane::cuda::cudarc::driver::{CudaContext, sys};
use bitlane::{BinaryOp, Complex, DType, Device, ErrorKind, Tensor, binary, cuda};

use crate::virtual_driver::isolated;

pub fn slices_become_tensors_and_slices_again() {
    let seed = &[("VCUDA_ASYNC", "seed:5")];
    isolated(module_path!(), "slices_become_tensors_and_slices_again", seed, |driver| {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        let slice = stream.clone_htod(&[1u32, 2, 3, 4, 5, 6]).unwrap();
        let allocations =
            || driver.calls_of("cuMemAllocAsync") + driver.calls_of("cuMemAllocFromPoolAsync");
        let copies = allocations();
        let x = cuda::tensor_from_slice(slice, [2, 3]).unwrap();
        assert_eq!(x.device(), &Device::cuda(0).unwrap(), "the primary context is the device's");
        assert_eq!(cuda::stream(x.device()).unwrap(), &stream);
        let mut x = x;
        x.bitwise_left_shift_assign(4, bitlane::Shift::Arithmetic).unwrap();
        let view = x.transpose(0, 1).unwrap();
        let shared = cuda::slice_from_tensor::<u32>(x.clone()).unwrap_err();
        assert!(shared.to_string().contains("shared"), "{shared}");
        assert!(cuda::slice_from_tensor::<i32>(x.clone()).is_err());
        assert!(cuda::slice_from_tensor::<u32>(view).is_err());
        let slice = cuda::slice_from_tensor::<u32>(x).unwrap();
        assert_eq!(allocations(), copies, "nothing was allocated");
        let values = stream.clone_dtoh(&slice).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(values, [16, 32, 48, 64, 80, 96]);
        drop(slice);
        context.synchronize().unwrap();
        assert_eq!(driver.allocations(), 0);
    });
}

pub fn tensors_of_ours_become_slices() {
    isolated(module_path!(), "tensors_of_ours_become_slices", &[], |_| {
        let device = Device::cuda(0).unwrap();
        let x = (&Tensor::arange(10, DType::F32, &device).unwrap() + 1).unwrap();
        let slice = cuda::slice_from_tensor::<f32>(x).unwrap();
        assert_eq!(slice.len(), 10);
        let back = cuda::tensor_from_slice(slice, [5, 2]).unwrap();
        assert_eq!(back.to_vec::<f32>().unwrap()[9], 10.0);
        let cpu = Tensor::from_slice(&[1], [1], &Device::cpu()).unwrap();
        assert!(cuda::slice_from_tensor::<i32>(cpu).is_err());
        assert!(cuda::stream(&Device::cpu()).is_none());
        let empty = Tensor::zeros([0], DType::F32, &device).unwrap();
        assert!(cuda::slice_from_tensor::<f32>(empty).is_err());
    });
}

pub fn a_slice_comes_after_the_work_of_every_stream() {
    let name = "a_slice_comes_after_the_work_of_every_stream";
    for seed in ["seed:1", "seed:2", "seed:3"] {
        isolated(module_path!(), name, &[("VCUDA_ASYNC", seed)], |_| {
            let device = Device::cuda(0).unwrap();
            let other = device.with_new_stream().unwrap();
            let stream = cuda::stream(&device).unwrap();
            for _ in 0..10 {
                let x = Tensor::zeros([5000], DType::F32, &device).unwrap();
                x.to_device(&other).unwrap().add_assign(1).unwrap();
                let slice = cuda::slice_from_tensor::<f32>(x).unwrap();
                let values = stream.clone_dtoh(&slice).unwrap();
                stream.synchronize().unwrap();
                assert_eq!(values, vec![1.0; 5000]);
            }
        });
    }
}

pub fn views_are_lent_and_go_back() {
    isolated(module_path!(), "views_are_lent_and_go_back", &[("VCUDA_ASYNC", "seed:2")], |_| {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        let mut slice = stream.clone_htod(&[1i64, 2, 3, 4, 5]).unwrap();
        let mut kept = None;
        let sum = cuda::with_view(&slice.slice(1..4), [3], |x| {
            kept = Some(x.clone());
            let refused = x.clone().add_assign(1).unwrap_err();
            assert!(refused.to_string().contains("reading only"), "{refused}");
            x + 1
        });
        assert_eq!(sum.unwrap().to_vec::<i64>().unwrap(), [3, 4, 5]);
        let kept = kept.unwrap();
        for gone in
            [(&kept + 1).map(drop), kept.to_vec::<i64>().map(drop), kept.contiguous().map(drop)]
        {
            if let Err(gone) = gone {
                assert_eq!(gone.kind(), ErrorKind::InvalidArgument);
                assert!(gone.to_string().contains("gone back"), "{gone}");
            }
        }
        assert!((&kept + 1).is_err() && kept.to_vec::<i64>().is_err());
        cuda::with_view_mut(&mut slice.slice_mut(2..), [3], |x| x.multiply_assign(10)).unwrap();
        assert!(cuda::with_view(&slice, [4], |_| Ok(())).is_err());
        let values = stream.clone_dtoh(&slice).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(values, [1, 2, 30, 40, 50]);
        drop(kept);
    });
}

pub fn a_warm_call_can_be_captured() {
    isolated(module_path!(), "a_warm_call_can_be_captured", &[], |_| {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        let device = cuda::device_on(&stream).unwrap();
        let x = Tensor::from_slice(&[1i32, 2, 3], [3], &device).unwrap();
        let mut out = Tensor::from_slice(&[0i32, 0, 0], [3], &device).unwrap();
        binary(BinaryOp::Add, out.clone(), &x).out(&mut out).run().unwrap();
        stream
            .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .unwrap();
        binary(BinaryOp::Add, out.clone(), &x).out(&mut out).run().unwrap();
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).unwrap().expect("something was captured");
        for _ in 0..3 {
            graph.launch().unwrap();
        }
        assert_eq!(out.to_vec::<i32>().unwrap(), [4, 8, 12]);
    });
}

pub fn a_cold_call_leaves_a_capture_alone() {
    isolated(module_path!(), "a_cold_call_leaves_a_capture_alone", &[], |_| {
        let context = CudaContext::new(0).unwrap();
        let [stream, other] = [(); 2].map(|()| context.new_stream().unwrap());
        let device = cuda::device_on(&stream).unwrap();
        let x = Tensor::from_slice(&[1i32, 2, 3], [3], &device).unwrap();
        let mut out = Tensor::from_slice(&[0i32, 0, 0], [3], &device).unwrap();
        let y = Tensor::from_slice(&[5u8, 6], [2], &cuda::device_on(&other).unwrap()).unwrap();
        binary(BinaryOp::Add, out.clone(), &x).out(&mut out).run().unwrap();
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
        binary(BinaryOp::Add, out.clone(), &x).out(&mut out).run().unwrap();
        // Neither a hand-written kernel nor a generated one is loaded.
        for cold in [
            binary(BinaryOp::Maximum, out.clone(), &x).out(&mut out).run(),
            (x.expr() * 3 - 1).out(&mut out).run(),
        ] {
            let error = cold.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains("before the capture"), "{error}");
        }
        // On another stream one can be loaded.
        assert_eq!((&y - 1).unwrap().to_vec::<u8>().unwrap(), [4, 5]);
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).unwrap().expect("something was captured");
        graph.launch().unwrap();
        assert_eq!(out.to_vec::<i32>().unwrap(), [2, 4, 6]);
    });
}

pub fn a_context_of_theirs_is_a_device() {
    isolated(module_path!(), "a_context_of_theirs_is_a_device", &[], |_| {
        let context = CudaContext::new(0).unwrap();
        let device = cuda::device(&context).unwrap();
        assert_eq!(cuda::context(&device).unwrap(), &context);
        let x = Tensor::ones([10], DType::F16, &device).unwrap();
        let y = Tensor::ones([10], DType::F16, &Device::cuda(0).unwrap()).unwrap();
        assert_eq!(
            (&x + &y).unwrap().cast(DType::F32).unwrap().to_vec::<f32>().unwrap(),
            [2.0; 10]
        );
    });
}

pub fn a_per_thread_stream_is_that_of_its_thread() {
    let name = "a_per_thread_stream_is_that_of_its_thread";
    for order in ["lazy", "seed:1", "seed:2"] {
        let variables = &[("VCUDA_ASYNC", order), ("VCUDA_ORDER", "1")];
        isolated(module_path!(), name, variables, |driver| {
            let context = CudaContext::new(0).unwrap();
            let elsewhere = Device::cuda(0).unwrap();
            let device = || cuda::device_on(&context.per_thread_stream()).unwrap();
            let x = (&Tensor::from_slice(&[1i32; 1000], [1000], &device()).unwrap() + 1).unwrap();
            let kept = Tensor::ones([1000], DType::I32, &elsewhere).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // What would be queued on the other thread's stream is refused.
                    for error in [(&x + 1).unwrap_err(), x.to_vec::<i32>().unwrap_err()] {
                        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                        assert!(error.to_string().contains("another thread"), "{error}");
                    }
                    // Other streams can read what was computed there, this thread's own included.
                    assert_eq!((&kept + &x).unwrap().to_vec::<i32>().unwrap(), [3; 1000]);
                    let own = Tensor::ones([1000], DType::I32, &device()).unwrap();
                    assert_eq!((&own - &x).unwrap().to_vec::<i32>().unwrap(), [-1; 1000]);
                });
            });
            assert_eq!((&x * &x).unwrap().to_vec::<i32>().unwrap(), [4; 1000]);
            // Memory is freed only after the work on it, whichever thread drops it.
            let y = (&x + 5).unwrap();
            let z = (&y + &kept).unwrap();
            std::thread::scope(|scope| scope.spawn(move || drop((x, y))).join()).unwrap();
            assert_eq!(z.to_vec::<i32>().unwrap(), [8; 1000]);
            drop((z, kept));
            context.synchronize().unwrap();
            assert_eq!(driver.allocations(), 0);
        });
    }
}

pub fn slices_of_a_per_thread_stream_are_lent() {
    isolated(module_path!(), "slices_of_a_per_thread_stream_are_lent", &[], |_| {
        let stream = CudaContext::new(0).unwrap().per_thread_stream();
        let mut slice = stream.clone_htod(&[1i64, 2, 3]).unwrap();
        cuda::with_view_mut(&mut slice, [3], |x| x.add_assign(10)).unwrap();
        let sum = cuda::with_view(&slice, [3], |x| x.sum(..)).unwrap();
        let sum = cuda::slice_from_tensor::<i64>(sum).unwrap();
        assert_eq!(sum.stream(), &stream);
        let values = stream.clone_dtoh(&sum).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(values, [36]);
    });
}

pub fn a_raw_stream_is_a_device() {
    let two = &[("VCUDA_DEVICES", "2")];
    isolated(module_path!(), "a_raw_stream_is_a_device", two, |_| {
        for ordinal in [0, 1] {
            let context = CudaContext::new(ordinal).unwrap();
            let stream = context.new_stream().unwrap();
            // SAFETY: the stream outlives everything on it.
            let device = unsafe { cuda::device_on_raw(stream.cu_stream()) }.unwrap();
            assert_eq!(device, Device::cuda(ordinal).unwrap());
            assert_eq!(device.to_string(), format!("cuda:{ordinal}"));
            assert_eq!(cuda::stream(&device).unwrap().cu_stream(), stream.cu_stream());
            let x = Tensor::ones([10], DType::F32, &device).unwrap();
            stream.synchronize().unwrap();
            assert_eq!((&x + 1).unwrap().to_vec::<f32>().unwrap(), [2.0; 10]);
            // The same stream under either name.
            assert_eq!(cuda::device_on(&stream).unwrap(), device);
        }
        let context = CudaContext::new(0).unwrap();
        context.bind_to_thread().unwrap();
        // SAFETY: the handle denotes the thread's default stream in the current context.
        let device = unsafe { cuda::device_on_raw(std::ptr::without_provenance_mut(2)) }.unwrap();
        assert_eq!(cuda::stream(&device).unwrap(), &context.per_thread_stream());
    });
}

pub fn a_device_outlives_the_raw_stream_of_its_context() {
    let name = "a_device_outlives_the_raw_stream_of_its_context";
    isolated(module_path!(), name, &[("VCUDA_DEVICES", "2")], |_| {
        for ordinal in [0, 1] {
            let context = CudaContext::new(ordinal).unwrap();
            let stream = context.new_stream().unwrap();
            // SAFETY: the stream outlives the device.
            let raw = unsafe { cuda::device_on_raw(stream.cu_stream()) }.unwrap();
            // From now on the context is kept alive by this crate, for its own device or for that of cudarc.
            let (device, theirs) = match ordinal {
                0 => (Device::cuda(0).unwrap(), None),
                _ => (cuda::device_on(&stream).unwrap(), Some(stream.clone())),
            };
            drop((raw, stream, context));
            let x = Tensor::ones([10], DType::F32, &device).unwrap();
            assert_eq!((&x + 1).unwrap().to_vec::<f32>().unwrap(), [2.0; 10]);
            drop((x, device, theirs));
        }
    });
}

pub fn what_is_lent_goes_back_whatever_was_put_in_its_place() {
    let name = "what_is_lent_goes_back_whatever_was_put_in_its_place";
    isolated(module_path!(), name, &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
        let mut slice = stream.clone_htod(&[1i64; 100]).unwrap();
        let mut kept = Tensor::zeros([100], DType::I64, &device).unwrap();
        let mine = kept.clone();
        cuda::with_view_mut(&mut slice, [100], |x| {
            std::mem::swap(x, &mut kept);
            Ok(())
        })
        .unwrap();
        drop(slice);
        // The lent tensor can no longer be used; the one that replaced it is unchanged.
        let error = kept.add_assign(7).unwrap_err();
        assert!(error.to_string().contains("gone back to its owner"), "{error}");
        assert_eq!(mine.to_vec::<i64>().unwrap(), [0; 100]);
        drop((mine, kept));
        device.synchronize().unwrap();
        stream.synchronize().unwrap();
        assert_eq!(driver.allocations(), 0);
    });
}

pub fn cudarcs_other_streams_wait_for_a_slice_that_was_a_tensor() {
    let name = "cudarcs_other_streams_wait_for_a_slice_that_was_a_tensor";
    for order in ["lazy", "seed:1", "seed:2", "seed:3"] {
        isolated(module_path!(), name, &[("VCUDA_ASYNC", order)], |_| {
            let device = Device::cuda(0).unwrap();
            let other = cuda::context(&device).unwrap().new_stream().unwrap();
            for _ in 0..20 {
                let x = (&Tensor::zeros([500], DType::F32, &device).unwrap() + 1).unwrap();
                let slice = cuda::slice_from_tensor::<f32>(x).unwrap();
                let values = other.clone_dtoh(&slice).unwrap();
                other.synchronize().unwrap();
                assert_eq!(values, [1.0; 500]);
            }
        });
    }
}

pub fn an_order_that_cudarc_cannot_have_is_an_error() {
    let name = "an_order_that_cudarc_cannot_have_is_an_error";
    isolated(module_path!(), name, &[], |driver| {
        let context = CudaContext::new(0).unwrap();
        let (home, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let mut slice = home.clone_htod(&[1i32; 40]).unwrap();
        context.synchronize().unwrap();
        let _ = cuda::device(&context).unwrap();
        for write in [false, true] {
            other.memcpy_htod(&[5i32; 40], &mut slice).unwrap();
            driver.set("fail", "cuStreamWaitEvent:1:999");
            let error = if write {
                cuda::with_view_mut(&mut slice, [40], |x| x.add_assign(1)).unwrap_err()
            } else {
                cuda::with_view(&slice, [40], |x| x + 1).map(drop).unwrap_err()
            };
            assert!(error.to_string().contains("cuStreamWaitEvent"), "{error}");
            driver.set("fail", "");
        }
        context.synchronize().unwrap();
        let sum = cuda::with_view(&slice, [40], |x| x + 1).unwrap();
        assert_eq!(sum.to_vec::<i32>().unwrap(), [6; 40]);
    });
}

pub fn bools_that_are_none_do_not_reach_the_cpu() {
    isolated(module_path!(), "bools_that_are_none_do_not_reach_the_cpu", &[], |_| {
        let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
        let foreign = |bytes: &[u8]| {
            let address = stream.clone_htod(bytes).unwrap().leak();
            // SAFETY: the slice owned a block of this many bytes and has given it up. The contents are what a foreign
            // kernel might have written.
            let slice = unsafe { stream.upgrade_device_ptr::<bool>(address, bytes.len()) };
            cuda::tensor_from_slice(slice, [bytes.len()]).unwrap()
        };
        let cpu = Device::cpu();
        let good = foreign(&[0, 1, 1]).to_device(&cpu).unwrap();
        assert_eq!(good.to_vec::<bool>().unwrap(), [false, true, true]);
        for bad in [&[0, 2, 1][..], &[255]] {
            let error = foreign(bad).to_device(&cpu).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains("a bool beyond 0 and 1"), "{error}");
        }
    });
}

pub fn a_stream_may_outlive_its_device() {
    isolated(module_path!(), "a_stream_may_outlive_its_device", &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let alive = || driver.calls_of("cuStreamCreate") - driver.calls_of("cuStreamDestroy_v2");
        let _ = cuda::stream(&device.with_new_stream().unwrap()).unwrap();
        let before = alive();
        let _ = cuda::stream(&device.with_new_stream().unwrap()).unwrap();
        assert_eq!(alive(), before, "a stream that nobody has any more is destroyed");
        let stream = cuda::stream(&device.with_new_stream().unwrap()).unwrap().clone();
        let slice = stream.clone_htod(&[1i32, 2, 3]).unwrap();
        let x = cuda::tensor_from_slice(slice, [3]).unwrap();
        assert_eq!((&x + 1).unwrap().to_vec::<i32>().unwrap(), [2, 3, 4]);
    });
}

pub fn a_loan_that_cudarc_cannot_record_is_over_when_it_ends() {
    let name = "a_loan_that_cudarc_cannot_record_is_over_when_it_ends";
    isolated(module_path!(), name, &[("VCUDA_ASYNC", "lazy")], |driver| {
        let context = CudaContext::new(0).unwrap();
        let (home, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let mut slice = home.clone_htod(&[1i32; 40]).unwrap();
        // Kept to the end: the last device of a context waits for its work when it is dropped.
        let _device = cuda::device(&context).unwrap();
        cuda::with_view_mut(&mut slice, [40], |x| {
            x.add_assign(1)?;
            driver.set("fail", "cuEventRecord:1:999");
            Ok(())
        })
        .unwrap();
        driver.set("fail", "");
        let values = other.clone_dtoh(&slice).unwrap();
        other.synchronize().unwrap();
        assert_eq!(values, [2; 40]);
    });
}

pub fn a_slice_that_cannot_be_made_leaves_nothing_behind() {
    let name = "a_slice_that_cannot_be_made_leaves_nothing_behind";
    isolated(module_path!(), name, &[("VCUDA_ASYNC", "lazy")], |driver| {
        let device = Device::cuda(0).unwrap();
        let other = device.with_new_stream().unwrap();
        let _ = cuda::stream(&device).unwrap();
        let mut refused = 0;
        for function in ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuCtxGetCurrent"] {
            for call in 1..=6 {
                let x = Tensor::ones([100], DType::I32, &device).unwrap();
                x.to_device(&other).unwrap().add_assign(1).unwrap();
                driver.set("fail", &format!("{function}:{call}:999"));
                // cudarc panics if it cannot create the events of a slice.
                let outcome = panic::catch_unwind(|| cuda::slice_from_tensor::<i32>(x));
                driver.set("fail", "");
                match outcome {
                    Ok(Ok(slice)) => {
                        let again = cuda::tensor_from_slice(slice, [100]).unwrap();
                        assert_eq!(again.to_vec::<i32>().unwrap(), [2; 100]);
                    }
                    _ => refused += 1,
                }
                device.synchronize().unwrap();
                assert_eq!(driver.allocations(), 0, "{function}:{call}");
            }
        }
        assert!(refused > 5, "only {refused} were refused");
    });
}

pub fn views_are_aligned_to_whole_elements() {
    isolated(module_path!(), "views_are_aligned_to_whole_elements", &[], |_| {
        let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
        let mut slice = stream.clone_htod(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        for start in [0, 1, 2, 3] {
            // A complex number is aligned like a float in Rust, but not in a kernel.
            let floats = slice.slice(start..start + 4);
            // SAFETY: two complex numbers are four floats.
            let view = unsafe { floats.transmute::<Complex<f32>>(2) }.unwrap();
            let sum =
                cuda::with_view(&view, [2], |x| x + 1).and_then(|sum| sum.to_vec::<Complex<f32>>());
            let mut floats = slice.slice_mut(start..start + 4);
            // SAFETY: as above.
            let mut view = unsafe { floats.transmute_mut::<Complex<f32>>(2) }.unwrap();
            let written = cuda::with_view_mut(&mut view, [2], |x| x.multiply_assign(1));
            if start % 2 == 0 {
                let first = start as f32;
                let expected = [first, first + 2.0].map(|k| Complex::new(k + 1.0, k + 1.0));
                assert_eq!(sum.unwrap(), expected);
                written.unwrap();
                continue;
            }
            for refused in [sum.unwrap_err(), written.unwrap_err()] {
                assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
                assert!(refused.to_string().contains("elements of 8 bytes; copy it"), "{refused}");
            }
        }
    });
}

pub fn a_loan_that_cannot_end_ends_the_process() {
    let name = "a_loan_that_cannot_end_ends_the_process";
    let outcome = panic::catch_unwind(|| {
        isolated(module_path!(), name, &[("VCUDA_ASYNC", "lazy")], |_| {
            let context = CudaContext::new(0).unwrap();
            let stream = context.new_stream().unwrap();
            let other = Device::cuda(0).unwrap();
            let warm = Tensor::ones([100], DType::I32, &other).unwrap();
            let mut sums = vec![(&warm + 1).unwrap()];
            let slice = stream.clone_htod(&[1i32; 100]).unwrap();
            // The sum is queued on a stream for which nobody can wait when the loan ends, and the slice may be freed then.
            cuda::with_view(&slice, [100], |x| {
                sums.push((&x.to_device(&other)? + 1)?);
                let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
                cuda::stream(&other).unwrap().begin_capture(mode).unwrap();
                Ok(())
            })
            .unwrap();
        });
    });
    let said = *outcome.expect_err("the process ends").downcast::<String>().unwrap();
    assert!(said.contains("borrowed memory is still in use"), "{said}");
}
