//! NVIDIA's compilers, libclang and PyTorch from their Python wheels, so that no toolkit has to be installed.
//!
//! The versions are pinned. pip unpacks each wheel once, below `target/cuda-wheels`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use crate::Failure;
use crate::python::pip;
use crate::run::root;

/// A pinned wheel and the file that is used from it.
pub struct Wheel {
    package: &'static str,
    version: &'static str,
    file: &'static str,
}

pub const NVRTC_12: Wheel = Wheel {
    package: "nvidia-cuda-nvrtc-cu12",
    version: "12.9.86",
    file: "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
};
pub const NVRTC_13: Wheel = Wheel {
    package: "nvidia-cuda-nvrtc",
    version: "13.4.92",
    file: "nvidia/cu13/lib/libnvrtc.so.13",
};
pub const PTXAS_12: Wheel = Wheel {
    package: "nvidia-cuda-nvcc-cu12",
    version: "12.9.86",
    file: "nvidia/cuda_nvcc/bin/ptxas",
};
pub const PTXAS_13: Wheel =
    Wheel { package: "nvidia-cuda-nvcc", version: "13.4.92", file: "nvidia/cu13/bin/ptxas" };
/// The headers of CUDA, which programs that compile their own kernels may include.
pub const HEADERS_13: [Wheel; 3] = [
    Wheel {
        package: "nvidia-cuda-runtime",
        version: "13.4.92",
        file: "nvidia/cu13/include/cuda_runtime.h",
    },
    Wheel {
        package: "nvidia-cuda-crt",
        version: "13.4.92",
        file: "nvidia/cu13/include/crt/host_defines.h",
    },
    Wheel {
        package: "nvidia-cuda-cccl",
        version: "13.3.5.0.6",
        file: "nvidia/cu13/include/nv/target",
    },
];
/// nvcc, in the wheel of [`PTXAS_13`], and the compiler that it starts.
pub const NVCC_13: [Wheel; 2] = [
    Wheel { package: "nvidia-cuda-nvcc", version: "13.4.92", file: "nvidia/cu13/bin/nvcc" },
    Wheel { package: "nvidia-nvvm", version: "13.4.92", file: "nvidia/cu13/nvvm/bin/cicc" },
];
pub const CUOBJDUMP: Wheel = Wheel {
    package: "nvidia-cuda-cuobjdump",
    version: "13.4.92",
    file: "nvidia/cu13/bin/cuobjdump",
};
pub const NVDISASM: Wheel =
    Wheel { package: "nvidia-cuda-nvdisasm", version: "13.4.92", file: "nvidia/cu13/bin/nvdisasm" };
/// PyTorch with its CUDA kernels, 540 MB to download.
pub const TORCH: Wheel =
    Wheel { package: "torch", version: "2.15.0", file: "torch/lib/libtorch_cuda.so" };
#[cfg(feature = "bindings")]
pub const LIBCLANG: Wheel =
    Wheel { package: "libclang", version: "18.1.1", file: "clang/native/libclang.so" };

impl Wheel {
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// Returns the folder into which the wheel is unpacked, fetching it if necessary.
    pub fn home(&self) -> Result<PathBuf, Failure> {
        self.path()?;
        Ok(root().join("target/cuda-wheels").join(format!("{}-{}", self.package, self.version)))
    }

    /// Returns the path of the file, fetching the wheel if necessary.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        let folder = root().join("target/cuda-wheels");
        let home = folder.join(format!("{}-{}", self.package, self.version));
        let file = home.join(self.file);
        if !file.exists() {
            self.install(&folder, &home)?;
        }
        if !file.exists() {
            return Err(format!("{}=={} has no {}", self.package, self.version, self.file).into());
        }
        Ok(file.canonicalize()?)
    }

    /// Unpacks the wheel under a temporary name, then renames it, so that a folder with the final name is always
    /// complete.
    fn install(&self, folder: &Path, home: &Path) -> Result<(), Failure> {
        let requirement = format!("{}=={}", self.package, self.version);
        let partial = folder.join(format!(".{requirement}.{}", process::id()));
        fs::create_dir_all(folder)?;
        eprintln!("fetching {requirement}");
        let done = pip(&partial)
            .args(["--no-deps", &requirement])
            .output()
            .map_err(|error| format!("cannot run python3 to fetch {requirement}: {error}"))?;
        if !done.status.success() {
            let _ = fs::remove_dir_all(&partial); // the error below matters more than leftover files
            let said = String::from_utf8_lossy(&done.stderr);
            let line =
                said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
            return Err(format!(
                "`python3 -m pip install {requirement}` failed ({line}); it needs pip and a package index within reach"
            )
            .into());
        }
        if let Err(error) = fs::rename(&partial, home) {
            let _ = fs::remove_dir_all(&partial);
            if !home.exists() {
                return Err(format!("cannot name {}: {error}", home.display()).into());
            } // else another process has installed the same wheel meanwhile
        }
        Ok(())
    }
}
