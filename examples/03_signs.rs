// Uses of the sign bit: soft thresholding, and the gradient of `copysign`.
//
// Run with `cargo run --release --example 03_signs`.

use bitlane::{DType, Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::best()?;
    let x = Tensor::from_slice(&[-2.0f32, -0.25, -0.0, 0.5, 3.0], [5], &device)?;

    // Soft thresholding: magnitudes shrink by 0.5, at most to 0, and every sign is kept, also that of a zero.
    let shrunk = (x.expr().abs() - 0.5).maximum(0).copysign(&x).run()?;
    println!("soft threshold {:?}", shrunk.to_vec::<f32>()?);
    assert_eq!(shrunk.to_vec::<f32>()?, [-1.5, -0.0, -0.0, 0.0, 2.5]);
    assert_eq!(shrunk.signbit()?.to_vec::<bool>()?, [true, true, true, false, false]);

    // A number's sign is taken before the number is converted, so -0.5 makes integers negative.
    let counts = Tensor::arange(4, DType::I32, &device)?;
    assert_eq!(counts.copysign(-0.5)?.to_vec::<i32>()?, [0, -1, -2, -3]);

    // The gradient with respect to a magnitude that was broadcast is a sum, rounded once.
    let magnitude = Tensor::from_slice(&[2.0f32], (), &device)?;
    let incoming = Tensor::ones([5], DType::F32, &device)?;
    let (by_magnitude, by_sign) = magnitude.copysign_grad(&x, &incoming)?;
    println!("gradients {:?} {:?}", by_magnitude.to_vec::<f32>()?, by_sign.to_vec::<f32>()?);
    assert_eq!(by_magnitude.to_vec::<f32>()?, [-1.0]);
    Ok(())
}
