//! Measures the libraries in turns.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::cases::Case;
use super::load::Load;
use super::peers::{self, Library, Worker};
use crate::{Failure, Outcome};

/// From this ratio on two libraries count as equally fast: runs are noisy.
pub const EQUAL: f64 = 0.95;

/// The times of all cases.
pub struct Measured {
    pub times: Vec<Times>,
    /// How many cores other programs kept busy, on average; `None` if the system does not report it.
    pub others: Option<f64>,
}

/// The times of one case.
pub struct Times {
    pub case: Case,
    /// The median microseconds of each library, in the order of the libraries; `None` if it does not support the case.
    pub medians: Vec<Option<f64>>,
}

impl Times {
    /// Returns the time of this crate.
    pub fn ours(&self) -> Option<f64> {
        self.medians[0]
    }

    /// Returns the fastest of the other libraries and its time.
    pub fn fastest_peer(&self) -> Option<(usize, f64)> {
        let peers = self.medians.iter().enumerate().skip(1);
        peers
            .filter_map(|(place, time)| Some((place, (*time)?)))
            .min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// Returns the time of the fastest of the other libraries, divided by the time of this crate.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.fastest_peer()?.1 / self.ours()?)
    }

    /// Whether the fastest of the others is faster by more than noise explains.
    pub fn is_slower(&self) -> bool {
        self.ratio().is_some_and(|ratio| ratio < EQUAL)
    }
}

/// How many times as many turns a case gets that came out slower: among hundreds of cases in which two libraries are
/// equally fast, noise puts some below the line.
const AGAIN: usize = 3;

/// Measures every case and the triad in several rounds; in each round, every library has one turn. Cases that come out
/// slower than the fastest of the others are measured again, and all their turns count.
pub fn take_turns(
    cases: &[Case],
    libraries: &[Library],
    rounds: usize,
    threads: usize,
) -> Result<Measured, Failure> {
    peers::prepare()?;
    let mut workers = Vec::new();
    for &library in libraries {
        workers.push(Worker::start(library, threads)?);
    }
    // Measure the triad amid the cases it is compared with, under the same conditions.
    let mut queue: Vec<Case> = cases.to_vec();
    queue.insert(cases.len() / 2, Case::triad());
    let processes: Vec<u32> = workers.iter().map(Worker::id).collect();
    let before = Load::now(&processes);
    let mut all: Vec<Turns> = queue.into_iter().map(|case| Turns::new(case, libraries)).collect();
    run(all.iter_mut().collect(), &mut workers, rounds)?;
    let slower = all.iter_mut().filter(|turns| turns.times().is_slower()).collect();
    run(slower, &mut workers, AGAIN * rounds)?;
    let after = Load::now(&processes);
    let others = before.zip(after).map(|(before, after)| after.others_since(&before));
    Ok(Measured { times: all.iter().map(Turns::times).collect(), others })
}

/// Gives every library so many turns on each case.
fn run(cases: Vec<&mut Turns>, workers: &mut [Worker], rounds: usize) -> Outcome {
    let progress = Progress::new(cases.len());
    for (done, turns) in cases.into_iter().enumerate() {
        progress.show(done, &turns.case);
        for _ in 0..rounds {
            turns.round(workers)?;
        }
    }
    progress.end();
    Ok(())
}

/// The turns that the libraries have had on one case.
struct Turns {
    case: Case,
    /// The microseconds by library; `None` for a library that does not have the case.
    taken: Vec<Option<Vec<f64>>>,
}

impl Turns {
    fn new(case: Case, libraries: &[Library]) -> Turns {
        Turns { case, taken: vec![Some(Vec::new()); libraries.len()] }
    }

    fn round(&mut self, workers: &mut [Worker]) -> Outcome {
        let id = self.case.id();
        for (worker, taken) in workers.iter_mut().zip(&mut self.taken) {
            // A library that does not have the case is asked once.
            if let Some(times) = taken {
                match worker.ask(&id)? {
                    Some(time) => times.push(time),
                    None => *taken = None,
                }
            }
        }
        Ok(())
    }

    fn times(&self) -> Times {
        let medians = self.taken.iter().map(|times| median(times.clone()?)).collect();
        Times { case: self.case.clone(), medians }
    }
}

/// Returns the median; for an even count, the mean of the two middle values.
fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let upper = times.get(times.len() / 2)?;
    let lower = times.get((times.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}

/// A progress line with the estimated remaining time.
struct Progress {
    all: usize,
    start: Instant,
    is_terminal: bool,
}

impl Progress {
    fn new(all: usize) -> Progress {
        Progress { all, start: Instant::now(), is_terminal: std::io::stderr().is_terminal() }
    }

    fn show(&self, done: usize, case: &Case) {
        let left =
            self.start.elapsed().as_secs_f64() / done.max(1) as f64 * (self.all - done) as f64;
        let left = Duration::from_secs_f64(left).as_secs();
        let bar = "#".repeat(30 * done / self.all);
        let line = format!(
            "[{bar:.<30}] {done}/{} {} ({}:{:02} left)",
            self.all,
            case.id(),
            left / 60,
            left % 60
        );
        if self.is_terminal {
            eprint!("\r\x1b[K{line}");
            let _ = std::io::stderr().flush(); // failing to show progress is not an error
        } else if done.is_multiple_of(self.all.div_ceil(20)) {
            eprintln!("{line}");
        }
    }

    fn end(&self) {
        if self.is_terminal {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_to_the_fastest_of_the_others() {
        let case = Case::triad();
        let times =
            Times { case: case.clone(), medians: vec![Some(2.0), None, Some(8.0), Some(4.0)] };
        assert_eq!(times.fastest_peer(), Some((3, 4.0)));
        assert_eq!(times.ratio(), Some(2.0));
        assert_eq!(Times { case, medians: vec![Some(2.0), None] }.ratio(), None);
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5), "neither the better nor the worse of two");
        assert_eq!(median(Vec::new()), None);
    }
}
