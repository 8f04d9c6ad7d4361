//! The chains of operations, each an expression that is written once and run many times.

use std::hint::black_box;

use bitlane::{DType, Expr, Rules, Shift, Tensor};

use crate::Call;
use crate::cases::numbers;

/// A chain with a result of about this many elements.
pub fn prepare(name: &str, len: usize) -> Option<Call> {
    // What a closure that lives on needs of its tensors, for the few chains that are ever made here.
    let leaked =
        |shape: &[usize], dtype| -> &'static Tensor { Box::leak(Box::new(numbers(shape, dtype))) };
    let packed = || leaked(&[len / 8, 1], DType::I32);
    let amounts = || leaked(&[1, 8], DType::I32);
    let floats = || leaked(&[len], DType::F32);
    let halves = || leaked(&[len], DType::F16);
    let nibbles = || packed().expr().bitwise_right_shift(amounts(), Shift::Arithmetic) & 15;
    let chain: Expr<'static> = match name {
        "nibbles" => nibbles(),
        "dequant" => (nibbles() - 8).cast(DType::F32) * leaked(&[len / 8, 1], DType::F32),
        "mix" => mix(leaked(&[len / 2], DType::I64)),
        "axpy" => floats().expr() * floats() + floats(),
        "poly" => {
            let x = floats();
            ((x.expr() * 0.5 + 1.25) * x - 0.75) * x + 2.0
        }
        "sign" => {
            let x = floats();
            (x.expr().abs() - 0.5).maximum(0.0).copysign(x)
        }
        "rsqrt" => {
            let x = floats();
            let half = x.expr().bitcast(DType::I32).bitwise_right_shift(1, Shift::Arithmetic);
            let y = (0x5f37_59df - half).bitcast(DType::F32);
            &y * (1.5 - 0.5 * x.expr() * &y * &y)
        }
        "halfmix" => halves().expr() * halves() + halves(),
        _ => return None,
    };
    let chain = chain.rules(Rules::Torch);
    Some(Box::new(move || drop(black_box(black_box(&chain).run().unwrap()))))
}

fn mix(h: &'static Tensor) -> Expr<'static> {
    let fold = |h: Expr<'static>, amount: i64| {
        h.clone() ^ h.bitwise_right_shift(amount, Shift::Arithmetic)
    };
    let h = fold(h.expr(), 30) * 0x3f58_476d_1ce4_e5b9_i64;
    let h = fold(h, 27) * 0x14d0_49bb_1331_11eb_i64;
    fold(h, 31)
}
