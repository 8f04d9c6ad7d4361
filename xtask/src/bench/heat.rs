//! Ratios as a heat map.

use std::fmt::Write;

use super::measure::Times;
use super::report::{cases, distinct};

const LEFT: usize = 150;
const TOP: usize = 92;
const CELL: (usize, usize) = (58, 24);

/// Draws the ratios as an SVG: a row per operation and dtype, a column per shape, for new and existing destinations.
pub fn plot(title: &str, times: &[Times]) -> String {
    let rows = distinct(times, |case| &case.row);
    let columns = distinct(times, |case| &case.column);
    let modes: Vec<bool> = [true, false]
        .into_iter()
        .filter(|&fresh| cases(times).any(|t| t.case.fresh == fresh))
        .collect();
    let gap = 16;
    let block = columns.len() * CELL.0 + gap;
    let width = (LEFT + modes.len() * block).max(560);
    let height = TOP + rows.len() * CELL.1 + 46;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"26\" font-size=\"17\" font-weight=\"600\" fill=\"#1a1a1a\">{title}</text>\n\
         <text x=\"12\" y=\"45\" fill=\"#555555\">How many times as fast as the fastest other library</text>\n"
    );
    for (block_index, &fresh) in modes.iter().enumerate() {
        let x = LEFT + block_index * block;
        let heading = if fresh { "new result" } else { "result into a given tensor" };
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"66\" font-weight=\"600\" fill=\"#1a1a1a\">{heading}</text>"
        );
        for (index, column) in columns.iter().enumerate() {
            let middle = x + index * CELL.0 + CELL.0 / 2;
            let y = TOP - 8;
            let _ = writeln!(
                svg,
                "<text x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\" font-size=\"10\" fill=\"#555555\">{column}</text>"
            );
        }
    }
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + index * CELL.1 + 16;
        let x = LEFT - 10;
        let name = row.replace("_", " ").replace(" chain", "").replace('>', " → ");
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\" fill=\"#1a1a1a\">{name}</text>"
        );
    }
    for times in cases(times) {
        let place =
            |names: &[&str], name: &str| names.iter().position(|other| *other == name).unwrap_or(0);
        let mode = modes.iter().position(|&fresh| fresh == times.case.fresh).unwrap_or(0);
        let x = LEFT + mode * block + place(&columns, &times.case.column) * CELL.0;
        let y = TOP + place(&rows, &times.case.row) * CELL.1;
        write_cell(&mut svg, x, y, times.ratio());
    }
    write_legend(&mut svg, height - 30);
    svg.push_str("</svg>\n");
    svg
}

fn write_cell(svg: &mut String, x: usize, y: usize, ratio: Option<f64>) {
    let (fill, text) = match ratio {
        Some(ratio) => (colour(ratio), format!("{ratio:.*}", if ratio < 9.95 { 2 } else { 1 })),
        None => ("#f2f2f2".to_owned(), "–".to_owned()),
    };
    let dark = ratio.is_some_and(|ratio| ratio.log2().abs() > 2.2);
    let ink = if dark { "#ffffff" } else { "#1a1a1a" };
    let (width, height) = (CELL.0 - 2, CELL.1 - 2);
    let (middle, base) = (x + CELL.0 / 2 - 1, y + 15);
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"2\" fill=\"{fill}\"/>\
         <text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\" font-size=\"11\" fill=\"{ink}\">{text}</text>"
    );
}

/// Returns the colour of a ratio: white for equal, blue for faster, orange for slower, darkest from a factor of 8 on.
fn colour(ratio: f64) -> String {
    let strength = (ratio.log2() / 3.0).clamp(-1.0, 1.0);
    let end = if strength < 0.0 { [179, 72, 10] } else { [20, 82, 140] };
    let mix = |channel: i32| 247 + ((channel - 247) as f64 * strength.abs().powf(0.8)) as i32;
    let [red, green, blue] = end.map(mix);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn write_legend(svg: &mut String, y: usize) {
    for (index, (ratio, name)) in
        [(0.25, "¼"), (0.5, "½"), (1.0, "1"), (2.0, "2"), (4.0, "4"), (8.0, "8×")]
            .iter()
            .enumerate()
    {
        let x = LEFT + index * 44;
        let fill = colour(*ratio);
        let base = y + 12;
        let text = x + 20;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"16\" height=\"16\" rx=\"2\" fill=\"{fill}\" stroke=\"#cccccc\" stroke-width=\"0.5\"/>\
             <text x=\"{text}\" y=\"{base}\" fill=\"#555555\">{name}</text>"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::Case;
    use super::*;

    #[test]
    fn colours_tell_faster_from_slower() {
        assert_eq!(colour(1.0), "#f7f7f7");
        assert_eq!(colour(8.0), colour(100.0));
        assert_ne!(colour(2.0), colour(0.5));
    }

    #[test]
    fn every_case_has_a_cell() {
        let case = |fresh| Case { row: "add f32".into(), column: "1K".into(), fresh };
        let times = [
            Times { case: case(true), medians: vec![Some(1.0), Some(3.0)] },
            Times { case: case(false), medians: vec![Some(1.0), None] },
        ];
        let svg = plot("Title", &times);
        assert!(
            svg.contains(">3.00<") && svg.contains(">–<") && svg.contains(">add f32<"),
            "{svg}"
        );
    }
}
