//! Operands of every pair of dtypes, under every rulebook, on kernels that convert.

use std::collections::BTreeSet;

use bitlane::promote::result_type;
use bitlane::{BinaryOp, DType, Rules, Tensor, binary};

use crate::data::{dense, strided};
use crate::model::element::Nan;
use crate::runner::{Kernel, Runner};

const RULES: [Rules; 4] = [Rules::Paddle, Rules::Torch, Rules::NumPy, Rules::Jax];

/// Pairs of dtypes for one operation. Every pair needs a kernel to be compiled, so each operation runs a share of the
/// pairs, with two layouts each, and a different share in another turn.
pub fn pairs(runner: &Runner, index: usize, turn: usize) {
    let all = DType::ALL.iter().flat_map(|&lhs| DType::ALL.iter().map(move |&rhs| (lhs, rhs)));
    for (at, (lhs, rhs)) in all.filter(|(lhs, rhs)| lhs != rhs).enumerate() {
        if (at + turn) % BinaryOp::ALL.len() == index {
            let mut seen = BTreeSet::new();
            for rules in RULES {
                pair(runner, BinaryOp::ALL[index], [lhs, rhs], rules, at + turn, &mut seen);
            }
        }
    }
}

fn pair(
    runner: &Runner,
    op: BinaryOp,
    [lhs, rhs]: [DType; 2],
    rules: Rules,
    turn: usize,
    seen: &mut BTreeSet<String>,
) {
    let (x, y) = (&runner.data(lhs).lhs, &runner.data(rhs).rhs);
    // Contiguous, reversed and broadcast, and with a 0-d tensor, whose dtype may have a lower priority.
    let layouts = [
        (dense(&[37], 0), dense(&[37], 0)),
        (strided(&[5, 9], &[-9, -1]), dense(&[9], 3)),
        (dense(&[37], 1), dense(&[], 2)),
        (dense(&[], 2), dense(&[37], 1)),
    ];
    for at in [turn % 2, 2 + turn / 2 % 2] {
        let (l, r) = &layouts[at];
        let views = |side: usize| (l.of(&x.0[side]), r.of(&y.0[side]));
        // Rulebooks that agree on the dtypes of the computation lead to the same launch.
        let general = |op: BinaryOp| {
            let (x, y) = views(0);
            format!("{:?}", result_type(op, &x, &y, rules).map_err(|error| error.kind()))
        };
        if !seen.insert(format!("{at} {} {}", general(op), general(BinaryOp::Maximum))) {
            continue;
        }
        let nan = if op == BinaryOp::Copysign { Nan::SameSign } else { Nan::Any };
        let what = || format!("{op} of {lhs} and {rhs} under {rules}, {l:?} {r:?}");
        let call = |side: usize| {
            let (x, y) = views(side);
            binary(op, &x, &y).rules(rules).run()
        };
        runner.agree(None, nan, what, call);
    }
}

/// The comparisons that are exact between `u64` and signed integers.
pub const EXACT: [BinaryOp; 6] = [
    BinaryOp::Equal,
    BinaryOp::NotEqual,
    BinaryOp::LessThan,
    BinaryOp::LessEqual,
    BinaryOp::GreaterThan,
    BinaryOp::GreaterEqual,
];

pub fn exact(runner: &Runner, op: BinaryOp) {
    for (lhs, rhs) in [(DType::U64, DType::I64), (DType::I64, DType::U64), (DType::I8, DType::U64)]
    {
        let (x, y) = (&runner.data(lhs).lhs, &runner.data(rhs).rhs);
        let n = if lhs == DType::I64 { 2055 } else { 300 };
        let (l, r) = (dense(&[n], 0), dense(&[n], 0));
        let what = || format!("{op} of {lhs} and {rhs}, {l:?} {r:?}");
        runner.agree(Some(&Kernel::Generated), Nan::Exact, what, |side| {
            let (x, y): (Tensor, Tensor) = (l.of(&x.0[side]), r.of(&y.0[side]));
            binary(op, &x, &y).rules(Rules::NumPy).run()
        });
    }
}
