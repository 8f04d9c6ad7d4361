//! Safetensors: files of named tensors, the format in which many models are published.
//!
//! All dtypes except `c128`, which the format lacks, can be saved. Other floats of 8 bits or fewer, which the format has
//! and bitlane lacks, are rejected with an error that names the tensor. Untrusted files are safe to open: the header is
//! checked against the file before tensors are allocated. Saving is atomic: a reader never sees a partially written
//! file.
//!
//! # Examples
//!
//! ```
//! use bitlane::{Device, Tensor, bf16, safetensors};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("model.safetensors");
//! let words = Tensor::from_nested([0x7654_3210u32], &Device::cpu())?;
//! let scale = Tensor::from_nested([bf16::from_f32(0.5)], &Device::cpu())?;
//! safetensors::save(&path, [("layer.words", &words), ("layer.scale", &scale)])?;
//! let model = safetensors::load(&path, &Device::cpu())?;
//! assert!(model["layer.scale"].bits_equal(&scale)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use ::safetensors::tensor::TensorView;
use ::safetensors::{Dtype, SafeTensors};

use super::file::{in_file, open, read_exactly, refused, replace};
use super::swap_bytes;
use crate::{DType, Device, Result, Tensor};

const OP: &str = "safetensors";

/// The dtypes that bitlane and the format have in common.
const DTYPES: [(DType, Dtype); 16] = [
    (DType::Bool, Dtype::BOOL),
    (DType::U8, Dtype::U8),
    (DType::U16, Dtype::U16),
    (DType::U32, Dtype::U32),
    (DType::U64, Dtype::U64),
    (DType::I8, Dtype::I8),
    (DType::I16, Dtype::I16),
    (DType::I32, Dtype::I32),
    (DType::I64, Dtype::I64),
    (DType::F8E4M3FN, Dtype::F8_E4M3),
    (DType::F8E5M2, Dtype::F8_E5M2),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
    (DType::C64, Dtype::C64),
];

/// Loads all tensors of a file to a device.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, safetensors};
/// let error = safetensors::load("no such file", &Device::cpu()).unwrap_err();
/// assert!(error.to_string().starts_with("safetensors: no such file: "));
/// ```
///
/// # Errors
///
/// [`Error::File`](crate::Error::File) if the file cannot be read, is malformed or contains a dtype that bitlane lacks,
/// and as for [`Tensor::from_bytes`].
pub fn load(path: impl AsRef<Path>, device: &Device) -> Result<BTreeMap<String, Tensor>> {
    let path = path.as_ref();
    let loaded = open(OP, path).and_then(|(file, len)| {
        let bytes = usize::try_from(len).map_err(|error| refused(OP, error))?;
        from_bytes(&read_exactly(OP, file, bytes, len)?, device)
    });
    in_file(path, loaded)
}

/// Saves named tensors to a file. Waits for the device.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, safetensors};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// let bias = Tensor::from_nested([0.5f32, -0.5], &Device::cpu())?;
/// safetensors::save(&path, [("bias", &bias)])?;
/// assert!(safetensors::load(&path, &Device::cpu())?["bias"].bits_equal(&bias)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::File`](crate::Error::File) if the file cannot be written, if a tensor is `c128`, or if two tensors have the
/// same name, and as for [`Tensor::to_bytes`]. On error an existing file is unchanged.
pub fn save<N: AsRef<str>, T: Borrow<Tensor>>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (N, T)>,
) -> Result<()> {
    let path = path.as_ref();
    let saved = to_bytes(tensors).and_then(|bytes| {
        replace(OP, path, |writer| writer.write_all(&bytes).map_err(|error| refused(OP, error)))
    });
    in_file(path, saved)
}

/// Loads all tensors from the contents of a file.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, safetensors};
/// let x = Tensor::from_nested([[1i8, 2], [3, 4]], &Device::cpu())?;
/// let bytes = safetensors::to_bytes([("x", &x)])?;
/// let tensors = safetensors::from_bytes(&bytes, &Device::cpu())?;
/// assert_eq!(tensors["x"].shape(), [2, 2]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// As for [`load`].
pub fn from_bytes(bytes: &[u8], device: &Device) -> Result<BTreeMap<String, Tensor>> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| refused(OP, error))?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.iter() {
        let known = DTYPES.iter().find(|(_, theirs)| *theirs == view.dtype());
        let Some(&(dtype, _)) = known else {
            let reason = format!("{name} is of {:?}, which bitlane does not have", view.dtype());
            return Err(refused(OP, reason));
        };
        let tensor = if cfg!(target_endian = "big") {
            let mut elements = view.data().to_vec();
            swap_bytes(dtype, &mut elements);
            Tensor::from_bytes(dtype, &elements, view.shape(), device)
        } else {
            Tensor::from_bytes(dtype, view.data(), view.shape(), device)
        };
        tensors.insert(name.to_owned(), tensor?);
    }
    Ok(tensors)
}

/// Returns the contents of a file with these named tensors. Waits for the device.
///
/// # Examples
///
/// ```
/// use bitlane::{Complex, Device, ErrorKind, Tensor, safetensors};
/// let x = Tensor::from_nested([Complex::new(1.0f64, 2.0)], &Device::cpu())?;
/// let error = safetensors::to_bytes([("x", &x)]).unwrap_err(); // the format has no c128
/// assert_eq!(error.kind(), ErrorKind::File);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// As for [`save`].
pub fn to_bytes<N: AsRef<str>, T: Borrow<Tensor>>(
    tensors: impl IntoIterator<Item = (N, T)>,
) -> Result<Vec<u8>> {
    let mut contents: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)> = BTreeMap::new();
    for (name, tensor) in tensors {
        let (name, tensor) = (name.as_ref(), tensor.borrow());
        let dtype = tensor.dtype();
        let Some(&(_, theirs)) = DTYPES.iter().find(|(ours, _)| *ours == dtype) else {
            return Err(refused(
                OP,
                format!("{name} is of {dtype}, which the format does not have"),
            ));
        };
        let mut elements = tensor.to_bytes()?;
        if cfg!(target_endian = "big") {
            swap_bytes(dtype, &mut elements);
        }
        let content = (theirs, tensor.shape().to_vec(), elements);
        if contents.insert(name.to_owned(), content).is_some() {
            return Err(refused(OP, format!("the name {name:?} is given twice")));
        }
    }
    let views: Result<Vec<_>, _> = contents
        .iter()
        .map(|(name, (dtype, shape, elements))| {
            Ok((name, TensorView::new(*dtype, shape.clone(), elements)?))
        })
        .collect();
    views
        .and_then(|views| ::safetensors::serialize(views, None))
        .map_err(|error| refused(OP, error))
}
