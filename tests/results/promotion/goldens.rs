//! The matrices of `goldens/promotion.jsonl`, one per line: a library, an operation, which operands
//! are tensors (T), 0-d tensors (Z) or Python numbers (S), and its answer to every pair of dtypes.

use std::fmt;

use bitlane::promote::{Kind, Op, result_type};
use bitlane::{Category, DType, Error, ErrorKind, Rules};

/// A pair of operands and both answers.
pub struct Cell<'a> {
    pub rules: Rules,
    /// The operation's name in the golden file, such as `op.add`.
    pub golden_op: &'a str,
    pub op: Op,
    pub operands: &'a str,
    pub lhs: &'a str,
    pub rhs: &'a str,
    /// A dtype, or `!` and the letter of an error.
    pub answer: &'a str,
    pub ours: Result<DType, Error>,
}

impl Cell<'_> {
    pub fn is(&self, rules: Rules, ops: &[&str]) -> bool {
        self.rules == rules && ops.contains(&self.op.name())
    }

    pub fn dtype(&self) -> Option<DType> {
        self.answer.parse().ok()
    }

    /// Returns the categories of both operands.
    pub fn categories(&self) -> [Category; 2] {
        [self.lhs, self.rhs].map(category)
    }

    pub fn has(&self, name: &str) -> bool {
        self.lhs == name || self.rhs == name
    }

    pub fn has_complex(&self) -> bool {
        self.categories().contains(&Category::Complex)
    }

    pub fn has_scalar(&self) -> bool {
        self.operands.contains('S')
    }

    pub fn asks(&self, answer: &str, operands: &str) -> bool {
        self.answer == answer && self.operands == operands
    }

    /// Returns the dtype of the operand that has dimensions.
    pub fn tensor_dtype(&self) -> DType {
        let name = if self.operands.starts_with('T') { self.lhs } else { self.rhs };
        name.parse().unwrap()
    }

    pub fn ours_is(&self, kind: ErrorKind) -> bool {
        self.ours.as_ref().is_err_and(|error| error.kind() == kind)
    }

    pub fn ours_is_dtype(&self, dtype: DType) -> bool {
        self.ours.as_ref().is_ok_and(|&ours| ours == dtype)
    }

    /// Returns whether the crate agrees with the library.
    pub fn agrees(&self) -> bool {
        match self.answer {
            "!P" | "!D" => self.ours_is(ErrorKind::Promotion),
            // A dtype that the crate lacks, or a missing kernel.
            "!U" | "!C" | "!J" => {
                self.ours_is(ErrorKind::Promotion) || self.ours_is(ErrorKind::UnsupportedDType)
            }
            "!A" => self.ours.is_err(),
            dtype => self.ours.as_ref().is_ok_and(|ours| ours.name() == dtype),
        }
    }
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { rules, golden_op, operands, lhs, rhs, answer, ours, .. } = self;
        write!(f, "{rules}: {golden_op}({lhs}, {rhs}) as {operands} gives {answer}; here ")?;
        match ours {
            Ok(dtype) => write!(f, "{dtype}"),
            Err(error) => write!(f, "{error}"),
        }
    }
}

pub fn category(name: &str) -> Category {
    match name {
        "bool" => Category::Bool,
        "int" => Category::Int,
        "float" => Category::Float,
        "complex" => Category::Complex,
        name => name.parse::<DType>().unwrap().category(),
    }
}

pub struct Matrix {
    pub rules: Rules,
    pub golden_op: String,
    pub op: Op,
    pub operands: String,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    pub table: Vec<Vec<String>>,
}

impl Matrix {
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let (left, right) = self.operands.split_at(1);
        self.rows.iter().zip(&self.table).flat_map(move |(lhs, row)| {
            self.columns.iter().zip(row).map(move |(rhs, answer)| Cell {
                rules: self.rules,
                golden_op: &self.golden_op,
                op: self.op,
                operands: &self.operands,
                lhs,
                rhs,
                answer,
                ours: result_type(self.op, kind(left, lhs), kind(right, rhs), self.rules),
            })
        })
    }
}

pub fn kind(operand: &str, name: &str) -> Kind {
    match operand {
        "T" => Kind::tensor(name.parse().unwrap()),
        "Z" => Kind::zero_d(name.parse().unwrap()),
        _ => Kind::Scalar(category(name)),
    }
}

/// All matrices.
pub struct Goldens(pub Vec<Matrix>);

impl Goldens {
    pub fn read() -> Self {
        let lines = include_str!("../../goldens/promotion.jsonl").lines();
        Goldens(lines.map(|line| parse(&serde_json::from_str(line).unwrap())).collect())
    }

    /// Returns whether the function has any answer when one operand is a number.
    pub fn takes_scalars(&self, cell: &Cell) -> bool {
        self.0
            .iter()
            .find(|matrix| {
                matrix.rules == cell.rules
                    && matrix.golden_op == cell.golden_op
                    && matrix.operands == cell.operands
            })
            .is_some_and(|matrix| matrix.table.iter().flatten().any(|cell| !cell.starts_with('!')))
    }

    /// Returns whether the library refuses the common dtype of a cell even if both operands have it. Only Paddle (whose
    /// wheel for CPUs lacks kernels) and Torch's newer unsigned dtypes have such gaps.
    pub fn lacks_kernel(&self, cell: &Cell) -> bool {
        let [left, right] = [0, 1].map(|at| &cell.operands[at..=at]);
        let common = if cell.lhs == cell.rhs {
            cell.lhs.parse()
        } else {
            // The result of a predicate does not show the dtype it computes in; that of `select` does.
            let op = if cell.ours_is_dtype(DType::Bool) { named("select") } else { cell.op };
            result_type(op, kind(left, cell.lhs), kind(right, cell.rhs), cell.rules)
        };
        let Ok(common) = common else { return false };
        let has_gaps = match cell.rules {
            Rules::Paddle => true,
            Rules::Torch => matches!(common, DType::U16 | DType::U32 | DType::U64),
            Rules::NumPy | Rules::Jax => false,
        };
        let refuses_twice = |matrix: &Matrix| {
            let at = |names: &[String]| names.iter().position(|name| name == common.name());
            let cell = at(&matrix.rows).zip(at(&matrix.columns));
            cell.is_some_and(|(row, column)| matrix.table[row][column] == "!U")
        };
        let same_op = |matrix: &&Matrix| (matrix.rules, matrix.op) == (cell.rules, cell.op);
        has_gaps && self.0.iter().filter(same_op).any(refuses_twice)
    }
}

pub fn named(op: &str) -> Op {
    op.parse().unwrap()
}

pub fn parse(line: &serde_json::Value) -> Matrix {
    let text = |key: &str| line[key].as_str().unwrap().to_string();
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let golden_op = text("op");
    let name = match golden_op.as_str() {
        "op.add" => "add",
        "op.sub" => "subtract",
        "op.mul" => "multiply",
        "op.truediv" => "divide",
        "op.floordiv" => "floor_divide",
        "op.mod" => "remainder",
        "op.pow" => "pow",
        "op.lshift" => "bitwise_left_shift",
        "op.and_" => "bitwise_and",
        "op.eq" => "equal",
        // `select` copies values without computing, so its dtype follows the general rule.
        "result_type" => "select",
        name => name,
    };
    let rows = line["table"].as_array().unwrap();
    Matrix {
        rules: text("lib").parse().unwrap(),
        op: named(name),
        operands: text("operands"),
        rows: words(&text("rows")),
        columns: words(&text("cols")),
        table: rows.iter().map(|row| words(row.as_str().unwrap())).collect(),
        golden_op,
    }
}
