// A candle model whose linear layers keep 4-bit weights, eight to a word, and unpack them with a shift.
//
// ```console
// cargo run -p bitlane-candle --example quantized_linear
// ```

use bitlane::DType as Lane;
use bitlane_candle::Fused3;
use candle_core::{DType, Device, Module, Result, Tensor};

/// A linear layer in 4 bits: `y = x · Wᵀ`, with one scale per output.
struct QuantizedLinear {
    /// Eight weights to a word, the first in the lowest bits: `[outputs, inputs / 8, 1]`.
    words: Tensor,
    /// `[outputs, 1, 1]`.
    scales: Tensor,
    /// 0, 4, 8, … 28: where the weights of a word begin.
    amounts: Tensor,
}

impl QuantizedLinear {
    /// Rounds weights to 4 bits.
    fn new(weights: &Tensor) -> Result<QuantizedLinear> {
        let (outputs, inputs) = weights.dims2()?;
        let device = weights.device();
        let scales = (weights.abs()?.max_keepdim(1)? / 7.0)?;
        let levels = (weights.broadcast_div(&scales)?.round()? + 8.0)?.to_dtype(DType::U32)?;
        let levels = levels.reshape((outputs, inputs / 8, 8))?;
        let amounts = Tensor::arange_step(0u32, 32, 4, device)?;
        // The eight levels of a word do not overlap, so their sum is their union; candle sums u32, and bitlane shifts.
        let shifted = bitlane_candle::Operations::left_shift(&levels, &amounts)?;
        let words = shifted.sum_keepdim(2)?;
        Ok(QuantizedLinear { words, scales: scales.reshape((outputs, 1, 1))?, amounts })
    }

    /// The weights as floats again: shift, mask, conversion, offset and scale in one pass over memory.
    fn weights(&self) -> Result<Tensor> {
        let unpack = Fused3::new("unpack", |words, amounts, scales| {
            (((words >> amounts) & 0xf).cast(Lane::F32) - 8) * scales
        });
        self.words.apply_op3(&self.amounts, &self.scales, unpack)?.flatten_from(1)
    }
}

impl Module for QuantizedLinear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.matmul(&self.weights()?.t()?)
    }
}

/// Two layers with a ReLU in between.
struct Model {
    first: QuantizedLinear,
    second: QuantizedLinear,
}

impl Module for Model {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.second.forward(&self.first.forward(x)?.relu()?)
    }
}

fn main() -> Result<()> {
    let device = Device::Cpu;
    // Weights between -1 and 1 that look random and are the same everywhere.
    let weights = |outputs: usize, inputs: usize| {
        let elements = (0..outputs * inputs).map(|k| ((k * 7919 % 2003) as f32 / 1001.0) - 1.0);
        Tensor::from_iter(elements, &device)?.reshape((outputs, inputs))
    };
    let (first, second) = (weights(32, 16)?, weights(4, 32)?);
    let model =
        Model { first: QuantizedLinear::new(&first)?, second: QuantizedLinear::new(&second)? };
    let x = Tensor::arange(0f32, 32.0, &device)?.reshape((2, 16))?;
    let y = model.forward(&x)?;
    println!("in 4 bits: {y}");

    let exact = x.matmul(&first.t()?)?.relu()?.matmul(&second.t()?)?;
    println!("in f32:    {exact}");
    let error = (y - &exact)?.abs()?.max_all()?.to_scalar::<f32>()?;
    let size = exact.abs()?.max_all()?.to_scalar::<f32>()?;
    println!("largest error: {:.1} % of the largest output", 100.0 * error / size);
    assert!(error < 0.2 * size, "4 bits should not be as bad as that");
    Ok(())
}
