//! This crate's side of the comparison with other libraries: `cargo xtask bench` starts it, as it starts a worker
//! for every other library, and asks for one case at a time.
//!
//! A line that names a case, such as `right_shift i32 16M out`, comes in; the microseconds of one call go out, or
//! `-` if there is no such case here. The workers of the other libraries are in `xtask/src/bench/worker.py`, and what
//! a case means is the same in both: change them together.

mod cases;
mod chains;
mod functions;
mod reduce;
mod triad;

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

/// Something to measure.
type Call = Box<dyn FnMut()>;

/// How long to measure one case, if a single call does not take longer.
const BUDGET: Duration = Duration::from_millis(30);

/// How long a sample lasts at least, for the clock not to matter.
const SAMPLE: Duration = Duration::from_micros(500);

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip_while(|word| word != "--worker").skip(1);
    let Some(threads) = words.next().and_then(|threads| threads.parse().ok()) else {
        println!("`cargo xtask bench` runs this");
        return Ok(());
    };
    bitlane::cpu::set_threads(threads);
    let mut prepared: Option<(String, Call)> = None;
    for line in io::stdin().lock().lines() {
        let case = line?;
        if prepared.as_ref().is_none_or(|(name, _)| *name != case) {
            drop(prepared.take()); // its memory makes room first
            prepared = prepare(&case, threads).map(|call| (case, call));
        }
        match &mut prepared {
            Some((_, call)) => println!("{:.4}", measure(call).as_secs_f64() * 1e6),
            None => println!("-"),
        }
        io::stdout().flush()?;
    }
    Ok(())
}

fn prepare(case: &str, threads: usize) -> Option<Call> {
    let words: Vec<&str> = case.split(' ').collect();
    let &[op, dtypes, shape, mode] = words.as_slice() else { return None };
    let fresh = mode == "fresh";
    match op {
        "triad" => Some(triad::prepare(cases::length(shape)?, threads)),
        _ if dtypes == "chain" => chains::prepare(op, cases::length(shape)?),
        _ if dtypes == "job" => reduce::job(op),
        "sum" | "mean" | "max" | "argmax" | "var" | "cumsum" => reduce::prepare(op, dtypes, shape),
        _ => match functions::operation(op) {
            Some(op) => functions::prepare(op, dtypes, shape),
            None => cases::prepare(op, dtypes, shape, fresh),
        },
    }
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
