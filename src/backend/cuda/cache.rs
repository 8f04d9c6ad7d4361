//! The on-disk cache of compiled kernels, so that only the first process on a machine compiles them.
//!
//! The folder is `bitlane` in the user's cache directory. `BITLANE_CACHE` names another folder, or disables the cache
//! if it is `off`. The folder may be read-only and filled in advance. Failures here are not errors for the caller: a
//! kernel that cannot be read is compiled, and one that cannot be written is compiled again next time. Both are traced.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use std::{env, io};

use etcetera::BaseStrategy;
use tempfile::NamedTempFile;

use super::nvrtc::Target;
use super::trace::{trace_debug, trace_warning};

/// The environment variable that names the folder or disables the cache.
const VARIABLE: &str = "BITLANE_CACHE";

/// The limit on the total size of the files, in bytes; the oldest files are removed first. All kernels for one
/// architecture take a fifth of this.
const LIMIT: u64 = 256 << 20;

/// The length of the checksum that precedes the code in a file.
const CHECKSUM: usize = blake3::OUT_LEN;

/// The prefix of the names of files that are still being written.
const UNFINISHED: &str = ".bitlane-unfinished-";

/// A folder of compiled kernels.
pub(super) struct Cache {
    folder: PathBuf,
    limit: u64,
    /// Bytes stored since the folder was last scanned. It starts at `limit`, so that the first store scans the folder.
    unseen: AtomicU64,
}

/// Returns the file name of a compiled module: a hash of everything that the module depends on.
pub(super) fn key(source: &str, options: &[String], target: Target, version: (i32, i32)) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        // The length prefix keeps adjacent parts distinct.
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(env!("CARGO_PKG_VERSION").as_bytes());
    part(source.as_bytes());
    part(format!("{target} {version:?}").as_bytes());
    for option in options {
        part(option.as_bytes());
    }
    format!("{}.bin", hasher.finalize().to_hex())
}

/// Returns the cache of this process, or `None` if it is disabled or cannot be opened.
pub(super) fn cache() -> Option<&'static Cache> {
    static CACHE: OnceLock<Option<Cache>> = OnceLock::new();
    CACHE.get_or_init(|| Cache::from_setting(env::var_os(VARIABLE).as_deref())).as_ref()
}

/// Returns the folder of this process's cache, or `None` if there is no cache.
pub(crate) fn folder() -> Option<&'static Path> {
    cache().map(|cache| &*cache.folder)
}

/// Stores PTX that was compiled elsewhere under the key that the first call will look up.
pub(crate) fn keep(
    source: &str,
    options: &[String],
    architecture: u32,
    version: (i32, i32),
    ptx: &str,
) -> io::Result<()> {
    let cache = cache().ok_or_else(|| io::Error::other("there is no cache folder"))?;
    cache.store(&key(source, options, Target::Ptx(architecture), version), ptx.as_bytes())
}

impl Cache {
    fn from_setting(setting: Option<&OsStr>) -> Option<Cache> {
        let folder = match setting {
            Some(off) if off == "off" => return None,
            Some(folder) if !folder.is_empty() => PathBuf::from(folder),
            _ => etcetera::choose_base_strategy().ok()?.cache_dir().join("bitlane"),
        };
        Cache::open(folder, LIMIT)
            .inspect_err(|error| {
                trace_warning!(%error, "no kernel cache");
                let _ = error;
            })
            .ok()
    }

    fn open(folder: PathBuf, limit: u64) -> io::Result<Cache> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        // Whoever can write to the folder can make this process run their code on the device. Root could anyway.
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let data = fs::metadata(&folder)?;
            let trusted = data.uid() == user() || data.uid() == 0;
            if !trusted || data.mode() & 0o022 != 0 {
                let reason = "others than its user may write to it";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
            }
        }
        Ok(Cache { folder, limit, unseen: AtomicU64::new(limit) })
    }

    /// Returns the code stored under a key, or `None` if it is missing or damaged.
    pub(super) fn load(&self, key: &str) -> Option<Vec<u8>> {
        let path = self.folder.join(key);
        let (mut file, len) = open_file(&path)
            .inspect_err(|error| {
                if error.kind() != io::ErrorKind::NotFound {
                    trace_warning!(key, %error, "a kernel in the cache cannot be read");
                }
            })
            .ok()?;
        if len > self.limit {
            trace_debug!(key, "a file in the cache is too large for a kernel");
            return None;
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).ok()?;
        let (checksum, code) = content.split_at_checked(CHECKSUM)?;
        if code.is_empty() || checksum_of(key, code).as_bytes() != checksum {
            trace_debug!(key, "a damaged kernel in the cache is compiled again");
            let _ = fs::remove_file(path);
            return None;
        }
        // Marks the file as recently used, because `trim` removes the oldest files first.
        let _ = file.set_modified(SystemTime::now());
        content.drain(..CHECKSUM);
        Some(content)
    }

    /// Stores code under a key, atomically.
    pub(super) fn store(&self, key: &str, code: &[u8]) -> io::Result<()> {
        let mut file = temporary(&self.folder)?;
        file.write_all(checksum_of(key, code).as_bytes())?;
        file.write_all(code)?;
        file.persist(self.folder.join(key))?;
        // Scanning the folder takes longer than writing one file, so it is done only once in a while.
        let written = code.len() as u64;
        if self.unseen.fetch_add(written, Ordering::Relaxed) + written <= self.limit / 16 {
            return Ok(());
        }
        self.unseen.store(0, Ordering::Relaxed);
        self.trim()
    }

    /// If the files exceed the limit, removes the oldest until at most three quarters of it are in use.
    fn trim(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let data = entry.metadata()?;
            if data.is_file() && is_ours(&entry.file_name()) {
                files.push((data.modified()?, data.len(), entry.path()));
            }
        }
        let mut total: u64 = files.iter().map(|(_, len, _)| len).sum();
        if total <= self.limit {
            return Ok(());
        }
        files.sort();
        for (_, len, path) in files {
            if total <= self.limit / 4 * 3 {
                break;
            }
            remove_if_there(&path)?;
            total -= len;
        }
        Ok(())
    }
}

/// Returns the effective user ID of this process.
#[cfg(unix)]
fn user() -> u32 {
    unsafe extern "C" {
        safe fn geteuid() -> u32;
    }
    geteuid()
}

/// Opens a regular file for reading and returns its length. Opening a FIFO would block until its other end is opened,
/// so anything but a regular file is refused first. Only the user or root can replace the file between check and open.
fn open_file(path: &Path) -> io::Result<(File, u64)> {
    let data = fs::metadata(path)?;
    if !data.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    Ok((File::open(path)?, data.len()))
}

/// Creates a temporary file that is deleted on drop.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)
}

/// Whether a file belongs to the cache. Other files in the folder are left alone.
fn is_ours(name: &OsStr) -> bool {
    let is_hex =
        |name: &str| name.len() == 2 * CHECKSUM && name.bytes().all(|b| b.is_ascii_hexdigit());
    let name = name.to_str().unwrap_or("");
    name.starts_with(UNFINISHED) || name.strip_suffix(".bin").is_some_and(is_hex)
}

/// Hashes the code together with its key, so that a file renamed to another key is rejected.
fn checksum_of(key: &str, code: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.as_bytes()).update(code);
    hasher.finalize()
}

/// Removes a file, which another process may have removed already.
fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(limit: u64) -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().join("kernels"), limit).unwrap();
        (folder, cache)
    }

    #[test]
    fn what_was_stored_is_loaded() {
        let (_folder, cache) = cache(LIMIT);
        assert_eq!(cache.load("a.bin"), None);
        cache.store("a.bin", b"code").unwrap();
        cache.store("a.bin", b"other code").unwrap();
        assert_eq!(cache.load("a.bin").as_deref(), Some(&b"other code"[..]));
        fs::copy(cache.folder.join("a.bin"), cache.folder.join("b.bin")).unwrap();
        assert_eq!(cache.load("b.bin"), None, "a file under another's name");
    }

    #[test]
    fn damaged_files_are_as_good_as_none() {
        let (_folder, cache) = cache(LIMIT);
        for damage in [&b""[..], b"short", &[7; 100]] {
            fs::write(cache.folder.join("a.bin"), damage).unwrap();
            assert_eq!(cache.load("a.bin"), None);
            assert!(!cache.folder.join("a.bin").exists() || damage.len() < CHECKSUM);
        }
        cache.store("a.bin", b"code").unwrap();
        let mut content = fs::read(cache.folder.join("a.bin")).unwrap();
        *content.last_mut().unwrap() ^= 1;
        fs::write(cache.folder.join("a.bin"), content).unwrap();
        assert_eq!(cache.load("a.bin"), None);
    }

    #[test]
    fn the_oldest_make_room() {
        let (_folder, cache) = cache(1000);
        let names = ["a", "b", "c", "d"].map(|digit| format!("{}.bin", digit.repeat(64)));
        // Files that the cache did not create are neither counted nor removed.
        let theirs = ["thesis.dat", "a.bin", ".tmp123"].map(|name| cache.folder.join(name));
        for path in &theirs {
            fs::write(path, [7; 5000]).unwrap();
        }
        for (number, name) in names.iter().enumerate() {
            cache.store(name, &[0; 300 - CHECKSUM]).unwrap();
            let file = File::options().write(true).open(cache.folder.join(name)).unwrap();
            let seconds = 1_000_000 + number as u64;
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
                .unwrap();
        }
        let left = names.each_ref().map(|name| cache.load(name).is_some());
        assert_eq!(left, [false, false, true, true]);
        assert!(theirs.iter().all(|path| path.exists()));
        // Unfinished files are removed like any others.
        fs::write(cache.folder.join(format!("{UNFINISHED}x")), [7; 5000]).unwrap();
        cache.trim().unwrap();
        assert!(!cache.folder.join(format!("{UNFINISHED}x")).exists());
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_the_users_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, cache) = cache(LIMIT);
        let mode = fs::metadata(&cache.folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        for open in [0o777, 0o702, 0o720] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(open)).unwrap();
            assert!(Cache::open(folder.path().into(), LIMIT).is_err());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_folder_is_not_waited_for() {
        let (_folder, cache) = cache(LIMIT);
        let path = cache.folder.join("a.bin");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| sender.send(cache.load("a.bin")).unwrap());
            let answer = receiver.recv_timeout(std::time::Duration::from_secs(20));
            // Unblocks the other thread if it is waiting for a writer.
            let _ = File::options().read(true).write(true).open(&path);
            assert_eq!(answer, Ok(None));
        });
        cache.store("a.bin", b"code").unwrap();
        assert_eq!(cache.load("a.bin").as_deref(), Some(&b"code"[..]));
    }

    /// Root can write everywhere, so if the test runs as root, its body runs as the user nobody.
    #[cfg(unix)]
    #[test]
    fn a_folder_that_can_only_be_read_is_read() {
        use std::os::unix::fs::{PermissionsExt, chown};
        use std::os::unix::process::CommandExt;
        const MARK: &str = "BITLANE_TEST_READ_ONLY_CACHE";
        const NOBODY: u32 = 65534;
        if let Some(folder) = env::var_os(MARK) {
            let cache = Cache::from_setting(Some(&folder)).unwrap();
            assert_eq!(cache.load("a.bin").as_deref(), Some(&b"code"[..]));
            assert!(cache.store("b.bin", b"code").is_err());
            return;
        }
        let (folder, cache) = cache(LIMIT);
        cache.store("a.bin", b"code").unwrap();
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(folder.path(), 0o755);
        set_mode(&cache.folder.join("a.bin"), 0o444);
        set_mode(&cache.folder, 0o555);
        // A folder of the user's own, and one that root has filled for all users.
        let owners: &[u32] = if user() == 0 { &[NOBODY, 0] } else { &[user()] };
        for &owner in owners {
            let name = "backend::cuda::cache::tests::a_folder_that_can_only_be_read_is_read";
            let mut test = std::process::Command::new(env::current_exe().unwrap());
            test.args([name, "--exact"]).env(MARK, &cache.folder);
            if user() == 0 {
                chown(&cache.folder, Some(owner), None).unwrap();
                test.uid(NOBODY);
            }
            let output = test.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        set_mode(&cache.folder, 0o755);
    }

    #[test]
    fn a_file_beyond_the_limit_is_not_read() {
        let (_folder, cache) = cache(1000);
        let code = [7; 2000];
        let content = [checksum_of("a.bin", &code).as_bytes(), &code[..]].concat();
        fs::write(cache.folder.join("a.bin"), content).unwrap();
        assert_eq!(cache.load("a.bin"), None);
    }

    #[test]
    fn it_can_be_moved_and_switched_off() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Cache::from_setting(Some(OsStr::new("off"))).is_none());
        let moved = Cache::from_setting(Some(folder.path().as_os_str())).unwrap();
        assert_eq!(moved.folder, folder.path());
        // A file where the folder should be means no cache, but no error either.
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Cache::from_setting(Some(file.as_os_str())).is_none());
    }

    #[test]
    fn every_input_changes_the_key() {
        let key_of = |source, define: &str, target, version| {
            // The options are always those of one target, so that the key itself must distinguish targets.
            let options = super::super::nvrtc::options(Target::Ptx(80), (12, 9), &[define.into()]);
            key(source, &options, target, version)
        };
        let keys = [
            key_of("source", "-DBL_OP=add", Target::Ptx(80), (12, 9)),
            key_of("another", "-DBL_OP=add", Target::Ptx(80), (12, 9)),
            key_of("source", "-DBL_OP=pow", Target::Ptx(80), (12, 9)),
            key_of("source", "-DBL_OP=add", Target::Ptx(90), (12, 9)),
            key_of("source", "-DBL_OP=add", Target::Cubin(80), (12, 9)),
            key_of("source", "-DBL_OP=add", Target::Ptx(80), (13, 0)),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key));
        }
    }
}
