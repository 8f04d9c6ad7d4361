//! The libraries that are compared, each in its own process.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::Failure;
use crate::overhead::build;
use crate::run::root;

/// The Python script that measures the cases of a library.
const WORKER: &str = include_str!("worker.py");

/// The packages on PyPI, with the versions that are measured.
const PACKAGES: &[&str] = &[
    "numpy==2.4.6",
    "torch==2.15.0",
    "paddlepaddle==3.3.1",
    "jax==0.10.2",
    "jaxlib==0.10.2",
    "numexpr==2.14.2",
    "setuptools==84.2.1", // torch.compile imports it
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Library {
    Bitlane,
    NumPy,
    Torch,
    Paddle,
    Jax,
    NumExpr,
    TorchCompile,
}

impl Library {
    /// Returns its name, as shown in tables and passed to the worker.
    pub fn name(self) -> &'static str {
        match self {
            Library::Bitlane => "bitlane",
            Library::NumPy => "numpy",
            Library::Torch => "torch",
            Library::Paddle => "paddle",
            Library::Jax => "jax",
            Library::NumExpr => "numexpr",
            Library::TorchCompile => "torch.compile",
        }
    }
}

/// Returns the versions, in one line.
pub fn versions() -> String {
    PACKAGES[..6].iter().map(|package| package.replace("==", " ")).collect::<Vec<_>>().join(", ")
}

/// The process of a library, stopped while it is not measured.
pub struct Worker {
    library: Library,
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts a library, building or fetching it first if necessary.
    pub fn start(library: Library, threads: usize) -> Result<Worker, Failure> {
        let mut command = match library {
            Library::Bitlane => {
                let mut command = Command::new(build("peers", "")?);
                command.args(["--worker", &threads.to_string()]);
                command
            }
            _ => {
                let (python, script) = environment()?;
                let mut command = Command::new(python);
                command.arg(script).args([library.name(), &threads.to_string()]);
                command
            }
        };
        let log = fs::File::create(root().join(format!("target/peers/{}.log", library.name())))?;
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let (questions, answers) = (process.stdin.take(), process.stdout.take());
        let (Some(questions), Some(answers)) = (questions, answers) else {
            return Err("a worker has no pipes".into());
        };
        Ok(Worker { library, process, questions, answers: BufReader::new(answers) })
    }

    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Measures a case and returns the microseconds of one call, or `None` if the library does not support it.
    pub fn ask(&mut self, case: &str) -> Result<Option<f64>, Failure> {
        self.signal(Signal::CONT)?;
        writeln!(self.questions, "{case}")?;
        let mut answer = String::new();
        if self.answers.read_line(&mut answer)? == 0 {
            let name = self.library.name();
            return Err(format!("{name} ended at {case:?}; see target/peers/{name}.log").into());
        }
        self.signal(Signal::STOP)?;
        match answer.trim() {
            "-" => Ok(None),
            number => Ok(Some(number.parse()?)),
        }
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        kill_process(Pid::from_child(&self.process), signal)?;
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Errors do not matter: the process is not needed any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a Python with the libraries, and the script that measures them; both are created on the first call.
fn environment() -> Result<(PathBuf, PathBuf), Failure> {
    let folder = root().join("target/peers");
    let (python, done) = (folder.join("venv/bin/python"), folder.join("installed"));
    let script = folder.join("worker.py");
    fs::create_dir_all(&folder)?;
    // Do not rewrite an unchanged script: a worker that has just been started may be reading it.
    if fs::read_to_string(&script).ok().as_deref() != Some(WORKER) {
        fs::write(&script, WORKER)?;
    }
    let wanted = PACKAGES.join("\n");
    // The list is written last: if it exists and matches, so do the packages.
    if fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok((python, script));
    }
    eprintln!("fetching {} to target/peers (some gigabytes)", versions());
    if !python.exists() {
        pip(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
    }
    pip(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(PACKAGES))?;
    fs::write(done, wanted)?;
    Ok((python, script))
}

fn pip(command: &mut Command) -> Result<(), Failure> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().rev().take(3).collect();
    Err(format!("{command:?} failed: {}", lines.join("; ")).into())
}

/// Creates the folder for the logs of the workers.
pub fn prepare() -> Result<(), Failure> {
    Ok(fs::create_dir_all(Path::new(&root()).join("target/peers"))?)
}
