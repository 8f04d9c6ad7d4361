//! Which build of NVRTC compiles.

use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fs, io};

/// A build of NVRTC, as part of the key of what it compiles.
///
/// The library returns its major and minor version only. Patch releases, which may compile the same source to other
/// code, are told apart by the library's file or, where that is unknown, by what the compiler writes about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Build {
    version: (c_int, c_int),
    patch: String,
}

impl Build {
    /// Returns the build in a file. Compiling something to learn the patch version would take longer than loading a
    /// kernel from the disk, so the file's size and time stand for it.
    pub(crate) fn of_file(version: (c_int, c_int), path: &Path) -> io::Result<Build> {
        let data = fs::metadata(path)?;
        let changed = data.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Build { version, patch: format!("{} {}", data.len(), changed.as_nanos()) })
    }

    /// Returns the build that has written some PTX. It begins with comments that name the compiler.
    pub(super) fn of_ptx(version: (c_int, c_int), ptx: &[u8]) -> Build {
        let ptx = String::from_utf8_lossy(ptx);
        let comments = ptx.lines().take_while(|line| line.starts_with("//"));
        Build { version, patch: comments.collect() }
    }
}

/// Returns the file that a function was loaded from, if the system knows.
#[cfg(unix)]
pub(crate) fn file_of(function: *const ()) -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: the structure consists of pointers, for which zeros are valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the function accepts any address, and writes to the structure.
    let found = unsafe { libc::dladdr(function.cast(), &mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: if the address was found, the name is a NUL-terminated string that lives as long as the library is loaded,
    // and it is copied here, while the caller's function is.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

#[cfg(not(unix))]
pub(crate) fn file_of(_function: *const ()) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_release_is_another_build() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libnvrtc.so");
        let build = || Build::of_file((12, 9), &path).unwrap();
        fs::write(&path, "one").unwrap();
        let first = build();
        assert_eq!(build(), first);
        assert_ne!(Build::of_file((12, 8), &path).unwrap(), first);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        let second = build();
        assert_ne!(second, first);
        fs::write(&path, "longer").unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        assert_ne!(build(), second);
        assert!(Build::of_file((12, 9), folder.path().join("none").as_path()).is_err());
    }

    #[test]
    fn the_compiler_names_itself_in_its_ptx() {
        let ptx =
            |patch| format!("//\n// Cuda compilation tools, V12.9.{patch}\n//\n\n.version 8.8\n");
        let build = |text: String| Build::of_ptx((12, 9), text.as_bytes());
        assert_ne!(build(ptx(41)), build(ptx(86)));
        assert_eq!(build(ptx(86)), build(ptx(86) + "// a kernel\n"));
    }

    #[cfg(unix)]
    #[test]
    fn a_function_has_a_file() {
        let own = file_of(the_compiler_names_itself_in_its_ptx as *const ()).unwrap();
        assert_eq!(
            fs::canonicalize(own).unwrap(),
            fs::canonicalize(std::env::current_exe().unwrap()).unwrap()
        );
        assert_eq!(file_of(std::ptr::null()), None);
    }
}
