//! The sources to compile, as listed by the crate itself, and how they are compiled.

use std::path::PathBuf;

use bitlane::introspect::{self, Module, Sample};

use crate::arguments::Arguments;
use crate::nvrtc::Nvrtc;
use crate::{Failure, Outcome, wheels};

/// A translation unit.
#[derive(Clone)]
pub struct Unit {
    /// Its name, which its files share.
    pub name: String,
    /// If it is generated: what it is a sample of.
    pub title: Option<String>,
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
        has_budget: false,
        kernels: vec![sample.kernel.name],
        own: sample.kernel.kernel,
        source: sample.kernel.source,
        defines: Vec::new(),
    }
}

/// Returns the hand-written modules that `--op` and `--dtype` select; without either, all of them and the samples of
/// generated kernels.
pub fn chosen(arguments: &mut Arguments) -> Result<Vec<Unit>, Failure> {
    let (ops, dtypes) = (arguments.values("--op")?, arguments.values("--dtype")?);
    let mut modules = introspect::modules();
    modules.retain(|module| ops.is_empty() || ops.iter().any(|op| op == module.op()));
    modules
        .retain(|module| dtypes.is_empty() || dtypes.iter().any(|dtype| dtype == module.dtype()));
    if modules.is_empty() {
        return Err("no module has such an op and dtype".into());
    }
    let mut units: Vec<Unit> = modules.into_iter().map(Unit::from).collect();
    if ops.is_empty() && dtypes.is_empty() {
        let bounded = introspect::bounded()?.len();
        let samples = introspect::samples()?.into_iter().enumerate().map(unit_of);
        // The samples that have bounds come first.
        units.extend(samples.enumerate().map(|(k, unit)| Unit { has_budget: k < bounded, ..unit }));
    }
    Ok(units)
}

/// Returns the path of the library that `--nvrtc` names: `12` (the default), `13`, or a path.
pub fn nvrtc_path(arguments: &mut Arguments) -> Result<PathBuf, Failure> {
    match arguments.value("--nvrtc")?.as_deref() {
        None | Some("12") => wheels::NVRTC_12.path(),
        Some("13") => wheels::NVRTC_13.path(),
        Some(path) => Ok(path.into()),
    }
}

/// Opens the library that `--nvrtc` names.
pub fn nvrtc(arguments: &mut Arguments) -> Result<Nvrtc, Failure> {
    Nvrtc::open(&nvrtc_path(arguments)?)
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
    pub fn ptx(&self, nvrtc: &Nvrtc, architecture: u32) -> Result<String, Failure> {
        let options = introspect::ptx_options(architecture, nvrtc.version(), &self.defines);
        let text = String::from_utf8(nvrtc.compile(&self.source, &options)?)?;
        let text = text.trim_end_matches('\0').to_owned();
        for kernel in &self.kernels {
            if !text.contains(&format!(".visible .entry {kernel}(")) {
                return Err(format!("has no kernel {kernel}").into());
            }
        }
        let (found, known) = (text.matches(".visible .entry").count(), self.kernels.len());
        if found == known {
            return Ok(text);
        }
        Err(format!("has {found} kernels where the crate knows {known}").into())
    }

    /// Puts its PTX into the crate's cache folder.
    pub fn keep(&self, nvrtc: &Nvrtc, architecture: u32, ptx: &str) -> Outcome {
        let (source, defines) = (&self.source, &self.defines);
        Ok(introspect::keep(source, defines, architecture, nvrtc.version(), ptx)?)
    }

    /// Compiles to machine code for the given architecture.
    pub fn cubin(&self, nvrtc: &Nvrtc, architecture: u32) -> Result<Vec<u8>, Failure> {
        let options = introspect::cubin_options(architecture, nvrtc.version(), &self.defines);
        nvrtc.compile(&self.source, &options)
    }
}
