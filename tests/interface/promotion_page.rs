//! `docs/promotion.md` is generated from the answers of `result_type`, and the tables in `docs/semantics.md` from the op
//! table; this test fails if they are out of date. `BITLANE_WRITE_DOCS=1 cargo test --test interface promotion_page`
//! regenerates them.

mod operations;

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use bitlane::promote::{Kind, Op, result_type};
use bitlane::{Category, DType, ErrorKind, Rules};

const HEAD: &str = "# Type promotion

The dtype of a result under each of the four rulebooks, as `promote::result_type` gives it. This page is made from the code by
`BITLANE_WRITE_DOCS=1 cargo test --test interface promotion_page`, and a test fails if it drifts.

Rows are the left operand, columns the right one. `–` is a pair that the rules refuse (`Error::Promotion`); `×` is a pair
that they allow but whose dtype the operation does not take (`Error::UnsupportedDType`). Rows and columns of nothing else are left
out. Operations with the same tables share them. Predicates give `bool`; their tables show which pairs are allowed.

Columns after the dtypes are numbers, by category. Tables for 0-d tensors follow where they differ from the tables for other
tensors.
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

fn page() -> String {
    let mut page = HEAD.to_string();
    for &rules in Rules::ALL {
        write!(page, "\n## {rules}\n").unwrap();
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for &op in Op::ALL {
            let text = tables(op, rules);
            match groups.iter_mut().find(|(other, _)| *other == text) {
                Some((_, names)) => names.push(op.name()),
                None => groups.push((text, vec![op.name()])),
            }
        }
        for (text, names) in groups {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            write!(page, "\n### {}\n\n{text}", names.join(", ")).unwrap();
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
