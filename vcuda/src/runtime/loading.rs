//! Modules: from an image to programs and variables.

use super::state::State;
use crate::config;
use crate::error::{
    Code, ERROR_INVALID_IMAGE, ERROR_INVALID_PTX, ERROR_NO_BINARY_FOR_GPU, ERROR_OUT_OF_MEMORY,
    ERROR_UNSUPPORTED_PTX_VERSION,
};
use crate::exec::{self, Program};
use crate::memory::{DATA, Owner};
use crate::ptx;
use crate::ptx::ast::{self, Init, Space};
use crate::sanitizer::{self, Finding, Kind, lock};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    pub context: u64,
    pub programs: HashMap<String, Arc<Program>>,
    /// Variables: address and size.
    pub globals: HashMap<String, (u64, u64)>,
    pub ptx_version: u32,
    /// Handles of functions given out, by name.
    pub handles: HashMap<String, u64>,
    pub library: bool,
}

impl Module {
    /// Allocations it holds.
    pub fn variables(&self) -> usize {
        self.globals.len()
    }
}

/// A function of a module.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub module: u64,
    pub program: Arc<Program>,
    pub ptx_version: u32,
    /// The limit on dynamic shared memory, as raised by the program.
    pub max_dynamic_shared: i32,
}

/// PTX that was refused for its version, by the names of its kernels: a cubin with the same kernels is the
/// program's second try, and this is what it was compiled from.
static REFUSED: Mutex<Vec<(Vec<String>, String)>> = Mutex::new(Vec::new());

fn say(code: Code, text: String) {
    let finding = Finding { kind: Kind::BadCall, code, place: None, text };
    sanitizer::report(finding, config::with(|c| !c.quiet));
}

/// The kernels of a cubin: the names of its `.text.` sections.
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

/// The PTX that stands in for a cubin.
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

impl State {
    /// Loads a module from PTX text or, through a side table, from a cubin.
    pub fn load(&mut self, cx: u64, image: &[u8], library: bool) -> Result<u64, Code> {
        let cubin = image.starts_with(b"\x7fELF");
        let text = if cubin {
            let Some(text) = text_of_cubin(image) else {
                say(
                    ERROR_INVALID_IMAGE,
                    format!(
                        "a cubin cannot be interpreted, and no PTX with its kernels is known ({}); set VCUDA_CUBIN to a folder with it",
                        cubin_kernels(image).join(", ")
                    ),
                );
                return Err(ERROR_INVALID_IMAGE);
            };
            text
        } else if image.starts_with(&[0x50, 0xed, 0x55, 0xba]) {
            say(ERROR_INVALID_IMAGE, "fat binaries cannot be interpreted".into());
            return Err(ERROR_INVALID_IMAGE);
        } else {
            String::from_utf8(image.to_vec()).map_err(|_| ERROR_INVALID_IMAGE)?
        };
        let module = ptx::parse(&text).map_err(|e| {
            let code =
                if text.contains(".version") { ERROR_INVALID_PTX } else { ERROR_INVALID_IMAGE };
            say(code, format!("PTX: {e}"));
            code
        })?;
        let (newest, cc) = config::with(|c| (c.ptx_isa, c.cc));
        if !cubin && module.version > newest {
            let mut refused = lock(&REFUSED);
            let names = kernels_of(&module);
            refused.retain(|(kernels, _)| *kernels != names);
            refused.push((names, text));
            return Err(ERROR_UNSUPPORTED_PTX_VERSION);
        }
        if module.target > cc && !cubin {
            return Err(ERROR_NO_BINARY_FOR_GPU);
        }
        self.build(cx, &module, library)
    }

    fn build(&mut self, cx: u64, module: &ast::Module, library: bool) -> Result<u64, Code> {
        let region = self.region_for(cx)?;
        let mut globals = HashMap::new();
        for variable in
            module.variables.iter().filter(|v| v.space != Space::Shared && !v.unsized_array)
        {
            let owner = Owner { context: 0, call: "a module variable" };
            let addr = lock(&region.heap)
                .allocate(variable.size.max(1), owner)
                .ok_or(ERROR_OUT_OF_MEMORY)?;
            globals.insert(variable.name.clone(), (addr, variable.size));
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
        let decoded: Result<HashMap<_, _>, String> = module
            .functions
            .iter()
            .filter(|f| f.entry)
            .map(|f| Ok((f.name.clone(), Arc::new(exec::decode(module, f, &addresses)?))))
            .collect();
        match decoded {
            Ok(programs) => {
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
            Err(e) => {
                say(ERROR_INVALID_PTX, format!("PTX: {e}"));
                for (addr, _) in globals.into_values() {
                    lock(&region.heap).free(addr);
                }
                Err(ERROR_INVALID_PTX)
            }
        }
    }

    /// Removes a module. True if it was there.
    pub fn unload(&mut self, handle: u64) -> bool {
        let Some(module) = self.modules.remove(&handle) else { return false };
        self.kernels.retain(|_, k| k.module != handle);
        for (addr, _) in module.globals.into_values() {
            self.free_now(addr, 0);
        }
        true
    }
}
