//! Files relative to an open folder, and the question whom a folder or a file can be written by.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, unlinkat};

pub(super) type Handle = OwnedFd;

/// The mode bits that let the group and others write.
const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;

/// The mode bit that, in a folder, lets nobody rename or remove what belongs to somebody else.
const STICKY: u32 = 0o1000;

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// Returns the effective user ID of this process.
pub(super) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn refused(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason.into())
}

/// Whether an owner can do no harm: this user, or root, who can do everything anyway.
fn is_trusted(owner: u32) -> bool {
    owner == user() || owner == 0
}

/// Checks that only the user and root can write to a file or folder.
pub(super) fn expect_trusted(data: &Metadata) -> io::Result<()> {
    if is_trusted(data.uid()) && data.mode() & (GROUP | OTHERS) == 0 {
        return Ok(());
    }
    Err(refused("others than its user may write to it"))
}

/// Checks that nobody but the user and root can change what a name in a folder stands for, if what has the name belongs
/// to one of them.
fn expect_trusted_names(folder: &Path) -> io::Result<()> {
    let data = fs::metadata(folder)?;
    // Where every user has a group of the same number, what the user creates is often writable by that group.
    let by_group = data.mode() & GROUP != 0 && data.gid() != user();
    let is_shared = (by_group || data.mode() & OTHERS != 0) && data.mode() & STICKY == 0;
    if is_trusted(data.uid()) && !is_shared {
        return Ok(());
    }
    Err(refused(format!("others than its user may write to {}", folder.display())))
}

/// Returns a path without links that leads to the same place, after checking that nobody but the user and root can make
/// it lead elsewhere.
///
/// Every folder in which a name is looked up is checked, from the root or from the user's home on: whoever can exchange
/// the home can do as they please. What has the name is checked when something is looked up in it, or by the caller; the
/// owner of a link is checked here.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let path = path::absolute(path)?;
    let home = etcetera::home_dir().ok();
    let inside = home.as_ref().and_then(|home| Some((home, path.strip_prefix(home).ok()?)));
    let (mut place, rest) = match inside {
        Some((home, rest)) => (fs::canonicalize(home)?, rest),
        None => (PathBuf::from("/"), path.as_path()),
    };
    let mut names = Vec::new();
    push(&mut names, rest);
    let mut links = 0;
    while let Some(name) = names.pop() {
        if name == ".." {
            place.pop();
            continue;
        }
        expect_trusted_names(&place)?;
        let next = place.join(name);
        let data = fs::symlink_metadata(&next)?;
        if !data.is_symlink() {
            place = next;
            continue;
        }
        links += 1;
        if !is_trusted(data.uid()) || links > MAX_LINKS {
            return Err(refused(format!("{} is a link that is not followed", next.display())));
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            place = PathBuf::from("/");
        }
        push(&mut names, &target);
    }
    Ok(place)
}

/// Adds the names in a path to those that are still to be looked up, of which the last is the next.
fn push(names: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().rev();
    let parts = parts.filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.extend(parts.map(|part| part.as_os_str().to_owned()));
}

pub(super) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let path = resolve(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    expect_trusted(&folder.metadata()?)?;
    Ok(folder.into())
}

/// Opens a file for reading, but no link. Opening a pipe does not wait for its other end.
pub(super) fn open(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?.into())
}

/// Creates a file that only the user can read, unless the name is taken.
pub(super) fn create(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

pub(super) fn rename(folder: &OwnedFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    Ok(renameat(folder, from, folder, to)?)
}

pub(super) fn remove(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(folder, name, AtFlags::empty())?)
}

/// Returns the names of everything in the folder, which includes `.` and `..`.
pub(super) fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let name = |entry: rustix::fs::DirEntry| OsStr::from_bytes(entry.file_name().to_bytes()).into();
    Dir::read_from(folder)?.map(|entry| Ok(name(entry?))).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Creates the folders `parent/folder` in a new one, which is returned in its resolved form.
    fn folders() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(root.path()).unwrap();
        fs::create_dir_all(path.join("parent/folder")).unwrap();
        set_mode(&path.join("parent"), 0o755);
        set_mode(&path.join("parent/folder"), 0o700);
        (root, path)
    }

    #[test]
    fn the_parents_of_the_folder_are_the_users_too() {
        let (_root, root) = folders();
        let (parent, folder) = (root.join("parent"), root.join("parent/folder"));
        assert_eq!(resolve(&folder).unwrap(), folder);
        assert!(open_folder(&folder).is_ok());
        // With the sticky bit others may add names, but not exchange this one.
        for (mode, is_fine) in [(0o777, false), (0o757, false), (0o1777, true), (0o711, true)] {
            set_mode(&parent, mode);
            assert_eq!(open_folder(&folder).is_ok(), is_fine, "{mode:o}");
        }
        // Of the group's members, only those of the user's own are trusted.
        set_mode(&parent, 0o775);
        let is_own = fs::metadata(&parent).unwrap().gid() == user();
        assert_eq!(open_folder(&folder).is_ok(), is_own);
        if user() == 0 {
            chown(&parent, None, Some(7)).unwrap();
            assert!(open_folder(&folder).is_err(), "a group of others");
            set_mode(&parent, 0o755);
            assert!(open_folder(&folder).is_ok());
            chown(&parent, Some(65534), None).unwrap();
            assert!(open_folder(&folder).is_err(), "a folder of somebody else's");
        }
    }

    #[test]
    fn links_are_followed_where_only_the_user_makes_them() {
        let (_root, root) = folders();
        fs::create_dir(root.join("shared")).unwrap();
        symlink("../parent", root.join("shared/link")).unwrap();
        symlink(root.join("shared/link/folder"), root.join("far")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let folder = root.join("parent/folder");
        assert_eq!(resolve(&root.join("far")).unwrap(), folder);
        assert_eq!(resolve(&root.join("shared/../far/../folder")).unwrap(), folder);
        assert!(resolve(&root.join("loop")).is_err());
        // A folder that is only on the way of a link can be exchanged as well as any other.
        set_mode(&root.join("shared"), 0o777);
        assert!(resolve(&root.join("far")).is_err());
        set_mode(&root.join("shared"), 0o1777);
        assert!(resolve(&root.join("far")).is_ok());
        if user() == 0 {
            std::os::unix::fs::lchown(root.join("shared/link"), Some(65534), None).unwrap();
            assert!(resolve(&root.join("far")).is_err(), "a link of somebody else's");
        }
    }
}
