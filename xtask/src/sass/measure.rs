//! Assembles and disassembles kernels, and computes their figures.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::flow;
use super::listing::{self, Function, Pipe};
use crate::{Failure, wheels};

/// NVIDIA's assembler and disassembler.
pub struct Tools {
    ptxas: PathBuf,
    cuobjdump: PathBuf,
    /// The `PATH` on which cuobjdump finds nvdisasm.
    search_path: std::ffi::OsString,
}

/// The terms of a reduction, by which the figures of its kernel are divided.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The size of a term.
    pub size: usize,
    /// How many terms there are for each thread of the launch, if the kernel has no loop over them. What idle threads load
    /// instead is not counted then.
    pub per_thread: Option<f64>,
    /// Whether vectors leave terms of a result over.
    pub has_rest: bool,
}

/// The figures of a kernel.
#[derive(Clone, Debug)]
pub struct Figures {
    pub kernel: String,
    /// If it is generated: what it is a sample of.
    pub title: Option<String>,
    pub registers: u32,
    pub stack: u32,
    /// Accesses to local memory: spills, or arrays that did not fit into registers.
    pub local: usize,
    pub instructions_per_element: f64,
    pub alu_per_element: f64,
    pub multiply_per_element: f64,
    pub special_per_element: f64,
    pub memory_per_element: f64,
    pub doubles_per_element: f64,
    /// Instructions of `f64` arithmetic, on any path.
    pub doubles: usize,
    pub multiplications_per_element: f64,
    /// The share of the bytes on the hot path that are moved by 16-byte accesses.
    pub wide_share: f64,
    /// The bytes that a thread has loaded before its first store.
    pub in_flight: u32,
}

impl Tools {
    /// Fetches the tools if necessary. The assembler has the version of the NVRTC that wrote the PTX.
    pub fn new(nvrtc_major: i32) -> Result<Tools, Failure> {
        let cuobjdump = wheels::CUOBJDUMP.path()?;
        let nvdisasm = wheels::NVDISASM.path()?;
        let mut folders: Vec<PathBuf> = nvdisasm.parent().map(Path::to_owned).into_iter().collect();
        if let Some(path) = std::env::var_os("PATH") {
            folders.extend(std::env::split_paths(&path));
        }
        let ptxas =
            if nvrtc_major >= 13 { wheels::PTXAS_13.path()? } else { wheels::PTXAS_12.path()? };
        Ok(Tools { ptxas, cuobjdump, search_path: std::env::join_paths(folders)? })
    }

    /// Assembles a PTX file for `arch` and measures every kernel in it that stores. The elements of a reduction are its
    /// terms.
    pub fn measure(
        &self,
        ptx: &Path,
        arch: &str,
        terms: Option<Counted>,
    ) -> Result<Vec<Figures>, Failure> {
        let cubin = ptx.with_extension("cubin");
        run(Command::new(&self.ptxas)
            .args(["-O3", &format!("-arch={arch}"), "-o"])
            .arg(&cubin)
            .arg(ptx))?;
        let code = self.disassemble(&cubin)?;
        let storing = code
            .functions
            .iter()
            .filter(|function| function.code.iter().any(|i| i.is_global_store()));
        storing.map(|function| figures(function, code.resources(&function.name)?, terms)).collect()
    }

    /// Writes the cubins for `arch` in a library to a folder.
    pub fn extract(&self, library: &Path, arch: &str, folder: &Path) -> Result<(), Failure> {
        run(Command::new(&self.cuobjdump)
            .current_dir(folder)
            .args(["-arch", arch, "-xelf", "all"])
            .arg(library))?;
        Ok(())
    }

    pub fn disassemble(&self, cubin: &Path) -> Result<Code, Failure> {
        let dump = |flag| {
            run(Command::new(&self.cuobjdump).env("PATH", &self.search_path).arg(flag).arg(cubin))
        };
        Ok(Code { functions: listing::parse(&dump("-sass")?), usage: usage(&dump("-res-usage")?) })
    }
}

/// A disassembled cubin.
pub struct Code {
    pub functions: Vec<Function>,
    usage: HashMap<String, Resources>,
}

impl Code {
    /// Returns what a function needs.
    pub fn resources(&self, function: &str) -> Result<Resources, Failure> {
        let found = self.usage.get(function).copied();
        found.ok_or_else(|| format!("no resource usage of {function}").into())
    }
}

/// What a thread of a kernel needs.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    registers: u32,
    stack: u32,
}

/// Runs a tool and returns its output.
fn run(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    let said =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    if done.status.success() { Ok(said) } else { Err(format!("{name} failed: {said}").into()) }
}

/// Parses the registers and stack of each kernel from lines `Function name:` and `REG:32 STACK:0 …`.
fn usage(text: &str) -> HashMap<String, Resources> {
    let mut all = HashMap::new();
    let mut name = "";
    for line in text.lines().map(str::trim) {
        if let Some(function) = line.strip_prefix("Function ") {
            name = function.trim_end_matches(':');
        } else if line.starts_with("REG:") {
            let number = |key: &str| {
                line.split_whitespace()
                    .find_map(|word| word.strip_prefix(key)?.parse().ok())
                    .unwrap_or(u32::MAX)
            };
            let resources = Resources { registers: number("REG:"), stack: number("STACK:") };
            all.insert(name.to_owned(), resources);
        }
    }
    all
}

/// Returns the size of an element, from the dtype at the end of a kernel's name.
fn element_bytes(kernel: &str) -> Result<f64, Failure> {
    let dtype = kernel.rsplit('_').next().unwrap_or_default();
    match dtype {
        "bool" => Ok(1.0),
        "c64" => Ok(8.0),
        "c128" => Ok(16.0),
        _ => {
            let bits: f64 =
                dtype.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).parse()?;
            Ok(bits / 8.0)
        }
    }
}

/// Computes the figures of a kernel, whose name ends in its dtype, or of a reduction with these terms.
pub fn figures(
    function: &Function,
    resources: Resources,
    terms: Option<Counted>,
) -> Result<Figures, Failure> {
    let path = match terms {
        Some(Counted { has_rest: true, .. }) => flow::full_path(&function.code),
        terms => flow::hot_path(&function.code, terms.is_some()),
    };
    let loads: Vec<u32> = path.iter().filter(|i| i.is_global_load()).map(|i| i.width()).collect();
    let stores: Vec<u32> = path.iter().filter(|i| i.is_global_store()).map(|i| i.width()).collect();
    let bytes = |accesses: &[u32]| f64::from(accesses.iter().sum::<u32>());
    let wide =
        |accesses: &[u32]| f64::from(accesses.iter().filter(|&&width| width >= 16).sum::<u32>());
    // If the path stores nothing, the stores are behind a call or a switch: count it as one element.
    let in_flight = path.iter().take_while(|i| !i.is_global_store()).filter(|i| i.is_global_load());
    let in_flight = in_flight.map(|i| i.width()).sum();
    let elements = match terms {
        Some(terms) => terms.per_thread.unwrap_or(bytes(&loads) / terms.size as f64),
        None => bytes(&stores) / element_bytes(&function.name)?,
    };
    let elements = if elements == 0.0 { 1.0 } else { elements };
    let per_element = |count: usize| count as f64 / elements;
    let on = |pipe| per_element(path.iter().filter(|i| i.pipe() == pipe).count());
    Ok(Figures {
        kernel: function.name.clone(),
        title: None,
        registers: resources.registers,
        stack: resources.stack,
        local: function.code.iter().filter(|i| i.is_local()).count(),
        instructions_per_element: per_element(path.len()),
        alu_per_element: on(Pipe::Alu),
        multiply_per_element: on(Pipe::Multiply),
        special_per_element: on(Pipe::Special),
        memory_per_element: on(Pipe::Memory),
        doubles_per_element: on(Pipe::Double),
        doubles: function.code.iter().filter(|i| i.is_double()).count(),
        multiplications_per_element: per_element(
            path.iter().filter(|i| i.is_index_multiplication()).count(),
        ),
        wide_share: (wide(&loads) + wide(&stores)) / (bytes(&loads) + bytes(&stores)).max(1.0),
        in_flight,
    })
}
