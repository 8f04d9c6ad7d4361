//! Every call of the driver is made to fail in turn: the error is an error and names the call, and
//! what comes after it works.

use bitlane::{BinaryOp, DType, Device, Error, ErrorKind, Result, Tensor, binary, introspect};

use crate::virtual_driver::isolated;

/// A bit of everything: allocation, copies both ways, kernels, streams, destinations.
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

#[test]
fn every_call_may_fail() {
    // The first calls set the device up, and their failures are of another kind.
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
        let mut failures = 0;
        for (function, _) in &after {
            for call in 1..=made(function) {
                driver.set("fail", &format!("{function}:{call}:1"));
                match work() {
                    Ok(values) => assert_eq!(values, expected),
                    Err(Error::Driver { call, code, name, .. }) => {
                        // Streams are made by cudarc, which does not say what failed on the way.
                        assert!(
                            call == function || call == "cuStreamCreate",
                            "{call}, not {function}"
                        );
                        assert_eq!(code, 1);
                        assert_eq!(name, "CUDA_ERROR_INVALID_VALUE");
                        failures += 1;
                    }
                    Err(error) => panic!("{function}: {error}"),
                }
                driver.set("fail", "");
                assert_eq!(work().unwrap(), expected, "after {function} failed");
            }
        }
        assert!(failures > 20, "only {failures} calls failed");
    });
}

#[test]
fn a_destination_survives_a_failed_call() {
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
        driver.set("fail", "cuModuleLoadData:1:200");
        let fresh = binary(BinaryOp::Subtract, &x, &x).out(&mut out).run();
        assert!(matches!(fresh, Ok(_) | Err(Error::Driver { .. })));
        driver.set("fail", "");
        binary(BinaryOp::Subtract, &x, &x).out(&mut out).run().unwrap();
        assert_eq!(out.to_vec::<f32>().unwrap(), [0.0; 10]);
    });
}

#[test]
fn every_kernel_shape_can_be_forced() {
    isolated(module_path!(), "every_kernel_shape_can_be_forced", &[], |_| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::arange(100, DType::U16, &device).unwrap();
        let expected = (&x + &x).unwrap().to_vec::<u16>().unwrap();
        for (force, kernel) in [
            (introspect::Force::Gather, "gath2_add_u16"),
            (introspect::Force::Mixed, "mixed_add_u16"),
            (introspect::Force::Wide, "mixedw_add_u16"),
            (introspect::Force::Nothing, "contig_add_u16"),
        ] {
            introspect::force(force);
            let sum = (&x + &x).unwrap();
            assert_eq!(introspect::last_kernel().as_deref(), Some(kernel));
            assert_eq!(sum.to_vec::<u16>().unwrap(), expected);
        }
    });
}
