//! `cargo xtask bench`: compares the CPU backend with NumPy, PyTorch, Paddle and JAX, and expressions with numexpr and
//! `torch.compile`. `compare.py` measures and reports, with a Python of its own, and `plots.py` draws; `worker.py` is the side of the
//! others, and `benches/peers` ours.

pub mod small_call;

use crate::Outcome;
use crate::overhead::build;
use crate::python;
use crate::run::{command, finish, root};

/// Compares the speed of the CPU backend with NumPy, PyTorch, Paddle and JAX, and that of expressions with numexpr and
/// torch.compile. Tables and plots go to target/bench.
#[derive(clap::Args)]
pub struct Options {
    /// Only these tables: shifts and copysign (1), other operations, mixed dtypes and casts (2), reductions and running
    /// sums (3), operations of one operand (functions), chains of operations (expr), whole jobs (jobs), one operation over sizes and ranks (growth).
    #[arg(long, value_parser = ["1", "2", "3", "functions", "expr", "jobs", "growth"])]
    grid: Vec<String>,
    /// Measure fewer cases in fewer rounds.
    #[arg(long)]
    quick: bool,
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
    /// Only the cases whose names contain this.
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

/// The packages on PyPI, with the versions that are measured.
const PACKAGES: [&str; 7] = [
    "numpy==2.4.6",
    "torch==2.15.0",
    "paddlepaddle==3.3.1",
    "jax==0.10.2",
    "jaxlib==0.10.2",
    "numexpr==2.14.2",
    "setuptools==84.2.1", // torch.compile imports it
];

pub fn run(Options { grid, quick, rounds, threads, only }: Options) -> Outcome {
    let mut comparison = command("python3");
    comparison.env("PYTHONPATH", python::install("peers", &PACKAGES)?);
    comparison.arg(root().join("xtask/src/bench/compare.py"));
    comparison.arg("--peers").arg(build("peers", "")?);
    comparison.arg("--out").arg(root().join("target/bench"));
    comparison.arg("--logs").arg(root().join("target/peers"));
    comparison.args(["--versions", &PACKAGES[..6].join(", ").replace("==", " ")]);
    comparison.args(["--threads", &threads.to_string()]);
    comparison.args(grid.iter().flat_map(|grid| ["--grid", grid]));
    comparison.args(quick.then_some("--quick"));
    comparison.args(rounds.map(|rounds| format!("--rounds={rounds}")));
    comparison.args(only.map(|only| format!("--only={only}")));
    finish(&mut comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a measurement, which takes the other libraries: every table can be drawn, and every chain is written out.
    #[test]
    fn every_table_has_a_plot() {
        let drawing = "
import sys; sys.path.insert(0, sys.argv[1]); import compare, xml.dom.minidom
for grid in compare.GRIDS.values():
    ratios = {tuple(case): 0.5 + index % 9 for index, case in enumerate(grid.cases(False))}
    svg = compare.drawn(grid, ['of < others'], ratios)
    assert xml.dom.minidom.parseString(svg).getElementsByTagName('title')[0].firstChild.data == grid.title
    assert all(row in compare.FORMULAS for row in grid.rows if row.split()[1] in ('chain', 'job'))
times = {library: [(1, 0.2), (32, 3.0)] for library in compare.LIBRARIES}
xml.dom.minidom.parseString(compare.plots.lines('growth', [], [('new', 'elements', True, times)]))";
        let mut python = command("python3");
        finish(python.args(["-c", drawing]).arg(root().join("xtask/src/bench"))).unwrap();
    }
}
