//! Definitions of the other operations on two elements of 16 bits, each written as simply as possible while compiling
//! to fast code (docs/semantics.md, sections 3, 4 and 7).

use bitlane::{BinaryOp, DType, Shift};

/// How the results of a pass are checked.
#[derive(Clone, Copy)]
pub enum Check {
    /// The result has these bits.
    Bits(fn(u16, u16) -> u16),
    /// The result is this truth value.
    Truth(fn(f64, f64) -> bool),
    /// The result is this number, rounded once.
    Rounded(fn(f64, f64) -> f64),
    /// The result is that of the `f64` function, rounded once; near ties a reference of higher precision decides.
    Function,
}

/// An operation in a dtype, and how it is checked.
pub struct Pass {
    pub op: BinaryOp,
    pub dtype: DType,
    pub check: Check,
}

const HALVES: [DType; 2] = [DType::F16, DType::BF16];
const SHORTS: [DType; 2] = [DType::U16, DType::I16];

/// Returns every pass, the shifts first.
pub fn passes() -> Vec<Pass> {
    let mut all = Vec::new();
    let mut add = |op, dtype, check| all.push(Pass { op, dtype, check });
    for op in [BinaryOp::LeftShift as fn(Shift) -> BinaryOp, BinaryOp::RightShift] {
        for (kind, dtype) in [Shift::Arithmetic, Shift::Logical]
            .into_iter()
            .flat_map(|kind| SHORTS.map(|dtype| (kind, dtype)))
        {
            // Read as unsigned, a negative amount is at least 2^15 and therefore out of range, as required.
            let check = match op(kind) {
                BinaryOp::LeftShift(_) => shift_left,
                BinaryOp::RightShift(Shift::Arithmetic) if dtype == DType::I16 => {
                    shift_right_with_sign
                }
                _ => shift_right_with_zeros,
            };
            add(op(kind), dtype, Check::Bits(check));
        }
    }
    for dtype in SHORTS {
        // The width divides 2^16, so a negative amount read as unsigned has the same remainder.
        add(BinaryOp::RotateLeft, dtype, Check::Bits(|x, y| (twice(x) << (y % 16) >> 16) as u16));
        add(BinaryOp::RotateRight, dtype, Check::Bits(|x, y| (twice(x) >> (y % 16)) as u16));
    }
    for dtype in HALVES {
        add(BinaryOp::Copysign, dtype, Check::Bits(|x, y| x % 0x8000 + y / 0x8000 * 0x8000));
        for op in [BinaryOp::Pow, BinaryOp::Atan2, BinaryOp::LogAddExp] {
            add(op, dtype, Check::Function);
        }
        // Sums and products of two such numbers are exact in f64 or far from every tie, and quotients are not near a
        // tie.
        add(BinaryOp::Add, dtype, Check::Rounded(|x, y| x + y));
        add(BinaryOp::Subtract, dtype, Check::Rounded(|x, y| x - y));
        add(BinaryOp::Multiply, dtype, Check::Rounded(|x, y| x * y));
        add(BinaryOp::Divide, dtype, Check::Rounded(|x, y| x / y));
        add(
            BinaryOp::FloorDivide,
            dtype,
            Check::Rounded(|x, y| quotient(x as f32, y as f32).into()),
        );
        add(
            BinaryOp::Remainder,
            dtype,
            Check::Rounded(|x, y| remainder(x as f32, y as f32).into()),
        );
        add(BinaryOp::Maximum, dtype, Check::Rounded(maximum));
        add(BinaryOp::Minimum, dtype, Check::Rounded(|x, y| -maximum(-x, -y)));
        add(BinaryOp::Fmax, dtype, Check::Rounded(fmax));
        add(BinaryOp::Fmin, dtype, Check::Rounded(|x, y| -fmax(-x, -y)));
        add(BinaryOp::Equal, dtype, Check::Truth(|x, y| x == y));
        add(BinaryOp::NotEqual, dtype, Check::Truth(|x, y| x != y));
        add(BinaryOp::LessThan, dtype, Check::Truth(|x, y| x < y));
        add(BinaryOp::LessEqual, dtype, Check::Truth(|x, y| x <= y));
        add(BinaryOp::GreaterThan, dtype, Check::Truth(|x, y| x > y));
        add(BinaryOp::GreaterEqual, dtype, Check::Truth(|x, y| x >= y));
    }
    for dtype in SHORTS {
        let signed = dtype == DType::I16;
        let either = |with_sign, without| Check::Bits(if signed { with_sign } else { without });
        add(BinaryOp::Add, dtype, Check::Bits(u16::wrapping_add));
        add(BinaryOp::Subtract, dtype, Check::Bits(u16::wrapping_sub));
        add(BinaryOp::Multiply, dtype, Check::Bits(u16::wrapping_mul));
        add(
            BinaryOp::FloorDivide,
            dtype,
            either(floor_divide, |x, y| x.checked_div(y).unwrap_or(0)),
        );
        add(BinaryOp::Remainder, dtype, either(modulo, |x, y| x.checked_rem(y).unwrap_or(0)));
        add(BinaryOp::Pow, dtype, either(signed_power, power));
        add(BinaryOp::Maximum, dtype, either(|x, y| (x as i16).max(y as i16) as u16, u16::max));
        add(BinaryOp::Minimum, dtype, either(|x, y| (x as i16).min(y as i16) as u16, u16::min));
    }
    all
}

/// Two copies of a number, one above the other.
fn twice(x: u16) -> u32 {
    u32::from(x) << 16 | u32::from(x)
}

fn shift_left(x: u16, y: u16) -> u16 {
    if y < 16 { (u32::from(x) << y) as u16 } else { 0 }
}

fn shift_right_with_zeros(x: u16, y: u16) -> u16 {
    if y < 16 { (u32::from(x) >> y) as u16 } else { 0 }
}

fn shift_right_with_sign(x: u16, y: u16) -> u16 {
    // A shift by 15 or more leaves only copies of the sign.
    (i32::from(x as i16) >> y.min(15)) as u16
}

/// Returns the floor of a signed quotient; 0 for division by zero.
fn floor_divide(x: u16, y: u16) -> u16 {
    let (x, y) = (i32::from(x as i16), i32::from(y as i16));
    if y == 0 { 0 } else { (f64::from(x) / f64::from(y)).floor() as i32 as u16 }
}

/// Returns the remainder of floor division; 0 for division by zero.
fn modulo(x: u16, y: u16) -> u16 {
    if y == 0 { 0 } else { x.wrapping_sub(floor_divide(x, y).wrapping_mul(y)) }
}

fn power(base: u16, exponent: u16) -> u16 {
    base.wrapping_pow(exponent.into())
}

fn signed_power(base: u16, exponent: u16) -> u16 {
    match (base as i16, exponent as i16) {
        (_, 0..) => power(base, exponent),
        (1, _) => 1,
        (-1, _) => power(base, exponent % 2),
        _ => 0,
    }
}

/// Returns the remainder with the divisor's sign, computed in f32 as docs/semantics.md specifies for half floats.
fn remainder(x: f32, y: f32) -> f32 {
    let rest = x % y;
    if y == 0.0 || rest.is_nan() {
        f32::NAN
    } else if rest == 0.0 {
        0f32.copysign(y)
    } else if (rest < 0.0) != (y < 0.0) {
        rest + y
    } else {
        rest
    }
}

/// Returns the floor of the quotient, likewise in f32.
fn quotient(x: f32, y: f32) -> f32 {
    let rest = x % y;
    let below = rest != 0.0 && (rest < 0.0) != (y < 0.0);
    let quotient = (x - rest) / y - if below { 1.0 } else { 0.0 };
    if y == 0.0 {
        x / y
    } else if quotient == 0.0 {
        0f32.copysign(x / y)
    } else {
        // The quotient is a whole number up to rounding; halfway, the floor is taken.
        let floor = quotient.floor();
        if quotient - floor > 0.5 { floor + 1.0 } else { floor }
    }
}

/// Returns the larger number; propagates NaN, and +0 is greater than -0.
fn maximum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() { f64::NAN } else { fmax(x, y) }
}

/// Returns the larger number; ignores NaN, and +0 is greater than -0.
fn fmax(x: f64, y: f64) -> f64 {
    if x.is_nan() || x < y || (x == y && x.is_sign_negative()) { y } else { x }
}
