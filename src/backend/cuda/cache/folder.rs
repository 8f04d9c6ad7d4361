//! The folder of the cache, and the files in it.
//!
//! Whoever can write a file of the cache can make this process run their code on the device. On Unix the folder is
//! therefore used only if nobody but the user and root can change it or what its path leads to. It is held open, and its
//! files are opened relative to it, never through links, and are checked once they are open: there is no moment between
//! a check and a use in which something could be exchanged. On Windows the folder is in the user's profile, which the
//! system protects.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(unix))]
use self::by_path as system;
#[cfg(unix)]
use super::unix as system;

/// The prefix of the names of files that are still being written.
pub(super) const UNFINISHED: &str = ".bitlane-unfinished-";

/// An open folder that only the user and root can write to.
pub(super) struct Folder {
    path: PathBuf,
    handle: system::Handle,
}

impl Folder {
    /// Opens a folder, and creates it if it does not exist.
    pub(super) fn open(path: PathBuf) -> io::Result<Folder> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        let handle = system::open_folder(&path)?;
        Ok(Folder { path, handle })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file for reading. Never waits, as opening a pipe would.
    pub(super) fn read(&self, name: impl AsRef<OsStr>) -> io::Result<(File, Metadata)> {
        let file = system::open(&self.handle, name.as_ref())?;
        let data = file.metadata()?;
        if !data.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        system::expect_trusted(&data)?;
        Ok((file, data))
    }

    /// Writes a file, atomically.
    pub(super) fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let (temporary, mut file) = self.create()?;
        let written = parts.iter().try_for_each(|part| file.write_all(part));
        // Windows does not rename open files.
        drop(file);
        let renamed =
            written.and_then(|()| system::rename(&self.handle, temporary.as_ref(), name.as_ref()));
        if renamed.is_err() {
            let _ = self.remove(&temporary);
        }
        renamed
    }

    /// Creates a file under a name that nothing in the folder has.
    fn create(&self) -> io::Result<(String, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{UNFINISHED}{}-{count}", process::id());
            match system::create(&self.handle, name.as_ref()) {
                // Of a process that had the same number, in another container or before this one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                file => return Ok((name, file?)),
            }
        }
    }

    /// Removes a file, which another process may have removed already.
    pub(super) fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match system::remove(&self.handle, name.as_ref()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the names of everything in the folder.
    pub(super) fn names(&self) -> io::Result<Vec<std::ffi::OsString>> {
        system::names(&self.handle)
    }
}

/// Files by their paths, for systems without file descriptors.
#[cfg(not(unix))]
mod by_path {
    use std::ffi::{OsStr, OsString};
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::path::{Path, PathBuf};

    pub(super) type Handle = PathBuf;

    pub(super) fn open_folder(path: &Path) -> io::Result<PathBuf> {
        if !fs::symlink_metadata(path)?.is_dir() {
            return Err(io::Error::other("it is not a folder"));
        }
        // A relative path would name another folder once the process changes its own.
        std::path::absolute(path)
    }

    pub(super) fn open(folder: &PathBuf, name: &OsStr) -> io::Result<File> {
        let path = folder.join(name);
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        File::open(path)
    }

    pub(super) fn expect_trusted(_data: &Metadata) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn create(folder: &PathBuf, name: &OsStr) -> io::Result<File> {
        File::options().write(true).create_new(true).open(folder.join(name))
    }

    pub(super) fn rename(folder: &PathBuf, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(folder.join(from), folder.join(to))
    }

    pub(super) fn remove(folder: &PathBuf, name: &OsStr) -> io::Result<()> {
        fs::remove_file(folder.join(name))
    }

    pub(super) fn names(folder: &PathBuf) -> io::Result<Vec<OsString>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }
}
