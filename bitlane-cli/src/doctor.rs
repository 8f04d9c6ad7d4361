//! `bitlane doctor`: shows what this machine has, what is missing and what to do about it.

use std::env;
use std::thread;

use bitlane::Device;
use serde_json::{Value, json};

use crate::answer::{Answer, columns};
use crate::failure::in_own_words;

/// The findings, as rows of text and as JSON.
struct Findings {
    rows: Vec<Vec<String>>,
    json: Value,
}

impl Findings {
    /// Adds a finding: a title and its words, and a key and its value for programs.
    fn add(&mut self, title: &str, words: impl Into<String>, key: &str, value: impl Into<Value>) {
        self.json[key] = value.into();
        self.rows.push(vec![title.to_owned(), words.into()]);
    }
}

/// Runs the command. The exit code is 1 if there is a GPU that cannot be used.
pub fn run() -> Answer {
    let mut found = Findings { rows: Vec::new(), json: json!({ "environment": {} }) };
    found.add("bitlane", env!("CARGO_PKG_VERSION"), "bitlane", env!("CARGO_PKG_VERSION"));
    let words = |words: &str| -> Vec<String> { words.split(' ').map(str::to_owned).collect() };
    found.add("features", features(), "features", words(features()));
    let (system, architecture) = (env::consts::OS, env::consts::ARCH);
    found.json["architecture"] = architecture.into();
    found.add("system", format!("{system} {architecture}"), "system", system);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    found.add("threads", threads.to_string(), "threads", threads);
    let instructions = instructions();
    found.add("vector instructions", instructions.join(" "), "vector_instructions", instructions);
    found.add("CPU settings", bitlane::cpu::settings(), "cpu_settings", bitlane::cpu::settings());
    for variable in
        ["BITLANE_CPU", "BITLANE_POOL_LIMIT", "BITLANE_NVRTC", "BITLANE_CODE", "BITLANE_CACHE"]
    {
        if let Some(value) = env::var_os(variable) {
            let value = value.to_string_lossy();
            found.json["environment"][variable] = value.clone().into();
            found.rows.push(vec![variable.to_owned(), value.into()]);
        }
    }
    let count = Device::cuda_count();
    let mut devices = Vec::new();
    found.rows.push(vec!["CUDA devices".into(), count.to_string()]);
    for ordinal in 0..count {
        let name = format!("cuda:{ordinal}");
        let (words, is_usable) = match Device::cuda(ordinal) {
            Ok(device) => (description(&device), true),
            Err(error) => (format!("cannot be used: {}", in_own_words(&error)), false),
        };
        devices.push(json!({ "name": name, "usable": is_usable, "description": words }));
        found.rows.push(vec![name, words]);
    }
    found.json["cuda_devices"] = devices.into();
    compiler(&mut found);
    if let Some(path) = loaded("libcuda") {
        found.add("driver", path.clone(), "driver", path);
    }
    let best = Device::best();
    found.json["default_device"] = best.as_ref().ok().map(ToString::to_string).into();
    let (verdict, ok) = match (best, Device::cuda(0)) {
        (Err(error), _) => {
            (format!("there is a GPU that cannot be used: {}", in_own_words(&error)), false)
        }
        (Ok(device), Ok(_)) => (format!("computes on {device} by default"), true),
        (Ok(device), Err(error)) => {
            (format!("computes on {device} by default; {}", in_own_words(&error)), true)
        }
    };
    found.add("verdict", verdict.clone(), "verdict", verdict);
    Answer::judged(ok, columns(&found.rows), found.json)
}

/// Returns the features of the library with which this program is built.
fn features() -> &'static str {
    if cfg!(feature = "cuda") { "cpu npy safetensors cuda" } else { "cpu npy safetensors" }
}

/// Returns the vector instruction sets that loops are compiled for and that this machine has.
fn instructions() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let found = [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("f16c", is_x86_feature_detected!("f16c")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512bw", is_x86_feature_detected!("avx512bw")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let found = [("baseline", true)];
    found.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect()
}

/// Returns the path from which a library has been loaded, on systems with `/proc`.
fn loaded(library: &str) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let path = &line[line.find('/')?..];
        path.rsplit('/').next()?.starts_with(library).then(|| path.to_owned())
    })
}

/// Adds the findings about NVRTC and the kernel cache, which do not depend on a device.
#[cfg(feature = "cuda")]
fn compiler(found: &mut Findings) {
    match bitlane::introspect::nvrtc() {
        Ok(chosen) => {
            let (major, minor) = chosen.version;
            let path = chosen.path.map(|path| path.display().to_string());
            let place = path.as_ref().map_or(String::new(), |path| format!(", {path}"));
            let words = format!("{major}.{minor}{place}, {}", chosen.reason);
            let version = format!("{major}.{minor}");
            let json = json!({ "version": version, "path": path, "reason": chosen.reason });
            found.add("NVRTC", words, "nvrtc", json);
        }
        Err(error) => {
            let words = in_own_words(&error);
            found.add("NVRTC", words.clone(), "nvrtc", json!({ "error": words }));
        }
    }
    let cache = bitlane::introspect::cache_folder();
    let cache = cache.map_or_else(String::from, |folder| folder.display().to_string());
    found.add("kernel cache", cache.clone(), "kernel_cache", cache);
}

#[cfg(not(feature = "cuda"))]
fn compiler(_: &mut Findings) {}

#[cfg(feature = "cuda")]
fn description(device: &Device) -> String {
    let Some(context) = bitlane::cuda::context(device) else { return "no context".into() };
    let name = context.name().unwrap_or_else(|error| format!("a device without a name ({error})"));
    let capability = match context.compute_capability() {
        Ok((major, minor)) => format!("capability {major}.{minor}"),
        Err(error) => format!("capability unknown ({error})"),
    };
    let code = match bitlane::introspect::code(device) {
        Ok("cubin") => "kernels are machine code",
        Ok(_) => "kernels are PTX",
        Err(_) => "kernels cannot be compiled",
    };
    let driver = if bitlane::introspect::is_virtual() { ", on a virtual driver" } else { "" };
    format!("{name}, {capability}, {code}{driver}")
}

#[cfg(not(feature = "cuda"))]
fn description(device: &Device) -> String {
    device.to_string()
}
