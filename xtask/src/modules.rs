//! Which modules exist: one per operation and compute dtype. Every kernel the crate can launch is in one of them.

/// One module: what NVRTC compiles at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    pub op: &'static str,
    pub dtype: &'static str,
}

const BOOL: &[&str] = &["bool"];
const INTEGERS: &[&str] = &["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"];
const FLOATS: &[&str] = &["f16", "bf16", "f32", "f64"];
const COMPLEX: &[&str] = &["c64", "c128"];
/// Two different integer dtypes, compared exactly.
const ANY_INTEGER: &[&str] = &["int"];

type Row = (&'static [&'static str], &'static [&'static [&'static str]]);

/// Ops, and the classes of dtypes they are computed in.
const TABLE: &[Row] = &[
    (&["bitwise_left_shift", "bitwise_right_shift", "bitwise_right_shift_logical"], &[INTEGERS]),
    (&["copysign", "signbit"], &[BOOL, INTEGERS, FLOATS]),
    (&["add", "multiply"], &[BOOL, INTEGERS, FLOATS, COMPLEX]),
    (&["subtract"], &[INTEGERS, FLOATS, COMPLEX]),
    (&["divide"], &[FLOATS, COMPLEX]),
    (&["equal", "not_equal"], &[BOOL, INTEGERS, FLOATS, COMPLEX, ANY_INTEGER]),
    (
        &["less_than", "less_equal", "greater_than", "greater_equal"],
        &[BOOL, INTEGERS, FLOATS, ANY_INTEGER],
    ),
    (&["bitwise_and", "bitwise_or", "bitwise_xor"], &[BOOL, INTEGERS]),
    (&["logical_and", "logical_or", "logical_xor"], &[BOOL, INTEGERS, FLOATS, COMPLEX]),
    (&["maximum", "minimum", "fmax", "fmin"], &[BOOL, INTEGERS, FLOATS]),
    (&["cast"], &[BOOL, INTEGERS, FLOATS, COMPLEX]),
    (&["copysign_grad"], &[FLOATS]),
];

/// Every module, operations in the table's order.
pub fn all() -> Vec<Module> {
    let mut modules = Vec::new();
    for (ops, classes) in TABLE {
        for op in *ops {
            for dtype in classes.iter().copied().flatten() {
                modules.push(Module { op, dtype });
            }
        }
    }
    modules
}

impl Module {
    /// Whether the static budgets bind the module's kernels.
    pub fn has_budget(self) -> bool {
        self.op.contains("_shift") || (self.op == "copysign" && FLOATS.contains(&self.dtype))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_module_is_listed_twice() {
        let modules = all();
        for (place, module) in modules.iter().enumerate() {
            assert!(!modules[place + 1..].contains(module), "{module:?}");
        }
    }
}
