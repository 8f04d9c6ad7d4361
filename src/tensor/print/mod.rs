//! Printing tensors, as NumPy prints arrays.

mod grid;
mod words;

use std::fmt;

use self::grid::Grid;
use self::words::{Notation, Style};
use super::Tensor;
use crate::Result;

/// Tensors with more elements than this are abbreviated.
const MOST: usize = 1000;

/// The number of elements shown at either end of an abbreviated dimension.
const EDGE: usize = 3;

/// The number of elements in the `Debug` output.
const DEBUGGED: usize = 8;

/// The default maximum number of digits after the decimal point.
const PRECISION: usize = 8;

/// Prints the elements as NumPy does, followed by a line with the shape, the dtype and the device. Waits for the
/// device.
///
/// Of a tensor with more than 1000 elements, only the first and the last three of every dimension are shown. A
/// precision limits the digits after the decimal point (`{:.3}`), and the alternate form (`{:#}`) omits the last line.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor};
/// let x = Tensor::from_nested([[1.5f32, 20.25], [-3.0, 0.125]], &Device::cpu())?;
/// assert_eq!(
///     x.to_string(),
///     "[[ 1.5   20.25 ]\n [-3.     0.125]]\nshape [2, 2], f32, cpu"
/// );
/// assert_eq!(format!("{:#.1}", x), "[[ 1.5 20.2]\n [-3.   0.1]]");
/// # Ok::<(), bitlane::Error>(())
/// ```
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, Notation::Decimal)
    }
}

macro_rules! print_bits {
    ($($trait:ident $notation:ident $words:literal $letter:literal $example:literal;)*) => {$(
        #[doc = concat!("Prints the bits of the elements as ", $words, ", with all digits of their dtype.")]
        ///
        /// # Examples
        ///
        /// ```
        /// use bitlane::{Device, Tensor};
        /// let x = Tensor::from_nested([10u8, 255], &Device::cpu())?;
        #[doc = concat!("assert_eq!(format!(\"{:#", $letter, "}\", x), \"", $example, "\");")]
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        impl fmt::$trait for Tensor {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.print(f, Notation::$notation)
            }
        }
    )*};
}

print_bits! {
    LowerHex LowerHex "hexadecimal numbers" "x" "[0a ff]";
    UpperHex UpperHex "hexadecimal numbers" "X" "[0A FF]";
    Binary Binary "binary numbers" "b" "[00001010 11111111]";
}

/// Prints the dtype, the shape, the device and the first elements in one line. Waits for the device.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// let x = Tensor::arange(100, DType::U8, &Device::cpu())?;
/// assert_eq!(format!("{x:?}"), "Tensor(u8 [100] cpu: 0 1 2 3 4 5 6 7 ...)");
/// # Ok::<(), bitlane::Error>(())
/// ```
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {:?}", self.dtype(), self.shape())?;
        if !self.is_contiguous() {
            write!(f, " strides {:?}", self.strides())?;
        }
        write!(f, " {}:", self.device())?;
        match self.first_words() {
            Ok(words) => words.iter().try_for_each(|word| write!(f, " {}", word.trim()))?,
            Err(error) => write!(f, " unavailable: {error}")?,
        }
        f.write_str(if self.len() > DEBUGGED { " ...)" } else { ")" })
    }
}

impl Tensor {
    /// Prints the elements in a notation and, unless the alternate form is asked for, a line about the tensor.
    fn print(&self, f: &mut fmt::Formatter<'_>, notation: Notation) -> fmt::Result {
        match self.printed(f.precision().unwrap_or(PRECISION), notation) {
            Ok(text) => f.write_str(&text)?,
            // An error here would make `to_string` panic.
            Err(error) => write!(f, "[unavailable: {error}]")?,
        }
        if f.alternate() {
            return Ok(());
        }
        write!(f, "\nshape {:?}, {}, {}", self.shape(), self.dtype(), self.device())
    }

    /// Formats the elements in nested brackets.
    fn printed(&self, precision: usize, notation: Notation) -> Result<String> {
        if self.is_empty() {
            return Ok("[]".into());
        }
        let shortened = self.len() > MOST;
        let shown = if shortened { self.edges()? } else { self.clone() };
        let style = Style { precision, in_array: self.rank() > 0 };
        let words = match notation {
            Notation::Decimal => style.words(&shown)?,
            bits => bits.words(&shown)?,
        };
        Ok(Grid { full: self.shape(), shown: shown.shape(), words: &words }.text())
    }

    /// Copies the first and last elements of every long dimension.
    fn edges(&self) -> Result<Tensor> {
        let op = "to_string";
        let shape: Vec<usize> = self.shape().iter().map(|&size| size.min(2 * EDGE)).collect();
        let edges = Tensor::undefined(op, self.device(), &shape, self.dtype())?;
        let long: Vec<usize> = (0..self.rank()).filter(|&k| self.shape()[k] > 2 * EDGE).collect();
        // Each long dimension has two ends, so `n` long dimensions have `2^n` corners.
        for corner in 0..1usize << long.len() {
            let (mut from, mut to) = (self.clone(), edges.clone());
            for (bit, &axis) in long.iter().enumerate() {
                let at_the_end = corner >> bit & 1 == 1;
                let start = |size: usize| if at_the_end { size - EDGE } else { 0 };
                from = from.narrow(axis, start(self.shape()[axis]), EDGE)?;
                to = to.narrow(axis, start(shape[axis]), EDGE)?;
            }
            to.write(op, (&from).into(), None)?;
        }
        Ok(edges)
    }

    /// Formats the first elements in row-major order.
    fn first_words(&self) -> Result<Vec<String>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let mut view = self.clone();
        for axis in 0..self.rank() {
            let inside: usize = self.shape()[axis + 1..].iter().product();
            let needed = DEBUGGED.div_ceil(inside).min(self.shape()[axis]);
            view = view.narrow(axis, 0, needed)?;
        }
        let mut words = Style { precision: PRECISION, in_array: false }.words(&view)?;
        words.truncate(DEBUGGED);
        Ok(words)
    }
}
