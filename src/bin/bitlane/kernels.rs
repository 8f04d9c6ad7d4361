//! `bitlane kernels`: what the CUDA backend is made of.

use clap::Args;

use crate::answer::Outcome;

/// What `kernels` is told.
#[derive(Args)]
pub struct Options {
    /// Only kernels whose name contains this, such as copysign_f32
    #[arg(value_name = "PART")]
    part: Option<String>,
    /// Show the CUDA source that NVRTC compiles
    #[arg(long, conflicts_with = "ptx")]
    source: bool,
    /// Show the PTX of the kernels, compiled for this architecture, such as 80
    #[arg(long, value_name = "ARCHITECTURE", requires = "part")]
    ptx: Option<u32>,
}

/// Runs the command.
#[cfg(feature = "cuda")]
pub fn run(options: &Options) -> Outcome {
    use bitlane::introspect;
    use serde_json::json;

    use crate::answer::Answer;

    if options.source {
        let source = introspect::source();
        return Ok(Answer::new(source, json!({ "source": source })));
    }
    let part = options.part.as_deref().unwrap_or("");
    let modules: Vec<_> = introspect::modules()
        .into_iter()
        .map(|module| (module, module.kernels()))
        .filter(|(_, names)| names.iter().any(|name| name.contains(part)))
        .collect();
    if modules.is_empty() {
        return Err(format!("no kernel has {part:?} in its name").into());
    }
    if let Some(architecture) = options.ptx {
        let [(module, _)] = &modules[..] else {
            let count = modules.len();
            let found =
                modules.iter().map(|(module, _)| format!("{}_{}", module.op(), module.dtype()));
            let found: Vec<_> = found.take(8).collect();
            return Err(format!(
                "{count} modules match, name one of them: {} ...",
                found.join(" ")
            )
            .into());
        };
        let ptx = module.ptx(architecture)?;
        return Ok(Answer::new(&*ptx, json!({ "ptx": ptx })));
    }
    let names = modules.into_iter().flat_map(|(_, names)| names);
    let names: Vec<String> = names.filter(|name| name.contains(part)).collect();
    Ok(Answer::new(names.join("\n"), json!({ "kernels": names })))
}

/// Runs the command.
#[cfg(not(feature = "cuda"))]
pub fn run(options: &Options) -> Outcome {
    let _ = (&options.part, options.source, options.ptx);
    Err("this build has no CUDA kernels; build it with the feature `cuda`".into())
}
