// A short tour. Run with `cargo run --release --example quickstart`.
//
// With `--features cuda` it runs on the first CUDA device if there is one, and on the CPU otherwise.

use bitlane::{BinaryOp, DType, Device, Result, Rules, Shift, Tensor, binary};

fn main() -> Result<()> {
    let device = Device::best()?;
    println!("running on {device}");

    // Each 32-bit word holds eight 4-bit numbers. A broadcast shift, of a column of words by a row of amounts, unpacks
    // them.
    let words = Tensor::from_slice(&[0x7654_3210u32, 0xfedc_ba98], [2, 1], &device)?;
    let amounts = Tensor::from_slice(&[0u32, 4, 8, 12, 16, 20, 24, 28], [8], &device)?;
    let nibbles = (words.bitwise_right_shift(&amounts, Shift::Logical)? & 0xf)?;
    println!("nibbles   {:?} {:?}", nibbles.shape(), nibbles.to_vec::<u32>()?);

    // Shifts are defined for every amount: beyond the bit width only copies of the sign bit remain.
    let signed = Tensor::from_slice(&[-100i8, 100], [2], &device)?;
    println!("sign fill {:?}", (&signed >> 100)?.to_vec::<i8>()?);

    // copysign uses the sign bit, even that of a zero.
    let magnitude = Tensor::from_slice(&[1.0f32, 2.0, 3.0], [3], &device)?;
    println!("copysign  {:?}", magnitude.copysign(-0.0)?.to_vec::<f32>()?);

    // The promotion rules can be chosen; the default, Paddle's, does not mix integer and float tensors.
    let counts = Tensor::arange(3, DType::I32, &device)?;
    for rules in [Rules::Paddle, Rules::Torch, Rules::NumPy] {
        match binary(BinaryOp::Add, &counts, &magnitude).rules(rules).run() {
            Ok(sum) => println!("i32 + f32 under {rules} rules is {}", sum.dtype()),
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}
