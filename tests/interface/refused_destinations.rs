//! Destinations and masks that are refused, with the message of each error, and left unchanged.

use crate::devices::devices;
use bitlane::{BinaryOp, DType, Device, ErrorKind, Rules, Shift, Tensor, binary};

/// A destination with its contents, which a failed call must not change.
struct Watched {
    storage: Tensor,
    before: Vec<u8>,
}

impl Watched {
    fn new(storage: &Tensor) -> Watched {
        Watched { storage: storage.clone(), before: storage.to_bytes().unwrap() }
    }

    #[track_caller]
    fn refused<T>(&self, result: bitlane::Result<T>, kind: ErrorKind, message: &str) {
        let Err(error) = result else { panic!("expected: {message}") };
        assert_eq!(error.to_string(), message);
        assert_eq!(error.kind(), kind);
        assert_eq!(self.storage.to_bytes().unwrap(), self.before, "the destination was touched");
    }
}

fn ints(elements: &[i32], shape: &[usize], device: &Device) -> Tensor {
    Tensor::from_slice(elements, shape, device).unwrap()
}

#[test]
fn shapes_that_differ_from_the_result() {
    for device in devices() {
        let mut x = ints(&[1, 2, 3], &[3], &device);
        let wide = ints(&[1; 6], &[2, 3], &device);
        let watched = Watched::new(&x);
        let message = "add: the result has shape [2, 3], but the destination has [3]; \
                       a destination is never resized, give one of the result's shape";
        watched.refused(x.add_assign(&wide), ErrorKind::InplaceShape, message);
        let smaller = ints(&[7], &[1], &device);
        let mut large = wide.clone();
        let watched = Watched::new(&large);
        watched.refused(
            binary(BinaryOp::Add, &smaller, &smaller).out(&mut large).run(),
            ErrorKind::InplaceShape,
            "add: the result has shape [1], but the destination has [2, 3]; \
             a destination is never resized, give one of the result's shape",
        );
        let mut zero_d = ints(&[1], &[], &device);
        let watched = Watched::new(&zero_d);
        let error = zero_d.bitwise_left_shift_assign(&smaller, Shift::Logical);
        watched.refused(
            error,
            ErrorKind::InplaceShape,
            "bitwise_left_shift_logical: the result has shape [1], but the destination has []; \
             a destination is never resized, give one of the result's shape",
        );
    }
}

#[test]
fn dtypes_that_cannot_hold_the_result() {
    for device in devices() {
        let mut x = ints(&[1, 2], &[2], &device);
        let watched = Watched::new(&x);
        let inplace = ErrorKind::InplaceDtype;
        watched.refused(
            x.divide_assign(2),
            inplace,
            "divide: the result is f32, which a destination of i32 cannot hold; \
             give a destination whose dtype is float",
        );
        watched.refused(
            x.add_assign(1.5),
            inplace,
            "add: the result is f32, which a destination of i32 cannot hold; \
             give a destination whose dtype is float",
        );
        let mut floats = Tensor::ones([2], DType::F64, &device).unwrap();
        let watched = Watched::new(&floats);
        watched.refused(
            floats.multiply_assign(bitlane::Complex::new(0.0, 1.0)),
            inplace,
            "multiply: the result is c128, which a destination of f64 cannot hold; \
             give a destination whose dtype is complex",
        );
        let mut bools = Tensor::ones([2], DType::Bool, &device).unwrap();
        let watched = Watched::new(&bools);
        watched.refused(
            bools.add_assign(1),
            inplace,
            "add: the result is i64, which a destination of bool cannot hold; \
             give a destination whose dtype is int",
        );
        // Other widths of the same category convert, and so do lower categories.
        let mut halves = Tensor::ones([2], DType::F16, &device).unwrap();
        halves.copysign_assign(Tensor::full([2], -1.0, DType::F64, &device).unwrap()).unwrap();
        assert_eq!(halves.cast(DType::F32).unwrap().to_vec::<f32>().unwrap(), [-1.0, -1.0]);
        let mut bytes = Tensor::full([2], 200, DType::U8, &device).unwrap();
        let other = ints(&[100, -1], &[2], &device);
        binary(BinaryOp::Add, bytes.clone(), &other)
            .rules(Rules::Torch)
            .out(&mut bytes)
            .run()
            .unwrap();
        assert_eq!(bytes.to_vec::<u8>().unwrap(), [44, 199]);
        x.less_than_assign(2).unwrap();
        assert_eq!(x.to_vec::<i32>().unwrap(), [1, 0]);
    }
}

#[test]
fn elements_that_share_memory() {
    for device in devices() {
        let base = Tensor::arange(10, DType::I32, &device).unwrap();
        let watched = Watched::new(&base);
        let mut still = base.as_strided(&[3], &[0], 4).unwrap();
        watched.refused(
            still.add_assign(1),
            ErrorKind::OverlappingDestination,
            "add: elements of the destination share memory (shape [3], strides [0]); \
             write to a tensor whose elements are distinct",
        );
        let mut windows = base.as_strided(&[4, 3], &[2, 1], 0).unwrap();
        watched.refused(
            binary(BinaryOp::Subtract, windows.clone(), 1).out(&mut windows).run(),
            ErrorKind::OverlappingDestination,
            "subtract: elements of the destination share memory (shape [4, 3], strides [2, 1]); \
             write to a tensor whose elements are distinct",
        );
        let error =
            base.narrow(0, 0, 1).unwrap().broadcast_to([5]).unwrap().add_assign(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OverlappingDestination);
        // Strides that interleave without overlap are allowed, and so is a single element.
        let mut woven = base.as_strided(&[3, 2], &[2, 3], 0).unwrap();
        woven.add_assign(100).unwrap();
        assert_eq!(base.to_vec::<i32>().unwrap(), [100, 1, 102, 103, 104, 105, 6, 107, 8, 9]);
        base.as_strided(&[1], &[0], 9).unwrap().add_assign(1).unwrap();
    }
}

#[test]
fn masks_that_cannot_be_used() {
    for device in devices() {
        let x = ints(&[1, 2, 3], &[3], &device);
        let mut out = ints(&[7, 8, 9], &[3], &device);
        let mask = Tensor::from_slice(&[true, false, true], [3], &device).unwrap();
        let watched = Watched::new(&out);
        let argument = ErrorKind::InvalidArgument;
        watched.refused(
            binary(BinaryOp::Add, &x, 1).mask(&mask).run(),
            argument,
            "add: a mask needs a destination, which holds what the mask leaves alone; \
             give one with `out`",
        );
        watched.refused(
            binary(BinaryOp::Add, &x, 1).out(&mut out).mask(&x).run(),
            argument,
            "add: the mask is i32, not bool; cast or compare it",
        );
        let long = Tensor::ones([4], DType::Bool, &device).unwrap();
        watched.refused(
            binary(BinaryOp::Add, &x, 1).out(&mut out).mask(&long).run(),
            ErrorKind::Broadcast,
            "mask: cannot broadcast [4] with [3] (dimension 0: 4 vs 3)",
        );
        let larger = Tensor::ones([2, 3], DType::Bool, &device).unwrap();
        watched.refused(
            binary(BinaryOp::Add, &x, 1).out(&mut out).mask(&larger).run(),
            ErrorKind::Broadcast,
            "mask: cannot broadcast [2, 3] with [3] (the shape to broadcast to must not be smaller)",
        );
        binary(BinaryOp::Add, &x, 1).out(&mut out).mask(&mask).run().unwrap();
        assert_eq!(out.to_vec::<i32>().unwrap(), [2, 8, 4]);
    }
}

#[test]
fn refusals_of_the_operation_leave_the_destination_alone() {
    for device in devices() {
        let x = ints(&[1, 2], &[2], &device);
        let mut out = ints(&[7, 8], &[2], &device);
        let watched = Watched::new(&out);
        for (result, kind) in [
            (binary(BinaryOp::Add, &x, i64::MAX).out(&mut out).run(), ErrorKind::ScalarOverflow),
            (
                binary(BinaryOp::Add, &x, Tensor::zeros([3], DType::I32, &device).unwrap())
                    .out(&mut out)
                    .run(),
                ErrorKind::Broadcast,
            ),
            (
                binary(BinaryOp::Add, &x, Tensor::zeros([2], DType::F32, &device).unwrap())
                    .out(&mut out)
                    .run(),
                ErrorKind::Promotion,
            ),
            (
                binary(BinaryOp::LeftShift(Shift::Logical), &x, 1.5).out(&mut out).run(),
                ErrorKind::UnsupportedDType,
            ),
        ] {
            let error = result.unwrap_err();
            watched.refused(Err::<(), _>(error.clone()), kind, &error.to_string());
        }
    }
}

#[test]
fn operands_on_different_devices() {
    let devices = devices();
    let [here, there] = &*devices else { return };
    let (x, y) = (ints(&[1, 2], &[2], here), ints(&[1, 2], &[2], there));
    let mut out = x.clone();
    let watched = Watched::new(&out);
    let message = format!("add: tensors on {here} and {there}; move one with `to_device`");
    let mismatch = ErrorKind::DeviceMismatch;
    watched.refused(x.add(&y), mismatch, &message);
    watched.refused(out.add_assign(&y), mismatch, &message);
    let message = format!("add: tensors on {there} and {here}; move one with `to_device`");
    watched.refused(binary(BinaryOp::Add, &y, 1).out(&mut out).run(), mismatch, &message);
    let mask = Tensor::ones([2], DType::Bool, there).unwrap();
    let result = binary(BinaryOp::Add, &x, 1).out(&mut out).mask(&mask).run();
    assert_eq!(result.unwrap_err().kind(), mismatch);
    let floats = x.cast(DType::F32).unwrap();
    let elsewhere = y.cast(DType::F32).unwrap();
    assert_eq!(floats.copysign_grad(&elsewhere, &floats).unwrap_err().kind(), mismatch);
    // The advice in the message works.
    let moved = y.to_device(here).unwrap();
    assert_eq!(x.add(&moved).unwrap().to_vec::<i32>().unwrap(), [2, 4]);
}
