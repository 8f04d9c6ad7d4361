//! Mutants of `max`, `min`, `any` and `all`.

use super::list::Mutant;

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "largest-begins-at-zero",
        file: "src/backend/cpu/sum/totals.rs",
        find: "    i64: I64 i64::MIN, i64::MAX;",
        put: "    i64: I64 0, i64::MAX;",
        breaks: "`max` of negative integers is 0 on the CPU",
        tests: "--test sums extremes",
    },
    Mutant {
        name: "smallest-is-halved-as-largest",
        file: "src/backend/cpu/sum/totals.rs",
        find: "&Kernels::halve::<$total, element::Minimum>();",
        put: "&Kernels::halve::<$total, element::Maximum>();",
        breaks: "`min` keeps the larger terms where vector code halves their number",
        tests: "--test sums extremes",
    },
    Mutant {
        name: "totals-of-min-combine-as-max",
        file: "src/backend/cpu/sum/totals.rs",
        find: "Smallest(element::Minimum::apply(self.0, right.0))",
        put: "Smallest(element::Maximum::apply(self.0, right.0))",
        breaks: "combining two partial results of `min` keeps the larger one",
        tests: "--test sums extremes",
    },
    Mutant {
        name: "largest-of-missing-terms-is-finite",
        file: "cuda/reduce.cuh",
        find: "return Largest{from_bits<T>(0xfff0000000000000ull)};",
        put: "return Largest{from_bits<T>(0xffefffffffffffffull)};",
        breaks: "`max` of -inf alone is finite on CUDA",
        tests: "--test sums extremes",
    },
    Mutant {
        name: "smallest-of-missing-terms-is-zero",
        file: "cuda/reduce.cuh",
        find: "else return Smallest{highest<T>()};",
        put: "else return Smallest{T(0)};",
        breaks: "missing terms count as 0 in `min` of integers on CUDA",
        tests: "--test sums extremes",
    },
    Mutant {
        name: "extremes-forget-nan-on-cuda",
        file: "cuda/reduce.cuh",
        find: "return Largest<T>{op::maximum::apply(left.value, right.value)};",
        put: "return Largest<T>{op::fmax::apply(left.value, right.value)};",
        breaks: "`max` ignores NaN on CUDA",
        tests: "--test sums extremes",
    },
    Mutant {
        name: "all-is-any",
        file: "src/ops/sums.rs",
        find: "            Reduce::Max | Reduce::Any => (Fold::Max, dtype),\n            Reduce::Min | Reduce::All => (Fold::Min, dtype),",
        put: "            Reduce::Max | Reduce::Any | Reduce::All => (Fold::Max, dtype),\n            Reduce::Min => (Fold::Min, dtype),",
        breaks: "`all` is true if one element is",
        tests: "--test sums extremes",
    },
    Mutant {
        name: "truth-of-the-integer-part",
        file: "src/ops/sums.rs",
        find: "let terms = if is_truth { call.cast(terms, DType::Bool) } else { terms };",
        put: "let terms = if is_truth { let terms = call.cast(terms, DType::I64); call.cast(terms, DType::Bool) } else { terms };",
        breaks: "fractions between -1 and 1, and NaN, count as false in `any` and `all`",
        tests: "--test sums extremes",
    },
    Mutant {
        name: "extreme-of-nothing",
        file: "src/ops/sums.rs",
        find: "if empty(true) && !empty(false) {",
        put: "if empty(true) && empty(false) {",
        breaks: "`max` and `min` of no elements are accepted",
        tests: "--test sums extremes",
    },
];
