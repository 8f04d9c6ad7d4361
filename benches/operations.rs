//! Times of shifts and copysign over dtypes and sizes, to compare one commit with another on one
//! machine: `cargo bench --bench operations`. For figures that mean something elsewhere see `ratios`.

use bitlane::{BinaryOp, Device, Element, Shift, Tensor, bf16, binary, f16};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const LENGTHS: [usize; 4] = [1, 1 << 10, 1 << 16, 1 << 20];

/// Measures an operation on zeros: no operation here takes longer for some values than for others.
fn measure<T: Element>(
    bencher: Bencher<'_, '_>,
    op: BinaryOp,
    x_shape: &[usize],
    y_shape: &[usize],
) {
    let device = Device::cpu();
    let x = Tensor::zeros(x_shape, T::DTYPE, &device).unwrap();
    let y = Tensor::zeros(y_shape, T::DTYPE, &device).unwrap();
    let mut out = Tensor::zeros(x_shape, T::DTYPE, &device).unwrap();
    let bytes = (2 * x.len() + y.len()) * T::DTYPE.size();
    bencher
        .counter(BytesCount::new(bytes))
        .bench_local(|| binary(op, black_box(&x), black_box(&y)).out(&mut out).run().unwrap());
}

#[divan::bench(types = [u8, i8, i16, i32, i64], args = LENGTHS)]
fn shift_right<T: Element>(bencher: Bencher<'_, '_>, len: usize) {
    measure::<T>(bencher, BinaryOp::RightShift(Shift::Arithmetic), &[len], &[len]);
}

#[divan::bench(types = [u8, i16, i32, i64], args = LENGTHS)]
fn shift_left<T: Element>(bencher: Bencher<'_, '_>, len: usize) {
    measure::<T>(bencher, BinaryOp::LeftShift(Shift::Arithmetic), &[len], &[len]);
}

#[divan::bench(types = [f16, bf16, f32, f64], args = LENGTHS)]
fn copysign<T: Element>(bencher: Bencher<'_, '_>, len: usize) {
    measure::<T>(bencher, BinaryOp::Copysign, &[len], &[len]);
}

#[divan::bench(types = [u8, i32, i64])]
fn shift_right_by_row<T: Element>(bencher: Bencher<'_, '_>) {
    measure::<T>(bencher, BinaryOp::RightShift(Shift::Arithmetic), &[1024, 1024], &[1024]);
}

#[divan::bench(types = [u8, i32, i64])]
fn shift_right_by_column<T: Element>(bencher: Bencher<'_, '_>) {
    measure::<T>(bencher, BinaryOp::RightShift(Shift::Arithmetic), &[1024, 1024], &[1024, 1]);
}
