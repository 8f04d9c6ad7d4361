//! Other devices and drivers: without memory pools, with an older driver, with little memory.

use std::path::{Path, PathBuf};

use bitlane::{DType, Device, ErrorKind, Tensor, cuda};

use crate::virtual_driver::{Driver, is_isolated, isolated};

/// The variable that is set in a process that finds its kernel in the cache.
const WARM: &str = "BITLANE_TEST_WARM_CACHE";

fn works(_: &Driver) {
    let device = Device::cuda(0).unwrap();
    let x = Tensor::arange(100, DType::I32, &device).unwrap();
    assert_eq!((&x << 1).unwrap().to_vec::<i32>().unwrap()[99], 198);
    if std::env::var_os(WARM).is_some() {
        let counts = bitlane::cuda::cache_statistics();
        assert_eq!((counts.compilations, counts.disk_hits), (0, 1));
    }
}

pub fn without_memory_pools() {
    isolated(module_path!(), "without_memory_pools", &[("VCUDA_NO_POOLS", "1")], |driver| {
        works(driver);
        let pooled = ["cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemPoolCreate"];
        assert_eq!(pooled.map(|call| driver.calls_of(call)), [0; 3]);
        let device = Device::cuda(0).unwrap();
        let kept = cuda::pool_statistics(&device).unwrap();
        assert!(kept.kept_bytes >= 2 * 400 && kept.used_bytes == 0, "{kept:?}");
        // A stream's blocks go to others when it is gone.
        let stream = device.with_new_stream().unwrap();
        drop(Tensor::zeros([1000], DType::F64, &stream).unwrap());
        drop(stream);
        let calls = driver.calls_of("cuMemAlloc_v2");
        let x = Tensor::zeros([1000], DType::F64, &device).unwrap();
        assert_eq!(driver.calls_of("cuMemAlloc_v2"), calls);
        drop(x);
        cuda::set_pool_limit(&device, 100).unwrap();
        assert_eq!(cuda::pool_statistics(&device).unwrap().kept_bytes, 0);
        assert_eq!(driver.allocations(), 0);
        works(driver);
        assert_eq!(driver.allocations(), 0);
    });
}

pub fn machine_code_for_a_driver_older_than_nvrtc() {
    // PTX ISA 7.5 belongs to CUDA 11.5, which is older than any NVRTC that the tests run with.
    let old = &[("VCUDA_PTX_ISA", "7.5")];
    isolated(module_path!(), "machine_code_for_a_driver_older_than_nvrtc", old, |driver| {
        works(driver);
        // One attempt to load PTX, and one load of machine code.
        assert_eq!(driver.calls_of("cuModuleLoadDataEx"), 2);
    });
}

/// Where the wheels of both versions of NVRTC have it.
const NVRTC_12: &str = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
const NVRTC_13: &str = "nvidia/cu13/lib/libnvrtc.so.13";

/// Returns the wheels that have been fetched.
fn wheels() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/cuda-wheels");
    root.read_dir().into_iter().flatten().flatten().map(|wheel| wheel.path()).collect()
}

/// Returns one version of NVRTC, if it has been fetched.
fn fetched(version: &str) -> Option<PathBuf> {
    wheels().into_iter().map(|wheel| wheel.join(version)).find(|file| file.exists())
}

/// Whether both versions of NVRTC have been fetched, as `cargo xtask test` does.
pub fn has_both_nvrtc() -> bool {
    [NVRTC_12, NVRTC_13].into_iter().all(|version| fetched(version).is_some())
}

pub fn a_driver_for_cuda_12_with_nvrtc_13() {
    let name = "a_driver_for_cuda_12_with_nvrtc_13";
    let nvrtc = fetched(NVRTC_13).expect("`main` ignores this test without it");
    let variables = &[("BITLANE_NVRTC", nvrtc.to_str().unwrap()), ("VCUDA_DRIVER", "12090")];
    isolated(module_path!(), name, variables, |driver| {
        works(driver);
        // Its PTX is too new, and was tried once.
        assert_eq!(driver.calls_of("cuModuleLoadDataEx"), 2);
        assert_eq!(bitlane::introspect::code(&Device::cuda(0).unwrap()).unwrap(), "cubin");
    });
}

pub fn machine_code_comes_first_and_is_refused_once() {
    let name = "machine_code_comes_first_and_is_refused_once";
    for refusal in ["200", "209", "221", "222", "223"] {
        let fail = format!("cuModuleLoadDataEx:1:{refusal}");
        let variables =
            &[("BITLANE_CODE", "cubin"), ("BITLANE_CACHE", "off"), ("VCUDA_FAIL", &*fail)];
        isolated(module_path!(), name, variables, |driver| {
            let device = Device::cuda(0).unwrap();
            assert_eq!(bitlane::introspect::code(&device).unwrap(), "cubin");
            works(driver);
            assert_eq!(bitlane::introspect::code(&device).unwrap(), "ptx");
            assert_eq!(driver.calls_of("cuModuleLoadDataEx"), 2);
            // Only the kernel that was needed is looked up, and another of the same PTX needs no other load.
            assert_eq!(driver.calls_of("cuModuleGetFunction"), 1);
            let x = Tensor::arange(100, DType::I32, &device).unwrap();
            assert_eq!((&x << &x).unwrap().to_vec::<i32>().unwrap()[3], 24);
            assert_eq!(driver.calls_of("cuModuleLoadDataEx"), 2);
            // The next kernel is not tried as machine code.
            assert_eq!((&x - 1).unwrap().to_vec::<i32>().unwrap()[3], 2);
            assert_eq!(driver.calls_of("cuModuleLoadDataEx"), 3);
        });
        if is_isolated() {
            return;
        }
    }
}

pub fn both_refusals_are_in_the_error() {
    let refused = &[("VCUDA_FAIL", "cuModuleLoadDataEx:1:221,cuModuleLoadDataEx:2:209")];
    isolated(module_path!(), "both_refusals_are_in_the_error", refused, |driver| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::arange(100, DType::I32, &device).unwrap();
        let error = (&x << 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Driver);
        let text = error.to_string();
        let (first, second) = (text.find("(221)").unwrap(), text.find("(209)").unwrap());
        assert!(first < second && text.contains("; then cuModuleLoadDataEx failed"), "{text}");
        works(driver);
    });
}

pub fn memory_that_runs_out_while_kernels_are_loaded() {
    // Another attempt is made once, after what is kept has been returned to the driver.
    let short = &[("VCUDA_FAIL", "cuModuleLoadDataEx:1:2,cuModuleLoadDataEx:2:2")];
    isolated(module_path!(), "memory_that_runs_out_while_kernels_are_loaded", short, |driver| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::arange(100, DType::I32, &device).unwrap();
        drop(Tensor::zeros([1 << 20], DType::U8, &device).unwrap());
        let error = (&x << 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.to_string().starts_with("cuda:0: cannot allocate memory; "), "{error}");
        assert_eq!(driver.calls_of("cuModuleLoadDataEx"), 2);
        assert_eq!(cuda::pool_statistics(&device).unwrap().kept_bytes, 0);
        // It says nothing about the kind of the image.
        assert_eq!(bitlane::introspect::code(&device).unwrap(), "ptx");
        works(driver);
    });
}

pub fn nvrtc_is_of_the_drivers_version() {
    let name = "nvrtc_is_of_the_drivers_version";
    // As a Python would find them.
    let path = std::env::join_paths(wheels()).unwrap().into_string().unwrap();
    for driver in ["12090", "13040"] {
        let variables = &[("BITLANE_NVRTC", ""), ("PYTHONPATH", &*path), ("VCUDA_DRIVER", driver)];
        isolated(module_path!(), name, variables, |driver| {
            let major: i32 = std::env::var("VCUDA_DRIVER").unwrap().parse::<i32>().unwrap() / 1000;
            let chosen = bitlane::introspect::nvrtc().unwrap();
            assert_eq!(chosen.version.0, major, "{chosen:?}");
            assert!(chosen.reason.ends_with("of the driver's major version"), "{chosen:?}");
            assert!(chosen.path.unwrap().is_absolute());
            works(driver);
        });
        if is_isolated() {
            return;
        }
    }
}

pub fn memory_that_runs_out() {
    let name = "memory_that_runs_out";
    for no_pools in ["0", "1"] {
        let variables = &[("VCUDA_MEMORY", "8m"), ("VCUDA_NO_POOLS", no_pools)];
        isolated(module_path!(), name, variables, |driver| {
            let device = Device::cuda(0).unwrap();
            let error = Tensor::zeros([100 << 20], DType::U8, &device).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
            let text = error.to_string();
            assert!(text.starts_with("cuda:0: cannot allocate 100.0 MiB (104857600 bytes); "));
            works(driver);
            // Memory that is still to be freed on another stream is waited for, and what is kept of another size is
            // returned to the driver.
            let other = device.with_new_stream().unwrap();
            for bytes in [5 << 20, 6 << 20, 3 << 20, 7 << 20] {
                let x = Tensor::ones([bytes], DType::U8, &device).unwrap();
                let y = x.to_device(&other).unwrap().sum(..).unwrap();
                drop(x);
                assert_eq!(y.to_vec::<u64>().unwrap(), [bytes as u64]);
            }
        });
    }
}

pub fn memory_that_runs_out_elsewhere() {
    isolated(module_path!(), "memory_that_runs_out_elsewhere", &[], |driver| {
        let device = Device::cuda(0).unwrap();
        let x = Tensor::arange(100, DType::I32, &device).unwrap();
        let capture = || cuda::Graph::capture(&device, || &x + 1);
        // Both are tried again when memory has run out, and fail when it has twice.
        driver.set("fail", "cuStreamCreate:1:2,cuGraphInstantiateWithFlags:1:2");
        let stream = device.with_new_stream().unwrap();
        drop(capture().unwrap());
        driver.set("fail", "cuStreamCreate:*:2");
        let error = device.with_new_stream().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        driver.set("fail", "cuGraphInstantiateWithFlags:*:2");
        let error = capture().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        driver.set("fail", "");
        drop(capture().unwrap());
        drop(stream);
    });
}

pub fn a_driver_that_makes_no_pool() {
    let refused = &[("VCUDA_FAIL", "cuMemPoolCreate:*:801")];
    isolated(module_path!(), "a_driver_that_makes_no_pool", refused, |driver| {
        works(driver);
        // The default pool belongs to the process, and is left as it is.
        assert_eq!(driver.calls_of("cuMemPoolSetAttribute"), 0);
        let device = Device::cuda(0).unwrap();
        assert_eq!(cuda::pool_statistics(&device).unwrap().limit, 0);
    });
}

pub fn other_libraries_get_what_is_trimmed() {
    let small = &[("VCUDA_MEMORY", "8m")];
    isolated(module_path!(), "other_libraries_get_what_is_trimmed", small, |_| {
        // On every path the memory of this crate is in a pool of its own, which keeps it.
        let context = cuda::cudarc::driver::CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        for device in [Device::cuda(0).unwrap(), cuda::device_on(&stream).unwrap()] {
            let x = Tensor::zeros([6 << 20], DType::U8, &device).unwrap();
            assert_eq!(cuda::pool_statistics(&device).unwrap().used_bytes, 6 << 20);
            drop(x);
            device.synchronize().unwrap();
            let pool = cuda::pool_statistics(&device).unwrap();
            assert_eq!((pool.used_bytes, pool.kept_bytes), (0, 6 << 20));
            assert_eq!((pool.limit, pool.peak_bytes), (usize::MAX, 6 << 20));
            assert!(stream.alloc_zeros::<u8>(6 << 20).is_err());
            cuda::trim_pool(&device).unwrap();
            assert_eq!(cuda::pool_statistics(&device).unwrap().kept_bytes, 0);
            drop(stream.alloc_zeros::<u8>(6 << 20).unwrap());
            stream.synchronize().unwrap();
        }
        let device = Device::cuda(0).unwrap();
        cuda::set_pool_limit(&device, 1 << 20).unwrap();
        drop(Tensor::zeros([6 << 20], DType::U8, &device).unwrap());
        device.synchronize().unwrap();
        assert_eq!(cuda::pool_statistics(&device).unwrap().kept_bytes, 1 << 20);
        let refused = cuda::trim_pool(&Device::cpu()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    });
}

pub fn kernels_are_compiled_once_per_machine() {
    let name = "kernels_are_compiled_once_per_machine";
    let folder = tempfile();
    let cache = folder.to_str().unwrap();
    isolated(module_path!(), name, &[("BITLANE_CACHE", cache)], works);
    if is_isolated() {
        // The process that runs the body has nothing more to check.
        return;
    }
    let entries = std::fs::read_dir(&folder).expect("the first process has made the folder");
    let files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "one module was compiled");
    let content = std::fs::read(&files[0]).unwrap();
    // A damaged file is detected and replaced.
    std::fs::write(&files[0], &content[..content.len() / 2]).unwrap();
    isolated(module_path!(), name, &[("BITLANE_CACHE", cache)], works);
    assert_eq!(std::fs::read(&files[0]).unwrap(), content);
    // An intact one is used: the compiler is asked for nothing, not even for its patch version.
    let warm = &[("BITLANE_CACHE", cache), (WARM, "1")];
    isolated(module_path!(), name, warm, works);
    // An unusable cache folder is not an error, and neither is a disabled cache.
    for cache in [files[0].to_str().unwrap(), "off"] {
        isolated(module_path!(), name, &[("BITLANE_CACHE", cache)], works);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Returns a path in the build folder that only this process uses.
fn tempfile() -> std::path::PathBuf {
    let name = format!("cache-{}", std::process::id());
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}
