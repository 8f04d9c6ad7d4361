// The result dtypes of the same operands under the four rulebooks.
//
// Run with `cargo run --release --example 04_rulebooks`.

use bitlane::promote::{Kind, result_type};
use bitlane::{BinaryOp, DType, Device, Result, Rules, Scalar, Tensor};

fn main() -> Result<()> {
    let pairs = [
        ("i32 + f32", Kind::tensor(DType::I32), Kind::tensor(DType::F32)),
        ("u8 + i8", Kind::tensor(DType::U8), Kind::tensor(DType::I8)),
        ("f16 + bf16", Kind::tensor(DType::F16), Kind::tensor(DType::BF16)),
        ("f32 + 0-d f64", Kind::tensor(DType::F32), Kind::zero_d(DType::F64)),
        ("i32 + 0.5", Kind::tensor(DType::I32), Kind::scalar(&Scalar::from(0.5))),
    ];
    println!("{:14}{:>8}{:>8}{:>8}{:>8}", "", "Paddle", "Torch", "NumPy", "JAX");
    for (name, lhs, rhs) in pairs {
        print!("{name:14}");
        for &rules in Rules::ALL {
            match result_type(BinaryOp::Add, lhs, rhs, rules) {
                Ok(dtype) => print!("{dtype:>8}"),
                Err(_) => print!("{:>8}", "refused"),
            }
        }
        println!();
    }

    // Operations promote by the same rules. To use operators with another rulebook, write an expression.
    let device = Device::best()?;
    let counts = Tensor::from_slice(&[1i32, 2, 3], [3], &device)?;
    let halves = Tensor::from_slice(&[0.5f32, 0.5, 0.5], [3], &device)?;
    let sum = (counts.expr() + &halves).rules(Rules::NumPy).run()?;
    assert_eq!(sum.dtype(), DType::F64);
    Ok(())
}
