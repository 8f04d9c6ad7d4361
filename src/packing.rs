//! How values of a few bits lie in words.

use std::fmt;
use std::ops::Range;

use crate::{DType, Device, Error, Result, Tensor};

/// A layout of values of 1 to 8 bits in words.
///
/// Without options, values follow one another from the lowest bit of the first word up, and cross words where the bits do
/// not divide the word. [`Tensor::pack`] and [`Tensor::unpack`] convert between values and words.
///
/// A packing is checked when it is used: [`Error::InvalidArgument`] names what is wrong with it.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Packing, Tensor};
/// let values = Tensor::arange(8, DType::U8, &Device::cpu())?;
/// let plain = Packing::new(4, DType::U32);
/// assert_eq!(values.pack(&plain, 0)?.to_vec::<u32>()?, [0x7654_3210]);
/// let interleaved = Packing::new(4, DType::U32).order([0, 2, 4, 6, 1, 3, 5, 7]);
/// assert_eq!(values.pack(&interleaved, 0)?.to_vec::<u32>()?, [0x7531_6420]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Packing {
    bits: usize,
    word: DType,
    /// The value that each field of a word holds; ascending if it is empty.
    order: Vec<usize>,
    big_endian_fields: bool,
    signed: bool,
}

impl Packing {
    /// Creates the packing of values of `bits` bits in words of an integer dtype.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Packing};
    /// assert_eq!(Packing::new(3, DType::U32).bits(), 3);
    /// ```
    pub fn new(bits: usize, word: DType) -> Packing {
        Packing { bits, word, order: Vec::new(), big_endian_fields: false, signed: false }
    }

    /// Creates the packing of NumPy's `packbits`: bits in bytes, the first one highest.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Device, Packing, Tensor};
    /// let bits = Tensor::from_nested([true, false, true], &Device::cpu())?;
    /// assert_eq!(bits.pack(&Packing::numpy_bits(), 0)?.to_vec::<u8>()?, [0b1010_0000]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn numpy_bits() -> Packing {
        Packing::arrow_bits().big_endian_fields()
    }

    /// Creates the packing of Arrow's bitmaps: bits in bytes, the first one lowest.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Device, Packing, Tensor};
    /// let bits = Tensor::from_nested([true, false, true], &Device::cpu())?;
    /// assert_eq!(bits.pack(&Packing::arrow_bits(), 0)?.to_vec::<u8>()?, [0b101]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn arrow_bits() -> Packing {
        Packing::new(1, DType::U8)
    }

    /// Chooses which value each field of a word holds, from the lowest field up. There must be one number for each field
    /// of a word, and none twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let words = Tensor::from_nested([0x10u8], &Device::cpu())?;
    /// let swapped = Packing::new(4, DType::U8).order([1, 0]);
    /// assert_eq!(words.unpack(&swapped, 0)?.to_vec::<u8>()?, [1, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn order(self, order: impl IntoIterator<Item = usize>) -> Packing {
        Packing { order: order.into_iter().collect(), ..self }
    }

    /// Counts the fields of a word from the highest bits down.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let words = Tensor::from_nested([0x12u8], &Device::cpu())?;
    /// let high_first = Packing::new(4, DType::U8).big_endian_fields();
    /// assert_eq!(words.unpack(&high_first, 0)?.to_vec::<u8>()?, [1, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn big_endian_fields(self) -> Packing {
        Packing { big_endian_fields: true, ..self }
    }

    /// Unpacks to `i8`, by extending the sign, instead of `u8`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let words = Tensor::from_nested([0x8fu8], &Device::cpu())?;
    /// let signed = Packing::new(4, DType::U8).signed();
    /// assert_eq!(words.unpack(&signed, 0)?.to_vec::<i8>()?, [-1, -8]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn signed(self) -> Packing {
        Packing { signed: true, ..self }
    }

    /// Returns the number of bits of a value.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::Packing;
    /// assert_eq!(Packing::arrow_bits().bits(), 1);
    /// ```
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Returns the dtype of a word.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Packing};
    /// assert_eq!(Packing::arrow_bits().word(), DType::U8);
    /// ```
    pub fn word(&self) -> DType {
        self.word
    }

    /// Returns the dtype to which words are unpacked.
    pub(crate) fn value_dtype(&self) -> DType {
        if self.signed { DType::I8 } else { DType::U8 }
    }

    /// Returns the mask of a value.
    pub(crate) fn mask(&self) -> i64 {
        (1 << self.bits) - 1
    }

    /// Returns how many words hold `values` values; a word that is not full counts.
    pub(crate) fn words_for(&self, values: usize) -> usize {
        let (width, full) = (self.width(), values / self.width());
        full * self.bits + (values % width * self.bits).div_ceil(width)
    }

    /// Returns how many whole values `words` words hold, or `None` if there are too many to be counted.
    pub(crate) fn values_in(&self, words: usize) -> Option<usize> {
        Some(words.checked_mul(self.width())? / self.bits)
    }

    fn width(&self) -> usize {
        8 * self.word.size()
    }

    /// Checks the packing, and returns its smallest group of whole words with whole values.
    pub(crate) fn group(&self, op: &'static str) -> Result<Group> {
        let refused = |reason: String| Err(Error::InvalidArgument { op, reason });
        let (bits, width) = (self.bits, self.width());
        if !(1..=8).contains(&bits) {
            return refused(format!("a packing has 1 to 8 bits per value, not {bits}"));
        }
        if !self.word.is_int() {
            return refused(format!("the words of a packing are integers, not {}", self.word));
        }
        let shared = 1 << bits.trailing_zeros(); // the width is a power of two
        let (words, values) = (bits / shared, width / shared);
        let crosses = words > 1;
        if crosses && (self.big_endian_fields || !self.order.is_empty()) {
            return refused(format!(
                "values of {bits} bits cross words of {width} bits, so that the fields of a word have no order"
            ));
        }
        let mut order: Vec<usize> = (0..values).collect();
        if !self.order.is_empty() {
            let mut sorted = self.order.clone();
            sorted.sort_unstable();
            if sorted != order {
                let given = &self.order;
                return refused(format!(
                    "the order {given:?} is not a permutation of the {values} fields of a word"
                ));
            }
            order.clone_from(&self.order);
        }
        let mut starts = vec![0; values];
        for (field, value) in order.into_iter().enumerate() {
            let place = if self.big_endian_fields { values - 1 - field } else { field };
            starts[value] = place * bits;
        }
        Ok(Group { words, starts })
    }
}

/// Prints the packing as it is written, as in `new(4, u32).order([1, 0])`.
impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "new({}, {})", self.bits, self.word)?;
        if !self.order.is_empty() {
            write!(f, ".order({:?})", self.order)?;
        }
        f.write_str(if self.big_endian_fields { ".big_endian_fields()" } else { "" })?;
        f.write_str(if self.signed { ".signed()" } else { "" })
    }
}

/// The smallest number of words that hold whole values.
pub(crate) struct Group {
    /// The number of words.
    pub(crate) words: usize,
    /// The lowest bit of each value, counted from that of the first word.
    pub(crate) starts: Vec<usize>,
}

impl Group {
    /// The number of values.
    pub(crate) fn values(&self) -> usize {
        self.starts.len()
    }

    /// Returns a part of the group that ends after some words and values.
    pub(crate) fn part(&self, words: usize, values: usize) -> Group {
        Group { words, starts: self.starts[..values].to_vec() }
    }

    /// Returns the place of the lowest bit of each value in its first word, in the dtype of a word and the shape `[values]`,
    /// followed by `inner` dimensions of size 1.
    pub(crate) fn places(&self, word: DType, inner: usize) -> Constants {
        let width = 8 * word.size();
        let places = self.starts.iter().map(|&start| (start % width) as u64);
        Constants::new(places, [self.values()].into(), word, inner)
    }

    /// Returns which bits of some words belong to each value, in the dtype of a word and the shape `[values, words]`,
    /// followed by `inner` dimensions of size 1. The dimension of a single word is left out.
    pub(crate) fn masks(&self, packing: &Packing, words: Range<usize>, inner: usize) -> Constants {
        let width = packing.width();
        let mask = |start: usize, word: usize| {
            let bits = (packing.mask() as u128) << (start % width);
            let (low, first) = (bits as u64, start / width);
            match word.checked_sub(first) {
                Some(0) => low,
                Some(1) => (bits >> width) as u64,
                _ => 0,
            }
        };
        let mut shape = vec![self.values()];
        shape.extend((words.len() > 1).then_some(words.len()));
        let masks =
            self.starts.iter().flat_map(|&start| words.clone().map(move |word| mask(start, word)));
        Constants::new(masks, shape, packing.word(), inner)
    }
}

/// Numbers that packing reads as a tensor.
pub(crate) struct Constants {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Constants {
    /// Takes the lowest bits of numbers, with `inner` more dimensions of size 1.
    fn new(
        numbers: impl Iterator<Item = u64>,
        mut shape: Vec<usize>,
        dtype: DType,
        inner: usize,
    ) -> Constants {
        let size = dtype.size();
        let skipped = if cfg!(target_endian = "big") { 8 - size } else { 0 };
        let bytes = numbers
            .flat_map(|number| number.to_ne_bytes().into_iter().skip(skipped).take(size))
            .collect();
        shape.extend(vec![1; inner]);
        Constants { dtype, shape, bytes }
    }

    /// Copies the numbers to a device.
    pub(crate) fn upload(&self, device: &Device) -> Result<Tensor> {
        Tensor::from_bytes(self.dtype, &self.bytes, &*self.shape, device)
    }
}
