//! Times over sizes and ranks, as line plots.

use std::fmt::Write;

use super::measure::Times;
use super::peers::Library;
use super::report::cases;

const PANEL: (f64, f64) = (380.0, 300.0);
const LEFT: f64 = 64.0;
const TOP: f64 = 84.0;
const GAP: f64 = 74.0;

/// A panel: times over some columns.
struct Panel<'a> {
    title: &'a str,
    axis: &'a str,
    /// Points by library: the position on the axis, and microseconds.
    lines: Vec<Vec<(f64, f64)>>,
    /// Tick marks of the axis.
    marks: Vec<(f64, String)>,
}

/// Draws three panels as an SVG: new and existing destinations over sizes, and new ones over ranks.
pub fn plot(libraries: &[Library], times: &[Times]) -> String {
    let names = [(0, "1"), (5, "32"), (10, "1 K"), (15, "32 K"), (20, "1 M"), (26, "64 M")];
    let sizes: Vec<(f64, String)> =
        names.iter().map(|(at, name)| (f64::from(*at), (*name).to_owned())).collect();
    let ranks: Vec<(f64, String)> =
        (1..=8).map(|rank| (f64::from(rank), rank.to_string())).collect();
    let lines = |fresh: bool, axis: fn(&str) -> Option<f64>| -> Vec<Vec<(f64, f64)>> {
        let of = |library: usize| {
            let these = cases(times).filter(|times| times.case.fresh == fresh);
            these
                .filter_map(|times| Some((axis(&times.case.column)?, times.medians[library]?)))
                .collect()
        };
        (0..libraries.len()).map(of).collect()
    };
    let panels = [
        Panel {
            title: "new result",
            axis: "elements",
            lines: lines(true, exponent),
            marks: sizes.clone(),
        },
        Panel {
            title: "given result",
            axis: "elements",
            lines: lines(false, exponent),
            marks: sizes,
        },
        Panel {
            title: "64 K elements, new result",
            axis: "dimensions",
            lines: lines(true, rank),
            marks: ranks,
        },
    ];
    let width = LEFT + panels.len() as f64 * (PANEL.0 + GAP);
    let height = TOP + PANEL.1 + 60.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"26\" font-size=\"17\" font-weight=\"600\" fill=\"#1a1a1a\">Cost of a right shift of 32-bit integers</text>\n"
    );
    for (index, library) in libraries.iter().enumerate() {
        let x = 14.0 + 110.0 * index as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"38\" width=\"18\" height=\"4\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"45\" fill=\"#333333\">{}</text>",
            ink(*library),
            x + 24.0,
            library.name()
        );
    }
    for (index, panel) in panels.iter().enumerate() {
        panel.write(&mut svg, LEFT + index as f64 * (PANEL.0 + GAP), libraries);
    }
    svg.push_str("</svg>\n");
    svg
}

impl Panel<'_> {
    fn write(&self, svg: &mut String, left: f64, libraries: &[Library]) {
        let points = self.lines.iter().flatten();
        let (low, high) = points.fold((f64::MAX, f64::MIN), |(low, high), (_, time)| {
            (low.min(time.log10()), high.max(time.log10()))
        });
        let (low, high) =
            if low > high { (0.0, 1.0) } else { (low.floor(), high.ceil().max(low.floor() + 1.0)) };
        let ends =
            self.marks.first().zip(self.marks.last()).map_or((0.0, 1.0), |(a, b)| (a.0, b.0));
        let x = |at: f64| left + (at - ends.0) / (ends.1 - ends.0) * PANEL.0;
        let y = |time: f64| TOP + (high - time.log10()) / (high - low) * PANEL.1;
        let bottom = TOP + PANEL.1;
        let _ = writeln!(
            svg,
            "<text x=\"{left}\" y=\"{}\" font-weight=\"600\" fill=\"#1a1a1a\">{}</text>",
            TOP - 14.0,
            self.title
        );
        for exponent in low as i32..=high as i32 {
            let height = y(10f64.powi(exponent));
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" x2=\"{}\" y1=\"{height:.1}\" y2=\"{height:.1}\" stroke=\"#e3e3e3\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555555\">{}</text>",
                left + PANEL.0,
                left - 6.0,
                height + 4.0,
                duration(exponent)
            );
        }
        for (at, name) in &self.marks {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555555\">{name}</text>",
                x(*at),
                bottom + 18.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555555\">{}</text>",
            left + PANEL.0 / 2.0,
            bottom + 38.0,
            self.axis
        );
        // This crate's line is drawn last, above the others.
        for (index, line) in self.lines.iter().enumerate().rev() {
            let path: Vec<String> =
                line.iter().map(|&(at, time)| format!("{:.1},{:.1}", x(at), y(time))).collect();
            let thickness = if index == 0 { 3.0 } else { 1.6 };
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{thickness}\" \
                 stroke-linejoin=\"round\" stroke-linecap=\"round\"/>",
                path.join(" "),
                ink(libraries[index])
            );
        }
    }
}

/// Returns the colour of a library, from a palette that colour-blind readers can tell apart.
fn ink(library: Library) -> &'static str {
    match library {
        Library::Bitlane => "#14528c",
        Library::NumPy => "#e69f00",
        Library::Torch => "#d55e00",
        Library::Paddle => "#009e73",
        Library::Jax => "#cc79a7",
        Library::NumExpr => "#999999",
        Library::TorchCompile => "#56b4e9",
    }
}

/// Formats a power of ten in microseconds, with a suitable unit.
fn duration(exponent: i32) -> String {
    match exponent {
        ..0 => format!("{} ns", 10i32.pow((exponent + 3).max(0) as u32)),
        0..3 => format!("{} µs", 10i32.pow(exponent as u32)),
        3..6 => format!("{} ms", 10i32.pow(exponent as u32 - 3)),
        _ => format!("{} s", 10i32.pow(exponent as u32 - 6)),
    }
}

/// Returns the binary logarithm of a size such as `64K`.
fn exponent(column: &str) -> Option<f64> {
    let (digits, shift) = match column.strip_suffix('K') {
        Some(digits) => (digits, 10.0),
        None => column.strip_suffix('M').map_or((column, 0.0), |digits| (digits, 20.0)),
    };
    Some(digits.parse::<f64>().ok()?.log2() + shift)
}

/// Returns the rank of a column such as `rank3`.
fn rank(column: &str) -> Option<f64> {
    column.strip_prefix("rank")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_places_on_an_axis() {
        assert_eq!(exponent("1"), Some(0.0));
        assert_eq!(exponent("64K"), Some(16.0));
        assert_eq!(exponent("64M"), Some(26.0));
        assert_eq!(exponent("rank3"), None);
        assert_eq!(rank("rank3"), Some(3.0));
        assert_eq!(rank("64K"), None);
    }

    #[test]
    fn durations_have_their_units() {
        assert_eq!(duration(-3), "1 ns");
        assert_eq!(duration(-1), "100 ns");
        assert_eq!(duration(0), "1 µs");
        assert_eq!(duration(4), "10 ms");
    }
}
