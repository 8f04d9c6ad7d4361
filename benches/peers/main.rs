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
mod worker;

use std::io;

/// Something to measure.
type Call = Box<dyn FnMut()>;

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip_while(|word| word != "--worker").skip(1);
    let Some(threads) = words.next().and_then(|threads| threads.parse().ok()) else {
        println!("`cargo xtask bench` runs this");
        return Ok(());
    };
    bitlane::cpu::set_threads(threads);
    worker::serve(|case| prepare(case, threads))
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
