//! `cargo xtask kernels`: compiles every kernel the crate can launch, so that none fails at a user's first call.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::arguments::Arguments;
use crate::modules::{self, Module};
use crate::nvrtc::Nvrtc;
use crate::run::root;
use crate::{Command, Failure, Outcome, parallel, wheels};

#[path = "../../cuda/join.rs"]
mod join;

pub const COMMAND: Command = Command {
    name: "kernels",
    usage: "--out DIR [--arch sm_80]... [--nvrtc 12|13|PATH] [--op NAME]... [--dtype NAME]... [--cubin]",
    run,
};

/// The one source of all kernels.
pub fn source() -> Result<String, Failure> {
    Ok(join::join(&root().join("cuda"))?)
}

/// The library that `12`, `13` or a path stands for.
pub fn nvrtc(choice: &str) -> Result<Nvrtc, Failure> {
    let path = match choice {
        "12" => wheels::NVRTC_12.path()?,
        "13" => wheels::NVRTC_13.path()?,
        path => PathBuf::from(path),
    };
    Nvrtc::open(&path)
}

/// The options that the crate itself compiles with. `target` is `compute_XX` or `sm_XX`.
pub fn options(module: Module, target: &str) -> Vec<String> {
    vec![
        format!("-DBL_OP={}", module.op),
        format!("-DBL_DTYPE={}", module.dtype),
        format!("--gpu-architecture={target}"),
        "--fmad=false".to_owned(),
        "-std=c++17".to_owned(),
        "-default-device".to_owned(),
    ]
}

/// The virtual architecture whose PTX a device of the given architecture gets.
pub fn virtual_architecture(arch: &str) -> Result<String, Failure> {
    match arch.strip_prefix("sm_") {
        Some(number) if number.parse::<u32>().is_ok() => Ok(format!("compute_{number}")),
        _ => Err(format!("{arch:?} is no architecture; they are called sm_80 and the like").into()),
    }
}

fn run(mut arguments: Arguments) -> Outcome {
    let out = PathBuf::from(arguments.value("--out")?.ok_or("--out DIR says where the PTX goes")?);
    let mut archs = arguments.values("--arch")?;
    if archs.is_empty() {
        archs.push("sm_80".to_owned());
    }
    let choice = arguments.value("--nvrtc")?.unwrap_or_else(|| "12".to_owned());
    let (ops, dtypes) = (arguments.values("--op")?, arguments.values("--dtype")?);
    let cubin = arguments.flag("--cubin");
    arguments.finish()?;

    let chosen: Vec<Module> = modules::all()
        .into_iter()
        .filter(|module| ops.is_empty() || ops.iter().any(|op| op == module.op))
        .filter(|module| dtypes.is_empty() || dtypes.iter().any(|dtype| dtype == module.dtype))
        .collect();
    if chosen.is_empty() {
        return Err("no module has such an op and dtype".into());
    }
    let mut work = Vec::new();
    for arch in &archs {
        virtual_architecture(arch)?;
        work.extend(chosen.iter().map(|&module| (module, arch.as_str())));
    }
    fs::create_dir_all(&out)?;
    let nvrtc = nvrtc(&choice)?;
    let source = source()?;
    let started = Instant::now();
    let results = parallel::map("compiling", &work, |&(module, arch)| {
        compile(&nvrtc, &source, module, arch, cubin, &out)
    });

    let (mut kernels, mut slowest, mut failures) = (0, (0.0, String::new()), 0);
    for ((module, arch), result) in work.iter().zip(results) {
        match result {
            Ok((count, seconds)) => {
                kernels += count;
                if seconds > slowest.0 {
                    slowest = (seconds, format!("{}_{}.{arch}", module.op, module.dtype));
                }
            }
            Err(failure) => {
                failures += 1;
                eprintln!("{}_{}.{arch}: {failure}", module.op, module.dtype);
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

/// Compiles one module; gives the number of its kernels and the seconds it took.
fn compile(
    nvrtc: &Nvrtc,
    source: &str,
    module: Module,
    arch: &str,
    cubin: bool,
    out: &Path,
) -> Result<(usize, f64), Failure> {
    let name = format!("{}_{}.{arch}", module.op, module.dtype);
    let started = Instant::now();
    let mut ptx = nvrtc.compile(source, &options(module, &virtual_architecture(arch)?))?;
    let seconds = started.elapsed().as_secs_f64();
    while ptx.last() == Some(&0) {
        ptx.pop();
    }
    fs::write(out.join(format!("{name}.ptx")), &ptx)?;
    if cubin {
        fs::write(
            out.join(format!("{name}.cubin")),
            nvrtc.compile(source, &options(module, arch))?,
        )?;
    }
    let text = String::from_utf8(ptx)?;
    let kernels = text.matches(".visible .entry").count();
    if kernels == 0 {
        return Err("holds no kernel".into());
    }
    Ok((kernels, seconds))
}
