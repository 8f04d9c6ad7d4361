//! NumPy's file formats: `.npy` for one array, and `.npz` for several named arrays.
//!
//! All dtypes are supported except `f8e4m3fn` and `f8e5m2`, for which the format has no name: save their bits with
//! `x.bitcast(DType::U8)`. NumPy itself has no `bf16`; it is stored as `<V2`, as the package `ml_dtypes`
//! stores its `bfloat16`, and `numpy.load("x.npy").view(ml_dtypes.bfloat16)` loads it in Python. Big-endian files can
//! be read. Fortran order is preserved in both directions: an array in Fortran order becomes a view with the
//! corresponding strides, and such a view is saved in Fortran order.
//!
//! Untrusted files are safe to open. No memory is allocated merely because a header asks for it, objects (pickles) are
//! rejected, and a malformed file is an [`Error::File`](crate::Error::File). Saving is atomic: a reader never sees a
//! partially written file.
//!
//! # Examples
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

/// Loads a `.npy` file to a device.
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
/// [`Error::InvalidShape`](crate::Error::InvalidShape) if the rank is above 8, and as for [`Tensor::from_bytes`].
pub fn load(path: impl AsRef<Path>, device: &Device) -> Result<Tensor> {
    let path = path.as_ref();
    in_file(path, open(OP, path).and_then(|(file, len)| read_promised(file, len, device)))
}

/// Saves a tensor to a `.npy` file. Waits for the device.
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
/// [`Error::File`](crate::Error::File) if the file cannot be written or the format lacks the dtype, and as for
/// [`Tensor::to_bytes`]. On error an existing file is unchanged.
pub fn save(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let path = path.as_ref();
    in_file(path, replace(OP, path, |writer| write(writer, tensor)))
}

/// Reads an array in `.npy` format from a reader, and nothing beyond its end.
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

/// Like [`read`], for a reader that is known to hold `promised` bytes.
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

/// Writes a tensor in `.npy` format to a writer. Waits for the device.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, npy};
/// let mut bytes = Vec::new();
/// npy::write(&mut bytes, &Tensor::from_nested([1u8, 2], &Device::cpu())?)?;
/// assert!(bytes.starts_with(b"\x93NUMPY"));
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::File`](crate::Error::File) if the writer fails or the format lacks the dtype, and as for
/// [`Tensor::to_bytes`].
pub fn write(mut writer: impl Write, tensor: &Tensor) -> Result<()> {
    let order: Vec<usize> = (0..tensor.rank()).rev().collect();
    let reversed = tensor.permute(order)?;
    let fortran = !tensor.is_contiguous() && reversed.is_contiguous();
    let header =
        Header { dtype: tensor.dtype(), swapped: false, fortran, shape: tensor.shape().to_vec() };
    let elements = if fortran { reversed.to_bytes()? } else { tensor.to_bytes()? };
    let written = writer.write_all(&header.to_bytes()?).and_then(|()| writer.write_all(&elements));
    written.map_err(|error| refused(OP, error))
}
