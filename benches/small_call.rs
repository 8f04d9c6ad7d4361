//! A shift of one element on the CPU: what a call costs before any work is done.
//!
//! `cargo bench --bench small_call` measures it, and an expression of three operations beside it. With `--calls MODE N`
//! it makes N calls and measures nothing, for a tool that counts instructions: `cargo xtask small-call`.

use std::hint::black_box;

use bitlane::{BinaryOp, Device, Shift, Tensor, binary};
use divan::Bencher;

const OP: BinaryOp = BinaryOp::RightShift(Shift::Arithmetic);

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().position(|word| word == "--calls") {
        None => divan::main(),
        Some(place) => {
            let mode = words.get(place + 1).map_or("", String::as_str);
            let calls = words.get(place + 2).and_then(|calls| calls.parse().ok());
            repeat(mode, calls.expect("--calls takes a mode and a number"));
        }
    }
}

fn repeat(mode: &str, calls: usize) {
    let (x, y, mut given) = operands();
    for _ in 0..calls {
        match mode {
            "out" => out(&x, &y, &mut given),
            "fresh" => fresh(&x, &y),
            "expression" => expression(&x, &y),
            _ => panic!("there is no mode {mode:?}"),
        }
    }
}

fn operands() -> (Tensor, Tensor, Tensor) {
    let tensor = |number| Tensor::from_slice(&[number], [1], &Device::cpu()).unwrap();
    (tensor(1024), tensor(3), tensor(0))
}

fn out(x: &Tensor, y: &Tensor, given: &mut Tensor) {
    black_box(binary(OP, black_box(x), black_box(y)).out(given).run().unwrap());
}

fn fresh(x: &Tensor, y: &Tensor) {
    black_box(binary(OP, black_box(x), black_box(y)).run().unwrap());
}

/// Built and run each time: two operations on tensors and one with a number.
fn expression(x: &Tensor, y: &Tensor) {
    let (x, y) = (black_box(x), black_box(y));
    black_box((((x.expr() >> y) & 15) ^ x).run().unwrap());
}

#[divan::bench]
fn shift_one_element_into_a_given_tensor(bencher: Bencher<'_, '_>) {
    let (x, y, mut given) = operands();
    bencher.bench_local(|| out(&x, &y, &mut given));
}

#[divan::bench]
fn shift_one_element_to_a_new_tensor(bencher: Bencher<'_, '_>) {
    let (x, y, _) = operands();
    bencher.bench_local(|| fresh(&x, &y));
}

#[divan::bench]
fn three_operations_on_one_element_as_an_expression(bencher: Bencher<'_, '_>) {
    let (x, y, _) = operands();
    bencher.bench_local(|| expression(&x, &y));
}
