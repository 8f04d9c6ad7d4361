//! Shifts and copysign beside a plain `ndarray` loop and a copy of the same bytes, as ratios.
//!
//! Machines are noisy and differ, so no time is printed alone: the three take turns in one run, and
//! each figure is the median of a case's turns against another's. `ndarray` is what a Rust user would
//! write without this crate; the copy, on one thread, is what moving the result alone costs.
//!
//! `cargo bench --bench ratios` prints a table in Markdown.

mod turns;

use std::hint::black_box;

use bitlane::{BinaryOp, DType, Device, Element, Shift, Tensor, binary, f16};
use ndarray::{ArrayD, IxDyn, Zip};

use turns::{medians, ratio};

/// A value of every dtype measured: made from a number, shifted or signed by a plain loop.
trait Value: Element {
    const OP: BinaryOp;
    fn nth(index: usize) -> Self;
    fn plain(self, other: Self) -> Self;
}

macro_rules! shifted {
    ($($int:ty)*) => {$(
        impl Value for $int {
            const OP: BinaryOp = BinaryOp::RightShift(Shift::Arithmetic);

            fn nth(index: usize) -> Self {
                // Amounts are the same numbers, so most are in range, and some are not.
                (index.wrapping_mul(2_654_435_761) >> 7) as $int % (<$int>::BITS as $int + 2)
            }

            fn plain(self, other: Self) -> Self {
                if (0..<$int>::BITS as $int).contains(&other) {
                    self >> other
                } else if self < <$int>::MIN + <$int>::MAX / 2 + 1 && <$int>::MIN != 0 {
                    self >> (<$int>::BITS - 1)
                } else {
                    0
                }
            }
        }
    )*};
}

shifted! { u8 i16 i32 i64 }

macro_rules! signed {
    ($($float:ty, $one:expr;)*) => {$(
        impl Value for $float {
            const OP: BinaryOp = BinaryOp::Copysign;

            fn nth(index: usize) -> Self {
                if index % 3 == 0 { -$one } else { $one }
            }

            fn plain(self, other: Self) -> Self {
                self.copysign(other)
            }
        }
    )*};
}

signed! { f16, f16::ONE; f32, 1.5; f64, 1.5; }

/// How the right operand relates to the left one.
#[derive(Clone, Copy)]
enum Form {
    Same,
    Row,
    Column,
    Transposed,
    Scalar,
}

struct Case {
    name: &'static str,
    shape: &'static [usize],
    form: Form,
}

const CASES: &[Case] = &[
    Case { name: "1", shape: &[1], form: Form::Same },
    Case { name: "1 K", shape: &[1 << 10], form: Form::Same },
    Case { name: "64 K", shape: &[1 << 16], form: Form::Same },
    Case { name: "1 M", shape: &[1 << 20], form: Form::Same },
    Case { name: "8 M", shape: &[1 << 23], form: Form::Same },
    Case { name: "row 2K×2K", shape: &[2048, 2048], form: Form::Row },
    Case { name: "column 2K×2K", shape: &[2048, 2048], form: Form::Column },
    Case { name: "transposed 2K×2K", shape: &[2048, 2048], form: Form::Transposed },
    Case { name: "number, 1 M", shape: &[1 << 20], form: Form::Scalar },
];

fn main() {
    println!("| case | dtype | ndarray / bitlane | with out | copy / bitlane with out |");
    println!("|---|---|---|---|---|");
    for case in CASES {
        measure::<u8>(case);
        measure::<i16>(case);
        measure::<i32>(case);
        measure::<i64>(case);
        measure::<f16>(case);
        measure::<f32>(case);
        measure::<f64>(case);
    }
}

/// One row of the table.
fn measure<T: Value>(case: &Case) {
    let device = Device::cpu();
    let len: usize = case.shape.iter().product();
    let rhs_shape: &[usize] = match case.form {
        Form::Same | Form::Transposed => case.shape,
        Form::Row => &case.shape[1..],
        Form::Column => &[case.shape[0], 1],
        Form::Scalar => &[],
    };
    let x: Vec<T> = (0..len).map(T::nth).collect();
    let y: Vec<T> = (0..rhs_shape.iter().product()).map(|k| T::nth(k + 5)).collect();

    let x_tensor = Tensor::from_slice(&x, case.shape, &device).unwrap();
    let y_tensor = Tensor::from_slice(&y, rhs_shape, &device).unwrap();
    let x_array = ArrayD::from_shape_vec(IxDyn(case.shape), x.clone()).unwrap();
    let mut y_array = ArrayD::from_shape_vec(IxDyn(rhs_shape), y).unwrap();
    let y_tensor = match case.form {
        Form::Transposed => {
            y_array = y_array.reversed_axes();
            y_tensor.transpose(0, 1).unwrap()
        }
        _ => y_tensor,
    };
    let y_array = y_array.broadcast(IxDyn(case.shape)).unwrap();
    let mut out = Tensor::zeros(case.shape, T::DTYPE, &device).unwrap();
    let mut out_array = x_array.clone();
    let mut copy = x.clone();

    let fresh = || binary(T::OP, &x_tensor, &y_tensor).run().unwrap();
    assert_eq!(fresh().dtype(), T::DTYPE);
    let [ours, ours_out, theirs, theirs_out, copied] = medians([
        &mut || drop(black_box(fresh())),
        &mut || drop(black_box(binary(T::OP, &x_tensor, &y_tensor).out(&mut out).run().unwrap())),
        &mut || drop(black_box(Zip::from(&x_array).and(&y_array).map_collect(|&x, &y| x.plain(y)))),
        &mut || {
            Zip::from(black_box(&mut out_array))
                .and(&x_array)
                .and(&y_array)
                .for_each(|out, &x, &y| *out = x.plain(y));
        },
        &mut || black_box(&mut copy).copy_from_slice(black_box(&x)),
    ]);
    println!(
        "| {} | {} | {:.2} | {:.2} | {:.2} |",
        case.name,
        DType::name(T::DTYPE),
        ratio(theirs, ours),
        ratio(theirs_out, ours_out),
        ratio(copied, ours_out),
    );
}
