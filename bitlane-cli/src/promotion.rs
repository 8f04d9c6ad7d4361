//! `bitlane promote`: shows the dtype of the result of an operation.

use bitlane::promote::{Kind, Op, result_type};
use bitlane::{
    BinaryOp, DType, Device, Error, Expr, ReduceOp, Rules, Scalar, ScanOp, Tensor, UnaryOp,
};
use clap::Args;
use serde_json::{Value, json};

use crate::answer::{Answer, Outcome, columns};
use crate::expression::TernaryOp;
use crate::failure::{Failure, in_own_words, rules_word};
use crate::names::{Command, listed, reduction, unknown, wrong_count};
use crate::operands::{dtype, number, rules};

/// The arguments of `promote`.
#[derive(Args)]
#[command(after_help = listed(Command::Promote))]
pub struct Options {
    /// The operation, such as add, bitwise_left_shift, sqrt, sum or select
    #[arg(value_name = "OP")]
    op: String,
    /// The operands: a dtype (i32), a dtype without dimensions (0d:i32), or a number
    #[arg(
        value_name = "OPERAND",
        allow_negative_numbers = true,
        required_unless_present = "table"
    )]
    operands: Vec<String>,
    /// Show the results of all dtypes, or of all pairs of them
    #[arg(long, conflicts_with = "operands")]
    table: bool,
    /// Whose promotion rules to follow; all four if not given
    #[arg(long, value_parser = rules(), ignore_case = true)]
    rules: Option<Rules>,
}

/// An operation whose operands are promoted.
#[derive(Clone, Copy)]
enum Named {
    Unary(UnaryOp),
    Reduce(ReduceOp),
    Scan(ScanOp),
    /// One of two operands, and the binary operation that it is, if it is one. The condition of `select` does not
    /// matter.
    Pair(Op, Option<BinaryOp>),
    /// `clip` or `fma`.
    Ternary(TernaryOp),
}

impl Named {
    fn parse(name: &str) -> Result<Named, Failure> {
        if let Some(op @ (TernaryOp::Clip | TernaryOp::Fma)) = TernaryOp::named(name) {
            return Ok(Named::Ternary(op));
        }
        let pair = name.parse::<Op>().map(|op| Named::Pair(op, name.parse().ok()));
        let unary = || name.parse().map(Named::Unary);
        let scan = || name.parse().map(Named::Scan);
        pair.or_else(|_| unary()).or_else(|_| scan()).or_else(|_: Error| {
            let named = reduction(name).map(|(op, _)| Named::Reduce(op));
            named.ok_or_else(|| unknown(name, Command::Promote))
        })
    }

    fn arity(self) -> usize {
        match self {
            Named::Unary(_) | Named::Reduce(_) | Named::Scan(_) => 1,
            Named::Pair(..) => 2,
            Named::Ternary(_) => 3,
        }
    }

    /// Returns the dtype of the result. Operands are asked of the operation itself, so what it refuses, such as a
    /// number that does not fit, is refused here.
    fn result(self, operands: &[Given], rules: Rules) -> Result<DType, Error> {
        let [x, rest @ ..] = operands else { return Ok(DType::Bool) };
        match self {
            Named::Unary(op) => x.expr().unary(op).rules(rules).dtype(),
            Named::Reduce(op) => x.expr().reduce(op, ..).rules(rules).dtype(),
            Named::Scan(op) => match x {
                Given::Array(x) => bitlane::scan(op, x, 0).run().map(|result| result.dtype()),
                Given::Number(_) => x.expr().dtype(),
            },
            Named::Ternary(op) => match operands {
                [x, y, z] => op.apply([x, y, z].map(Given::expr)).rules(rules).dtype(),
                _ => x.expr().dtype(),
            },
            Named::Pair(op, binary) => {
                let y = rest.first().unwrap_or(x);
                let promoted = result_type(op, x.kind(), y.kind(), rules)?;
                match binary {
                    Some(op) => x.expr().binary(op, y.expr()).rules(rules).dtype(),
                    None => Ok(promoted),
                }
            }
        }
    }
}

/// An operand: a tensor of one element, or a number.
enum Given {
    Array(Tensor),
    Number(Scalar),
}

impl Given {
    fn parse(text: &str) -> Result<Given, Failure> {
        if let Some(scalar) = number(text) {
            return Ok(Given::Number(scalar));
        }
        match text.strip_prefix("0d:") {
            Some(name) => Given::array(dtype(name)?, &[]),
            None => Given::array(dtype(text)?, &[1]),
        }
    }

    fn array(dtype: DType, shape: &[usize]) -> Result<Given, Failure> {
        Ok(Given::Array(Tensor::zeros(shape, dtype, &Device::cpu())?))
    }

    fn kind(&self) -> Kind {
        match self {
            Given::Array(tensor) => tensor.into(),
            Given::Number(scalar) => Kind::scalar(scalar),
        }
    }

    fn expr(&self) -> Expr<'_> {
        match self {
            Given::Array(tensor) => tensor.expr(),
            Given::Number(scalar) => Expr::from(*scalar),
        }
    }
}

/// Runs the command. The exit code is 1 if every rulebook refuses.
pub fn run(options: &Options) -> Outcome {
    let (op, name) = (Named::parse(&options.op)?, &*options.op);
    if options.table {
        if op.arity() > 2 {
            let words = format!("--table is for one or two operands, and {name} takes three");
            return Err(Failure::usage(words));
        }
        return table(op, name, options.rules);
    }
    if options.operands.len() != op.arity() {
        return Err(wrong_count(name, op.arity(), options.operands.len()));
    }
    let operands = options.operands.iter().map(|text| Given::parse(text));
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    let mut json = json!({ "op": name, "operands": options.operands, "results": {} });
    if let Some(rules) = options.rules {
        let dtype = op.result(&operands, rules)?;
        json["results"][rules_word(&rules)] = json!({ "dtype": dtype.name() });
        return Ok(Answer::new(dtype.name(), json));
    }
    let (mut rows, mut ok) = (Vec::new(), false);
    for rules in Rules::ALL {
        let (word, value) = match op.result(&operands, *rules) {
            Ok(dtype) => {
                ok = true;
                (dtype.name().to_owned(), json!({ "dtype": dtype.name() }))
            }
            Err(error) => {
                let words = in_own_words(&error);
                let kind = error.kind().to_string();
                (
                    format!("refused: {words}"),
                    json!({ "dtype": null, "error": words, "kind": kind }),
                )
            }
        };
        json["results"][rules_word(rules)] = value;
        rows.push(vec![rules.name().to_owned(), word]);
    }
    Ok(Answer::judged(ok, columns(&rows), json))
}

/// Returns the table of all pairs of dtypes under one rulebook, or of all dtypes under each.
fn table(op: Named, name: &str, rules: Option<Rules>) -> Outcome {
    let result = |operands: &[DType], rules| -> Result<Option<DType>, Failure> {
        let operands = operands.iter().map(|dtype| Given::array(*dtype, &[1]));
        Ok(op.result(&operands.collect::<Result<Vec<_>, _>>()?, rules).ok())
    };
    let word = |dtype: Option<DType>| dtype.map_or("-", DType::name).to_owned();
    let mut json = json!({});
    let first = |names: Vec<String>| vec![[vec![String::new()], names].concat()];
    if op.arity() == 1 {
        let books: Vec<Rules> = rules.map_or(Rules::ALL.to_vec(), |rules| vec![rules]);
        let mut rows = first(books.iter().map(|rules| rules.name().to_owned()).collect());
        for &dtype in DType::ALL {
            let mut row = vec![dtype.to_string()];
            for rules in &books {
                let result = result(&[dtype], *rules)?;
                row.push(word(result));
                json[dtype.name()][rules_word(rules)] = result.map(DType::name).into();
            }
            rows.push(row);
        }
        let text = format!("{name}; - where it is refused\n\n{}", columns(&rows));
        return Ok(Answer::new(text, json!({ "op": name, "table": json })));
    }
    let rules = rules.unwrap_or_default();
    let mut rows = first(DType::ALL.iter().map(ToString::to_string).collect());
    for &lhs in DType::ALL {
        let mut row = vec![lhs.to_string()];
        for &rhs in DType::ALL {
            let result = result(&[lhs, rhs], rules)?;
            row.push(word(result));
            json[lhs.name()][rhs.name()] = Value::from(result.map(DType::name));
        }
        rows.push(row);
    }
    let text = format!(
        "{name} under {rules} rules; left operand down, right operand across, - where it is refused\n\n{}",
        columns(&rows)
    );
    Ok(Answer::new(text, json!({ "op": name, "rules": rules_word(&rules), "table": json })))
}
