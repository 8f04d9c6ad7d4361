//! `bitlane eval`: evaluates an expression over named operands.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitlane::{Expr, Rules};
use clap::Args;

use crate::answer::{Failure, Outcome};
use crate::expression::{Node, parse};
use crate::operands::{Input, deliver, device};

const SYNTAX: &str = "\
Expressions, from what binds loosest to what binds tightest, as in Python:
  == != < <= > >=     comparisons
  |  ^  &             bits
  << >> >>>           shifts; >>> is the logical one
  + -
  * / // %            // rounds down, % has the sign of the divisor
  - ~ !               negative, bitwise and logical not
  **                  power
Every operation can be called by its name, as copysign(a, b) or abs(a). There are also
  cast(a, f32)        a conversion
  bitcast(a, u32)     the same bits as another dtype
  select(c, a, b)     a where c is true, else b
  clip(a, low, high)  a, limited to a range
  fma(a, b, c)        a * b + c, rounded once
  sum(a), mean(a, -1) and every other reduction: over all axes, or over those named;
                      sum_keepdims(a, -1) keeps them with size 1";

/// The arguments of `eval`.
#[derive(Args)]
#[command(after_help = SYNTAX)]
pub struct Options {
    /// The expression
    #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
    expression: String,
    /// What the names stand for: .npy files or numbers
    #[arg(value_name = "NAME=OPERAND")]
    names: Vec<String>,
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

/// Runs the command.
pub fn run(options: &Options) -> Outcome {
    // Syntax errors are reported before any file is read.
    let node = parse(&options.expression)?;
    let device = device(&options.device)?;
    let mut inputs = BTreeMap::new();
    for definition in &options.names {
        let (name, operand) = definition
            .split_once('=')
            .ok_or_else(|| format!("{definition:?} should be NAME=FILE or NAME=NUMBER"))?;
        if inputs.insert(name, Input::parse(operand, &device)?).is_some() {
            return Err(format!("{name} is defined twice").into());
        }
    }
    let mut used = Vec::new();
    let result = lower(&node, &inputs, &mut used)?.rules(options.rules).run()?;
    if let Some(name) = inputs.keys().find(|name| !used.contains(name)) {
        return Err(format!("{name} is defined, but the expression does not use it").into());
    }
    deliver(&result, options.output.as_ref())
}

/// Converts a node to an [`Expr`]. The recursion cannot overflow the stack, because the parser limits the depth of the
/// tree.
pub fn lower<'a>(
    node: &'a Node,
    inputs: &'a BTreeMap<&str, Input>,
    used: &mut Vec<&'a str>,
) -> Result<Expr<'a>, Failure> {
    Ok(match node {
        Node::Number(scalar) => Expr::from(*scalar),
        Node::Name(name) => {
            let input = inputs.get(&**name).ok_or_else(|| {
                format!("{name} is not defined; add {name}=FILE.npy or {name}=NUMBER")
            })?;
            used.push(name);
            Expr::from(input.operand())
        }
        Node::Unary(op, x) => lower(x, inputs, used)?.unary(*op),
        Node::Binary(op, x, y) => {
            let x = lower(x, inputs, used)?;
            x.binary(*op, lower(y, inputs, used)?)
        }
        Node::Ternary(op, operands) => {
            let [x, y, z] = &**operands;
            let (x, y) = (lower(x, inputs, used)?, lower(y, inputs, used)?);
            op.apply([x, y, lower(z, inputs, used)?])
        }
        Node::Cast(x, dtype) => lower(x, inputs, used)?.cast(*dtype),
        Node::Bitcast(x, dtype) => {
            let x_is_array = match &**x {
                Node::Name(name) => inputs.get(&**name).and_then(Input::array).map(|it| (name, it)),
                _ => None,
            };
            match x_is_array {
                // A view of an array may have elements of another size.
                Some((name, array)) => {
                    used.push(name);
                    Expr::from(array.bitcast(*dtype)?)
                }
                None => lower(x, inputs, used)?.bitcast(*dtype),
            }
        }
        Node::Reduce { op, x, axes, keepdims } => {
            let x = lower(x, inputs, used)?;
            if *keepdims { x.reduce_keepdims(*op, axes) } else { x.reduce(*op, axes) }
        }
    })
}
