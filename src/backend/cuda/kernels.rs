//! The loaded kernels of a context: those of the hand-written modules, and the generated ones by form.

use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use cudarc::driver::sys::{self, CUresult};
use once_cell::sync::OnceCell;
use smallvec::SmallVec;

use super::cache;
use super::context::Context;
use super::driver::{driver, is_code};
use super::generate::{self, Form, Key, is_large};
use super::nvrtc::{self, Target};
use super::shapes::KernelShape;
use super::statistics::{self, Event};
use super::trace::{trace_debug, trace_warning};
use crate::op::ElementOp;
use crate::{DType, Error, Result};

/// The hand-written kernels that are compiled together: one binary operation in one dtype, in every shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) op: ElementOp,
    pub(crate) dtype: DType,
}

impl Module {
    /// Iterates over every module that can be loaded.
    pub(crate) fn all() -> impl Iterator<Item = Module> {
        let ops = ElementOp::ALL.iter().copied().filter(|&op| op.arity() == 2 && !is_large(op));
        ops.flat_map(|op| {
            let dtypes =
                DType::ALL.iter().copied().filter(move |&dtype| op.domain().contains(dtype));
            dtypes.map(move |dtype| Module { op, dtype })
        })
    }

    /// Returns the macro definitions with which the module is compiled.
    pub(crate) fn defines(self) -> [String; 2] {
        [format!("-DBL_OP={}", self.op.name()), format!("-DBL_DTYPE={}", self.dtype)]
    }

    /// Returns the name of the kernel of a shape.
    pub(crate) fn kernel(self, shape: KernelShape) -> String {
        format!("{}_{self}", shape.name())
    }

    fn index(self) -> usize {
        self.op as usize * DType::ALL.len() + self.dtype as usize
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.op.name(), self.dtype)
    }
}

/// A kernel of a loaded module.
#[derive(Clone, Copy)]
pub(super) struct Function(sys::CUfunction);

// SAFETY: a function is a driver handle, which may be used on any thread.
unsafe impl Send for Function {}
// SAFETY: as above; driver calls are thread-safe.
unsafe impl Sync for Function {}

impl Function {
    pub(super) fn raw(self) -> sys::CUfunction {
        self.0
    }
}

/// A loaded module with its kernels, in the order in which their names were given to [`Kernels::load`].
struct Loaded {
    module: sys::CUmodule,
    functions: Box<[Function]>,
}

// SAFETY: modules and functions are driver handles, which may be used on any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; driver calls are thread-safe.
unsafe impl Sync for Loaded {}

/// The kernels of a module.
pub(super) type Functions = SmallVec<[Function; 3]>;

/// The source of a module, and the names of its kernels.
pub(super) struct Written {
    /// Its name in error messages.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) kernels: Vec<String>,
}

/// The cell of a generated kernel, initialised by the first call that needs it.
type Cell = Arc<OnceCell<Loaded>>;

/// The loaded modules of a context. Looking up a loaded kernel does not wait for others that are being compiled.
pub(super) struct Kernels {
    /// The hand-written modules, by [`Module::index`].
    modules: Box<[OnceCell<Box<Loaded>>]>,
    generated: RwLock<HashMap<Key, Cell, BuildHasherDefault<KeyHasher>>>,
    /// Whether to compile to machine code because the driver is too old for the PTX version of this NVRTC.
    wants_cubin: AtomicBool,
}

impl Kernels {
    pub(super) fn new() -> Kernels {
        let modules =
            (0..ElementOp::ALL.len() * DType::ALL.len()).map(|_| OnceCell::new()).collect();
        Kernels { modules, generated: RwLock::default(), wants_cubin: AtomicBool::new(false) }
    }

    pub(super) fn is_empty(&self) -> bool {
        let generated = self.generated.read().unwrap_or_else(PoisonError::into_inner);
        generated.is_empty() && self.modules.iter().all(|module| module.get().is_none())
    }

    /// Returns a hand-written kernel, compiling and loading its module on the first call. The context must be current.
    #[inline]
    pub(super) fn shape(
        &self,
        context: &Context,
        module: Module,
        shape: KernelShape,
    ) -> Result<Function> {
        let cell = &self.modules[module.index()];
        if let Some(loaded) = cell.get() {
            statistics::count(Event::Hit);
            return Ok(loaded.functions[shape as usize]);
        }
        let names =
            || KernelShape::ALL.iter().map(|&shape| module.kernel(shape)).collect::<Vec<_>>();
        let source =
            Source { name: &module.to_string(), text: nvrtc::SOURCE, defines: &module.defines() };
        let loaded =
            cell.get_or_try_init(|| self.load(context, &source, &names()).map(Box::new))?;
        Ok(loaded.functions[shape as usize])
    }

    /// Returns a generated kernel, compiling and loading it on the first call. The context must be current.
    #[inline]
    pub(super) fn generated(&self, context: &Context, form: &Form<'_>) -> Result<Function> {
        let functions = self.keyed(context, form.key(), || {
            let name = form.name();
            trace_debug!(kernel = name, source = generate::kernel(form), "a kernel is generated");
            Written { text: generate::source(form), kernels: vec![name.clone()], name }
        })?;
        Ok(functions[0])
    }

    /// Returns the kernels of a module, compiling and loading it on the first call with this key. The context must be
    /// current.
    #[inline]
    pub(super) fn keyed(
        &self,
        context: &Context,
        key: Key,
        write: impl FnOnce() -> Written,
    ) -> Result<Functions> {
        let known = {
            let generated = self.generated.read().unwrap_or_else(PoisonError::into_inner);
            match generated.get(&key) {
                Some(cell) if let Some(loaded) = cell.get() => {
                    statistics::count(Event::Hit);
                    return Ok(loaded.functions.iter().copied().collect());
                }
                cell => cell.cloned(),
            }
        };
        self.load_keyed(context, key, known, write)
    }

    #[cold]
    fn load_keyed(
        &self,
        context: &Context,
        key: Key,
        known: Option<Cell>,
        write: impl FnOnce() -> Written,
    ) -> Result<Functions> {
        let cell = known.unwrap_or_else(|| {
            let mut generated = self.generated.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(generated.entry(key).or_default())
        });
        let loaded = cell.get_or_try_init(|| {
            let Written { name, text, kernels } = write();
            let source = Source { name: &name, text: &text, defines: &[] };
            self.load(context, &source, &kernels)
        })?;
        Ok(loaded.functions.iter().copied().collect())
    }

    /// Compiles and loads a source, and looks up its kernels.
    #[cold]
    fn load(&self, context: &Context, source: &Source<'_>, names: &[String]) -> Result<Loaded> {
        let cubin = self.wants_cubin.load(Ordering::Relaxed);
        let loaded = source.load(context, cubin);
        let too_new = |error| is_code(error, CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
        let module = match loaded {
            Err(error) if !cubin && too_new(&error) => {
                trace_warning!(%error, "the driver is older than NVRTC, which is asked for machine code");
                let loaded = source.load(context, true)?;
                self.wants_cubin.store(true, Ordering::Relaxed);
                Ok(loaded)
            }
            loaded => loaded,
        }?;
        match names.iter().map(|name| look_up(module, name)).collect() {
            Ok(functions) => Ok(Loaded { module, functions }),
            Err(error) => {
                unload(module);
                Err(error)
            }
        }
    }

    /// Unloads all modules. The context must be current, and none of their kernels may be running.
    pub(super) fn unload(&mut self) {
        let generated = self.generated.get_mut().unwrap_or_else(PoisonError::into_inner);
        let modules = self.modules.iter().filter_map(OnceCell::get).map(|loaded| loaded.module);
        for module in modules
            .chain(generated.values().filter_map(|cell| cell.get()).map(|loaded| loaded.module))
        {
            unload(module);
        }
        generated.clear();
        self.modules = Box::default();
    }
}

fn unload(module: sys::CUmodule) {
    // SAFETY: the module was loaded in the current context and is unloaded once.
    if let Err(error) = unsafe { driver!(cuModuleUnload(module)) } {
        trace_warning!(%error, "a module was not unloaded");
        let _ = error;
    }
}

fn look_up(module: sys::CUmodule, kernel: &str) -> Result<Function> {
    let name = CString::new(kernel).map_err(|_| Error::Compile {
        kernel: kernel.into(),
        options: String::new(),
        log: "a NUL byte in a kernel's name".into(),
    })?;
    let mut function = ptr::null_mut();
    // SAFETY: the module is loaded, the name is NUL-terminated, and the driver writes one handle.
    unsafe { driver!(cuModuleGetFunction(&mut function, module, name.as_ptr())) }?;
    Ok(Function(function))
}

/// A source to compile.
struct Source<'a> {
    /// Its name in error messages.
    name: &'a str,
    text: &'a str,
    defines: &'a [String],
}

impl Source<'_> {
    /// Loads the compiled module, from the on-disk cache if it is there.
    fn load(&self, context: &Context, cubin: bool) -> Result<sys::CUmodule> {
        let compiler = nvrtc::library()?;
        let target = compiler.target(context.capability(), cubin)?;
        let options = nvrtc::options(target, compiler.version, self.defines);
        let cache = cache::cache();
        let key = cache::key(self.text, &options, target, compiler.build()?);
        if let Some(code) = cache.and_then(|cache| cache.load(&key)) {
            match load_code(code, target) {
                // The file is intact, but the driver rejects the code; compiling it again may help.
                Err(error)
                    if is_code(&error, CUresult::CUDA_ERROR_INVALID_PTX)
                        || is_code(&error, CUresult::CUDA_ERROR_INVALID_IMAGE) => {}
                loaded => {
                    trace_debug!(name = self.name, %target, "kernels found on the disk");
                    statistics::count(Event::DiskHit);
                    return loaded;
                }
            }
        }
        #[cfg(feature = "tracing")]
        let started = std::time::Instant::now();
        statistics::count(Event::Compilation);
        let code = compiler.compile(self.name, self.text, &options, target)?;
        trace_debug!(
            name = self.name, %target, bytes = code.len(), elapsed = ?started.elapsed(), "kernels compiled"
        );
        if let Some(Err(error)) = cache.map(|cache| cache.store(&key, &code)) {
            trace_warning!(%error, "compiled kernels could not be written to the disk");
            let _ = error;
        }
        load_code(code, target)
    }
}

fn load_code(mut code: Vec<u8>, target: Target) -> Result<sys::CUmodule> {
    if let Target::Ptx(_) = target {
        // The driver reads PTX up to a NUL, which a file in the cache may lack.
        code.push(0);
    }
    let mut raw = ptr::null_mut();
    // SAFETY: PTX ends with a NUL, and machine code contains its own length; the driver copies either, and writes one
    // handle.
    unsafe { driver!(cuModuleLoadData(&mut raw, code.as_ptr().cast())) }?;
    Ok(raw)
}

/// A fast hasher of kernel keys, eight bytes at a time. Keys are not under an attacker's control, so it need not resist
/// crafted collisions.
#[derive(Default)]
struct KeyHasher(u64);

impl KeyHasher {
    fn mix(&mut self, word: u64) {
        // The multiplier is 2^64 divided by the golden ratio; the rotation moves the high bits, which are mixed best,
        // down.
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last));
    }

    fn write_usize(&mut self, length: usize) {
        self.mix(length as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_operations_have_modules_for_their_dtypes_and_no_others() {
        for &op in ElementOp::ALL {
            for &dtype in DType::ALL {
                let exists = Module::all().any(|other| other == Module { op, dtype });
                assert_eq!(exists, op.arity() == 2 && !is_large(op) && op.domain().contains(dtype));
            }
        }
    }

    #[test]
    fn indices_are_distinct_and_in_range() {
        let mut seen = vec![false; Kernels::new().modules.len()];
        for module in Module::all() {
            assert!(!std::mem::replace(&mut seen[module.index()], true), "{module}");
        }
    }

    #[test]
    fn hashes_tell_keys_apart() {
        let hash = |bytes: &[u8]| {
            let mut hasher = KeyHasher::default();
            hasher.write_usize(bytes.len());
            hasher.write(bytes);
            hasher.finish()
        };
        let keys: Vec<Vec<u8>> =
            (0..64).map(|n| (0..n).map(|k: u8| k.wrapping_mul(7)).collect()).collect();
        let mut hashes: Vec<u64> = keys.iter().map(|key| hash(key)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), keys.len());
    }
}
