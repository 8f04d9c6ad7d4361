//! `cargo xtask bench`: compares the CPU backend with NumPy, PyTorch, Paddle and JAX, and expressions with numexpr and
//! `torch.compile`.
//!
//! Machines are noisy and differ, so the result is the ratio to the fastest of the other libraries on the same case.
//! Each library runs in a process of its own; they take turns on each case, and a process that waits for its turn is
//! stopped (`SIGSTOP`), because idle threads of some libraries spin for a while and would take a core from the one
//! being measured.
//!
//! Tables and plots go to `target/bench`.

mod cases;
mod heat;
mod lines;
mod load;
mod measure;
mod peers;
mod report;
pub mod small_call;

use std::fs;
use std::path::Path;

use clap::ValueEnum;

use self::cases::Grid;
use self::peers::Library;
use crate::Outcome;
use crate::run::root;

/// Compares the speed of the CPU backend with NumPy, PyTorch, Paddle and JAX, and that of expressions with numexpr and
/// torch.compile. Tables and plots go to target/bench.
#[derive(clap::Args)]
pub struct Options {
    /// Only these tables.
    #[arg(long)]
    grid: Vec<Grid>,
    /// Measure fewer cases in fewer rounds.
    #[arg(long)]
    quick: bool,
    #[arg(long)]
    rounds: Option<usize>,
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Only the cases whose names contain this.
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

pub fn run(Options { grid, quick, rounds, threads, only }: Options) -> Outcome {
    let rounds = rounds.unwrap_or(if quick { 3 } else { 5 }).max(1);
    let threads = threads.max(1);
    let grids = if grid.is_empty() { Grid::value_variants().to_vec() } else { grid };
    // A run of selected cases must not overwrite the full tables.
    let folder = root().join(if only.is_some() { "target/bench/only" } else { "target/bench" });
    fs::create_dir_all(&folder)?;
    for grid in grids {
        let mut cases = grid.cases(quick);
        if let Some(word) = &only {
            cases.retain(|case| case.id().contains(word.as_str()));
        }
        let libraries = grid.libraries();
        let measured = measure::take_turns(&cases, libraries, rounds, threads)?;
        write(grid, libraries, &measured, threads, &folder)?;
    }
    Ok(())
}

/// Writes the results, and prints the summary.
fn write(
    grid: Grid,
    libraries: &[Library],
    measured: &measure::Measured,
    threads: usize,
    folder: &Path,
) -> Outcome {
    let path = |ending: &str| folder.join(format!("{}.{ending}", grid.name()));
    let measure::Measured { times, others } = measured;
    let report = report::Report { grid, libraries, times, threads, others: *others };
    fs::write(path("csv"), report.csv())?;
    let summary = report.summary();
    fs::write(path("md"), format!("{summary}\n{}", report.table()))?;
    let plot = match grid {
        Grid::Growth => lines::plot(libraries, times),
        _ => heat::plot(grid.title(), times),
    };
    fs::write(path("svg"), plot)?;
    println!("{summary}\nmore in {}, .csv and .svg\n", path("md").display());
    Ok(())
}
