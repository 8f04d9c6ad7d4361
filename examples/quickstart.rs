// A tour in one page: `cargo run --release --example quickstart`.
//
// With `--features cuda` it runs on the first CUDA device if there is one, else on the CPU.

use bitlane::{BinaryOp, DType, Device, Result, Rules, Shift, Tensor, binary};

fn main() -> Result<()> {
    let device = Device::best()?;
    println!("running on {device}");

    // Eight 4-bit numbers packed into one 32-bit word each, taken apart by a broadcast shift:
    // a column of words against a row of amounts.
    let words = Tensor::from_slice(&[0x7654_3210u32, 0xfedc_ba98], [2, 1], &device)?;
    let amounts = Tensor::from_slice(&[0u32, 4, 8, 12, 16, 20, 24, 28], [8], &device)?;
    let nibbles = (words.bitwise_right_shift(&amounts, Shift::Logical)? & 0xf)?;
    println!("nibbles   {:?} {:?}", nibbles.shape(), nibbles.to_vec::<u32>()?);

    // An amount out of range has a meaning: nothing but the sign is left.
    let signed = Tensor::from_slice(&[-100i8, 100], [2], &device)?;
    println!("sign fill {:?}", (&signed >> 100)?.to_vec::<i8>()?);

    // copysign takes the sign bit as it is, that of zero too.
    let magnitude = Tensor::from_slice(&[1.0f32, 2.0, 3.0], [3], &device)?;
    println!("copysign  {:?}", magnitude.copysign(-0.0)?.to_vec::<f32>()?);

    // Whose promotion rules apply can be chosen; the default refuses to mix integers and floats.
    let counts = Tensor::arange(3, DType::I32, &device)?;
    for rules in [Rules::Paddle, Rules::Torch, Rules::NumPy] {
        match binary(BinaryOp::Add, &counts, &magnitude).rules(rules).run() {
            Ok(sum) => println!("i32 + f32 under {rules} rules is {}", sum.dtype()),
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}
