//! Invalid input: the kind and the message of each error, and that nothing was modified.

use crate::devices::devices;
use bitlane::{BinaryOp, DType, Device, Error, ErrorKind, Rules, Scalar, Shift, Slice, Tensor};
use bitlane::{binary, promote};

/// Expects an error of this kind and message.
#[track_caller]
fn refused<T>(result: Result<T, Error>, kind: ErrorKind, message: &str) {
    match result {
        Ok(_) => panic!("expected: {message}"),
        Err(error) => {
            assert_eq!(error.to_string(), message);
            assert_eq!(error.kind(), kind);
            assert!(!message.contains('\n'), "a message is one line");
        }
    }
}

fn ints(elements: &[i32], device: &Device) -> Tensor {
    Tensor::from_slice(elements, [elements.len()], device).unwrap()
}

#[test]
fn lengths_and_shapes_that_do_not_fit() {
    for device in devices() {
        let invalid = ErrorKind::InvalidShape;
        refused(
            Tensor::from_slice(&[1, 2, 3], [2, 2], &device),
            invalid,
            "from_slice: shape [2, 2]: needs 4 elements, got 3",
        );
        refused(
            Tensor::from_slice::<f32>(&[], (), &device),
            invalid,
            "from_slice: shape []: needs 1 element, got 0",
        );
        refused(
            Tensor::from_bytes(DType::I16, &[0; 3], [2], &device),
            invalid,
            "from_bytes: shape [2]: needs 4 bytes of i16, got 3",
        );
        refused(
            Tensor::zeros([1; 9], DType::U8, &device),
            invalid,
            "zeros: shape [1, 1, 1, 1, 1, 1, 1, 1, 1]: rank 9 is above the limit of 8",
        );
        let eight = Tensor::zeros([1; 8], DType::U8, &device).unwrap();
        refused(
            eight.unsqueeze(0),
            invalid,
            "unsqueeze: shape [1, 1, 1, 1, 1, 1, 1, 1]: rank 8 is the limit",
        );
        refused(
            eight.broadcast_to([1; 9]),
            invalid,
            "broadcast_to: shape [1, 1, 1, 1, 1, 1, 1, 1, 1]: rank 9 is above the limit of 8",
        );
        refused(
            eight.reshape([2]),
            invalid,
            "reshape: shape [2]: 2 elements, but the tensor has 1 ([1, 1, 1, 1, 1, 1, 1, 1])",
        );
        let turned = Tensor::zeros([2, 3], DType::U8, &device).unwrap().transpose(0, 1).unwrap();
        refused(
            turned.reshape([6]),
            invalid,
            "reshape: shape [6]: no view of shape [3, 2] and strides [1, 3] has it; \
             call `contiguous` first",
        );
        refused(turned.squeeze(1), invalid, "squeeze: shape [3, 2]: axis 1 has size 2, not 1");
    }
}

#[test]
fn counts_that_overflow_are_refused_before_anything_is_allocated() {
    for device in devices() {
        const MAX: usize = usize::MAX;
        // A size of zero does not make the others valid: their product is a stride.
        let shapes: [&[usize]; 5] =
            [&[MAX], &[MAX, 0], &[0, MAX, 2], &[1 << 32, 1 << 32], &[1 << 63, 2]];
        for shape in shapes {
            let message =
                |op: &str| format!("{op}: shape {shape:?}: the byte count overflows isize");
            let invalid = ErrorKind::InvalidShape;
            refused(Tensor::zeros(shape, DType::U8, &device), invalid, &message("zeros"));
            refused(Tensor::full(shape, 1, DType::U8, &device), invalid, &message("full"));
            refused(Tensor::from_slice::<u8>(&[], shape, &device), invalid, &message("from_slice"));
            refused(
                Tensor::from_bytes(DType::U8, &[], shape, &device),
                invalid,
                &message("from_bytes"),
            );
            let one = Tensor::zeros([1], DType::U8, &device).unwrap();
            refused(one.broadcast_to(shape), invalid, &message("broadcast_to"));
            // Bytes count, not elements.
            let wide = Tensor::zeros([1], DType::F32, &device).unwrap();
            let most = 1 << 61;
            assert!(wide.broadcast_to(most - 1).is_ok() && wide.broadcast_to(most).is_err());
            assert!(wide.as_strided(&[most - 1], &[0], 0).is_ok());
            assert!(wide.as_strided(&[most], &[0], 0).is_err());
            refused(one.reshape(shape), invalid, &message("reshape"));
            refused(
                one.as_strided(shape, &vec![0; shape.len()], 0),
                invalid,
                &message("as_strided"),
            );
        }
        // The number of elements fits, but the number of bytes does not.
        refused(
            Tensor::zeros([1 << 60], DType::C128, &device),
            ErrorKind::InvalidShape,
            "zeros: shape [1152921504606846976]: the byte count overflows isize",
        );
        refused(
            Tensor::arange(MAX, DType::I64, &device),
            ErrorKind::InvalidShape,
            "arange: shape [18446744073709551615]: the byte count overflows isize",
        );
        // Two valid views whose result would be too large.
        let one = Tensor::zeros([1], DType::U8, &device).unwrap();
        let tall = one.broadcast_to([1 << 40, 1]).unwrap();
        let wide = one.broadcast_to([1, 1 << 40]).unwrap();
        refused(
            tall.add(&wide),
            ErrorKind::InvalidShape,
            "add: shape [1099511627776, 1099511627776]: the byte count overflows isize",
        );
        let wide = Tensor::zeros([1], DType::I8, &device).unwrap().broadcast_to([1 << 61]).unwrap();
        let error = wide.cast(DType::F64).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidShape, "{error}");
        let error = binary(BinaryOp::Add, &wide, 1.5).rules(Rules::NumPy).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidShape, "{error}");
    }
}

#[test]
fn an_allocation_far_beyond_memory_is_an_error_and_not_an_abort() {
    // More than any machine can address, so that no system overcommits it.
    const FAR: usize = 1 << 50;
    for device in devices() {
        let out_of_memory = |result: Result<Tensor, Error>, bytes: usize| {
            let error = result.map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
            let message = error.to_string();
            let expected = format!(" ({bytes} bytes); drop tensors");
            assert!(message.contains(&expected), "{message}");
        };
        out_of_memory(Tensor::zeros([FAR], DType::U8, &device), FAR);
        out_of_memory(Tensor::full([FAR, 2], 1, DType::F32, &device), FAR * 8);
        out_of_memory(Tensor::arange(FAR, DType::I16, &device), FAR * 2);
        let one = Tensor::ones([1], DType::I32, &device).unwrap();
        let view = one.broadcast_to([1 << 20, 1 << 30]).unwrap();
        out_of_memory(view.add(&view), FAR * 4);
        out_of_memory(view.less_than(1), FAR);
        out_of_memory(view.contiguous(), FAR * 4);
        out_of_memory(view.cast(DType::F64), FAR * 8);
        out_of_memory(view.signbit(), FAR);
        out_of_memory(view.to_bytes().map(|_| one.clone()), FAR * 4);
        let floats = view.broadcast_to([1 << 20, 1 << 30]).unwrap();
        assert_eq!(floats.to_vec::<i32>().unwrap_err().kind(), ErrorKind::OutOfMemory);
        // Everything is still usable.
        assert_eq!(one.add(1).unwrap().to_vec::<i32>().unwrap(), [2]);
    }
}

#[test]
fn views_outside_the_storage() {
    for device in devices() {
        let x = Tensor::arange(10, DType::I32, &device).unwrap();
        let outside = ErrorKind::OutOfBounds;
        refused(
            x.as_strided(&[3], &[4], 2),
            outside,
            "as_strided: shape [3] with strides [4] and offset 2 reaches elements 2 to 10 of a \
             storage of 10",
        );
        refused(
            x.as_strided(&[3], &[-4], 7),
            outside,
            "as_strided: shape [3] with strides [-4] and offset 7 reaches elements -1 to 7 of a \
             storage of 10",
        );
        assert_eq!(x.as_strided(&[3], &[-4], 9).unwrap().to_vec::<i32>().unwrap(), [9, 5, 1]);
        for (shape, stride, offset) in [
            (2, isize::MAX, 1),
            (2, isize::MIN, 0),
            (1 << 60, isize::MAX, 0),
            (1 << 60, isize::MIN, usize::MAX),
            (1, 0, usize::MAX),
            (1, 0, 10),
        ] {
            let error = x.as_strided(&[shape], &[stride], offset).unwrap_err();
            assert_eq!(error.kind(), outside, "{error}");
        }
        refused(
            x.as_strided(&[0], &[1], 11),
            outside,
            "as_strided: offset 11 lies outside a storage of 10 elements",
        );
        assert!(x.as_strided(&[0, 5], &[isize::MAX, isize::MIN], 10).unwrap().is_empty());
        refused(
            x.as_strided(&[2, 2], &[1], 0),
            ErrorKind::InvalidShape,
            "as_strided: shape [2, 2]: 1 strides for 2 dimensions",
        );
        refused(x.narrow(0, 8, 3), outside, "narrow: 3 elements from 8 on, of axis 0 of size 10");
        refused(
            x.narrow(0, usize::MAX, 2),
            outside,
            "narrow: 2 elements from 18446744073709551615 on, of axis 0 of size 10",
        );
    }
}

#[test]
fn axes_orders_and_steps_that_mean_nothing() {
    for device in devices() {
        let x = Tensor::zeros([2, 3], DType::U8, &device).unwrap();
        let outside = ErrorKind::OutOfBounds;
        refused(x.transpose(0, 2), outside, "transpose: axis 2 of a tensor of rank 2 ([2, 3])");
        refused(x.flip(2), outside, "flip: axis 2 of a tensor of rank 2 ([2, 3])");
        refused(x.squeeze(5), outside, "squeeze: axis 5 of a tensor of rank 2 ([2, 3])");
        refused(x.slice(2, ..), outside, "slice: axis 2 of a tensor of rank 2 ([2, 3])");
        refused(x.narrow(2, 0, 0), outside, "narrow: axis 2 of a tensor of rank 2 ([2, 3])");
        refused(x.unsqueeze(3), outside, "unsqueeze: axis 3 in a tensor of rank 2");
        let argument = ErrorKind::InvalidArgument;
        for order in [&[0, 0][..], &[0], &[0, 2], &[0, 1, 2]] {
            let message = format!("permute: {order:?} is not a permutation of the 2 axes");
            refused(x.permute(order), argument, &message);
        }
        refused(
            x.slice(0, Slice::from(..).step(0)),
            argument,
            "slice: the step is 0; it must be positive or negative",
        );
        // The largest steps and ends are valid.
        for step in [isize::MAX, isize::MIN] {
            assert_eq!(x.slice(1, Slice::from(..).step(step)).unwrap().shape(), [2, 1]);
        }
        let ends = Slice::new(Some(isize::MIN), Some(isize::MAX), 1);
        assert_eq!(x.slice(1, ends).unwrap().shape(), [2, 3]);
    }
}

#[test]
fn elements_that_are_not_what_they_should_be() {
    for device in devices() {
        let argument = ErrorKind::InvalidArgument;
        refused(
            Tensor::from_bytes(DType::Bool, &[0, 1, 2], [3], &device),
            argument,
            "from_bytes: bool number 2 is 2, not 0 or 1",
        );
        refused(
            ints(&[1], &device).to_vec::<u32>(),
            argument,
            "to_vec: elements of i32 were asked for as u32; cast them first",
        );
        refused(
            Tensor::full([1], 300, DType::U8, &device),
            ErrorKind::ScalarOverflow,
            "full: the scalar 300 does not fit u8; use a tensor of a wider dtype",
        );
    }
}

#[test]
fn names_of_nothing() {
    let error = "u128".parse::<DType>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        error.to_string(),
        "dtype: unknown name \"u128\"; the names are bool u8 u16 u32 u64 i8 i16 i32 i64 f8e4m3fn \
         f8e5m2 f16 bf16 f32 f64 c64 c128"
    );
    let error = "shift".parse::<BinaryOp>().unwrap_err().to_string();
    assert!(error.starts_with("BinaryOp: unknown name \"shift\"; the names are bitwise_left"));
    let error = "tensorflow".parse::<Rules>().unwrap_err().to_string();
    assert_eq!(
        error,
        "rulebook: unknown name \"tensorflow\"; the names are paddle torch numpy jax"
    );
    assert!("ADD".parse::<promote::Op>().is_err());
}

#[test]
fn operands_that_do_not_go_together() {
    for device in devices() {
        let (x, y) = (ints(&[1, 2], &device), ints(&[1, 2, 3], &device));
        refused(
            x.bitwise_left_shift(&y, Shift::Arithmetic),
            ErrorKind::Broadcast,
            "bitwise_left_shift: cannot broadcast [2] with [3] (dimension 0: 2 vs 3)",
        );
        let table = Tensor::zeros([4, 2, 3], DType::I32, &device).unwrap();
        refused(
            table.add(&x),
            ErrorKind::Broadcast,
            "add: cannot broadcast [4, 2, 3] with [2] (dimension 2: 3 vs 2)",
        );
        let empty = Tensor::zeros([0], DType::I32, &device).unwrap();
        refused(
            empty.add(&x),
            ErrorKind::Broadcast,
            "add: cannot broadcast [0] with [2] (dimension 0: 0 vs 2)",
        );
        assert_eq!(empty.add(ints(&[1], &device)).unwrap().shape(), [0]);
        refused(
            table.broadcast_to([2, 3]),
            ErrorKind::Broadcast,
            "broadcast_to: cannot broadcast [4, 2, 3] with [2, 3] \
             (the shape to broadcast to must not be smaller)",
        );
        let floats = Tensor::zeros([2], DType::F32, &device).unwrap();
        refused(
            x.add(&floats),
            ErrorKind::Promotion,
            "add: Paddle rules give i32 tensor and f32 tensor no common dtype; \
             `cast` one of them, or ask for other rules with `.rules(Rules::Torch)`",
        );
        refused(
            floats.bitwise_left_shift(1, Shift::Logical),
            ErrorKind::UnsupportedDType,
            "bitwise_left_shift_logical: f32 is not supported, only integers; \
             cast the operands, or bitcast them if their bits are meant",
        );
        refused(
            &floats & 1,
            ErrorKind::UnsupportedDType,
            "bitwise_and: f32 is not supported, only bool and integers; \
             cast the operands, or bitcast them if their bits are meant",
        );
        refused(
            floats.count_ones(),
            ErrorKind::UnsupportedDType,
            "count_ones: f32 is not supported, only integers; \
             cast the operands, or bitcast them if their bits are meant",
        );
        refused(
            x.real(),
            ErrorKind::UnsupportedDType,
            "real: i32 is not supported, only complex numbers; cast the operands",
        );
        refused(
            binary(BinaryOp::Add, 1, 2).run(),
            ErrorKind::InvalidArgument,
            "add: at least one operand must be a tensor",
        );
    }
}

#[test]
fn numbers_that_do_not_fit() {
    for device in devices() {
        let bytes = Tensor::from_slice(&[1i8, 2], [2], &device).unwrap();
        let overflow = ErrorKind::ScalarOverflow;
        refused(
            bytes.add(128),
            overflow,
            "add: the scalar 128 does not fit i8; use a tensor of a wider dtype",
        );
        refused(
            -129 << &bytes,
            overflow,
            "bitwise_left_shift: the scalar -129 does not fit i8; use a tensor of a wider dtype",
        );
        refused(
            bytes.bitwise_and(Scalar::UInt(u64::MAX)),
            overflow,
            "bitwise_and: the scalar 18446744073709551615 does not fit i8; \
             use a tensor of a wider dtype",
        );
        let error = bytes.cast(DType::U64).unwrap().maximum(-1).unwrap_err();
        assert_eq!(error.kind(), overflow);
        // A number that is rounded, or that is only a sign or a shift amount, always fits.
        assert!(bytes.cast(DType::F16).unwrap().add(i64::MAX).is_ok());
        assert!(bytes.copysign(i64::MIN).is_ok());
        assert!((&bytes << i64::MAX).is_ok());
    }
}

#[test]
fn without_a_driver_cuda_says_what_to_do() {
    if devices().iter().any(|device| device.to_string().starts_with("cuda")) {
        let error = Device::cuda(1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CudaUnavailable, "{error}");
        return;
    }
    assert_eq!(Device::cuda_count(), 0);
    for ordinal in [0, 1, usize::MAX] {
        let Err(error) = Device::cuda(ordinal) else {
            panic!("no device was found, but one is here")
        };
        assert_eq!(error.kind(), ErrorKind::CudaUnavailable);
        let Error::CudaUnavailable { reason, remedy } = &error else { panic!("{error}") };
        assert!(!reason.is_empty() && !remedy.is_empty());
        assert_eq!(error.to_string(), format!("CUDA is not available: {reason}; {remedy}"));
        if cfg!(not(feature = "cuda")) {
            assert!(remedy.contains("features = [\"cuda\"]"), "{remedy}");
        }
    }
    assert_eq!(Device::best().unwrap().to_string(), "cpu");
}
