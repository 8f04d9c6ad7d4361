//! What a device is, and what it runs with.

use bitlane::cuda::cudarc::driver::sys::CUdevice_attribute as Attribute;
use bitlane::{Device, cuda, introspect};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The facts, as rows of text and as JSON.
pub struct Environment {
    pub rows: Vec<Vec<String>>,
    pub json: Value,
}

/// Reads the facts about a device.
pub fn read(device: &Device) -> Result<Environment, Failure> {
    let context = cuda::context(device).ok_or("the device has no context")?;
    // What the driver does not tell is left out.
    let ask = |attribute| context.attribute(attribute).ok();
    let number = |attribute| ask(attribute).map_or("?".to_owned(), |value| value.to_string());
    let yes = |attribute| match ask(attribute) {
        Some(0) => "no",
        Some(_) => "yes",
        None => "?",
    };
    let megahertz =
        |attribute| ask(attribute).map_or("?".to_owned(), |khz| format!("{} MHz", khz / 1000));
    let name = context.name().unwrap_or_else(|error| format!("a device without a name ({error})"));
    let kind = if introspect::is_virtual() { " (a VIRTUAL device, not a GPU)" } else { "" };
    let is_mig = name.contains("MIG");
    let is_vgpu = name.contains("GRID") || name.contains("vGPU");
    let version = introspect::driver_version()?;
    let nvrtc = introspect::nvrtc()?;
    let path = nvrtc.path.map_or("?".to_owned(), |path| path.display().to_string());
    let memory = context.total_mem().map_or("?".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
    let cache = introspect::cache_folder();
    let cache = cache.map_or_else(str::to_owned, |folder| folder.display().to_string());
    let loading =
        std::env::var("CUDA_MODULE_LOADING").unwrap_or_else(|_| "the driver's default".into());
    let facts = [
        ("bitlane", env!("CARGO_PKG_VERSION").to_owned()),
        ("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        ("device", format!("{device}: {name}{kind}")),
        (
            "capability",
            format!(
                "{}.{}",
                number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
            ),
        ),
        ("multiprocessors", number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)),
        (
            "clocks",
            format!(
                "{}, memory {} on {} bits",
                megahertz(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                megahertz(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
                number(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
            ),
        ),
        ("memory", memory),
        ("L2 bytes", number(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)),
        (
            "ECC, MIG, vGPU",
            format!(
                "{}, {}, {}",
                yes(Attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED),
                if is_mig { "yes" } else { "no" },
                if is_vgpu { "yes" } else { "no" }
            ),
        ),
        ("memory pools", yes(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED).to_owned()),
        ("driver", format!("for CUDA {}.{}", version / 1000, version % 1000 / 10)),
        ("module loading", loading),
        ("NVRTC", format!("{}.{}, {path}, {}", nvrtc.version.0, nvrtc.version.1, nvrtc.reason)),
        ("kernels are", introspect::code(device)?.to_owned()),
        ("kernel cache", cache),
    ];
    let json: Map<String, Value> = facts
        .iter()
        .map(|(key, value)| {
            let number = value.parse::<u64>().map(Value::from);
            ((*key).to_owned(), number.unwrap_or_else(|_| value.as_str().into()))
        })
        .collect();
    let rows = facts.into_iter().map(|(key, value)| vec![key.to_owned(), value]).collect();
    Ok(Environment { rows, json: json.into() })
}
