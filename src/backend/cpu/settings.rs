//! Settings that are chosen once per process: the vector instructions, and the sizes from which a technique pays off.
//!
//! The environment variable `BITLANE_CPU` overrides them, for tests and measurements. It is a list such as
//! `avx2,block=512,parallel=1,threads=7`, of which every part is optional:
//!
//! - `baseline`, `avx2` or `avx512`: the vector instructions, as far as the machine has them;
//! - `block`: the bytes of the blocks and squares that hold intermediate values;
//! - `parallel`: the bytes from which an operation is shared among threads if all of them sleep; half of it suffices if
//!   one is awake;
//! - `stream`: the bytes read and written from which a destination is written past the caches; blocks become small from
//!   half of it;
//! - `threads`: into how many parts a shared operation is cut.

#[cfg(test)]
use std::cell::Cell;
use std::sync::OnceLock;

/// The vector instructions that loops are compiled for, in the order of the versions of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// What every machine of the architecture has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    pub(super) const COUNT: usize = if cfg!(target_arch = "x86_64") { 3 } else { 1 };

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

    fn named(name: &str) -> Option<Level> {
        match name {
            "baseline" => Some(Level::Baseline),
            #[cfg(target_arch = "x86_64")]
            "avx2" => Some(Level::Avx2),
            #[cfg(target_arch = "x86_64")]
            "avx512" => Some(Level::Avx512),
            _ => None,
        }
    }

    /// Every level that this machine has.
    #[cfg(test)]
    pub(super) fn available() -> Vec<Level> {
        ["baseline", "avx2", "avx512"]
            .into_iter()
            .filter_map(Level::named)
            .filter(|&level| level <= Level::detect())
            .collect()
    }
}

/// The settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) level: Level,
    /// Bytes of the blocks of one thread, at most [`MAX_BLOCK_BYTES`].
    pub(super) block_bytes: usize,
    /// The same where the iteration is in squares, at most [`MAX_SQUARE_BYTES`].
    pub(super) square_bytes: usize,
    /// Below this many bytes, waking another thread costs more than it saves.
    pub(super) parallel_bytes: usize,
    /// From this many bytes on, read and written, a destination is not expected to stay in the caches.
    pub(super) stream_bytes: usize,
    /// Into how many parts a sum is cut, if not by the number of threads.
    pub(super) threads: Option<usize>,
}

/// The bytes from which an operation is shared although a thread has to be woken.
///
/// Measured on two cores as the median of alternating runs, with everything shared and with nothing. For a single
/// call, a sleeping thread is worth waking only from 2 MB on; calls in a row, which find it awake after the first,
/// gain half as much again at 768 KB. This value is between the two: a single call loses some 10 µs, and calls in a
/// row gain.
const PARALLEL_BYTES: usize = 512 * 1024;

/// The bytes from which results are streamed: twice the L3 cache of the machine where it was measured, in alternating
/// runs (lower quartiles of nine).
///
/// Operations on 32, 16 and 8 bits and conversions, of 2 M to 24 M elements, were all faster with streaming from 72 MB
/// read and written, and all faster without it up to 48 MB, whatever the share of the result.
const STREAM_BYTES: usize = 64 * 1024 * 1024;

/// Room for blocks, on the stack of each thread. Half of a typical L1 cache, which leaves room for operands.
pub(super) const MAX_BLOCK_BYTES: usize = 16 * 1024;

/// Room for squares, on the stack of each thread. They fit into a typical L2 cache: the larger they are, the longer
/// are the runs of memory that are read and written at a time.
pub(super) const MAX_SQUARE_BYTES: usize = 64 * 1024;

impl Settings {
    fn parse(text: &str) -> Settings {
        let mut settings = Settings {
            level: Level::detect(),
            block_bytes: MAX_BLOCK_BYTES,
            square_bytes: MAX_SQUARE_BYTES,
            parallel_bytes: PARALLEL_BYTES,
            stream_bytes: STREAM_BYTES,
            threads: None,
        };
        for part in text.split(',') {
            if let Some(level) = Level::named(part) {
                // Instructions that the machine does not have must not be used.
                settings.level = level.min(settings.level);
            } else if let Some((key, value)) = part.split_once('=')
                && let Ok(value) = value.parse::<usize>()
            {
                match key {
                    "block" => {
                        settings.block_bytes = value.min(MAX_BLOCK_BYTES);
                        settings.square_bytes = value.min(MAX_SQUARE_BYTES);
                    }
                    "parallel" => settings.parallel_bytes = value,
                    "stream" => settings.stream_bytes = value,
                    "threads" => settings.threads = Some(value.max(1)),
                    _ => {}
                }
            }
        }
        settings
    }

    /// Returns the settings for a call by this thread.
    #[inline]
    pub(super) fn get() -> &'static Settings {
        #[cfg(test)]
        if let Some(forced) = FORCED.get() {
            return forced;
        }
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| Settings::parse(&std::env::var("BITLANE_CPU").unwrap_or_default()))
    }

    /// Runs a function with the settings of a list as in `BITLANE_CPU`.
    #[cfg(test)]
    pub(super) fn forced<R>(list: &str, run: impl FnOnce() -> R) -> R {
        let forced = Box::leak(Box::new(Settings::parse(list)));
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
        let settings = Settings::parse("baseline,block=64,parallel=1,stream=7,threads=3,nonsense");
        assert_eq!(settings.level, Level::Baseline);
        assert_eq!((settings.block_bytes, settings.parallel_bytes), (64, 1));
        assert_eq!((settings.stream_bytes, settings.threads), (7, Some(3)));
        assert_eq!(Settings::parse("").level, Level::detect());
        assert!(Settings::parse("avx512").level <= Level::detect());
    }
}
