//! Two devices: both compute the same, neither accepts the other's tensors, and copies between them are correct.

use bitlane::{BinaryOp, DType, Device, ErrorKind, Tensor, binary};

use crate::model::element::{download, upload};
use crate::model::ops::is_defined;
use crate::model::random::Random;
use crate::virtual_driver::isolated;

/// Runs a test in a process with two devices, which shares the compiled kernels of the whole run.
fn with_two_devices(name: &str, body: impl FnOnce(&[Device; 2])) {
    let cache = std::env::var("BITLANE_CACHE").ok();
    let mut variables = vec![("VCUDA_DEVICES", "2"), ("VCUDA_ASYNC", "seed:11")];
    variables.extend(cache.as_deref().map(|cache| ("BITLANE_CACHE", cache)));
    isolated(module_path!(), name, &variables, |driver| {
        let devices = [0, 1].map(|ordinal| Device::cuda(ordinal).unwrap());
        body(&devices);
        devices.iter().for_each(|device| device.synchronize().unwrap());
        assert_eq!(driver.allocations(), 0, "something was not freed");
    });
}

pub fn operands_must_be_on_one_device() {
    with_two_devices("operands_must_be_on_one_device", |devices| {
        let of = |dtype| devices.each_ref().map(|d| Tensor::zeros([3], dtype, d).unwrap());
        let masks = of(DType::Bool);
        for &dtype in DType::ALL {
            let [x, y] = of(dtype);
            let mut outs = of(dtype);
            let refused = |outcome: bitlane::Result<Tensor>| {
                let error = outcome.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::DeviceMismatch, "{error}");
                let names = error.to_string();
                assert!(names.contains("cuda:0") && names.contains("cuda:1"), "{error}");
            };
            for &op in BinaryOp::ALL.iter().filter(|&&op| is_defined(op, dtype)) {
                refused(binary(op, &x, &y).run());
                refused(binary(op, &y, &x).run());
                refused(binary(op, &x, &x).out(&mut outs[1]).run());
                refused(binary(op, &y, &y).out(&mut outs[1]).mask(&masks[0]).run());
            }
            if dtype.is_float() {
                refused(x.copysign_grad(&y, &x).map(|(gx, _)| gx));
                refused(x.copysign_grad(&x, &y).map(|(gx, _)| gx));
            }
        }
    });
}

pub fn every_dtype_and_view_arrives() {
    with_two_devices("every_dtype_and_view_arrives", |devices| {
        for &dtype in DType::ALL {
            let elements = Random::new(dtype as u64).elements(dtype, 1000);
            let x = upload(dtype, &elements, &[20, 50], &devices[0]);
            for view in [
                x.clone(),
                x.transpose(0, 1).unwrap(),
                x.narrow(0, 3, 5).unwrap(),
                x.flip(1).unwrap(),
                x.narrow(1, 7, 1).unwrap().broadcast_to([20, 9]).unwrap(),
                x.narrow(0, 0, 0).unwrap(),
            ] {
                let there = view.to_device(&devices[1]).unwrap();
                assert_eq!(there.device(), &devices[1]);
                assert_eq!(download(&there), download(&view), "{dtype}");
                let back = there.to_device(&devices[0]).unwrap();
                assert_eq!(download(&back), download(&view), "{dtype}, and back");
            }
        }
    });
}

pub fn both_compute_the_same_at_the_same_time() {
    with_two_devices("both_compute_the_same_at_the_same_time", |devices| {
        let work = |device: &Device| {
            let mut results = Vec::new();
            for (op, dtype) in [
                (BinaryOp::Add, DType::F16),
                (BinaryOp::Divide, DType::C64),
                (BinaryOp::LessThan, DType::U8),
                (BinaryOp::Copysign, DType::F64),
                (BinaryOp::LeftShift(bitlane::Shift::Arithmetic), DType::I32),
            ] {
                let mut random = Random::new(3);
                let mut any = || upload(dtype, &random.elements(dtype, 4096), &[64, 64], device);
                let (x, y) = (any(), any());
                let turned = y.transpose(0, 1).unwrap();
                for y in [&y, &turned, &y.narrow(0, 5, 1).unwrap()] {
                    results.push(download(&binary(op, &x, y).run().unwrap()));
                }
                results.push(download(&x.transpose(0, 1).unwrap().contiguous().unwrap()));
            }
            results
        };
        // Four threads, two per device.
        let results = std::thread::scope(|scope| {
            let threads = [0, 1, 0, 1].map(|at: usize| {
                let (device, work) = (&devices[at], &work);
                scope.spawn(move || work(device))
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(results.iter().all(|result| *result == results[0]));
    });
}
