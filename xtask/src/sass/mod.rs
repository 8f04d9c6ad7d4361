//! `cargo xtask sass`: checks the cost of the kernels in machine instructions, on a machine without a GPU.
//!
//! Each module is compiled to the PTX that a device of the given architecture would get, assembled for it and
//! disassembled, and the instructions on the hot path of each kernel are counted. This says nothing about time.

mod budget;
mod flow;
mod generated;
mod listing;
mod measure;
mod report;

use std::fs;
use std::path::PathBuf;

use crate::arguments::Arguments;
use crate::run::root;
use crate::{Command, Outcome, modules, parallel};
use measure::{Figures, Tools};

pub const COMMAND: Command = Command {
    name: "sass",
    usage: "[--arch sm_80]... [--nvrtc 12|13|PATH] [--op NAME]... [--dtype NAME]... [--all] [--verbose] [--markdown FILE]",
    about: "Disassembles the compiled kernels, counts instructions, registers and spills on their hot paths, and \
            checks them against a budget.",
    run,
};

/// The figures of all kernels on one architecture.
pub struct Measured {
    pub arch: String,
    pub kernels: Vec<Figures>,
}

fn run(mut arguments: Arguments) -> Outcome {
    let mut archs = arguments.values("--arch")?;
    if archs.is_empty() {
        archs = ["sm_80", "sm_90", "sm_100"].map(str::to_owned).to_vec();
    }
    let mut chosen = modules::chosen(&mut arguments)?;
    let nvrtc = modules::nvrtc(&mut arguments)?;
    let (every_module, verbose) = (arguments.flag("--all"), arguments.flag("--verbose"));
    let markdown = arguments.value("--markdown")?.map(PathBuf::from);
    arguments.finish()?;
    chosen.retain(|unit| every_module || unit.has_budget);

    let tools = Tools::new(nvrtc.version().0)?;
    let folder = root().join("target/sass");
    fs::create_dir_all(&folder)?;
    let mut measured = Vec::new();
    for arch in archs {
        let architecture = modules::architecture(&arch)?;
        let results = parallel::map(&arch, &chosen, |unit| {
            let file = folder.join(format!("{}.{arch}.ptx", unit.name));
            fs::write(&file, unit.ptx(&nvrtc, architecture)?)?;
            let figures = tools.measure(&file, &arch)?;
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

    let report = report::table(&measured) + "\n" + &generated::table(&measured);
    print!("{}", if verbose { report::kernels(&measured) + &report } else { report.clone() });
    if let Some(file) = markdown {
        fs::write(&file, report::page(&measured, nvrtc.version()))?;
    }
    let mut missed = 0;
    for Measured { arch, kernels } in &measured {
        for figures in kernels {
            let violations = match &figures.title {
                None => budget::violations(figures),
                Some(title) => generated::violations(title, figures),
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
