//! The tables of operations in `docs/semantics.md` are made from the op table; this test fails if they are out of date
//! or if the page does not mention an operation.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use bitlane::promote::{Kind, Op, reduce_result_type, result_type, unary_result_type};
use bitlane::{BinaryOp, DType, ReduceOp, Rules, UnaryOp};

/// Returns the dtypes for which something is defined, in words.
fn dtypes(is_defined: impl Fn(DType) -> bool) -> String {
    type Class = (&'static str, fn(DType) -> bool);
    const CLASSES: [Class; 4] = [
        ("bool", |dtype| dtype == DType::Bool),
        ("integers", DType::is_int),
        ("floats", DType::is_float),
        ("complex", DType::is_complex),
    ];
    let mut words = Vec::new();
    for (word, contains) in CLASSES {
        let mut class = DType::ALL.iter().filter(|&&dtype| contains(dtype));
        let defined = class.clone().filter(|&&dtype| is_defined(dtype)).count();
        assert!(defined == 0 || class.all(|&dtype| is_defined(dtype)), "a part of {word}");
        if defined > 0 {
            words.push(word);
        }
    }
    if words.len() == CLASSES.len() { "all".into() } else { words.join(", ") }
}

/// Returns the dtype of the results, in words.
fn results(result: impl Fn(DType) -> Option<DType>) -> &'static str {
    let pairs: Vec<_> =
        DType::ALL.iter().filter_map(|&dtype| Some((dtype, result(dtype)?))).collect();
    if pairs.iter().all(|(from, to)| from == to) {
        "the same"
    } else if pairs.iter().all(|(_, to)| *to == DType::Bool) {
        "bool"
    } else if pairs.iter().all(|(_, to)| *to == DType::I64) {
        "`i64`"
    } else if pairs.iter().all(|(from, to)| from == to || (to.is_int() && to.size() == 8)) {
        "`i64`, `u64`, or the same"
    } else if pairs.iter().all(|(from, to)| from == to || (!from.is_float() && to.is_float())) {
        // What is left is a function of floats, which converts its operand, or a part of a complex number.
        if pairs.iter().all(|(from, _)| from.is_complex()) {
            "the part's dtype"
        } else if pairs.iter().all(|(from, to)| from == to || from.is_complex()) {
            "the same, or the part's dtype"
        } else {
            "the float"
        }
    } else {
        panic!("no words for {pairs:?}")
    }
}

fn row(page: &mut String, name: &str, dtypes: &str, result: &str, description: &str) {
    let description = description.replace('|', "\\|");
    writeln!(page, "| `{name}` | {dtypes} | {result} | {description} |").unwrap();
}

/// Returns the tables with their titles in the page.
fn tables() -> [(&'static str, String); 3] {
    let head = "| operation | dtypes | result | |\n|---|---|---|---|\n";
    let [mut binary, mut unary, mut reductions] = [head; 3].map(String::from);
    for &op in BinaryOp::ALL {
        let defined = dtypes(|dtype| op.is_defined_for(dtype));
        // Operands of other dtypes are converted to one of these first.
        let result = results(|dtype| {
            let kind = Kind::tensor(dtype);
            op.is_defined_for(dtype).then(|| result_type(op, kind, kind, Rules::Paddle).unwrap())
        });
        row(&mut binary, op.name(), &defined, result, op.description());
    }
    for &op in UnaryOp::ALL {
        let defined = dtypes(|dtype| op.is_defined_for(dtype));
        let result = results(|dtype| unary_result_type(op, dtype, Rules::Paddle).ok());
        row(&mut unary, op.name(), &defined, result, op.description());
    }
    for &op in ReduceOp::ALL {
        let defined = dtypes(|dtype| op.is_defined_for(dtype));
        let result = results(|dtype| reduce_result_type(op, dtype, Rules::Paddle).ok());
        row(&mut reductions, op.name(), &defined, result, op.description());
    }
    [("binary operations", binary), ("unary operations", unary), ("reductions", reductions)]
}

#[test]
fn the_tables_of_operations_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/semantics.md");
    let found = fs::read_to_string(&path).unwrap();
    let mut expected = found.clone();
    for (title, table) in tables() {
        let start = format!("<!-- {title} -->\n");
        let from = expected.find(&start).expect("the page has a place for the table") + start.len();
        let len = expected[from..].find("<!-- end -->").expect("the table ends");
        expected.replace_range(from..from + len, &table);
    }
    if env::var_os("BITLANE_WRITE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
        return;
    }
    assert!(
        found == expected,
        "the tables in docs/semantics.md have drifted; run BITLANE_WRITE_DOCS=1 cargo test --test promotion_page"
    );
}

/// `select` and the losses have no generated table.
#[test]
fn the_page_mentions_every_operation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/semantics.md");
    let page = fs::read_to_string(path).unwrap();
    for op in Op::ALL {
        let name = op.name().strip_suffix("_loss").unwrap_or(op.name());
        let is_there =
            [format!("`{name}`"), format!("`{name}(")].iter().any(|it| page.contains(it));
        assert!(is_there, "docs/semantics.md does not mention {name}");
    }
}
