//! Which kernels there are, what they are called, and where they are once loaded.

use std::cell::Cell;
use std::ffi::CString;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::sys::{self, CUresult};
use once_cell::sync::OnceCell;

use super::cache;
use super::context::Context;
use super::driver::{driver, is_code};
use super::nvrtc::{self, Target};
use super::trace::{trace_debug, trace_warning};
use crate::op::{BinaryOp, Domain, Shift, UnaryOp, for_each_binary_op};
use crate::plan::Shape;
use crate::promote::Compute;
use crate::{DType, Result};

macro_rules! define_kernel_op {
    (
        shifts { $($shifts:tt)* }
        plain { $($variant:ident $name:ident $assign:ident $family:ident $domain:ident
            $function:ident $doc:literal [$($x:expr),*] $y:expr => $dtype:ident [$($result:expr),*];)* }
    ) => {
        /// An operation that has kernels. One more than that has none of its own: the two kinds of
        /// left shift are the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum KernelOp {
            LeftShift,
            RightShift,
            RightShiftLogical,
            $($variant,)*
            Cast,
            Signbit,
            CopysignGrad,
        }

        impl KernelOp {
            /// Every operation that has kernels.
            pub(crate) const ALL: &'static [KernelOp] = &[
                KernelOp::LeftShift,
                KernelOp::RightShift,
                KernelOp::RightShiftLogical,
                $(KernelOp::$variant,)*
                KernelOp::Cast,
                KernelOp::Signbit,
                KernelOp::CopysignGrad,
            ];

            /// The row of the op table that the kernels are for.
            const fn binary(self) -> Option<BinaryOp> {
                match self {
                    KernelOp::LeftShift => Some(BinaryOp::LeftShift(Shift::Arithmetic)),
                    KernelOp::RightShift => Some(BinaryOp::RightShift(Shift::Arithmetic)),
                    KernelOp::RightShiftLogical => Some(BinaryOp::RightShift(Shift::Logical)),
                    $(KernelOp::$variant => Some(BinaryOp::$variant),)*
                    KernelOp::Cast | KernelOp::Signbit | KernelOp::CopysignGrad => None,
                }
            }
        }

        impl From<BinaryOp> for KernelOp {
            fn from(op: BinaryOp) -> KernelOp {
                match op {
                    BinaryOp::LeftShift(_) => KernelOp::LeftShift,
                    BinaryOp::RightShift(Shift::Arithmetic) => KernelOp::RightShift,
                    BinaryOp::RightShift(Shift::Logical) => KernelOp::RightShiftLogical,
                    $(BinaryOp::$variant => KernelOp::$variant,)*
                }
            }
        }
    };
}

for_each_binary_op!(define_kernel_op);

impl From<UnaryOp> for KernelOp {
    fn from(op: UnaryOp) -> KernelOp {
        match op {
            UnaryOp::Copy => KernelOp::Cast,
            UnaryOp::Signbit => KernelOp::Signbit,
        }
    }
}

impl KernelOp {
    /// The name of the device function.
    pub(crate) const fn name(self) -> &'static str {
        match self.binary() {
            Some(op) => op.name(),
            None => match self {
                KernelOp::Cast => "cast",
                KernelOp::Signbit => "signbit",
                _ => "copysign_grad",
            },
        }
    }

    /// Whether there is a module for this dtype.
    fn computes(self, compute: Compute) -> bool {
        let domain = match (self.binary(), self) {
            (Some(op), _) => op.domain(),
            (None, KernelOp::Signbit) => UnaryOp::Signbit.domain(),
            (None, KernelOp::CopysignGrad) => Domain::Floats,
            (None, _) => UnaryOp::Copy.domain(),
        };
        match compute {
            Compute::In(dtype) => domain.contains(dtype),
            Compute::ExactIntegers => self.binary().is_some_and(|op| op.family().is_comparison()),
        }
    }
}

/// The kernels that are compiled together: one operation in one dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) op: KernelOp,
    pub(crate) compute: Compute,
}

/// How many dtypes modules are told apart by: all of them, and exact integers.
const DTYPES: usize = DType::ALL.len() + 1;

impl Module {
    /// Every module that can ever be loaded.
    pub(crate) fn all() -> impl Iterator<Item = Module> {
        let dtypes = DType::ALL.iter().map(|&dtype| Compute::In(dtype));
        let computes = dtypes.chain([Compute::ExactIntegers]);
        KernelOp::ALL.iter().flat_map(move |&op| {
            let computed = computes.clone().filter(move |&compute| op.computes(compute));
            computed.map(move |compute| Module { op, compute })
        })
    }

    /// The dtype as the kernels' source calls it.
    pub(crate) const fn dtype(self) -> &'static str {
        match self.compute {
            Compute::In(dtype) => dtype.name(),
            Compute::ExactIntegers => "int",
        }
    }

    /// Every shape that the module has a kernel for.
    pub(crate) fn shapes(self) -> &'static [Shape] {
        use Shape::*;
        match (self.op, self.compute) {
            (KernelOp::CopysignGrad, _) => &[Each, Sum],
            (KernelOp::Cast | KernelOp::Signbit, _) => {
                &[Contig, Gath2, Gath4, Gath8, Mixed, Mixedw]
            }
            (_, Compute::ExactIntegers) => &[Mixed, Mixedw],
            _ => &[
                Contig, Scalar, Lscalar, Row, Lrow, Col, Lcol, Gen2, Gen4, Gen8, Gath2, Gath4,
                Gath8, Mixed, Mixedw,
            ],
        }
    }

    /// The name of the kernel of a shape.
    pub(crate) fn kernel(self, shape: Shape) -> String {
        format!("{}_{self}", shape.name())
    }

    fn index(self) -> usize {
        let dtype = match self.compute {
            Compute::In(dtype) => dtype as usize,
            Compute::ExactIntegers => DType::ALL.len(),
        };
        self.op as usize * DTYPES + dtype
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.op.name(), self.dtype())
    }
}

/// A kernel of a loaded module.
#[derive(Clone, Copy)]
pub(super) struct Function(sys::CUfunction);

// SAFETY: a function is a handle of the driver, which may be used on any thread.
unsafe impl Send for Function {}
// SAFETY: as above; the driver's calls are thread-safe.
unsafe impl Sync for Function {}

impl Function {
    pub(super) fn raw(self) -> sys::CUfunction {
        self.0
    }
}

/// A loaded module, with all of its kernels looked up.
struct Loaded {
    module: sys::CUmodule,
    functions: [Option<Function>; Shape::COUNT],
}

// SAFETY: a module is a handle of the driver, which may be used on any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

/// The loaded modules of a context. Finding a kernel that is loaded takes one atomic load.
pub(super) struct Kernels {
    modules: Box<[OnceCell<Box<Loaded>>]>,
    /// The driver does not know this NVRTC's PTX: machine code it is, from now on.
    wants_cubin: AtomicBool,
}

impl Kernels {
    pub(super) fn new() -> Kernels {
        let modules = (0..KernelOp::ALL.len() * DTYPES).map(|_| OnceCell::new()).collect();
        Kernels { modules, wants_cubin: AtomicBool::new(false) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.modules.iter().all(|module| module.get().is_none())
    }

    /// A kernel, compiled and loaded at the first call. The context is current.
    #[inline]
    pub(super) fn get(&self, context: &Context, module: Module, shape: Shape) -> Result<Function> {
        LAST.set(Some((module, shape)));
        let cell = &self.modules[module.index()];
        let loaded = match cell.get() {
            Some(loaded) => loaded,
            None => cell.get_or_try_init(|| self.load(context, module).map(Box::new))?,
        };
        loaded.functions[shape as usize].ok_or_else(|| missing(module, shape))
    }

    #[cold]
    fn load(&self, context: &Context, module: Module) -> Result<Loaded> {
        let cubin = self.wants_cubin.load(Ordering::Relaxed);
        let loaded = load_module(context, module, cubin);
        let too_new = |error| is_code(error, CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
        let raw = match loaded {
            Err(error) if !cubin && too_new(&error) => {
                trace_warning!(%error, "the driver is older than NVRTC, which is asked for machine code");
                let loaded = load_module(context, module, true)?;
                self.wants_cubin.store(true, Ordering::Relaxed);
                Ok(loaded)
            }
            loaded => loaded,
        }?;
        let mut loaded = Loaded { module: raw, functions: [None; Shape::COUNT] };
        for &shape in module.shapes() {
            match look_up(raw, module, shape) {
                Ok(function) => loaded.functions[shape as usize] = Some(function),
                Err(error) => {
                    loaded.unload();
                    return Err(error);
                }
            }
        }
        Ok(loaded)
    }

    /// Gives the modules back to the driver. None of their kernels may be running.
    pub(super) fn unload(&mut self) {
        for loaded in self.modules.iter_mut().filter_map(OnceCell::take) {
            loaded.unload();
        }
    }
}

impl Loaded {
    fn unload(&self) {
        // SAFETY: the module was loaded in the current context, and is unloaded once.
        if let Err(error) = unsafe { driver!(cuModuleUnload(self.module)) } {
            trace_warning!(%error, "a module was not unloaded");
            let _ = error;
        }
    }
}

fn look_up(raw: sys::CUmodule, module: Module, shape: Shape) -> Result<Function> {
    let name = CString::new(module.kernel(shape)).map_err(|_| missing(module, shape))?;
    let mut function = ptr::null_mut();
    // SAFETY: the module is loaded, the name is a string, and the driver writes one handle.
    unsafe { driver!(cuModuleGetFunction(&mut function, raw, name.as_ptr())) }?;
    Ok(Function(function))
}

fn load_module(context: &Context, module: Module, cubin: bool) -> Result<sys::CUmodule> {
    let compiler = nvrtc::library()?;
    let target = compiler.target(context.capability(), cubin)?;
    let options = nvrtc::options(module.op.name(), module.dtype(), target);
    let cache = cache::cache();
    let key = cache::key(&options, target, compiler.version);
    if let Some(code) = cache.and_then(|cache| cache.load(&key)) {
        trace_debug!(%module, %target, "kernels found on the disk");
        match load_code(code, target) {
            // Whole, but not what this driver takes: compiled afresh it may be.
            Err(error)
                if is_code(&error, CUresult::CUDA_ERROR_INVALID_PTX)
                    || is_code(&error, CUresult::CUDA_ERROR_INVALID_IMAGE) => {}
            loaded => return loaded,
        }
    }
    #[cfg(feature = "tracing")]
    let started = std::time::Instant::now();
    let code = compiler.compile(&module.to_string(), &options, target)?;
    trace_debug!(%module, %target, bytes = code.len(), elapsed = ?started.elapsed(), "kernels compiled");
    if let Some(Err(error)) = cache.map(|cache| cache.store(&key, &code)) {
        trace_warning!(%error, "compiled kernels could not be written to the disk");
        let _ = error;
    }
    load_code(code, target)
}

fn load_code(mut code: Vec<u8>, target: Target) -> Result<sys::CUmodule> {
    if let Target::Ptx(_) = target {
        // The driver reads PTX up to a NUL; a file could have lost it.
        code.push(0);
    }
    let mut raw = ptr::null_mut();
    // SAFETY: PTX ends with a NUL, machine code knows its own length; the driver copies either and
    // writes one handle.
    unsafe { driver!(cuModuleLoadData(&mut raw, code.as_ptr().cast())) }?;
    Ok(raw)
}

/// The tables and the source agree, as a test makes sure; this is for the day that they do not.
#[cold]
fn missing(module: Module, shape: Shape) -> crate::Error {
    crate::Error::Compile {
        kernel: module.kernel(shape),
        options: String::new(),
        log: "the module has no such kernel".into(),
    }
}

thread_local! {
    /// The kernel that was last asked for on this thread.
    static LAST: Cell<Option<(Module, Shape)>> = const { Cell::new(None) };
}

/// The kernel that was last launched by this thread.
pub(crate) fn last_kernel() -> Option<String> {
    LAST.get().map(|(module, shape)| module.kernel(shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_modules_for_its_dtypes_and_no_others() {
        for &op in BinaryOp::ALL {
            for &dtype in DType::ALL {
                let module = Module { op: op.into(), compute: Compute::In(dtype) };
                assert_eq!(Module::all().any(|other| other == module), op.domain().contains(dtype));
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
    fn both_left_shifts_are_one_kernel() {
        let logical = KernelOp::from(BinaryOp::LeftShift(Shift::Logical));
        let module = Module { op: logical, compute: Compute::In(DType::I8) };
        assert_eq!(module.kernel(Shape::Contig), "contig_bitwise_left_shift_i8");
    }
}
