//! Machines on which CUDA is unavailable for different reasons: the error states the reason.

use bitlane::{Device, Error, ErrorKind, Tensor};

use crate::virtual_driver::isolated;

fn refused(words: &str) {
    for _ in 0..2 {
        let error = Device::cuda(0).expect_err("CUDA is missing");
        assert_eq!(error.kind(), ErrorKind::CudaUnavailable);
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// If there is no CUDA device at all, the best device is the CPU.
fn falls_to_the_cpu() {
    assert_eq!(Device::best().unwrap(), Device::cpu());
}

/// A device that exists but cannot be used is an error that suggests the CPU.
fn does_not_fall(words: &str) {
    let error = Device::best().unwrap_err().to_string();
    assert!(error.contains(words) && error.contains("Device::cpu()"), "{error}");
}

pub fn no_device() {
    isolated(module_path!(), "no_device", &[("VCUDA_DEVICES", "0")], |_| {
        refused("no CUDA device");
        falls_to_the_cpu();
        assert_eq!(Device::cuda_count(), 0);
    });
}

pub fn a_device_that_is_too_old() {
    isolated(module_path!(), "a_device_that_is_too_old", &[("VCUDA_CC", "7.0")], |_| {
        refused("compute capability 7.0; use a device of 7.5 or later");
        does_not_fall("compute capability 7.0");
    });
}

pub fn a_device_that_is_not_there() {
    isolated(module_path!(), "a_device_that_is_not_there", &[], |_| {
        let error = Device::cuda(3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CudaUnavailable);
        assert!(error.to_string().contains("no device 3, the driver has 1"), "{error}");
    });
}

pub fn no_nvrtc() {
    isolated(module_path!(), "no_nvrtc", &[("BITLANE_NVRTC", "/no/such/library.so")], |_| {
        refused("BITLANE_NVRTC names /no/such/library.so");
        does_not_fall("BITLANE_NVRTC names /no/such/library.so");
        assert_eq!(Device::cuda_count(), 0);
    });
}

pub fn the_stub_of_a_toolkit() {
    let stub = &[("VCUDA_FAIL", "cuInit:*:34")];
    isolated(module_path!(), "the_stub_of_a_toolkit", stub, |_| {
        refused("is the stub of a CUDA toolkit (/");
        refused("take the folder of stubs out of LD_LIBRARY_PATH");
        falls_to_the_cpu();
    });
}

pub fn a_driver_that_does_not_start_and_then_does() {
    isolated(module_path!(), "a_driver_that_does_not_start_and_then_does", &[], |driver| {
        driver.set("fail", "cuInit:1:999");
        match Device::cuda(0) {
            Err(Error::CudaUnavailable { reason, .. }) => {
                assert!(reason.contains("cuInit failed with CUDA_ERROR_UNKNOWN (999)"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        let device = Device::cuda(0).unwrap();
        assert_eq!(Tensor::from_slice(&[1], [1], &device).unwrap().to_vec::<i32>().unwrap(), [1]);
    });
}
