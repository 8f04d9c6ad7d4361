//! The machine code of reductions, and what a model makes of it on several cards.

use bitlane::{DType, ReduceOp};

use super::Measured;
use super::cards::{CARDS, Card, find};
use super::markdown::{self, number};
use super::measure::{Counted, Figures};
use crate::samples;

/// The threads of a block.
const THREADS: usize = 256;

/// The bytes that a thread loads at once.
const VECTOR: usize = 16;

/// A reduction whose cost is bounded: the operation, the dtype of its terms, and which of them make up a result.
#[derive(Clone, Copy)]
pub struct Row {
    pub op: ReduceOp,
    pub dtype: DType,
    pub terms: Terms,
}

/// The terms of one result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Terms {
    All,
    /// A row of this length.
    Row(usize),
    Column,
}

/// How many rows there are.
pub const ROWS_OF_TERMS: usize = 1 << 16;

/// Returns the reductions, in the order of the table.
pub fn rows() -> impl Iterator<Item = Row> {
    use DType::{BF16, F16, F32, F64, I8, I32};
    use Terms::{All, Column, Row as Of};
    let of = |op, dtypes: &'static [DType], kinds: &'static [Terms]| {
        kinds
            .iter()
            .flat_map(move |&terms| dtypes.iter().map(move |&dtype| Row { op, dtype, terms }))
    };
    const KINDS: &[Terms] = &[All, Of(300), Column];
    const LENGTHS: &[Terms] = &[Of(129), Of(257), Of(301), Of(500)];
    of(ReduceOp::Sum, &[F32, F16, BF16, F64, I32], KINDS)
        .chain(of(ReduceOp::Sum, &[F32, F16], LENGTHS))
        .chain(of(ReduceOp::Max, &[F32, F16, I32, I8], KINDS))
        .chain(of(ReduceOp::Max, &[F32], LENGTHS))
        .chain(of(ReduceOp::Min, &[F32], KINDS))
        .chain(of(ReduceOp::Mean, &[F32], KINDS))
        .chain(of(ReduceOp::Prod, &[F32], KINDS))
        .chain(of(ReduceOp::Argmax, &[F32], KINDS))
}

impl Row {
    pub fn title(&self) -> String {
        let of = match self.terms {
            Terms::All => "all terms".into(),
            Terms::Row(len) => format!("rows of {len}"),
            Terms::Column => "columns".into(),
        };
        format!("{} of {}, {of}", self.op, self.dtype)
    }

    /// Returns what the figures of the kernel, whose launch has this number of blocks, are divided by.
    pub fn counted(&self, blocks: usize) -> Counted {
        let size = self.dtype.size();
        let (per_thread, has_rest) = match self.terms {
            Terms::Row(len) => {
                let terms = (ROWS_OF_TERMS * len) as f64 / (blocks * THREADS) as f64;
                (Some(terms), !len.is_multiple_of(VECTOR / size))
            }
            Terms::All | Terms::Column => (None, false),
        };
        Counted { size, per_thread, has_rest }
    }

    /// Returns the share of the bandwidth of a card that the kernel should reach in the model. Consumer cards do few `f64`
    /// operations, in which sums, products and means are computed.
    fn goal(&self, card: &Card) -> f64 {
        let is_wide = matches!(self.op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean);
        match self.terms {
            _ if is_wide && card.is_for_consumers() => 0.7,
            Terms::All => 0.9,
            Terms::Row(_) | Terms::Column => 0.8,
        }
    }

    /// Returns the least share that the kernel may reach: the goal, or what was reached where it is missed.
    fn least(&self, card: &Card) -> f64 {
        let is_it =
            |&&(title, name, _): &&(&str, &str, f64)| title == self.title() && name == card.name;
        BELOW.iter().find(is_it).map_or(self.goal(card), |&(.., least)| least)
    }

    fn share(&self, card: &Card, figures: &Figures) -> f64 {
        card.share(figures, self.dtype.size() as f64)
    }
}

/// Where the goals are missed: the reduction, the card, and the least share that it may reach there. Sums of two bytes take
/// more instructions than the fastest cards have for so many, bytes are compared one by one, and a product multiplies every
/// term in `f64`.
#[rustfmt::skip]
const BELOW: &[(&str, &str, f64)] = &[
    ("sum of f32, rows of 129", "3090", 0.64),
    ("sum of f32, rows of 129", "B200", 0.74),
    ("sum of f16, rows of 129", "3090", 0.62),
    ("sum of f16, rows of 129", "A100", 0.69),
    ("sum of f16, rows of 129", "H100", 0.62),
    ("sum of f16, rows of 129", "B200", 0.29),
    ("sum of f32, rows of 257", "3090", 0.64),
    ("sum of f32, rows of 257", "B200", 0.74),
    ("sum of f16, rows of 257", "B200", 0.43),
    ("sum of f16, rows of 300", "B200", 0.50),
    ("sum of bf16, rows of 300", "B200", 0.50),
    ("sum of f16, rows of 301", "B200", 0.50),
    ("sum of f16, rows of 500", "B200", 0.62),
    ("sum of f16, columns", "B200", 0.67),
    ("sum of bf16, columns", "B200", 0.70),
    ("max of i8, all terms", "B200", 0.57),
    ("max of i8, rows of 300", "A100", 0.74),
    ("max of i8, rows of 300", "H100", 0.55),
    ("max of i8, rows of 300", "B200", 0.34),
    ("max of i8, columns", "A100", 0.78),
    ("max of i8, columns", "H100", 0.72),
    ("max of i8, columns", "B200", 0.38),
    ("mean of f32, rows of 300", "3090", 0.62),
    ("prod of f32, all terms", "3090", 0.54),
    ("prod of f32, rows of 300", "T4", 0.63),
    ("prod of f32, rows of 300", "3090", 0.47),
    ("prod of f32, columns", "3090", 0.58),
    ("argmax of f32, all terms", "B200", 0.57),
    ("argmax of f32, rows of 300", "H100", 0.78),
    ("argmax of f32, rows of 300", "B200", 0.47),
    ("argmax of f32, columns", "B200", 0.57),
];

/// Returns where the goals are missed, as a sentence of the documentation.
fn missed(measured: &[Measured]) -> String {
    let misses = rows().filter_map(|row| {
        let title = row.title();
        let on = CARDS.iter().filter_map(|card| {
            let share = row.share(card, find(measured, card.arch, &title)?);
            (share < row.goal(card)).then(|| format!("{} {share:.2}", card.name))
        });
        let on: Vec<_> = on.collect();
        (!on.is_empty()).then(|| format!("{title} ({})", on.join(", ")))
    });
    let misses: Vec<_> = misses.collect();
    if misses.is_empty() {
        "The goals are reached everywhere".into()
    } else {
        format!("They are missed by: {}", misses.join("; "))
    }
}

/// What the documentation says before the table.
pub const NOTE: &str = "\
Reductions of 1 M terms to one (of which the second launch, which adds up at most 1,024 parts, is not counted), of 65,536 rows and of columns of 1,024: the launches, the instructions per term, the `f64` operations
among them and the bytes that a thread has in flight (both for the first architecture), and the share of the bandwidth by the same model, in which T4, 3090, 4090 and 5090 do 2 `f64` operations per clock
and multiprocessor, A100 32, H100 and B200 64. The code is that of the nearest of the architectures. For rows, the instructions of all threads are divided by the terms
that there are, so that idle threads and the terms that vectors leave over (in rows of 129, 257 and 301, and of 300 with less than four bytes) are counted. In columns, each group of terms takes one more addition on average than is counted.\n\n";

/// Returns a text for each bound that the kernel with this title exceeds on an architecture.
pub fn violations(title: &str, arch: &str, figures: &Figures) -> Vec<String> {
    let mut missed = Vec::new();
    let Some(row) = rows().find(|row| row.title() == title) else { return missed };
    for card in CARDS.iter().filter(|card| card.arch == arch) {
        let (share, least) = (row.share(card, figures), row.least(card));
        if share < least {
            missed.push(format!(
                "share of the bandwidth of {} {share:.2}, at least {least}",
                card.name
            ));
        }
    }
    let in_flight = if row.terms == Terms::All { 128 } else { 16 };
    if figures.in_flight < in_flight {
        missed.push(format!("bytes in flight {}, at least {in_flight}", figures.in_flight));
    }
    missed
}

/// Returns a table with one row per reduction.
pub fn table(measured: &[Measured]) -> String {
    let header = ["reduction"].into_iter().chain(measured.iter().map(|measured| &*measured.arch));
    let header =
        header.chain(["launches", "`f64`", "bytes"]).chain(CARDS.iter().map(|card| card.name));
    let line = |row: Row| {
        let title = row.title();
        let of = |arch: &str| find(measured, arch, &title);
        let mut line = vec![title.clone()];
        line.extend(measured.iter().map(|measured| {
            number(of(&measured.arch).map(|figures| figures.instructions_per_element), 2)
        }));
        line.push(samples::launches(&row).map_or_else(|_| "–".into(), |all| all.len().to_string()));
        if let Some(figures) = measured.first().and_then(|first| of(&first.arch)) {
            line.push(number(Some(figures.doubles_per_element), 2));
            line.push(figures.in_flight.to_string());
        }
        line.extend(
            CARDS
                .iter()
                .map(|card| number(of(card.arch).map(|figures| row.share(card, figures)), 2)),
        );
        line
    };
    let goals = "The goals are 0.9 for all terms and 0.8 for rows and columns; for sums, products and means 0.7 on T4, 3090, 4090 and 5090.";
    format!("{}\n{goals} {}.\n", markdown::table(header, rows().map(line)), missed(measured))
}
