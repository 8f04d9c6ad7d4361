//! The names of operations, and what to say of a name that is none of them.

use bitlane::{BinaryOp, ReduceOp, ScanOp, UnaryOp};

use crate::expression::{TernaryOp, VIEWS};
use crate::failure::Failure;

/// Which command was given the name of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Run,
    Eval,
    Promote,
}

/// Returns the names of the elementwise operations, which `run` and `eval` have.
fn elementwise() -> impl Iterator<Item = &'static str> {
    let unary = UnaryOp::ALL.iter().map(|op| op.name());
    let binary = BinaryOp::ALL.iter().map(|op| op.name());
    unary
        .chain(binary)
        .chain(TernaryOp::NAMES.iter().map(|(name, _)| *name))
        .chain(["cast", "bitcast"])
}

/// Returns the names of the reductions, as `eval` calls them.
fn reductions() -> impl Iterator<Item = &'static str> {
    ReduceOp::ALL.iter().map(|op| op.name())
}

/// Returns the names of the scans, which `run` has.
fn scans() -> impl Iterator<Item = &'static str> {
    ScanOp::ALL.iter().map(|op| op.name())
}

/// Returns the reduction of this name, and whether it keeps its dimensions. Bitwise reductions may be called as their
/// methods, which end in `_reduce`, since binary operations have their names.
pub fn reduction(name: &str) -> Option<(ReduceOp, bool)> {
    let (name, keepdims) = match name.strip_suffix("_keepdims") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let op = name.strip_suffix("_reduce").unwrap_or(name).parse().ok()?;
    Some((op, keepdims))
}

/// Returns the names that a command knows, for its help.
pub fn listed(command: Command) -> String {
    let mut names: Vec<&str> = elementwise().collect();
    match command {
        Command::Run => names.extend(scans()),
        Command::Eval => names.extend(reductions().chain(VIEWS)),
        Command::Promote => names.extend(reductions().chain(scans())),
    }
    let mut text = String::from("Operations:");
    let mut width = usize::MAX;
    for name in names {
        if width.saturating_add(name.len() + 1) > 100 {
            text += "\n ";
            width = 1;
        }
        text += " ";
        text += name;
        width += name.len() + 1;
    }
    text
}

/// Creates the error for a name that a command does not know. It names the command that does, or the nearest name.
pub fn unknown(name: &str, command: Command) -> Failure {
    let operands = "x=FILE.npy";
    let is_view = VIEWS.contains(&name);
    if command != Command::Eval && (is_view || reduction(name).is_some()) {
        let (kind, call) = if is_view {
            ("a view", format!("{name}(x, …)"))
        } else {
            ("a reduction", format!("{name}(x)"))
        };
        return Failure::usage(format!(
            "{name} is {kind}; write `bitlane eval '{call}' {operands}`"
        ));
    }
    if command == Command::Eval && scans().any(|scan| scan == name) {
        return Failure::usage(format!(
            "{name} is a scan; write `bitlane run {name} FILE.npy AXIS`"
        ));
    }
    let names = elementwise().chain(reductions()).chain(scans()).chain(VIEWS);
    Failure::usage(match nearest(name, names) {
        Some(known) => format!("{name:?} is no operation; did you mean {known}?"),
        None => {
            let command = match command {
                Command::Run => "run",
                Command::Eval => "eval",
                Command::Promote => "promote",
            };
            format!("{name:?} is no operation; `bitlane {command} --help` lists them")
        }
    })
}

/// Returns the name nearest to a word, if one is near.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (far, name) = names.into_iter().map(|name| (distance(word, name), name)).min()?;
    (far <= (word.len() / 3).max(1)).then_some(name)
}

/// Returns how many letters have to be inserted, removed or replaced to get from one word to another.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, other) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "abc"), distance("abc", "abc")), (3, 0));
        let said = |name, command| unknown(name, command).to_string();
        assert_eq!(
            said("copysing", Command::Run),
            "\"copysing\" is no operation; did you mean copysign?"
        );
        assert!(said("addd", Command::Promote).contains("did you mean add?"));
        assert!(said("summ", Command::Eval).contains("did you mean sum?"));
        assert!(said("frobnicate", Command::Run).contains("`bitlane run --help` lists them"));
    }

    #[test]
    fn names_of_other_commands_are_pointed_there() {
        let said = |name, command| unknown(name, command).to_string();
        for name in ["sum", "max_keepdims", "bitwise_or_reduce"] {
            let there = format!("`bitlane eval '{name}(x)' x=FILE.npy`");
            assert!(said(name, Command::Run).contains(&there), "{name}");
        }
        assert!(said("transpose", Command::Run).contains("bitlane eval 'transpose(x, …)'"));
        assert!(said("cumulative_sum", Command::Eval).contains("bitlane run cumulative_sum"));
    }
}
