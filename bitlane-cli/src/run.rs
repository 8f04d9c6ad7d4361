//! `bitlane run`: runs one operation.

use std::path::PathBuf;

use bitlane::{BinaryOp, Expr, Rules, Tensor, UnaryOp};
use clap::Args;

use crate::answer::{Failure, Outcome};
use crate::expression::TernaryOp;
use crate::operands::{Input, deliver, device};

/// The arguments of `run`.
#[derive(Args)]
pub struct Options {
    /// The operation, such as add, bitwise_left_shift, copysign, abs, clip or bitcast
    #[arg(value_name = "OP")]
    op: String,
    /// The left operand: a .npy file or a number
    #[arg(value_name = "X", allow_negative_numbers = true)]
    x: String,
    /// The right operand, of an operation that has one: a .npy file or a number; of bitcast, a dtype
    #[arg(value_name = "Y", allow_negative_numbers = true)]
    y: Option<String>,
    /// The third operand, of an operation that has one: a .npy file or a number
    #[arg(value_name = "Z", allow_negative_numbers = true)]
    z: Option<String>,
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
    let ternary = TernaryOp::NAMES.iter().map(|(name, _)| *name);
    let names: Vec<_> = unary.chain(binary).chain(ternary).chain(["bitcast"]).collect();
    format!("{name:?} is no operation; operations are {}", names.join(" ")).into()
}

/// Runs the command.
pub fn run(options: &Options) -> Outcome {
    let device = device(&options.device)?;
    let (name, rules) = (&*options.op, options.rules);
    let operands: Vec<&String> =
        [Some(&options.x), options.y.as_ref(), options.z.as_ref()].into_iter().flatten().collect();
    let unary = name.parse::<UnaryOp>().ok();
    let binary = name.parse::<BinaryOp>().ok();
    let ternary = TernaryOp::named(name);
    let arity = match (unary, binary, ternary) {
        (Some(_), ..) => 1,
        (_, Some(_), _) => 2,
        (.., Some(_)) => 3,
        _ if name == "bitcast" => 2,
        _ => return Err(unknown(name)),
    };
    if operands.len() != arity {
        let given = if operands.len() == 1 { "was" } else { "were" };
        let (arity, len) = (counted(arity), COUNTS[operands.len()]);
        return Err(format!("{name} takes {arity}, {len} {given} given").into());
    }
    let input = |at: usize| Input::parse(operands[at], &device);
    let array = || match input(0)? {
        Input::Array(x) => Ok(x),
        Input::Number(_) => Err(Failure::from(format!("{name} of a number; give a .npy file"))),
    };
    let result: Tensor = match (unary, binary, ternary) {
        (Some(op), ..) => bitlane::unary(op, &array()?).rules(rules).run()?,
        (_, Some(op), _) => {
            bitlane::binary(op, input(0)?.operand(), input(1)?.operand()).rules(rules).run()?
        }
        (.., Some(op)) => {
            let (x, y, z) = (input(0)?, input(1)?, input(2)?);
            op.apply([&x, &y, &z].map(|input| Expr::from(input.operand()))).rules(rules).run()?
        }
        _ => array()?.bitcast(operands[1].parse()?)?,
    };
    deliver(&result, options.output.as_ref())
}

const COUNTS: [&str; 4] = ["none", "one", "two", "three"];

fn counted(operands: usize) -> String {
    format!("{} operand{}", COUNTS[operands], if operands == 1 { "" } else { "s" })
}
