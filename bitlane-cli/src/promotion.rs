//! `bitlane promote`: shows the dtype of the result of an operation.

use bitlane::promote::{Kind, Op, result_type};
use bitlane::{DType, Rules};
use clap::Args;
use serde_json::{Value, json};

use crate::answer::{Answer, Failure, Outcome, columns};
use crate::operands::number;

/// The arguments of `promote`.
#[derive(Args)]
pub struct Options {
    /// The operation, such as add, bitwise_left_shift or select
    #[arg(value_name = "OP")]
    op: Op,
    /// The left operand: a dtype (i32), a dtype without dimensions (0d:i32), or a number
    #[arg(value_name = "LEFT", allow_negative_numbers = true, required_unless_present = "table")]
    lhs: Option<String>,
    /// The right operand
    #[arg(value_name = "RIGHT", allow_negative_numbers = true, required_unless_present = "table")]
    rhs: Option<String>,
    /// Show the results of all pairs of dtypes
    #[arg(long, conflicts_with_all = ["lhs", "rhs"])]
    table: bool,
    /// Whose promotion rules to follow: paddle, torch, numpy or jax; all four if not given
    #[arg(long)]
    rules: Option<Rules>,
}

/// Runs the command.
pub fn run(options: &Options) -> Outcome {
    if options.table {
        return Ok(table(options.op, options.rules.unwrap_or_default()));
    }
    let (Some(lhs), Some(rhs)) = (&options.lhs, &options.rhs) else {
        return Err("two operands are needed".into());
    };
    let (lhs, rhs) = (kind(lhs)?, kind(rhs)?);
    if let Some(rules) = options.rules {
        let dtype = result_type(options.op, lhs, rhs, rules)?;
        return Ok(Answer::new(dtype.name(), json!({ rules.name(): dtype.name() })));
    }
    let mut json = json!({});
    let mut rows = Vec::new();
    for &rules in Rules::ALL {
        let (word, value) = match result_type(options.op, lhs, rhs, rules) {
            Ok(dtype) => (dtype.name().to_owned(), Value::from(dtype.name())),
            Err(error) => (format!("refused: {error}"), Value::Null),
        };
        json[rules.name()] = value;
        rows.push(vec![rules.name().to_owned(), word]);
    }
    Ok(Answer::new(columns(&rows), json))
}

/// Parses the kind of an operand.
fn kind(text: &str) -> Result<Kind, Failure> {
    if let Some(scalar) = number(text) {
        return Ok(Kind::scalar(&scalar));
    }
    match text.strip_prefix("0d:") {
        Some(dtype) => Ok(Kind::zero_d(dtype.parse()?)),
        None => Ok(Kind::tensor(text.parse()?)),
    }
}

/// Returns the table of all pairs of dtypes.
fn table(op: Op, rules: Rules) -> Answer {
    let names: Vec<String> = DType::ALL.iter().map(ToString::to_string).collect();
    let mut rows = vec![[vec![String::new()], names].concat()];
    let mut json = json!({});
    for &lhs in DType::ALL {
        let mut row = vec![lhs.to_string()];
        for &rhs in DType::ALL {
            let result = result_type(op, Kind::tensor(lhs), Kind::tensor(rhs), rules).ok();
            row.push(result.map_or("-", DType::name).to_owned());
            json[lhs.name()][rhs.name()] = result.map(DType::name).into();
        }
        rows.push(row);
    }
    let text = format!(
        "{op} under {rules} rules; left operand down, right operand across, - where it is refused\n\n{}",
        columns(&rows)
    );
    Answer::new(text, json!({ "op": op.name(), "rules": rules.name(), "table": json }))
}
