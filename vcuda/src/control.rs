//! A handle on a loaded virtual driver, for test suites.
//!
//! A test process that loads the shared library has its state in that library. A copy of this crate linked
//! into the same process is another driver with another state; [`Control`] therefore talks to the loaded one
//! through its exported `vcuda_*` functions.
//!
//! ```no_run
//! let driver = vcuda::control::Control::load_built()?;
//! driver.set("cc", "90")?;
//! driver.fail("cuMemAllocAsync", 3, 2)?;
//! // … run a CUDA program in this process …
//! assert!(driver.findings().is_empty());
//! # Ok::<(), String>(())
//! ```

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
    configure: Configure,
    reset: Plain,
    clear: Plain,
    report: Text,
    stats: Text,
    live: Numbers,
}

/// Live objects of the driver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Live {
    /// Device, pinned and managed allocations, without variables of modules.
    pub allocations: u64,
    /// Streams made by the program.
    pub streams: u64,
    /// Events.
    pub events: u64,
    /// Modules.
    pub modules: u64,
    /// Graphs and executable graphs.
    pub graphs: u64,
    /// Contexts.
    pub contexts: u64,
    /// Bytes in all allocations.
    pub bytes: u64,
}

/// What the driver has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Kernel, launches, instructions summed over threads.
    pub kernels: Vec<(String, u64, u64)>,
    /// Function, calls.
    pub calls: Vec<(String, u64)>,
}

impl Stats {
    /// The launches of all kernels.
    pub fn launches(&self) -> u64 {
        self.kernels.iter().map(|k| k.1).sum()
    }

    /// The calls of a function.
    pub fn calls_of(&self, function: &str) -> u64 {
        self.calls.iter().find(|c| c.0 == function).map_or(0, |c| c.1)
    }
}

fn last_error() -> String {
    // SAFETY: `dlerror` gives null or a string that lives until the next call on this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: not null, as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The shared library that cargo has built beside a program: in one of the folders that the program is in, or in their
/// `deps`. A dependency that does not come from a path has a hash in its name.
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
    // An older version of the crate may have left its own.
    found.sort();
    found.pop().map(|(_, path)| path)
}

impl Control {
    /// Loads the library that cargo has built for this test or program, because `vcuda` is among its dependencies, so that
    /// later requests for `libcuda.so` find it. Must come before the first CUDA call of the process.
    ///
    /// # Errors
    ///
    /// If there is no such library, or it cannot be loaded.
    pub fn load_built() -> Result<Control, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let path = built_beside(&program).ok_or_else(|| {
            format!("there is no libvcuda.so beside {}; name it with `load`", program.display())
        })?;
        Control::load(&path)
    }

    /// Loads the library by its path, so that later requests for `libcuda.so` find it, and resolves its
    /// control functions.
    pub fn load(path: &Path) -> Result<Control, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: the library's initialisers do nothing beyond what Rust's runtime does.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(last_error());
        }
        let find = |name: &CStr| -> Result<*mut c_void, String> {
            // SAFETY: the handle is open and the name ends with a zero.
            let at = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if at.is_null() {
                Err(format!("{} has no {}", path.display(), name.to_string_lossy()))
            } else {
                Ok(at)
            }
        };
        // SAFETY: the library exports these names with these types; it is never unloaded.
        unsafe {
            Ok(Control {
                configure: std::mem::transmute::<*mut c_void, Configure>(find(c"vcuda_configure")?),
                reset: std::mem::transmute::<*mut c_void, Plain>(find(c"vcuda_reset")?),
                clear: std::mem::transmute::<*mut c_void, Plain>(find(c"vcuda_clear_findings")?),
                report: std::mem::transmute::<*mut c_void, Text>(find(c"vcuda_report")?),
                stats: std::mem::transmute::<*mut c_void, Text>(find(c"vcuda_stats")?),
                live: std::mem::transmute::<*mut c_void, Numbers>(find(c"vcuda_live")?),
            })
        }
    }

    /// Changes a setting; the keys are those of the environment without `VCUDA_`.
    pub fn set(&self, key: &str, value: &str) -> Result<(), String> {
        let (k, v) = (
            CString::new(key).map_err(|e| e.to_string())?,
            CString::new(value).map_err(|e| e.to_string())?,
        );
        // SAFETY: both strings end with a zero.
        match unsafe { (self.configure)(k.as_ptr(), v.as_ptr()) } {
            0 => Ok(()),
            _ => Err(format!("vcuda has no setting {key}={value}")),
        }
    }

    /// Makes the `call`-th call of a function from now on (counted from one; zero: every call) fail with a
    /// code. The function `*` stands for every function.
    pub fn fail(&self, function: &str, call: u64, code: u32) -> Result<(), String> {
        self.set("fail", &format!("{function}:{call}:{code}"))
    }

    /// Removes all injected faults.
    pub fn heal(&self) {
        let _ = self.set("fail", "");
    }

    /// Goes back to the first state. Handles held by the program are invalid afterwards.
    pub fn reset(&self) {
        // SAFETY: takes nothing and returns nothing.
        unsafe { (self.reset)() }
    }

    /// Forgets the findings.
    pub fn clear_findings(&self) {
        // SAFETY: takes nothing and returns nothing.
        unsafe { (self.clear)() }
    }

    fn text(&self, function: Text) -> String {
        let mut buffer = vec![0u8; 4096];
        loop {
            // SAFETY: the buffer has the length that is passed.
            let needed = unsafe { function(buffer.as_mut_ptr().cast(), buffer.len()) };
            if needed < buffer.len() {
                buffer.truncate(needed);
                return String::from_utf8_lossy(&buffer).into_owned();
            }
            buffer.resize(needed + 1024, 0);
        }
    }

    /// The findings as a JSON array of objects with `kind`, `code`, `text` and, for kernels, `kernel`, `block`,
    /// `thread`, `line`.
    pub fn report(&self) -> String {
        self.text(self.report)
    }

    /// The findings, one sentence each, beginning with their kind.
    pub fn findings(&self) -> Vec<String> {
        let report = self.report();
        report.split("\"text\":\"").skip(1).map(unquoted).collect()
    }

    /// What the driver has done since it was loaded or reset.
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

    /// Live objects.
    pub fn live(&self) -> Live {
        let mut n = [0u64; 7];
        // SAFETY: the array has the length that is passed.
        unsafe { (self.live)(n.as_mut_ptr(), n.len()) };
        let [allocations, streams, events, modules, graphs, contexts, bytes] = n;
        Live { allocations, streams, events, modules, graphs, contexts, bytes }
    }
}

/// The string up to its closing quote.
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
