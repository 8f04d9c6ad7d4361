//! The parser of the language of `bitlane eval`.

#[cfg(test)]
mod tests;
mod views;
mod whole;

use bitlane::{
    Axes, BinaryOp, DType, Expr, IntoAxes, ReduceOp, Scalar, ScanOp, Shift, Slice, UnaryOp,
};

pub use self::views::VIEWS;
use self::views::{Index, View};
pub use self::whole::{PAIRS, Pair};
use crate::failure::Failure;
use crate::names::{Command, reduction, unknown};
use crate::operands::{dtype, number};

/// The maximum nesting depth of parentheses, calls and prefix operators.
const DEEPEST: usize = 100;

/// The maximum number of operators, which also bounds the depth of the tree. An [`Expr`](bitlane::Expr) allows fewer.
const MOST: usize = 1000;

/// A node of the syntax tree.
#[derive(Debug)]
pub enum Node {
    Number(Scalar),
    Name(String),
    Unary(UnaryOp, Box<Node>),
    Binary(BinaryOp, Box<Node>, Box<Node>),
    Ternary(TernaryOp, Box<[Node; 3]>),
    Cast(Box<Node>, DType),
    CastSaturating(Box<Node>, DType),
    Bitcast(Box<Node>, DType),
    Reduce(ReduceOp, Box<Node>, Over),
    Scan(ScanOp, Box<Node>, i64),
    Pair(&'static Pair, Box<[Node; 2]>, i64),
    View(Box<Node>, View),
}

/// What a reduction is over, and its options.
#[derive(Debug)]
pub struct Over {
    pub axes: Axes,
    pub keepdims: bool,
    pub dtype: Option<DType>,
    pub correction: Option<Scalar>,
}

/// An operation on three operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TernaryOp {
    Select,
    Clip,
    Fma,
}

impl TernaryOp {
    /// Every operation, with the names that stand for it.
    pub const NAMES: [(&'static str, TernaryOp); 4] = [
        ("select", TernaryOp::Select),
        ("where", TernaryOp::Select),
        ("clip", TernaryOp::Clip),
        ("fma", TernaryOp::Fma),
    ];

    /// Returns the operation of this name.
    pub fn named(name: &str) -> Option<TernaryOp> {
        TernaryOp::NAMES.iter().find(|(own, _)| *own == name).map(|(_, op)| *op)
    }

    /// Applies the operation.
    pub fn apply<'a>(self, [x, y, z]: [Expr<'a>; 3]) -> Expr<'a> {
        match self {
            TernaryOp::Select => x.select(y, z),
            TernaryOp::Clip => x.clip(y, z),
            TernaryOp::Fma => x.fma(y, z),
        }
    }
}

/// The binary operators with their precedence. An operator must come before its own prefixes.
const OPERATORS: [(&str, u8, BinaryOp); 19] = [
    ("==", COMPARISON, BinaryOp::Equal),
    ("!=", COMPARISON, BinaryOp::NotEqual),
    ("<<", 5, BinaryOp::LeftShift(Shift::Arithmetic)),
    (">>>", 5, BinaryOp::RightShift(Shift::Logical)),
    (">>", 5, BinaryOp::RightShift(Shift::Arithmetic)),
    ("<=", COMPARISON, BinaryOp::LessEqual),
    (">=", COMPARISON, BinaryOp::GreaterEqual),
    ("<", COMPARISON, BinaryOp::LessThan),
    (">", COMPARISON, BinaryOp::GreaterThan),
    ("|", 2, BinaryOp::BitwiseOr),
    ("^", 3, BinaryOp::BitwiseXor),
    ("&", 4, BinaryOp::BitwiseAnd),
    ("+", 6, BinaryOp::Add),
    ("-", 6, BinaryOp::Subtract),
    ("**", 9, BinaryOp::Pow),
    ("*", 7, BinaryOp::Multiply),
    ("//", 7, BinaryOp::FloorDivide),
    ("/", 7, BinaryOp::Divide),
    ("%", 7, BinaryOp::Remainder),
];

/// What converts its operand to a dtype.
pub const CASTS: [&str; 3] = ["cast", "cast_saturating", "bitcast"];

/// The prefix operators.
const PREFIXES: [(&str, UnaryOp); 3] =
    [("-", UnaryOp::Negative), ("~", UnaryOp::BitwiseNot), ("!", UnaryOp::LogicalNot)];

/// The precedence of comparisons, which cannot be chained.
const COMPARISON: u8 = 1;

/// The precedence of prefix operators.
const PREFIX: u8 = 8;

/// The precedence of `**`, which is right-associative.
const POWER: u8 = 9;

/// Parses an expression.
pub fn parse(text: &str) -> Result<Node, Failure> {
    let mut parser = Parser { text, at: 0, depth: 0, operators: 0 };
    let node = parser.expression(0)?;
    match parser.rest() {
        "" => Ok(node),
        _ => Err(parser.wrong("an operator or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    /// The number of bytes consumed.
    at: usize,
    depth: usize,
    operators: usize,
}

impl<'a> Parser<'a> {
    /// Skips spaces and returns the rest of the text.
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), Failure> {
        if self.take(token) { Ok(()) } else { Err(self.wrong(token)) }
    }

    /// Creates an error that points at the current position.
    fn wrong(&mut self, wanted: &str) -> Failure {
        self.rest();
        let column = self.text[..self.at].chars().count();
        let caret = " ".repeat(column);
        Failure::usage(format!("expected {wanted}\n  {}\n  {caret}^", self.text))
    }

    /// Parses an operand and the operators after it whose precedence is at least `least`.
    fn expression(&mut self, least: u8) -> Result<Node, Failure> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Failure::usage(format!(
                "the expression is nested more than {DEEPEST} deep"
            )));
        }
        let mut left = self.operand()?;
        // Whether `left` is a comparison that is not in parentheses.
        let mut is_open_comparison = false;
        loop {
            let rest = self.rest();
            let operator = OPERATORS.iter().find(|(token, ..)| rest.starts_with(token));
            let Some(&(token, binding, op)) = operator.filter(|(_, binding, _)| *binding >= least)
            else {
                break;
            };
            self.at += token.len();
            self.operators += 1;
            if self.operators > MOST {
                return Err(Failure::usage(format!(
                    "the expression has more than {MOST} operators"
                )));
            }
            let right = self.expression(if binding == POWER { binding } else { binding + 1 })?;
            if binding == COMPARISON && is_open_comparison {
                return Err(Failure::usage(
                    "comparisons cannot be chained; put parentheses around one",
                ));
            }
            left = Node::Binary(op, Box::new(left), Box::new(right));
            is_open_comparison = binding == COMPARISON;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Parses a number, a name, a call or an expression in parentheses, each with the indices after it, or a prefix
    /// operator with its operand.
    fn operand(&mut self) -> Result<Node, Failure> {
        for (sign, op) in PREFIXES {
            if self.take(sign) {
                return match self.expression(PREFIX)? {
                    Node::Number(scalar) if sign == "-" => Ok(Node::Number(negated(scalar)?)),
                    operand => Ok(Node::Unary(op, Box::new(operand))),
                };
            }
        }
        let mut node = self.primary()?;
        while self.take("[") {
            self.operators += 1;
            if self.operators > MOST {
                return Err(Failure::usage(format!(
                    "the expression has more than {MOST} operators"
                )));
            }
            node = Node::View(Box::new(node), View::Index(self.index()?));
        }
        Ok(node)
    }

    fn primary(&mut self) -> Result<Node, Failure> {
        if self.take("(") {
            let inner = self.expression(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let word = self.word();
        match word {
            "" => Err(self.wrong("a number, a name or an expression in parentheses")),
            _ if self.take("(") => self.call(word),
            _ => match number(word) {
                Some(scalar) => Ok(Node::Number(scalar)),
                None if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                    Err(Failure::usage(format!("{word:?} is neither a number nor a name")))
                }
                None => Ok(Node::Name(word.into())),
            },
        }
    }

    /// Consumes the longest run of characters that can be part of a number or a name.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let mut before = ' ';
        let end = rest.find(|c: char| {
            // The sign of an exponent belongs to a decimal number.
            let exponent = is_number && matches!(before, 'e' | 'E') && !rest.starts_with("0x");
            let inside =
                c.is_alphanumeric() || c == '_' || c == '.' || exponent && matches!(c, '+' | '-');
            before = c;
            !inside
        });
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    /// Parses the arguments of a call, after the opening parenthesis.
    fn call(&mut self, name: &str) -> Result<Node, Failure> {
        let reduction = reduction(name);
        let (binary, unary) = (name.parse::<BinaryOp>().ok(), name.parse::<UnaryOp>().ok());
        let ternary = TernaryOp::named(name);
        let scan = name.parse::<ScanOp>().ok();
        let pair = PAIRS.iter().find(|pair| pair.name == name);
        let is_other = VIEWS.contains(&name) || scan.is_some() || pair.is_some();
        let is_known = is_other || binary.is_some() || unary.is_some() || ternary.is_some();
        if !is_known && reduction.is_none() && !CASTS.contains(&name) {
            return Err(unknown(name, Command::Eval));
        }
        let first = self.expression(0)?;
        if let Some(op) = ternary {
            self.expect(",")?;
            let second = self.expression(0)?;
            self.expect(",")?;
            let third = self.expression(0)?;
            self.expect(")")?;
            return Ok(Node::Ternary(op, Box::new([first, second, third])));
        }
        if let Some(pair) = pair {
            self.expect(",")?;
            let second = self.expression(0)?;
            let axis = if pair.takes_axis { self.axis()? } else { 0 };
            self.expect(")")?;
            return Ok(Node::Pair(pair, Box::new([first, second]), axis));
        }
        let first = Box::new(first);
        if let Some(op) = scan {
            let axis = self.axis()?;
            self.expect(")")?;
            return Ok(Node::Scan(op, first, axis));
        }
        let node = match (name, binary, unary, reduction) {
            (cast, ..) if CASTS.contains(&cast) => {
                self.expect(",")?;
                self.rest();
                let dtype = dtype(self.word())?;
                match cast {
                    "cast" => Node::Cast(first, dtype),
                    "cast_saturating" => Node::CastSaturating(first, dtype),
                    _ => Node::Bitcast(first, dtype),
                }
            }
            (_, Some(op), ..) => {
                self.expect(",")?;
                Node::Binary(op, first, Box::new(self.expression(0)?))
            }
            (_, _, Some(op), _) => Node::Unary(op, first),
            (.., Some((op, keepdims))) => {
                let over = self.over()?;
                let keepdims = keepdims || over.keepdims;
                Node::Reduce(op, first, Over { keepdims, ..over })
            }
            ("pack", ..) => {
                self.expect(",")?;
                let bits = self.integer("a number of bits")?;
                self.expect(",")?;
                self.rest();
                let word = dtype(self.word())?;
                let axis = self.numbers("the number of an axis")?.first().copied().unwrap_or(-1);
                Node::View(first, View::Pack(bits.max(0) as usize, word, axis))
            }
            _ => {
                let numbers = self.numbers("a number")?;
                Node::View(first, View::call(name, numbers)?)
            }
        };
        self.expect(")")?;
        Ok(node)
    }

    /// Parses an axis, with a comma before it.
    fn axis(&mut self) -> Result<i64, Failure> {
        self.expect(",")?;
        if self.take("axis") || self.take("dim") {
            self.expect("=")?;
        }
        self.integer("the number of an axis")
    }

    /// Parses the arguments after the operand of a reduction: axes, one by one or as a list, all of them if none is
    /// named, `keepdims`, `dtype=` and `correction=`.
    fn over(&mut self) -> Result<Over, Failure> {
        let (mut axes, mut is_named, mut keepdims) = (Vec::new(), false, false);
        let (mut chosen, mut correction) = (None, None);
        while self.take(",") {
            if self.take("dtype") {
                self.expect("=")?;
                self.rest();
                chosen = Some(dtype(self.word())?);
                continue;
            }
            if self.take("correction") {
                self.expect("=")?;
                let sign = if self.take("-") { "-" } else { "" };
                self.rest();
                let value = number(&format!("{sign}{}", self.word()));
                correction = Some(value.ok_or_else(|| self.wrong("a number before this"))?);
                continue;
            }
            if self.take("keepdims") {
                let value = if self.take("=") { self.word() } else { "true" };
                keepdims = match value {
                    "true" | "True" => true,
                    "false" | "False" => false,
                    _ => return Err(self.wrong("true or false before this")),
                };
                continue;
            }
            is_named = true;
            if self.take("axis") || self.take("dim") {
                self.expect("=")?;
            }
            if self.take("[") || self.take("(") {
                if !matches!(self.rest().chars().next(), Some(']' | ')')) {
                    axes.push(self.integer("the number of an axis")?);
                }
                axes.extend(self.numbers("the number of an axis")?);
                if !self.take("]") {
                    self.expect(")")?;
                }
            } else {
                axes.push(self.integer("the number of an axis")?);
            }
        }
        let axes = if is_named { axes.into_axes() } else { (..).into_axes() };
        Ok(Over { axes, keepdims, dtype: chosen, correction })
    }

    /// Parses integers, with a comma before each.
    fn numbers(&mut self, wanted: &str) -> Result<Vec<i64>, Failure> {
        let mut numbers = Vec::new();
        while self.take(",") {
            numbers.push(self.integer(wanted)?);
        }
        Ok(numbers)
    }

    fn integer(&mut self, wanted: &str) -> Result<i64, Failure> {
        let (sign, start) = (if self.take("-") { -1 } else { 1 }, self.at);
        self.rest();
        let word = self.word();
        word.parse::<u32>().map(|number| sign * i64::from(number)).map_err(|_| {
            self.at = start;
            self.wrong(wanted)
        })
    }

    /// Parses the parts of an index, after the opening bracket.
    fn index(&mut self) -> Result<Vec<Index>, Failure> {
        let mut parts = Vec::new();
        loop {
            let part = self.part()?;
            if matches!(part, Index::Rest) && parts.iter().any(|it| matches!(it, Index::Rest)) {
                return Err(Failure::usage("an index has one `...` at most"));
            }
            parts.push(part);
            if !self.take(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(parts)
    }

    fn part(&mut self) -> Result<Index, Failure> {
        if self.take("...") {
            return Ok(Index::Rest);
        }
        if self.take("None") || self.take("newaxis") {
            return Ok(Index::New);
        }
        let wanted = "an index, a slice, None or ...";
        let mut bounds = [None; 3];
        let mut colons = 0;
        loop {
            if matches!(self.rest().chars().next(), Some('-' | '0'..='9')) {
                bounds[colons] = Some(self.integer(wanted)?);
            }
            if colons == 2 || !self.take(":") {
                break;
            }
            colons += 1;
        }
        match (colons, bounds) {
            (0, [Some(number), ..]) => Ok(Index::At(number)),
            (0, _) => Err(self.wrong(wanted)),
            (_, [start, end, step]) => {
                let [start, end] = [start, end].map(|bound| bound.map(|bound| bound as isize));
                Ok(Index::Slice(Slice::new(start, end, step.unwrap_or(1) as isize)))
            }
        }
    }
}

fn negated(scalar: Scalar) -> Result<Scalar, Failure> {
    match scalar {
        Scalar::Int(value) => Ok(Scalar::Int(-value)),
        Scalar::UInt(value) if value == i64::MIN.unsigned_abs() => Ok(Scalar::Int(i64::MIN)),
        Scalar::Float(value) => Ok(Scalar::Float(-value)),
        other => Err(Failure::usage(format!("-{other} is not a number of any dtype"))),
    }
}
