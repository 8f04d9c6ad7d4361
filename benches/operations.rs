//! Times of the operations over dtypes and sizes, to compare one commit with another on one machine:
//! `cargo bench --bench operations`. For figures that mean something elsewhere see `cargo xtask bench`.

use bitlane::{
    BinaryOp, DType, Device, Element, Rules, Shift, Tensor, bf16, binary, f16, loss, select,
};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const LENGTHS: [usize; 4] = [1, 1 << 10, 1 << 16, 1 << 20];
const LENGTH: usize = 1 << 20;
const SIDE: usize = 1 << 10;

/// Ones: no operation here takes longer for some values than for others.
fn ones(shape: &[usize], dtype: DType) -> Tensor {
    Tensor::ones(shape, dtype, &Device::cpu()).unwrap()
}

/// Measures an operation on two tensors, with a result that is there.
fn measure(bencher: Bencher<'_, '_>, op: BinaryOp, x: &Tensor, y: &Tensor) {
    let run = || binary(op, black_box(x), black_box(y)).rules(Rules::Torch);
    let mut out = run().run().unwrap();
    let bytes = [x, y, &out].map(|tensor| tensor.len() * tensor.dtype().size());
    bencher
        .counter(BytesCount::new(bytes.iter().sum::<usize>()))
        .bench_local(|| run().out(&mut out).run().unwrap());
}

fn measure_same<T: Element>(bencher: Bencher<'_, '_>, op: BinaryOp, len: usize) {
    let (x, y) = (ones(&[len], T::DTYPE), ones(&[len], T::DTYPE));
    measure(bencher, op, &x, &y);
}

#[divan::bench(types = [u8, i8, i16, i32, i64], args = LENGTHS)]
fn shift_right<T: Element>(bencher: Bencher<'_, '_>, len: usize) {
    measure_same::<T>(bencher, BinaryOp::RightShift(Shift::Arithmetic), len);
}

#[divan::bench(types = [u8, i16, i32, i64], args = LENGTHS)]
fn shift_left<T: Element>(bencher: Bencher<'_, '_>, len: usize) {
    measure_same::<T>(bencher, BinaryOp::LeftShift(Shift::Arithmetic), len);
}

#[divan::bench(types = [f16, bf16, f32, f64], args = LENGTHS)]
fn copysign<T: Element>(bencher: Bencher<'_, '_>, len: usize) {
    measure_same::<T>(bencher, BinaryOp::Copysign, len);
}

#[divan::bench(types = [i8, i32, f16, bf16, f32, f64], args = LENGTHS)]
fn add<T: Element>(bencher: Bencher<'_, '_>, len: usize) {
    measure_same::<T>(bencher, BinaryOp::Add, len);
}

#[divan::bench(types = [i8, i64, f32])]
fn multiply<T: Element>(bencher: Bencher<'_, '_>) {
    measure_same::<T>(bencher, BinaryOp::Multiply, LENGTH);
}

#[divan::bench(types = [i32, f16, f32])]
fn less_than<T: Element>(bencher: Bencher<'_, '_>) {
    measure_same::<T>(bencher, BinaryOp::LessThan, LENGTH);
}

/// Division with a remainder, powers and the functions of two floats.
#[divan::bench(types = [i32, f32, f64])]
fn remainder<T: Element>(bencher: Bencher<'_, '_>) {
    measure_same::<T>(bencher, BinaryOp::Remainder, LENGTH);
}

#[divan::bench(types = [i32, f32, f64])]
fn pow<T: Element>(bencher: Bencher<'_, '_>) {
    measure_same::<T>(bencher, BinaryOp::Pow, LENGTH);
}

#[divan::bench(types = [f32, f64])]
fn atan2<T: Element>(bencher: Bencher<'_, '_>) {
    measure_same::<T>(bencher, BinaryOp::Atan2, LENGTH);
}

#[divan::bench(types = [f32, f64])]
fn logaddexp<T: Element>(bencher: Bencher<'_, '_>) {
    measure_same::<T>(bencher, BinaryOp::LogAddExp, LENGTH);
}

const MIXED: [(DType, DType); 4] = [
    (DType::F16, DType::F32),
    (DType::BF16, DType::F32),
    (DType::I32, DType::F32),
    (DType::U8, DType::I32),
];

#[divan::bench(args = MIXED)]
fn add_mixed(bencher: Bencher<'_, '_>, (x, y): (DType, DType)) {
    measure(bencher, BinaryOp::Add, &ones(&[LENGTH], x), &ones(&[LENGTH], y));
}

const CASTS: [(DType, DType); 5] = [
    (DType::F16, DType::F32),
    (DType::F32, DType::F16),
    (DType::F32, DType::BF16),
    (DType::U8, DType::F32),
    (DType::I64, DType::I32),
];

#[divan::bench(args = CASTS)]
fn cast(bencher: Bencher<'_, '_>, (from, to): (DType, DType)) {
    let x = ones(&[LENGTH], from);
    bencher
        .counter(BytesCount::new(LENGTH * (from.size() + to.size())))
        .bench_local(|| black_box(&x).cast(to).unwrap());
}

/// The shapes that a right operand has beside a square.
#[derive(Clone, Copy, Debug)]
enum Form {
    Row,
    Column,
    Transposed,
    EverySecond,
}

const FORMS: [Form; 4] = [Form::Row, Form::Column, Form::Transposed, Form::EverySecond];

#[divan::bench(types = [u8, i32, i64], args = FORMS)]
fn shift_right_by<T: Element>(bencher: Bencher<'_, '_>, form: Form) {
    let x = ones(&[SIDE, SIDE], T::DTYPE);
    let y = match form {
        Form::Row => ones(&[SIDE], T::DTYPE),
        Form::Column => ones(&[SIDE, 1], T::DTYPE),
        Form::Transposed => ones(&[SIDE, SIDE], T::DTYPE).transpose(0, 1).unwrap(),
        Form::EverySecond => {
            let step = bitlane::Slice::from(..).step(2);
            ones(&[SIDE, 2 * SIDE], T::DTYPE).slice(1, step).unwrap()
        }
    };
    measure(bencher, BinaryOp::RightShift(Shift::Arithmetic), &x, &y);
}

#[divan::bench(types = [i32, f16, f32, f64])]
fn sum_of_all<T: Element>(bencher: Bencher<'_, '_>) {
    let x = ones(&[SIDE, SIDE], T::DTYPE);
    bencher.bench_local(|| black_box(&x).sum(..).unwrap());
}

#[divan::bench(args = [0, 1])]
fn sum_over(bencher: Bencher<'_, '_>, axis: usize) {
    let x = ones(&[SIDE, SIDE], DType::F32);
    bencher.bench_local(|| black_box(&x).sum(axis).unwrap());
}

#[divan::bench]
fn select_floats(bencher: Bencher<'_, '_>) {
    let (x, y) = (ones(&[LENGTH], DType::F32), ones(&[LENGTH], DType::F32));
    let which = ones(&[LENGTH], DType::Bool);
    bencher.bench_local(|| select(black_box(&which), &x, &y).unwrap());
}

#[divan::bench]
fn mean_squared_error(bencher: Bencher<'_, '_>) {
    let (x, y) = (ones(&[LENGTH], DType::F32), ones(&[LENGTH], DType::F32));
    bencher.bench_local(|| loss::mse(black_box(&x), &y, loss::Reduction::Mean).unwrap());
}

#[divan::bench(args = LENGTHS)]
fn expression(bencher: Bencher<'_, '_>, len: usize) {
    let x = ones(&[len], DType::F32);
    let polynomial = ((x.expr() * 0.5 + 1.25) * &x - 0.75) * &x + 2.0;
    bencher.bench_local(|| black_box(&polynomial).run().unwrap());
}

/// What the pool of result memory saves and costs: blocks of one size, over and over.
#[divan::bench(args = [64, 4 << 10, 256 << 10, 16 << 20])]
fn allocate_and_free(bencher: Bencher<'_, '_>, bytes: usize) {
    let x = ones(&[1], DType::U8).broadcast_to([bytes]).unwrap();
    bencher.bench_local(|| black_box(&x).copy().unwrap());
}
