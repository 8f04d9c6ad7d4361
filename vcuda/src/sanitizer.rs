//! Findings: what went wrong, where, and near which allocation.

use crate::config;
use crate::error::{
    Code, ERROR_ASSERT, ERROR_ILLEGAL_ADDRESS, ERROR_ILLEGAL_INSTRUCTION, ERROR_LAUNCH_FAILED,
    ERROR_LAUNCH_TIMEOUT, ERROR_MISALIGNED_ADDRESS,
};
use crate::memory::Neighbour;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, ignoring poisoning: the data stays usable after a panic elsewhere.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    OutOfBounds,
    /// Bytes past the end of an allocation that a device has there, too, because it rounds sizes up.
    PaddingRead,
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
    /// Returns the name of the kind in reports.
    pub fn word(self) -> &'static str {
        match self {
            Kind::OutOfBounds => "out-of-bounds",
            Kind::PaddingRead => "padding-read",
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

    /// Returns the error that a kernel with such a finding causes; zero for kinds that are only reported.
    pub fn code(self) -> Code {
        match self {
            Kind::OutOfBounds | Kind::PaddingRead | Kind::UseAfterFree => ERROR_ILLEGAL_ADDRESS,
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
    /// Returns whether a kernel on hardware would continue after such a finding.
    pub fn is_tolerated(self) -> bool {
        TOLERATED.contains(&self)
    }
}

/// The kinds that hardware does not detect: on a device, such a kernel runs to its end, with right or wrong results.
const TOLERATED: [Kind; 8] = [
    Kind::PaddingRead,
    Kind::Race,
    Kind::Uninitialised,
    Kind::ReadOnlyWritten,
    Kind::WrongSync,
    Kind::Leak,
    Kind::UninitialisedCopy,
    Kind::BadCall,
];

/// A set of kinds of findings, out of those that hardware tolerates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// Parses a set: names of kinds separated by commas, `all` or `1`, `none` or `0`. Returns `None` for an unknown
    /// name and for a kind that stops a kernel on any device.
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

    /// Returns whether a kind is in the set.
    pub fn has(self, kind: Kind) -> bool {
        kind.is_tolerated() && self.0 >> kind as u32 & 1 != 0
    }
}

/// Where in a launch a finding occurred.
#[derive(Debug, Clone)]
pub struct Place {
    pub kernel: String,
    pub block: [u32; 3],
    pub thread: [u32; 3],
    /// The line in the PTX text.
    pub line: u32,
}

/// A finding.
#[derive(Debug, Clone)]
pub struct Finding {
    pub kind: Kind,
    /// The error that the finding causes; zero for findings that are only reported.
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

/// Describes an address by the allocation nearest to it.
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

/// Records a finding and prints it to stderr, unless the settings ignore its kind (neither) or ask for quiet (no
/// print).
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

/// Returns all findings so far.
pub fn findings() -> Vec<Finding> {
    lock(&FINDINGS).clone()
}

/// Discards all findings so far.
pub fn clear() {
    lock(&FINDINGS).clear();
}
