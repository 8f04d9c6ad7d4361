//! `bitlane kernels`: lists the kernels of the CUDA backend, and shows their source and PTX.

use bitlane::Rules;
use clap::Args;

use crate::answer::Outcome;
use crate::operands::rules;

/// The arguments of `kernels`.
#[derive(Args)]
pub struct Options {
    /// Only kernels whose name contains this, such as copysign_f32
    #[arg(value_name = "PART")]
    part: Option<String>,
    /// Show the CUDA source that NVRTC compiles
    #[arg(long, conflicts_with = "ptx")]
    source: bool,
    /// Show the PTX of the kernels, compiled for this architecture, such as 80
    #[arg(long, value_name = "ARCHITECTURE")]
    ptx: Option<u32>,
    /// Show the CUDA source and the PTX of the kernels for an expression, as eval takes it
    #[arg(long, value_name = "EXPRESSION", conflicts_with_all = ["part", "source"], allow_hyphen_values = true)]
    expr: Option<String>,
    /// What a name in the expression stands for, such as x=f32 or x=f32[64,1]
    #[arg(long = "dtype", value_name = "NAME=DTYPE", requires = "expr")]
    dtypes: Vec<String>,
    /// Whose promotion rules the expression follows
    #[arg(long, default_value = "paddle", value_parser = rules(), ignore_case = true)]
    rules: Rules,
}

/// Runs the command.
#[cfg(feature = "cuda")]
pub fn run(options: &Options) -> Outcome {
    use bitlane::introspect;
    use serde_json::json;

    use crate::answer::Answer;
    use crate::failure::Failure;

    if let Some(expression) = &options.expr {
        return for_expression(expression, options);
    }
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
        if part.is_empty() {
            return Err(Failure::usage("--ptx needs a part of a kernel's name, or --expr"));
        }
        let [(module, _)] = &modules[..] else {
            let named =
                modules.iter().map(|(module, _)| format!("{}_{}", module.op(), module.dtype()));
            return Err(Failure::usage(several(part, &named.collect::<Vec<_>>())));
        };
        let ptx = module.ptx(architecture)?;
        return Ok(Answer::new(&*ptx, json!({ "ptx": ptx })));
    }
    let names = modules.into_iter().flat_map(|(_, names)| names);
    let names: Vec<String> = names.filter(|name| name.contains(part)).collect();
    Ok(Answer::new(names.join("\n"), json!({ "kernels": names })))
}

/// Says that `--ptx` shows one module, and names some of those that match.
#[cfg(feature = "cuda")]
fn several(part: &str, names: &[String]) -> String {
    let shown = names.len().min(8);
    let more = match names.len() - shown {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let names = names[..shown].join(", ");
    format!("--ptx shows one module, and {part:?} matches {names}{more}; name one of them")
}

/// The default number of elements of an operand.
#[cfg(feature = "cuda")]
const ELEMENTS: usize = 1 << 16;

/// The default architecture of PTX.
#[cfg(feature = "cuda")]
const ARCHITECTURE: u32 = 80;

/// Generates and compiles the kernels for an expression. This requires NVRTC, but no device.
#[cfg(feature = "cuda")]
fn for_expression(expression: &str, options: &Options) -> Outcome {
    use std::collections::BTreeMap;

    use bitlane::introspect;
    use serde_json::json;

    use crate::answer::Answer;
    use crate::failure::Failure;
    use crate::{evaluate, expression};

    let node = expression::parse(expression)?;
    let mut inputs = BTreeMap::new();
    for definition in &options.dtypes {
        let (name, operand) = definition.split_once('=').ok_or_else(|| {
            let words = format!("{definition:?} should be NAME=DTYPE or NAME=DTYPE[SHAPE]");
            Failure::usage(words)
        })?;
        if inputs.insert(name, stand_in(operand)?).is_some() {
            return Err(Failure::usage(format!("{name} is defined twice")));
        }
    }
    let lower = || evaluate::lower(&node, &inputs, &mut Vec::new());
    let lowered = options.rules.scope(lower)?;
    let architecture = options.ptx.unwrap_or(ARCHITECTURE);
    let (mut text, mut kernels) = (format!("// {lowered}\n"), Vec::new());
    for kernel in introspect::kernels(&lowered)? {
        let name = &kernel.name;
        if kernel.source.is_empty() {
            text += &format!("// {name} is written by hand: see --source\n");
            kernels.push(json!({ "kernel": name }));
            continue;
        }
        let ptx = kernel.ptx(architecture)?;
        text += &format!("{}\n{ptx}\n", kernel.kernel);
        kernels.push(json!({ "kernel": name, "source": kernel.source, "ptx": ptx }));
    }
    Ok(Answer::new(text, json!({ "expression": lowered.to_string(), "kernels": kernels })))
}

/// Creates an operand from a dtype and an optional shape, such as `f32` or `f32[64,1]`.
#[cfg(feature = "cuda")]
fn stand_in(text: &str) -> Result<crate::operands::Input, crate::failure::Failure> {
    use bitlane::{Device, Tensor};

    use crate::failure::Failure;
    use crate::operands::{Input, dtype};

    let (name, shape) = match text.split_once('[') {
        None => (text, vec![ELEMENTS]),
        Some((name, sizes)) => {
            let sizes = sizes.strip_suffix(']');
            let sizes = sizes.ok_or_else(|| Failure::usage(format!("{text:?} lacks its `]`")))?;
            let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
            let shape = sizes.map(str::parse).collect::<Result<Vec<usize>, _>>();
            (
                name,
                shape.map_err(|_| {
                    Failure::usage(format!("{text:?} has a size that is not a number"))
                })?,
            )
        }
    };
    Ok(Input::Array(Tensor::zeros(shape, dtype(name)?, &Device::cpu())?))
}

/// Runs the command.
#[cfg(not(feature = "cuda"))]
pub fn run(options: &Options) -> Outcome {
    let _ = (&options.part, options.source, options.ptx);
    let _ = (&options.expr, &options.dtypes, options.rules);
    Err(crate::failure::NO_CUDA.into())
}
