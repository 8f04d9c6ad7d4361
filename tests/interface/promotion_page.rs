//! `docs/promotion.md` is generated from the answers of `result_type`, and the tables in `docs/semantics.md` from the op
//! table; this test fails if they are out of date. `BITLANE_WRITE_DOCS=1 cargo test --test interface promotion_page`
//! regenerates them.

mod operations;

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use bitlane::promote::{Kind, Op, result_type};
use bitlane::{BinaryOp, Category, DType, ErrorKind, Rules};

const HEAD: &str = "# Type promotion

The dtype of a result under each of the four rulebooks, as `promote::result_type` gives it. First what most code needs, `x + y`; then every operation, folded.
`bitlane promote add i32 f32` answers on the command line.

- [Paddle](#paddle), the default: integers of different dtypes do not mix, nor do integers with floats.
- [Torch](#torch): the category decides first, then the rank, then the width.
- [NumPy](#numpy): the smallest dtype that holds both.
- [JAX](#jax): a lattice in which every float is above every integer.

In a matrix, rows are the left operand, columns the right one; the last columns are numbers, by category, which adopt the dtype of the tensor unless their category is higher. `–` is a pair that the
rules refuse (`Error::Promotion`); `×` is a pair that they allow but whose dtype the operation does not take (`Error::UnsupportedDType`). In a drawing, an arrow leads to the dtype of the sum of both
ends, and arrows that follow from others are left out.

This page is made from the code by `BITLANE_WRITE_DOCS=1 cargo test --test interface promotion_page`, and a test fails if it drifts.
";

const ALL_OPERATIONS: &str = "
# All operations

Rows and columns without any result are left out. Operations with the same tables share them. Predicates give `bool`; their tables show which pairs are allowed. Tables for 0-d tensors follow where
they differ from the tables for other tensors.
";

const CATEGORIES: [Category; 4] =
    [Category::Bool, Category::Int, Category::Float, Category::Complex];

fn cell(op: Op, lhs: Kind, rhs: Kind, rules: Rules) -> String {
    match result_type(op, lhs, rhs, rules) {
        Ok(dtype) => dtype.to_string(),
        Err(error) => match error.kind() {
            ErrorKind::UnsupportedDType => "×".into(),
            _ => "–".into(),
        },
    }
}

/// Returns a table with rows and columns of tensors and, if requested, columns of numbers. Rows and columns without any
/// result are left out.
fn table(
    op: Op,
    rules: Rules,
    lhs: fn(DType) -> Kind,
    rhs: fn(DType) -> Kind,
    numbers: bool,
) -> String {
    let tensors = DType::ALL.iter().map(|&dtype| (dtype.to_string(), rhs(dtype)));
    let scalars =
        CATEGORIES.iter().map(|&category| (format!("*{category}*"), Kind::Scalar(category)));
    let columns: Vec<_> = tensors.chain(scalars.filter(|_| numbers)).collect();
    let cells: Vec<Vec<String>> = DType::ALL
        .iter()
        .map(|&row| columns.iter().map(|(_, rhs)| cell(op, lhs(row), *rhs, rules)).collect())
        .collect();
    let is_result = |cell: &String| !["–", "×"].contains(&cell.as_str());
    let shown: Vec<usize> = (0..columns.len())
        .filter(|&column| cells.iter().any(|row| is_result(&row[column])))
        .collect();
    let mut text = String::from("| |");
    for &column in &shown {
        write!(text, " {} |", columns[column].0).unwrap();
    }
    writeln!(text, "\n|{}", "---|".repeat(shown.len() + 1)).unwrap();
    for (dtype, row) in DType::ALL.iter().zip(&cells).filter(|(_, row)| row.iter().any(is_result)) {
        write!(text, "| **{dtype}** |").unwrap();
        for &column in &shown {
            write!(text, " {} |", row[column]).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Returns the part of the page about an operation under a rulebook.
fn tables(op: Op, rules: Rules) -> String {
    let tensors = table(op, rules, Kind::tensor, Kind::tensor, true);
    let mut text = tensors.clone();
    let plain = table(op, rules, Kind::tensor, Kind::tensor, false);
    for (title, lhs, rhs) in [
        (
            "Tensor with 0-d tensor",
            Kind::tensor as fn(DType) -> Kind,
            Kind::zero_d as fn(DType) -> Kind,
        ),
        ("0-d tensor with tensor", Kind::zero_d, Kind::tensor),
        ("Two 0-d tensors", Kind::zero_d, Kind::zero_d),
    ] {
        let other = table(op, rules, lhs, rhs, false);
        if other != plain {
            write!(text, "\n{title}:\n\n{other}").unwrap();
        }
    }
    text
}

/// Returns a drawing of which dtypes a sum leads to: an arrow from `a` to `b` if `a + b` is `b`, unless it follows from
/// others.
fn drawing(op: Op, rules: Rules) -> String {
    let is_below = |a: DType, b: DType| {
        a != b && result_type(op, Kind::tensor(a), Kind::tensor(b), rules).is_ok_and(|it| it == b)
    };
    let mut text = String::from("```mermaid\ngraph LR\n");
    for &a in DType::ALL {
        for &b in DType::ALL.iter().filter(|&&b| is_below(a, b)) {
            if !DType::ALL.iter().any(|&c| is_below(a, c) && is_below(c, b)) {
                writeln!(text, "  {a} --> {b}").unwrap();
            }
        }
        if !DType::ALL.iter().any(|&b| is_below(a, b) || is_below(b, a)) {
            writeln!(text, "  {a}").unwrap();
        }
    }
    text + "```\n"
}

fn page() -> String {
    let mut page = HEAD.to_string();
    let add = Op::from(BinaryOp::Add);
    for &rules in Rules::ALL {
        let matrix = table(add, rules, Kind::tensor, Kind::tensor, true);
        write!(page, "\n## {rules}\n\n{matrix}\n{}", drawing(add, rules)).unwrap();
    }
    page += ALL_OPERATIONS;
    for &rules in Rules::ALL {
        write!(page, "\n## {rules}, all operations\n").unwrap();
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for &op in Op::ALL {
            let text = tables(op, rules);
            match groups.iter_mut().find(|(other, _)| *other == text) {
                Some((_, names)) => names.push(op.name()),
                None => groups.push((text, vec![op.name()])),
            }
        }
        for (text, names) in groups {
            let names: Vec<_> = names.iter().map(|name| format!("<code>{name}</code>")).collect();
            let names = names.join(", ");
            write!(page, "\n<details><summary>{names}</summary>\n\n{text}\n</details>\n").unwrap();
        }
    }
    page
}

#[test]
fn the_page_says_what_the_code_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/promotion.md");
    let expected = page();
    if env::var_os("BITLANE_WRITE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/promotion.md has drifted; run BITLANE_WRITE_DOCS=1 cargo test --test interface promotion_page"
    );
}
