//! `.npz`: a zip archive of `.npy` files.

use std::borrow::Borrow;
use std::io::{Read, Seek, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::super::file::{in_file, open, refused, replace};
use super::OP;
use crate::{Device, Result, Tensor};

const SUFFIX: &str = ".npy";

/// Loads all arrays of a `.npz` file, with their names, in the order of the file.
///
/// Compressed files can be read too. They grow to at most a thousand times their size.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, npy};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("weights.npz");
/// let x = Tensor::from_nested([1.5f32, 2.5], &Device::cpu())?;
/// npy::save_npz(&path, [("x", &x), ("doubled", &(&x * 2)?)])?;
/// let arrays = npy::load_npz(&path, &Device::cpu())?;
/// assert_eq!(arrays[1].0, "doubled");
/// assert_eq!(arrays[1].1.to_vec::<f32>()?, [3.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As for [`load`](super::load), and [`Error::File`](crate::Error::File) for an archive that is broken, encrypted or
/// holds anything else than arrays.
pub fn load_npz(path: impl AsRef<Path>, device: &Device) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    in_file(path, open(OP, path).and_then(|(file, _)| read_npz(file, device)))
}

/// As [`load_npz`], from anything that can be read at any place.
///
/// # Errors
///
/// As for [`load_npz`].
pub fn read_npz(reader: impl Read + Seek, device: &Device) -> Result<Vec<(String, Tensor)>> {
    let broken = |error: ZipError| refused(OP, error);
    let mut archive = ZipArchive::new(reader).map_err(broken)?;
    let mut arrays = Vec::new();
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(broken)?;
        let name = file.name().map_err(broken)?.into_owned();
        let Some(short) = name.strip_suffix(SUFFIX) else {
            return Err(refused(OP, format!("{name} in the archive is no array")));
        };
        let tensor = in_file(Path::new(&name), super::read(file, device))?;
        arrays.push((short.to_owned(), tensor));
    }
    Ok(arrays)
}

/// Saves tensors under names as a `.npz` file, without compression. Waits for the device.
///
/// # Errors
///
/// As for [`save`](super::save), and [`Error::File`](crate::Error::File) for a name that is given twice.
pub fn save_npz<N: AsRef<str>, T: Borrow<Tensor>>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (N, T)>,
) -> Result<()> {
    let path = path.as_ref();
    in_file(path, replace(OP, path, |writer| write_npz(writer, tensors)))
}

/// As [`save_npz`], to anything that can be written at any place.
///
/// # Errors
///
/// As for [`save_npz`].
pub fn write_npz<N: AsRef<str>, T: Borrow<Tensor>>(
    writer: impl Write + Seek,
    tensors: impl IntoIterator<Item = (N, T)>,
) -> Result<()> {
    let mut archive = ZipWriter::new(writer);
    for (name, tensor) in tensors {
        let tensor = tensor.borrow();
        let bytes = tensor.len() * tensor.dtype().size();
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            // Beyond 4 GiB, header included, sizes take 64 bits.
            .large_file(bytes > u32::MAX as usize - (1 << 16));
        let file = format!("{}{SUFFIX}", name.as_ref());
        archive.start_file(file, options).map_err(|error| refused(OP, error))?;
        super::write(&mut archive, tensor)?;
    }
    archive.finish().map(drop).map_err(|error| refused(OP, error))
}
