//! `bitlane run`: runs one operation.

use std::path::PathBuf;

use bitlane::{BinaryOp, Expr, Rules, ScanOp, Tensor, UnaryOp};
use clap::Args;

use crate::answer::Outcome;
use crate::expression::TernaryOp;
use crate::failure::Failure;
use crate::names::{Command, listed, unknown, wrong_count};
use crate::operands::{Input, Loader, deliver, device, dtype, output, rules};

const OPERANDS: &str = "\
An operand is a number, a .npy file, or an array of a file of several: FILE.safetensors:TENSOR or FILE.npz:ARRAY.
Reductions and views are part of the language of `bitlane eval`.";

/// The arguments of `run`.
#[derive(Args)]
#[command(after_help = format!("{OPERANDS}\n\n{}", listed(Command::Run)))]
pub struct Options {
    /// The operation, such as add, bitwise_left_shift, copysign, abs, clip or bitcast
    #[arg(value_name = "OP")]
    op: String,
    /// The left operand
    #[arg(value_name = "X", allow_negative_numbers = true)]
    x: String,
    /// The right operand, of an operation that has one; of cast and bitcast a dtype, and of a scan an axis
    #[arg(value_name = "Y", allow_negative_numbers = true)]
    y: Option<String>,
    /// The third operand, of an operation that has one
    #[arg(value_name = "Z", allow_negative_numbers = true)]
    z: Option<String>,
    /// Save the result to this .npy or .safetensors file instead of printing it
    #[arg(short, long, value_name = "FILE", value_parser = output)]
    output: Option<PathBuf>,
    /// Whose promotion rules to follow
    #[arg(long, default_value = "paddle", value_parser = rules(), ignore_case = true)]
    rules: Rules,
    /// Where to compute: best, cpu, cuda or cuda:NUMBER
    #[arg(long, default_value = "best")]
    device: String,
}

/// Runs the command.
pub fn run(options: &Options) -> Outcome {
    let (name, rules) = (&*options.op, options.rules);
    let operands: Vec<&String> =
        [Some(&options.x), options.y.as_ref(), options.z.as_ref()].into_iter().flatten().collect();
    let unary = name.parse::<UnaryOp>().ok();
    let binary = name.parse::<BinaryOp>().ok();
    let ternary = TernaryOp::named(name);
    let scan = name.parse::<ScanOp>().ok();
    let arity = match (unary, binary, ternary) {
        (Some(_), ..) => 1,
        (_, Some(_), _) => 2,
        (.., Some(_)) => 3,
        _ if scan.is_some() || matches!(name, "cast" | "bitcast") => 2,
        _ => return Err(unknown(name, Command::Run)),
    };
    if operands.len() == 1 && arity == 2 && binary.is_none() {
        let second = if scan.is_some() { "an axis" } else { "a dtype" };
        return Err(Failure::usage(format!("{name} takes an array and {second}")));
    }
    if operands.len() != arity {
        return Err(wrong_count(name, arity, operands.len()));
    }
    let device = device(&options.device)?;
    let loader = Loader::new(&device);
    let input = |at: usize| loader.input(operands[at]);
    let array = || match input(0)? {
        Input::Array(x) => Ok(x),
        Input::Number(_) => Err(Failure::usage(format!("{name} takes an array; give a .npy file"))),
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
        _ => match scan {
            Some(op) => {
                let axis = operands[1].parse::<i64>().map_err(|_| {
                    Failure::usage(format!(
                        "{name} takes an axis; {:?} is not a number",
                        operands[1]
                    ))
                })?;
                bitlane::scan(op, &array()?, axis).run()?
            }
            None if name == "cast" => array()?.cast(dtype(operands[1])?)?,
            None => array()?.bitcast(dtype(operands[1])?)?,
        },
    };
    deliver(&result, options.output.as_ref())
}
