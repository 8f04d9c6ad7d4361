//! Where NVRTC is looked for, and in which order.
//!
//! The major version comes first: NVRTC of the driver's own major version writes PTX and machine code that the driver
//! takes, an older one does too, and a newer one may not. Within a version the loader comes first, because whoever
//! starts a program can direct it; then come the folders of the toolkit and of the Python environment.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A library that may be NVRTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The name for the loader, or the path of a file that exists.
    pub(super) name: PathBuf,
    /// Why it is tried, for people.
    pub(super) origin: String,
}

/// The major versions that are known, with the name of the library's file.
const VERSIONS: [(u32, &str); 2] = if cfg!(windows) {
    [(13, "nvrtc64_130_0.dll"), (12, "nvrtc64_120_0.dll")]
} else {
    [(13, "libnvrtc.so.13"), (12, "libnvrtc.so.12")]
};

/// The name that a toolkit gives its own version, whichever that is. Windows has none.
const UNVERSIONED: Option<&str> = if cfg!(windows) { None } else { Some("libnvrtc.so") };

/// Returns what to try, best first, for a driver of this major version; without a driver, the newest comes first.
pub(super) fn candidates(driver: Option<u32>) -> impl Iterator<Item = Candidate> {
    candidates_of(driver, |name| env::var_os(name))
}

fn candidates_of(
    driver: Option<u32>,
    variable: impl Fn(&str) -> Option<OsString> + Copy,
) -> impl Iterator<Item = Candidate> {
    let mut versions = VERSIONS;
    versions.sort_by_key(|&(major, _)| match driver {
        // The driver's own and older ones, the newest of them first; then the others, the oldest of them first.
        Some(driver) if major > driver => (1, major),
        _ => (0, u32::MAX - major),
    });
    let versioned = versions.into_iter().flat_map(move |(major, name)| {
        let why = match driver {
            Some(driver) if driver == major => "of the driver's major version".to_owned(),
            Some(driver) => format!("for want of NVRTC {driver}, the driver's major version"),
            None => "the newest found".to_owned(),
        };
        let by_name = loader(name, &why);
        // Folders are listed only if the loader's own did not do.
        let folders = std::iter::once_with(move || folders(variable));
        std::iter::once(by_name).chain(folders.flatten().filter_map(move |(folder, place)| {
            let file = folder.join(name);
            file.is_file().then(|| Candidate { name: file, origin: format!("from {place}, {why}") })
        }))
    });
    versioned
        .chain(UNVERSIONED.map(|name| loader(name, "of a version that its name does not tell")))
}

fn loader(name: &str, why: &str) -> Candidate {
    Candidate { name: name.into(), origin: format!("found by the loader, {why}") }
}

/// Returns the folders to look in, with the words for where they come from.
fn folders(variable: impl Fn(&str) -> Option<OsString>) -> Vec<(PathBuf, String)> {
    // A relative path would depend on where the program is started.
    let path = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let mut found = Vec::new();
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        let toolkit = path(name).into_iter().flat_map(|root| of_toolkit(&root));
        found.extend(toolkit.map(|folder| (folder, name.to_owned())));
    }
    if let Some(prefix) = path("CONDA_PREFIX") {
        let folder = prefix.join(if cfg!(windows) { "Library/bin" } else { "lib" });
        found.push((folder, "CONDA_PREFIX".into()));
    }
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        let packages = path(name).into_iter().flat_map(|prefix| site_packages(&prefix));
        let folders = packages.flat_map(|packages| of_packages(&packages));
        found.extend(folders.map(|folder| (folder, format!("the Python packages of {name}"))));
    }
    let given = variable("PYTHONPATH").unwrap_or_default();
    for packages in env::split_paths(&given).filter(|path| path.is_absolute()) {
        found
            .extend(of_packages(&packages).into_iter().map(|folder| (folder, "PYTHONPATH".into())));
    }
    if cfg!(unix) {
        let local = Path::new("/usr/local");
        let mut toolkits = matching(local, "cuda-");
        toolkits.reverse();
        toolkits.insert(0, local.join("cuda"));
        let toolkits = toolkits.into_iter().flat_map(|root| of_toolkit(&root));
        found.extend(toolkits.map(|folder| (folder, "the toolkit's usual folder".into())));
        let user = path("HOME").map(|home| home.join(".local"));
        for prefix in user.into_iter().chain([local.into(), "/usr".into()]) {
            let folders = site_packages(&prefix).into_iter();
            let folders = folders.flat_map(|packages| of_packages(&packages));
            found.extend(folders.map(|folder| (folder, "the system's Python packages".into())));
        }
    }
    found
}

/// Returns the folders of a toolkit that have libraries.
fn of_toolkit(root: &Path) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![root.join("bin").join("x64"), root.join("bin")];
    }
    let target = format!("targets/{}-linux/lib", std::env::consts::ARCH);
    vec![root.join("lib64"), root.join("lib"), root.join(target)]
}

/// Returns the folders below a prefix in which a Python finds its packages.
fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![prefix.join("Lib").join("site-packages")];
    }
    let mut pythons = matching(&prefix.join("lib"), "python3");
    // The newest first; "3.9" sorts after "3.13" as text, which is of no importance here.
    pythons.reverse();
    pythons
        .iter()
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        .collect()
}

/// Returns the folders in which NVIDIA's Python packages keep their libraries: `nvidia/*/lib`.
fn of_packages(packages: &Path) -> Vec<PathBuf> {
    let folders = matching(&packages.join("nvidia"), "");
    folders.iter().map(|folder| folder.join(if cfg!(windows) { "bin" } else { "lib" })).collect()
}

/// Returns the entries of a folder whose names begin like this, sorted; none if it cannot be read.
fn matching(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    let mut found: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Returns what is tried for a driver, in an environment of these variables, without the machine's own files.
    fn tried(driver: Option<u32>, variables: &[(&str, &Path)]) -> Vec<Candidate> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, path)| path.as_os_str().to_owned())
        };
        let all = candidates_of(driver, variable);
        let known = |path: &Path| {
            path.is_relative() || variables.iter().any(|(_, root)| path.starts_with(root))
        };
        all.filter(|candidate| known(&candidate.name)).collect()
    }

    fn names(candidates: &[Candidate]) -> Vec<&str> {
        candidates.iter().filter_map(|candidate| candidate.name.to_str()).collect()
    }

    #[test]
    fn the_drivers_version_comes_first_and_newer_ones_last() {
        let [v13, v12] = VERSIONS.map(|(_, name)| name);
        let order = |driver| {
            let tried = tried(driver, &[]);
            names(&tried).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(order(None), [v13, v12, "libnvrtc.so"]);
        assert_eq!(order(Some(13)), [v13, v12, "libnvrtc.so"]);
        assert_eq!(order(Some(12)), [v12, v13, "libnvrtc.so"]);
        // Drivers that are newer and older than this list.
        assert_eq!(order(Some(14)), [v13, v12, "libnvrtc.so"]);
        assert_eq!(order(Some(11)), [v12, v13, "libnvrtc.so"]);
    }

    #[test]
    fn toolkits_and_environments_are_searched() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path
        };
        let toolkit = put("toolkit/lib64/libnvrtc.so.12");
        let conda = put("conda/lib/libnvrtc.so.12");
        let wheel = put("venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
        let newer = put("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
        let given = put("packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
        let at = |name: &str| root.path().join(name);
        let (home, prefix, venv, path) = (at("toolkit"), at("conda"), at("venv"), at("packages"));
        let variables: &[(&str, &Path)] = &[
            ("CUDA_HOME", &home),
            ("CONDA_PREFIX", &prefix),
            ("VIRTUAL_ENV", &venv),
            ("PYTHONPATH", &path),
        ];
        let all = tried(Some(12), variables);
        let files: Vec<_> =
            all.iter().filter(|found| found.name.is_absolute()).map(|found| &found.name).collect();
        assert_eq!(files, [&toolkit, &conda, &wheel, &given, &newer]);
        let origin = |path: &Path| &all.iter().find(|found| found.name == path).unwrap().origin;
        assert_eq!(origin(&toolkit), "from CUDA_HOME, of the driver's major version");
        assert!(origin(&wheel).starts_with("from the Python packages of VIRTUAL_ENV"));
        assert!(origin(&newer).contains("for want of NVRTC 12"));
        // The newest comes first where there is no driver to match.
        let newest = tried(None, variables);
        let files: Vec<_> = newest.iter().filter(|found| found.name.is_absolute()).collect();
        assert_eq!(files[0].name, newer);
    }

    #[test]
    fn relative_folders_are_not_searched() {
        for name in ["CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"] {
            let all = candidates_of(None, |other| (other == name).then(|| "src".into()));
            assert!(
                all.filter(|found| found.name.components().count() > 1)
                    .all(|f| f.name.is_absolute())
            );
        }
    }
}
