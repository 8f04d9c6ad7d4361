//! Finds registers whose values are only copied.

use crate::ptx::ast::{Arg, Function, Instruction, Statement};
use std::collections::{HashMap, HashSet};

/// Instructions that rearrange bits without depending on their values.
const MOVES: [&str; 10] = ["mov", "and", "or", "xor", "lop3", "shl", "shr", "bfi", "prmt", "cvt"];

/// Returns the registers of a function that anything but a store depends on, such as a sum, a comparison, an address or
/// a branch. A register that is never used is among them, unless it is an element of a vector.
pub(super) fn looked_at(function: &Function) -> HashSet<String> {
    let (mut results, mut moved, mut left) = (HashSet::new(), HashSet::new(), Vec::new());
    // For each register, those from which its value is moved.
    let mut sources: HashMap<String, Vec<String>> = HashMap::new();
    for statement in &function.body {
        let Statement::Instruction(i) = statement else { continue };
        left.extend(i.guard.iter().map(|guard| guard.0.clone()));
        let uses = uses(i);
        for result in &uses.results {
            sources.entry(result.clone()).or_default().extend(uses.moved.iter().cloned());
        }
        results.extend(uses.results);
        moved.extend(uses.moved.into_iter().chain(uses.stored));
        left.extend(uses.looked);
    }
    let mut looked_at: HashSet<String> = results.difference(&moved).cloned().collect();
    left.extend(looked_at.iter().flat_map(|name| sources.get(name)).flatten().cloned());
    while let Some(name) = left.pop() {
        if !looked_at.contains(&name) {
            left.extend(sources.remove(&name).into_iter().flatten());
            looked_at.insert(name);
        }
    }
    looked_at
}

/// How an instruction uses registers.
#[derive(Default)]
struct Uses {
    results: Vec<String>,
    /// Registers whose bits it moves to its results.
    moved: Vec<String>,
    stored: Vec<String>,
    /// Registers that it uses in any other way.
    looked: Vec<String>,
}

fn uses(i: &Instruction) -> Uses {
    let parts: Vec<&str> = i.opcode.split('.').collect();
    let mut uses = Uses::default();
    let float = parts.iter().any(|part| part.starts_with('f') && part.len() > 1);
    for (k, arg) in i.args.iter().enumerate() {
        let kind = match parts[0] {
            "ld" if k == 0 => {
                // An unused element of a vector load is there only because of the others.
                if matches!(arg, Arg::Vector(_)) {
                    names(arg, &mut uses.stored);
                }
                &mut uses.results
            }
            "st" if k == 1 => &mut uses.stored,
            name if MOVES.contains(&name) && k == 0 => &mut uses.results,
            "cvt" if float => &mut uses.looked,
            name if MOVES.contains(&name) && k == 1 => &mut uses.moved,
            "and" | "or" | "xor" | "lop3" | "bfi" | "prmt" if k == 2 => &mut uses.moved,
            _ => &mut uses.looked,
        };
        names(arg, kind);
    }
    uses
}

fn names(arg: &Arg, out: &mut Vec<String>) {
    match arg {
        Arg::Name(name) | Arg::Not(name) => out.push(name.clone()),
        Arg::Pair(a, b) => out.extend([a.clone(), b.clone()]),
        Arg::Vector(items) | Arg::List(items) => items.iter().for_each(|item| names(item, out)),
        Arg::Memory(base, _) => names(base, out),
        Arg::Int(_) | Arg::Single(_) | Arg::Double(_) => {}
    }
}
