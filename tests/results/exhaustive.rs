//! Shifts, rotations, divisions and powers of every pair of 8-bit integers, compared with the definition in wide integers. Pairs
//! of 16 bits are tested in `tests/math/exhaustive16`.

use crate::devices::devices;
use bitlane::{BinaryOp, DType, Device, Shift, Tensor, binary};

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
