//! `cargo xtask cost`: what the crate costs as a dependency, in compile time and binary size.

use std::path::{Path, PathBuf};
use std::{fs, process};

use crate::run::{cargo, finish, root};
use crate::{Failure, Outcome};

/// Measures a clean release build of the crate as a dependency, and the bytes that it adds to a stripped program.
///
/// Two small programs are built in target/cost, one that uses the crate and one that does not. The limits are 40 CPU
/// seconds for this crate alone and 3 MB; they apply to the default features. CPU seconds are summed over all processes
/// of the build, so the number of cores and other load matter little.
#[derive(clap::Args)]
pub struct Options {
    /// Features in place of the default ones, such as `cpu,cuda`.
    #[arg(long)]
    features: Option<String>,
}

const MOST_SECONDS: f64 = 40.0;
const MOST_BYTES: u64 = 3_000_000;

/// A program that chooses the operation and the dtype at run time, so that no kernel can be optimised away.
const USER: &str = r#"fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let number = |index: usize| words.get(index).map_or(Ok(0), |word| word.parse::<usize>());
    let op = bitlane::BinaryOp::ALL[number(1)?];
    let dtype = bitlane::DType::ALL[number(2)?];
    let x = bitlane::Tensor::arange(5, dtype, &bitlane::Device::cpu())?;
    let y = bitlane::binary(op, &x, &x).run()?;
    println!("{y:?} {:?}", (y.expr() + 1).sum(..).run()?);
    Ok(())
}
"#;

pub fn run(Options { features }: Options) -> Outcome {
    let folder = root().join("target/cost");
    let _ = fs::remove_dir_all(&folder);
    let dependency = match &features {
        None => format!("bitlane = {{ path = {:?} }}", root()),
        Some(list) => {
            let list: Vec<_> = list.split(',').collect();
            format!(
                "bitlane = {{ path = {:?}, default-features = false, features = {list:?} }}",
                root()
            )
        }
    };
    let empty =
        program(&folder, "empty", "fn main() { println!(\"{:?}\", std::env::args()); }", "")?;
    let user = program(&folder, "user", USER, &dependency)?;
    println!("building a program without the crate");
    let (_, small) = build(&empty, "")?;
    println!("building a program with the crate and all that it depends on");
    let (all, large) = build(&user, "")?;
    println!("building the crate alone once more");
    finish(cargo("clean --quiet --release -p bitlane").current_dir(&user))?;
    let (alone, _) = build(&user, "-p bitlane")?;

    let added = large.saturating_sub(small);
    println!("\nfeatures: {}", features.as_deref().unwrap_or("default"));
    println!("{:<42} {:>12} {:>12}", "", "measured", "at most");
    println!("{:<42} {alone:>10.1} s {MOST_SECONDS:>10.1} s", "CPU time, this crate");
    println!("{:<42} {all:>10.1} s", "CPU time, with its dependencies");
    println!("{:<42} {added:>12} {MOST_BYTES:>12}", "bytes in a stripped program");
    if features.is_none() && (alone > MOST_SECONDS || added > MOST_BYTES) {
        return Err("the crate costs more than it may".into());
    }
    Ok(())
}

/// Writes a package with one program and returns its folder.
fn program(folder: &Path, name: &str, main: &str, dependency: &str) -> Result<PathBuf, Failure> {
    let package = folder.join(name);
    fs::create_dir_all(package.join("src"))?;
    fs::write(package.join("src/main.rs"), main)?;
    let manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         {dependency}\n\n[profile.release]\nstrip = true\n"
    );
    fs::write(package.join("Cargo.toml"), manifest)?;
    // Use the versions of the project's own lock file where it has them.
    fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock"))?;
    Ok(package)
}

/// Builds a package and returns the CPU seconds that took and the size of its program, zero if there is none.
fn build(package: &Path, words: &str) -> Result<(f64, u64), Failure> {
    let target = package.join("target");
    let before = children_seconds()?;
    let mut command: process::Command = cargo("build --quiet --release");
    command.args(words.split_whitespace()).current_dir(package);
    finish(command.env("CARGO_TARGET_DIR", &target).env_remove("RUSTFLAGS"))?;
    let seconds = children_seconds()? - before;
    let name = package.file_name().unwrap_or_default();
    let size = fs::metadata(target.join("release").join(name)).map_or(0, |file| file.len());
    Ok((seconds, size))
}

/// Returns the CPU seconds of all processes that this process and its children have waited for.
fn children_seconds() -> Result<f64, Failure> {
    let text = fs::read_to_string("/proc/self/stat")
        .map_err(|error| format!("CPU time is read from Linux's /proc: {error}"))?;
    // The program's name is in parentheses and may contain anything; `cutime` and `cstime` follow after 13 more fields.
    let fields = text.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(13));
    let ticks =
        fields.into_iter().flatten().take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    // On all supported architectures, Linux reports these times to user programs in hundredths of a second.
    Ok(ticks as f64 / 100.0)
}
