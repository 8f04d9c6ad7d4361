//! The machine code of kernels with turned operands, and what a model makes of it on several cards.

use std::fmt::Write;

use bitlane::DType;

use super::Measured;
use super::cards::{CARDS, Card, find};
use super::measure::Figures;

/// A copy of a transposed matrix, or the sum of one and another that is not transposed.
#[derive(Clone, Copy)]
pub struct Row {
    pub dtype: DType,
    pub adds: bool,
}

/// The least share of the bandwidth of every card that a kernel may reach in the model.
const LEAST: f64 = 0.7;

/// The bytes of the smallest access to memory.
const SECTOR: f64 = 32.0;

/// Returns the kernels, in the order of the table.
pub fn rows() -> impl Iterator<Item = Row> {
    use DType::{F16, F32, U8};
    let all = [F32, F16, U8].into_iter();
    all.clone()
        .map(|dtype| Row { dtype, adds: false })
        .chain(all.map(|dtype| Row { dtype, adds: true }))
}

impl Row {
    pub fn title(&self) -> String {
        let what = if self.adds { "sum" } else { "copy" };
        format!("transposed {what} of {}", self.dtype)
    }

    /// Returns the bytes that are moved per element. A tile reads and writes whole sectors.
    fn bytes(&self) -> f64 {
        self.dtype.size() as f64 * if self.adds { 3.0 } else { 2.0 }
    }

    /// Returns the share of the bandwidth that is left if every element that is read from a transposed matrix takes a sector
    /// of its own.
    fn without_tiles(&self) -> f64 {
        self.bytes() / (self.bytes() - self.dtype.size() as f64 + SECTOR)
    }

    fn share(&self, card: &Card, figures: &Figures) -> f64 {
        card.share(figures, self.bytes())
    }
}

/// What the documentation says before the table.
pub const NOTE: &str = "\
Transposed matrices, which are read and written in tiles through shared memory, in whole sectors of 32 bytes: instructions per element, registers, the share of the bandwidth by the same model, and the share
that would be left if every element took a sector of its own.\n\n";

/// Returns a text for each bound that the kernel with this title exceeds on an architecture.
pub fn violations(title: &str, arch: &str, figures: &Figures) -> Vec<String> {
    let Some(row) = rows().find(|row| row.title() == title) else { return Vec::new() };
    let cards = CARDS.iter().filter(|card| card.arch == arch);
    let shares = cards.map(|card| (card.name, row.share(card, figures)));
    shares
        .filter(|(_, share)| *share < LEAST)
        .map(|(name, share)| {
            format!("share of the bandwidth of {name} {share:.2}, at least {LEAST}")
        })
        .collect()
}

/// Returns a table with one row per kernel.
pub fn table(measured: &[Measured]) -> String {
    let mut text = String::from("| transposed |");
    for measured in measured {
        let _ = write!(text, " {} | registers |", measured.arch); // writing to a String cannot fail
    }
    for card in CARDS {
        let _ = write!(text, " {} |", card.name);
    }
    text += " without tiles |\n|---|";
    text += &"---|".repeat(2 * measured.len() + CARDS.len() + 1);
    text += "\n";
    for row in rows() {
        let title = row.title();
        let name = title.trim_start_matches("transposed ");
        let _ = write!(text, "| {name} |");
        let of = |arch: &str| find(measured, arch, &title);
        for measured in measured {
            let cell = of(&measured.arch).map_or("– | –".to_owned(), |it| {
                format!("{:.2} | {}", it.instructions_per_element, it.registers)
            });
            let _ = write!(text, " {cell} |");
        }
        for card in CARDS {
            let share = of(card.arch)
                .map_or("–".to_owned(), |figures| format!("{:.2}", row.share(card, figures)));
            let _ = write!(text, " {share} |");
        }
        let _ = writeln!(text, " {:.2} |", row.without_tiles());
    }
    text
}
