//! The losses for one pair of elements, step by step as in docs/semantics.md, section 9.

use bitlane::DType;

use super::element::Bits;
use super::functions::value;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    L1,
    Mse,
    Huber { delta: f64 },
    SmoothL1 { beta: f64 },
    PoissonNll { log_input: bool, full: bool, epsilon: f64 },
}

/// Returns the loss of one pair as an `f64`, computed in `dtype`, or in `f32` for the half floats: the value that
/// `Reduction::None` rounds to `dtype` and that the other reductions add up.
///
/// The last place of a `PoissonNll` is open, because that of exp and log is.
pub fn loss(loss: Loss, dtype: DType, x: Bits, y: Bits) -> f64 {
    let [x, y] = [x, y].map(|bits| value(dtype, bits));
    match dtype {
        DType::F64 => loss_f64(loss, x, y),
        _ => loss_f32(loss, x as f32, y as f32).into(),
    }
}

macro_rules! losses {
    ($name:ident $float:ident) => {
        fn $name(loss: Loss, x: $float, y: $float) -> $float {
            let z = x - y;
            match loss {
                Loss::L1 => z.abs(),
                Loss::Mse => z * z,
                Loss::Huber { delta } => {
                    let delta = delta as $float;
                    if z.abs() <= delta { 0.5 * z * z } else { delta * (z.abs() - 0.5 * delta) }
                }
                Loss::SmoothL1 { beta } => {
                    let beta = beta as $float;
                    if z.abs() < beta { 0.5 * z * z / beta } else { z.abs() - 0.5 * beta }
                }
                Loss::PoissonNll { log_input, full, epsilon } => {
                    // Go through `f64`, so that exp and log of an `f32` are correctly rounded.
                    let exp = |x: $float| f64::from(x).exp() as $float;
                    let log = |x: $float| f64::from(x).ln() as $float;
                    let loss = match log_input {
                        true => exp(x) - y * x,
                        false => x - y * log(x + epsilon as $float),
                    };
                    if full && y > 1.0 {
                        let tau = std::f64::consts::TAU as $float;
                        loss + (y * log(y) - y + 0.5 * log(tau * y))
                    } else {
                        loss
                    }
                }
            }
        }
    };
}

losses!(loss_f32 f32);
losses!(loss_f64 f64);

/// Returns the sum or the mean of the losses before it is rounded to the dtype, up to the order of the additions.
pub fn reduced(losses: &[f64], is_mean: bool) -> f64 {
    let sum: f64 = losses.iter().sum::<f64>() + 0.0;
    if is_mean { sum / losses.len() as f64 } else { sum }
}
