//! Candle tensors of every dtype and layout through the custom operations, against plain Rust.

use bitlane::{BinaryOp, DType as Lane, Device as LaneDevice, Rules, Shift, UnaryOp};
use bitlane_candle::{Binary, Fused1, Fused2, Fused3, Operations, Select, Unary, WithScalar};
use candle_core::{CpuStorage, CustomOp1, D, DType, Device, Layout, Result, Tensor, Var};

use self::support::on_devices;

mod support;

#[test]
fn shifts_broadcast_over_any_layout() -> Result<()> {
    on_devices(|device| {
        let x = Tensor::arange(0i64, 24, device)?.reshape((2, 3, 4))?;
        let amounts = Tensor::new(&[0i64, 1, 2, 63], device)?;
        let expected = |x: &Tensor| -> Result<Vec<i64>> {
            let elements = x.contiguous()?.flatten_all()?.to_vec1::<i64>()?;
            let last = x.dim(D::Minus1)?;
            let shifted = elements.iter().enumerate().map(|(k, x)| x << [0, 1, 2, 63][k % last]);
            Ok(shifted.collect())
        };
        let flat = |x: Tensor| x.flatten_all()?.to_vec1::<i64>();
        assert_eq!(flat(x.left_shift(&amounts)?)?, expected(&x)?);
        // Transposed, narrowed with an offset, and broadcast: read as they are.
        let transposed = x.transpose(0, 1)?;
        assert_eq!(flat(transposed.left_shift(&amounts)?)?, expected(&transposed)?);
        let narrowed = x.narrow(1, 1, 2)?;
        assert_eq!(flat(narrowed.left_shift(&amounts)?)?, expected(&narrowed)?);
        let spread = x.narrow(0, 1, 1)?.broadcast_as((5, 3, 4))?;
        assert_eq!(flat(spread.left_shift(&amounts)?)?, expected(&spread)?);
        let column = Tensor::new(&[[1i64], [2]], device)?;
        assert_eq!(
            column.left_shift(&amounts.narrow(0, 1, 2)?)?.to_vec2::<i64>()?,
            [[2, 4], [4, 8]]
        );
        Ok(())
    })
}

#[test]
fn every_dtype_of_candle_that_bitlane_has_goes_in_and_out() -> Result<()> {
    on_devices(|device| {
        for dtype in [
            DType::U8,
            DType::U32,
            DType::I16,
            DType::I32,
            DType::I64,
            DType::F16,
            DType::BF16,
            DType::F32,
            DType::F64,
        ] {
            // Not on the device: candle has no conversions for some of them there.
            let on_host = Tensor::new(&[1f32, 2.0, 100.0], &Device::Cpu)?.to_dtype(dtype)?;
            let (x, y) = (on_host.to_device(device)?, on_host.flip(&[0])?.to_device(device)?);
            let largest = x.apply_op2(&y, Binary::new(BinaryOp::Maximum))?;
            assert_eq!(largest.dtype(), dtype);
            let largest = largest.to_device(&Device::Cpu)?.to_dtype(DType::F32)?;
            assert_eq!(largest.to_vec1::<f32>()?, [100.0, 2.0, 100.0]);
            let equal = x.bitlane(BinaryOp::Equal, &x)?;
            assert_eq!((equal.dtype(), equal.to_vec1::<u8>()?), (DType::U8, vec![1, 1, 1]));
        }
        Ok(())
    })
}

#[test]
fn numbers_unary_operations_and_selections() -> Result<()> {
    on_devices(|device| {
        let x = Tensor::new(&[-5i32, 0, 6], device)?;
        assert_eq!(x.bitwise_and_scalar(3)?.to_vec1::<i32>()?, [3, 0, 2]);
        assert_eq!(x.right_shift_scalar(1)?.to_vec1::<i32>()?, [-3, 0, 3]);
        let logical = WithScalar::new(BinaryOp::RightShift(Shift::Logical), 28);
        assert_eq!(x.apply_op1(logical)?.to_vec1::<i32>()?, [15, 0, 0]);
        for (op, expected) in [
            (UnaryOp::Abs, [5, 0, 6]),
            (UnaryOp::Negative, [5, 0, -6]),
            (UnaryOp::BitwiseNot, [4, -1, -7]),
        ] {
            assert_eq!(x.apply_op1(Unary::new(op))?.to_vec1::<i32>()?, expected);
        }
        assert_eq!(x.bitlane_unary(UnaryOp::LogicalNot)?.to_vec1::<u8>()?, [0, 1, 0]);
        assert_eq!(x.signbit()?.to_vec1::<u8>()?, [1, 0, 0]);
        let zero = Tensor::new(0i32, device)?;
        assert_eq!(x.apply_op3(&zero, &x, Select)?.to_vec1::<i32>()?, [0, 0, 0]);
        assert_eq!(x.signbit()?.apply_op3(&zero, &x, Select)?.to_vec1::<i32>()?, [0, 0, 6]);
        Ok(())
    })
}

#[test]
fn bits_limits_and_fused_products() -> Result<()> {
    on_devices(|device| {
        let x = Tensor::new(&[0x8000_0001u32, 6], device)?;
        let amounts = Tensor::new(&[1u32, 33], device)?;
        assert_eq!(x.rotate_left(&amounts)?.to_vec1::<u32>()?, [3, 12]);
        assert_eq!(x.rotate_right(&amounts)?.to_vec1::<u32>()?, [0xc000_0000, 3]);
        assert_eq!(x.count_ones()?.to_vec1::<u32>()?, [2, 2]);
        assert_eq!(x.clip(2, 4)?.to_vec1::<u32>()?, [4, 4]);
        let y = Tensor::new(&[1f32, -2.0], device)?;
        assert_eq!(y.bitcast(Lane::U32)?.to_vec1::<u32>()?, [0x3f80_0000, 0xc000_0000]);
        assert!(y.bitcast(Lane::U8).is_err() && y.count_ones().is_err());
        let z = Tensor::new(0.5f64, device)?;
        assert_eq!(y.fma(&y, &z)?.to_vec1::<f32>()?, [1.5, 4.5]);
        Ok(())
    })
}

/// Every unary operation of the table, under every rulebook, is that of bitlane.
#[test]
fn every_unary_operation_goes_through() -> Result<()> {
    on_devices(|device| {
        let values = [-2.5f32, -0.0, 0.0, 1.0, f32::INFINITY];
        let (x, cpu) = (Tensor::new(&values, device)?, LaneDevice::cpu());
        let lane = bitlane::Tensor::from_slice(&values, [5], &cpu).expect("it has five elements");
        for &op in UnaryOp::ALL {
            for &rules in Rules::ALL {
                if !device.is_cpu() && rules != Rules::Torch {
                    continue; // the kernels are the same
                }
                let given = x.apply_op1(Unary::new(op).rules(rules));
                let expected = bitlane::unary(op, &lane).rules(rules).run();
                assert_eq!(given.is_ok(), expected.is_ok(), "{op} {rules}");
                let (Ok(given), Ok(expected)) = (given, expected) else { continue };
                let expected = expected.cast(Lane::F32).and_then(|it| it.to_vec::<f32>());
                let expected = expected.expect("it is on the device");
                let given = given.to_dtype(DType::F32)?.to_vec1::<f32>()?;
                // NaN is not equal to itself.
                let is_same = |(x, y): (&f32, &f32)| x == y || (x.is_nan() && y.is_nan());
                assert!(given.iter().zip(&expected).all(is_same), "{op} {rules}: {given:?}");
            }
        }
        Ok(())
    })
}

#[test]
fn expressions_of_one_two_and_three_tensors_are_one_operation() -> Result<()> {
    on_devices(|device| {
        let x = Tensor::new(&[1u32, 2, 3], device)?;
        let gray = x.apply_op1(Fused1::new("gray", |x| x.clone() ^ (x >> 1)))?;
        assert_eq!(gray.to_vec1::<u32>()?, [1, 3, 2]);
        let dot = Fused2::new("dot", |x, y| (x.cast(Lane::F64) * y.cast(Lane::F64)).sum(..));
        let dot = x.apply_op2(&x, dot)?;
        assert_eq!((dot.dims(), dot.to_scalar::<f64>()?), (&[][..], 14.0));
        let mixed = Fused3::new("mixed", |x, y, z| (x * y + z).rules(Rules::Torch));
        let half = Tensor::new(0.5f32, device)?;
        assert_eq!(x.apply_op3(&x, &half, mixed)?.to_vec1::<f32>()?, [1.5, 4.5, 9.5]);
        Ok(())
    })
}

#[test]
fn copysign_has_a_gradient_and_other_operations_say_that_they_have_none() -> Result<()> {
    on_devices(|device| {
        let x = Var::new(&[[3f32, -3.0], [0.0, 2.0]], device)?;
        let y = Tensor::new(&[-1f32, 1.0], device)?;
        let weighted = (x.copysign(&y)? * Tensor::new(&[[1f32, 10.0], [100.0, 1000.0]], device)?)?;
        let gradients = weighted.sum_all()?.backward()?;
        let gradient = gradients.get(&x).expect("x is a variable");
        assert_eq!(gradient.to_vec2::<f32>()?, [[-1.0, -10.0], [0.0, 1000.0]]);
        // Where x was broadcast, its gradient is a sum.
        let x = Var::new(&[2f32], device)?;
        let gradients = x.copysign(&y)?.sum_all()?.backward()?;
        assert_eq!(gradients.get(&x).expect("x is a variable").to_vec1::<f32>()?, [0.0]);
        let x = Var::new(&[1f32], device)?;
        let error = x.bitlane(BinaryOp::Fmax, &y)?.sum_all()?.backward().err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains("backward is not supported for fmax"), "{text}");
        Ok(())
    })
}

#[test]
fn errors_are_bitlanes_own() -> Result<()> {
    on_devices(|device| {
        let (x, y) = (Tensor::new(&[1i64, 2], device)?, Tensor::new(&[1i64, 2, 3], device)?);
        let message = |result: Result<Tensor>| result.expect_err("it must be refused").to_string();
        let text = message(x.left_shift(&y));
        assert!(text.contains("bitwise_left_shift: cannot broadcast [2] with [3]"), "{text}");
        let floats = Tensor::new(&[1f32], device)?;
        let text = message(floats.left_shift(&floats));
        assert!(text.contains("f32 is not supported, only integers"), "{text}");
        let text = message(x.apply_op1(Fused1::new("narrow", |x| x.cast(Lane::U16))));
        assert!(text.contains("narrow: the result is u16, which candle does not have"), "{text}");
        let nine = Tensor::zeros(&[1usize; 9][..], DType::F32, device)?;
        let text = message(nine.signbit());
        assert!(text.contains("rank 9 is above the limit of 8"), "{text}");
        Ok(())
    })
}

/// candle's 8-bit floats are those of bitlane on the CPU: every value, in place and into memory of candle's own.
#[test]
fn floats_of_8_bits_are_operands_and_results_on_the_cpu() -> Result<()> {
    let device = Device::Cpu;
    let bits = Tensor::arange(0u32, 256, &device)?.to_dtype(DType::U8)?;
    let values = bits.bitcast(Lane::F8E4M3FN)?;
    assert_eq!(values.dtype(), DType::F8E4M3);
    assert_eq!(values.bitcast(Lane::U8)?.to_vec1::<u8>()?, bits.to_vec1::<u8>()?);
    let given = values.to_dtype(DType::F32)?.to_vec1::<f32>()?;
    let cast = values.apply_op1(Fused1::new("cast", |x| x.cast(Lane::F32)))?.to_vec1::<f32>()?;
    for (given, cast) in given.iter().zip(&cast) {
        assert!(given == cast || (given.is_nan() && cast.is_nan()), "{given}, not {cast}");
    }
    // Larger than the largest, and halfway between two of them.
    let x = Tensor::new(&[1000f32, -0.5, 1.0625], &device)?;
    let rounded = x.cast_saturating(Lane::F8E4M3FN)?;
    assert_eq!(rounded.to_dtype(DType::F32)?.to_vec1::<f32>()?, [448.0, -0.5, 1.0]);
    let view = rounded.narrow(0, 1, 2)?;
    view.inplace_op1(&Fused1::new("double", |x| x * 2))?;
    assert_eq!(rounded.to_dtype(DType::F32)?.to_vec1::<f32>()?, [448.0, -1.0, 2.0]);
    Ok(())
}

/// A custom operation can be called with any layout, by safe code too.
#[test]
fn layouts_that_reach_outside_are_refused() {
    let storage = CpuStorage::U32(vec![0; 6]);
    let refused = |shape: &[usize], strides: &[usize], offset: usize| {
        let layout = Layout::new(shape.into(), strides.to_vec(), offset);
        Unary::new(UnaryOp::BitwiseNot).cpu_fwd(&storage, &layout).is_err()
    };
    assert!(!refused(&[2, 3], &[3, 1], 0) && !refused(&[2, 1], &[5, usize::MAX], 0));
    assert!(refused(&[2, 3], &[3, 1], 1) && refused(&[7], &[1], 0) && refused(&[1], &[1], 6));
    assert!(refused(&[3], &[usize::MAX / 2 + 1], 0) && refused(&[3, 3], &[usize::MAX / 2, 1], 2));
    assert!(refused(&[2], &[1], usize::MAX) && refused(&[2, 3], &[1], 0));
    assert!(!refused(&[0, 3], &[usize::MAX, usize::MAX], usize::MAX));
}

/// Two views that take no memory may broadcast to a shape that no memory holds, or that no number counts.
#[test]
fn results_that_do_not_fit_memory_are_refused() -> Result<()> {
    on_devices(|device| {
        let one = Tensor::new(&[[1i64]], device)?;
        for size in [1usize << 24, 1 << 30, 1 << 32, 1 << 33] {
            let column = one.broadcast_as((size, 1))?;
            let row = one.broadcast_as((1, size))?;
            let text = column.left_shift(&row).expect_err("it must be refused").to_string();
            assert!(text.contains("memory") || text.contains("overflows"), "{size}: {text}");
        }
        let (none, many) =
            (Tensor::zeros((0, 1), DType::I64, device)?, one.broadcast_as((1, 1 << 40))?);
        assert_eq!(none.left_shift(&many)?.dims(), [0, 1 << 40]);
        Ok(())
    })
}

#[test]
fn tensors_without_elements_and_without_dimensions() -> Result<()> {
    on_devices(|device| {
        let empty = Tensor::zeros((0, 3), DType::I64, device)?;
        assert_eq!(empty.bitwise_not()?.dims(), [0, 3]);
        assert_eq!(empty.left_shift(&Tensor::new(&[1i64, 2, 3], device)?)?.dims(), [0, 3]);
        let scalar = Tensor::new(5i64, device)?;
        assert_eq!(scalar.left_shift_scalar(2)?.to_scalar::<i64>()?, 20);
        Ok(())
    })
}

#[test]
fn large_tensors_are_shared_among_threads() -> Result<()> {
    on_devices(|device| {
        let x = Tensor::arange(0u32, 3_000_000, device)?;
        let y = x.apply_op1(Fused1::new("hash", |x| x.clone() ^ (x >> 16)))?.to_vec1::<u32>()?;
        assert!(y.iter().zip(0u32..).all(|(&y, x)| y == x ^ (x >> 16)));
        Ok(())
    })
}

#[test]
fn operations_in_place() -> Result<()> {
    on_devices(|device| {
        let whole = Tensor::arange(0i64, 12, device)?.reshape((3, 4))?;
        // Only the elements of the view change, and every view of the storage sees it.
        let part = whole.narrow(1, 1, 2)?.t()?;
        part.inplace_op1(&Unary::new(UnaryOp::Negative))?;
        let expected = [[0i64, -1, -2, 3], [4, -5, -6, 7], [8, -9, -10, 11]];
        assert_eq!(whole.to_vec2::<i64>()?, expected);
        whole.inplace_op1(&WithScalar::new(BinaryOp::BitwiseAnd, 3))?;
        assert_eq!(whole.to_vec2::<i64>()?[2], [0, 3, 2, 3]);
        // The other operands broadcast.
        let row = Tensor::new(&[1i64, 2, 3, 4], device)?;
        whole.inplace_op2(&row, &Binary::new(BinaryOp::LeftShift(Shift::Arithmetic)))?;
        assert_eq!(whole.to_vec2::<i64>()?[2], [0, 12, 16, 48]);
        let x = Tensor::new(&[1f32, 2.0, 3.0], device)?;
        x.inplace_op1(&Fused1::new("normalise", |x| x.clone() / x.sum(..)))?;
        x.inplace_op2(&x.ones_like()?, &Fused2::new("add", |x, y| x + y))?;
        let twos = (x.ones_like()? * 2.0)?;
        x.inplace_op3(&twos, &x.ones_like()?, &Fused3::new("fma", |x, y, z| x.fma(y, z)))?;
        let expected = [1f32, 2.0, 3.0].map(|x| ((x / 6.0) + 1.0).mul_add(2.0, 1.0));
        assert_eq!(x.to_vec1::<f32>()?, expected);
        Ok(())
    })
}

#[test]
fn results_that_do_not_fit_in_place_are_refused() -> Result<()> {
    on_devices(|device| {
        let x = Tensor::new(&[1i32, 2], device)?;
        let (long, halves) = (Tensor::new(&[1i32; 3], device)?, Tensor::new(&[0.5f32; 2], device)?);
        let add = Binary::new(BinaryOp::Add);
        let wide = Tensor::zeros((2, 2), DType::I32, device)?;
        for (other, reason) in [
            (&long, "cannot broadcast [2] with [3]"),
            (&wide, "[2, 2]"),
            (&halves, "f32"),
            (&x, "shares storage"),
        ] {
            let text = x.inplace_op2(other, &add).expect_err("it must be refused").to_string();
            assert!(text.contains(reason), "{text}");
        }
        assert_eq!(x.to_vec1::<i32>()?, [1, 2]);
        Ok(())
    })
}
