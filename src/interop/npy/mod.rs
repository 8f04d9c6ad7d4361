//! NumPy's files: `.npy` for one array, `.npz` for several by name.
//!
//! All fifteen dtypes are kept. NumPy itself has no `bf16`: it is written as `<V2`, as the package `ml_dtypes` writes its
//! `bfloat16`, and in Python `numpy.load("x.npy").view(ml_dtypes.bfloat16)` gives it back. Big-endian files are read, and
//! the order of an array's axes in memory is kept both ways: a Fortran array becomes a view with its strides, and such a
//! view a Fortran array.
//!
//! Files from strangers are safe to open. Nothing is allocated on the word of a header alone, objects (pickles) are
//! refused, and whatever is wrong is an [`Error::File`](crate::Error::File). A file that is saved appears complete or not
//! at all.
//!
//! ```
//! use bitlane::{DType, Device, Tensor, npy};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("x.npy");
//! let x = Tensor::arange(6, DType::F32, &Device::cpu())?.reshape((2, 3))?;
//! npy::save(&path, &x.transpose(0, 1)?)?;
//! let y = npy::load(&path, &Device::cpu())?;
//! assert_eq!((y.shape(), y.strides()), (&[3, 2][..], &[1, 3][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod header;

use std::io::{Read, Write};
use std::path::Path;

pub use self::archive::{load_npz, read_npz, save_npz, write_npz};
use self::header::Header;
use super::file::{in_file, open, read_exactly, refused, replace};
use super::swap_bytes;
use crate::layout::checked_len;
use crate::{Device, Result, Tensor};

const OP: &str = "npy";

/// Loads an array to a device.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, npy};
/// let error = npy::load("no such file.npy", &Device::cpu()).unwrap_err();
/// assert!(error.to_string().starts_with("npy: no such file.npy: "));
/// ```
///
/// # Errors
///
/// [`Error::File`](crate::Error::File) if the file cannot be read or is not a `.npy` file of a known dtype,
/// [`Error::InvalidShape`](crate::Error::InvalidShape) above rank 8, and as for [`Tensor::from_bytes`].
pub fn load(path: impl AsRef<Path>, device: &Device) -> Result<Tensor> {
    let path = path.as_ref();
    in_file(path, open(OP, path).and_then(|(file, len)| read_promised(file, len, device)))
}

/// Saves a tensor as an array. Waits for the device.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, npy};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.npy");
/// npy::save(&path, &Tensor::from_nested([true, false], &Device::cpu())?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::File`](crate::Error::File) if the file cannot be written; whatever was there is then still there. As for
/// [`Tensor::to_bytes`].
pub fn save(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let path = path.as_ref();
    in_file(path, replace(OP, path, |writer| write(writer, tensor)))
}

/// Reads an array and nothing behind it, from anything that can be read.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, npy};
/// let mut bytes = Vec::new();
/// npy::write(&mut bytes, &Tensor::from_nested([1u8, 2], &Device::cpu())?)?;
/// assert_eq!(npy::read(&*bytes, &Device::cpu())?.to_vec::<u8>()?, [1, 2]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// As for [`load`].
pub fn read(reader: impl Read, device: &Device) -> Result<Tensor> {
    read_promised(reader, 0, device)
}

/// As [`read`], where so many bytes are known to follow.
fn read_promised(mut reader: impl Read, promised: u64, device: &Device) -> Result<Tensor> {
    let Header { dtype, swapped, fortran, mut shape } = Header::read(&mut reader)?;
    let bytes = checked_len(OP, &shape, dtype.size())? * dtype.size();
    let mut elements = read_exactly(OP, reader, bytes, promised)?;
    if swapped {
        swap_bytes(dtype, &mut elements);
    }
    if !fortran {
        return Tensor::from_bytes(dtype, &elements, shape, device);
    }
    shape.reverse();
    let order: Vec<usize> = (0..shape.len()).rev().collect();
    Tensor::from_bytes(dtype, &elements, shape, device)?.permute(order)
}

/// Writes a tensor as an array, to anything that can be written. Waits for the device.
///
/// # Errors
///
/// As for [`save`].
pub fn write(mut writer: impl Write, tensor: &Tensor) -> Result<()> {
    let order: Vec<usize> = (0..tensor.rank()).rev().collect();
    let reversed = tensor.permute(order)?;
    let fortran = !tensor.is_contiguous() && reversed.is_contiguous();
    let header =
        Header { dtype: tensor.dtype(), swapped: false, fortran, shape: tensor.shape().to_vec() };
    let elements = if fortran { reversed.to_bytes()? } else { tensor.to_bytes()? };
    let written = writer.write_all(&header.to_bytes()).and_then(|()| writer.write_all(&elements));
    written.map_err(|error| refused(OP, error))
}
