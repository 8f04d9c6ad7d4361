//! Loads modules: decodes an image to programs and places its variables.

use super::state::State;
use crate::config;
use crate::driver::Options;
use crate::error::{
    Code, ERROR_INVALID_HANDLE, ERROR_INVALID_IMAGE, ERROR_INVALID_PTX, ERROR_NO_BINARY_FOR_GPU,
    ERROR_NOT_FOUND, ERROR_OUT_OF_MEMORY, ERROR_UNSUPPORTED_PTX_VERSION,
};
use crate::exec::{self, Program};
use crate::memory::{DATA, Owner};
use crate::ptx;
use crate::ptx::ast::{self, Init, Space};
use crate::sanitizer::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    pub context: u64,
    pub programs: HashMap<String, Arc<Program>>,
    /// Variables by name: address and size.
    pub globals: HashMap<String, (u64, u64)>,
    pub ptx_version: u32,
    /// The function handles given to the program, by name.
    pub handles: HashMap<String, u64>,
    /// The library that it was loaded for; zero means none.
    pub library: u64,
}

/// A pending link.
#[derive(Debug)]
pub struct Link {
    pub context: u64,
    pub options: Options,
    pub texts: Vec<String>,
    /// The linked image, which the program may read until the link is destroyed.
    pub image: Vec<u8>,
}

/// A function of a module.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub module: u64,
    pub program: Arc<Program>,
    pub ptx_version: u32,
    /// The limit on dynamic shared memory set by the program.
    pub max_dynamic_shared: i32,
}

/// PTX that was refused for its version, with the names of its kernels. A cubin with the same kernels is taken to be
/// compiled from the same source, as the program's second attempt, and runs this PTX instead.
static REFUSED: Mutex<Vec<(Vec<String>, String)>> = Mutex::new(Vec::new());

/// Why an image is refused: the error code and the text for the JIT log.
pub type Refusal = (Code, String);

/// Returns the kernels of a cubin, which are the names of its `.text.` sections.
fn cubin_kernels(image: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(k) = image[at..].windows(6).position(|w| w == b".text.") {
        let start = at + k + 6;
        let end = image[start..].iter().position(|&b| b == 0).map_or(image.len(), |n| start + n);
        if let Ok(name) = std::str::from_utf8(&image[start..end])
            && !name.is_empty()
        {
            names.push(name.to_string());
        }
        at = end;
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn kernels_of(module: &ast::Module) -> Vec<String> {
    let mut names: Vec<_> =
        module.functions.iter().filter(|f| f.entry).map(|f| f.name.clone()).collect();
    names.sort_unstable();
    names
}

/// Finds the PTX to run in place of a cubin.
fn text_of_cubin(image: &[u8]) -> Option<String> {
    let names = cubin_kernels(image);
    let covers =
        |kernels: &[String]| !names.is_empty() && names.iter().all(|n| kernels.contains(n));
    if let Some((_, text)) = lock(&REFUSED).iter().rev().find(|(kernels, _)| covers(kernels)) {
        return Some(text.clone());
    }
    let folder = config::with(|c| c.cubin.clone())?;
    std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .find_map(|path| {
            let text = std::fs::read_to_string(path).ok()?;
            covers(&kernels_of(&ptx::parse(&text).ok()?)).then_some(text)
        })
}

/// The advice for an image that is machine code.
const WANTS_PTX: &str = "this driver runs PTX text: let NVRTC compile for a virtual architecture \
    (--gpu-architecture=compute_XX), or link with nvJitLink and its option -ptx";

/// The magic numbers of fat binaries: of the container, and of the wrapper that points to one.
pub const FAT_BINARIES: [[u8; 4]; 2] = [[0x50, 0xed, 0x55, 0xba], [0xb1, 0x43, 0x62, 0x46]];

/// Returns what kind of machine code an image is, by its first bytes; `None` if it may be PTX.
pub fn machine_code(image: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 4] = [
        (b"\x7fELF", "a cubin or an object"),
        (&FAT_BINARIES[0], "a fat binary"),
        (&FAT_BINARIES[1], "a fat binary"),
        (b"!<arch>", "an archive"),
    ];
    kinds.iter().find(|(start, _)| image.starts_with(start)).map(|kind| kind.1)
}

/// Returns the error text for machine code, with the advice.
pub fn refuse_machine_code(what: &str) -> String {
    format!("{what} cannot be interpreted; {WANTS_PTX}")
}

/// Parses a module from PTX text or, for a cubin, from the PTX found in its place.
pub fn read(image: &[u8]) -> Result<ast::Module, Refusal> {
    let cubin = image.starts_with(b"\x7fELF");
    let text = match machine_code(image) {
        Some(what) => {
            let text = if cubin { text_of_cubin(image) } else { None };
            text.ok_or_else(|| {
                let kernels = cubin_kernels(image).join(", ");
                let hint = format!("; or set VCUDA_CUBIN to a folder with the PTX of {kernels}");
                let hint = if cubin && !kernels.is_empty() { &*hint } else { "" };
                (ERROR_INVALID_IMAGE, refuse_machine_code(what) + hint)
            })?
        }
        None => String::from_utf8(image.to_vec())
            .map_err(|_| (ERROR_INVALID_IMAGE, "the image is not text".into()))?,
    };
    let module = ptx::parse(&text).map_err(|e| {
        let code = if text.contains(".version") { ERROR_INVALID_PTX } else { ERROR_INVALID_IMAGE };
        (code, format!("PTX: {e}"))
    })?;
    let (newest, cc) = config::with(|c| (c.ptx_isa, c.cc));
    if !cubin && module.version > newest {
        let mut refused = lock(&REFUSED);
        let names = kernels_of(&module);
        refused.retain(|(kernels, _)| *kernels != names);
        refused.push((names, text));
        let text = format!("PTX of version {} is newer than this driver's", module.version);
        return Err((ERROR_UNSUPPORTED_PTX_VERSION, text));
    }
    if module.target > cc && !cubin {
        let text = format!("PTX for sm_{}, where the device is sm_{cc}", module.target);
        return Err((ERROR_NO_BINARY_FOR_GPU, text));
    }
    Ok(module)
}

/// Decodes the kernels of a module whose variables are at the given addresses.
pub fn programs(
    module: &ast::Module,
    addresses: &HashMap<String, u64>,
) -> Result<HashMap<String, Arc<Program>>, Refusal> {
    let entries = module.functions.iter().filter(|f| f.entry);
    entries
        .map(|f| Ok((f.name.clone(), Arc::new(exec::decode(module, f, addresses)?))))
        .collect::<Result<HashMap<_, _>, String>>()
        .map_err(|e| (ERROR_INVALID_PTX, format!("PTX: {e}")))
}

impl State {
    /// Loads a module into a context.
    pub fn load(&mut self, cx: u64, image: &[u8]) -> Result<u64, Refusal> {
        self.build(cx, &read(image)?, 0)
    }

    /// Creates a module in a context; `library` is nonzero if it belongs to a library.
    pub fn build(&mut self, cx: u64, module: &ast::Module, library: u64) -> Result<u64, Refusal> {
        let mut globals = HashMap::new();
        let built =
            self.place(cx, module, &mut globals).and_then(|addresses| programs(module, &addresses));
        let programs = match built {
            Ok(programs) => programs,
            Err(refusal) => {
                globals.into_values().for_each(|(addr, _)| drop(self.free_now(addr)));
                return Err(refusal);
            }
        };
        let handle = self.handle();
        self.modules.insert(
            handle,
            Module {
                context: cx,
                programs,
                globals,
                ptx_version: module.version,
                handles: HashMap::new(),
                library,
            },
        );
        Ok(handle)
    }

    /// Allocates and initialises the variables of a module, and returns their addresses.
    fn place(
        &mut self,
        cx: u64,
        module: &ast::Module,
        globals: &mut HashMap<String, (u64, u64)>,
    ) -> Result<HashMap<String, u64>, Refusal> {
        let short = |code| (code, "no memory for the variables of the module".to_string());
        let region = self.region_for(cx).map_err(short)?;
        let device = self.device_of(cx);
        for variable in
            module.variables.iter().filter(|v| v.space != Space::Shared && !v.unsized_array)
        {
            let same = module.variables.iter().filter(|v| v.common && v.name == variable.name);
            let size = same.map(|v| v.size).max().unwrap_or(0).max(variable.size);
            if globals.contains_key(&variable.name) {
                if variable.common {
                    continue;
                }
                let text = format!("PTX: the variable {} is there twice", variable.name);
                return Err((ERROR_INVALID_PTX, text));
            }
            let addr = self.fits(device, 0, size.max(1)).map_err(short)?.then_some(());
            let addr = addr.and_then(|()| lock(&region.heap).allocate(size.max(1), Owner::MODULE));
            let addr = addr.ok_or_else(|| short(ERROR_OUT_OF_MEMORY))?;
            globals.insert(variable.name.clone(), (addr, size));
        }
        let addresses: HashMap<String, u64> =
            globals.iter().map(|(name, &(addr, _))| (name.clone(), addr)).collect();
        for variable in &module.variables {
            let Some(&(addr, size)) = globals.get(&variable.name) else { continue };
            lock(&region.heap).open(addr, DATA);
            region.arena.fill(addr, size, 0);
            let mut bytes = Vec::new();
            for piece in variable.init.iter().flatten() {
                match piece {
                    Init::Bytes(value, width) => {
                        bytes.extend(&value.to_le_bytes()[..usize::from(*width).min(8)])
                    }
                    Init::Address(name, offset) => bytes.extend(
                        addresses
                            .get(name)
                            .copied()
                            .unwrap_or(0)
                            .wrapping_add_signed(*offset)
                            .to_le_bytes(),
                    ),
                }
            }
            for (k, &byte) in bytes.iter().enumerate().take(size as usize) {
                region.arena.fill(addr + k as u64, 1, byte);
            }
        }
        Ok(addresses)
    }

    /// Returns the handle of a module's function.
    pub fn function(&mut self, module: u64, name: &str) -> Result<u64, Code> {
        let m = self.modules.get(&module).ok_or(ERROR_INVALID_HANDLE)?;
        let program = m.programs.get(name).ok_or(ERROR_NOT_FOUND)?.clone();
        if let Some(&known) = m.handles.get(name) {
            return Ok(known);
        }
        let ptx_version = m.ptx_version;
        let handle = self.handle();
        let kernel = Kernel { module, program, ptx_version, max_dynamic_shared: 0 };
        self.kernels.insert(handle, kernel);
        if let Some(m) = self.modules.get_mut(&module) {
            m.handles.insert(name.to_string(), handle);
        }
        Ok(handle)
    }

    /// Removes a module. Returns whether it existed.
    pub fn unload(&mut self, handle: u64) -> bool {
        let Some(module) = self.modules.remove(&handle) else { return false };
        self.kernels.retain(|_, k| k.module != handle);
        for (addr, _) in module.globals.into_values() {
            self.free_now(addr);
        }
        true
    }
}
