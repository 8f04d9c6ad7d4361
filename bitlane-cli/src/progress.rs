//! Progress on standard error: a bar on a terminal, and elsewhere a line now and then.

use std::cell::Cell;

use indicatif::{ProgressBar, ProgressStyle};

/// The maximum number of lines, where there is no terminal.
const LINES: usize = 10;

/// The progress of a command through a known number of steps.
pub struct Progress {
    title: &'static str,
    /// Hides itself if standard error is not a terminal.
    bar: ProgressBar,
    steps: usize,
    done: Cell<usize>,
}

impl Progress {
    pub fn new(title: &'static str, steps: usize) -> Progress {
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Progress { title, bar, steps, done: Cell::new(0) }
    }

    /// Tells that the next step begins.
    pub fn step(&self, name: &str) {
        let done = self.done.get();
        self.done.set(done + 1);
        self.bar.set_position(done as u64);
        self.bar.set_message(name.to_owned());
        let share = |done: usize| done * LINES / self.steps.max(1);
        if self.bar.is_hidden() && (done == 0 || share(done) > share(done - 1)) {
            eprintln!("{}: {} of {}, {name}", self.title, done + 1, self.steps);
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
