//! How much the pool keeps.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::system::physical_memory;

/// The most that the pool keeps by default, however much memory there is.
const DEFAULT_CAP: usize = 4 << 30;

/// What the pool keeps by default where the system does not say how much memory there is.
const DEFAULT_UNKNOWN: usize = 512 << 20;

/// The limit, once it is known.
static LIMIT: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// Stands for a limit that has not been determined yet. No pool gets that large.
const UNKNOWN: usize = usize::MAX;

/// Changes whenever threads have to read the limit again and free what they keep.
static EPOCH: AtomicUsize = AtomicUsize::new(1);

/// The bytes of large blocks that the pool keeps at most.
#[inline]
pub(super) fn get() -> usize {
    match LIMIT.load(Relaxed) {
        UNKNOWN => look_up(),
        limit => limit,
    }
}

#[cold]
fn look_up() -> usize {
    let text = std::env::var("BITLANE_POOL_LIMIT").unwrap_or_default();
    let limit = parse(&text).unwrap_or_else(default).min(UNKNOWN - 1);
    // A limit that was set meanwhile takes precedence.
    match LIMIT.compare_exchange(UNKNOWN, limit, Relaxed, Relaxed) {
        Ok(_) => limit,
        Err(set) => set,
    }
}

/// A quarter of the memory, but no more than the cap.
fn default() -> usize {
    physical_memory().map_or(DEFAULT_UNKNOWN, |bytes| (bytes / 4).min(DEFAULT_CAP))
}

/// A number of bytes, or of KiB, MiB or GiB with the letter K, M or G.
fn parse(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, shift) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) if text.ends_with('K') => (digits, 10),
        Some(digits) if text.ends_with('M') => (digits, 20),
        Some(digits) => (digits, 30),
        None => (text, 0),
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// Sets the limit. The caller frees what is kept beyond it.
pub(super) fn set(bytes: usize) {
    LIMIT.store(bytes.min(UNKNOWN - 1), Relaxed);
    advance_epoch();
}

/// Tells every thread to free what it keeps.
pub(super) fn advance_epoch() {
    EPOCH.fetch_add(1, Relaxed);
}

/// The present epoch, which is never 0.
#[inline]
pub(super) fn epoch() -> usize {
    EPOCH.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_text() {
        assert_eq!(parse("0"), Some(0));
        assert_eq!(parse(" 4096 "), Some(4096));
        assert_eq!(parse("3K"), Some(3 << 10));
        assert_eq!(parse("5M"), Some(5 << 20));
        assert_eq!(parse("1G"), Some(1 << 30));
        for wrong in ["", "G", "-1", "1T", "99999999999999999999", "99999999999G"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_default_is_a_part_of_the_memory() {
        let limit = default();
        assert!(limit > 0 && limit <= DEFAULT_CAP);
        assert!(physical_memory().is_none_or(|bytes| limit <= bytes / 4));
    }
}
