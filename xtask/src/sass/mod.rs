//! `cargo xtask sass`: checks the cost of the kernels in machine instructions, on a machine without a GPU.
//!
//! Each module is compiled to the PTX that a device of the given architecture would get, assembled for it and
//! disassembled, and the instructions on the hot path of each kernel are counted. This says nothing about time.

mod budget;
mod cards;
mod flow;
pub mod functions;
mod generated;
mod listing;
mod markdown;
pub mod measure;
mod pytorch;
pub mod reductions;
mod report;
pub mod tiles;

use std::fs;
use std::path::PathBuf;

use crate::run::root;
use crate::{Outcome, modules, parallel};
use measure::{Figures, Tools};

/// Disassembles the compiled kernels, counts instructions, registers and spills on their hot paths, and checks them
/// against a budget.
#[derive(clap::Args)]
pub struct Options {
    #[arg(long, default_values = ["sm_80", "sm_90", "sm_100"])]
    arch: Vec<String>,
    /// The compiler: 12, 13 or a path.
    #[arg(long, default_value = "12")]
    nvrtc: String,
    /// Only the hand-written kernels of these operations.
    #[arg(long)]
    op: Vec<String>,
    /// Only the hand-written kernels of these dtypes.
    #[arg(long)]
    dtype: Vec<String>,
    /// Only the generated kernels whose titles contain these words.
    #[arg(long)]
    title: Option<String>,
    /// Also those without a budget.
    #[arg(long)]
    all: bool,
    /// Show every kernel.
    #[arg(long)]
    verbose: bool,
    /// Also count PyTorch's kernels for sm_80, for which its wheel (540 MB) is downloaded into target/, and compare.
    #[arg(long)]
    pytorch: bool,
    /// Write a page of the documentation.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// The figures of all kernels on one architecture.
pub struct Measured {
    pub arch: String,
    pub kernels: Vec<Figures>,
}

pub fn run(options: Options) -> Outcome {
    let mut chosen = modules::chosen(&options.op, &options.dtype)?;
    let nvrtc = modules::nvrtc(&options.nvrtc)?;
    chosen.retain(|unit| options.all || unit.has_budget);
    if let Some(words) = &options.title {
        chosen.retain(|unit| unit.title.as_ref().is_some_and(|title| title.contains(words)));
    }

    let tools = Tools::new(nvrtc.version().0)?;
    let folder = root().join("target/sass");
    fs::create_dir_all(&folder)?;
    let mut measured = Vec::new();
    for arch in options.arch {
        let architecture = modules::architecture(&arch)?;
        let results = parallel::map(&arch, &chosen, |unit| {
            let file = folder.join(format!("{}.{arch}.ptx", unit.name));
            fs::write(&file, unit.ptx(&nvrtc, architecture, false)?)?;
            let figures = tools.measure(&file, &arch, unit.terms)?;
            let titled =
                figures.into_iter().map(|figures| Figures { title: unit.title.clone(), ..figures });
            Ok(titled.collect::<Vec<_>>())
        });
        let mut kernels = Vec::new();
        for result in results {
            kernels.extend(result?);
        }
        measured.push(Measured { arch, kernels });
    }

    let pytorch = if options.pytorch { Some(pytorch::measure(&tools)?) } else { None };
    if options.verbose {
        print!("{}", report::kernels(pytorch.iter().chain(&measured)));
    }
    println!("{}", report::table(&measured, pytorch.as_ref()));
    println!("{}", generated::table(&measured));
    println!("{}", functions::table(&measured));
    println!("{}", reductions::table(&measured));
    print!("{}", tiles::table(&measured));
    if let Some(file) = options.markdown {
        fs::write(&file, report::page(&measured, pytorch.as_ref(), nvrtc.version()))?;
    }
    let mut missed = 0;
    for Measured { arch, kernels } in &measured {
        for figures in kernels {
            let violations = match &figures.title {
                None => budget::violations(figures),
                Some(title) => {
                    let mut missed = generated::violations(title, figures);
                    missed.extend(reductions::violations(title, arch, figures));
                    missed.extend(tiles::violations(title, arch, figures));
                    missed
                }
            };
            for violation in violations {
                missed += 1;
                eprintln!(
                    "{arch} {}: {violation}",
                    figures.title.as_ref().unwrap_or(&figures.kernel)
                );
            }
        }
    }
    let count: usize = measured.iter().map(|measured| measured.kernels.len()).sum();
    println!("{count} kernels measured, {missed} budgets missed");
    if missed == 0 { Ok(()) } else { Err(format!("{missed} budgets missed").into()) }
}
