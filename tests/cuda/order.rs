//! The order of queued work, and the driver calls that are avoided.

use std::thread;

use bitlane::cuda::{self, Graph};
use bitlane::{BinaryOp, DType, Device, ErrorKind, Tensor, binary};

use crate::virtual_driver::{Driver, isolated};

/// The driver calls that a warm operation must not make.
const COSTLY: [&str; 6] = [
    "cuEventCreate",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuStreamSynchronize",
    "cuCtxSynchronize",
    "cuModuleLoadDataEx",
];

pub fn one_stream_needs_no_events_and_no_waiting() {
    let name = "one_stream_needs_no_events_and_no_waiting";
    let run = |driver: &Driver| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::arange(1000, DType::I32, &device).unwrap();
        let mut out = Tensor::zeros([1000], DType::I32, &device).unwrap();
        let run = |out: &mut Tensor| binary(BinaryOp::Add, &x, &x).out(out).run().unwrap();
        run(&mut out);
        let count = || COSTLY.map(|call| driver.calls_of(call));
        let has_pools = driver.calls_of("cuMemPoolCreate") > 0;
        let call = if has_pools { "cuMemAllocFromPoolAsync" } else { "cuMemAlloc_v2" };
        let allocations = || driver.calls_of(call);
        drop((&x + &x).unwrap());
        let (before, allocated) = (count(), allocations());
        for _ in 0..10 {
            run(&mut out);
        }
        assert_eq!(allocations(), allocated);
        for _ in 0..10 {
            (&x + &x).unwrap();
        }
        // Without pools, the freed memory is used again.
        assert_eq!(allocations(), allocated + if has_pools { 10 } else { 0 });
        assert_eq!(count(), before);
        assert_eq!(out.to_vec::<i32>().unwrap()[999], 1998);
    };
    for no_pools in ["0", "1"] {
        isolated(module_path!(), name, &[("VCUDA_NO_POOLS", no_pools)], run);
    }
}

pub fn streams_that_meet_are_put_in_order() {
    for seed in 0..8 {
        let when = format!("seed:{seed}");
        isolated(
            module_path!(),
            "streams_that_meet_are_put_in_order",
            &[("VCUDA_ASYNC", &when)],
            |_| {
                let device = Device::cuda(0).unwrap();
                let others = [device.with_new_stream().unwrap(), device.with_new_stream().unwrap()];
                let mut x = Tensor::zeros([5000], DType::I64, &device).unwrap();
                let mut expected = 0;
                for round in 1..20 {
                    // Written on the first stream, read on two others, written on one of them, and read and written on
                    // the first again.
                    x.add_assign(round).unwrap();
                    let there = others.each_ref().map(|other| x.to_device(other).unwrap());
                    let read = there.each_ref().map(|x| (x + 1).unwrap());
                    let mut written = there[0].clone();
                    written.multiply_assign(2).unwrap();
                    x.subtract_assign(&read[1]).unwrap();
                    let after = (expected + round) * 2 - (expected + round + 1);
                    assert_eq!(read[0].to_vec::<i64>().unwrap(), vec![expected + round + 1; 5000]);
                    expected = after;
                }
                assert_eq!(x.to_vec::<i64>().unwrap(), vec![expected; 5000]);
            },
        );
    }
}

pub fn memory_is_freed_after_its_last_use_on_any_stream() {
    let lazy = &[("VCUDA_ASYNC", "seed:7")];
    isolated(module_path!(), "memory_is_freed_after_its_last_use_on_any_stream", lazy, |driver| {
        let device = Device::cuda(0).unwrap();
        let other = device.with_new_stream().unwrap();
        for _ in 0..50 {
            let x = Tensor::ones([3000], DType::F32, &device).unwrap();
            let y = (&x.to_device(&other).unwrap() + 1).unwrap();
            drop(x);
            let z = Tensor::full([3000], 9, DType::F32, &device).unwrap();
            assert_eq!(y.to_vec::<f32>().unwrap(), vec![2.0; 3000]);
            assert_eq!(z.to_vec::<f32>().unwrap(), vec![9.0; 3000]);
        }
        device.synchronize().unwrap();
        assert_eq!(driver.allocations(), 0);
    });
}

pub fn tensors_work_and_die_on_any_thread() {
    isolated(module_path!(), "tensors_work_and_die_on_any_thread", &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::arange(100, DType::U8, &device).unwrap();
        thread::scope(|scope| {
            for k in 0..4u8 {
                let x = x.clone();
                scope.spawn(move || {
                    let y = (&x << k).unwrap();
                    assert_eq!(y.to_vec::<u8>().unwrap()[3], 3 << k);
                });
            }
        });
        thread::spawn(move || drop(x)).join().unwrap();
        device.synchronize().unwrap();
        assert_eq!(driver.allocations(), 0);
    });
}

pub fn devices_copy_to_each_other() {
    let two = &[("VCUDA_DEVICES", "2"), ("VCUDA_ASYNC", "seed:3")];
    isolated(module_path!(), "devices_copy_to_each_other", two, |driver| {
        assert_eq!(Device::cuda_count(), 2);
        let devices = [0, 1].map(|ordinal| Device::cuda(ordinal).unwrap());
        assert_ne!(devices[0], devices[1]);
        assert_eq!(devices.each_ref().map(Device::to_string), ["cuda:0", "cuda:1"]);
        let x = (&Tensor::arange(4096, DType::I16, &devices[0]).unwrap() * 3).unwrap();
        let expected = x.to_vec::<i16>().unwrap();
        let there = x.to_device(&devices[1]).unwrap();
        drop(x);
        assert_eq!(driver.calls_of("cuMemcpyPeerAsync"), 1);
        assert_eq!(there.to_vec::<i16>().unwrap(), expected);
        let back = (&there + 0).unwrap().to_device(&devices[0]).unwrap();
        assert_eq!(back.to_vec::<i16>().unwrap(), expected);
        let mixed = (&back + &there).unwrap_err();
        assert_eq!(mixed.kind(), bitlane::ErrorKind::DeviceMismatch);
    });
}

pub fn large_copies_go_through_pinned_memory_in_parts() {
    let name = "large_copies_go_through_pinned_memory_in_parts";
    for (when, refused) in [("lazy", ""), ("seed:3", ""), ("lazy", "cuMemHostAlloc:*:2")] {
        isolated(
            module_path!(),
            name,
            &[("VCUDA_ASYNC", when), ("VCUDA_FAIL", refused)],
            |driver| {
                let device = Device::cuda(0).unwrap();
                let is_staged = std::env::var("VCUDA_FAIL").unwrap().is_empty();
                // One byte less than two parts, many parts, and a few bytes.
                for len in [(8 << 20) - 1, (21 << 20) + 5, 3] {
                    let bytes: Vec<u8> = (0..len).map(|k: usize| (k * 7 + k / 251) as u8).collect();
                    let waits = driver.calls_of("cuStreamSynchronize");
                    let x = Tensor::from_slice(&bytes, [len], &device).unwrap();
                    if is_staged {
                        assert_eq!(driver.calls_of("cuStreamSynchronize"), waits, "nothing waits");
                    }
                    assert!(x.to_vec::<u8>().unwrap() == bytes, "{len}");
                }
                let buffers = driver.calls_of("cuMemHostAlloc");
                assert!(!is_staged || (2..=4).contains(&buffers), "{buffers} buffers");
                assert_eq!(driver.allocations(), 0, "pinned memory is returned");
            },
        );
        if crate::virtual_driver::is_isolated() {
            return;
        }
    }
}

pub fn downloads_are_waited_for_later() {
    let lazy = &[("VCUDA_ASYNC", "lazy")];
    isolated(module_path!(), "downloads_are_waited_for_later", lazy, |driver| {
        let device = Device::cuda(0).unwrap();
        let mut x = Tensor::arange(1000, DType::I32, &device).unwrap();
        x.add_assign(1).unwrap();
        let expected: Vec<i32> = (1..=1000).collect();
        assert_eq!(x.to_vec::<i32>().unwrap(), expected);
        // It is made while nothing waits, of what the tensor holds then, also if the tensor is changed and dropped.
        x.add_assign(1).unwrap();
        let waits = || COSTLY[3..5].iter().map(|call| driver.calls_of(call)).sum::<u64>();
        let before = waits();
        let [copy, turned] = [x.clone(), x.flip(0).unwrap()].map(|x| cuda::download(&x).unwrap());
        assert!(!copy.is_done().unwrap());
        x.add_assign(1).unwrap();
        drop(x);
        assert_eq!(waits(), before);
        assert_eq!(copy.wait::<i32>().unwrap(), (2..=1001).collect::<Vec<i32>>());
        let bytes: Vec<u8> = (2..=1001i32).rev().flat_map(i32::to_ne_bytes).collect();
        assert_eq!(turned.wait_for_bytes().unwrap(), bytes);
        // Nobody has to wait for it, and there need not be anything.
        let ones = Tensor::ones([1000], DType::I32, &device).unwrap();
        drop(cuda::download(&ones).unwrap());
        let nothing = cuda::download(&ones.narrow(0, 0, 0).unwrap()).unwrap();
        assert!(nothing.is_done().unwrap());
        assert!(nothing.wait::<i32>().unwrap().is_empty());
        let refused = cuda::download(&ones).unwrap().wait::<f32>().unwrap_err();
        assert!(refused.to_string().contains("elements of i32 were asked for as f32"), "{refused}");
        let here = ones.to_device(&Device::cpu()).unwrap();
        let refused = cuda::download(&here).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        let refused = Graph::capture(&device, || cuda::download(&ones)).unwrap_err();
        assert!(refused.to_string().contains("a copy to the host cannot be part"), "{refused}");
        // Whatever fails, all memory is freed.
        for call in ["cuEventCreate", "cuMemHostAlloc", "cuMemcpyDtoHAsync_v2", "cuEventRecord"] {
            driver.set("fail", &format!("{call}:1:2"));
            let error = cuda::download(&ones).unwrap_err();
            let is_room = call == "cuMemHostAlloc";
            let kind = if is_room { ErrorKind::OutOfMemory } else { ErrorKind::Driver };
            assert_eq!(error.kind(), kind, "{error}");
        }
        driver.set("fail", "cuEventSynchronize:1:999");
        assert!(cuda::download(&ones).unwrap().wait::<i32>().is_err());
        driver.set("fail", "");
        assert_eq!(cuda::download(&ones).unwrap().wait::<i32>().unwrap(), [1; 1000]);
        drop(ones);
        cuda::trim_pool(&device).unwrap();
        assert_eq!(driver.calls_of("cuMemFreeHost") + 1, driver.calls_of("cuMemHostAlloc"));
    });
}

pub fn devices_that_can_reach_each_other_do() {
    let two = &[("VCUDA_DEVICES", "2")];
    isolated(module_path!(), "devices_that_can_reach_each_other_do", two, |driver| {
        let [a, b] = [0, 1].map(|ordinal| Device::cuda(ordinal).unwrap());
        let x = Tensor::ones([1000], DType::I32, &a).unwrap();
        for _ in 0..3 {
            assert_eq!(x.to_device(&b).unwrap().to_vec::<i32>().unwrap(), [1; 1000]);
        }
        // Asked for once.
        assert_eq!(driver.calls_of("cuMemPoolSetAccess"), 1);
        assert_eq!(driver.calls_of("cuCtxEnablePeerAccess"), 1);
    });
}

pub fn nothing_is_launched_for_nothing() {
    isolated(module_path!(), "nothing_is_launched_for_nothing", &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::zeros([0, 3], DType::F32, &device).unwrap();
        let y = (&x + &Tensor::ones([3], DType::F32, &device).unwrap()).unwrap();
        assert_eq!(y.shape(), [0, 3]);
        assert!(y.to_vec::<f32>().unwrap().is_empty());
        let gradient = Tensor::zeros([0, 3], DType::F32, &device).unwrap();
        let ones = Tensor::ones([3], DType::F32, &device).unwrap();
        // One launch for each tensor of ones, and one that fills the three empty sums.
        let (gx, _) = ones.copysign_grad(&x, &gradient).unwrap();
        assert_eq!(gx.to_vec::<f32>().unwrap(), [0.0; 3]);
        assert_eq!(driver.calls_of("cuLaunchKernel"), 3);
    });
}

pub fn what_was_uploaded_may_change_at_once() {
    // A driver stages pageable memory, but reads pinned memory late; the virtual driver is set to read all of it late. Without
    // pinned memory of bitlane's own, the driver reads the caller's.
    for fails in ["", "cuMemHostAlloc:*:OUT_OF_MEMORY"] {
        let late = &[("VCUDA_LATE_HOST", "1"), ("VCUDA_FAIL", fails)];
        isolated(module_path!(), "what_was_uploaded_may_change_at_once", late, |_| {
            let device = Device::cuda(0).unwrap();
            let mut elements = vec![0i64; 3000];
            let tensors: Vec<_> = (0..5)
                .map(|value| {
                    elements.fill(value);
                    Tensor::from_slice(&elements, [3000], &device).unwrap()
                })
                .collect();
            for (value, tensor) in tensors.iter().enumerate() {
                assert_eq!(tensor.to_vec::<i64>().unwrap(), vec![value as i64; 3000]);
            }
        });
    }
}

pub fn a_thread_that_has_never_seen_the_device_launches() {
    isolated(
        module_path!(),
        "a_thread_that_has_never_seen_the_device_launches",
        &[("VCUDA_DEVICES", "2")],
        |_| {
            let devices = [0, 1].map(|ordinal| Device::cuda(ordinal).unwrap());
            for device in devices {
                let x = Tensor::arange(100, DType::I32, &device).unwrap();
                let mut out = Tensor::zeros([100], DType::I32, &device).unwrap();
                // Nothing is allocated, so the launch is the thread's first use of the device.
                let add = move || {
                    binary(BinaryOp::Add, &x, 1).out(&mut out).run().unwrap();
                    out
                };
                let out = thread::spawn(add).join().unwrap();
                assert_eq!(out.to_vec::<i32>().unwrap()[99], 100);
            }
        },
    );
}

pub fn a_stream_per_request_over_the_same_memory() {
    isolated(module_path!(), "a_stream_per_request_over_the_same_memory", &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let mut weights =
            [1, 2].map(|value| Tensor::full([100], value, DType::I32, &device).unwrap());
        for request in 0..200 {
            let device = device.with_new_stream().unwrap();
            let [x, y] = weights.each_ref().map(|weight| weight.to_device(&device).unwrap());
            let sum = ((&x + &y).unwrap() + request).unwrap();
            assert_eq!(sum.to_vec::<i32>().unwrap(), [3 + request; 100]);
        }
        let alive = driver.calls_of("cuStreamCreate") - driver.calls_of("cuStreamDestroy_v2");
        assert!(alive < 80, "{alive} streams of finished requests are kept");
        // A write comes after the reads on all streams, including those that are no longer tracked.
        let sums: Vec<_> = (0..100)
            .map(|request| {
                let weight = weights[0].to_device(&device.with_new_stream().unwrap()).unwrap();
                (weight + request).unwrap()
            })
            .collect();
        weights[0].add_assign(1).unwrap();
        assert_eq!(weights[0].to_vec::<i32>().unwrap(), [2; 100]);
        for (sum, request) in sums.iter().zip(0..) {
            assert_eq!(sum.to_vec::<i32>().unwrap(), [1 + request; 100]);
        }
    });
}

#[cfg(feature = "ndarray")]
pub fn arrays_go_to_where_the_destination_is() {
    isolated(module_path!(), "arrays_go_to_where_the_destination_is", &[], |driver| {
        let gpu = Device::cuda(0).unwrap();
        let array = ndarray::array![1, 2, 3];
        for device in [Device::cpu(), gpu] {
            let mut out = Tensor::zeros([3], DType::I32, &device).unwrap();
            let mask = Tensor::from_slice(&[true, false, true], [3], &device).unwrap();
            binary(BinaryOp::Add, &array, 1).out(&mut out).run().unwrap();
            binary(BinaryOp::Add, 10, &array).out(&mut out).mask(&mask).run().unwrap();
            assert_eq!(out.to_vec::<i32>().unwrap(), [11, 3, 13]);
            assert_eq!(out.device(), &device);
        }
        assert_eq!(driver.kernels().len(), 2, "the CPU's work stays there");
    });
}
