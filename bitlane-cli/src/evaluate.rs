//! `bitlane eval`: evaluates an expression over named operands.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitlane::{Expr, Rules, reduce, scan};
use clap::Args;

use crate::answer::Outcome;
use crate::expression::{Node, Over, parse};
use crate::failure::Failure;
use crate::names::{Command, listed};
use crate::operands::{Input, Loader, deliver, device, output, rules};

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
  cast_saturating(a, u8)  a conversion that limits a to the range of the dtype
  sum(a), mean(a, -1), max(a, [0, 1], keepdims=true) and every other reduction: over
                      all axes, or over those named; sum(a, dtype=f64), var(a, correction=1)
On whole arrays, computed before the rest:
  cumulative_sum(a, AXIS) and every other scan
  take(a, indices, AXIS)  take_clamped(…)  take_along_axis(a, indices, AXIS)  compress(a, mask)
  mse_loss(a, b) and every other loss: its mean, with the default parameter
Views move no data:
  a[0], a[1:, ::-1], a[..., None]          as in NumPy
  reshape(a, 2, -1)  transpose(a, 0, 1)  permute(a, 2, 0, 1)  broadcast_to(a, 2, 3)
  unsqueeze(a, 0)  squeeze(a, -1)  flip(a, 0)  narrow(a, AXIS, START, LENGTH)
Values of 1 to 8 bits in words, from the lowest bits up, along the last axis or the one that is named:
  unpack(words, 4)  pack(values, 4, u32)";

const EXAMPLES: &str = "\
Examples:
  bitlane eval 'sum(x * x, -1)' x=x.npy
  bitlane eval 'x - mean(x, -1, keepdims=true)' x=model.safetensors:layer.weight -o centred.npy";

/// The arguments of `eval`.
#[derive(Args)]
#[command(after_help = format!("{SYNTAX}\n\n{}\n\n{EXAMPLES}", listed(Command::Eval)))]
pub struct Options {
    /// The expression
    #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
    expression: String,
    /// What the names stand for: numbers, .npy files, or FILE.safetensors:TENSOR and FILE.npz:ARRAY
    #[arg(value_name = "NAME=OPERAND")]
    names: Vec<String>,
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
    // Syntax errors are reported before any file is read.
    let node = parse(&options.expression)?;
    let device = device(&options.device)?;
    let loader = Loader::new(&device);
    let mut inputs = BTreeMap::new();
    for definition in &options.names {
        let (name, operand) = definition.split_once('=').ok_or_else(|| {
            Failure::usage(format!("{definition:?} should be NAME=FILE or NAME=NUMBER"))
        })?;
        if inputs.insert(name, loader.input(operand)?).is_some() {
            return Err(Failure::usage(format!("{name} is defined twice")));
        }
    }
    options.rules.scope(|| {
        let mut used = Vec::new();
        let expression = lower(&node, &inputs, &mut used)?;
        if let Some(name) = inputs.keys().find(|name| !used.contains(name)) {
            let words = format!("{name} is defined, but the expression does not use it");
            return Err(Failure::usage(words));
        }
        deliver(&expression.run()?, options.output.as_ref())
    })
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
                Failure::usage(format!(
                    "{name} is not defined; add {name}=FILE.npy or {name}=NUMBER"
                ))
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
        Node::View(x, view) => view.of(&lower(x, inputs, used)?)?,
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
        Node::CastSaturating(x, dtype) => lower(x, inputs, used)?.cast_saturating(*dtype),
        Node::Reduce(op, x, Over { axes, keepdims, dtype: None, correction: None }) => {
            let x = lower(x, inputs, used)?;
            if *keepdims { x.reduce_keepdims(*op, axes) } else { x.reduce(*op, axes) }
        }
        Node::Reduce(op, x, Over { axes, keepdims, dtype, correction }) => {
            let x = lower(x, inputs, used)?.run()?;
            let mut call = reduce(*op, &x, axes);
            call = if *keepdims { call.keepdims() } else { call };
            if let Some(dtype) = dtype {
                call = call.dtype(*dtype);
            }
            if let Some(correction) = correction {
                call = call.correction(*correction);
            }
            Expr::from(call.run()?)
        }
        Node::Scan(op, x, axis) => {
            Expr::from(scan(*op, &lower(x, inputs, used)?.run()?, *axis).run()?)
        }
        Node::Pair(pair, operands, axis) => {
            let [x, y] = &**operands;
            let (x, y) = (lower(x, inputs, used)?.run()?, lower(y, inputs, used)?.run()?);
            Expr::from((pair.apply)(&x, &y, *axis)?)
        }
    })
}
