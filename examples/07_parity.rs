// A parity test for your own CI: runs one program on the CPU and on the best device, and compares the results bit for
// bit.
//
// On a machine without a GPU, `eval "$(cargo xtask cuda-env)"` in bitlane's repository provides a virtual one. Run with
// `cargo run --release --example 07_parity --features cuda`.

use bitlane::{DType, Device, Result, Tensor};

/// The program under test.
fn program(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let scaled = x.expr().cast(DType::F16) * y;
    scaled.clone().greater_than(1).select(scaled.clone().pow(0.5), scaled).run()
}

fn main() -> Result<()> {
    let (cpu, best) = (Device::cpu(), Device::best()?);
    let x = Tensor::arange(1000, DType::I32, &cpu)?.reshape([10, 100])?;
    let y = Tensor::from_slice(&[bitlane::f16::from_f32(0.125)], [1], &cpu)?;
    let expected = program(&x, &y)?;
    let given = program(&x.to_device(&best)?, &y.to_device(&best)?)?;
    assert_eq!(given.to_bytes()?, expected.to_bytes()?, "{best} differs from {cpu}");
    println!("{best} gives the same {} bytes as {cpu}", expected.to_bytes()?.len());
    Ok(())
}
