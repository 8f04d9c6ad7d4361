//! The machine code of the functions of one operand, and what a model makes of it on several cards.

use std::fmt::Write;

use super::Measured;
use super::cards::{CARDS, find};

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

/// Returns the title of a function's kernel.
pub fn title(function: &str, dtype: &str) -> String {
    format!("{function} of {dtype}")
}

/// Returns the largest number of instructions of the kernel with this title, if it has one.
pub fn limit(title: &str) -> Option<f64> {
    let (function, dtype) = title.split_once(" of ")?;
    let &(_, limit) = FUNCTIONS.iter().find(|(name, _)| *name == function)?;
    // A result of 16 bits is rounded twice, which takes some instructions more.
    Some(if dtype == "f32" { limit } else { limit + 15.0 })
}

/// Returns a table with one row per function.
pub fn table(measured: &[Measured]) -> String {
    let all = measured;
    let mut text = String::from("| function | at most |");
    for measured in measured {
        let _ = write!(text, " {} |", measured.arch); // writing to a String cannot fail
    }
    for card in CARDS {
        let _ = write!(text, " {} |", card.name);
    }
    text += "\n|---|---|";
    text += &"---|".repeat(measured.len() + CARDS.len());
    text += "\n";
    for (function, limit) in FUNCTIONS {
        let single = title(function, "f32");
        let _ = write!(text, "| `{function}` | {limit} |");
        for measured in measured {
            let numbers = ["f32", "f16"].map(|dtype| {
                find(all, &measured.arch, &title(function, dtype))
                    .map_or("–".to_owned(), |it| format!("{:.1}", it.instructions_per_element))
            });
            let _ = write!(text, " {} |", numbers.join(" / "));
        }
        for card in CARDS {
            let share = find(all, card.arch, &single)
                .map_or("–".to_owned(), |figures| format!("{:.2}", card.share(figures, 8.0)));
            let _ = write!(text, " {share} |");
        }
        text += "\n";
    }
    text
}
