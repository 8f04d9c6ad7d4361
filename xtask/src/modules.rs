//! The sources to compile, as listed by the crate itself, and how they are compiled.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process;

use bitlane::introspect::{self, Module, Nvrtc};

use crate::run::root;
use crate::samples::{self, Sample};
use crate::sass::measure::Counted;
use crate::{Failure, Outcome, wheels};

/// A translation unit.
#[derive(Clone)]
pub struct Unit {
    /// Its name, which its files share.
    pub name: String,
    /// If it is generated: what it is a sample of.
    pub title: Option<String>,
    /// If it is a reduction whose cost is bounded: its terms.
    pub terms: Option<Counted>,
    /// Whether its kernels have a static budget.
    pub has_budget: bool,
    /// The names of its kernels.
    pub kernels: Vec<String>,
    /// The part of the source that is specific to it.
    pub own: String,
    source: String,
    defines: Vec<String>,
}

impl From<Module> for Unit {
    fn from(module: Module) -> Unit {
        let is_float = matches!(module.dtype(), "f16" | "bf16" | "f32" | "f64");
        Unit {
            name: format!("{}_{}", module.op(), module.dtype()),
            title: None,
            terms: None,
            has_budget: module.op().contains("_shift") || (module.op() == "copysign" && is_float),
            kernels: module.kernels(),
            own: String::new(),
            source: introspect::source().into(),
            defines: module.defines().into(),
        }
    }
}

/// Creates the unit of a sample. Kernels of different samples may have the same name, so the unit's name starts with
/// the sample's number.
fn unit_of((number, sample): (usize, Sample)) -> Unit {
    Unit {
        name: format!("{number}_{}", sample.kernel.name),
        title: Some(sample.title),
        terms: sample.terms,
        has_budget: false,
        kernels: vec![sample.kernel.name],
        own: sample.kernel.kernel,
        source: sample.kernel.source,
        defines: Vec::new(),
    }
}

/// Returns the hand-written modules that `--op` and `--dtype` select; without either, all of them and the samples of
/// generated kernels.
pub fn chosen(ops: &[String], dtypes: &[String]) -> Result<Vec<Unit>, Failure> {
    let mut modules = introspect::modules();
    modules.retain(|module| ops.is_empty() || ops.iter().any(|op| op == module.op()));
    modules
        .retain(|module| dtypes.is_empty() || dtypes.iter().any(|dtype| dtype == module.dtype()));
    if modules.is_empty() {
        return Err("no module has such an op and dtype".into());
    }
    let mut units: Vec<Unit> = modules.into_iter().map(Unit::from).collect();
    if ops.is_empty() && dtypes.is_empty() {
        let bounded = samples::bounded()?.len();
        let samples = samples::all()?.into_iter().enumerate().map(unit_of);
        // The samples that have bounds come first.
        units.extend(samples.enumerate().map(|(k, unit)| Unit { has_budget: k < bounded, ..unit }));
    }
    Ok(units)
}

/// Returns the path of the library that `--nvrtc` names: `12`, `13`, or a path.
pub fn nvrtc_path(name: &str) -> Result<PathBuf, Failure> {
    match name {
        "12" => wheels::NVRTC_12.path(),
        "13" => wheels::NVRTC_13.path(),
        path => Ok(path.into()),
    }
}

/// Opens the library that `--nvrtc` names.
pub fn nvrtc(name: &str) -> Result<Nvrtc, Failure> {
    Ok(Nvrtc::open(&nvrtc_path(name)?)?)
}

/// Returns the number in `sm_80`.
pub fn architecture(arch: &str) -> Result<u32, Failure> {
    let number = arch.strip_prefix("sm_").and_then(|number| number.parse().ok());
    number.ok_or_else(|| {
        format!("{arch:?} is no architecture; they are called sm_80 and the like").into()
    })
}

impl Unit {
    /// Compiles to the PTX that a device of the given architecture gets, and checks that it has exactly the expected
    /// kernels.
    ///
    /// What was compiled before is taken from `target/ptx`, unless the environment says `XTASK_COLD`. Quickly means with
    /// less optimisation than a device gets: that is enough to see that it compiles without a warning.
    pub fn ptx(&self, nvrtc: &Nvrtc, architecture: u32, quickly: bool) -> Result<String, Failure> {
        let mut options = introspect::ptx_options(architecture, nvrtc.version(), &self.defines);
        if quickly {
            options.push("--Ofast-compile=max".into());
        }
        let mut digest = blake3::Hasher::new();
        for part in [&self.source, &options.join(" "), &nvrtc.build()?] {
            digest.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let kept = root().join(format!("target/ptx/{}", digest.finalize()));
        let is_cold = std::env::var_os("XTASK_COLD").is_some();
        if let (false, Ok(text)) = (is_cold, fs::read_to_string(&kept)) {
            return Ok(text);
        }
        let text = String::from_utf8(nvrtc.compile(&self.name, &self.source, &options)?)?;
        let text = text.trim_end_matches('\0').to_owned();
        for kernel in &self.kernels {
            if !text.contains(&format!(".visible .entry {kernel}(")) {
                return Err(format!("has no kernel {kernel}").into());
            }
        }
        let (found, known) = (text.matches(".visible .entry").count(), self.kernels.len());
        if found == known {
            let partial = kept.with_extension(process::id().to_string());
            fs::create_dir_all(root().join("target/ptx"))?;
            fs::write(&partial, &text)?;
            fs::rename(partial, kept)?;
            return Ok(text);
        }
        Err(format!("has {found} kernels where the crate knows {known}").into())
    }

    /// Puts its PTX into the crate's cache folder.
    pub fn keep(&self, nvrtc: &Nvrtc, architecture: u32, ptx: &str) -> Outcome {
        let folder = introspect::cache_folder()?;
        let (name, contents) = nvrtc.cache_file(&self.source, &self.defines, architecture, ptx)?;
        // The cache ignores files that others can write to, and another process may be reading this one.
        let unfinished = folder.join(format!(".{}-{name}", process::id()));
        let mut file =
            File::options().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(&contents)?;
        Ok(fs::rename(unfinished, folder.join(name))?)
    }
}
