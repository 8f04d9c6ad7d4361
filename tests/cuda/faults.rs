//! Every driver call is made to fail in turn: the failure is reported as an error that names the call, and later
//! operations succeed.

use bitlane::{BinaryOp, DType, Device, Error, ErrorKind, Result, Tensor, binary, introspect};

use crate::virtual_driver::isolated;

/// Exercises allocation, copies in both directions, kernels, streams and destinations.
fn work() -> Result<Vec<i32>> {
    let device = Device::cuda(0)?;
    let other = device.with_new_stream()?;
    let x = Tensor::arange(100, DType::I32, &device)?;
    let mut y = Tensor::zeros([100], DType::I32, &device)?;
    binary(BinaryOp::Add, &x, 1).out(&mut y).run()?;
    let z = (&y.to_device(&other)? << 2)?;
    y.add_assign(&z)?;
    device.synchronize()?;
    y.to_vec()
}

/// A code that no driver returns and that no binding knows.
const UNKNOWN: u32 = 12345;

pub fn every_call_may_fail() {
    // The first call of `work` also sets up the device, whose failures are tested separately below.
    isolated(module_path!(), "every_call_may_fail", &[], |driver| {
        let expected = work().unwrap();
        let before = driver.calls();
        work().unwrap();
        let after = driver.calls();
        let made = |name: &str| {
            let count = |calls: &[(String, u64)]| {
                calls.iter().find(|(other, _)| other == name).map_or(0, |(_, count)| *count)
            };
            count(&after) - count(&before)
        };
        for (injected, meaning) in [(1, "CUDA_ERROR_INVALID_VALUE"), (UNKNOWN, "error 12345")] {
            let mut failures = 0;
            for (function, _) in &after {
                for call in 1..=made(function) {
                    driver.set("fail", &format!("{function}:{call}:{injected}"));
                    match work() {
                        Ok(values) => assert_eq!(values, expected),
                        Err(Error::Driver { call, code, name, .. }) => {
                            assert_eq!((call, code, &*name), (&**function, injected, meaning));
                            failures += 1;
                        }
                        Err(error) => panic!("{function}: {error}"),
                    }
                    driver.set("fail", "");
                    assert_eq!(work().unwrap(), expected, "after {function} failed");
                }
            }
            assert!(failures > 20, "only {failures} calls failed");
        }
    });
}

pub fn every_call_that_sets_a_device_up_may_fail() {
    isolated(module_path!(), "every_call_that_sets_a_device_up_may_fail", &[], |driver| {
        let mut failures = 0;
        // A failed attempt keeps only what it has found, so every attempt reaches its fault: one call later than the
        // last.
        for call in 1.. {
            driver.set("fail", &format!("*:{call}:{UNKNOWN}"));
            let outcome = Device::cuda(0);
            driver.set("fail", "");
            match outcome {
                Ok(_) => break,
                Err(error) => {
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::Driver | ErrorKind::CudaUnavailable));
                    assert!(error.to_string().contains("error 12345 (12345)"), "{error}");
                    failures += 1;
                }
            }
        }
        // Calls for the driver itself, the device and its capability, and the context.
        assert!(failures >= 6, "only {failures} calls failed");
        assert_eq!(work().unwrap()[99], 500);
    });
}

pub fn a_reader_is_not_overtaken_because_another_write_was_refused() {
    let name = "a_reader_is_not_overtaken_because_another_write_was_refused";
    isolated(module_path!(), name, &[("VCUDA_ASYNC", "lazy")], |driver| {
        let a = Device::cuda(0).unwrap();
        let [b, d] = [(); 2].map(|()| a.with_new_stream().unwrap());
        // The write waits for the reader and for the writer; each of the two waits fails, at each of its driver calls.
        for function in ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"] {
            for wait in 1..=2 {
                let mut x = Tensor::ones([1000], DType::I32, &a).unwrap();
                let read = (&x.to_device(&b).unwrap() + 1).unwrap();
                driver.set("fail", &format!("{function}:{wait}:999"));
                let refused = x.to_device(&d).unwrap().add_assign(1).unwrap_err();
                assert!(refused.to_string().starts_with(function), "{refused}");
                driver.set("fail", "");
                x.add_assign(1000).unwrap();
                // Makes the virtual device run the work queued for the write first, as a real device might.
                assert_eq!(x.to_vec::<i32>().unwrap(), [1001; 1000]);
                assert_eq!(read.to_vec::<i32>().unwrap(), [2; 1000]);
            }
        }
    });
}

pub fn what_is_dropped_while_the_driver_refuses_is_freed() {
    let waits = ["cuEventCreate", "cuStreamSynchronize", "cuCtxSynchronize"];
    let frees = ["cuMemFreeAsync", "cuMemFree_v2", "cuCtxGetCurrent"];
    let name = "what_is_dropped_while_the_driver_refuses_is_freed";
    for no_pools in ["0", "1"] {
        let variables = &[("VCUDA_ASYNC", "lazy"), ("VCUDA_NO_POOLS", no_pools)];
        isolated(module_path!(), name, variables, |driver| {
            let device = Device::cuda(0).unwrap();
            let other = device.with_new_stream().unwrap();
            for (refused, wait) in [&waits[..1], &waits, &frees, &["*"]]
                .into_iter()
                .flat_map(|refused| [true, false].map(|wait| (refused, wait)))
            {
                let x = Tensor::ones([1000], DType::I32, &device).unwrap();
                let read = (&x.to_device(&other).unwrap() + 1).unwrap();
                for function in refused {
                    driver.set("fail", &format!("{function}:*:999"));
                }
                drop(x);
                driver.set("fail", "");
                // Freed by the next synchronisation or allocation, and in either case after it was read.
                if wait {
                    device.synchronize().unwrap();
                } else {
                    Tensor::zeros([10], DType::I32, &device).unwrap();
                }
                assert_eq!(read.to_vec::<i32>().unwrap(), [2; 1000]);
                drop(read);
                device.synchronize().unwrap();
                assert_eq!(driver.allocations(), 0, "refused: {refused:?}");
            }
        });
    }
}

pub fn a_destination_survives_a_failed_call() {
    isolated(module_path!(), "a_destination_survives_a_failed_call", &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::arange(10, DType::F32, &device).unwrap();
        let mut out = Tensor::full([10], 7, DType::F32, &device).unwrap();
        driver.set("fail", "cuLaunchKernel:1:1");
        let error = binary(BinaryOp::Add, &x, &x).out(&mut out).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Driver);
        assert_eq!(
            error.to_string(),
            "cuLaunchKernel failed with CUDA_ERROR_INVALID_VALUE (1): invalid argument"
        );
        assert_eq!(out.to_vec::<f32>().unwrap(), [7.0; 10]);
        driver.set("fail", "cuModuleLoadDataEx:1:301");
        let fresh = binary(BinaryOp::Subtract, &x, &x).out(&mut out).run();
        assert!(matches!(fresh, Ok(_) | Err(Error::Driver { .. })));
        driver.set("fail", "");
        binary(BinaryOp::Subtract, &x, &x).out(&mut out).run().unwrap();
        assert_eq!(out.to_vec::<f32>().unwrap(), [0.0; 10]);
    });
}

pub fn every_kernel_shape_can_be_forced() {
    isolated(module_path!(), "every_kernel_shape_can_be_forced", &[], |_| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::arange(100, DType::U16, &device).unwrap();
        let expected = (&x + &x).unwrap().to_vec::<u16>().unwrap();
        for (force, kernel) in [
            (introspect::Force::GATHER, "gath2_add_u16"),
            (introspect::Force::GENERATED, "linear_add_"),
            (introspect::Force::ELEMENTS, "elements_add_"),
            (introspect::Force::WIDE, "linearw_add_"),
            (introspect::Force::NOTHING, "contig_add_u16"),
        ] {
            introspect::force(force);
            introspect::record();
            let sum = (&x + &x).unwrap();
            let ran = introspect::recorded().pop().unwrap();
            assert!(ran.starts_with(kernel), "{ran}, not {kernel}");
            assert_eq!(sum.to_vec::<u16>().unwrap(), expected);
        }
    });
}
