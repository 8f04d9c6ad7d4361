//! Settings: read from the environment when the library is first used, and changed by [`set`] afterwards.

use crate::faults;
use crate::sanitizer::{Kinds, lock};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

/// When the work queued on a stream runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Async {
    /// When the program synchronises with it, and no earlier.
    Lazy,
    /// Immediately.
    Eager,
    /// At times drawn from a generator with this seed.
    Seed(u64),
}

/// The settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Compute capability, major × 10 + minor.
    pub cc: u32,
    pub devices: u32,
    /// The newest PTX version accepted, major × 10 + minor.
    pub ptx_isa: u32,
    /// The version that `cuDriverGetVersion` returns.
    pub driver: u32,
    pub pools: bool,
    /// Memory per device, in bytes.
    pub memory: u64,
    pub trace: bool,
    pub stats: bool,
    pub stub: bool,
    /// If nonzero, only this many blocks at either end of a grid are run; zero means all.
    pub ends: u64,
    pub when: Async,
    /// Pageable host memory is read when the copy runs, instead of being staged at the call.
    pub late_host: bool,
    /// Copies to pageable memory and host functions, too, do not run before the program synchronises with them.
    pub strict: bool,
    pub races: bool,
    /// Races between work items that nothing orders are looked for.
    pub order: bool,
    /// The seed of the order in which the warps of a block run; zero: by their numbers.
    pub warps: u64,
    /// Kinds of findings that are reported but do not fail the kernel.
    pub report: Kinds,
    /// Kinds of findings that are neither reported nor fail the kernel.
    pub ignore: Kinds,
    pub quiet: bool,
    /// Instructions that a warp may run before the launch times out.
    pub timeout: u64,
    /// Host threads that run blocks; zero means one per available CPU.
    pub workers: usize,
    /// A folder of PTX files that are used in place of cubin images.
    pub cubin: Option<String>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            cc: 80,
            devices: 1,
            ptx_isa: 999,
            driver: 13040,
            pools: true,
            memory: 16 << 30,
            trace: false,
            stats: false,
            stub: false,
            ends: 0,
            when: Async::Lazy,
            late_host: false,
            strict: false,
            races: true,
            order: false,
            warps: 0,
            report: Kinds::default(),
            ignore: Kinds::default(),
            quiet: false,
            timeout: 1 << 32,
            workers: 0,
            cubin: None,
        }
    }
}

fn flag(value: &str) -> Option<bool> {
    match value {
        "" | "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn bytes(value: &str) -> Option<u64> {
    let lower = value.to_ascii_lowercase();
    let (digits, shift) = match lower.char_indices().last()? {
        (k, 'k') => (&lower[..k], 10),
        (k, 'm') => (&lower[..k], 20),
        (k, 'g') => (&lower[..k], 30),
        _ => (lower.as_str(), 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn version(value: &str) -> Option<u32> {
    match value.split_once('.') {
        Some((major, minor)) => {
            let minor = minor.parse().ok().filter(|&n: &u32| n < 10)?;
            major.parse::<u32>().ok()?.checked_mul(10)?.checked_add(minor)
        }
        None => value.parse().ok(),
    }
}

/// Returns the newest PTX version, major × 10 + minor, that a driver for this version of CUDA accepts.
fn isa_of(driver: u32) -> u32 {
    let (major, minor) = (driver / 1000, driver % 1000 / 10);
    match (major, minor) {
        (..=11, _) => 70 + minor.min(8),
        (12, ..=5) => 80 + minor,
        // CUDA 12.6 has the PTX of 12.5.
        (12, _) => 79 + minor,
        (major, _) => (major - 4) * 10 + minor,
    }
}

fn when(value: &str) -> Option<Async> {
    match value {
        "lazy" => Some(Async::Lazy),
        "eager" => Some(Async::Eager),
        _ => value.strip_prefix("seed:")?.parse().ok().map(Async::Seed),
    }
}

impl Config {
    /// Changes one setting. Keys are accepted with or without prefix (`VCUDA_CC`, `cc`). Returns `None` if there is no
    /// such key or the value is invalid for it.
    fn change(&mut self, key: &str, value: &str) -> Option<()> {
        let value = value.trim();
        let key = key.to_ascii_uppercase();
        match key.strip_prefix("VCUDA_").unwrap_or(&key) {
            "CC" => self.cc = version(value).filter(|cc| (30..=199).contains(cc))?,
            "DEVICES" => self.devices = value.parse().ok().filter(|&n| n <= 16)?,
            "PTX_ISA" => self.ptx_isa = version(value)?,
            "DRIVER" => {
                self.driver = value.parse().ok().filter(|&n| n <= i32::MAX as u32)?;
                // A driver knows the PTX of its own version.
                self.ptx_isa = isa_of(self.driver);
            }
            "NO_POOLS" => self.pools = !flag(value)?,
            "MEMORY" => self.memory = bytes(value)?,
            "TRACE" => self.trace = flag(value)?,
            "STATS" => self.stats = flag(value)?,
            "STUB" => self.stub = flag(value)?,
            "ENDS" => self.ends = value.parse().ok()?,
            "ASYNC" => self.when = when(value)?,
            "LATE_HOST" => self.late_host = flag(value)?,
            "STRICT" => self.strict = flag(value)?,
            "REPORT" => self.report = Kinds::parse(value)?,
            "IGNORE" => self.ignore = Kinds::parse(value)?,
            "NO_RACES" => self.races = !flag(value)?,
            "ORDER" => self.order = flag(value)?,
            "WARPS" => self.warps = value.strip_prefix("seed:").unwrap_or(value).parse().ok()?,
            "QUIET" => self.quiet = flag(value)?,
            "TIMEOUT" => self.timeout = value.parse().ok().filter(|&n| n > 0)?,
            "WORKERS" => self.workers = value.parse().ok()?,
            "CUBIN" => self.cubin = (!value.is_empty()).then(|| value.to_string()),
            "FAIL" => return faults::set(value),
            _ => return None,
        }
        Some(())
    }

    fn from_environment() -> Config {
        let mut config = Config::default();
        let mut variables: Vec<_> = std::env::vars_os().collect();
        // The driver's version first: another setting may be an exception from what it implies.
        variables.sort_by_key(|(name, _)| (name != "VCUDA_DRIVER", name.clone()));
        for (name, value) in variables {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            if name.starts_with("VCUDA_") && config.change(&name, &value).is_none() {
                eprintln!("vcuda: {name}={value} makes no sense and is ignored");
            }
        }
        config
    }
}

static TRACE: AtomicBool = AtomicBool::new(false);

fn cell() -> &'static Mutex<Config> {
    static CONFIG: OnceLock<Mutex<Config>> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let config = Config::from_environment();
        TRACE.store(config.trace, Relaxed);
        Mutex::new(config)
    })
}

/// Returns a copy of the current settings.
pub fn get() -> Config {
    lock(cell()).clone()
}

/// Calls `f` with the current settings.
pub fn with<T>(f: impl FnOnce(&Config) -> T) -> T {
    f(&lock(cell()))
}

/// Returns whether calls are traced to stderr.
pub fn tracing() -> bool {
    cell();
    TRACE.load(Relaxed)
}

/// Changes a setting by its key. Returns `false` if there is no such key or the value is invalid for it.
pub fn set(key: &str, value: &str) -> bool {
    let mut config = lock(cell());
    let done = config.change(key, value).is_some();
    TRACE.store(config.trace, Relaxed);
    done
}

/// Restores the settings of the environment and removes all injected faults.
pub fn reset() {
    faults::clear();
    let config = Config::from_environment();
    TRACE.store(config.trace, Relaxed);
    *lock(cell()) = config;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitizer::Kind;

    #[test]
    fn values_are_read() {
        let mut c = Config::default();
        assert!(c.change("memory", "3m").is_some() && c.memory == 3 << 20);
        assert!(c.change("VCUDA_PTX_ISA", "8.0").is_some() && c.ptx_isa == 80);
        for (driver, isa) in
            [("11080", 78), ("12050", 85), ("12060", 85), ("12090", 88), ("13040", 94)]
        {
            assert!(c.change("driver", driver).is_some() && c.ptx_isa == isa, "{driver}");
        }
        assert!(c.change("cc", "12.0").is_some() && c.cc == 120);
        assert!(c.change("async", "seed:7").is_some() && c.when == Async::Seed(7));
        assert!(c.change("no_pools", "1").is_some() && !c.pools);
        assert!(c.change("report", "race, uninitialised-read").is_some());
        assert!(c.report.has(Kind::Race) && !c.report.has(Kind::WrongSync));
        assert!(c.change("ignore", "all").is_some() && c.ignore.has(Kind::Leak));
        assert!(!c.ignore.has(Kind::OutOfBounds) && c.change("ignore", "out-of-bounds").is_none());
        assert!(c.change("async", "sometimes").is_none() && c.change("colour", "red").is_none());
        assert!(
            c.change("cc", "4294967295.9").is_none()
                && c.change("memory", "99999999999g").is_none()
        );
    }
}
