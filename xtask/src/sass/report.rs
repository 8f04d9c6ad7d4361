//! Tables of the figures.

use std::fmt::Write;

use super::budget::{GOALS, Goal, Name};
use super::measure::Figures;
use super::{Measured, markdown};

/// Formats four numbers as `4.2 / 4.3 / 3.3 / 8.5`, with a dash for `None`.
fn numbers(values: [Option<f64>; 4]) -> String {
    let texts = values.map(|value| match value {
        None => "–".to_owned(),
        Some(value) => {
            let text = format!("{value:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    });
    texts.join(" / ")
}

/// Returns the worst figure of all kernels that a budget applies to, by element size.
fn worst(goal: &Goal, measured: &Measured, figure: impl Fn(&Figures) -> f64) -> [Option<f64>; 4] {
    let mut found = [None; 4];
    for figures in measured.kernels.iter().filter(|figures| figures.title.is_none()) {
        let Some(name) = Name::parse(&figures.kernel).filter(|name| goal.covers(name)) else {
            continue;
        };
        let Some(column) = name.column() else { continue };
        if goal.instructions[column].is_some() {
            found[column] = Some(figure(figures).max(found[column].unwrap_or(0.0)));
        }
    }
    found
}

/// Returns a table with one row per budget: PyTorch's worst kernel, if measured, the limit, and the worst kernel on each
/// architecture.
pub fn table(measured: &[Measured], pytorch: Option<&Measured>) -> String {
    let instructions = |figures: &Figures| figures.instructions_per_element;
    let mut header = vec!["instructions per element (8 / 16 / 32 / 64 bit)"];
    header.extend(pytorch.map(|_| "PyTorch (sm_80)"));
    header.push("at most");
    header.extend(measured.iter().map(|measured| &*measured.arch));
    let row = |goal: &Goal| {
        let worst = |measured| numbers(worst(goal, measured, instructions));
        let mut row = vec![goal.title.to_owned()];
        row.extend(pytorch.map(worst));
        row.push(numbers(goal.instructions));
        row.extend(measured.iter().map(worst));
        row
    };
    markdown::table(header, GOALS.iter().map(row))
}

/// Returns a table of the ALU instructions, with one row per budget that limits them.
fn alu_table(measured: &[Measured]) -> String {
    let header = ["ALU instructions per element", "at most"].into_iter();
    let row = |goal: &Goal| {
        let found = |measured| numbers(worst(goal, measured, |figures| figures.alu_per_element));
        let limits = [goal.title.to_owned(), numbers(goal.alu)].into_iter();
        limits.chain(measured.iter().map(found)).collect()
    };
    let limited = GOALS.iter().filter(|goal| goal.alu.iter().any(Option::is_some));
    markdown::table(header.chain(measured.iter().map(|measured| &*measured.arch)), limited.map(row))
}

/// Returns a sentence that names the cases in which PyTorch's kernel takes fewer instructions.
fn losses(measured: &[Measured], pytorch: &Measured) -> String {
    let instructions = |figures: &Figures| figures.instructions_per_element;
    let mut lost = Vec::new();
    for ours in measured.iter().filter(|measured| measured.arch == super::pytorch::ARCH) {
        for goal in GOALS {
            let pairs = worst(goal, ours, instructions)
                .into_iter()
                .zip(worst(goal, pytorch, instructions))
                .zip(["8", "16", "32", "64"]);
            for ((ours, theirs), bits) in pairs {
                if let (Some(ours), Some(theirs)) = (ours, theirs)
                    && theirs < ours
                {
                    lost.push(format!(
                        "{}, {bits} bit ({ours:.2} against {theirs:.2})",
                        goal.title
                    ));
                }
            }
        }
    }
    let lost = if lost.is_empty() { "none".to_owned() } else { lost.join("; ") };
    format!("Cases in which PyTorch's kernel takes fewer instructions: {lost}.\n")
}

/// Returns one line per kernel.
pub fn kernels<'a>(measured: impl Iterator<Item = &'a Measured>) -> String {
    let mut text = String::new();
    for Measured { arch, kernels } in measured {
        let _ = writeln!(
            text,
            "{arch:44} {:>4} {:>5} {:>6} {:>5} {:>6} {:>4} {:>5}",
            "regs", "local", "i/el", "alu", "mul/el", "v128", "inflB"
        );
        for kernel in kernels {
            let _ = writeln!(
                text,
                "{:44} {:4} {:5} {:6.2} {:5.2} {:6.2} {:4.2} {:5}",
                kernel.title.as_ref().unwrap_or(&kernel.kernel),
                kernel.registers,
                kernel.local,
                kernel.instructions_per_element,
                kernel.alu_per_element,
                kernel.multiplications_per_element,
                kernel.wide_share,
                kernel.in_flight
            );
        }
    }
    text
}

/// Returns a page for the documentation.
pub fn page(
    measured: &[Measured],
    pytorch: Option<&Measured>,
    (major, minor): (i32, i32),
) -> String {
    let option = if pytorch.is_some() { "--pytorch " } else { "" };
    let mut text = format!(
        "# What the kernels cost in machine code\n\nWritten by `cargo xtask sass {option}--markdown docs/sass.md`, which fails if a limit is exceeded. \
         Every kernel is compiled by NVRTC {major}.{minor} to the PTX that a\ndevice of the architecture would get, assembled and disassembled, \
         and the instructions on its hot path are counted, including the prologue. Figures are\nthe worst over all dtypes of a \
         size and all operations of a row. No GPU is involved: the figures say how much work there is, not how long it takes.\n\n",
    );
    if pytorch.is_some() {
        text += &super::pytorch::note();
        text += "\n";
    }
    text += &table(measured, pytorch);
    if let Some(pytorch) = pytorch {
        text += "\n";
        text += &losses(measured, pytorch);
    }
    text += "\n";
    text += &alu_table(measured);
    text += "\n";
    text += &super::generated::table(measured);
    text += "\nFunctions of one operand, and the last three of two, `f32` / `f16`: the instructions per element if pairs of `f32` decide, as they do in all but one of a thousand cases. \
             The code for the others is\na subroutine, which is not counted; that of the last three is in `f64`. The last columns are the share of the memory bandwidth that a card reaches for `f32`, by a model in which it issues \
             128\ninstructions per clock and multiprocessor, among them 64 (T4, A100) or 128 multiplications and additions, 64 comparisons and operations on bits, 32 accesses to memory or other threads, and 16 special functions.\n\
             On the B200, 0.35 would take `tan`, `asinh` and `acosh` 100 instructions at most.\n\n";
    text += &super::functions::table(measured);
    text += "\n";
    text += super::reductions::NOTE;
    text += &super::reductions::table(measured);
    text += "\n";
    text += super::tiles::NOTE;
    text += &super::tiles::table(measured);
    text += "\nAlso checked: no local memory and no stack in any kernel (but two words of the `sum` of all `f16` on sm_90); at most 40 registers (row and column 48); no `f64` arithmetic in any function of one `f16` or `f32`, subroutine included, nor on the path of `pow`, `atan2` and `logaddexp` that is counted; all accesses of contiguous operands 128 bits wide\n\
             (column: the one element per row; f64 copysign: ptxas loads only the halves that carry a sign); at least 64 bytes in flight per thread (row and f64\n\
             copysign 48); no index multiplication in contiguous, scalar and row kernels.\n";
    text
}
