// Unpacks 4-bit weights in GPTQ's layout, one operation at a time and as a single expression.
//
// GPTQ packs eight 4-bit weights into each 32-bit word, the first in the lowest bits, with a scale and a zero point per
// column. Run with `cargo run --release --example 01_int4_weights` (add `--features cuda` for a GPU).

use bitlane::{DType, Device, Result, Shift, Tensor};

fn main() -> Result<()> {
    let device = Device::best()?;
    // Two rows and three columns of words, which unpack to 16 rows of weights.
    let words = [0x7654_3210u32, 0xfedc_ba98, 0x0f1e_2d3c, 0x8888_8888, 0x1357_9bdf, 0x2468_ace0];
    let words = Tensor::from_slice(&words, [2, 1, 3], &device)?;
    let amounts = Tensor::from_slice(&[0u32, 4, 8, 12, 16, 20, 24, 28], [8, 1], &device)?;
    let scales = Tensor::from_slice(&[0.5f32, 0.25, 2.0], [3], &device)?;
    let zeros = Tensor::from_slice(&[8.0f32, 7.0, 8.0], [3], &device)?;

    // One operation after another: each reads and writes whole tensors.
    let shifted = words.bitwise_right_shift(&amounts, Shift::Logical)?;
    let nibbles = (shifted & 0xf)?;
    let eager = ((nibbles.cast(DType::F32)? - &zeros)? * &scales)?;

    // The same operations as an expression: one pass over memory and, on CUDA, one kernel.
    let nibbles = (words.expr() >> &amounts) & 0xf;
    let fused = ((nibbles.cast(DType::F32) - &zeros) * &scales).run()?;

    assert_eq!(fused.shape(), [2, 8, 3]);
    assert_eq!(fused.to_bytes()?, eager.to_bytes()?, "both must have the same bits");
    let weights = fused.reshape([16, 3])?;
    println!("{device}: {:?} weights, the first column {:?}", weights.shape(), {
        weights.narrow(1, 0, 1)?.to_vec::<f32>()?
    });
    Ok(())
}
