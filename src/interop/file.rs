//! File access shared by the formats: bounded reads and atomic writes.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// Creates an [`Error::File`].
pub(super) fn refused(op: &'static str, reason: impl fmt::Display) -> Error {
    Error::File { op, reason: reason.to_string() }
}

/// Prepends the path of the file to the reason of an [`Error::File`].
pub(super) fn in_file<T>(path: &Path, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error {
        Error::File { op, reason } => refused(op, format!("{}: {reason}", path.display())),
        other => other,
    })
}

/// Opens a file and returns it with its length.
pub(super) fn open(op: &'static str, path: &Path) -> Result<(File, u64)> {
    let opened = File::open(path).and_then(|file| {
        let len = file.metadata()?.len();
        Ok((file, len))
    });
    opened.map_err(|error| refused(op, error))
}

/// Reads exactly this many bytes.
///
/// Up to `promised` bytes are allocated in advance; that number must come from a trusted source, such as the file
/// system. A number from the file itself is not trusted, since a malformed file could cause a huge allocation.
pub(super) fn read_exactly(
    op: &'static str,
    reader: impl Read,
    bytes: usize,
    promised: u64,
) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let out_of_memory = |_| Error::OutOfMemory { device: "host".into(), bytes };
    let known = usize::try_from(promised).unwrap_or(usize::MAX).min(bytes);
    content.try_reserve_exact(known).map_err(out_of_memory)?;
    let read = reader.take(bytes as u64).read_to_end(&mut content);
    read.map_err(|error| refused(op, error))?;
    if content.len() < bytes {
        let missing = bytes - content.len();
        return Err(refused(op, format!("the file ends {missing} bytes too early")));
    }
    Ok(content)
}

/// Writes a file atomically: to a temporary file in the same folder, which then replaces it. A reader never sees a
/// partially written file, not even after a power failure: the contents are on the disk before the file has its name. A
/// file that is replaced keeps its permissions.
pub(super) fn replace(
    op: &'static str,
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<()>,
) -> Result<()> {
    let failed = |error: io::Error| refused(op, error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = temporary(folder, path).map_err(|error| refused(op, cause(&error)))?;
    let mut writer = BufWriter::new(file.as_file_mut());
    write(&mut writer)?;
    writer.flush().map_err(failed)?;
    drop(writer);
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    // The file is complete under either name; syncing the folder makes the new name last. Not every file system can.
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Returns the words of an error without the name of the temporary file, which `tempfile` appends and nobody has asked
/// for.
fn cause(error: &io::Error) -> String {
    let words = error.to_string();
    let end = words.find(" at path ").unwrap_or(words.len());
    format!("a file cannot be created there: {}", &words[..end])
}

/// Creates the file that is going to replace the one at `path`.
fn temporary(folder: &Path, path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".bitlane-");
    #[cfg(unix)]
    {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        if let Ok(old) = std::fs::metadata(path) {
            // Private until it has exactly these permissions, which is before anything is written to it.
            let file = builder.tempfile_in(folder)?;
            let mode = old.permissions().mode() & 0o777;
            file.as_file().set_permissions(Permissions::from_mode(mode))?;
            return Ok(file);
        }
        // A new file is an ordinary one, to which the process's mask applies.
        builder.permissions(Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = path;
    builder.tempfile_in(folder)
}
