//! Which modules there are, as the crate itself answers, and how they are compiled.

use bitlane::introspect::{self, Module};

use crate::arguments::Arguments;
use crate::nvrtc::Nvrtc;
use crate::{Failure, wheels};

/// The modules that `--op` and `--dtype` choose; all of them without either.
pub fn chosen(arguments: &mut Arguments) -> Result<Vec<Module>, Failure> {
    let (ops, dtypes) = (arguments.values("--op")?, arguments.values("--dtype")?);
    let mut modules = introspect::modules();
    modules.retain(|module| ops.is_empty() || ops.iter().any(|op| op == module.op()));
    modules
        .retain(|module| dtypes.is_empty() || dtypes.iter().any(|dtype| dtype == module.dtype()));
    if modules.is_empty() {
        return Err("no module has such an op and dtype".into());
    }
    Ok(modules)
}

/// The library that `--nvrtc` names: `12` (unless told), `13`, or a path.
pub fn nvrtc(arguments: &mut Arguments) -> Result<Nvrtc, Failure> {
    match arguments.value("--nvrtc")?.as_deref() {
        None | Some("12") => Nvrtc::open(&wheels::NVRTC_12.path()?),
        Some("13") => Nvrtc::open(&wheels::NVRTC_13.path()?),
        Some(path) => Nvrtc::open(path.as_ref()),
    }
}

/// The number in `sm_80`.
pub fn architecture(arch: &str) -> Result<u32, Failure> {
    let number = arch.strip_prefix("sm_").and_then(|number| number.parse().ok());
    number.ok_or_else(|| {
        format!("{arch:?} is no architecture; they are called sm_80 and the like").into()
    })
}

/// The PTX that a device of the given architecture gets, and proof that every kernel is in it.
pub fn ptx(nvrtc: &Nvrtc, module: &Module, architecture: u32) -> Result<String, Failure> {
    let bytes = nvrtc.compile(introspect::source(), &module.ptx_options(architecture))?;
    let text = String::from_utf8(bytes)?.trim_end_matches('\0').to_owned();
    let kernels = module.kernels();
    for kernel in &kernels {
        if !text.contains(&format!(".visible .entry {kernel}(")) {
            return Err(format!("has no kernel {kernel}").into());
        }
    }
    let found = text.matches(".visible .entry").count();
    if found != kernels.len() {
        return Err(format!("has {found} kernels where the crate knows {}", kernels.len()).into());
    }
    Ok(text)
}

/// What a module and its files are called.
pub fn name(module: &Module) -> String {
    format!("{}_{}", module.op(), module.dtype())
}

/// Whether the static budgets bind the module's kernels.
pub fn has_budget(module: &Module) -> bool {
    let is_float = matches!(module.dtype(), "f16" | "bf16" | "f32" | "f64");
    module.op().contains("_shift") || (module.op() == "copysign" && is_float)
}
