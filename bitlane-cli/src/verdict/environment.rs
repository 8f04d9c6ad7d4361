//! What a device is, and what it runs with.

use bitlane::cuda::cudarc::driver::sys::CUdevice_attribute as Attribute;
use bitlane::{Device, cuda, introspect};

use crate::failure::Failure;

/// Reads the facts about a device, each with its name.
pub fn read(device: &Device) -> Result<Vec<(&'static str, String)>, Failure> {
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
    let version = introspect::driver_version()?;
    // The machine may have another driver beside a virtual one.
    let file = if introspect::is_virtual() { "" } else { "/proc/driver/nvidia/version" };
    let said = std::fs::read_to_string(file).unwrap_or_default();
    let release = release(&said).map_or(String::new(), |release| format!("{release}, "));
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
                if is_mig(&name) { "yes" } else { "no" },
                if is_vgpu(&name) { "yes" } else { "no" }
            ),
        ),
        ("memory pools", yes(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED).to_owned()),
        ("driver", format!("{release}for CUDA {}.{}", version / 1000, version % 1000 / 10)),
        ("module loading", loading),
        ("NVRTC", format!("{}.{}, {path}, {}", nvrtc.version.0, nvrtc.version.1, nvrtc.reason)),
        ("kernel cache", cache),
    ];
    Ok(facts.into())
}

/// Whether a device of this name is a part of a GPU, such as `NVIDIA A100-SXM4-40GB MIG 1g.5gb`.
fn is_mig(name: &str) -> bool {
    name.split_ascii_whitespace().any(|word| word == "MIG")
}

/// Whether a device of this name is one of a virtual machine: `GRID …`, or a name that ends with the size in GB and the
/// series, such as `NVIDIA A40-48Q` and `NVIDIA A100-4-20C`.
fn is_vgpu(name: &str) -> bool {
    let words: Vec<&str> = name.split_ascii_whitespace().collect();
    let profile = words.last().and_then(|word| word.rsplit_once('-'));
    let size = profile
        .and_then(|(_, profile)| profile.trim_end_matches("ME").strip_suffix(['A', 'B', 'C', 'Q']));
    let is_profile = size.is_some_and(|size| size.parse::<u16>().is_ok());
    is_profile || words.iter().any(|&word| word == "GRID" || word == "vGPU")
}

/// Finds the release in what the driver's kernel module says of itself.
fn release(said: &str) -> Option<&str> {
    let words = said.lines().next()?.split_ascii_whitespace();
    let mut words = words.skip_while(|word| *word != "Module");
    words.find(|word| word.contains('.') && word.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_gpus_are_known_by_their_names() {
        for name in [
            "NVIDIA A40-48Q",
            "GRID T4-8Q",
            "NVIDIA A16-2B",
            "NVIDIA A100-4-20C",
            "NVIDIA L40S-48A",
            "NVIDIA A100-4-20CME",
        ] {
            assert!(is_vgpu(name) && !is_mig(name), "{name}");
        }
        let gpus = [
            "Tesla T4",
            "NVIDIA A100-SXM4-40GB",
            "NVIDIA H100 80GB HBM3",
            "NVIDIA GeForce RTX 3060",
            "Tesla V100-PCIE-16GB",
            "NVIDIA RTX A6000",
            "",
        ];
        for name in gpus {
            assert!(!is_vgpu(name) && !is_mig(name), "{name}");
        }
        assert!(is_mig("NVIDIA A100-SXM4-40GB MIG 1g.5gb"));
    }

    #[test]
    fn the_release_of_both_kernel_modules() {
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023";
        let open =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build";
        assert_eq!((release(closed), release(open)), (Some("535.104.05"), Some("570.86.15")));
        assert_eq!((release("NVRM version"), release("")), (None, None));
    }
}
