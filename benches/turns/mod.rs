//! Timing functions side by side: they take turns, and each is judged by the median of its turns.

use std::time::{Duration, Instant};

/// How many turns each function gets.
const TURNS: usize = 15;

/// Returns the median time of one call of each function.
pub fn medians<const N: usize>(mut functions: [&mut dyn FnMut(); N]) -> [Duration; N] {
    // Enough calls per turn that the resolution of the clock does not matter.
    let calls = functions.each_mut().map(|function| {
        let start = Instant::now();
        function();
        let once = start.elapsed().max(Duration::from_nanos(20));
        (Duration::from_millis(2).as_nanos() / once.as_nanos()).clamp(1, 100_000) as u32
    });
    let mut turns = [const { Vec::new() }; N];
    for _ in 0..TURNS {
        for (index, function) in functions.iter_mut().enumerate() {
            let start = Instant::now();
            for _ in 0..calls[index] {
                function();
            }
            turns[index].push(start.elapsed() / calls[index]);
        }
    }
    turns.map(|mut times| {
        times.sort_unstable();
        times[TURNS / 2]
    })
}

/// Returns how many times as long as `own` the time `other` is.
pub fn ratio(other: Duration, own: Duration) -> f64 {
    other.as_secs_f64() / own.as_secs_f64()
}
