//! The names of operations, and what to say of a name that is none of them.

use bitlane::promote::Op;
use bitlane::{BinaryOp, ReduceOp, ScanOp, UnaryOp};

use crate::expression::{CASTS, PAIRS, TernaryOp, VIEWS};
use crate::failure::Failure;

/// Which command was given the name of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Run,
    Eval,
    Promote,
}

impl Command {
    const fn word(self) -> &'static str {
        match self {
            Command::Run => "run",
            Command::Eval => "eval",
            Command::Promote => "promote",
        }
    }

    /// Returns the names that the command knows.
    fn names(self) -> Vec<&'static str> {
        let unary = UnaryOp::ALL.iter().map(|op| op.name());
        let binary = BinaryOp::ALL.iter().map(|op| op.name());
        let ternary = TernaryOp::NAMES.iter().map(|(name, _)| *name);
        let reductions = ReduceOp::ALL.iter().map(|op| match op {
            // Binary operations have their names.
            ReduceOp::BitwiseAnd => "bitwise_and_reduce",
            ReduceOp::BitwiseOr => "bitwise_or_reduce",
            ReduceOp::BitwiseXor => "bitwise_xor_reduce",
            op => op.name(),
        });
        let scans = ScanOp::ALL.iter().map(|op| op.name());
        let casts = ["cast", "bitcast"];
        match self {
            Command::Run => unary.chain(binary).chain(ternary).chain(casts).chain(scans).collect(),
            Command::Eval => unary
                .chain(binary)
                .chain(ternary)
                .chain(CASTS)
                .chain(reductions)
                .chain(scans)
                .chain(PAIRS.iter().map(|pair| pair.name))
                .chain(VIEWS)
                .collect(),
            Command::Promote => {
                let promoted = Op::ALL.iter().map(|op| op.name());
                let promoted = promoted.filter(|name| TernaryOp::named(name).is_none());
                unary.chain(promoted).chain(ternary).chain(reductions).chain(scans).collect()
            }
        }
    }
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
    let mut text = String::from("Operations:");
    let mut width = usize::MAX;
    for name in command.names() {
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
    let is_view = VIEWS.contains(&name);
    let elsewhere = match command {
        Command::Promote if matches!(name, "cast" | "bitcast" | "pack") => {
            Some(format!("{name} gives the dtype it names"))
        }
        Command::Promote if is_view => Some(format!("{name} gives the dtype of its operand")),
        Command::Run if is_view => {
            Some(format!("{name} is a view; write `bitlane eval '{name}(x, …)' x=FILE.npy`"))
        }
        Command::Run if reduction(name).is_some() => {
            Some(format!("{name} is a reduction; write `bitlane eval '{name}(x)' x=FILE.npy`"))
        }
        _ => None,
    };
    if let Some(words) = elsewhere {
        return Failure::usage(words);
    }
    let names = command.names();
    // A method call of Python or Rust.
    if let Some((operand, method)) = name.rsplit_once('.').filter(|(_, it)| names.contains(it)) {
        return Failure::usage(format!(
            "operations are called by their names: write {method}({operand})"
        ));
    }
    let word = command.word();
    let others = [Command::Run, Command::Eval].into_iter().flat_map(Command::names);
    let other = ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, own)| *own);
    Failure::usage(match other.or_else(|| nearest(name, names.into_iter().chain(others))) {
        Some(known) => format!("unknown operation {name:?}; did you mean {known}?"),
        None => format!("unknown operation {name:?}; `bitlane {word} --help` lists them"),
    })
}

/// Creates the error for a wrong number of operands.
pub fn wrong_count(name: &str, takes: usize, given: usize) -> Failure {
    let given = match given {
        1 => "one was".to_owned(),
        2 => "two were".to_owned(),
        3 => "three were".to_owned(),
        count => format!("{count} were"),
    };
    let takes = match takes {
        1 => "one operand",
        2 => "two operands",
        _ => "three operands",
    };
    Failure::usage(format!("{name} takes {takes}, {given} given"))
}

/// Names that other libraries and languages have for an operation, where they are not near its own.
const ELSEWHERE: [(&str, &str); 22] = [
    ("absolute", "abs"),
    ("amax", "max"),
    ("amin", "min"),
    ("arctan2", "atan2"),
    ("astype", "cast"),
    ("bitwise_count", "count_ones"),
    ("clamp", "clip"),
    ("cummax", "cumulative_max"),
    ("cumprod", "cumulative_prod"),
    ("cumsum", "cumulative_sum"),
    ("div", "divide"),
    ("left_shift", "bitwise_left_shift"),
    ("mod", "remainder"),
    ("mul", "multiply"),
    ("neg", "negative"),
    ("popcount", "count_ones"),
    ("power", "pow"),
    ("right_shift", "bitwise_right_shift"),
    ("rint", "round"),
    ("sub", "subtract"),
    ("view", "bitcast"),
    ("xor", "bitwise_xor"),
];

/// Returns the name nearest to a word that is none of them, if one is near.
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
            "unknown operation \"copysing\"; did you mean copysign?"
        );
        assert!(said("addd", Command::Promote).contains("did you mean add?"));
        assert!(said("summ", Command::Eval).contains("did you mean sum?"));
        assert!(said("power", Command::Eval).ends_with("did you mean pow?"));
        for (other, own) in ELSEWHERE {
            assert!(Command::Run.names().contains(&own) || Command::Eval.names().contains(&own));
            assert!(
                !Command::Run.names().contains(&other) && !Command::Eval.names().contains(&other)
            );
        }
        assert!(said("frobnicate", Command::Run).contains("`bitlane run --help` lists them"));
    }

    /// A command lists what it knows, once.
    #[test]
    fn listed_names() {
        for command in [Command::Run, Command::Eval, Command::Promote] {
            let mut names = command.names();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{names:?}");
        }
    }

    #[test]
    fn names_of_other_commands_are_pointed_there() {
        let said = |name, command| unknown(name, command).to_string();
        for name in ["sum", "max_keepdims", "bitwise_or_reduce"] {
            let there = format!("`bitlane eval '{name}(x)' x=FILE.npy`");
            assert!(said(name, Command::Run).contains(&there), "{name}");
        }
        assert!(said("transpose", Command::Run).contains("bitlane eval 'transpose(x, …)'"));
        for name in ["cast", "bitcast", "pack"] {
            let dtype = format!("{name} gives the dtype it names");
            assert_eq!(said(name, Command::Promote), dtype);
        }
        assert_eq!(said("flip", Command::Promote), "flip gives the dtype of its operand");
        assert!(said("x.sum", Command::Eval).ends_with("write sum(x)"));
    }
}
