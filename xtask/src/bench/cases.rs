//! The benchmark cases.

use super::peers::Library;

/// A case: an operation on dtypes, a shape, and whether the result is allocated.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The operation and the dtypes, such as `right_shift i32`, `add f16+f32` or `cast f32>f16`.
    pub row: String,
    /// The shape, such as `16M` or `row`.
    pub column: String,
    /// Whether the result is a new tensor; otherwise it is written to an existing one.
    pub fresh: bool,
}

impl Case {
    /// Returns the case in the form that workers parse.
    pub fn id(&self) -> String {
        format!("{} {} {}", self.row, self.column, self.mode())
    }

    pub fn mode(&self) -> &'static str {
        if self.fresh { "fresh" } else { "out" }
    }

    /// Returns the case that measures the machine's memory bandwidth: a triad over three arrays of 16 M 32-bit numbers.
    pub fn triad() -> Case {
        Case { row: "triad f32".into(), column: "16M".into(), fresh: false }
    }

    /// Returns the bytes that the case reads and writes per element of the result, assuming that both operands and the
    /// result have the same dtype and shape; `None` if the row does not name a single dtype.
    pub fn bytes_per_element(&self) -> Option<usize> {
        let bits = self.row.split(' ').nth(1)?.strip_prefix(['u', 'i', 'f'])?;
        Some(3 * bits.parse::<usize>().ok()? / 8)
    }
}

/// The cases of one table.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Grid {
    /// Shifts and copysign, over dtypes and shapes.
    #[value(name = "1")]
    First,
    /// Other operations, mixed dtypes and casts.
    #[value(name = "2")]
    Second,
    /// Chains of operations.
    #[value(name = "expr")]
    Chains,
    /// Reductions and running sums, over all elements, rows and columns.
    #[value(name = "3")]
    Third,
    /// Whole jobs: softmax, layer normalisation, quantisation and a search.
    Jobs,
    /// One operation, over sizes and ranks.
    Growth,
}

impl Grid {
    /// Returns the name of its files.
    pub fn name(self) -> &'static str {
        match self {
            Grid::First => "operations",
            Grid::Second => "dtypes",
            Grid::Chains => "expressions",
            Grid::Third => "reductions",
            Grid::Jobs => "jobs",
            Grid::Growth => "growth",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Grid::First => "Shifts and copysign",
            Grid::Second => "Other operations, mixed dtypes and casts",
            Grid::Chains => "Chains of operations",
            Grid::Third => "Reductions and running sums",
            Grid::Jobs => "Whole jobs",
            Grid::Growth => "Cost over sizes and ranks",
        }
    }

    /// Returns the libraries compared; the first is this crate.
    pub fn libraries(self) -> &'static [Library] {
        use Library::{Bitlane, Jax, NumExpr, NumPy, Paddle, Torch, TorchCompile};
        match self {
            Grid::Chains => &[Bitlane, NumPy, Torch, NumExpr, Jax, TorchCompile],
            Grid::Third => &[Bitlane, NumPy, Torch, Jax],
            Grid::Jobs => &[Bitlane, NumPy, Torch, Jax, TorchCompile],
            _ => &[Bitlane, NumPy, Torch, Paddle, Jax],
        }
    }

    /// Returns the cases in the order of the table: by row, then by column.
    pub fn cases(self, quick: bool) -> Vec<Case> {
        let modes: &[bool] = match self {
            Grid::Chains | Grid::Third | Grid::Jobs => &[true],
            _ => &[true, false],
        };
        let columns = self.columns();
        let mut cases = Vec::new();
        for row in self.rows(quick) {
            for column in &columns {
                for &fresh in modes {
                    cases.push(Case { row: row.clone(), column: column.clone(), fresh });
                }
            }
        }
        cases
    }

    fn columns(self) -> Vec<String> {
        let shapes: &[&str] = match self {
            Grid::First => &[
                "1",
                "1K",
                "64K",
                "1M",
                "16M",
                "row",
                "column",
                "scalar",
                "transposed",
                "permuted",
                "step2",
            ],
            Grid::Second => &["1K", "1M", "16M"],
            Grid::Chains => &["64K", "16M"],
            Grid::Third => {
                let sizes = ["64K", "1M", "16M"];
                let ways = ["", "/rows", "/columns"];
                return ways
                    .iter()
                    .flat_map(|way| sizes.map(|size| format!("{size}{way}")))
                    .collect();
            }
            Grid::Jobs => &["whole"],
            Grid::Growth => {
                let sizes = (0..=26).map(power_of_two);
                return sizes.chain((1..=8).map(|rank| format!("rank{rank}"))).collect();
            }
        };
        shapes.iter().map(|shape| (*shape).to_owned()).collect()
    }

    fn rows(self, quick: bool) -> Vec<String> {
        let rows = |op: &str, dtypes: &[&str]| -> Vec<String> {
            dtypes.iter().map(|dtype| format!("{op} {dtype}")).collect()
        };
        match self {
            Grid::First if quick => [
                rows("left_shift", &["u8", "i64"]),
                rows("right_shift", &["i8", "i16", "i32"]),
                rows("copysign", &["f16", "f32"]),
            ]
            .concat(),
            Grid::First => [
                rows("left_shift", &["u8", "i8", "i16", "i32", "i64"]),
                rows("right_shift", &["u8", "i8", "i16", "i32", "i64"]),
                rows("logical_shift", &["i8", "i16", "i32", "i64"]),
                rows("copysign", &["f16", "f32", "f64"]),
            ]
            .concat(),
            Grid::Second if quick => [
                rows("add", &["f32", "f16", "bf16"]),
                rows("multiply", &["i8"]),
                rows("bitwise_and", &["u8"]),
                rows("add", &["bf16+f32", "i32+f32"]),
                rows("cast", &["f16>f32", "f32>f16", "u8>f32"]),
            ]
            .concat(),
            Grid::Second => [
                rows("add", &["f32", "f16", "bf16", "i32"]),
                rows("multiply", &["i8"]),
                rows("divide", &["f32", "i32"]),
                rows("maximum", &["f32"]),
                rows("less_than", &["f32"]),
                rows("equal", &["i64"]),
                rows("bitwise_and", &["u8"]),
                rows("add", &["f16+f32", "bf16+f32", "i32+f32", "u8+i32"]),
                rows("multiply", &["f16+bf16"]),
                rows("cast", &["f16>f32", "f32>f16", "f32>bf16", "u8>f32", "i64>i32"]),
            ]
            .concat(),
            Grid::Chains => ["nibbles", "dequant", "mix", "axpy", "poly", "sign", "halfmix"]
                .map(|name| format!("{name} chain"))
                .to_vec(),
            Grid::Third if quick => [
                rows("sum", &["f32", "u8"]),
                rows("max", &["f32", "f16"]),
                rows("argmax", &["f32"]),
                rows("var", &["f32"]),
                rows("cumsum", &["f32"]),
            ]
            .concat(),
            Grid::Third => [
                rows("sum", &["f32", "f16", "i32", "u8"]),
                rows("mean", &["f32", "f16"]),
                rows("max", &["f32", "f16", "i32", "u8"]),
                rows("argmax", &["f32", "f16", "i32", "u8"]),
                rows("var", &["f32", "f16"]),
                rows("cumsum", &["f32", "f16", "i32", "u8"]),
            ]
            .concat(),
            Grid::Jobs => ["softmax", "layernorm", "quantise", "hamming"]
                .map(|name| format!("{name} job"))
                .to_vec(),
            Grid::Growth => rows("right_shift", &["i32"]),
        }
    }
}

/// Formats a power of two in the form that workers parse.
fn power_of_two(exponent: u32) -> String {
    match exponent {
        0..10 => (1 << exponent).to_string(),
        10..20 => format!("{}K", 1 << (exponent - 10)),
        _ => format!("{}M", 1 << (exponent - 20)),
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_case_is_four_words_and_there_once() {
        for &grid in Grid::value_variants() {
            let all: Vec<String> = grid.cases(false).iter().map(Case::id).collect();
            for (place, id) in all.iter().enumerate() {
                assert_eq!(id.split(' ').count(), 4, "{id}");
                assert!(!all[..place].contains(id), "{id} is there twice");
            }
            let quick: Vec<String> = grid.cases(true).iter().map(Case::id).collect();
            assert!(quick.iter().all(|id| all.contains(id)), "{grid:?}");
        }
    }

    #[test]
    fn bytes_are_those_of_two_operands_and_a_result() {
        let bytes = |row: &str| Case { row: row.into(), ..Case::triad() }.bytes_per_element();
        assert_eq!(bytes("right_shift i32"), Some(12));
        assert_eq!(bytes("copysign f16"), Some(6));
        assert_eq!(bytes("add f16+f32"), None);
        assert_eq!(bytes("axpy chain"), None);
    }
}
