//! The machine code of reductions, and what a model makes of it on several cards.

use bitlane::{DType, ReduceOp};

use super::Measured;
use super::cards::{CARDS, Card, find};
use super::markdown::{self, number};
use super::measure::Figures;

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
    /// A row of a few hundred.
    Row,
    Column,
}

/// Returns the reductions, in the order of the table.
pub fn rows() -> impl Iterator<Item = Row> {
    use DType::{BF16, F16, F32, F64, I8, I32};
    let of = |op, dtypes: &'static [DType]| {
        let kinds = [Terms::All, Terms::Row, Terms::Column];
        kinds
            .into_iter()
            .flat_map(move |terms| dtypes.iter().map(move |&dtype| Row { op, dtype, terms }))
    };
    of(ReduceOp::Sum, &[F32, F16, BF16, F64, I32]).chain(of(ReduceOp::Max, &[F32, F16, I32, I8]))
}

impl Row {
    pub fn title(&self) -> String {
        let of = match self.terms {
            Terms::All => "all terms",
            Terms::Row => "rows of 300",
            Terms::Column => "columns",
        };
        format!("{} of {}, {of}", self.op, self.dtype)
    }

    /// Returns the least share of the bandwidth of a card that the kernel may reach in the model.
    fn least(&self, card: &Card) -> f64 {
        use DType::{BF16, F16, I8};
        let is_fastest = card.name == "B200";
        match (self.op, self.dtype) {
            // Short of the goals: sums of two bytes take more instructions than this card has for so many, and bytes are
            // compared one by one.
            (ReduceOp::Sum, F16 | BF16) if is_fastest => 0.65,
            (ReduceOp::Max, I8) if is_fastest => 0.35,
            (ReduceOp::Max, I8) if self.terms == Terms::Column => 0.7,
            (ReduceOp::Sum, _) if card.is_for_consumers() => 0.7,
            _ if self.terms != Terms::All => 0.8,
            _ => 0.9,
        }
    }

    fn share(&self, card: &Card, figures: &Figures) -> f64 {
        card.share(figures, self.dtype.size() as f64)
    }
}

/// What the documentation says before the table.
pub const NOTE: &str = "\
Reductions of 1 M terms to one (of which the second launch, which adds up at most 1,024 parts, is not counted), of rows of 300 and of columns of 1,024: the instructions per term, the `f64` operations
among them and the bytes that a thread has in flight (both for the first architecture), and the share of the bandwidth by the same model, in which T4, 3090, 4090 and 5090 do 2 `f64` operations per clock
and multiprocessor, A100 32, H100 and B200 64. The code is that of the nearest of the architectures. In columns, each group of terms takes one more addition on average than is counted.\n\n";

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
    let header = header.chain(["`f64`", "bytes"]).chain(CARDS.iter().map(|card| card.name));
    let line = |row: Row| {
        let title = row.title();
        let of = |arch: &str| find(measured, arch, &title);
        let mut line = vec![title.clone()];
        line.extend(measured.iter().map(|measured| {
            number(of(&measured.arch).map(|figures| figures.instructions_per_element), 2)
        }));
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
    markdown::table(header, rows().map(line))
}
