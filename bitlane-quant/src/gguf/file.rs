//! GGUF files: a header, metadata, the places of tensors, and the tensors.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use bitlane::{DType, Device, Error, Result, Tensor};

use super::Kind;

const OP: &str = "gguf::Reader";

/// The alignment of a file that does not give one.
const ALIGNMENT: u64 = 32;

/// The dimensions that a tensor of a file has at most.
const MAX_DIMENSIONS: u32 = 4;

/// How deep arrays of metadata may be nested.
const MAX_DEPTH: usize = 8;

/// A value of the metadata.
///
/// # Examples
///
/// ```
/// use bitlane_quant::gguf::Value;
/// assert_eq!(Value::Text("llama".into()).to_string(), "llama");
/// assert_eq!(Value::Array(3).to_string(), "3 elements");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// An integer that is not negative.
    Unsigned(u64),
    /// An integer of a signed type.
    Signed(i64),
    /// A float.
    Float(f64),
    /// A bool.
    Bool(bool),
    /// A text.
    Text(String),
    /// An array, of which only the number of elements is kept.
    Array(u64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unsigned(number) => write!(f, "{number}"),
            Value::Signed(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number}"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Text(text) => f.write_str(text),
            Value::Array(len) => write!(f, "{len} elements"),
        }
    }
}

/// What the elements of a tensor of a file are.
///
/// # Examples
///
/// ```
/// use bitlane::DType;
/// use bitlane_quant::gguf::{Kind, Type};
/// assert_eq!(Type::from_code(2), Type::Blocks(Kind::Q4_0));
/// assert_eq!(Type::from_code(30), Type::Plain(DType::BF16));
/// assert_eq!(Type::from_code(10).to_string(), "type 10, which cannot be read");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// Elements of a dtype.
    Plain(DType),
    /// Blocks.
    Blocks(Kind),
    /// A type with this code that cannot be read.
    Unknown(u32),
}

impl Type {
    /// Returns the type with this code.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::gguf::{Kind, Type};
    /// assert_eq!(Type::from_code(39), Type::Blocks(Kind::MXFP4));
    /// ```
    pub fn from_code(code: u32) -> Type {
        match code {
            0 => Type::Plain(DType::F32),
            1 => Type::Plain(DType::F16),
            2 => Type::Blocks(Kind::Q4_0),
            3 => Type::Blocks(Kind::Q4_1),
            6 => Type::Blocks(Kind::Q5_0),
            7 => Type::Blocks(Kind::Q5_1),
            8 => Type::Blocks(Kind::Q8_0),
            12 => Type::Blocks(Kind::Q4_K),
            14 => Type::Blocks(Kind::Q6_K),
            24 => Type::Plain(DType::I8),
            25 => Type::Plain(DType::I16),
            26 => Type::Plain(DType::I32),
            27 => Type::Plain(DType::I64),
            28 => Type::Plain(DType::F64),
            30 => Type::Plain(DType::BF16),
            35 => Type::Blocks(Kind::TQ2_0),
            39 => Type::Blocks(Kind::MXFP4),
            code => Type::Unknown(code),
        }
    }

    /// Returns the elements and bytes of a block; an element of a dtype is a block of its own.
    fn block(self) -> Option<(u64, u64)> {
        match self {
            Type::Plain(dtype) => Some((1, dtype.size() as u64)),
            Type::Blocks(kind) => Some((kind.block_len() as u64, kind.block_bytes() as u64)),
            Type::Unknown(_) => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Plain(dtype) => write!(f, "{dtype}"),
            Type::Blocks(kind) => write!(f, "{kind}"),
            Type::Unknown(code) => write!(f, "type {code}, which cannot be read"),
        }
    }
}

/// A tensor of a file.
///
/// # Examples
///
/// ```no_run
/// use bitlane_quant::gguf::Reader;
/// for tensor in Reader::open("model.gguf")?.tensors() {
///     println!("{}: {} of {:?}", tensor.name, tensor.kind, tensor.shape);
/// }
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The name.
    pub name: String,
    /// The shape, whose last dimension is dense. The file has the sizes in the opposite order.
    pub shape: Vec<usize>,
    /// What the elements are.
    pub kind: Type,
    /// The first byte, counted from that of the file.
    start: u64,
    /// The number of bytes, unless the type is unknown.
    bytes: Option<u64>,
}

/// A reader of a GGUF file, of version 2 or 3.
///
/// Untrusted files are safe to open: sizes and places are checked against the length of the file before anything is allocated.
///
/// # Examples
///
/// ```
/// use std::io::Cursor;
/// use bitlane_quant::gguf::Reader;
/// // A file without tensors: the magic number, the version, and two counts.
/// let mut file = b"GGUF\x03\0\0\0".to_vec();
/// file.extend([0; 16]);
/// assert!(Reader::new(Cursor::new(file))?.tensors().is_empty());
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    metadata: BTreeMap<String, Value>,
    tensors: Vec<Info>,
}

impl Reader<BufReader<File>> {
    /// Opens a file and reads everything but the tensors.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::gguf::Reader;
    /// let error = Reader::open("no such file").unwrap_err();
    /// assert!(error.to_string().starts_with("gguf::Reader: no such file: "));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::File`] if the file cannot be read or is malformed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let opened = File::open(path).map_err(malformed).map(BufReader::new).and_then(Reader::new);
        opened.map_err(|error| match error {
            Error::File { op, reason } => {
                Error::File { op, reason: format!("{}: {reason}", path.display()) }
            }
            other => other,
        })
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Reads everything but the tensors.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Cursor;
    /// use bitlane_quant::gguf::Reader;
    /// assert!(Reader::new(Cursor::new(b"GGML")).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::File`] if the source cannot be read or is malformed.
    pub fn new(mut source: R) -> Result<Self> {
        let len = source.seek(SeekFrom::End(0)).map_err(malformed)?;
        source.seek(SeekFrom::Start(0)).map_err(malformed)?;
        let mut header = Header { source: &mut source, left: len };
        if header.array::<4>()? != *b"GGUF" {
            return Err(malformed("it does not begin with GGUF"));
        }
        match header.u32()? {
            2 | 3 => {}
            version if matches!(version.swap_bytes(), 1..=3) => {
                return Err(malformed("it is big-endian, which cannot be read"));
            }
            version => return Err(malformed(format!("version {version}; 2 and 3 can be read"))),
        }
        let (count, pairs) = (header.u64()?, header.u64()?);
        let mut metadata = BTreeMap::new();
        for _ in 0..pairs {
            let name = header.text()?;
            let kind = header.u32()?;
            let value = header.value(kind, 0)?;
            if metadata.insert(name.clone(), value).is_some() {
                return Err(malformed(format!("{name} is given twice")));
            }
        }
        let alignment = match metadata.get("general.alignment") {
            None => ALIGNMENT,
            Some(&Value::Unsigned(alignment)) if alignment.is_power_of_two() => alignment,
            Some(other) => {
                let reason = format!("general.alignment: {other} is no power of two");
                return Err(malformed(reason));
            }
        };
        let (mut tensors, mut names) = (Vec::new(), BTreeSet::new());
        for _ in 0..count {
            let info = header.info()?;
            if !names.insert(info.name.clone()) {
                return Err(malformed(format!("the tensor {} is given twice", info.name)));
            }
            tensors.push(info);
        }
        let data = (len - header.left).checked_next_multiple_of(alignment);
        for info in &mut tensors {
            let name = &info.name;
            if !info.start.is_multiple_of(alignment) {
                let start = info.start;
                return Err(malformed(format!("{name}: {start} is no multiple of {alignment}")));
            }
            let start = data.and_then(|data| data.checked_add(info.start));
            let end = start.and_then(|start| start.checked_add(info.bytes.unwrap_or(0)));
            match (start, end) {
                (Some(start), Some(end)) if end <= len || info.bytes == Some(0) => {
                    info.start = start
                }
                _ => return Err(malformed(format!("{name} reaches beyond the end of the file"))),
            }
        }
        Ok(Reader { source, metadata, tensors })
    }

    /// Returns the metadata.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use bitlane_quant::gguf::{Reader, Value};
    /// let file = Reader::open("model.gguf")?;
    /// assert_eq!(file.metadata()["general.architecture"], Value::Text("llama".into()));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn metadata(&self) -> &BTreeMap<String, Value> {
        &self.metadata
    }

    /// Returns the tensors, in the order of the file.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use bitlane_quant::gguf::Reader;
    /// println!("{} tensors", Reader::open("model.gguf")?.tensors().len());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn tensors(&self) -> &[Info] {
        &self.tensors
    }

    /// Reads a tensor: elements in their shape, and blocks as bytes in one dimension, as [`dequantize`](super::dequantize) takes them.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use bitlane::Device;
    /// # use bitlane_quant::gguf::Reader;
    /// let norm = Reader::open("model.gguf")?.read("output_norm.weight", &Device::cpu())?;
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::File`] if there is no such tensor, if its type cannot be read, or if the source fails.
    pub fn read(&mut self, name: &str, device: &Device) -> Result<Tensor> {
        let info = self.info(name)?.clone();
        let Some(bytes) = info.bytes else {
            return Err(malformed(format!("{name} is of {}", info.kind)));
        };
        let len = usize::try_from(bytes).map_err(malformed)?;
        let mut content = Vec::new();
        let out_of_memory = |_| Error::OutOfMemory { device: "host".into(), bytes: len };
        // The place has been checked, so that the file is as large as this.
        content.try_reserve_exact(len).map_err(out_of_memory)?;
        self.source.seek(SeekFrom::Start(info.start)).map_err(malformed)?;
        let read = self.source.by_ref().take(bytes).read_to_end(&mut content);
        if read.map_err(malformed)? < len {
            return Err(malformed(format!("{name}: the file ends too early")));
        }
        match info.kind {
            Type::Plain(dtype) => {
                if cfg!(target_endian = "big") {
                    content.chunks_mut(dtype.size()).for_each(<[u8]>::reverse);
                }
                Tensor::from_bytes(dtype, &content, info.shape, device)
            }
            _ => Tensor::from_vec(content, len, device),
        }
    }

    /// Reads a tensor and returns its values as `f16`, `bf16` or `f32`, in their shape. Integers are no quantised weights, and keep
    /// their dtype.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use bitlane::{DType, Device};
    /// # use bitlane_quant::gguf::Reader;
    /// let mut file = Reader::open("model.gguf")?;
    /// let weight = file.dequantize("blk.0.attn_q.weight", DType::F16, &Device::best()?)?;
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Reader::read`] and [`dequantize`](super::dequantize).
    pub fn dequantize(&mut self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        let info = self.info(name)?;
        let (kind, shape) = (info.kind, info.shape.clone());
        let content = self.read(name, device)?;
        match kind {
            Type::Blocks(kind) => super::dequantize(kind, &content, dtype)?.reshape(shape),
            Type::Plain(own) if own.is_int() => Ok(content),
            _ => content.cast(dtype),
        }
    }

    fn info(&self, name: &str) -> Result<&Info> {
        let found = self.tensors.iter().find(|info| info.name == name);
        found.ok_or_else(|| malformed(format!("there is no tensor {name}")))
    }
}

fn malformed(reason: impl fmt::Display) -> Error {
    Error::File { op: OP, reason: reason.to_string() }
}

/// What comes before the tensors.
struct Header<'a, R> {
    source: &'a mut R,
    /// The bytes that have not been read.
    left: u64,
}

impl<R: Read> Header<'_, R> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.taken(N as u64)?;
        self.source.read_exact(&mut bytes).map_err(malformed)?;
        Ok(bytes)
    }

    /// Counts bytes that are about to be read.
    fn taken(&mut self, bytes: u64) -> Result<()> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| malformed("the file ends too early"))?;
        Ok(())
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String> {
        let len = self.u64()?;
        // Not more than the file has is allocated.
        self.taken(len)?;
        let mut bytes = Vec::new();
        self.source.by_ref().take(len).read_to_end(&mut bytes).map_err(malformed)?;
        if bytes.len() as u64 != len {
            return Err(malformed("the file ends too early"));
        }
        String::from_utf8(bytes).map_err(|_| malformed("a text is not UTF-8"))
    }

    fn value(&mut self, kind: u32, depth: usize) -> Result<Value> {
        Ok(match kind {
            0 => Value::Unsigned(self.array::<1>()?[0].into()),
            1 => Value::Signed(i8::from_le_bytes(self.array()?).into()),
            2 => Value::Unsigned(u16::from_le_bytes(self.array()?).into()),
            3 => Value::Signed(i16::from_le_bytes(self.array()?).into()),
            4 => Value::Unsigned(self.u32()?.into()),
            5 => Value::Signed(i32::from_le_bytes(self.array()?).into()),
            6 => Value::Float(f32::from_le_bytes(self.array()?).into()),
            7 => Value::Bool(self.array::<1>()?[0] != 0),
            8 => Value::Text(self.text()?),
            9 => {
                let (kind, len) = (self.u32()?, self.u64()?);
                if depth == MAX_DEPTH {
                    return Err(malformed("arrays are nested too deeply"));
                }
                match size_of_value(kind) {
                    Some(size) => self.skip(len.checked_mul(size))?,
                    // A text or an array takes eight bytes or more, so that this ends with the file.
                    None if kind == 8 => {
                        for _ in 0..len {
                            let bytes = self.u64()?;
                            self.skip(Some(bytes))?;
                        }
                    }
                    None => {
                        for _ in 0..len {
                            self.value(kind, depth + 1)?;
                        }
                    }
                }
                Value::Array(len)
            }
            10 => Value::Unsigned(self.u64()?),
            11 => Value::Signed(i64::from_le_bytes(self.array()?)),
            12 => Value::Float(f64::from_le_bytes(self.array()?)),
            other => return Err(malformed(format!("metadata of type {other} is unknown"))),
        })
    }

    fn skip(&mut self, bytes: Option<u64>) -> Result<()> {
        let bytes = bytes.ok_or_else(|| malformed("an array is too long"))?;
        self.taken(bytes)?;
        let skipped = std::io::copy(&mut self.source.by_ref().take(bytes), &mut std::io::sink());
        skipped.map_err(malformed)?;
        Ok(())
    }

    /// Reads the place of a tensor, counted from the first of them.
    fn info(&mut self) -> Result<Info> {
        let name = self.text()?;
        let dimensions = self.u32()?;
        if dimensions > MAX_DIMENSIONS {
            return Err(malformed(format!(
                "{name} has {dimensions} dimensions, not {MAX_DIMENSIONS} or fewer"
            )));
        }
        let too_large = || malformed(format!("{name} is too large"));
        let mut sizes = Vec::new();
        for _ in 0..dimensions {
            sizes.push(self.u64()?);
        }
        let (kind, start) = (Type::from_code(self.u32()?), self.u64()?);
        let mut bytes = None;
        if let Some((len, size)) = kind.block() {
            let row = sizes.first().copied().unwrap_or(1);
            if !row.is_multiple_of(len) {
                return Err(malformed(format!("{name}: rows of {row} are no blocks of {kind}")));
            }
            let rows = sizes.iter().skip(1).try_fold(row / len, |all, &size| all.checked_mul(size));
            bytes = Some(rows.and_then(|blocks| blocks.checked_mul(size)).ok_or_else(too_large)?);
        }
        let shape: Result<Vec<usize>, _> = sizes.into_iter().rev().map(usize::try_from).collect();
        let shape = shape.map_err(|_| too_large())?;
        Ok(Info { name, shape, kind, start, bytes })
    }
}

/// Returns the bytes of a value of the metadata, unless it depends on the value.
fn size_of_value(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}
