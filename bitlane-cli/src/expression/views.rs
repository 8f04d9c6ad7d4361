//! Views in the language of `bitlane eval`: calls such as `transpose(x, 0, 1)`, indices such as `x[1:, ..., None]`, and
//! values of a few bits, `unpack(words, 4)`.

use bitlane::{DType, Expr, IntoReshape, Packing, Slice};

use crate::failure::Failure;

/// The views that are called by name.
pub const VIEWS: [&str; 10] = [
    "reshape",
    "broadcast_to",
    "permute",
    "transpose",
    "unsqueeze",
    "squeeze",
    "flip",
    "narrow",
    "pack",
    "unpack",
];

/// A view of an operand.
#[derive(Clone, Debug)]
pub enum View {
    /// The name is one of [`VIEWS`].
    Call(&'static str, Vec<i64>),
    Index(Vec<Index>),
    /// Values of this number of bits, packed into words of this dtype along an axis.
    Pack(usize, DType, i64),
}

/// One part of an index.
#[derive(Clone, Copy, Debug)]
pub enum Index {
    /// `3`, which removes the dimension.
    At(i64),
    /// `1:-1:2`
    Slice(Slice),
    /// `None`, which adds a dimension.
    New,
    /// `...`, for the dimensions that are not named.
    Rest,
}

/// The sizes of `reshape`, of which −1 is inferred.
struct Sizes(Vec<Option<usize>>);

impl IntoReshape for Sizes {
    fn sizes(self) -> Vec<Option<usize>> {
        self.0
    }
}

impl View {
    /// Creates the view of this name, if there is one and these arguments are what it takes.
    pub fn call(name: &str, arguments: Vec<i64>) -> Result<View, Failure> {
        let known = VIEWS.iter().find(|view| **view == name);
        let Some(&name) = known else {
            return Err(Failure::usage(format!("unknown view {name:?}")));
        };
        let (takes, words) = match name {
            "transpose" => (2..=2, "two axes"),
            "unsqueeze" | "squeeze" | "flip" => (1..=1, "an axis"),
            "narrow" => (3..=3, "an axis, a start and a length"),
            "unpack" => (1..=2, "a number of bits, and an axis if it is not the last one"),
            _ => (0..=usize::MAX, "numbers"),
        };
        if !takes.contains(&arguments.len()) {
            return Err(Failure::usage(format!("{name} takes an operand and {words}")));
        }
        Ok(View::Call(name, arguments))
    }

    /// Returns the view of an expression.
    pub fn of<'a>(&self, x: &Expr<'a>) -> Result<Expr<'a>, Failure> {
        match self {
            View::Call(name, arguments) => called(name, arguments, x),
            View::Index(parts) => indexed(parts, x),
            View::Pack(bits, word, axis) => Ok(x.pack(&Packing::new(*bits, *word), *axis)),
        }
    }
}

/// Applies the view of this name.
fn called<'a>(name: &str, arguments: &[i64], x: &Expr<'a>) -> Result<Expr<'a>, Failure> {
    let size = |number: &i64| {
        let refused = |_| Failure::usage(format!("{name}: {number} is not a size"));
        usize::try_from(*number).map_err(refused)
    };
    let at = |place: usize| arguments.get(place).copied().unwrap_or(0);
    Ok(match name {
        "reshape" => {
            let sizes = arguments.iter().map(|number| match number {
                -1 => Ok(None),
                number => size(number).map(Some),
            });
            x.reshape(Sizes(sizes.collect::<Result<_, _>>()?))
        }
        "broadcast_to" => {
            x.broadcast_to(arguments.iter().map(size).collect::<Result<Vec<_>, _>>()?)
        }
        "permute" => x.permute(arguments),
        "transpose" => x.transpose(at(0), at(1)),
        "unsqueeze" => x.unsqueeze(at(0)),
        "squeeze" => x.squeeze(at(0)),
        "flip" => x.flip(at(0)),
        "unpack" => {
            let packing = Packing::new(size(&at(0))?, x.dtype()?);
            x.unpack(&packing, arguments.get(1).copied().unwrap_or(-1))
        }
        _ => x.narrow(at(0), size(&at(1))?, size(&at(2))?),
    })
}

/// Applies an index: its parts before `...` from the first dimension on, and those after it from the last one back.
fn indexed<'a>(parts: &[Index], x: &Expr<'a>) -> Result<Expr<'a>, Failure> {
    let rest = parts.iter().position(|part| matches!(part, Index::Rest)).unwrap_or(parts.len());
    let mut x = x.clone();
    let mut axis = 0;
    for part in &parts[..rest] {
        x = match *part {
            Index::At(number) => chosen(&x, axis, number)?,
            Index::Slice(slice) => x.slice(axis, slice),
            Index::New | Index::Rest => x.unsqueeze(axis),
        };
        axis += i64::from(!matches!(part, Index::At(_)));
    }
    let mut axis = -1;
    for part in parts.iter().skip(rest + 1).rev() {
        x = match *part {
            Index::At(number) => chosen(&x, axis, number)?,
            Index::Slice(slice) => x.slice(axis, slice),
            Index::New | Index::Rest => x.unsqueeze(axis),
        };
        axis -= i64::from(!matches!(part, Index::At(_)));
    }
    Ok(x)
}

/// Returns one place along an axis, without the dimension.
fn chosen<'a>(x: &Expr<'a>, axis: i64, number: i64) -> Result<Expr<'a>, Failure> {
    let shape = x.shape()?;
    let rank = shape.len() as i64;
    let place = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok();
    let size = place.and_then(|place| shape.get(place)).copied();
    let Some(size) = size else {
        return Err("the index has more parts than the operand has dimensions".into());
    };
    let start = if number < 0 { number + size as i64 } else { number };
    match usize::try_from(start) {
        Ok(start) if start < size => Ok(x.narrow(axis, start, 1).squeeze(axis)),
        _ => Err(format!("index {number} is outside a dimension of size {size}").into()),
    }
}
