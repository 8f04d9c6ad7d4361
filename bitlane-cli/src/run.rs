//! `bitlane run`: runs one operation.

use std::path::PathBuf;

use bitlane::{BinaryOp, Rules, Tensor, UnaryOp};
use clap::Args;

use crate::answer::{Failure, Outcome};
use crate::operands::{Input, deliver, device};

/// The arguments of `run`.
#[derive(Args)]
pub struct Options {
    /// The operation, such as add, bitwise_left_shift, copysign or abs
    #[arg(value_name = "OP")]
    op: String,
    /// The left operand: a .npy file or a number
    #[arg(value_name = "X", allow_negative_numbers = true)]
    x: String,
    /// The right operand, of an operation that has one: a .npy file or a number
    #[arg(value_name = "Y", allow_negative_numbers = true)]
    y: Option<String>,
    /// Save the result to this .npy file instead of printing it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Whose promotion rules to follow: paddle, torch, numpy or jax
    #[arg(long, default_value = "paddle")]
    rules: Rules,
    /// Where to compute: best, cpu, cuda or cuda:NUMBER
    #[arg(long, default_value = "best")]
    device: String,
}

/// Creates the error for an unknown name, which lists the known ones.
pub fn unknown(name: &str) -> Failure {
    let unary = UnaryOp::ALL.iter().map(|op| op.name());
    let binary = BinaryOp::ALL.iter().map(|op| op.name());
    let names: Vec<_> = unary.chain(binary).collect();
    format!("{name:?} is no operation; operations are {}", names.join(" ")).into()
}

/// Runs the command.
pub fn run(options: &Options) -> Outcome {
    let device = device(&options.device)?;
    let name = &options.op;
    let result: Tensor = match (name.parse::<UnaryOp>(), name.parse::<BinaryOp>(), &options.y) {
        (Ok(op), _, None) => match Input::parse(&options.x, &device)? {
            Input::Array(x) => bitlane::unary(op, &x).rules(options.rules).run()?,
            Input::Number(_) => return Err(format!("{name} of a number; give a .npy file").into()),
        },
        (Err(_), Ok(op), Some(y)) => {
            let (x, y) = (Input::parse(&options.x, &device)?, Input::parse(y, &device)?);
            let result = bitlane::binary(op, x.operand(), y.operand()).rules(options.rules).run();
            result?
        }
        (Ok(_), _, Some(_)) => {
            return Err(format!("{name} takes one operand, two were given").into());
        }
        (Err(_), Ok(_), None) => {
            return Err(format!("{name} takes two operands, one was given").into());
        }
        (Err(_), Err(_), _) => return Err(unknown(name)),
    };
    deliver(&result, options.output.as_ref())
}
