//! `bitlane kernels`: what the CUDA backend is made of.

use clap::Args;

use crate::answer::Outcome;

/// What `kernels` is told.
#[derive(Args)]
pub struct Options {
    /// Only kernels whose name contains this
    #[arg(value_name = "PART OF A NAME")]
    part: Option<String>,
    /// Show the CUDA source that NVRTC compiles
    #[arg(long)]
    source: bool,
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
    let mut names: Vec<String> =
        introspect::modules().iter().flat_map(introspect::Module::kernels).collect();
    names.retain(|name| name.contains(part));
    if names.is_empty() {
        return Err(format!("no kernel has {part:?} in its name").into());
    }
    Ok(Answer::new(names.join("\n"), json!({ "kernels": names })))
}

/// Runs the command.
#[cfg(not(feature = "cuda"))]
pub fn run(options: &Options) -> Outcome {
    let _ = (&options.part, options.source);
    Err("this build has no CUDA kernels; build it with the feature `cuda`".into())
}
