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

/// Loads all arrays of a `.npz` file to a device, with their names, in the order of the file.
///
/// Compressed files can be read, too. Decompression expands a file at most about a thousandfold, because archives whose
/// entries share bytes of the file are rejected.
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
/// As for [`load`](super::load), and [`Error::File`](crate::Error::File) if the archive is malformed, is encrypted, has
/// overlapping entries or contains anything other than arrays.
pub fn load_npz(path: impl AsRef<Path>, device: &Device) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    in_file(path, open(OP, path).and_then(|(file, _)| read_npz(file, device)))
}

/// Like [`load_npz`], from a reader that can seek.
///
/// # Examples
///
/// ```
/// use std::io::Cursor;
///
/// use bitlane::{Device, Tensor, npy};
/// let mut archive = Cursor::new(Vec::new());
/// npy::write_npz(&mut archive, [("x", Tensor::from_nested([1u8, 2], &Device::cpu())?)])?;
/// let arrays = npy::read_npz(archive, &Device::cpu())?;
/// assert_eq!(arrays[0].0, "x");
/// assert_eq!(arrays[0].1.to_vec::<u8>()?, [1, 2]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// As for [`load_npz`].
pub fn read_npz(reader: impl Read + Seek, device: &Device) -> Result<Vec<(String, Tensor)>> {
    let broken = |error: ZipError| refused(OP, error);
    let mut archive = ZipArchive::new(reader).map_err(broken)?;
    // Any number of entries could otherwise decompress the same bytes, so that the size of the file would not bound the
    // size of the arrays.
    if archive.has_overlapping_entries().map_err(broken)? {
        return Err(refused(OP, "entries of the archive overlap"));
    }
    let mut arrays = Vec::new();
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(broken)?;
        let name = file.name().map_err(broken)?.into_owned();
        let Some(short) = name.strip_suffix(SUFFIX) else {
            return Err(refused(OP, format!("{name} in the archive is not an array")));
        };
        let tensor = in_file(Path::new(&name), super::read(file, device))?;
        arrays.push((short.to_owned(), tensor));
    }
    Ok(arrays)
}

/// Saves named tensors to a `.npz` file, without compression. Waits for the device.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, npy};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("weights.npz");
/// let (x, y) = (Tensor::from_nested([1, 2], &Device::cpu())?, Tensor::from_nested([0.5f32], &Device::cpu())?);
/// npy::save_npz(&path, [("x", &x), ("y", &y)])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As for [`save`](super::save), and [`Error::File`](crate::Error::File) if two tensors have the same name.
pub fn save_npz<N: AsRef<str>, T: Borrow<Tensor>>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (N, T)>,
) -> Result<()> {
    let path = path.as_ref();
    in_file(path, replace(OP, path, |writer| write_npz(writer, tensors)))
}

/// Like [`save_npz`], to a writer that can seek.
///
/// # Examples
///
/// ```
/// use std::io::Cursor;
///
/// use bitlane::{Device, Tensor, npy};
/// let mut archive = Cursor::new(Vec::new());
/// npy::write_npz(&mut archive, [("x", Tensor::from_nested([1u8, 2], &Device::cpu())?)])?;
/// assert!(archive.into_inner().starts_with(b"PK"));
/// # Ok::<(), bitlane::Error>(())
/// ```
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
            // Files of 4 GiB or more, including the `.npy` header, need 64-bit sizes in the archive.
            .large_file(bytes > u32::MAX as usize - (1 << 16));
        let file = format!("{}{SUFFIX}", name.as_ref());
        archive.start_file(file, options).map_err(|error| refused(OP, error))?;
        super::write(&mut archive, tensor)?;
    }
    archive.finish().map(drop).map_err(|error| refused(OP, error))
}

#[cfg(all(test, feature = "cpu"))]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn entries_that_share_their_bytes_are_rejected() {
        let x = Tensor::from_slice(&[1u8; 1000], [1000], &Device::cpu()).unwrap();
        let mut npy = Vec::new();
        crate::npy::write(&mut npy, &x).unwrap();
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let archive = |copies: usize| {
                let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
                let options = SimpleFileOptions::default().compression_method(method);
                archive.start_file("x.npy", options).unwrap();
                archive.write_all(&npy).unwrap();
                for copy in 0..copies {
                    archive.shallow_copy_file("x.npy", &format!("{copy}.npy")).unwrap();
                }
                archive.finish().unwrap()
            };
            assert_eq!(read_npz(archive(0), &Device::cpu()).unwrap().len(), 1);
            let error = read_npz(archive(100), &Device::cpu()).unwrap_err().to_string();
            assert!(error.contains("entries of the archive overlap"), "{error}");
        }
    }
}
