//! `cargo xtask kernels`: compiles every kernel that the crate can launch, so that none fails at a user's first call.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::arguments::Arguments;
use crate::modules::{self, Unit};
use crate::nvrtc::Nvrtc;
use crate::run::{cargo, finish};
use crate::{Command, Failure, Outcome, parallel};

pub const COMMAND: Command = Command {
    name: "kernels",
    usage: "--out DIR [--arch sm_80]... [--nvrtc 12|13|PATH] [--op NAME]... [--dtype NAME]... [--written] [--cubin] [--cache] | --show TITLE | \
            --expr EXPRESSION [--dtype NAME=DTYPE]... [--arch sm_80]",
    about: "Compiles every kernel that the crate can launch. --arch and --nvrtc select the architectures and the \
            compiler, --op and --dtype select hand-written kernels, --written leaves out generated ones. --cubin \
            also assembles the kernels; --cache also puts them into the crate's cache folder (BITLANE_CACHE), \
            where programs find them. --show prints the source of one generated kernel. --expr prints the CUDA \
            source and the PTX generated for an expression, such as '(x >> s) & 15' with --dtype x=i32[64,8] \
            --dtype s=i32[8]; it accepts the same expressions as `bitlane eval`.",
    run,
};

/// What is done besides writing PTX.
#[derive(Clone, Copy)]
struct More {
    cubin: bool,
    cache: bool,
}

fn run(mut arguments: Arguments) -> Outcome {
    if let Some(title) = arguments.value("--show")? {
        return show(&title, arguments);
    }
    if let Some(expression) = arguments.value("--expr")? {
        return show_expression(&expression, arguments);
    }
    let out = PathBuf::from(arguments.value("--out")?.ok_or("--out DIR says where the PTX goes")?);
    let mut archs = arguments.values("--arch")?;
    if archs.is_empty() {
        archs.push("sm_80".to_owned());
    }
    let mut chosen = modules::chosen(&mut arguments)?;
    if arguments.flag("--written") {
        chosen.retain(|unit| unit.title.is_none());
    }
    let nvrtc = modules::nvrtc(&mut arguments)?;
    let more = More { cubin: arguments.flag("--cubin"), cache: arguments.flag("--cache") };
    arguments.finish()?;

    let mut work = Vec::new();
    for arch in &archs {
        let architecture = modules::architecture(arch)?;
        work.extend(chosen.iter().map(|unit| (unit, architecture)));
    }
    fs::create_dir_all(&out)?;
    let started = Instant::now();
    let results = parallel::map("compiling", &work, |&(unit, architecture)| {
        compile(&nvrtc, unit, architecture, more, &out)
    });

    let (mut kernels, mut slowest, mut failures, mut total) = (0, (0.0, String::new()), 0, 0.0);
    for ((unit, architecture), result) in work.iter().zip(results) {
        let name = format!("{}.sm_{architecture}", unit.name);
        match result {
            Ok(seconds) => {
                kernels += unit.kernels.len();
                total += seconds;
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
        "NVRTC {major}.{minor}: {kernels} kernels in {} modules, {:.1} s, {failures} failed; {:.0} ms each, slowest {} with {:.0} ms",
        work.len(),
        started.elapsed().as_secs_f64(),
        total / work.len() as f64 * 1e3,
        slowest.1,
        slowest.0 * 1e3,
    );
    if failures == 0 { Ok(()) } else { Err(format!("{failures} modules do not compile").into()) }
}

/// Compiles one unit and returns the seconds that its PTX took.
fn compile(
    nvrtc: &Nvrtc,
    unit: &Unit,
    architecture: u32,
    more: More,
    out: &Path,
) -> Result<f64, Failure> {
    let name = format!("{}.sm_{architecture}", unit.name);
    let started = Instant::now();
    let ptx = unit.ptx(nvrtc, architecture)?;
    let seconds = started.elapsed().as_secs_f64();
    if more.cache {
        unit.keep(nvrtc, architecture, &ptx)?;
    }
    fs::write(out.join(format!("{name}.ptx")), ptx)?;
    if more.cubin {
        fs::write(out.join(format!("{name}.cubin")), unit.cubin(nvrtc, architecture)?)?;
    }
    Ok(seconds)
}

/// Prints the CUDA source and the PTX of a generated kernel, given its title.
fn show(title: &str, mut arguments: Arguments) -> Outcome {
    let units = modules::chosen(&mut arguments)?;
    let nvrtc = modules::nvrtc(&mut arguments)?;
    arguments.finish()?;
    let found: Vec<_> = units.iter().filter(|unit| unit.title.as_deref() == Some(title)).collect();
    for unit in &found {
        println!("{}\n{}", unit.own, unit.ptx(&nvrtc, 80)?);
    }
    if !found.is_empty() {
        return Ok(());
    }
    let titles: Vec<_> = units.iter().filter_map(|unit| unit.title.as_deref()).collect();
    Err(format!("no sample is called {title:?}; there are\n{}", titles.join("\n")).into())
}

/// Prints the CUDA source and the PTX of an expression, by running the program `bitlane`, which parses expressions.
fn show_expression(expression: &str, mut arguments: Arguments) -> Outcome {
    let dtypes = arguments.values("--dtype")?;
    let arch = arguments.value("--arch")?.unwrap_or("sm_80".into());
    let nvrtc = modules::nvrtc_path(&mut arguments)?;
    arguments.finish()?;
    let mut command = cargo("run --quiet --features cli,cuda --bin bitlane -- kernels --expr");
    command.arg(expression).args(dtypes.iter().flat_map(|dtype| ["--dtype", dtype]));
    command.arg("--ptx").arg(modules::architecture(&arch)?.to_string());
    finish(command.env("BITLANE_NVRTC", nvrtc))
}
