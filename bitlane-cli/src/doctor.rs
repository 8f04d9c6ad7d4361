//! `bitlane doctor`: shows what this machine has, what is missing and what to do about it.

use std::env;
use std::thread;

use bitlane::Device;
use serde_json::{Value, json};

use crate::answer::{Answer, columns};

/// The findings, as rows of text and as JSON.
#[derive(Default)]
struct Findings {
    rows: Vec<Vec<String>>,
    json: Value,
}

impl Findings {
    fn add(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        self.json[key] = Value::String(value.clone());
        self.rows.push(vec![key.to_owned(), value]);
    }
}

/// Runs the command. The exit code is 1 if there is a GPU that cannot be used.
pub fn run() -> Answer {
    let mut found = Findings { json: json!({}), ..Findings::default() };
    found.add("bitlane", env!("CARGO_PKG_VERSION"));
    found.add("features", features());
    found.add("system", format!("{} {}", env::consts::OS, env::consts::ARCH));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    found.add("threads", threads.to_string());
    found.add("vector instructions", instructions().join(" "));
    found.add("CPU settings", bitlane::cpu::settings());
    for variable in ["BITLANE_CPU", "BITLANE_NVRTC", "BITLANE_CACHE", "BITLANE_POOL_LIMIT"] {
        if let Some(value) = env::var_os(variable) {
            found.add(variable, value.to_string_lossy());
        }
    }
    let count = Device::cuda_count();
    found.add("CUDA devices", count.to_string());
    for ordinal in 0..count {
        match Device::cuda(ordinal) {
            Ok(device) => found.add(&device.to_string(), description(&device)),
            Err(error) => found.add(&format!("cuda:{ordinal}"), format!("cannot be used: {error}")),
        }
    }
    for (key, value) in compiler() {
        found.add(key, value);
    }
    if let Some(path) = loaded("libcuda") {
        found.add("driver", path);
    }
    let (verdict, ok) = match (Device::best(), Device::cuda(0)) {
        (Err(error), _) => (format!("there is a GPU that cannot be used: {error}"), false),
        (Ok(device), Ok(_)) => (format!("computes on {device} by default"), true),
        (Ok(device), Err(error)) => (format!("computes on {device} by default; {error}"), true),
    };
    found.add("verdict", verdict);
    Answer { text: columns(&found.rows), json: found.json, ok }
}

/// Returns the features of the library with which this program is built.
fn features() -> &'static str {
    if cfg!(feature = "cuda") { "cpu npy cuda" } else { "cpu npy" }
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

/// Returns the findings about NVRTC and the kernel cache, which do not depend on a device.
#[cfg(feature = "cuda")]
fn compiler() -> Vec<(&'static str, String)> {
    let nvrtc = match bitlane::introspect::nvrtc() {
        Ok(chosen) => {
            let (major, minor) = chosen.version;
            let path = chosen.path.map_or(String::new(), |path| format!(", {}", path.display()));
            format!("{major}.{minor}{path}, {}", chosen.reason)
        }
        Err(error) => error.to_string(),
    };
    let cache = bitlane::introspect::cache_folder();
    let cache = cache.map_or_else(String::from, |folder| folder.display().to_string());
    vec![("NVRTC", nvrtc), ("kernel cache", cache)]
}

#[cfg(not(feature = "cuda"))]
fn compiler() -> Vec<(&'static str, String)> {
    Vec::new()
}

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
