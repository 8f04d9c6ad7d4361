//! Summaries and tables of the results.

use std::fmt::Write;

use super::cases::{Case, Grid};
use super::measure::{EQUAL, Times};
use super::peers::{self, Library};

/// If other programs keep more cores busy than this, on average, ratios are meaningless: when two threads spin on each
/// other, as those of PyTorch do, and one of them has no core, 20 µs become 20 ms, and the fastest of the other
/// libraries is whichever uses no threads.
const QUIET: f64 = 0.2;

pub struct Report<'a> {
    pub grid: Grid,
    pub libraries: &'a [Library],
    pub times: &'a [Times],
    pub threads: usize,
    /// How many cores other programs kept busy, on average.
    pub others: Option<f64>,
}

/// Iterates over the cases of a table, without the triad.
pub fn cases(times: &[Times]) -> impl Iterator<Item = &Times> {
    times.iter().filter(|times| times.case != Case::triad())
}

/// Returns the distinct columns or rows of the cases, in order.
pub fn distinct(times: &[Times], name: fn(&Case) -> &str) -> Vec<&str> {
    let mut names = Vec::new();
    for times in cases(times) {
        if !names.contains(&name(&times.case)) {
            names.push(name(&times.case));
        }
    }
    names
}

impl Report<'_> {
    /// Returns the means, the slower cases and the share of the memory bandwidth that is used, in Markdown.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "## {}\n\nTimes of the fastest of {} over ours ({}; {} threads; medians, taking turns).\n\n",
            self.grid.title(),
            self.libraries[1..].iter().map(|library| library.name()).collect::<Vec<_>>().join(", "),
            peers::versions(),
            self.threads,
        );
        match self.others {
            Some(others) if others > QUIET => {
                let _ = writeln!(
                    text,
                    "**Not valid: other programs kept {others:.1} cores busy, on average. Libraries with threads \
                     suffer most from that, so the ratios are too high. Measure again on a quiet machine.**\n"
                );
            }
            Some(_) => {}
            None => text.push_str("Whether the machine was quiet is not known.\n\n"),
        }
        self.write_means(&mut text);
        let ratios: Vec<f64> = cases(self.times).filter_map(Times::ratio).collect();
        let slower: Vec<&Times> = self.slower();
        let _ = writeln!(
            text,
            "\nAll: {} over {} cases, {} slower.",
            shown(geometric_mean(&ratios)),
            ratios.len(),
            slower.len()
        );
        self.write_triad(&mut text);
        if !slower.is_empty() {
            let _ = writeln!(
                text,
                "\n| slower than {EQUAL} | ratio | ours µs | fastest | µs |\n|---|---|---|---|---|"
            );
        }
        for times in slower {
            if let (Some(ratio), Some(ours), Some((peer, theirs))) =
                (times.ratio(), times.ours(), times.fastest_peer())
            {
                let name = self.libraries[peer].name();
                let _ = writeln!(
                    text,
                    "| {} | {ratio:.2} | {} | {name} | {} |",
                    times.case.id(),
                    micros(ours),
                    micros(theirs)
                );
            }
        }
        text
    }

    /// Writes the geometric mean and the worst ratio of every column.
    fn write_means(&self, text: &mut String) {
        let columns = distinct(self.times, |case| &case.column);
        let _ = writeln!(text, "| geometric mean (worst) | {} |", columns.join(" | "));
        let _ = writeln!(text, "|---|{}", "---|".repeat(columns.len()));
        for fresh in [true, false] {
            let cells: Vec<String> = columns
                .iter()
                .map(|column| {
                    let ratios: Vec<f64> = cases(self.times)
                        .filter(|times| times.case.column == *column && times.case.fresh == fresh)
                        .filter_map(Times::ratio)
                        .collect();
                    match ratios.iter().copied().min_by(f64::total_cmp) {
                        Some(worst) => format!("{} ({worst:.2})", shown(geometric_mean(&ratios))),
                        None => "–".into(),
                    }
                })
                .collect();
            if cells.iter().any(|cell| cell != "–") {
                let mode = if fresh { "fresh" } else { "`out`" };
                let _ = writeln!(text, "| {mode} | {} |", cells.join(" | "));
            }
        }
    }

    /// Writes the bytes per second of contiguous cases, compared with those of the triad.
    fn write_triad(&self, text: &mut String) {
        let triad = self.times.iter().find(|times| times.case == Case::triad());
        let Some(triad) = triad.and_then(Times::ours) else { return };
        let shares: Vec<(String, f64)> = cases(self.times)
            .filter(|times| times.case.column == "16M")
            .filter_map(|times| {
                let share = triad / times.ours()? * times.case.bytes_per_element()? as f64 / 12.0;
                Some((format!("{} {}", times.case.row, times.case.mode()), share))
            })
            .collect();
        let gigabytes = 12.0 * (16 << 20) as f64 / triad / 1e3;
        let _ = writeln!(text, "\nA streaming triad by hand moves {gigabytes:.1} GB/s.");
        let all: Vec<String> =
            shares.iter().map(|(name, share)| format!("{name} {:.0} %", share * 100.0)).collect();
        let numbers: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
        if let Some(mean) = geometric_mean(&numbers) {
            let _ = writeln!(
                text,
                "Of that, contiguous 16 M reach {:.0} % (geometric mean): {}.",
                mean * 100.0,
                all.join(", ")
            );
        }
    }

    /// Returns the cases that are slower, the slowest first.
    fn slower(&self) -> Vec<&Times> {
        let mut slower: Vec<&Times> = cases(self.times).filter(|times| times.is_slower()).collect();
        let ratio = |times: &Times| times.ratio().unwrap_or(f64::INFINITY);
        slower.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
        slower
    }

    /// Returns the microseconds of every library for every case, in Markdown.
    pub fn table(&self) -> String {
        let names: Vec<&str> = self.libraries.iter().map(|library| library.name()).collect();
        let mut text = format!(
            "| µs | {} | ratio |\n|---|---|{}",
            names.join(" | "),
            "---|".repeat(names.len())
        );
        text.push('\n');
        for times in self.times {
            let cells: Vec<String> =
                times.medians.iter().map(|time| time.map_or("–".into(), micros)).collect();
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                times.case.id(),
                cells.join(" | "),
                shown(times.ratio())
            );
        }
        text
    }

    /// Returns the same as CSV.
    pub fn csv(&self) -> String {
        let names: Vec<&str> = self.libraries.iter().map(|library| library.name()).collect();
        let mut text = format!("row,column,mode,{}\n", names.join(","));
        for Times { case, medians } in self.times {
            let cells: Vec<String> = medians
                .iter()
                .map(|time| time.map_or(String::new(), |time| format!("{time:.4}")))
                .collect();
            let _ =
                writeln!(text, "{},{},{},{}", case.row, case.column, case.mode(), cells.join(","));
        }
        text
    }
}

fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (sum / ratios.len() as f64).exp())
}

fn shown(ratio: Option<f64>) -> String {
    ratio.map_or("–".into(), |ratio| format!("{ratio:.2}"))
}

/// Formats microseconds with three significant digits.
fn micros(time: f64) -> String {
    match time {
        time if time < 10.0 => format!("{time:.2}"),
        time if time < 100.0 => format!("{time:.1}"),
        _ => format!("{time:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(column: &str, medians: [f64; 2]) -> Times {
        let case = Case { row: "right_shift i32".into(), column: column.into(), fresh: true };
        Times { case, medians: medians.map(Some).to_vec() }
    }

    #[test]
    fn a_summary_has_means_and_names_what_is_slower() {
        let all = [
            times("1K", [1.0, 4.0]),
            times("16M", [10.0, 10.0]),
            times("row", [10.0, 5.0]),
            Times { case: Case::triad(), medians: vec![Some(9.0), None] },
        ];
        let libraries = &[Library::Bitlane, Library::NumPy];
        let report =
            Report { grid: Grid::First, libraries, times: &all, threads: 2, others: Some(0.1) };
        let text = report.summary();
        assert!(text.contains("| fresh | 4.00 (4.00) | 1.00 (1.00) | 0.50 (0.50) |"), "{text}");
        assert!(text.contains("All: 1.26 over 3 cases, 1 slower."), "{text}");
        assert!(text.contains("right_shift i32 fresh 90 %"), "{text}");
        assert!(
            text.contains("| right_shift i32 row fresh | 0.50 | 10.0 | numpy | 5.00 |"),
            "{text}"
        );
        assert!(report.csv().contains("right_shift i32,row,fresh,10.0000,5.0000\n"));
        assert!(!text.contains("Not valid"), "{text}");
        let busy = Report { others: Some(3.0), ..report };
        assert!(
            busy.summary().contains("Not valid: other programs kept 3.0 cores"),
            "{}",
            busy.summary()
        );
    }
}
