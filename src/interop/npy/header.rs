//! The header of a `.npy` file: a magic number, a version, and a Python dictionary.

use std::io::Read;

use super::super::file::{read_exactly, refused};
use super::OP;
use crate::{DType, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The maximum length of a header. No array of numbers needs more; NumPy's own limit is 10,000.
const LONGEST: usize = 1 << 16;

/// The alignment of the elements in the file, so that it can be mapped into memory.
const ALIGNMENT: usize = 64;

/// The description of the array that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) dtype: DType,
    /// Whether the byte order is not that of the machine.
    pub(super) swapped: bool,
    /// Whether the elements are in Fortran order, with the first index varying fastest.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

impl Header {
    pub(super) fn read(reader: &mut impl Read) -> Result<Header> {
        let mut magic = Vec::new();
        let magic_len = MAGIC.len() as u64;
        reader.take(magic_len).read_to_end(&mut magic).map_err(|error| refused(OP, error))?;
        if magic != MAGIC {
            return Err(refused(OP, "this is not a .npy file"));
        }
        let version = read_exactly(OP, &mut *reader, 2, 2)?;
        let len = match version[..] {
            [1, _] => {
                let bytes = read_exactly(OP, &mut *reader, 2, 2)?;
                usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
            }
            [2 | 3, _] => {
                let bytes = read_exactly(OP, &mut *reader, 4, 4)?;
                u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
            }
            _ => {
                let [major, minor] = [version[0], version[1]];
                let reason =
                    format!("version {major}.{minor} of the format is not known, 1 to 3 are");
                return Err(refused(OP, reason));
            }
        };
        if len > LONGEST {
            let reason = format!("a header of {len} bytes; at most {LONGEST} are read");
            return Err(refused(OP, reason));
        }
        let text = read_exactly(OP, reader, len, len as u64)?;
        let text = String::from_utf8(text).map_err(|_| {
            refused(OP, "the header is not text; only arrays of numbers can be read")
        })?;
        Header::parse(&text)
    }

    fn parse(text: &str) -> Result<Header> {
        let mut fields = Fields { rest: text };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        fields.expect("{")?;
        while !fields.take("}") {
            let key = fields.string()?;
            fields.expect(":")?;
            match key {
                "descr" => descr = Some(fields.string()?),
                "fortran_order" => fortran = Some(fields.boolean()?),
                "shape" => shape = Some(fields.tuple()?),
                _ => return Err(refused(OP, format!("the header has a field {key:?}"))),
            }
            if !fields.take(",") {
                fields.expect("}")?;
                break;
            }
        }
        match (descr, fortran, shape) {
            (Some(descr), Some(fortran), Some(shape)) => {
                let (dtype, swapped) = dtype_of(descr)?;
                Ok(Header { dtype, swapped, fortran, shape })
            }
            _ => Err(refused(OP, "the header lacks descr, fortran_order or shape")),
        }
    }

    /// Returns the complete header, in version 1 of the format.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let sizes: Vec<String> = self.shape.iter().map(|size| format!("{size},")).collect();
        // Only a tuple of one element needs a trailing comma.
        let sizes = sizes.join(" ");
        let sizes = if self.shape.len() > 1 { sizes.trim_end_matches(',') } else { &sizes };
        let order = if self.fortran { "True" } else { "False" };
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({sizes}), }}",
            descr_of(self.dtype)?
        );
        let start = MAGIC.len() + 4;
        let end = (start + text.len() + 1).next_multiple_of(ALIGNMENT);
        text += &" ".repeat(end - start - text.len() - 1);
        text.push('\n');
        // With at most eight sizes the length fits 16 bits by far.
        let len = (text.len() as u16).to_le_bytes();
        Ok([MAGIC, &[1, 0][..], &len, text.as_bytes()].concat())
    }
}

/// Returns NumPy's code for a dtype without the byte order: its kind and its size. `None` if the format has none.
fn kind_of(dtype: DType) -> Option<String> {
    let kind = match dtype {
        DType::Bool => 'b',
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 'u',
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 'i',
        DType::F16 | DType::F32 | DType::F64 => 'f',
        // NumPy has no such dtype; ml_dtypes saves it as raw bytes.
        DType::BF16 => 'V',
        // ml_dtypes saves one as any byte, and the other under a name that NumPy does not read.
        DType::F8E4M3FN | DType::F8E5M2 => return None,
        DType::C64 | DType::C128 => 'c',
    };
    Some(format!("{kind}{}", dtype.size()))
}

fn descr_of(dtype: DType) -> Result<String> {
    let kind = kind_of(dtype).ok_or_else(|| {
        let reason = "which the format does not have; save `x.bitcast(DType::U8)`";
        refused(OP, format!("the elements are {dtype}, {reason}"))
    })?;
    let order = match dtype.size() {
        1 => '|',
        _ if cfg!(target_endian = "big") => '>',
        _ => '<',
    };
    Ok(format!("{order}{kind}"))
}

/// Parses a description such as `<f4`. Returns the dtype, and whether its bytes have to be swapped.
fn dtype_of(descr: &str) -> Result<(DType, bool)> {
    let (big, kind) = match descr.split_at_checked(1) {
        Some((">", kind)) => (true, kind),
        Some(("<", kind)) => (false, kind),
        Some(("|" | "=", kind)) => (cfg!(target_endian = "big"), kind),
        _ => (cfg!(target_endian = "big"), descr),
    };
    let dtype = DType::ALL.iter().copied().find(|&dtype| kind_of(dtype).as_deref() == Some(kind));
    let dtype = dtype.ok_or_else(|| {
        let known: Vec<_> = DType::ALL.iter().filter_map(|&dtype| kind_of(dtype)).collect();
        let remedy = match kind {
            "V1" | "f1" => {
                "; save floats of 8 bits as `x.view(numpy.uint8)`, and bitcast them here"
            }
            _ => "",
        };
        refused(OP, format!("dtype {descr:?} is not known; known are {}{remedy}", known.join(" ")))
    })?;
    Ok((dtype, big != cfg!(target_endian = "big") && dtype.size() > 1))
}

/// The unparsed rest of the dictionary.
struct Fields<'a> {
    rest: &'a str,
}

impl<'a> Fields<'a> {
    /// Consumes a token if it is the next one.
    fn take(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.unexpected(token)) }
    }

    fn unexpected(&self, wanted: &str) -> crate::Error {
        let found: String = self.rest.chars().take(20).collect();
        refused(OP, format!("the header has {found:?} where {wanted} should be"))
    }

    /// Parses a string without escapes, in single or double quotes.
    fn string(&mut self) -> Result<&'a str> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(['[', '(']) {
            return Err(refused(OP, "a structured dtype; only arrays of numbers can be read"));
        }
        let quoted = ['\'', '"'].into_iter().find_map(|quote| {
            let (text, rest) = self.rest.strip_prefix(quote)?.split_once(quote)?;
            (!text.contains('\\')).then_some((text, rest))
        });
        let (text, rest) = quoted.ok_or_else(|| self.unexpected("a string"))?;
        self.rest = rest;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool> {
        match (self.take("True"), self.take("False")) {
            (true, false) => Ok(true),
            (false, true) => Ok(false),
            _ => Err(self.unexpected("True or False")),
        }
    }

    fn tuple(&mut self) -> Result<Vec<usize>> {
        let mut numbers = Vec::new();
        self.expect("(")?;
        while !self.take(")") {
            self.rest = self.rest.trim_start();
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let number = self.rest[..end].parse().map_err(|_| self.unexpected("a size"))?;
            numbers.push(number);
            self.rest = &self.rest[end..];
            // Python 2 appended an `L` to long integers.
            self.take("L");
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_the_way_there_and_back() {
        for &dtype in DType::ALL.iter().filter(|dtype| !dtype.is_float8()) {
            for shape in [vec![], vec![3], vec![2, 0, 4], vec![1; 8]] {
                let header = Header { dtype, swapped: false, fortran: shape.len() == 3, shape };
                let bytes = header.to_bytes().unwrap();
                assert_eq!(bytes.len() % ALIGNMENT, 0);
                assert_eq!(Header::read(&mut &*bytes).unwrap(), header);
            }
        }
    }

    #[test]
    fn what_numpy_and_others_write() {
        let parse = |text: &str| Header::parse(text).unwrap();
        let header = parse("{'descr': '>c16', 'fortran_order': True, 'shape': (3,), }   \n");
        assert_eq!((header.dtype, header.swapped, header.fortran), (DType::C128, true, true));
        assert_eq!(
            parse("{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"|u1\"}").shape,
            [2, 3]
        );
        assert_eq!(
            parse("{'descr': '|b1', 'fortran_order': False, 'shape': ()}").dtype,
            DType::Bool
        );
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let error = |text: &str| Header::parse(text).unwrap_err().to_string();
        let with =
            |descr: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,)}}");
        assert!(error(&with("'|O'")).contains("dtype \"|O\" is not known; known are b1 u1"));
        assert!(error(&with("[('a', '<f4')]")).contains("a structured dtype"));
        assert!(error("{'descr': '<f4', 'shape': (1,)}").contains("lacks"));
        assert!(
            error("{'descr': '<f4', 'shape': (-1,)}").contains("\"-1,)}\" where a size should be")
        );
        assert!(error("{'shape': (99999999999999999999999,)}").contains("a size"));
        assert!(error("{'more': 1}").contains("field \"more\""));
    }
}
