//! `cargo xtask kernels`: compiles every kernel that the crate can launch, so that none fails at a user's first call.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bitlane::introspect::Nvrtc;

use crate::modules::{self, Unit};
use crate::run::{cargo, finish};
use crate::{Failure, Outcome, parallel};

/// Compiles every kernel that the crate can launch.
///
/// Or prints the source of one generated kernel (--show), or the CUDA source and the PTX generated for an expression
/// (--expr), such as '(x >> s) & 15' with --dtype x=i32[64,8] --dtype s=i32[8]; it accepts the same expressions as
/// `bitlane eval`.
#[derive(clap::Args)]
#[group(id = "what", required = true, args = ["out", "show", "expr"])]
pub struct Options {
    /// Where the PTX goes.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print a generated kernel.
    #[arg(long, value_name = "TITLE")]
    show: Option<String>,
    /// Print the kernel of an expression.
    #[arg(long, value_name = "EXPRESSION")]
    expr: Option<String>,
    #[arg(long, default_values = ["sm_80"])]
    arch: Vec<String>,
    /// The compiler: 12, 13 or a path.
    #[arg(long, default_value = "12")]
    nvrtc: String,
    /// Only the hand-written kernels of these operations.
    #[arg(long)]
    op: Vec<String>,
    /// Only the hand-written kernels of these dtypes; for --expr, the dtypes of its variables.
    #[arg(long)]
    dtype: Vec<String>,
    /// Leave out the generated ones.
    #[arg(long)]
    written: bool,
    /// Optimise less: only say whether they compile.
    #[arg(long)]
    quickly: bool,
    /// Only one module in N; BITLANE_TURN chooses which.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    part: Option<u32>,
    /// Also put them into the crate's cache folder (BITLANE_CACHE), where programs find them.
    #[arg(long, conflicts_with = "quickly")]
    cache: bool,
}

pub fn run(options: Options) -> Outcome {
    if let Some(title) = &options.show {
        return show(title, &options);
    }
    if let Some(expression) = &options.expr {
        return show_expression(expression, &options);
    }
    let Some(out) = &options.out else { return Err("--out DIR says where the PTX goes".into()) };
    let mut chosen = modules::chosen(&options.op, &options.dtype)?;
    if options.written {
        chosen.retain(|unit| unit.title.is_none());
    }
    if let Some(parts) = options.part {
        let turn = std::env::var("BITLANE_TURN").ok().and_then(|turn| turn.parse().ok());
        let mut place = (turn.unwrap_or(0) % u64::from(parts)) as u32;
        chosen.retain(|_| {
            place = (place + 1) % parts;
            place == 0
        });
    }
    let nvrtc = modules::nvrtc(&options.nvrtc)?;

    let mut work = Vec::new();
    for arch in &options.arch {
        let architecture = modules::architecture(arch)?;
        work.extend(chosen.iter().map(|unit| (unit, architecture)));
    }
    fs::create_dir_all(out)?;
    let started = Instant::now();
    let results = parallel::map("compiling", &work, |&(unit, architecture)| {
        compile(&nvrtc, unit, architecture, &options, out)
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
    options: &Options,
    out: &Path,
) -> Result<f64, Failure> {
    let name = format!("{}.sm_{architecture}", unit.name);
    let started = Instant::now();
    let ptx = unit.ptx(nvrtc, architecture, options.quickly)?;
    let seconds = started.elapsed().as_secs_f64();
    if options.cache {
        unit.keep(nvrtc, architecture, &ptx)?;
    }
    fs::write(out.join(format!("{name}.ptx")), ptx)?;
    Ok(seconds)
}

/// Prints the CUDA source and the PTX of a generated kernel, given its title.
fn show(title: &str, options: &Options) -> Outcome {
    let units = modules::chosen(&options.op, &options.dtype)?;
    let nvrtc = modules::nvrtc(&options.nvrtc)?;
    let found: Vec<_> = units.iter().filter(|unit| unit.title.as_deref() == Some(title)).collect();
    for unit in &found {
        println!("{}\n{}", unit.own, unit.ptx(&nvrtc, 80, false)?);
    }
    if !found.is_empty() {
        return Ok(());
    }
    let titles: Vec<_> = units.iter().filter_map(|unit| unit.title.as_deref()).collect();
    Err(format!("no sample is called {title:?}; there are\n{}", titles.join("\n")).into())
}

/// Prints the CUDA source and the PTX of an expression, by running the program `bitlane`, which parses expressions.
fn show_expression(expression: &str, options: &Options) -> Outcome {
    let arch = options.arch.first().map_or("sm_80", String::as_str);
    let nvrtc = modules::nvrtc_path(&options.nvrtc)?;
    let mut command = cargo("run --quiet -p bitlane-cli --features cuda -- kernels --expr");
    command.arg(expression).args(options.dtype.iter().flat_map(|dtype| ["--dtype", dtype]));
    command.arg("--ptx").arg(modules::architecture(arch)?.to_string());
    finish(command.env("BITLANE_NVRTC", nvrtc))
}
