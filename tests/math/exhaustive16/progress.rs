//! Progress reports of a pass.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The time between reports.
const PAUSE: Duration = Duration::from_secs(10);

/// Counts completed rows.
pub struct Progress {
    name: String,
    all: usize,
    shown: bool,
    start: Instant,
    state: Mutex<(usize, Instant)>,
}

impl Progress {
    pub fn new(name: String, all: usize, shown: bool) -> Progress {
        let start = Instant::now();
        Progress { name, all, shown, start, state: Mutex::new((0, start)) }
    }

    /// Counts a row, and now and then reports the progress and the estimated remaining time.
    pub fn step(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        if self.shown && state.1.elapsed() > PAUSE {
            let share = state.0 as f64 / self.all as f64;
            let left = self.start.elapsed().as_secs_f64() * (1.0 / share - 1.0);
            eprintln!("{}: {:.1} % done, {left:.0} s left", self.name, share * 100.0);
            state.1 = Instant::now();
        }
    }
}
