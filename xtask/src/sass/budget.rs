//! The budgets for machine code. At these instruction counts, kernels of every shape and dtype are estimated to be
//! memory-bound on A100, H100 and B200.

use super::measure::Figures;

/// A budget, with figures by element size: 8, 16, 32 and 64 bits. `None` means that there is no such kernel or no
/// figure.
pub struct Goal {
    pub title: &'static str,
    pub shape: &'static str,
    pub ops: &'static [&'static str],
    pub instructions: [Option<f64>; 4],
    pub alu: [Option<f64>; 4],
    pub multiplications: [f64; 4],
}

const LEFT: &str = "bitwise_left_shift";
const RIGHT: &str = "bitwise_right_shift";
const LOGICAL: &str = "bitwise_right_shift_logical";
const SHIFTS: &[&str] = &[LEFT, RIGHT, LOGICAL];
const COPYSIGN: &[&str] = &["copysign"];

const fn all(a: f64, b: f64, c: f64, d: f64) -> [Option<f64>; 4] {
    [Some(a), Some(b), Some(c), Some(d)]
}
const fn floats(b: f64, c: f64, d: f64) -> [Option<f64>; 4] {
    [None, Some(b), Some(c), Some(d)]
}
const UNKNOWN: [Option<f64>; 4] = [None; 4];
const NONE: [f64; 4] = [0.0; 4];
const COLUMN: [f64; 4] = [0.05; 4];
const GENERAL: [f64; 4] = [1.0, 2.0, 3.75, 7.25];
const GATHER: [f64; 4] = [2.5, 3.0, 4.25, 7.5];

#[rustfmt::skip]
pub const GOALS: &[Goal] = &[
    Goal { title: "contiguous shift", shape: "contig", ops: SHIFTS,
        instructions: all(4.5, 4.75, 4.0, 10.0), alu: all(3.75, 3.25, 1.5, 5.0), multiplications: NONE },
    Goal { title: "contiguous copysign", shape: "contig", ops: COPYSIGN,
        instructions: floats(2.0, 4.0, 7.25), alu: floats(0.75, 1.5, 2.0), multiplications: NONE },
    Goal { title: "tensor–scalar shift, zeros enter", shape: "scalar", ops: &[LEFT, LOGICAL],
        instructions: all(1.0, 2.5, 2.75, 5.0), alu: all(0.6, 1.75, 2.0, 2.5), multiplications: NONE },
    Goal { title: "tensor–scalar shift, arithmetic", shape: "scalar", ops: &[RIGHT],
        instructions: all(1.25, 2.5, 2.75, 5.0), alu: all(0.85, 1.75, 2.0, 2.5), multiplications: NONE },
    Goal { title: "tensor–scalar copysign", shape: "scalar", ops: COPYSIGN,
        instructions: floats(2.5, 2.75, 5.0), alu: floats(1.75, 2.0, 2.5), multiplications: NONE },
    Goal { title: "row broadcast, shift", shape: "row", ops: SHIFTS,
        instructions: all(3.75, 4.25, 4.25, 9.0), alu: all(3.0, 2.75, 2.75, 4.0), multiplications: NONE },
    Goal { title: "row broadcast, copysign", shape: "row", ops: COPYSIGN,
        instructions: floats(4.25, 4.25, 9.0), alu: floats(2.75, 2.75, 4.0), multiplications: NONE },
    Goal { title: "column broadcast, shift", shape: "col", ops: SHIFTS,
        instructions: all(1.5, 2.75, 3.5, 7.0), alu: all(1.0, 2.0, 1.75, 3.5), multiplications: COLUMN },
    Goal { title: "column broadcast, copysign", shape: "col", ops: COPYSIGN,
        instructions: floats(2.75, 3.5, 7.0), alu: floats(2.0, 1.75, 3.5), multiplications: COLUMN },
    Goal { title: "4-D, inner contiguous, shift", shape: "gen4", ops: SHIFTS,
        instructions: all(6.25, 8.5, 11.0, 24.5), alu: all(4.0, 4.0, 4.0, 9.0), multiplications: GENERAL },
    Goal { title: "4-D, inner contiguous, copysign", shape: "gen4", ops: COPYSIGN,
        instructions: floats(8.5, 11.0, 24.5), alu: floats(4.0, 4.0, 9.0), multiplications: GENERAL },
    Goal { title: "4-D, strided inner, shift", shape: "gath4", ops: SHIFTS,
        instructions: all(12.0, 13.5, 17.0, 28.0), alu: UNKNOWN, multiplications: GATHER },
    Goal { title: "4-D, strided inner, copysign", shape: "gath4", ops: COPYSIGN,
        instructions: floats(13.5, 17.0, 28.0), alu: UNKNOWN, multiplications: GATHER },
];

/// The parts of a kernel's name, `{shape}_{op}_{dtype}`.
pub struct Name<'a> {
    pub shape: &'a str,
    pub op: &'a str,
    pub dtype: &'a str,
}

impl Name<'_> {
    pub fn parse(kernel: &str) -> Option<Name<'_>> {
        let (shape, rest) = kernel.split_once('_')?;
        let (op, dtype) = rest.rsplit_once('_')?;
        Some(Name { shape, op, dtype })
    }

    /// Returns the index of the dtype's element size among the four.
    pub fn column(&self) -> Option<usize> {
        let bits = self.dtype.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        ["8", "16", "32", "64"].iter().position(|&column| column == bits)
    }
}

impl Goal {
    /// Returns whether the budget applies to a kernel. Copysign of integers, which negates, is not covered by that of
    /// floats.
    pub fn covers(&self, name: &Name) -> bool {
        let is_float = name.dtype.starts_with(['f', 'b']);
        self.shape == name.shape
            && self.ops.contains(&name.op)
            && (is_float || self.ops != COPYSIGN)
    }
}

/// A kernel that keeps one register in local memory, on sm_100 only: ptxas does so around its own routine for the
/// division of doubles, which takes far longer than the access.
const SAVES_A_REGISTER: &str = "row_divide_f64";

/// Returns a text for each way in which a kernel exceeds its budget. Kernels without a budget must not spill either.
pub fn violations(figures: &Figures) -> Vec<String> {
    let mut missed = Vec::new();
    let mut at_most = |what: &str, found: f64, limit: f64| {
        if found > limit {
            missed.push(format!("{what} {found:.2}, at most {limit}"));
        }
    };
    let saved = f64::from(u8::from(figures.kernel == SAVES_A_REGISTER));
    at_most("local memory accesses", figures.local as f64, 2.0 * saved);
    at_most("stack", f64::from(figures.stack), 8.0 * saved);
    let Some(name) = Name::parse(&figures.kernel) else { return missed };
    let (Some(goal), Some(column)) = (GOALS.iter().find(|goal| goal.covers(&name)), name.column())
    else {
        return missed;
    };
    let Some(instructions) = goal.instructions[column] else { return missed };
    at_most("instructions per element", figures.instructions_per_element, instructions);
    at_most(
        "ALU instructions per element",
        figures.alu_per_element,
        goal.alu[column].unwrap_or(f64::INFINITY),
    );
    at_most(
        "multiplications per element",
        figures.multiplications_per_element,
        goal.multiplications[column],
    );
    at_most(
        "registers",
        f64::from(figures.registers),
        if matches!(name.shape, "row" | "col") { 48.0 } else { 40.0 },
    );
    // ptxas loads only those halves of an f64 that carry a sign; a gather loads single elements.
    let half_loads = name.op == "copysign" && name.dtype == "f64";
    if name.shape != "gath4" {
        let wide = if half_loads {
            0.8
        } else if name.shape == "col" {
            0.94
        } else {
            1.0
        };
        if figures.wide_share < wide - 0.005 {
            missed.push(format!(
                "share of 128-bit accesses {:.2}, at least {wide}",
                figures.wide_share
            ));
        }
        let in_flight = if half_loads || name.shape == "row" { 48 } else { 64 };
        if figures.in_flight < in_flight {
            missed.push(format!("bytes in flight {}, at least {in_flight}", figures.in_flight));
        }
    }
    missed
}
