//! `bitlane run`: runs one operation.

use std::path::PathBuf;

use bitlane::{BinaryOp, Expr, ReduceOp, Rules, Tensor, UnaryOp};
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

/// Creates the error for an unknown name, which suggests the nearest one or, if none is near, lists the known ones. A
/// reduction is pointed to the command that has it.
pub fn unknown(name: &str) -> Failure {
    if name.parse::<ReduceOp>().is_ok() {
        return format!("{name} is a reduction; write `bitlane eval '{name}(x)' x=FILE.npy`")
            .into();
    }
    let unary = UnaryOp::ALL.iter().map(|op| op.name());
    let binary = BinaryOp::ALL.iter().map(|op| op.name());
    let ternary = TernaryOp::NAMES.iter().map(|(name, _)| *name);
    let names: Vec<_> = unary.chain(binary).chain(ternary).chain(["bitcast"]).collect();
    let nearest = names.iter().min_by_key(|known| distance(name, known));
    match nearest {
        Some(known) if distance(name, known) <= name.len() / 3 => {
            format!("{name:?} is no operation; did you mean {known}?").into()
        }
        _ => format!("{name:?} is no operation; operations are {}", names.join(" ")).into(),
    }
}

/// Returns how many letters have to be inserted, removed or replaced to get from one word to another.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, other) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "abc"), distance("abc", "abc")), (3, 0));
        let said = |name| unknown(name).to_string();
        assert_eq!(said("copysing"), "\"copysing\" is no operation; did you mean copysign?");
        assert!(said("frobnicate").contains("operations are abs"));
        assert!(said("sum").contains("bitlane eval 'sum(x)'"));
    }
}
