//! Formatting of elements as words of equal width.

use half::{bf16, f16};
use num_complex::Complex;

use super::super::Tensor;
use crate::dtype::for_each_dtype;
use crate::{DType, Element, Result, f8e4m3fn, f8e5m2};

/// How elements are printed.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// The maximum number of digits after the decimal point.
    pub(super) precision: usize,
    /// Whether the words are printed in brackets. Bools are then padded to the same width.
    pub(super) in_array: bool,
}

/// How numbers are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    Decimal,
    LowerHex,
    UpperHex,
    Binary,
}

impl Notation {
    /// Formats the bits of the elements of a tensor in row-major order, the highest bit first.
    pub(super) fn words(self, tensor: &Tensor) -> Result<Vec<String>> {
        let digits = |byte: u8| match self {
            Notation::UpperHex => format!("{byte:02X}"),
            Notation::Binary => format!("{byte:08b}"),
            Notation::LowerHex | Notation::Decimal => format!("{byte:02x}"),
        };
        let bytes = tensor.to_bytes()?;
        let dtype = tensor.dtype();
        // The parts of a complex number are written one after the other.
        let part = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
        let number = |bytes: &[u8]| -> String {
            let mut bytes = bytes.to_vec();
            if cfg!(target_endian = "little") {
                bytes.reverse();
            }
            bytes.into_iter().map(digits).collect()
        };
        let element = |bytes: &[u8]| bytes.chunks(part).map(number).collect::<Vec<_>>().join(":");
        Ok(bytes.chunks(dtype.size()).map(element).collect())
    }
}

/// An element type that can be formatted.
trait Print: Element {
    fn words(elements: &[Self], style: Style) -> Vec<String>;
}

impl Style {
    /// Formats the elements of a tensor in row-major order.
    pub(super) fn words(self, tensor: &Tensor) -> Result<Vec<String>> {
        macro_rules! print {
            ($($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
                match tensor.dtype() {
                    $(DType::$variant => {
                        let elements: Vec<$rust> = tensor.elements("to_string")?;
                        Ok(Print::words(&elements, self))
                    })*
                }
            };
        }
        for_each_dtype!(print)
    }
}

fn right_aligned(words: impl Iterator<Item = String>) -> Vec<String> {
    let words: Vec<String> = words.collect();
    let width = words.iter().map(String::len).max().unwrap_or(0);
    words.into_iter().map(|word| format!("{word:>width$}")).collect()
}

impl Print for bool {
    fn words(elements: &[bool], style: Style) -> Vec<String> {
        let yes = if style.in_array { " True" } else { "True" };
        elements.iter().map(|&element| if element { yes } else { "False" }.into()).collect()
    }
}

macro_rules! print_integers {
    ($($integer:ty)*) => {$(
        impl Print for $integer {
            fn words(elements: &[$integer], _: Style) -> Vec<String> {
                right_aligned(elements.iter().map(ToString::to_string))
            }
        }
    )*};
}

print_integers! { u8 u16 u32 u64 i8 i16 i32 i64 }

/// The properties of a float type that formatting needs.
trait Real: Copy {
    /// The number of decimal digits that the type always preserves, or 3 for floats of 8 bits, which preserve none. Numbers
    /// from ten to this power up get an exponent.
    const DIGITS: i32;
    fn to_f64(self) -> f64;
    /// Returns the shortest decimal representation that parses to the same number, such as `1.25e-3`.
    fn shortest(self) -> String;
}

impl Real for f64 {
    const DIGITS: i32 = 15;

    fn to_f64(self) -> f64 {
        self
    }

    fn shortest(self) -> String {
        format!("{self:e}")
    }
}

impl Real for f32 {
    const DIGITS: i32 = 6;

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn shortest(self) -> String {
        format!("{self:e}")
    }
}

macro_rules! narrow_floats {
    ($($float:ty: $digits:literal;)*) => {$(
        impl Real for $float {
            const DIGITS: i32 = $digits;

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn shortest(self) -> String {
                let value = f64::from(self);
                // Five significant digits distinguish all floats of 8 and 16 bits.
                let candidates = (0..5).map(|digits| format!("{value:.digits$e}"));
                let gives_back = |text: &String| {
                    text.parse().is_ok_and(|parsed| <$float>::from_f64(parsed) == self)
                };
                candidates.into_iter().find(gives_back).unwrap_or_else(|| format!("{value:e}"))
            }
        }
    )*};
}

narrow_floats! { f8e4m3fn: 3; f8e5m2: 3; f16: 3; bf16: 2; }

macro_rules! print_floats {
    ($($float:ty)*) => {$(
        impl Print for $float {
            fn words(elements: &[$float], style: Style) -> Vec<String> {
                real_words(elements, style, false)
            }
        }

    )*};
}

print_floats! { f8e4m3fn f8e5m2 f16 bf16 f32 f64 }

macro_rules! print_complex {
    ($($float:ty)*) => {$(
        impl Print for Complex<$float> {
            fn words(elements: &[Complex<$float>], style: Style) -> Vec<String> {
                let part = |part: fn(&Complex<$float>) -> $float, signed| {
                    let parts: Vec<$float> = elements.iter().map(part).collect();
                    real_words(&parts, style, signed)
                };
                let (real, imaginary) = (part(|z| z.re, false), part(|z| z.im, true));
                let join = |(real, imaginary): (String, String)| {
                    // The imaginary unit follows the number immediately, before the padding.
                    let end = imaginary.trim_end().len();
                    format!("{real}{}j{}", &imaginary[..end], &imaginary[end..])
                };
                real.into_iter().zip(imaginary).map(join).collect()
            }
        }
    )*};
}

print_complex! { f32 f64 }

/// The decimal digits of a number: sign and integer part, fraction, and optionally an exponent.
struct Digits {
    whole: String,
    fraction: String,
    exponent: Option<i32>,
}

/// Formats floats with aligned decimal points. If their magnitudes are too small, too large or too far apart, all of
/// them get an exponent.
fn real_words<T: Real>(elements: &[T], style: Style, signed: bool) -> Vec<String> {
    let finite = || elements.iter().copied().filter(|x| x.to_f64().is_finite());
    let magnitudes = || finite().map(|x| x.to_f64().abs()).filter(|&x| x != 0.0);
    let (low, high) = magnitudes().fold((f64::MAX, 0f64), |(l, h), x| (l.min(x), h.max(x)));
    let scientific = magnitudes().next().is_some()
        && (high >= 10f64.powi(T::DIGITS.min(8)) || low < 1e-4 || high / low > 1000.0);
    let digits = |x: T| {
        let mut digits = digits(x, style.precision, scientific);
        if signed && !digits.whole.starts_with('-') {
            digits.whole.insert(0, '+');
        }
        digits
    };
    let all: Vec<Option<Digits>> =
        elements.iter().map(|&x| x.to_f64().is_finite().then(|| digits(x))).collect();
    let width = |part: fn(&Digits) -> usize| all.iter().flatten().map(part).max().unwrap_or(0);
    let (whole, fraction) = (width(|d| d.whole.len()), width(|d| d.fraction.len()));
    // An exponent has at least two digits.
    let exponent = width(|d| d.exponent.map_or(0, |e| e.unsigned_abs().to_string().len().max(2)));
    let tail = if scientific { fraction + exponent + 2 } else { fraction };
    let others = elements.iter().map(|x| not_finite(x.to_f64(), signed).len()).max().unwrap_or(0);
    let total = (whole + 1 + tail).max(others);
    let whole = total - 1 - tail.min(total - 1);
    let word = |(digits, x): (&Option<Digits>, &T)| match digits {
        None => format!("{:>total$}", not_finite(x.to_f64(), signed)),
        Some(Digits { whole: number, fraction: f, exponent: Some(e) }) => {
            let sign = if *e < 0 { '-' } else { '+' };
            let e = e.unsigned_abs();
            format!("{number:>whole$}.{f:0<fraction$}e{sign}{e:0>exponent$}")
        }
        Some(Digits { whole: number, fraction: f, exponent: None }) => {
            format!("{number:>whole$}.{f:<fraction$}")
        }
    };
    all.iter().zip(elements).map(word).collect()
}

fn not_finite(x: f64, signed: bool) -> String {
    let plus = if signed { "+" } else { "" };
    match x {
        x if x.is_finite() => String::new(),
        x if x.is_nan() => format!("{plus}nan"),
        x if x < 0.0 => "-inf".into(),
        _ => format!("{plus}inf"),
    }
}

/// Returns the shortest digits of a number, rounded to at most `precision` digits after the decimal point.
fn digits<T: Real>(x: T, precision: usize, scientific: bool) -> Digits {
    let shortest = x.shortest();
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let known = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let text = if scientific {
        if known > precision { format!("{:.precision$e}", x.to_f64()) } else { shortest.clone() }
    } else {
        // In positional notation, the exponent changes the number of digits after the decimal point.
        let behind = (known as i64 - i64::from(exponent)).max(0) as usize;
        let value: f64 =
            if behind > precision { x.to_f64() } else { shortest.parse().unwrap_or(0.0) };
        format!("{value:.*}", behind.min(precision))
    };
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()),
        None => (&*text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0').to_owned();
    Digits { whole: whole.into(), fraction, exponent }
}
