//! Expressions beside the same operations called one after another, as ratios.
//!
//! Both take turns in one run, so that no time has to be compared across machines. A call writes its result to
//! memory and the next one reads it back; an expression keeps it in the L1 cache.
//!
//! `cargo bench --bench fusion` prints a table in Markdown.

mod turns;

use std::hint::black_box;

use bitlane::{DType, Device, Result, Tensor};

use turns::{medians, ratio};

/// A chain of operations, written as an expression and as calls.
struct Chain {
    name: &'static str,
    operations: usize,
    dtype: DType,
    expression: fn(&Tensor) -> Result<Tensor>,
    calls: fn(&Tensor) -> Result<Tensor>,
}

const CHAINS: &[Chain] = &[
    Chain {
        name: "`(x >> 4) & 15`",
        operations: 2,
        dtype: DType::I32,
        expression: |x| ((x.expr() >> 4) & 15).run(),
        calls: |x| (x >> 4)? & 15,
    },
    Chain {
        name: "`(((x >> 4) & 15) - 8).cast(F32) * 0.25`",
        operations: 4,
        dtype: DType::I32,
        expression: |x| ((((x.expr() >> 4) & 15) - 8).cast(DType::F32) * 0.25).run(),
        calls: |x| ((((x >> 4)? & 15)? - 8)?.cast(DType::F32))? * 0.25,
    },
    Chain {
        name: "`copysign(maximum(abs(x) - 0.5, 0), x)`",
        operations: 4,
        dtype: DType::F32,
        expression: |x| (x.expr().abs() - 0.5).maximum(0.0).copysign(x).run(),
        calls: |x| (x.abs()? - 0.5)?.maximum(0.0)?.copysign(x),
    },
    Chain {
        name: "`((x * 0.5 + 1.25) * x - 0.75) * x + 2`",
        operations: 6,
        dtype: DType::F32,
        expression: |x| (((x.expr() * 0.5 + 1.25) * x - 0.75) * x + 2.0).run(),
        calls: |x| ((((((x * 0.5)? + 1.25)? * x)? - 0.75)?) * x)? + 2.0,
    },
];

const LENGTHS: [(&str, usize); 3] = [("64 K", 1 << 16), ("1 M", 1 << 20), ("16 M", 1 << 24)];

fn main() {
    let lengths = LENGTHS.map(|(name, _)| name).join(" | ");
    println!("| calls / expression | operations | {lengths} |\n|---|---|---|---|---|");
    for chain in CHAINS {
        let ratios = LENGTHS.map(|(_, len)| format!("{:.2}", measure(chain, len)));
        println!("| {} | {} | {} |", chain.name, chain.operations, ratios.join(" | "));
    }
}

/// How many times as long as the expression the calls take.
fn measure(chain: &Chain, len: usize) -> f64 {
    let numbers: Vec<i32> =
        (0..len).map(|index| (index as i32).wrapping_mul(2_654_435) >> 8).collect();
    let x = Tensor::from_slice(&numbers, len, &Device::cpu()).unwrap().cast(chain.dtype).unwrap();
    let (fused, called) = ((chain.expression)(&x).unwrap(), (chain.calls)(&x).unwrap());
    assert!(fused.bits_equal(&called).unwrap(), "{} differs", chain.name);
    drop((fused, called));
    let [fused, called] =
        medians([&mut || drop(black_box((chain.expression)(black_box(&x)).unwrap())), &mut || {
            drop(black_box((chain.calls)(black_box(&x)).unwrap()))
        }]);
    ratio(called, fused)
}
