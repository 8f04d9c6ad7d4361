// Whole computations as one expression each: softmax, layer normalisation, and quantisation to 8 bits by channel. A test
// compares what is printed with NumPy.
//
// Run with `cargo run --release --example 08_normalize_and_quantize`.

use bitlane::{DType, Device, Expr, Result, Tensor};

/// The softmax of every row. The maximum, the sum and the quotient are three passes; the exponentials are not stored.
fn softmax(x: &Tensor) -> Expr<'_> {
    let e = (x.expr() - x.expr().max_keepdims(-1)).exp();
    &e / &e.sum_keepdims(-1)
}

/// Every row with mean 0 and variance 1.
fn normalized(x: &Tensor) -> Expr<'_> {
    let centred = x.expr() - x.expr().mean_keepdims(-1);
    let variance = centred.square().mean_keepdims(-1);
    centred / (variance + 1e-5).sqrt()
}

/// The scale of every row, and its elements as multiples of the scale from −127 to 127.
fn quantized(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let scale = (x.expr().abs().max_keepdims(-1) / 127.0).run()?;
    let steps = (x.expr() / &scale).round().clip(-127, 127).cast(DType::I8).run()?;
    Ok((scale, steps))
}

fn main() -> Result<()> {
    let device = Device::best()?;
    let x = Tensor::from_nested([[0.0f32, 1.0, 2.0, -3.0], [10.0, 10.5, 9.5, 10.0]], &device)?;

    let probabilities = softmax(&x).run()?;
    println!("softmax\n{probabilities:.6}");
    let totals = probabilities.sum(-1)?.to_vec::<f32>()?;
    assert!(totals.iter().all(|total| (total - 1.0).abs() < 1e-6));

    println!("normalised\n{:.6}", normalized(&x).run()?);

    let (scale, steps) = quantized(&x)?;
    println!("scales\n{scale:.6}");
    println!("quantised\n{steps}");
    assert_eq!(steps.to_vec::<i8>()?, [0, 42, 85, -127, 121, 127, 115, 121]);
    // Back again, compared in the same expression: no element is off by more than half a step.
    let error = (steps.expr().cast(DType::F32) * &scale - &x).abs() / &scale;
    assert!(error.max(..).run()?.item::<f32>()? <= 0.5);
    Ok(())
}
