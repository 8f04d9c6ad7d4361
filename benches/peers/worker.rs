//! The answers to `cargo xtask bench`: one line with the microseconds of one call for each line that names a case.

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use crate::Call;

/// How long to measure one case, if a single call does not take longer.
const BUDGET: Duration = Duration::from_millis(30);

/// How long a sample lasts at least, for the clock not to matter.
const SAMPLE: Duration = Duration::from_micros(500);

/// Answers every line, with `-` if there is no such case.
pub fn serve(mut prepare: impl FnMut(&str) -> Option<Call>) -> io::Result<()> {
    let mut prepared: Option<(String, Call)> = None;
    for line in io::stdin().lock().lines() {
        let case = line?;
        if prepared.as_ref().is_none_or(|(name, _)| *name != case) {
            drop(prepared.take()); // its memory makes room first
            prepared = prepare(&case).map(|call| (case, call));
        }
        match &mut prepared {
            Some((_, call)) => println!("{:.4}", measure(call).as_secs_f64() * 1e6),
            None => println!("-"),
        }
        io::stdout().flush()?;
    }
    Ok(())
}

/// The median time of one call.
fn measure(call: &mut Call) -> Duration {
    let mut once = || {
        let start = Instant::now();
        call();
        start.elapsed()
    };
    once();
    let calls = (SAMPLE.as_nanos() / once().as_nanos().max(1) + 1).min(100_000) as u32;
    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.len() < 3 || start.elapsed() < BUDGET {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        samples.push(start.elapsed() / calls);
    }
    samples.sort_unstable();
    samples[samples.len() / 2]
}
