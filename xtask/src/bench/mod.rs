//! `cargo xtask bench`: compares the CPU backend with NumPy, PyTorch, Paddle and JAX, and expressions with numexpr and
//! `torch.compile`. `compare.py` measures and reports, with a Python of its own, and `plots.py` draws; `worker.py` is the
//! side of the others, and `benches/peers` ours.

pub mod small_call;

use std::{env, fs};

use crate::overhead::build;
use crate::run::{command, finish, root};
use crate::{Failure, Outcome, python};

/// Compares the speed of the CPU backend with NumPy, PyTorch, Paddle and JAX, and that of expressions with numexpr and
/// torch.compile. Tables and plots go to target/bench.
#[derive(clap::Args)]
pub struct Options {
    /// Only these tables: two jobs in the time of each library (overview), shifts and copysign (1), other operations, mixed dtypes and casts (2), reductions and running
    /// sums (3), operations of one operand (functions), chains of operations (expr), whole jobs (jobs), formats of quantised weights (quant), one
    /// operation over sizes and ranks (growth).
    #[arg(long, value_parser = ["overview", "1", "2", "3", "functions", "expr", "jobs", "quant", "growth"])]
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
    let mut folders = vec![python::install("peers", &PACKAGES)?];
    if grid.is_empty() || grid.iter().any(|grid| grid == "quant") {
        // Apart, so that the large packages need not be fetched again; their NumPy comes first.
        folders.push(python::install("quant-peers", &["gguf==0.19.0"])?);
    }
    comparison.env("PYTHONPATH", env::join_paths(folders)?);
    comparison.arg(root().join("xtask/src/bench/compare.py"));
    comparison.arg("--peers").arg(build("peers", "")?);
    comparison.arg("--formats").arg(build("formats", "-p bitlane-quant")?);
    comparison.arg("--out").arg(root().join("target/bench"));
    comparison.arg("--logs").arg(root().join("target/peers"));
    comparison.args(["--versions", &versions()?]);
    comparison.args(["--threads", &threads.to_string()]);
    comparison.args(grid.iter().flat_map(|grid| ["--grid", grid]));
    comparison.args(quick.then_some("--quick"));
    comparison.args(rounds.map(|rounds| format!("--rounds={rounds}")));
    comparison.args(only.map(|only| format!("--only={only}")));
    finish(&mut comparison)
}

/// Returns the libraries and their versions, this one first, by the names that `compare.py` has for them.
fn versions() -> Result<String, Failure> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let mut lines = manifest.lines().skip_while(|line| *line != "[package]");
    let own = lines.find_map(|line| line.strip_prefix("version = ")).unwrap_or_default();
    let others = PACKAGES[..6].join(", ").replace("==", " ").replace("paddlepaddle", "paddle");
    Ok(format!("bitlane {}, {others}", own.trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a measurement, which takes the other libraries: every table can be drawn, and every chain is written out.
    #[test]
    fn every_table_has_a_plot() {
        let drawing = "
import sys; sys.path.insert(0, sys.argv[1]); import compare, types, xml.dom.minidom
options = types.SimpleNamespace(versions=sys.argv[2], threads=2)
def times(case, grid):
    times = compare.Times(case, grid.libraries)
    for index, library in enumerate(grid.libraries): times.taken[library] = [1 + (hash(case) + 7 * index) % 50]
    return times
for grid in compare.GRIDS.values():
    svg = compare.plot(grid, [times(case, grid) for case in grid.cases(False)], options)
    drawn = xml.dom.minidom.parseString(svg)
    assert drawn.getElementsByTagName('title')[0].firstChild.data == compare.title(grid)
    texts = [text.firstChild.data for text in drawn.getElementsByTagName('text') if text.firstChild]
    assert not any(word in text.split() for text in texts[3:] for word in 'numpy torch jax mix axpy step2'.split()), texts
    assert 'prefers-color-scheme:dark' in svg and texts[2].startswith('bitlane '), texts
    assert all(row in compare.FORMULAS for row in grid.rows if row.split()[1] in ('chain', 'job'))";
        let mut python = command("python3");
        python.args(["-c", drawing]).arg(root().join("xtask/src/bench"));
        finish(python.arg(versions().unwrap())).unwrap();
    }
}
