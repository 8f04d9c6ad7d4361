use super::*;

/// Formats the tree as an S-expression.
fn tree(text: &str) -> String {
    fn show(node: &Node) -> String {
        match node {
            Node::Number(scalar) => scalar.to_string(),
            Node::Name(name) => name.clone(),
            Node::Unary(op, x) => format!("({op} {})", show(x)),
            Node::Binary(op, x, y) => format!("({op} {} {})", show(x), show(y)),
            Node::Ternary(op, xyz) => {
                let names = TernaryOp::NAMES.iter();
                let name = names.filter(|(_, own)| own == op).map(|(name, _)| name).next();
                let [x, y, z] = xyz.each_ref().map(show);
                format!("({} {x} {y} {z})", name.unwrap())
            }
            Node::Bitcast(x, dtype) => format!("(bitcast {} {dtype})", show(x)),
            Node::Cast(x, dtype) => format!("({dtype} {})", show(x)),
            Node::View(x, View::Call(name, numbers)) => {
                format!("({name} {} {numbers:?})", show(x))
            }
            Node::View(x, View::Pack(bits, word, axis)) => {
                format!("(pack {} {bits} {word} {axis})", show(x))
            }
            Node::View(x, View::Index(parts)) => {
                let part = |part: &Index| match part {
                    Index::At(number) => number.to_string(),
                    Index::Slice(slice) => slice.to_string(),
                    Index::New => "None".into(),
                    Index::Rest => "...".into(),
                };
                let parts: Vec<_> = parts.iter().map(part).collect();
                format!("([{}] {})", parts.join(", "), show(x))
            }
            Node::Reduce(op, x, Over { axes, keepdims, dtype, correction }) => {
                let dtype = dtype.map_or(String::new(), |dtype| format!(" {dtype}"));
                let correction = correction.map_or(String::new(), |c| format!(" less {c}"));
                let keepdims = if *keepdims { "_keepdims" } else { "" };
                format!("({op}{keepdims} {} {axes}{dtype}{correction})", show(x))
            }
            Node::CastSaturating(x, dtype) => format!("(saturating {dtype} {})", show(x)),
            Node::Scan(op, x, axis) => format!("({op} {} {axis})", show(x)),
            Node::Pair(pair, xy, axis) => {
                let [x, y] = xy.each_ref().map(show);
                format!("({} {x} {y} {axis})", pair.name)
            }
        }
    }
    show(&parse(text).unwrap_or_else(|error| panic!("{text}: {error}")))
}

#[test]
fn operators_bind_as_in_python() {
    assert_eq!(tree("a + b * c - d"), "(subtract (add a (multiply b c)) d)");
    assert_eq!(tree("a & b == c"), "(equal (bitwise_and a b) c)");
    assert_eq!(tree("a<<2+b"), "(bitwise_left_shift a (add 2 b))");
    assert_eq!(tree("-a ** 2 ** b"), "(negative (pow a (pow 2 b)))");
    assert_eq!(
        tree("a>>>1 | b >> 2"),
        "(bitwise_or (bitwise_right_shift_logical a 1) (bitwise_right_shift b 2))"
    );
    assert_eq!(tree("-1.5e-3*x"), "(multiply -0.0015 x)");
    assert_eq!(tree("0xff & 0b1"), "(bitwise_and 255 1)");
    assert_eq!(tree("2 ** -x"), "(pow 2 (negative x))");
    assert_eq!(tree("(a < b) == c"), "(equal (less_than a b) c)");
    assert_eq!(tree("a == (b < c)"), "(equal a (less_than b c))");
    assert_eq!(tree("equal(a, b) < c"), "(less_than (equal a b) c)");
}

#[test]
fn calls_by_name() {
    assert_eq!(tree("copysign(abs(x), -0.0)"), "(copysign (abs x) -0.0)");
    assert_eq!(tree("cast(select(a < 0, a, 1), f16)"), "(f16 (select (less_than a 0) a 1))");
    assert_eq!(tree("where(c, clip(x, 0, 1), y)"), "(select c (clip x 0 1) y)");
    assert_eq!(tree("fma(x, y, rotate_left(z, -1))"), "(fma x y (rotate_left z -1))");
    assert_eq!(tree("bitcast(x, u32) >> 23"), "(bitwise_right_shift (bitcast x u32) 23)");
    assert_eq!(tree("sum(x * x, 0, 2)"), "(sum (multiply x x) [0, 2])");
    assert_eq!(tree("mean(x)"), "(mean x ..)");
    assert_eq!(tree("max(x, -1)"), "(max x [-1])");
}

#[test]
fn axes_as_in_python() {
    for text in ["sum(x, [0, -1])", "sum(x, axis=(0, -1))", "sum(x, 0, -1, keepdims=false)"] {
        assert_eq!(tree(text), "(sum x [0, -1])", "{text}");
    }
    for text in ["sum_keepdims(x, -1)", "sum(x, dim=-1, keepdims=True)", "sum(x,-1,keepdims)"] {
        assert_eq!(tree(text), "(sum_keepdims x [-1])", "{text}");
    }
    assert_eq!(tree("sum(x, [])"), "(sum x [])");
    assert_eq!(tree("sum(x, 0, dtype=f64)"), "(sum x [0] f64)");
    assert_eq!(tree("std(x, correction=-0.5, dim=1)"), "(std x [1] less -0.5)");
    assert_eq!(tree("cumulative_max(-x, axis=-1)"), "(cumulative_max (negative x) -1)");
    assert_eq!(tree("take(x, i + 1, 0)"), "(take x (add i 1) 0)");
    assert_eq!(tree("compress(x, x > 0)"), "(compress x (greater_than x 0) 0)");
    assert_eq!(tree("cast_saturating(x, u8)"), "(saturating u8 x)");
    assert_eq!(tree("bitwise_and_reduce(x, keepdims)"), "(bitwise_and_keepdims x ..)");
}

#[test]
fn views() {
    assert_eq!(tree("-x[0]"), "(negative ([0] x))");
    assert_eq!(
        tree("(x + y)[1:, ..., None, ::-2][-3]"),
        "([-3] ([1:, ..., None, ::-2] (add x y)))"
    );
    assert_eq!(tree("reshape(x, 2, -1)"), "(reshape x [2, -1])");
    assert_eq!(tree("pack(x, 4, u32, 0)"), "(pack x 4 u32 0)");
    assert_eq!(tree("unpack(x, 4)"), "(unpack x [4])");
    assert_eq!(tree("transpose(x, 0, -1) ** 2"), "(pow (transpose x [0, -1]) 2)");
}

#[test]
fn mistakes_are_pointed_at() {
    let error = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(
        error("a + "),
        "expected a number, a name or an expression in parentheses\n  a + \n      ^"
    );
    assert_eq!(error("(a"), "expected )\n  (a\n    ^");
    assert_eq!(error("a b"), "expected an operator or the end\n  a b\n    ^");
    assert!(error("foo(a)").starts_with("unknown operation \"foo\""));
    assert_eq!(error("a[]"), "expected an index, a slice, None or ...\n  a[]\n    ^");
    assert_eq!(error("sum(a, b)"), "expected the number of an axis\n  sum(a, b)\n         ^");
    assert!(error("a[..., ...]").contains("one `...`"));
    assert!(error("transpose(a, 0)").contains("takes an operand and two axes"));
    assert!(error("cast(a, f99)").contains("f99"));
    assert!(error("a < b < c").contains("chained"));
    assert!(error("a == b + c != (d < e)").contains("chained"));
    assert!(parse("a < b < c").is_err_and(|error| error.code() == 2));
    assert!(error("1x").contains("neither"));
    assert!(error(&"(".repeat(10_000)).contains("nested"));
    assert!(error(&"-".repeat(10_000)).contains("nested"));
    assert!(error(&"a+".repeat(100_000)).contains("operators"));
}
