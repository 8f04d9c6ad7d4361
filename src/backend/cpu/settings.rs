//! Settings that are chosen once per process: the vector instructions, and the sizes from which a technique pays off.
//!
//! The environment variable `BITLANE_CPU` overrides them, for tests and measurements. It is a list such as
//! `avx2,block=512,parallel=1,threads=7`, of which every part is optional:
//!
//! - `baseline`, `avx2` or `avx512`: the vector instructions, as far as the machine has them;
//! - `block`: the bytes of the blocks and squares that hold intermediate values; those that do not fit even with one
//!   element each are on the heap, so a small number sends short programs there, too;
//! - `parallel`: the bytes from which an operation is shared among threads if all of them sleep; half of it suffices if
//!   one is awake;
//! - `stream`: the bytes read and written from which a destination is written past the caches, and the stages of an
//!   expression share rows; blocks become small from half of it;
//! - `rows`: the bytes of the blocks of rows that the stages of an expression share;
//! - `threads`: into how many parts a shared operation is cut, at most 256.
//!
//! A part of the list that cannot be followed is reported on the standard error stream when the settings are first used.
//! [`Settings::list`] says what is in force.

use std::io::Write;
use std::sync::OnceLock;
#[cfg(test)]
use std::{cell::Cell, collections::BTreeMap, sync::Mutex};

use crate::backend::cpu::threads::MAX_THREADS;

/// The vector instructions that loops are compiled for, in the order of the versions of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What every machine of the architecture has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    pub(crate) const COUNT: usize = if cfg!(target_arch = "x86_64") { 3 } else { 1 };

    /// Returns the highest level that this machine has.
    fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("fma");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq");
            if avx2 {
                return if avx512 { Level::Avx512 } else { Level::Avx2 };
            }
        }
        Level::Baseline
    }

    /// Every level of the architecture, from the lowest to the highest.
    const ALL: &[Level] = &[
        Level::Baseline,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512,
    ];

    fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512",
        }
    }

    /// Every level that this machine has.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Level> {
        Level::ALL.iter().copied().filter(|&level| level <= Level::detect()).collect()
    }
}

/// The settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) level: Level,
    /// Bytes of the blocks of one thread, at most [`MAX_BLOCK_BYTES`].
    pub(crate) block_bytes: usize,
    /// The same where the iteration is in squares, at most [`MAX_SQUARE_BYTES`].
    pub(crate) square_bytes: usize,
    /// Below this many bytes, waking another thread costs more than it saves.
    pub(crate) parallel_bytes: usize,
    /// From this many bytes on, read and written, a destination is not expected to stay in the caches.
    pub(crate) stream_bytes: usize,
    /// Bytes of the blocks of rows that several requests share.
    pub(crate) row_bytes: usize,
    /// Into how many parts a sum is cut, if not by the number of threads.
    pub(crate) threads: Option<usize>,
}

/// The bytes from which an operation is shared although a thread has to be woken.
///
/// Measured on two cores as the median of alternating runs, with everything shared and with nothing. For a single
/// call, a sleeping thread is worth waking only from 2 MiB on; calls in a row, which find it awake after the first,
/// gain half as much again at 768 KiB. This value is between the two: a single call loses some 10 µs, and calls in a
/// row gain.
const PARALLEL_BYTES: usize = 512 * 1024;

/// The bytes from which results are streamed: twice the L3 cache of the machine where it was measured, in alternating
/// runs (lower quartiles of nine).
///
/// Operations on 32, 16 and 8 bits and conversions, of 2 M to 24 M elements, were all faster with streaming from 72 MiB
/// read and written, and all faster without it up to 48 MiB, whatever the share of the result.
const STREAM_BYTES: usize = 64 * 1024 * 1024;

/// The bytes of a block of rows, which stays in the L2 cache together with what is computed from it.
const ROW_BYTES: usize = 256 * 1024;

/// Room for blocks, on the stack of each thread. Half of a typical L1 cache, which leaves room for operands.
pub(crate) const MAX_BLOCK_BYTES: usize = 16 * 1024;

/// Room for squares, on the stack of each thread. They fit into a typical L2 cache: the larger they are, the longer
/// are the runs of memory that are read and written at a time.
pub(crate) const MAX_SQUARE_BYTES: usize = 64 * 1024;

impl Settings {
    /// Returns the settings of a list, and what is wrong with it.
    fn parse(text: &str) -> (Settings, Vec<String>) {
        let mut problems = Vec::new();
        let mut settings = Settings {
            level: Level::detect(),
            block_bytes: MAX_BLOCK_BYTES,
            square_bytes: MAX_SQUARE_BYTES,
            parallel_bytes: PARALLEL_BYTES,
            stream_bytes: STREAM_BYTES,
            row_bytes: ROW_BYTES,
            threads: None,
        };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if let Some(&level) = Level::ALL.iter().find(|level| level.name() == part) {
                // Instructions that the machine does not have must not be used.
                settings.level = level.min(Level::detect());
                if settings.level != level {
                    let highest = settings.level.name();
                    problems.push(format!("this machine has no {part}; {highest} is used"));
                }
                continue;
            }
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.parse::<usize>();
            match (key, value) {
                ("block", Ok(value)) => {
                    settings.block_bytes = value.min(MAX_BLOCK_BYTES);
                    settings.square_bytes = value.min(MAX_SQUARE_BYTES);
                }
                ("parallel", Ok(value)) => settings.parallel_bytes = value,
                ("stream", Ok(value)) => settings.stream_bytes = value,
                ("rows", Ok(value)) => settings.row_bytes = value,
                ("threads", Ok(value)) => settings.threads = Some(value.clamp(1, MAX_THREADS)),
                ("block" | "parallel" | "stream" | "rows" | "threads", Err(_)) => {
                    problems.push(format!("{part:?} has no number"));
                }
                _ => problems.push(format!("{part:?} is no setting of this architecture")),
            }
        }
        (settings, problems)
    }

    /// Returns the settings as a list that would set them.
    pub(crate) fn list(&self) -> String {
        let Settings {
            level, square_bytes, parallel_bytes, stream_bytes, row_bytes, threads, ..
        } = self;
        let level = level.name();
        let threads = threads.map_or(String::new(), |threads| format!(",threads={threads}"));
        format!(
            "{level},block={square_bytes},parallel={parallel_bytes},stream={stream_bytes},rows={row_bytes}{threads}"
        )
    }

    /// Returns the settings for a call by this thread.
    #[inline]
    pub(crate) fn get() -> &'static Settings {
        #[cfg(test)]
        if let Some(forced) = FORCED.get() {
            return forced;
        }
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| {
            let text = std::env::var_os("BITLANE_CPU").unwrap_or_default();
            let (settings, problems) = Settings::parse(&text.to_string_lossy());
            for problem in problems {
                // Nobody is there to return an error to: the settings are first used inside an operation.
                let _ = writeln!(std::io::stderr(), "bitlane: BITLANE_CPU: {problem}");
            }
            settings
        })
    }

    /// Runs a function with the settings of a list as in `BITLANE_CPU`.
    #[cfg(test)]
    pub(crate) fn forced<R>(list: &str, run: impl FnOnce() -> R) -> R {
        // Settings live for ever, so every list is kept once: otherwise memory would leak.
        static KNOWN: Mutex<BTreeMap<String, &'static Settings>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap();
        let forced = *known.entry(list.into()).or_insert_with(|| {
            let (settings, problems) = Settings::parse(list);
            assert!(problems.is_empty(), "{problems:?}");
            Box::leak(Box::new(settings))
        });
        drop(known);
        let before = FORCED.replace(Some(forced));
        let result = run();
        FORCED.set(before);
        result
    }
}

#[cfg(test)]
thread_local! {
    static FORCED: Cell<Option<&'static Settings>> = const { Cell::new(None) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_override_the_choices() {
        let list = "baseline,block=64,parallel=1,stream=7,rows=9,threads=3";
        let (settings, problems) = Settings::parse(list);
        assert_eq!(settings.level, Level::Baseline);
        assert_eq!((settings.block_bytes, settings.parallel_bytes), (64, 1));
        assert_eq!((settings.stream_bytes, settings.threads), (7, Some(3)));
        assert_eq!(settings.row_bytes, 9);
        assert_eq!((settings.list(), problems), (list.into(), vec![]));
        assert_eq!(Settings::parse("").0.level, Level::detect());
        let (defaults, _) = Settings::parse("");
        assert_eq!(Settings::parse(&defaults.list()).0.list(), defaults.list());
    }

    #[test]
    fn what_cannot_be_followed_is_reported() {
        for wrong in ["nonsense", "avx51", "block", "block=", "blok=64", "threads=-1", "Avx2", "1"]
        {
            let (settings, problems) = Settings::parse(&format!("block=64,{wrong},parallel=1"));
            assert_eq!(problems.len(), 1, "{wrong}");
            assert!(settings.list().contains("block=64,parallel=1,"), "{wrong}");
        }
        for &level in Level::ALL {
            let (settings, problems) = Settings::parse(level.name());
            assert_eq!(problems.is_empty(), level <= Level::detect(), "{problems:?}");
            assert_eq!(settings.level, level.min(Level::detect()));
        }
    }

    /// The parts of an operation are several per thread, which must not overflow.
    #[test]
    fn the_number_of_threads_is_limited() {
        for threads in [1 << 61, usize::MAX, MAX_THREADS + 1] {
            let (settings, problems) = Settings::parse(&format!("threads={threads}"));
            assert_eq!((settings.threads, problems), (Some(MAX_THREADS), vec![]));
        }
        assert_eq!(Settings::parse("threads=0").0.threads, Some(1));
    }
}
