//! Findings: what was wrong, where, and what it was near to.

use crate::config;
use crate::error::{
    Code, ERROR_ASSERT, ERROR_ILLEGAL_ADDRESS, ERROR_ILLEGAL_INSTRUCTION, ERROR_LAUNCH_FAILED,
    ERROR_LAUNCH_TIMEOUT, ERROR_MISALIGNED_ADDRESS,
};
use crate::memory::Neighbour;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex; a panic elsewhere does not make the data unusable here.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    OutOfBounds,
    UseAfterFree,
    Misaligned,
    Uninitialised,
    Race,
    ReadOnlyWritten,
    WrongSync,
    Deadlock,
    Timeout,
    Trap,
    Assert,
    IllegalInstruction,
    Leak,
    UninitialisedCopy,
    BadCall,
}

impl Kind {
    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        match self {
            Kind::OutOfBounds => "out-of-bounds",
            Kind::UseAfterFree => "use-after-free",
            Kind::Misaligned => "misaligned",
            Kind::Uninitialised => "uninitialised-read",
            Kind::Race => "race",
            Kind::ReadOnlyWritten => "readonly-written",
            Kind::WrongSync => "wrong-synchronisation",
            Kind::Deadlock => "deadlock",
            Kind::Timeout => "timeout",
            Kind::Trap => "trap",
            Kind::Assert => "assert",
            Kind::IllegalInstruction => "illegal-instruction",
            Kind::Leak => "leak",
            Kind::UninitialisedCopy => "uninitialised-copy",
            Kind::BadCall => "bad-call",
        }
    }

    /// The error that a kernel with such a fault leaves its context with; zero for what is reported only.
    pub fn code(self) -> Code {
        match self {
            Kind::OutOfBounds | Kind::UseAfterFree => ERROR_ILLEGAL_ADDRESS,
            Kind::Misaligned => ERROR_MISALIGNED_ADDRESS,
            Kind::Uninitialised
            | Kind::Race
            | Kind::ReadOnlyWritten
            | Kind::WrongSync
            | Kind::Trap => ERROR_LAUNCH_FAILED,
            Kind::Deadlock | Kind::Timeout => ERROR_LAUNCH_TIMEOUT,
            Kind::Assert => ERROR_ASSERT,
            Kind::IllegalInstruction => ERROR_ILLEGAL_INSTRUCTION,
            Kind::Leak | Kind::UninitialisedCopy | Kind::BadCall => 0,
        }
    }
}

impl Kind {
    /// Whether hardware goes on after it.
    pub fn is_tolerated(self) -> bool {
        TOLERATED.contains(&self)
    }
}

/// What hardware goes on after: kernels that do it run to their end on a device, right or wrong.
const TOLERATED: [Kind; 7] = [
    Kind::Race,
    Kind::Uninitialised,
    Kind::ReadOnlyWritten,
    Kind::WrongSync,
    Kind::Leak,
    Kind::UninitialisedCopy,
    Kind::BadCall,
];

/// A set of those kinds of findings that hardware tolerates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// Reads a set: the words of reports with commas between, `all` or `1`, `none` or `0`. `None`: another word,
    /// or a kind of finding that ends a kernel on any device.
    pub fn parse(text: &str) -> Option<Kinds> {
        match text {
            "" | "1" | "all" | "true" | "yes" | "on" => return Some(Kinds(u32::MAX)),
            "0" | "none" | "false" | "no" | "off" => return Some(Kinds(0)),
            _ => {}
        }
        text.split(',').try_fold(Kinds(0), |kinds, word| {
            let kind = TOLERATED.iter().find(|kind| kind.word() == word.trim())?;
            Some(Kinds(kinds.0 | 1 << *kind as u32))
        })
    }

    /// Whether a kind of finding is in the set.
    pub fn has(self, kind: Kind) -> bool {
        kind.is_tolerated() && self.0 >> kind as u32 & 1 != 0
    }
}

/// Where in a launch.
#[derive(Debug, Clone)]
pub struct Place {
    pub kernel: String,
    pub block: [u32; 3],
    pub thread: [u32; 3],
    /// Line in the PTX text.
    pub line: u32,
}

/// A finding.
#[derive(Debug, Clone)]
pub struct Finding {
    pub kind: Kind,
    /// The error that the context is left with; zero for findings that are reports only.
    pub code: Code,
    pub place: Option<Place>,
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.word(), self.text)?;
        if let Some(p) = &self.place {
            let [bx, by, bz] = p.block;
            let [tx, ty, tz] = p.thread;
            write!(
                f,
                "; kernel {}, block ({bx},{by},{bz}), thread ({tx},{ty},{tz}), PTX line {}",
                p.kernel, p.line
            )?;
        }
        Ok(())
    }
}

/// Describes an address by what it is near to.
pub fn describe(neighbour: &Neighbour) -> String {
    let name = |b: &crate::memory::Block| {
        format!(
            "allocation #{} ({} bytes at {:#x}, from {})",
            b.serial, b.size, b.addr, b.owner.call
        )
    };
    match neighbour {
        Neighbour::Live(b, off) if *off < 0 => format!("{} bytes before {}", -off, name(b)),
        Neighbour::Live(b, off) if *off as u64 >= b.size => {
            format!("{} bytes past the end of {}", *off as u64 - b.size, name(b))
        }
        Neighbour::Live(b, off) => format!("at byte {off} of {}", name(b)),
        Neighbour::Freed(b, off) => format!("at byte {off} of the freed {}", name(b)),
        Neighbour::Nothing => "near no allocation".into(),
    }
}

static FINDINGS: Mutex<Vec<Finding>> = Mutex::new(Vec::new());

/// Records a finding and prints it, unless the settings want it ignored or quiet.
pub fn report(finding: Finding) {
    let (ignored, quiet) = config::with(|c| (c.ignore.has(finding.kind), c.quiet));
    if ignored {
        return;
    }
    if !quiet {
        eprintln!("vcuda: {finding}");
    }
    let mut all = lock(&FINDINGS);
    if all.len() < 10_000 {
        all.push(finding);
    }
}

/// All findings so far.
pub fn findings() -> Vec<Finding> {
    lock(&FINDINGS).clone()
}

/// Forgets them.
pub fn clear() {
    lock(&FINDINGS).clear();
}
