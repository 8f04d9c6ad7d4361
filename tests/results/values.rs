//! The values that docs/semantics.md gives, one by one, so that they can be read alongside it.

use crate::devices::devices;
use bitlane::{BinaryOp, Complex, DType, Device, Element, Rules, Scalar, Shift, Tensor};
use bitlane::{bf16, binary, f16};

fn tensor<T: Element>(elements: &[T], device: &Device) -> Tensor {
    Tensor::from_slice(elements, [elements.len()], device).unwrap()
}

fn f32_bits(tensor: &Tensor) -> Vec<u32> {
    tensor.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
}

#[test]
fn shifts_of_section_3() {
    for device in devices() {
        let left = |x: i8, y: i8| {
            let result =
                tensor(&[x], &device).bitwise_left_shift(tensor(&[y], &device), Shift::Arithmetic);
            result.unwrap().to_vec::<i8>().unwrap()[0]
        };
        let right = |x: i8, y: i8, kind| {
            let result = tensor(&[x], &device).bitwise_right_shift(tensor(&[y], &device), kind);
            result.unwrap().to_vec::<i8>().unwrap()[0]
        };
        assert_eq!(left(-45, 2), 76);
        assert_eq!(left(-45, 3), -104);
        assert_eq!(left(1, 8), 0);
        assert_eq!(left(1, -1), 0);
        assert_eq!(right(-102, 3, Shift::Logical), 19);
        assert_eq!(right(-100, 100, Shift::Arithmetic), -1);
        assert_eq!(right(-100, -1, Shift::Arithmetic), -1);
        assert_eq!(right(100, -1, Shift::Arithmetic), 0);
        assert_eq!(right(-100, 100, Shift::Logical), 0);
        assert_eq!(right(i8::MIN, 7, Shift::Arithmetic), -1);
        assert_eq!(right(i8::MIN, 7, Shift::Logical), 1);

        let x = tensor(&[-100i8, 100], &device);
        for amount in [257, -255, i64::MAX, i64::MIN] {
            assert_eq!((&x << amount).unwrap().to_vec::<i8>().unwrap(), [0, 0]);
            assert_eq!((&x >> amount).unwrap().to_vec::<i8>().unwrap(), [-1, 0]);
        }
        assert_eq!((&x >> u64::MAX).unwrap().to_vec::<i8>().unwrap(), [-1, 0]);
        assert_eq!((&x >> Scalar::UInt(u64::MAX)).unwrap().to_vec::<i8>().unwrap(), [-1, 0]);
        let wide = tensor(&[1u64, u64::MAX], &device);
        assert_eq!((&wide << 63).unwrap().to_vec::<u64>().unwrap(), [1 << 63, 1 << 63]);
        assert_eq!((&wide << 64).unwrap().to_vec::<u64>().unwrap(), [0, 0]);
        assert_eq!((&wide >> 63).unwrap().to_vec::<u64>().unwrap(), [0, 1]);
        // A number on the left, and a bool tensor, which becomes i64 with a number.
        assert_eq!(
            (1i64 << &tensor(&[0u8, 7, 8], &device)).unwrap().to_vec::<u8>().unwrap(),
            [1, 128, 0]
        );
        let bools = (&tensor(&[true, false], &device) << 40).unwrap();
        assert_eq!(bools.to_vec::<i64>().unwrap(), [1 << 40, 0]);
    }
}

#[test]
fn copysign_of_section_4() {
    for device in devices() {
        // Zeros, infinities, subnormals, NaNs: every bit but the sign is kept, on either side.
        let signalling = 0x7f80_0001u32;
        let x = [0, 0x8000_0000, 1, 0x7f80_0000, 0xff80_0000, 0x7fc1_2345, signalling, 0xffc0_0000];
        let x = tensor(&x.map(f32::from_bits), &device);
        for negative in [-0.0f32, -1.0, f32::NEG_INFINITY, f32::from_bits(0xffc0_0000)] {
            let expected =
                [0, 0, 1, 0x7f80_0000, 0x7f80_0000, 0x7fc1_2345, signalling, 0x7fc0_0000];
            let y = tensor(&[negative], &device);
            let minus = expected.map(|bits| bits | 0x8000_0000);
            assert_eq!(f32_bits(&x.copysign(&y).unwrap()), minus);
            assert_eq!(f32_bits(&x.copysign(negative).unwrap()), minus);
            let plus = binary(BinaryOp::Copysign, &x, tensor(&[-negative], &device)).run();
            assert_eq!(f32_bits(&plus.unwrap()), expected);
        }
        let half = tensor(&[f16::from_bits(0x7d01), f16::from_bits(0x8001)], &device);
        let bits = |t: Tensor| {
            t.to_vec::<f16>().unwrap().into_iter().map(f16::to_bits).collect::<Vec<_>>()
        };
        assert_eq!(bits(half.copysign(-0.0).unwrap()), [0xfd01, 0x8001]);
        assert_eq!(bits(half.copysign(0).unwrap()), [0x7d01, 0x0001]);
        let brain = tensor(&[bf16::from_bits(0xff81)], &device);
        let negative_nan = f64::from_bits(0xfff8_0000_0000_0000);
        assert_eq!(
            brain.copysign(-negative_nan).unwrap().to_vec::<bf16>().unwrap()[0].to_bits(),
            0x7f81
        );
        assert_eq!(
            brain.copysign(negative_nan).unwrap().to_vec::<bf16>().unwrap()[0].to_bits(),
            0xff81
        );

        // Integers keep their dtype under Paddle's rules; the sign of a number is that of the number as given.
        let ints = tensor(&[5i32, -5, 0, i32::MIN], &device);
        for y in [Scalar::Float(-0.5), Scalar::Float(-0.0), Scalar::Int(-3)] {
            assert_eq!(ints.copysign(y).unwrap().to_vec::<i32>().unwrap(), [-5, -5, 0, i32::MIN]);
        }
        assert_eq!(ints.copysign(0.5).unwrap().to_vec::<i32>().unwrap(), [5, 5, 0, i32::MIN]);
        let longs = tensor(&[i64::MIN, i64::MIN + 1, (1 << 53) + 1], &device);
        let positive = longs.copysign(tensor(&[1i64, 1, 1], &device)).unwrap();
        assert_eq!(positive.to_vec::<i64>().unwrap(), [i64::MIN, i64::MAX, (1 << 53) + 1]);
        assert_eq!(tensor(&[7u8], &device).copysign(-1).unwrap().to_vec::<u8>().unwrap(), [7]);
        assert_eq!(
            tensor(&[true], &device).copysign(-1).unwrap().to_vec::<bool>().unwrap(),
            [true]
        );
        // Under other rulebooks they become floats.
        let torch = binary(BinaryOp::Copysign, &ints, -0.0).rules(Rules::Torch).run().unwrap();
        assert_eq!(torch.to_vec::<f32>().unwrap(), [-5.0, -5.0, -0.0, -2147483648.0]);
        assert!(torch.to_vec::<f32>().unwrap()[2].is_sign_negative());
        let numpy = binary(BinaryOp::Copysign, tensor(&[-3i8], &device), 1).rules(Rules::NumPy);
        assert_eq!(numpy.run().unwrap().to_vec::<f16>().unwrap(), [f16::from_f32(3.0)]);
    }
}

#[test]
fn integers_wrap_and_bools_are_logic() {
    for device in devices() {
        let x = tensor(&[i32::MAX, i32::MIN, -1], &device);
        assert_eq!((&x + 1).unwrap().to_vec::<i32>().unwrap(), [i32::MIN, i32::MIN + 1, 0]);
        assert_eq!((&x - 1).unwrap().to_vec::<i32>().unwrap(), [i32::MAX - 1, i32::MAX, -2]);
        assert_eq!((&x * &x).unwrap().to_vec::<i32>().unwrap(), [1, 0, 1]);
        assert_eq!((0i32 - &x).unwrap().to_vec::<i32>().unwrap(), [-i32::MAX, i32::MIN, 1]);
        assert_eq!((&tensor(&[0u64], &device) - 1).unwrap().to_vec::<u64>().unwrap(), [u64::MAX]);
        let (p, q) =
            (tensor(&[true, true, false], &device), tensor(&[true, false, false], &device));
        assert_eq!((&p + &q).unwrap().to_vec::<bool>().unwrap(), [true, true, false]);
        assert_eq!((&p * &q).unwrap().to_vec::<bool>().unwrap(), [true, false, false]);
        assert_eq!((&p ^ &q).unwrap().to_vec::<bool>().unwrap(), [false, true, false]);
        assert_eq!((&p / &p).unwrap().dtype(), DType::F32);
        assert_eq!(p.greater_than(&q).unwrap().to_vec::<bool>().unwrap(), [false, true, false]);
        assert_eq!(p.maximum(&q).unwrap().to_vec::<bool>().unwrap(), [true, true, false]);
    }
}

#[test]
fn division_is_never_below_float() {
    for device in devices() {
        let x = tensor(&[7i64, -1, 0], &device);
        assert_eq!((&x / 2).unwrap().to_vec::<f32>().unwrap(), [3.5, -0.5, 0.0]);
        let by_zero = (&x / 0).unwrap().to_vec::<f32>().unwrap();
        assert!(
            by_zero[0] == f32::INFINITY && by_zero[1] == f32::NEG_INFINITY && by_zero[2].is_nan()
        );
        let numpy = binary(BinaryOp::Divide, &x, 2).rules(Rules::NumPy).run().unwrap();
        assert_eq!(numpy.to_vec::<f64>().unwrap(), [3.5, -0.5, 0.0]);
        assert_eq!(
            f32_bits(&(&tensor(&[0.0f32, -0.0], &device) / -2.5).unwrap()),
            [0x8000_0000, 0]
        );
        // f16 is computed in f32 and rounded once: 1/3, and a sum that f16 alone would round away.
        let third = (1i32 / &tensor(&[f16::from_f32(3.0)], &device)).unwrap();
        assert_eq!(third.to_vec::<f16>().unwrap()[0].to_bits(), 0x3555);
        let sum = (&tensor(&[f16::from_f32(2048.0)], &device) + 3).unwrap();
        assert_eq!(sum.to_vec::<f16>().unwrap(), [f16::from_f32(2052.0)]);
        let overflow = (&tensor(&[f16::MAX], &device) * 2).unwrap();
        assert_eq!(overflow.to_vec::<f16>().unwrap(), [f16::INFINITY]);
    }
}

#[test]
fn complex_numbers_divide_by_smiths_algorithm() {
    for device in devices() {
        type C = Complex<f32>;
        let divide = |x: C, y: C| (&tensor(&[x], &device) / y).unwrap().to_vec::<C>().unwrap()[0];
        // The textbook formula squares the divisor, which overflows.
        assert_eq!(divide(C::new(1e20, 1e20), C::new(1e20, 1e20)), C::new(1.0, 0.0));
        assert_eq!(divide(C::new(1e20, 0.0), C::new(0.0, 1e20)), C::new(0.0, -1.0));
        for zero in [C::new(0.0, 0.0), C::new(-0.0, 0.0), C::new(0.0, -0.0), C::new(-0.0, -0.0)] {
            assert_eq!(divide(C::new(1.0, -2.0), zero), C::new(f32::INFINITY, f32::NEG_INFINITY));
            let nan = divide(C::new(0.0, 0.0), zero);
            assert!(nan.re.is_nan() && nan.im.is_nan());
        }
        let x = tensor(&[C::new(1.0, 2.0)], &device);
        assert_eq!((&x * C::new(3.0, -1.0)).unwrap().to_vec::<C>().unwrap(), [C::new(5.0, 5.0)]);
        assert_eq!((&x - &x).unwrap().to_vec::<C>().unwrap(), [C::new(0.0, 0.0)]);
        assert_eq!(x.equal(C::new(1.0, 2.0)).unwrap().to_vec::<bool>().unwrap(), [true]);
        assert_eq!(x.not_equal(1.0).unwrap().to_vec::<bool>().unwrap(), [true]);
        let imaginary = tensor(&[C::new(0.0, -2.0), C::new(-0.0, 0.0)], &device);
        assert_eq!(imaginary.logical_or(false).unwrap().to_vec::<bool>().unwrap(), [true, false]);
        // No fused multiply-add: the products of (1 + 2⁻¹²)² cancel to their rounding error only.
        let y = 1.0 + 2f32.powi(-12);
        let square = tensor(&[C::new(y, y)], &device);
        assert_eq!((&square * C::new(y, y)).unwrap().to_vec::<C>().unwrap()[0].re, 0.0);
    }
}

#[test]
fn extremes_know_nan_and_the_sign_of_zero() {
    for device in devices() {
        let nan = f32::NAN;
        let (x, y) = ([1.0, nan, nan, 1.0, 0.0, -0.0, -0.0], [2.0, 1.0, nan, nan, -0.0, 0.0, -0.0]);
        let (x, y) = (tensor(&x, &device), tensor(&y, &device));
        let (one, two, plus, minus) = (1f32.to_bits(), 2f32.to_bits(), 0, 0x8000_0000);
        let shown = |result: bitlane::Result<Tensor>| -> Vec<Option<u32>> {
            let values = result.unwrap().to_vec::<f32>().unwrap();
            values.into_iter().map(|value| (!value.is_nan()).then(|| value.to_bits())).collect()
        };
        let numbers = |bits: [u32; 7]| bits.map(|bits| (bits != u32::MAX).then_some(bits)).to_vec();
        let n = u32::MAX;
        assert_eq!(shown(x.maximum(&y)), numbers([two, n, n, n, plus, plus, minus]));
        assert_eq!(shown(x.minimum(&y)), numbers([one, n, n, n, minus, minus, minus]));
        assert_eq!(shown(x.fmax(&y)), numbers([two, one, n, one, plus, plus, minus]));
        assert_eq!(shown(x.fmin(&y)), numbers([one, one, n, one, minus, minus, minus]));
        let big = tensor(&[u64::MAX, (1 << 53) + 1], &device);
        let other = tensor(&[1u64 << 63, 1 << 53], &device);
        assert_eq!(big.fmax(&other).unwrap().to_vec::<u64>().unwrap(), [u64::MAX, (1 << 53) + 1]);
    }
}

#[test]
fn comparisons_are_exact() {
    for device in devices() {
        let unsigned = tensor(&[(1u64 << 53) + 1, u64::MAX, 0], &device);
        let signed = tensor(&[1i64 << 53, -1, -1], &device);
        for &rules in &[Rules::NumPy, Rules::Jax] {
            let ask = |op| binary(op, &unsigned, &signed).rules(rules).run().unwrap();
            let all =
                |op, expected| assert_eq!(ask(op).to_vec::<bool>().unwrap(), expected, "{op}");
            all(BinaryOp::Equal, [false; 3]);
            all(BinaryOp::NotEqual, [true; 3]);
            all(BinaryOp::GreaterThan, [true; 3]);
            all(BinaryOp::GreaterEqual, [true; 3]);
            all(BinaryOp::LessThan, [false; 3]);
            all(BinaryOp::LessEqual, [false; 3]);
            let mirrored = binary(BinaryOp::LessThan, &signed, &unsigned).rules(rules).run();
            assert_eq!(mirrored.unwrap().to_vec::<bool>().unwrap(), [true; 3]);
        }
        // Under Paddle's rules, two 0-d tensors of any integer dtypes can be compared as well.
        let (i, u) = (signed.narrow(0, 1, 1).unwrap(), tensor(&[255u8], &device));
        let ask = binary(BinaryOp::Equal, i.squeeze(0).unwrap(), u.squeeze(0).unwrap()).run();
        assert_eq!(ask.unwrap().to_vec::<bool>().unwrap(), [false]);
        // No tolerance: adjacent numbers differ, and so do subnormals and zero.
        let x = tensor(&[1.0f32, f32::from_bits(1), f32::NAN, 0.0], &device);
        let y = tensor(&[1.0000001f32, 0.0, f32::NAN, -0.0], &device);
        assert_eq!(x.equal(&y).unwrap().to_vec::<bool>().unwrap(), [false, false, false, true]);
        assert_eq!(x.not_equal(&y).unwrap().to_vec::<bool>().unwrap(), [true, true, true, false]);
        assert_eq!(x.less_equal(&y).unwrap().to_vec::<bool>().unwrap(), [true, false, false, true]);
    }
}

#[test]
fn numbers_stand_on_either_side() {
    for device in devices() {
        let x = tensor(&[10i16, 20], &device);
        assert_eq!((1i32 - &x).unwrap().to_vec::<i16>().unwrap(), [-9, -19]);
        assert_eq!((&x - 1u8).unwrap().to_vec::<i16>().unwrap(), [9, 19]);
        assert_eq!((1.5f32 * &x).unwrap().to_vec::<f32>().unwrap(), [15.0, 30.0]);
        assert_eq!((&x + 1usize).unwrap().dtype(), DType::I16);
        assert_eq!((&x + f16::from_f32(0.5)).unwrap().to_vec::<f32>().unwrap(), [10.5, 20.5]);
        assert_eq!((&x * Complex::new(0.0, 1.0)).unwrap().dtype(), DType::C64);
        assert_eq!(
            binary(BinaryOp::LessThan, 15, &x).run().unwrap().to_vec::<bool>().unwrap(),
            [false, true]
        );
        // A number is rounded to the dtype of the computation before the operation runs.
        let tenth = (&tensor(&[f16::ZERO], &device) + 0.1).unwrap();
        assert_eq!(tenth.to_vec::<f16>().unwrap(), [f16::from_f64(0.1)]);
        assert!(tensor(&[0.1f32], &device).equal(0.1).unwrap().to_vec::<bool>().unwrap()[0]);
        // A large unsigned number is an integer like any other.
        let huge = (&tensor(&[1u64], &device) + (u64::MAX - 1)).unwrap();
        assert_eq!(huge.to_vec::<u64>().unwrap(), [u64::MAX]);
    }
}
