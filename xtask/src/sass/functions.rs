//! The machine code of the functions of one and two operands, and what a model makes of it on several cards.

use super::Measured;
use super::cards::{CARDS, find};
use super::markdown::{self, number};

/// The functions, and the largest number of machine instructions per element that their kernels may take for `f32`.
pub const FUNCTIONS: &[(&str, f64)] = &[
    ("exp", 55.0),
    ("exp2", 55.0),
    ("expm1", 70.0),
    ("log", 65.0),
    ("log2", 70.0),
    ("log10", 70.0),
    ("log1p", 85.0),
    ("sinh", 95.0),
    ("cosh", 70.0),
    ("tanh", 85.0),
    ("asinh", 110.0),
    ("acosh", 110.0),
    ("atanh", 95.0),
    ("sin", 75.0),
    ("cos", 75.0),
    ("tan", 110.0),
    ("asin", 85.0),
    ("acos", 85.0),
    ("atan", 75.0),
];

/// Those of two operands, of whose cases a few are left to a subroutine in `f64`.
pub const OF_TWO: &[(&str, f64)] = &[("pow", 135.0), ("atan2", 95.0), ("logaddexp", 150.0)];

/// Returns the title of a function's kernel.
pub fn title(function: &str, dtype: &str) -> String {
    format!("{function} of {dtype}")
}

/// Returns the largest number of instructions of the kernel with this title, if it has one.
pub fn limit(title: &str) -> Option<f64> {
    let (function, dtype) = title.split_once(" of ")?;
    let &(_, limit) = FUNCTIONS.iter().chain(OF_TWO).find(|(name, _)| *name == function)?;
    // A result of 16 bits is rounded twice, which takes some instructions more.
    Some(if dtype == "f32" { limit } else { limit + 15.0 })
}

/// Whether the kernel with this title may contain `f64` instructions, if not on its hot path.
pub fn may_use_f64(title: &str) -> bool {
    OF_TWO.iter().any(|(name, _)| title.split_once(" of ").is_some_and(|(it, _)| it == *name))
}

/// Returns a table with one row per function.
pub fn table(measured: &[Measured]) -> String {
    let header = ["function", "at most"].into_iter();
    let header = header.chain(measured.iter().map(|measured| &*measured.arch));
    // Operands and the result have 4 bytes each.
    let rows = [(FUNCTIONS, 8.0), (OF_TWO, 12.0)];
    let rows = rows.iter().flat_map(|&(rows, bytes)| rows.iter().map(move |row| (row, bytes)));
    let row =
        |((function, limit), bytes): (&(&str, f64), f64)| {
            let of = |arch: &str, dtype| find(measured, arch, &title(function, dtype));
            let mut row = vec![format!("`{function}`"), limit.to_string()];
            row.extend(measured.iter().map(|Measured { arch, .. }| {
                let counts = ["f32", "f16"].map(|dtype| {
                    number(of(arch, dtype).map(|figures| figures.instructions_per_element), 1)
                });
                counts.join(" / ")
            }));
            row.extend(CARDS.iter().map(|card| {
                number(of(card.arch, "f32").map(|figures| card.share(figures, bytes)), 2)
            }));
            row
        };
    markdown::table(header.chain(CARDS.iter().map(|card| card.name)), rows.map(row))
}
