//! The budgets for the machine code of generated kernels.

use super::cards::find;
use super::markdown::{self, number};
use super::measure::Figures;
use super::{Measured, functions};

/// The bounds on the sample with this title.
struct Bound {
    title: &'static str,
    instructions: f64,
    /// The least share of bytes that are moved by 16-byte accesses.
    wide_share: f64,
}

const fn bound(title: &'static str, instructions: f64, wide_share: f64) -> Bound {
    Bound { title, instructions, wide_share }
}

/// The bounds, in machine instructions per element of the result. A row, a column and a stride may cost as much as the
/// hand-written kernel of that shape, and one more for the multiplication.
#[rustfmt::skip]
const BOUNDS: &[Bound] = &[
    bound("f16 + f32", 6.0, 1.0),
    bound("bf16 + f32", 6.0, 1.0),
    bound("u8 + i32", 6.0, 1.0),
    bound("i8 + i32", 6.0, 1.0),
    bound("cast f16 to f32", 3.5, 1.0),
    bound("cast bf16 to f32", 3.5, 1.0),
    bound("cast u8 to f32", 3.5, 1.0),
    bound("cast f32 to f16", 3.5, 1.0),
    bound("cast f32 to bf16", 3.5, 1.0),
    bound("masked f32 + f32", 8.0, 0.9),
    bound("(x >> y) & m, i32", 5.25, 1.0),
    bound("int4 to f16 times a number", 8.0, 0.8),
    // With a scale for each row, whose place takes a division.
    bound("4 bits of u32 to f16 times a scale", 8.75, 0.85),
    // Per word of eight values: three for each.
    bound("words of eight u8 in 4 bits", 24.0, 1.0),
    bound("3 bits of u32 to u8", 16.0, 0.85),
    // A store of 16 bytes holds two `f64`: half an instruction each, beside the copies of the number that the assembler
    // makes for some stores.
    bound("fill of u8", 1.0, 1.0),
    bound("fill of bool", 1.0, 1.0),
    bound("fill of f16", 1.0, 1.0),
    bound("fill of f32", 1.0, 1.0),
    bound("fill of f64", 1.25, 1.0),
    bound("row, (f32 + f32) * number", 5.25, 1.0),
    bound("column, (f32 + f32) * number", 4.5, 0.94),
    bound("every second f32 + number", 17.0, 0.0),
];

/// The largest number of registers of a kernel with a bound.
const REGISTERS: u32 = 64;

/// A kernel of which ptxas keeps two words in local memory, on sm_90 only. It reads them once per 4 KB that a warp adds up.
const SPILLS: &str = "sum of f16, all terms";

/// Returns a text for each way in which a kernel exceeds its bound. No kernel may spill, bound or not.
pub fn violations(title: &str, figures: &Figures) -> Vec<String> {
    let mut missed = Vec::new();
    let is_allowed = title == SPILLS && figures.local <= 2 && figures.stack <= 8;
    if (figures.local != 0 || figures.stack != 0) && !is_allowed {
        missed.push(format!(
            "{} local memory accesses, {} bytes of stack",
            figures.local, figures.stack
        ));
    }
    if let Some(limit) = functions::limit(title) {
        if figures.instructions_per_element > limit {
            let found = figures.instructions_per_element;
            missed.push(format!("instructions per element {found:.2}, at most {limit}"));
        }
        if figures.doubles_per_element != 0.0 {
            missed.push(format!("{} instructions of f64 per element", figures.doubles_per_element));
        } else if figures.doubles != 0 && !functions::may_use_f64(title) {
            missed.push(format!("{} instructions of f64", figures.doubles));
        }
    }
    let Some(bound) = BOUNDS.iter().find(|bound| bound.title == title) else { return missed };
    if figures.instructions_per_element > bound.instructions {
        let found = figures.instructions_per_element;
        missed.push(format!("instructions per element {found:.2}, at most {}", bound.instructions));
    }
    if figures.wide_share < bound.wide_share - 0.005 {
        let found = figures.wide_share;
        missed.push(format!("share of 128-bit accesses {found:.2}, at least {}", bound.wide_share));
    }
    if figures.registers > REGISTERS {
        missed.push(format!("{} registers, at most {REGISTERS}", figures.registers));
    }
    missed
}

/// Returns a table with one row per sample with a bound.
pub fn table(measured: &[Measured]) -> String {
    let header = ["generated", "at most"].into_iter();
    let header = header.chain(measured.iter().flat_map(|it| [&*it.arch, "registers"]));
    let titles = measured.first().into_iter().flat_map(|measured| &measured.kernels);
    let bounds = titles.filter_map(|figures| {
        BOUNDS.iter().find(|bound| Some(bound.title) == figures.title.as_deref())
    });
    let row = |bound: &Bound| {
        let found = measured.iter().filter_map(|it| find(measured, &it.arch, bound.title));
        let found = found.flat_map(|it| {
            [number(Some(it.instructions_per_element), 2), it.registers.to_string()]
        });
        let limits = [bound.title.to_owned(), bound.instructions.to_string()].into_iter();
        limits.chain(found).collect()
    };
    markdown::table(header, bounds.map(row))
}
