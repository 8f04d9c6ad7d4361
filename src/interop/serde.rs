//! serde: lossless serialisation of tensors, partial sums, dtypes, reductions and rulebooks.
//!
//! A tensor is serialised as its dtype, its shape and its elements in row-major order. The elements are little-endian
//! bytes; human-readable formats such as JSON hold them as hexadecimal digits, because their numbers cannot represent
//! infinities, NaNs and all digits.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use ::serde::de::{Error as _, SeqAccess, Visitor};
use ::serde::ser::Error as _;
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::swap_bytes;
use crate::{DType, Device, PartialSum, ReduceOp, Rules, Tensor};

/// The maximum number of bytes to allocate in advance for a length that the input claims.
const TRUSTED: usize = 1 << 16;

impl Serialize for Tensor {
    /// Serialises the elements. Waits for the device.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut data = self.to_bytes().map_err(S::Error::custom)?;
        if cfg!(target_endian = "big") {
            swap_bytes(self.dtype(), &mut data);
        }
        let shape = Cow::Borrowed(self.shape());
        Written { dtype: self.dtype(), shape, data: Bytes(data) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tensor {
    /// Creates a tensor on the CPU. [`Tensor::to_device`] copies it to another device.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { dtype, shape, data: Bytes(mut data) } = Written::deserialize(deserializer)?;
        if cfg!(target_endian = "big") {
            swap_bytes(dtype, &mut data);
        }
        Tensor::from_bytes(dtype, &data, &*shape, &Device::cpu()).map_err(D::Error::custom)
    }
}

/// The serialised form of a tensor.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Tensor")]
struct Written<'a> {
    dtype: DType,
    shape: Cow<'a, [usize]>,
    data: Bytes,
}

impl Serialize for PartialSum {
    /// Serialises the totals, unrounded. Waits for the device.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (op, dtype, range, shape, nodes) = self.parts();
        let (shape, nodes) = (Cow::Borrowed(shape), Cow::Borrowed(nodes));
        WrittenSum { op, dtype, range: range.clone(), shape, nodes }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PartialSum {
    /// Creates a partial sum on the CPU.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenSum { op, dtype, range, shape, nodes } = WrittenSum::deserialize(deserializer)?;
        let (shape, nodes) = (shape.into_owned(), nodes.into_owned());
        PartialSum::from_parts((op, dtype, range), shape, nodes, Device::cpu())
            .ok_or_else(|| D::Error::custom("the totals of a partial sum do not fit its range"))
    }
}

/// The serialised form of a partial sum.
#[derive(Serialize, Deserialize)]
#[serde(rename = "PartialSum")]
struct WrittenSum<'a> {
    op: ReduceOp,
    dtype: DType,
    range: Range<usize>,
    shape: Cow<'a, [usize]>,
    nodes: Cow<'a, [Tensor]>,
}

struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(&Hexadecimal(&self.0))
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(BytesVisitor).map(Bytes)
        } else {
            deserializer.deserialize_byte_buf(BytesVisitor).map(Bytes)
        }
    }
}

struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of the elements, or their hexadecimal digits")
    }

    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let pairs = text.as_bytes().chunks(2);
        let bytes = pairs.map(|pair| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        });
        bytes.collect::<Option<_>>().ok_or_else(|| {
            E::custom("the elements of a tensor are not pairs of hexadecimal digits")
        })
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
        Ok(bytes)
    }

    // Some formats have no byte strings, only sequences of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut bytes = Vec::with_capacity(sequence.size_hint().unwrap_or(0).min(TRUSTED));
        while let Some(byte) = sequence.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes)
    }
}

struct Hexadecimal<'a>(&'a [u8]);

impl fmt::Display for Hexadecimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Serialises a type as its name, and deserialises it by parsing the name.
macro_rules! by_name {
    ($($named:ty)*) => {$(
        impl Serialize for $named {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $named {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = Cow::<'de, str>::deserialize(deserializer)?;
                <$named>::from_str(&name).map_err(D::Error::custom)
            }
        }
    )*};
}

by_name!(DType ReduceOp Rules);
