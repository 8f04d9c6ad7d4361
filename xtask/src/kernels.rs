//! `cargo xtask kernels`: compiles every kernel the crate can launch, so that none fails at a user's first call.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bitlane::introspect::{self, Module};

use crate::arguments::Arguments;
use crate::nvrtc::Nvrtc;
use crate::{Command, Failure, Outcome, modules, parallel};

pub const COMMAND: Command = Command {
    name: "kernels",
    usage: "--out DIR [--arch sm_80]... [--nvrtc 12|13|PATH] [--op NAME]... [--dtype NAME]... [--cubin]",
    run,
};

fn run(mut arguments: Arguments) -> Outcome {
    let out = PathBuf::from(arguments.value("--out")?.ok_or("--out DIR says where the PTX goes")?);
    let mut archs = arguments.values("--arch")?;
    if archs.is_empty() {
        archs.push("sm_80".to_owned());
    }
    let chosen = modules::chosen(&mut arguments)?;
    let nvrtc = modules::nvrtc(&mut arguments)?;
    let cubin = arguments.flag("--cubin");
    arguments.finish()?;

    let mut work = Vec::new();
    for arch in &archs {
        let architecture = modules::architecture(arch)?;
        work.extend(chosen.iter().map(|&module| (module, architecture)));
    }
    fs::create_dir_all(&out)?;
    let started = Instant::now();
    let results = parallel::map("compiling", &work, |&(module, architecture)| {
        compile(&nvrtc, module, architecture, cubin, &out)
    });

    let (mut kernels, mut slowest, mut failures) = (0, (0.0, String::new()), 0);
    for ((module, architecture), result) in work.iter().zip(results) {
        let name = format!("{}.sm_{architecture}", modules::name(module));
        match result {
            Ok(seconds) => {
                kernels += module.kernels().len();
                if seconds > slowest.0 {
                    slowest = (seconds, name);
                }
            }
            Err(failure) => {
                failures += 1;
                eprintln!("{name}: {failure}");
            }
        }
    }
    let (major, minor) = nvrtc.version();
    println!(
        "NVRTC {major}.{minor}: {kernels} kernels in {} modules, {:.1} s, {failures} failed; slowest {} with {:.0} ms",
        work.len(),
        started.elapsed().as_secs_f64(),
        slowest.1,
        slowest.0 * 1e3,
    );
    if failures == 0 { Ok(()) } else { Err(format!("{failures} modules do not compile").into()) }
}

/// Compiles one module; gives the seconds its PTX took.
fn compile(
    nvrtc: &Nvrtc,
    module: Module,
    architecture: u32,
    cubin: bool,
    out: &Path,
) -> Result<f64, Failure> {
    let name = format!("{}.sm_{architecture}", modules::name(&module));
    let started = Instant::now();
    let ptx = modules::ptx(nvrtc, &module, architecture)?;
    let seconds = started.elapsed().as_secs_f64();
    fs::write(out.join(format!("{name}.ptx")), ptx)?;
    if cubin {
        let code = nvrtc.compile(introspect::source(), &module.cubin_options(architecture))?;
        fs::write(out.join(format!("{name}.cubin")), code)?;
    }
    Ok(seconds)
}
