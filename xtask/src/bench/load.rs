//! How much other programs have loaded the machine during a measurement.

use std::fs;

/// CPU times up to a point in time, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Ticks of all cores.
    all: u64,
    /// Ticks in which a core was busy, or was taken by another virtual machine (steal).
    busy: u64,
    /// Ticks of the processes that belong to the measurement.
    own: u64,
    cores: u64,
}

impl Load {
    /// Reads the times up to now, or returns `None` if the system does not report them. The measurement consists of
    /// this process and those given.
    pub fn now(processes: &[u32]) -> Option<Load> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let (all, busy) = ticks(text.lines().next()?)?;
        let is_core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        let cores = text.lines().filter(is_core).count() as u64;
        let own = |id: u32| ticks_of(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?);
        let processes = processes.iter().copied().chain([std::process::id()]);
        let own = processes.map(own).collect::<Option<Vec<_>>>()?.iter().sum();
        Some(Load { all, busy, own, cores })
    }

    /// Returns how many cores other programs have kept busy since `then`, on average.
    pub fn others_since(&self, then: &Load) -> f64 {
        let busy = self.busy.saturating_sub(then.busy);
        let others = busy.saturating_sub(self.own.saturating_sub(then.own));
        let time = self.all.saturating_sub(then.all).max(1) as f64 / self.cores.max(1) as f64;
        others as f64 / time
    }
}

/// Parses the line for all cores: all ticks, and those in which a core was not idle.
fn ticks(line: &str) -> Option<(u64, u64)> {
    // user, nice, system, idle, iowait, irq, softirq, steal; the guest times that follow are included in the first two.
    let fields: Vec<u64> =
        line.split_whitespace().skip(1).take(8).map_while(|field| field.parse().ok()).collect();
    let idle = fields.get(3)? + fields.get(4)?;
    let all = fields.iter().sum();
    Some((all, all - idle))
}

/// Parses the ticks of a process with all its threads, and of its children that have ended.
fn ticks_of(stat: &str) -> Option<u64> {
    // The program's name comes before, in parentheses, and may contain anything.
    let fields = stat.rsplit_once(')')?.1.split_whitespace();
    let times: Vec<u64> = fields.skip(11).take(4).map_while(|field| field.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_understood() {
        assert_eq!(ticks("cpu  100 20 30 1000 50 1 2 3 7 0"), Some((1206, 156)));
        assert_eq!(ticks("cpu"), None);
        let stat = "12 (a) program) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 1";
        assert_eq!(ticks_of(stat), Some(11 + 12 + 13 + 14));
        assert_eq!(ticks_of("12 (short) S 1"), None);
    }

    #[test]
    fn what_is_busy_and_not_ours_is_others() {
        let then = Load { all: 1000, busy: 400, own: 300, cores: 2 };
        // 200 ticks of each core: 300 busy, of which 250 are ours and 50 of others.
        let now = Load { all: 1400, busy: 700, own: 550, cores: 2 };
        assert_eq!(now.others_since(&then), 0.25);
        assert_eq!(then.others_since(&then), 0.0);
    }
}
