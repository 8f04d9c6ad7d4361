//! The loaded kernels of a context: those of the hand-written modules, and the generated ones by form.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use once_cell::sync::OnceCell;
use smallvec::SmallVec;

use super::context::Context;
use super::generate::{self, Form, Key, is_large};
use super::loading::{Code, Function, Image, Source, Taken};
use super::nvrtc;
use super::shapes::KernelShape;
use super::statistics::{self, Event};
use super::stream::Stream;
use super::trace::trace_debug;
use crate::op::ElementOp;
use crate::{DType, Result};

/// Hand-written kernels: one binary operation in one dtype, in every shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) op: ElementOp,
    pub(crate) dtype: DType,
}

impl Module {
    /// Iterates over every module that can be loaded. There is none for floats of 8 bits, most of whose operations are
    /// programs of several steps.
    pub(crate) fn all() -> impl Iterator<Item = Module> {
        let ops = ElementOp::ALL.iter().copied().filter(|&op| op.arity() == 2 && !is_large(op));
        ops.flat_map(|op| {
            let dtypes = DType::ALL.iter().copied().filter(|dtype| !dtype.is_float8());
            let dtypes = dtypes.filter(move |&dtype| op.domain().contains(dtype));
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

/// Loaded kernels, with their module if they are all of its kernels.
struct Loaded {
    /// The name of the source.
    name: Box<str>,
    functions: Functions,
    image: Option<Image>,
}

/// The hand-written kernels of a module. Machine code is compiled for each of them when it is needed, in a sixth of the
/// time that all of them take. PTX, with which tests and tools work, is compiled for all of them together, in half the
/// time that they take one by one.
#[derive(Default)]
struct Shapes {
    /// The kernels by shape; none has been needed yet if the list is missing.
    kernels: OnceCell<Box<[OnceCell<Loaded>]>>,
    /// The PTX of all of them, loaded.
    whole: OnceCell<Image>,
}

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
    modules: Box<[Shapes]>,
    generated: RwLock<HashMap<Key, Cell, BuildHasherDefault<KeyHasher>>>,
    taken: Taken,
}

impl Kernels {
    pub(super) fn new() -> Kernels {
        let modules = (0..ElementOp::ALL.len() * DType::ALL.len()).map(|_| Shapes::default());
        let (modules, taken) = (modules.collect(), Taken::default());
        Kernels { modules, generated: RwLock::default(), taken }
    }

    /// Returns what the next kernel is compiled to.
    pub(super) fn code(&self, context: &Context) -> Result<Code> {
        self.taken.first(context)
    }

    /// Returns a hand-written kernel, compiling and loading it on the first call. The stream's context must be current.
    #[inline]
    pub(super) fn shape(
        &self,
        stream: &Stream,
        module: Module,
        shape: KernelShape,
    ) -> Result<Function> {
        let shapes = &self.modules[module.index()];
        let loaded = shapes.kernels.get().and_then(|kernels| kernels[shape as usize].get());
        if let Some(loaded) = loaded {
            statistics::count(Event::Hit);
            return Ok(loaded.functions[0]);
        }
        self.load_shape(stream, module, shape)
    }

    #[cold]
    fn load_shape(&self, stream: &Stream, module: Module, shape: KernelShape) -> Result<Function> {
        let (shapes, context) = (&self.modules[module.index()], stream.context());
        let cells = || KernelShape::ALL.iter().map(|_| OnceCell::new()).collect();
        let cell = &shapes.kernels.get_or_init(cells)[shape as usize];
        let loaded = cell.get_or_try_init(|| {
            let _relaxed = stream.about_to_load()?;
            let (kernel, defines) = (module.kernel(shape), module.defines());
            self.taken.either(context, |code| match code {
                Code::Cubin => {
                    let text = &nvrtc::source_of(shape.name());
                    let source = Source { name: &kernel, text, defines: &defines };
                    load(context, &source, std::slice::from_ref(&kernel), code)
                }
                Code::Ptx => {
                    let (name, text) = (&*module.to_string(), nvrtc::SOURCE);
                    let source = Source { name, text, defines: &defines };
                    let whole = shapes.whole.get_or_try_init(|| source.load(context, code))?;
                    let functions = [whole.function(&kernel)?].into_iter().collect();
                    Ok(Loaded { name: kernel.as_str().into(), functions, image: None })
                }
            })
        })?;
        Ok(loaded.functions[0])
    }

    /// Returns a generated kernel, compiling and loading it on the first call. The stream's context must be current.
    #[inline]
    pub(super) fn generated(&self, stream: &Stream, form: &Form<'_>) -> Result<Function> {
        let functions = self.keyed(stream, form.key(), || {
            let name = form.name();
            trace_debug!(kernel = name, source = generate::kernel(form), "a kernel is generated");
            Written { text: generate::source(form), kernels: vec![name.clone()], name }
        })?;
        Ok(functions[0])
    }

    /// Returns the kernels of a module, compiling and loading it on the first call with this key. The stream's context
    /// must be current.
    #[inline]
    pub(super) fn keyed(
        &self,
        stream: &Stream,
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
        self.load_keyed(stream, key, known, write)
    }

    #[cold]
    fn load_keyed(
        &self,
        stream: &Stream,
        key: Key,
        known: Option<Cell>,
        write: impl FnOnce() -> Written,
    ) -> Result<Functions> {
        let cell = known.unwrap_or_else(|| {
            let mut generated = self.generated.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(generated.entry(key).or_default())
        });
        let context = stream.context();
        let loaded = cell.get_or_try_init(|| {
            let _relaxed = stream.about_to_load()?;
            let Written { name, text, kernels } = write();
            let source = Source { name: &name, text: &text, defines: &[] };
            self.taken.either(context, |code| load(context, &source, &kernels, code))
        })?;
        Ok(loaded.functions.iter().copied().collect())
    }

    /// Returns the names and handles of the kernels that are loaded.
    pub(super) fn loaded(&self) -> Vec<(Box<str>, Function)> {
        let written = self.modules.iter().filter_map(|shapes| shapes.kernels.get()).flatten();
        let generated = self.generated.read().unwrap_or_else(PoisonError::into_inner);
        let all = written.filter_map(OnceCell::get);
        let all = all.chain(generated.values().filter_map(|cell| cell.get()));
        let named = |loaded: &Loaded| {
            let functions = loaded.functions.clone();
            functions
                .into_iter()
                .map(|function| (loaded.name.clone(), function))
                .collect::<Vec<_>>()
        };
        all.flat_map(named).collect()
    }

    /// Unloads all modules. The context must be current, and none of their kernels may be running.
    pub(super) fn unload(&mut self) {
        let generated = self.generated.get_mut().unwrap_or_else(PoisonError::into_inner);
        let of_shapes = |shapes: &Shapes| {
            let kernels = shapes.kernels.get().into_iter().flatten().filter_map(OnceCell::get);
            kernels.filter_map(|loaded| loaded.image.as_ref()).for_each(Image::unload);
            shapes.whole.get().into_iter().for_each(Image::unload);
        };
        self.modules.iter().for_each(of_shapes);
        let loaded = generated.values().filter_map(|cell| cell.get());
        loaded.filter_map(|loaded| loaded.image.as_ref()).for_each(Image::unload);
        generated.clear();
        self.modules = Box::default();
    }
}

/// Loads a source that has these kernels.
fn load(context: &Context, source: &Source<'_>, kernels: &[String], code: Code) -> Result<Loaded> {
    let image = source.load(context, code)?;
    match kernels.iter().map(|kernel| image.function(kernel)).collect() {
        Ok(functions) => Ok(Loaded { name: source.name.into(), functions, image: Some(image) }),
        Err(error) => {
            image.unload();
            Err(error)
        }
    }
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
                let is_written = op.arity() == 2 && !is_large(op) && !dtype.is_float8();
                assert_eq!(exists, is_written && op.domain().contains(dtype), "{op:?} {dtype}");
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
