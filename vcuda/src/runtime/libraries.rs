//! Libraries: modules that are not bound to a context. A context gets its own module of a library when it first uses
//! it.

use super::loading::{self, Kernel, Refusal};
use super::state::State;
use crate::error::{Code, ERROR_INVALID_HANDLE, ERROR_NOT_FOUND};
use crate::exec::Program;
use crate::ptx::ast::{self, Space};
use std::collections::HashMap;
use std::sync::Arc;

/// A library.
#[derive(Debug)]
pub struct Library {
    source: Arc<ast::Module>,
    /// Its kernels outside of any context, to answer queries about them.
    programs: HashMap<String, Arc<Program>>,
    /// The handles of its kernels, in source order.
    pub kernels: Vec<u64>,
    /// Its modules, by context.
    pub modules: HashMap<u64, u64>,
}

/// A kernel of a library.
#[derive(Debug, Clone)]
pub struct LibraryKernel {
    pub library: u64,
    pub program: Arc<Program>,
    pub ptx_version: u32,
    /// The limits on dynamic shared memory set by the program, by device.
    pub max_dynamic_shared: HashMap<usize, i32>,
}

impl LibraryKernel {
    /// Returns the kernel as a function on a device that belongs to no module.
    pub fn on(&self, device: usize) -> Kernel {
        Kernel {
            module: 0,
            program: self.program.clone(),
            ptx_version: self.ptx_version,
            max_dynamic_shared: self.max_dynamic_shared.get(&device).copied().unwrap_or(0),
        }
    }
}

impl State {
    /// Loads a library, which needs no context.
    pub fn load_library(&mut self, image: &[u8]) -> Result<u64, Refusal> {
        let source = loading::read(image)?;
        let outside = source.variables.iter().filter(|v| v.space != Space::Shared);
        let nowhere = outside.map(|v| (v.name.clone(), 0)).collect();
        let programs = loading::programs(&source, &nowhere)?;
        let library = self.handle();
        let mut kernels = Vec::new();
        for entry in source.functions.iter().filter(|f| f.entry) {
            let Some(program) = programs.get(&entry.name) else { continue };
            let kernel = LibraryKernel {
                library,
                program: program.clone(),
                ptx_version: source.version,
                max_dynamic_shared: HashMap::new(),
            };
            let handle = self.handle();
            self.library_kernels.insert(handle, kernel);
            kernels.push(handle);
        }
        let source = Arc::new(source);
        self.libraries
            .insert(library, Library { source, programs, kernels, modules: HashMap::new() });
        Ok(library)
    }

    /// Removes a library and its modules.
    pub fn unload_library(&mut self, library: u64) -> Result<(), Code> {
        let gone = self.libraries.remove(&library).ok_or(ERROR_INVALID_HANDLE)?;
        gone.kernels.iter().for_each(|kernel| drop(self.library_kernels.remove(kernel)));
        for module in gone.modules.into_values() {
            self.unload(module);
        }
        Ok(())
    }

    /// Returns the module of a library in a context, loading it on first use.
    pub fn module_in(&mut self, cx: u64, library: u64) -> Result<u64, Code> {
        let found = self.libraries.get(&library).ok_or(ERROR_INVALID_HANDLE)?;
        if let Some(&module) = found.modules.get(&cx) {
            return Ok(module);
        }
        let source = found.source.clone();
        let module = self.build(cx, &source, library).map_err(|refusal| refusal.0)?;
        if let Some(library) = self.libraries.get_mut(&library) {
            library.modules.insert(cx, module);
        }
        Ok(module)
    }

    /// Returns the handle of a library's kernel, by name.
    pub fn kernel_of(&self, library: u64, name: &str) -> Result<u64, Code> {
        let found = self.libraries.get(&library).ok_or(ERROR_INVALID_HANDLE)?;
        let program = found.programs.get(name).ok_or(ERROR_NOT_FOUND)?;
        let named = |k: &&u64| {
            self.library_kernels.get(k).is_some_and(|k| Arc::ptr_eq(&k.program, program))
        };
        found.kernels.iter().find(named).copied().ok_or(ERROR_NOT_FOUND)
    }

    /// Returns whether a variable of a library is declared as managed.
    pub fn is_managed(&self, library: u64, name: &str) -> bool {
        let variables = self.libraries.get(&library).map(|l| &l.source.variables);
        variables.is_some_and(|all| all.iter().any(|v| v.name == name && v.managed))
    }

    /// Returns the function behind a handle; for a kernel of a library, the function in the given context.
    pub fn function_in(&mut self, cx: u64, handle: u64) -> Result<u64, Code> {
        let Some(kernel) = self.library_kernels.get(&handle).cloned() else {
            return if self.kernels.contains_key(&handle) {
                Ok(handle)
            } else {
                Err(ERROR_INVALID_HANDLE)
            };
        };
        let module = self.module_in(cx, kernel.library)?;
        let function = self.function(module, &kernel.program.name)?;
        let raised = kernel.max_dynamic_shared.get(&self.device_of(cx)).copied();
        if let (Some(f), Some(most)) = (self.kernels.get_mut(&function), raised)
            && f.max_dynamic_shared == 0
        {
            f.max_dynamic_shared = most;
        }
        Ok(function)
    }
}
