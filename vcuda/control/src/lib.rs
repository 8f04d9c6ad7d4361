//! Loads the virtual CUDA driver `vcuda` into a process and controls it, for test suites.
//!
//! The driver is a shared library with the names and symbols of the vendor's. This crate contains nothing of it, so that a
//! process has one driver only: [`Control`] loads the library and calls its exported `vcuda_*` functions.
//!
//! ```no_run
//! let driver = vcuda_control::Control::load_built()?;
//! driver.set("cc", "90")?;
//! driver.fail("cuMemAllocAsync", 3, 2)?;
//! // … run a CUDA program in this process …
//! assert!(driver.findings().is_empty());
//! # Ok::<(), String>(())
//! ```

#![deny(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "the virtual CUDA driver runs on Linux only: depend on `vcuda-control` under \
     [target.'cfg(target_os = \"linux\")'.dev-dependencies]"
);

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

type Configure = unsafe extern "C" fn(*const c_char, *const c_char) -> c_int;
type Plain = unsafe extern "C" fn();
type Text = unsafe extern "C" fn(*mut c_char, usize) -> usize;
type Numbers = unsafe extern "C" fn(*mut u64, usize) -> usize;

/// A loaded virtual driver. The library stays loaded for the rest of the process.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    /// The handle of the loaded library, as a number: it may be used by every thread.
    library: usize,
    configure: Configure,
    reset: Plain,
    clear: Plain,
    report: Text,
    stats: Text,
    live: Numbers,
}

/// Counts of the driver's live objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Live {
    /// Device, pinned and managed allocations, not counting variables of modules.
    pub allocations: u64,
    /// Streams created by the program.
    pub streams: u64,
    /// Events.
    pub events: u64,
    /// Modules loaded by the program, and libraries.
    pub modules: u64,
    /// Graphs and executable graphs.
    pub graphs: u64,
    /// Contexts.
    pub contexts: u64,
    /// The size of all allocations, in bytes.
    pub bytes: u64,
}

/// What the driver has run since it was loaded or reset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Per kernel: its name, its launches, and its instructions summed over all threads.
    pub kernels: Vec<(String, u64, u64)>,
    /// Per API function: its name and its calls.
    pub calls: Vec<(String, u64)>,
}

impl Stats {
    /// Returns the number of launches of all kernels.
    pub fn launches(&self) -> u64 {
        self.kernels.iter().map(|k| k.1).sum()
    }

    /// Returns the number of calls of an API function.
    pub fn calls_of(&self, function: &str) -> u64 {
        self.calls.iter().find(|c| c.0 == function).map_or(0, |c| c.1)
    }
}

fn last_error() -> String {
    // SAFETY: `dlerror` returns null or a string that is valid until its next call on this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: not null, and a valid C string as stated above; it is copied at once.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Returns the address of a symbol in an open library.
fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle is open, since libraries are never closed here, and the name is NUL-terminated.
    let at = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!at.is_null()).then_some(at)
}

/// Finds the shared library that cargo has built next to a program: in one of the three nearest parent folders, or in
/// the folder `deps` of one of them. For a dependency that is not a path dependency, the file name contains a hash.
fn built_beside(program: &Path) -> Option<PathBuf> {
    let folders =
        program.ancestors().skip(1).take(3).flat_map(|dir| [dir.join("deps"), dir.into()]);
    let mut found: Vec<(SystemTime, PathBuf)> = folders
        .filter_map(|folder| folder.read_dir().ok())
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".so"));
            stem.is_some_and(|stem| stem == "libvcuda" || stem.starts_with("libvcuda-"))
        })
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    // Take the newest: an older version of the crate may have left its own library behind.
    found.sort();
    found.pop().map(|(_, path)| path)
}

impl Control {
    /// Loads the library that cargo built for this test or program, of which this crate is a dependency, so that later
    /// requests for `libcuda.so` find it. Must be called before the first CUDA call of the process.
    ///
    /// # Errors
    ///
    /// Fails if there is no such library or it cannot be loaded.
    pub fn load_built() -> Result<Control, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let path = built_beside(&program).ok_or_else(|| {
            format!("there is no libvcuda.so beside {}; name it with `load`", program.display())
        })?;
        Control::load(&path)
    }

    /// Loads the library at a path, so that later requests for `libcuda.so` find it, and resolves its control
    /// functions.
    ///
    /// # Errors
    ///
    /// Fails if the library cannot be loaded or lacks a control function.
    pub fn load(path: &Path) -> Result<Control, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: the library's initialisers do nothing beyond what Rust's runtime does.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(last_error());
        }
        let find = |name: &CStr| {
            let missing = || format!("{} has no {}", path.display(), name.to_string_lossy());
            symbol(handle, name).ok_or_else(missing)
        };
        // SAFETY: the library exports functions of these types under these names; it is never unloaded.
        unsafe {
            Ok(Control {
                library: handle as usize,
                configure: std::mem::transmute::<*mut c_void, Configure>(find(c"vcuda_configure")?),
                reset: std::mem::transmute::<*mut c_void, Plain>(find(c"vcuda_reset")?),
                clear: std::mem::transmute::<*mut c_void, Plain>(find(c"vcuda_clear_findings")?),
                report: std::mem::transmute::<*mut c_void, Text>(find(c"vcuda_report")?),
                stats: std::mem::transmute::<*mut c_void, Text>(find(c"vcuda_stats")?),
                live: std::mem::transmute::<*mut c_void, Numbers>(find(c"vcuda_live")?),
            })
        }
    }

    /// Returns the address of a function of the driver, such as `cuInit`. It stays valid for the rest of the process.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        symbol(self.library as *mut c_void, name)
    }

    /// Changes a setting. The keys are the names of the environment variables without `VCUDA_`, in either case.
    ///
    /// # Errors
    ///
    /// Fails if there is no such key or the value is invalid for it.
    pub fn set(&self, key: &str, value: &str) -> Result<(), String> {
        let (k, v) = (
            CString::new(key).map_err(|e| e.to_string())?,
            CString::new(value).map_err(|e| e.to_string())?,
        );
        // SAFETY: both strings are NUL-terminated.
        match unsafe { (self.configure)(k.as_ptr(), v.as_ptr()) } {
            0 => Ok(()),
            _ => Err(format!("vcuda has no setting {key}={value}")),
        }
    }

    /// Makes the `call`-th call of a function from now on (counted from one; zero means every call) fail with an error
    /// code. The function `*` stands for every function.
    ///
    /// # Errors
    ///
    /// Fails if there is no such function or the code is zero (success).
    pub fn fail(&self, function: &str, call: u64, code: u32) -> Result<(), String> {
        self.set("fail", &format!("{function}:{call}:{code}"))
    }

    /// Removes all injected faults.
    pub fn heal(&self) {
        let _ = self.set("fail", "");
    }

    /// Resets the driver to its initial state, with the settings of the environment. Handles that the program still
    /// holds become invalid.
    pub fn reset(&self) {
        // SAFETY: takes nothing and returns nothing.
        unsafe { (self.reset)() }
    }

    /// Discards the findings so far.
    pub fn clear_findings(&self) {
        // SAFETY: takes nothing and returns nothing.
        unsafe { (self.clear)() }
    }

    fn text(&self, function: Text) -> String {
        let mut buffer = vec![0u8; 4096];
        loop {
            // SAFETY: the buffer is writable for the length passed.
            let needed = unsafe { function(buffer.as_mut_ptr().cast(), buffer.len()) };
            if needed < buffer.len() {
                buffer.truncate(needed);
                return String::from_utf8_lossy(&buffer).into_owned();
            }
            buffer.resize(needed + 1024, 0);
        }
    }

    /// Returns the findings as a JSON array of objects with `kind`, `code`, `text` and, for findings in kernels,
    /// `kernel`, `block`, `thread` and `line`.
    pub fn report(&self) -> String {
        self.text(self.report)
    }

    /// Returns the findings, one string each, starting with the kind.
    pub fn findings(&self) -> Vec<String> {
        let report = self.report();
        report.split("\"text\":\"").skip(1).map(unquoted).collect()
    }

    /// Returns what the driver has run since it was loaded or reset.
    pub fn stats(&self) -> Stats {
        let text = self.text(self.stats);
        let (kernels, calls) = text.split_once("},\"calls\":{").unwrap_or((&text, ""));
        let number =
            |text: &str| text.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
        let kernels =
            kernels.trim_start_matches("{\"kernels\":{").split("},").filter_map(|entry| {
                let (name, rest) = entry.trim_start_matches('"').split_once("\":{\"launches\":")?;
                let (launches, instructions) = rest.split_once(",\"instructions\":")?;
                Some((name.to_string(), number(launches), number(instructions)))
            });
        let calls = calls.split(',').filter_map(|entry| {
            let (name, count) = entry.trim_matches(['"', '}']).split_once("\":")?;
            Some((name.to_string(), number(count)))
        });
        Stats { kernels: kernels.collect(), calls: calls.collect() }
    }

    /// Returns the counts of the driver's live objects.
    pub fn live(&self) -> Live {
        let mut n = [0u64; 7];
        // SAFETY: the array is writable for the length passed.
        unsafe { (self.live)(n.as_mut_ptr(), n.len()) };
        let [allocations, streams, events, modules, graphs, contexts, bytes] = n;
        Live { allocations, streams, events, modules, graphs, contexts, bytes }
    }
}

/// Decodes a JSON string up to its closing quote.
fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    out.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
                }
                c => out.extend(c),
            },
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn quotes_are_taken_off() {
        assert_eq!(super::unquoted(r#"a \"b\" \\ \u0009c" and more"#), "a \"b\" \\ \tc");
    }
}
