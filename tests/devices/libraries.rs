//! Finds the virtual driver and NVRTC without configuration: the driver is built on demand, and NVRTC is the machine's
//! own or the one that `cargo xtask` has fetched.

use std::env;
use std::ffi::{c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// The libraries that a process needs to compute on the virtual device.
pub struct Libraries {
    pub driver: PathBuf,
    /// `None` if the crate finds it by itself.
    pub nvrtc: Option<PathBuf>,
}

/// Returns both libraries, or a message about what is missing.
pub fn libraries() -> Result<&'static Libraries, &'static str> {
    static FOUND: OnceLock<Result<Libraries, String>> = OnceLock::new();
    // NVRTC first: without it, building the driver would be pointless.
    let find = || nvrtc().and_then(|nvrtc| Ok(Libraries { driver: driver()?, nvrtc }));
    FOUND.get_or_init(find).as_ref().map_err(String::as_str)
}

/// Loads a library for the rest of the process, so that it is found by its name.
pub fn load(path: &Path) -> Result<(), String> {
    // SAFETY: the library is this project's or NVIDIA's; their initialisers have no requirements on the program.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
    let library =
        library.map_err(|error| format!("{} cannot be loaded: {error}", path.display()))?;
    type Configure = unsafe extern "C" fn(*const c_char, *const c_char) -> c_int;
    // SAFETY: only the virtual driver exports this function, and with this type; both strings are NUL-terminated.
    unsafe {
        if let Ok(configure) = library.get::<Configure>(b"vcuda_configure\0") {
            // In strict mode nothing reaches the host before it is synchronised, so that a missing synchronisation
            // shows.
            configure(c"strict".as_ptr(), c"1".as_ptr());
        }
    }
    std::mem::forget(library);
    Ok(())
}

fn driver() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os("BITLANE_VCUDA").map(PathBuf::from) {
        let absolute = path.is_absolute();
        let complaint = || format!("BITLANE_VCUDA={} is no absolute path", path.display());
        return if absolute { Ok(path) } else { Err(complaint()) };
    }
    let target = env::current_exe().ok().and_then(|exe| Some(exe.ancestors().nth(3)?.to_owned()));
    let target = target.ok_or("the test does not know its own path")?;
    let done = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--package", "vcuda", "--target-dir"])
        .arg(&target)
        .output();
    match done {
        Ok(done) if done.status.success() => Ok(target.join("debug/libvcuda.so")),
        Ok(done) => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        Err(error) => Err(format!("the virtual driver cannot be built: {error}")),
    }
}

fn nvrtc() -> Result<Option<PathBuf>, String> {
    let names = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"];
    // SAFETY: NVRTC's initialisers have no requirements on the program.
    let is_found = |name: &str| unsafe { Library::new(name) }.is_ok();
    if env::var_os("BITLANE_NVRTC").is_some() || names.into_iter().any(is_found) {
        return Ok(None);
    }
    // Packages in folders of their own share the target folder of the workspace.
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let roots = own.ancestors().take(2).map(|root| root.join("target/cuda-wheels"));
    let files = ["nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "nvidia/cu13/lib/libnvrtc.so.13"];
    let wheels = roots.filter_map(|wheels| wheels.read_dir().ok()).flatten().flatten();
    let mut fetched: Vec<PathBuf> = wheels
        .flat_map(|wheel| files.map(|file| wheel.path().join(file)))
        .filter(|path| path.exists())
        .collect();
    fetched.sort();
    let found = fetched.pop().ok_or("NVRTC is not found; `cargo xtask cuda-env` fetches it")?;
    Ok(Some(found))
}
