//! Shifts, rotations, divisions and powers of every pair of 8-bit integers, compared with the definition in wide integers. Pairs
//! of 16 bits are tested in `tests/math/exhaustive16`.

use crate::devices::devices;
use crate::model::element::{Bits, Nan, download, same, upload};
use crate::model::unary as model;
use bitlane::{BinaryOp, DType, Device, Shift, Tensor, UnaryOp, binary, unary};

const SHIFTS: [BinaryOp; 6] = [
    BinaryOp::LeftShift(Shift::Arithmetic),
    BinaryOp::LeftShift(Shift::Logical),
    BinaryOp::RightShift(Shift::Arithmetic),
    BinaryOp::RightShift(Shift::Logical),
    BinaryOp::RotateLeft,
    BinaryOp::RotateRight,
];

/// Shifts or rotates a byte, interpreted as signed or unsigned, by any amount; the result is a byte.
fn shifted(op: BinaryOp, signed: bool, byte: u8, amount: i64) -> u8 {
    let value = if signed { i64::from(byte as i8) } else { i64::from(byte) };
    let turned = |amount: i64| byte.rotate_left(amount.rem_euclid(8) as u32).into();
    let result = match (op, (0..8).contains(&amount)) {
        (BinaryOp::RotateLeft, _) => turned(amount),
        (BinaryOp::RotateRight, _) => turned(-(amount % 8)),
        (BinaryOp::LeftShift(_), true) => value << amount,
        (BinaryOp::LeftShift(_), false) => 0,
        (BinaryOp::RightShift(Shift::Arithmetic), true) => value >> amount,
        (BinaryOp::RightShift(Shift::Arithmetic), false) if value < 0 => -1,
        (BinaryOp::RightShift(Shift::Arithmetic), false) => 0,
        (_, true) => i64::from(byte) >> amount,
        (_, false) => 0,
    };
    result as u8
}

fn amount_of(signed: bool, byte: u8) -> i64 {
    if signed { i64::from(byte as i8) } else { i64::from(byte) }
}

fn every_byte(dtype: DType, shape: &[usize], device: &Device) -> Tensor {
    Tensor::from_bytes(dtype, &(0..=u8::MAX).collect::<Vec<_>>(), shape, device).unwrap()
}

#[test]
fn every_pair_of_bytes_is_shifted_as_defined() {
    for device in devices() {
        for dtype in [DType::U8, DType::I8] {
            let signed = dtype == DType::I8;
            let (column, row) =
                (every_byte(dtype, &[256, 1], &device), every_byte(dtype, &[256], &device));
            let all = |tensor: &Tensor| tensor.broadcast_to([256, 256]).unwrap();
            // `contiguous` copies the broadcast elements.
            let dense = |tensor: &Tensor| all(tensor).contiguous().unwrap();
            for op in SHIFTS {
                let expected: Vec<u8> = (0..=u8::MAX)
                    .flat_map(|x| (0..=u8::MAX).map(move |y| (x, amount_of(signed, y))))
                    .map(|(x, amount)| shifted(op, signed, x, amount))
                    .collect();
                for (form, x, y) in [
                    ("dense", dense(&column), dense(&row)),
                    ("broadcast", column.clone(), row.clone()),
                    ("dense by a row", dense(&column), row.clone()),
                    ("a column by dense", column.clone(), dense(&row)),
                ] {
                    let result = binary(op, &x, &y).run().unwrap();
                    assert_eq!(result.dtype(), dtype);
                    assert!(
                        result.to_bytes().unwrap() == expected,
                        "{op} of {dtype}, {form}, {device}"
                    );
                }
                let mut place = dense(&column);
                binary(op, place.clone(), &row).out(&mut place).run().unwrap();
                assert!(
                    place.to_bytes().unwrap() == expected,
                    "{op} of {dtype} in place, {device}"
                );
            }
        }
    }
}

#[test]
fn a_number_as_the_amount_is_never_wrapped() {
    for device in devices() {
        for dtype in [DType::U8, DType::I8] {
            let signed = dtype == DType::I8;
            let x = every_byte(dtype, &[256], &device);
            let far = [i64::MIN, -(1 << 32), 1 << 8, 1 << 16, 1 << 32, (1 << 32) + 1, i64::MAX];
            for op in SHIFTS {
                for amount in (-300..300).step_by(7).chain(-9..18).chain(255..260).chain(far) {
                    let result = binary(op, &x, amount).run().unwrap();
                    assert_eq!(result.dtype(), dtype);
                    let expected = (0..=u8::MAX).map(|byte| shifted(op, signed, byte, amount));
                    assert!(
                        result.to_bytes().unwrap().into_iter().eq(expected),
                        "{op} of {dtype} by {amount} on {device}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_number_on_the_left_is_shifted_by_every_amount() {
    for device in devices() {
        for dtype in [DType::U8, DType::I8] {
            let signed = dtype == DType::I8;
            let y = every_byte(dtype, &[256], &device);
            for op in SHIFTS {
                for byte in 0..=u8::MAX {
                    let number = amount_of(signed, byte);
                    let result = binary(op, number, &y).run().unwrap();
                    let expected =
                        (0..=u8::MAX).map(|y| shifted(op, signed, byte, amount_of(signed, y)));
                    assert!(
                        result.to_bytes().unwrap().into_iter().eq(expected),
                        "{op} of {number} as {dtype} on {device}"
                    );
                }
            }
        }
    }
}

#[test]
fn wide_integers_rotate_by_every_amount() {
    for device in devices() {
        let amounts: Vec<i64> = (-130..130).chain([i64::MIN, i64::MIN + 33, i64::MAX]).collect();
        let words: Vec<i64> =
            (1..=amounts.len() as i64).map(|k| k.wrapping_mul(0x1e37_79b9_7f4a_7c15)).collect();
        let x = Tensor::from_slice(&words, [words.len()], &device).unwrap();
        let y = Tensor::from_slice(&amounts, [words.len()], &device).unwrap();
        let left = x.rotate_left(&y).unwrap().to_vec::<i64>().unwrap();
        let right = x.rotate_right(&y).unwrap().to_vec::<i64>().unwrap();
        let [short_x, short_y] = [&x, &y].map(|wide| wide.cast(DType::U32).unwrap());
        let short = short_x.rotate_left(&short_y).unwrap().to_vec::<u32>().unwrap();
        for (k, (&word, &amount)) in words.iter().zip(&amounts).enumerate() {
            let turn = |width: i64| amount.rem_euclid(width) as u32;
            assert_eq!(left[k], word.rotate_left(turn(64)), "{word} by {amount} on {device}");
            assert_eq!(right[k], word.rotate_right(turn(64)), "{word} by {amount} on {device}");
            assert_eq!(short[k], (word as u32).rotate_left(turn(32)), "{amount} on {device}");
        }
    }
}

#[test]
fn the_bits_of_every_narrow_integer_are_counted_and_moved() {
    fn check<T: bitlane::Element + PartialEq>(
        all: &[T],
        functions: [fn(T) -> T; 5],
        device: &Device,
    ) {
        let ops = ["count_ones", "leading_zeros", "trailing_zeros", "reverse_bits", "swap_bytes"];
        let x = Tensor::from_slice(all, [all.len()], device).unwrap();
        for (op, function) in ops.into_iter().zip(functions) {
            let result = unary(op.parse().unwrap(), &x).run().unwrap().to_vec::<T>().unwrap();
            let is_same = result.iter().zip(all).all(|(given, &x)| *given == function(x));
            assert!(is_same, "{op} of {} on {device}", T::DTYPE);
        }
    }
    macro_rules! check_all {
        ($device:ident: $($int:ident)*) => {$(
            let all: Vec<$int> = ($int::MIN..=$int::MAX).collect();
            let functions: [fn($int) -> $int; 5] = [
                |x| x.count_ones() as $int,
                |x| x.leading_zeros() as $int,
                |x| x.trailing_zeros() as $int,
                $int::reverse_bits,
                $int::swap_bytes,
            ];
            check(&all, functions, &$device);
        )*};
    }
    for device in devices() {
        check_all!(device: u8 i8 u16 i16);
    }
}

/// Every function of one operand whose last bit is defined, of every 16-bit float.
#[test]
fn every_16_bit_float_gives_the_nearest_result() {
    let all: Vec<Bits> = (0..=u16::MAX).map(Bits::from).collect();
    for device in devices() {
        for dtype in [DType::F16, DType::BF16] {
            let x = upload(dtype, &all, &[all.len()], &device);
            let mut count = 0;
            for &op in UnaryOp::ALL {
                let freedom = model::freedom(op, dtype);
                if !model::is_defined(op, dtype) || freedom == Nan::Near {
                    continue;
                }
                let to = model::result_dtype(op, dtype);
                let result = download(&unary(op, &x).run().unwrap());
                for (&x, given) in all.iter().zip(result) {
                    let expected = model::apply(op, dtype, x);
                    assert!(
                        same(to, expected, given, freedom),
                        "{op} of {dtype} {x:#x} on {device}: {given:#x}, not {expected:#x}"
                    );
                }
                count += 1;
            }
            assert!(count >= 15, "{count} operations of {dtype}");
        }
    }
}

/// Computes floor division, its remainder, and powers of bytes in wide integers; the result is a byte.
fn divided(op: BinaryOp, x: i64, y: i64) -> u8 {
    let result = match op {
        BinaryOp::FloorDivide | BinaryOp::Remainder if y == 0 => 0,
        BinaryOp::FloorDivide => (x as f64 / y as f64).floor() as i64,
        BinaryOp::Remainder => x - y * (x as f64 / y as f64).floor() as i64,
        // A power with a negative exponent is the truncated reciprocal.
        _ if y < 0 => match x {
            1 => 1,
            -1 => 1 - 2 * (y & 1),
            _ => 0,
        },
        _ => (0..y).fold(1i64, |power, _| power.wrapping_mul(x)),
    };
    result as u8
}

#[test]
fn every_pair_of_bytes_is_divided_as_defined() {
    for device in devices() {
        for dtype in [DType::U8, DType::I8] {
            let signed = dtype == DType::I8;
            let (column, row) =
                (every_byte(dtype, &[256, 1], &device), every_byte(dtype, &[256], &device));
            for op in [BinaryOp::FloorDivide, BinaryOp::Remainder, BinaryOp::Pow] {
                let result = binary(op, &column, &row).run().unwrap().to_bytes().unwrap();
                let pairs = (0..=u8::MAX).flat_map(|x| (0..=u8::MAX).map(move |y| (x, y)));
                for ((x, y), given) in pairs.zip(result) {
                    let expected = divided(op, amount_of(signed, x), amount_of(signed, y));
                    assert_eq!(given, expected, "{op} of {dtype} {x} and {y} on {device}");
                }
            }
        }
    }
}
