//! The machine code of the functions of one operand, and what a model makes of it on several cards.

use std::fmt::Write;

use super::Measured;
use super::measure::Figures;

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

/// A card: its memory bandwidth, its multiprocessors and their clock, and the elements per clock of the multiplication
/// pipe of each. All issue 128 instructions per clock, 64 of them to the pipe of logic and comparisons, 16 to that of
/// special functions.
struct Card {
    name: &'static str,
    /// The architecture whose machine code is nearest.
    arch: &'static str,
    gigabytes: f64,
    multiprocessors: f64,
    gigahertz: f64,
    multiplications: f64,
}

const fn card(name: &'static str, arch: &'static str, figures: [f64; 4]) -> Card {
    let [gigabytes, multiprocessors, gigahertz, multiplications] = figures;
    Card { name, arch, gigabytes, multiprocessors, gigahertz, multiplications }
}

const CARDS: &[Card] = &[
    card("T4", "sm_80", [320.0, 40.0, 1.59, 64.0]),
    card("3090", "sm_80", [936.0, 82.0, 1.70, 128.0]),
    card("4090", "sm_80", [1008.0, 128.0, 2.52, 128.0]),
    card("5090", "sm_100", [1792.0, 170.0, 2.41, 128.0]),
    card("A100", "sm_80", [2039.0, 108.0, 1.41, 64.0]),
    card("H100", "sm_90", [3350.0, 132.0, 1.75, 128.0]),
    card("B200", "sm_100", [8000.0, 148.0, 1.85, 128.0]),
];

impl Card {
    /// Returns the share of the bandwidth that a function of one `f32` reaches if its instructions are all that takes time.
    fn share(&self, figures: &Figures) -> f64 {
        let clocks = [
            figures.instructions_per_element / 128.0,
            figures.alu_per_element / 64.0,
            figures.multiply_per_element / self.multiplications,
            figures.special_per_element / 16.0,
        ];
        let elements =
            self.multiprocessors * self.gigahertz / clocks.into_iter().fold(0.0, f64::max);
        (elements * 8.0 / self.gigabytes).min(1.0)
    }
}

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
    let find = |arch: &str, title: &str| {
        let of_arch = measured.iter().find(|measured| measured.arch == arch)?;
        of_arch.kernels.iter().find(|figures| figures.title.as_deref() == Some(title))
    };
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
                find(&measured.arch, &title(function, dtype))
                    .map_or("–".to_owned(), |it| format!("{:.1}", it.instructions_per_element))
            });
            let _ = write!(text, " {} |", numbers.join(" / "));
        }
        for card in CARDS {
            let share = find(card.arch, &single)
                .map_or("–".to_owned(), |figures| format!("{:.2}", card.share(figures)));
            let _ = write!(text, " {share} |");
        }
        text += "\n";
    }
    text
}
