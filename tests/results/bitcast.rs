//! `bitcast`: the same bytes as elements of another dtype, as a view and as a step of an expression.

use crate::devices::devices;
use crate::model::element::{edge_values, upload};
use crate::model::random::Random;
use bitlane::{DType, Device, ErrorKind, Slice, Tensor};

fn is_bits(dtype: &&DType) -> bool {
    **dtype != DType::Bool
}

/// Returns bytes that are no pattern of any dtype's size.
fn bytes(count: usize) -> Vec<u8> {
    let mut random = Random::new(count as u64);
    (0..count).map(|_| random.below(256) as u8).collect()
}

fn tensor(dtype: DType, shape: &[usize], device: &Device) -> Tensor {
    let len = shape.iter().product::<usize>() * dtype.size();
    Tensor::from_bytes(dtype, &bytes(len), shape, device).unwrap()
}

#[test]
fn every_dtype_is_read_as_every_other() {
    for device in devices() {
        for &from in DType::ALL.iter().filter(is_bits) {
            let x = tensor(from, &[3, 32], &device);
            for &to in DType::ALL.iter().filter(is_bits) {
                let y = x.bitcast(to).unwrap();
                let len = 32 * from.size() / to.size();
                assert_eq!((y.dtype(), y.shape()), (to, &[3, len][..]), "{from} as {to}");
                assert!(y.shares_storage(&x) && y.is_contiguous());
                assert_eq!(y.to_bytes().unwrap(), x.to_bytes().unwrap(), "{from} as {to}");
                assert!(y.bitcast(from).unwrap().bits_equal(&x).unwrap());
                // Rows backwards, every other one, and repeated: whatever the last dimension is not.
                let rows = x.slice(0, Slice::from(..).step(-2)).unwrap();
                for view in [rows.clone(), rows.broadcast_to([5, 2, 32]).unwrap()] {
                    let given = view.bitcast(to).unwrap();
                    assert_eq!(given.to_bytes().unwrap(), view.to_bytes().unwrap());
                    // Computed with, too, and copied.
                    assert_eq!(given.copy().unwrap().to_bytes().unwrap(), view.to_bytes().unwrap());
                }
                // A view that begins inside the storage.
                let part = x.slice(1, 16..).unwrap();
                let given = part.bitcast(to).unwrap();
                assert_eq!(given.to_bytes().unwrap(), part.to_bytes().unwrap());
                let empty = x.narrow(0, 1, 0).unwrap().bitcast(to).unwrap();
                assert_eq!((empty.shape(), empty.len()), (&[0, len][..], 0));
            }
        }
    }
}

#[test]
fn what_no_strides_express_is_refused_by_its_dimension() {
    let device = devices().swap_remove(0);
    let x = tensor(DType::U8, &[4, 6], &device);
    let words = tensor(DType::U32, &[4, 6], &device);
    let refused = |x: &Tensor, to: DType, reason: &str| {
        let error = x.bitcast(to).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidShape, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    };
    refused(&x, DType::U32, "dimension 1 has 6 elements, and one of 4 bytes takes 4");
    refused(&x.transpose(0, 1).unwrap(), DType::U16, "dimension 1 has stride 6");
    refused(&words.transpose(0, 1).unwrap(), DType::U16, "dimension 1 has stride 6");
    refused(&words.flip(1).unwrap(), DType::U8, "dimension 1 has stride -1");
    let narrow = x.narrow(1, 0, 4).unwrap();
    refused(&narrow, DType::U32, "dimension 0 has stride 6, which is not a multiple of 4");
    assert_eq!(narrow.bitcast(DType::U16).unwrap().strides(), [3, 1]);
    refused(&x.narrow(1, 1, 4).unwrap(), DType::U16, "the first element is number 1");
    let zero_d = words.narrow(0, 0, 1).unwrap().narrow(1, 0, 1).unwrap().reshape(()).unwrap();
    refused(&zero_d, DType::U16, "no dimension");
    refused(&zero_d, DType::F64, "no dimension");
    assert_eq!(zero_d.bitcast(DType::F32).unwrap().rank(), 0);
    // One element is dense, whatever its stride.
    let one = words.transpose(0, 1).unwrap().narrow(1, 2, 1).unwrap();
    assert_eq!(one.bitcast(DType::U16).unwrap().shape(), [6, 2]);
    // A view of the same size needs nothing.
    let columns = words.transpose(0, 1).unwrap().bitcast(DType::F32).unwrap();
    assert_eq!((columns.shape(), columns.strides()), (&[6, 4][..], &[1, 6][..]));
    // The shape of no elements may be too large for narrower ones.
    let none = tensor(DType::F64, &[0, 1], &device);
    let huge = none.reshape([0, isize::MAX as usize / 2]).unwrap();
    refused(&huge, DType::U16, "the byte count overflows isize");
}

#[test]
fn bools_are_not_read_as_bits_nor_bits_as_bools() {
    for device in devices() {
        let flags = Tensor::from_slice(&[true, false], [2], &device).unwrap();
        assert!(flags.bitcast(DType::Bool).unwrap().bits_equal(&flags).unwrap());
        let numbers = flags.cast(DType::U8).unwrap();
        for error in [
            flags.bitcast(DType::U8).unwrap_err(),
            numbers.bitcast(DType::Bool).unwrap_err(),
            flags.expr().bitcast(DType::U8).run().unwrap_err(),
            numbers.expr().bitcast(DType::Bool).run().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::UnsupportedDType);
            let text = "bitcast: bool is not supported, only dtypes other than bool; cast";
            assert!(error.to_string().starts_with(text), "{error}");
        }
    }
}

#[test]
fn a_step_of_an_expression_keeps_every_bit() {
    for device in devices() {
        for &from in DType::ALL.iter().filter(is_bits) {
            let x = upload(from, &edge_values(from), &[edge_values(from).len()], &device);
            for &to in DType::ALL.iter().filter(is_bits) {
                let step = x.expr().bitcast(to);
                if from.size() != to.size() {
                    let error = step.run().unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::InvalidShape, "{from} to {to}");
                    assert!(error.to_string().contains("Tensor::bitcast"), "{error}");
                    continue;
                }
                let expected = x.bitcast(to).unwrap();
                assert!(step.run().unwrap().bits_equal(&expected).unwrap(), "{from} to {to}");
                // There and back, with something in between.
                if to.is_int() && !from.is_complex() {
                    let masked = ((x.expr().bitcast(to) ^ -1) ^ -1).bitcast(from).run().unwrap();
                    assert!(masked.bits_equal(&x).unwrap(), "{from} through {to}");
                }
            }
        }
        let x = Tensor::from_slice(&[1.5f32, -2.0, 0.75], [3], &device).unwrap();
        let expr = ((x.expr() * 2).bitcast(DType::U32) >> 23).bitcast(DType::I32) - 127;
        assert_eq!(expr.to_string(), "bitcast(bitcast(f32[3] * 2, u32) >> 23, i32) - 127");
        assert_eq!(expr.run().unwrap().to_vec::<i32>().unwrap(), [1, 258, 0]);
        // As terms of a reduction.
        let bits = x.expr().bitcast(DType::I32).max(0).run().unwrap();
        assert_eq!(bits.to_vec::<i32>().unwrap(), [1.5f32.to_bits() as i32]);
        let number = bitlane::Expr::from(1).bitcast(DType::U32).run().unwrap_err();
        assert_eq!(number.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn one_storage_is_read_and_written_as_several_dtypes() {
    for device in devices() {
        let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0, -4.0], [4], &device).unwrap();
        let bits = x.bitcast(DType::U32).unwrap();
        // The same view as two dtypes is two inputs.
        let both = (bits.expr() >> 31).cast(DType::F32) + &x;
        assert_eq!(both.run().unwrap().to_vec::<f32>().unwrap(), [1.0, -1.0, 3.0, -3.0]);
        // In place, through the view of the same size.
        let mut target = bits.clone();
        (x.expr().bitcast(DType::U32) & 0x7fff_ffff).out(&mut target).run().unwrap();
        assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        (x.expr() * -1).out(&mut x.clone()).run().unwrap();
        assert_eq!(x.to_vec::<f32>().unwrap(), [-1.0, -2.0, -3.0, -4.0]);
        // Narrower elements of the same memory are written while wider ones are read: through a temporary.
        for len in [4, 4000] {
            let words: Vec<u32> = (0..len as u32).map(|k| k.wrapping_mul(0x9e37_79b9)).collect();
            let x = Tensor::from_slice(&words, [len], &device).unwrap();
            let halves = x.bitcast(DType::U16).unwrap();
            let mut front = halves.narrow(0, 0, len).unwrap();
            (x.expr() >> 16).cast(DType::U16).out(&mut front).run().unwrap();
            let expected: Vec<u16> = words.iter().map(|word| (word >> 16) as u16).collect();
            assert_eq!(front.to_vec::<u16>().unwrap(), expected);
            // Wider elements are written while narrower ones are read.
            let bytes: Vec<u8> = (0..4 * len).map(|k| (k * 7) as u8).collect();
            let y = Tensor::from_slice(&bytes, [4 * len], &device).unwrap();
            let mut wide = y.bitcast(DType::U32).unwrap();
            let tail = y.narrow(0, 2 * len, len).unwrap();
            tail.expr().cast(DType::U32).out(&mut wide).run().unwrap();
            let expected: Vec<u32> = bytes[2 * len..3 * len].iter().map(|&b| b.into()).collect();
            assert_eq!(wide.to_vec::<u32>().unwrap(), expected);
            wide.fill(0x0403_0201).unwrap();
            assert_eq!(y.get::<u8>([4 * len - 1]).unwrap(), 4);
        }
    }
}
