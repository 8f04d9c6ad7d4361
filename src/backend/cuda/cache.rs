//! The on-disk cache of compiled kernels, so that only the first process on a machine compiles them.
//!
//! The folder is `bitlane` in the user's cache directory. `BITLANE_CACHE` names another folder, or disables the cache
//! if it is `off`. The folder may be read-only and filled in advance. Failures here are not errors for the caller: a
//! kernel that cannot be read is compiled, and one that cannot be written is compiled again next time. Both are traced.

mod folder;
#[cfg(unix)]
mod unix;

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use std::{env, io};

use etcetera::BaseStrategy;

use self::folder::{Folder, UNFINISHED};
use super::nvrtc::{Build, Target};
use super::trace::{trace_debug, trace_warning};

/// The environment variable that names the folder or disables the cache.
const VARIABLE: &str = "BITLANE_CACHE";

/// The limit on the total size of the files, in bytes; the oldest files are removed first. All kernels for one
/// architecture take a fifth of this.
const LIMIT: u64 = 256 << 20;

/// The length of the checksum that precedes the code in a file.
const CHECKSUM: usize = blake3::OUT_LEN;

/// A folder of compiled kernels.
pub(super) struct Cache {
    folder: Folder,
    limit: u64,
    /// Bytes stored since the folder was last scanned. It starts at `limit`, so that the first store scans the folder.
    unseen: AtomicU64,
}

/// Returns the file name of a compiled module: a hash of everything that the module depends on, including, for machine
/// code, the driver's major version.
pub(super) fn key(
    source: &str,
    options: &[String],
    target: Target,
    build: &Build,
    driver: Option<u32>,
) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        // The length prefix keeps adjacent parts distinct.
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(env!("CARGO_PKG_VERSION").as_bytes());
    part(source.as_bytes());
    part(format!("{target} {build:?}").as_bytes());
    if let Some(driver) = driver {
        part(&driver.to_le_bytes());
    }
    for option in options {
        part(option.as_bytes());
    }
    format!("{}.bin", hasher.finalize().to_hex())
}

/// Returns the cache of this process, or the reason why there is none.
fn opened() -> Result<&'static Cache, &'static str> {
    static CACHE: OnceLock<Result<Cache, String>> = OnceLock::new();
    let cache = CACHE.get_or_init(|| Cache::from_setting(env::var_os(VARIABLE).as_deref()));
    cache.as_ref().map_err(String::as_str)
}

/// Returns the cache of this process, or `None` if it is disabled or cannot be opened.
pub(super) fn cache() -> Option<&'static Cache> {
    opened().ok()
}

/// Returns the folder of this process's cache, or the reason why there is no cache.
pub(crate) fn folder() -> Result<&'static Path, &'static str> {
    opened().map(|cache| cache.folder.path())
}

/// Returns the contents of the file that holds this code under this key.
pub(crate) fn contents(key: &str, code: &[u8]) -> Vec<u8> {
    [checksum_of(key, code).as_bytes(), code].concat()
}

impl Cache {
    fn from_setting(setting: Option<&OsStr>) -> Result<Cache, String> {
        let folder = match setting {
            Some(off) if off == "off" => return Err("off".into()),
            Some(folder) if !folder.is_empty() => PathBuf::from(folder),
            _ => {
                let folders =
                    etcetera::choose_base_strategy().map_err(|error| error.to_string())?;
                folders.cache_dir().join("bitlane")
            }
        };
        let reason = |error| format!("{} is not used: {error}", folder.display());
        Cache::open(folder.clone(), LIMIT).map_err(reason).inspect_err(|reason| {
            trace_warning!(reason, "no kernel cache");
            let _ = reason;
        })
    }

    fn open(folder: PathBuf, limit: u64) -> io::Result<Cache> {
        Ok(Cache { folder: Folder::open(folder)?, limit, unseen: AtomicU64::new(limit) })
    }

    /// Returns the code stored under a key, or `None` if it is missing or damaged.
    pub(super) fn load(&self, key: &str) -> Option<Vec<u8>> {
        let (mut file, data) = self
            .folder
            .read(key)
            .inspect_err(|error| {
                if error.kind() != io::ErrorKind::NotFound {
                    trace_warning!(key, %error, "a kernel in the cache cannot be read");
                }
            })
            .ok()?;
        if data.len() > self.limit {
            trace_debug!(key, "a file in the cache is too large for a kernel");
            return None;
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).ok()?;
        let (checksum, code) = content.split_at_checked(CHECKSUM)?;
        if code.is_empty() || checksum_of(key, code).as_bytes() != checksum {
            trace_debug!(key, "a damaged kernel in the cache is compiled again");
            let _ = self.folder.remove(key);
            return None;
        }
        // Marks the file as recently used, because `trim` removes the oldest files first.
        let _ = file.set_modified(SystemTime::now());
        content.drain(..CHECKSUM);
        Some(content)
    }

    /// Stores code under a key, atomically.
    pub(super) fn store(&self, key: &str, code: &[u8]) -> io::Result<()> {
        self.folder.write(key, &[checksum_of(key, code).as_bytes(), code])?;
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
        for name in self.folder.names()?.into_iter().filter(|name| is_ours(name)) {
            // Another process may have removed it, and what cannot be read is not a kernel.
            if let Ok((_, data)) = self.folder.read(&name) {
                files.push((data.modified()?, data.len(), name));
            }
        }
        let mut total: u64 = files.iter().map(|(_, len, _)| len).sum();
        if total <= self.limit {
            return Ok(());
        }
        files.sort();
        for (_, len, name) in files {
            if total <= self.limit / 4 * 3 {
                break;
            }
            self.folder.remove(name)?;
            total -= len;
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    impl Cache {
        fn file(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }
    }

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
        fs::copy(cache.file("a.bin"), cache.file("b.bin")).unwrap();
        assert_eq!(cache.load("b.bin"), None, "a file under another's name");
    }

    #[test]
    fn damaged_files_are_as_good_as_none() {
        let (_folder, cache) = cache(LIMIT);
        for damage in [&b""[..], b"short", &[7; 100]] {
            fs::write(cache.file("a.bin"), damage).unwrap();
            assert_eq!(cache.load("a.bin"), None);
            assert!(!cache.file("a.bin").exists() || damage.len() < CHECKSUM);
        }
        cache.store("a.bin", b"code").unwrap();
        let mut content = fs::read(cache.file("a.bin")).unwrap();
        *content.last_mut().unwrap() ^= 1;
        fs::write(cache.file("a.bin"), content).unwrap();
        assert_eq!(cache.load("a.bin"), None);
    }

    #[test]
    fn the_oldest_make_room() {
        let (_folder, cache) = cache(1000);
        let names = ["a", "b", "c", "d"].map(|digit| format!("{}.bin", digit.repeat(64)));
        // Files that the cache did not create are neither counted nor removed.
        let theirs = ["thesis.dat", "a.bin", ".tmp123"].map(|name| cache.file(name));
        for path in &theirs {
            fs::write(path, [7; 5000]).unwrap();
        }
        for (number, name) in names.iter().enumerate() {
            cache.store(name, &[0; 300 - CHECKSUM]).unwrap();
            let file = File::options().write(true).open(cache.file(name)).unwrap();
            let seconds = 1_000_000 + number as u64;
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
                .unwrap();
        }
        let left = names.each_ref().map(|name| cache.load(name).is_some());
        assert_eq!(left, [false, false, true, true]);
        assert!(theirs.iter().all(|path| path.exists()));
        // Unfinished files are removed like any others.
        fs::write(cache.file(&format!("{UNFINISHED}x")), [7; 5000]).unwrap();
        cache.trim().unwrap();
        assert!(!cache.file(&format!("{UNFINISHED}x")).exists());
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_the_users_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, cache) = cache(LIMIT);
        let mode = fs::metadata(cache.folder.path()).unwrap().permissions().mode();
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
        let path = cache.file("a.bin");
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
        set_mode(&cache.file("a.bin"), 0o444);
        set_mode(cache.folder.path(), 0o555);
        // A folder of the user's own, and one that root has filled for all users.
        let owners: &[u32] = if unix::user() == 0 { &[NOBODY, 0] } else { &[unix::user()] };
        for &owner in owners {
            let name = "backend::cuda::cache::tests::a_folder_that_can_only_be_read_is_read";
            let mut test = std::process::Command::new(env::current_exe().unwrap());
            test.args([name, "--exact"]).env(MARK, cache.folder.path());
            if unix::user() == 0 {
                chown(cache.folder.path(), Some(owner), None).unwrap();
                test.uid(NOBODY);
            }
            let output = test.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        set_mode(cache.folder.path(), 0o755);
    }

    #[test]
    fn a_file_beyond_the_limit_is_not_read() {
        let (_folder, cache) = cache(1000);
        let code = [7; 2000];
        fs::write(cache.file("a.bin"), contents("a.bin", &code)).unwrap();
        assert_eq!(cache.load("a.bin"), None);
    }

    #[test]
    fn it_can_be_moved_and_switched_off() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Cache::from_setting(Some(OsStr::new("off"))).is_err());
        let moved = Cache::from_setting(Some(folder.path().as_os_str())).unwrap();
        assert_eq!(moved.folder.path(), folder.path());
        // A file where the folder should be means no cache, but no error either.
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Cache::from_setting(Some(file.as_os_str())).is_err());
    }

    #[test]
    fn every_input_changes_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libnvrtc.so");
        let build_of = |version, content: &str| {
            fs::write(&library, content).unwrap();
            Build::of_file(version, &library).unwrap()
        };
        let (first, minor, patch) =
            (build_of((12, 9), "1"), build_of((12, 8), "1"), build_of((12, 9), "patched"));
        let key_of = |source, define: &str, target, build| {
            // The options are always those of one target, so that the key itself must distinguish targets.
            let options = super::super::nvrtc::options(Target::Ptx(80), (12, 9), &[define.into()]);
            key(source, &options, target, build, None)
        };
        let options = super::super::nvrtc::options(Target::Cubin(80), (12, 9), &[]);
        let key_for = |driver| key("source", &options, Target::Cubin(80), &first, driver);
        let keys = [
            key_of("source", "-DBL_OP=add", Target::Ptx(80), &first),
            key_of("another", "-DBL_OP=add", Target::Ptx(80), &first),
            key_of("source", "-DBL_OP=pow", Target::Ptx(80), &first),
            key_of("source", "-DBL_OP=add", Target::Ptx(90), &first),
            key_of("source", "-DBL_OP=add", Target::Cubin(80), &first),
            key_of("source", "-DBL_OP=add", Target::Ptx(80), &minor),
            key_of("source", "-DBL_OP=add", Target::Ptx(80), &patch),
            key_for(None),
            key_for(Some(12)),
            key_for(Some(13)),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key));
        }
    }

    /// A file in the folder that is not the user's, or that others can write to, may hold anybody's code.
    #[cfg(unix)]
    #[test]
    fn files_of_others_are_not_read() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let (folder, cache) = cache(LIMIT);
        cache.store("a.bin", b"code").unwrap();
        let path = cache.file("a.bin");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for (mode, is_read) in [(0o644, true), (0o444, true), (0o664, false), (0o602, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(cache.load("a.bin").is_some(), is_read, "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if unix::user() == 0 {
            chown(&path, Some(65534), None).unwrap();
            assert_eq!(cache.load("a.bin"), None);
            chown(&path, Some(0), None).unwrap();
        }
        // A link is not followed, even to a file that would be read under its own name.
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert_eq!(cache.load("a.bin"), None);
        cache.store("a.bin", b"other code").unwrap();
        assert_eq!(cache.load("a.bin").as_deref(), Some(&b"other code"[..]));
        assert_eq!(fs::read(&elsewhere).unwrap(), contents("a.bin", b"code"));
    }

    /// The folder that was checked is the one that is used, whatever its path names by then.
    #[cfg(unix)]
    #[test]
    fn another_folder_in_its_place_is_not_used() {
        let (root, cache) = cache(LIMIT);
        cache.store("a.bin", b"code").unwrap();
        let moved = root.path().join("moved");
        fs::rename(cache.folder.path(), &moved).unwrap();
        fs::create_dir(cache.folder.path()).unwrap();
        fs::write(cache.file("a.bin"), contents("a.bin", b"exchanged")).unwrap();
        assert_eq!(cache.load("a.bin").as_deref(), Some(&b"code"[..]));
        cache.store("b.bin", b"code").unwrap();
        assert!(moved.join("b.bin").exists() && !cache.file("b.bin").exists());
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 2, "nothing unfinished is left");
    }
}
