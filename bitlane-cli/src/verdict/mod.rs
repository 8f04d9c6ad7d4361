//! `bitlane verdict`: tests a GPU. One page says what it is, whether it computes the same bits as the CPU, and how fast it is.

#[cfg(feature = "cuda")]
mod cases;
#[cfg(feature = "cuda")]
mod environment;
#[cfg(feature = "cuda")]
mod scenes;
#[cfg(feature = "cuda")]
mod speed;

use std::path::PathBuf;

use clap::Args;

use crate::answer::Outcome;

/// The arguments of `verdict`.
#[derive(Args)]
pub struct Options {
    /// The device to test: cuda or cuda:NUMBER
    #[arg(long, default_value = "cuda")]
    device: String,
    /// A sample of the comparisons, and no measurements
    #[arg(long)]
    quick: bool,
    /// Where the whole report is written, in JSON
    #[arg(long, default_value = "bitlane-verdict.json", value_name = "FILE")]
    report: PathBuf,
    /// Only the comparisons: how the command asks another process about the other kind of code
    #[arg(long, hide = true)]
    only_compare: bool,
}

/// Runs the command.
#[cfg(not(feature = "cuda"))]
pub fn run(options: &Options) -> Outcome {
    let _ = (&options.device, options.quick, &options.report, options.only_compare);
    Err(crate::failure::NO_CUDA.into())
}

/// Runs the command. The exit code is 1 if anything differs or fails.
#[cfg(feature = "cuda")]
pub fn run(options: &Options) -> Outcome {
    use bitlane::{cuda, introspect};
    use serde_json::json;

    use crate::answer::{Answer, columns};
    use crate::failure::Failure;
    use crate::operands::device;

    let device = device(&options.device)?;
    if cuda::context(&device).is_none() {
        let words = "verdict compares a CUDA device with the CPU; name one with --device";
        return Err(Failure::usage(words));
    }
    let compared = cases::compare(&device, options.quick)?;
    if options.only_compare {
        let ok = compared.differences.is_empty();
        return Ok(Answer::judged(ok, String::new(), compared.json()));
    }
    let environment = environment::read(&device)?;
    let is_virtual = introspect::is_virtual();
    let mut rows = environment.rows;
    let mut ok = compared.differences.is_empty();
    rows.extend(compared.rows());
    let other = match introspect::code(&device)? {
        _ if is_virtual => ("ptx", Ok(json!("a virtual driver takes PTX alone"))),
        "cubin" => ("ptx", with_code("ptx", options)),
        _ => ("cubin", with_code("cubin", options)),
    };
    let other = match other {
        (_, Ok(words)) if words.is_string() => words,
        (code, Ok(report)) => {
            let count = report["differences"].as_array().map_or(0, Vec::len);
            ok &= count == 0 && report["cases"].is_number();
            rows.push(vec![format!("as {code}"), format!("{count} differences")]);
            report
        }
        (code, Err(error)) => {
            rows.push(vec![format!("as {code}"), error.clone()]);
            json!({ "error": error })
        }
    };
    let scenes = scenes::play(&device);
    for (name, outcome) in &scenes {
        let words = outcome.as_ref().unwrap_or_else(|error| error);
        ok &= outcome.is_ok();
        let mark = if outcome.is_ok() { "" } else { "FAILED: " };
        rows.push(vec![(*name).to_owned(), format!("{mark}{words}")]);
    }
    let kernels = introspect::loaded_kernels(&device)?;
    rows.push(vec!["kernels".into(), of_kernels(&kernels)]);
    let measured = if options.quick || is_virtual { Vec::new() } else { speed::measure(&device)? };
    let mut text = columns(&rows);
    for words in compared.differences.iter().take(SHOWN) {
        text += &format!("  {words}\n");
    }
    text += &match (is_virtual, options.quick) {
        (true, _) => "speed: not measured, a virtual device has none\n".to_owned(),
        (_, true) => "speed: not measured (--quick)\n".to_owned(),
        _ => speed::table(&measured),
    };
    let kind = if is_virtual { "The VIRTUAL device" } else { "The device" };
    text += &match ok {
        true => format!("{kind} {device} computes the same bits as the CPU in all cases.\n"),
        false => format!("{kind} {device} does NOT pass; please report this.\n"),
    };
    let kernels: Vec<_> = kernels
        .iter()
        .map(|kernel| {
            json!({ "name": &*kernel.name, "registers": kernel.registers,
                    "local_bytes": kernel.local_bytes, "blocks": kernel.blocks })
        })
        .collect();
    let scenes: serde_json::Map<_, _> = scenes
        .into_iter()
        .map(|(name, outcome)| match outcome {
            Ok(words) => (name.to_owned(), json!({ "ok": words })),
            Err(words) => (name.to_owned(), json!({ "failed": words })),
        })
        .collect();
    let json = json!({
        "verdict": if ok { "same bits" } else { "different" },
        "virtual": is_virtual,
        "environment": environment.json,
        "comparisons": compared.json(),
        "other_code": other,
        "scenes": scenes,
        "kernels": kernels,
        "speed": speed::json(&measured),
    });
    std::fs::write(&options.report, format!("{json:#}\n"))
        .map_err(|error| format!("{} cannot be written: {error}", options.report.display()))?;
    text += &format!("The whole report is in {}.\n", options.report.display());
    Ok(Answer::judged(ok, text, json))
}

/// The maximum number of differences that are printed.
#[cfg(feature = "cuda")]
const SHOWN: usize = 10;

/// Compares in a process of its own, in which kernels are compiled to the given kind of code.
#[cfg(feature = "cuda")]
fn with_code(code: &str, options: &Options) -> Result<serde_json::Value, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = std::process::Command::new(program);
    command.args(["verdict", "--only-compare", "--json", "--device", &options.device]);
    if options.quick {
        command.arg("--quick");
    }
    let output = command.env("BITLANE_CODE", code).output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("no report: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Summarises what the loaded kernels need of a multiprocessor.
#[cfg(feature = "cuda")]
fn of_kernels(kernels: &[bitlane::introspect::LoadedKernel]) -> String {
    let most = kernels.iter().map(|kernel| kernel.registers).max().unwrap_or(0);
    let spilled = kernels.iter().filter(|kernel| kernel.local_bytes > 0);
    let spilled: Vec<_> = spilled.map(|kernel| &*kernel.name).collect();
    let fewest = kernels.iter().map(|kernel| kernel.blocks).min().unwrap_or(0);
    let named = if spilled.is_empty() { "none".to_owned() } else { spilled.join(" ") };
    format!(
        "{} loaded, at most {most} registers, at least {fewest} blocks per multiprocessor; with local memory: {named}",
        kernels.len()
    )
}
