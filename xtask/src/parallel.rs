//! Parallel work on all cores, with a progress line.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::Failure;

/// Runs `work` on every item, on all cores, and returns the results in the order of the items.
pub fn map<T: Sync, R: Send>(
    what: &str,
    items: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Vec<Result<R, Failure>> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let mut results: Vec<(usize, Result<R, Failure>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(place) else { break };
                        progress(what, place + 1, items.len());
                        done.push((place, work(item)));
                    }
                    done
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    progress_end();
    results.sort_by_key(|&(place, _)| place);
    results.into_iter().map(|(_, result)| result).collect()
}

fn progress(what: &str, done: usize, all: usize) {
    if std::io::stderr().is_terminal() {
        eprint!("\r{what} {done}/{all} ");
        let _ = std::io::stderr().flush(); // failing to show progress is not an error
    }
}

fn progress_end() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}
