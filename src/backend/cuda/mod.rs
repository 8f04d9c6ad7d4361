//! The CUDA backend: kernels compiled by NVRTC at their first use, run through cudarc.
//!
//! | File | What it knows |
//! |---|---|
//! | `probe` | which libraries, functions and devices are there |
//! | `driver` | how a call of the driver fails |
//! | `context`, `stream`, `memory` | what a device owns, and in which order it is used |
//! | `reclaim` | how memory is freed, also by a driver that refuses |
//! | `foreign` | how memory changes hands with cudarc's users |
//! | `nvrtc`, `cache`, `kernels` | how kernels are compiled, kept and found |
//! | `launch`, `grad`, `params` | from a plan to a kernel's parameters and grid |

mod cache;
mod context;
mod driver;
mod force;
pub(crate) mod foreign;
mod grad;
mod kernels;
mod launch;
mod memory;
mod nvrtc;
#[allow(non_camel_case_types, dead_code, missing_docs, reason = "generated, as the header has it")]
mod params;
mod probe;
mod reclaim;
mod stream;
mod trace;

use std::sync::Arc;

use cudarc::driver::CudaStream;

use self::context::Context;
pub use self::force::Force;
use self::kernels::KernelOp;
pub(crate) use self::kernels::{Module, last_kernel};
use self::launch::Job;
pub(crate) use self::memory::CudaMemory;
pub(crate) use self::nvrtc::{SOURCE, Target, options};
use self::params::{BL_DTYPE_C128, BL_DTYPE_IMMEDIATE, BL_ROLE_MASK, BlValue};
use self::stream::Stream;
use super::{BinaryCall, CopysignGradCall, Memory, Source, UnaryCall};
use crate::op::UnaryOp;
use crate::plan::{Fit, ROLES, Role};
use crate::promote::Compute;
use crate::storage::Access;
use crate::{DType, Error, Result};

// The kernels count dtypes and roles as the host does.
const _: () = assert!(DType::C128 as u32 == BL_DTYPE_C128);
const _: () = assert!(DType::ALL.len() as u32 == BL_DTYPE_IMMEDIATE);
const _: () = assert!(Role::Mask as u32 == BL_ROLE_MASK);

/// The size of a vector, in bytes.
const VECTOR: usize = params::BL_VECTOR_BYTES as usize;

/// A device as seen through one of its streams.
#[derive(Clone)]
pub(crate) struct CudaDevice {
    lane: Arc<Stream>,
}

/// Devices are equal if memory and kernels are shared, whichever the stream.
impl PartialEq for CudaDevice {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.lane.context(), other.lane.context())
    }
}

/// How many devices there are; none where CUDA cannot be used.
pub(crate) fn device_count() -> usize {
    if nvrtc::library().is_err() { 0 } else { probe::device_count().unwrap_or(0) }
}

/// Whether there is no device to speak of: no driver, or one that finds none.
pub(crate) fn is_absent() -> bool {
    probe::is_absent()
}

/// Makes calls take another kernel than they would.
pub(crate) fn force(force: Force) {
    force::set(force);
}

impl CudaDevice {
    /// The device of this number, on a stream of its own.
    pub(crate) fn new(ordinal: usize) -> Result<CudaDevice> {
        Ok(CudaDevice { lane: context::open(ordinal)? })
    }

    pub(crate) fn ordinal(&self) -> usize {
        self.lane.context().ordinal()
    }

    /// The device of a stream that somebody else has made.
    pub(crate) fn on_stream(stream: &Arc<CudaStream>) -> Result<CudaDevice> {
        let lane = Context::of(stream.context())?.stream(stream)?;
        Ok(CudaDevice { lane })
    }

    /// The same device with a new stream.
    pub(crate) fn with_new_stream(&self) -> Result<CudaDevice> {
        Ok(CudaDevice { lane: self.lane.context().new_stream()? })
    }

    /// The stream for cudarc's users, which may have to be made.
    pub(crate) fn stream(&self) -> Result<&Arc<CudaStream>> {
        self.lane.cudarc()
    }

    /// Blocks until all work on the device is done, on whatever stream.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.lane.context().synchronize()
    }

    /// Makes the device's context the calling thread's current one.
    fn bind(&self) -> Result<()> {
        self.lane.context().bind()
    }

    /// Loads every kernel there is.
    pub(crate) fn load_all(&self) -> Result<()> {
        let context = self.lane.context();
        context.bind()?;
        for module in Module::all() {
            for &shape in module.shapes() {
                context.kernels().get(context, module, shape)?;
            }
        }
        Ok(())
    }

    /// Memory with undefined contents.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<CudaMemory> {
        CudaMemory::allocate(&self.lane, bytes)
    }

    /// Puts the memory of every role in order for this stream.
    fn order(&self, access: &Access<'_>) -> Result<()> {
        for role in [Role::Out, Role::Lhs, Role::Rhs, Role::Mask] {
            match access.memory(role) {
                Some(Memory::Cuda(memory)) if role == Role::Out => {
                    memory.before_write(&self.lane)?
                }
                Some(Memory::Cuda(memory)) if !access.is_written(role) => {
                    memory.before_read(&self.lane)?;
                }
                _ => {}
            }
        }
        self.lane.context().bind()
    }

    /// Queues a binary operation.
    pub(crate) fn binary(&self, call: &BinaryCall<'_>, access: &Access<'_>) -> Result<()> {
        self.elementwise(
            access,
            Elementwise {
                module: Module { op: call.op.into(), compute: call.compute },
                operands: [Some(call.lhs), Some(call.rhs)],
                out: call.out,
                masked: call.masked,
                uniform: match call.compute {
                    Compute::In(dtype) => Some((dtype, call.result)),
                    Compute::ExactIntegers => None,
                },
                plan: call.plan,
            },
        )
    }

    /// Queues a unary operation.
    pub(crate) fn unary(&self, call: &UnaryCall<'_>, access: &Access<'_>) -> Result<()> {
        let (dtype, result) = match (call.op, call.lhs) {
            // A copy is computed in the destination's dtype, so that it is converted once.
            (UnaryOp::Copy, _) => (call.out, call.out),
            (UnaryOp::Signbit, Source::Memory(dtype)) => (dtype, DType::Bool),
            (UnaryOp::Signbit, Source::Scalar(_)) => {
                let (op, allowed) = (call.op.name(), call.op.domain().words());
                return Err(Error::UnsupportedDType { op, dtype: call.out, allowed });
            }
        };
        self.elementwise(
            access,
            Elementwise {
                module: Module { op: call.op.into(), compute: Compute::In(dtype) },
                operands: [Some(call.lhs), None],
                out: call.out,
                masked: call.masked,
                uniform: Some((dtype, result)),
                plan: call.plan,
            },
        )
    }

    /// Queues the gradient of copysign.
    pub(crate) fn copysign_grad(
        &self,
        call: &CopysignGradCall<'_>,
        access: &Access<'_>,
    ) -> Result<()> {
        if call.kept.len == 0 {
            return Ok(());
        }
        self.order(access)?;
        let module = Module { op: KernelOp::CopysignGrad, compute: Compute::In(call.dtype) };
        grad::run(&self.lane, module, call, access)
    }

    fn elementwise(&self, access: &Access<'_>, call: Elementwise<'_>) -> Result<()> {
        let plan = call.plan;
        if plan.len == 0 {
            return Ok(());
        }
        self.order(access)?;
        let mut dtypes = [call.out as u32, BL_DTYPE_IMMEDIATE, BL_DTYPE_IMMEDIATE];
        let mut sizes = [call.out.size(), 0, 0, DType::Bool.size()];
        let mut values = [BlValue::default(); 2];
        let mut immediate = [false; 2];
        let mut uniform =
            call.uniform.is_some_and(|(_, result)| result == call.out) && !call.masked;
        for (side, operand) in call.operands.iter().enumerate() {
            match operand {
                Some(Source::Memory(dtype)) => {
                    dtypes[side + 1] = *dtype as u32;
                    sizes[side + 1] = dtype.size();
                    uniform &= call.uniform.is_some_and(|(compute, _)| compute == *dtype);
                }
                Some(Source::Scalar(bytes)) => {
                    immediate[side] = true;
                    values[side] = BlValue { bits: bytemuck::cast(bytes.0) };
                }
                None => {}
            }
        }
        let mut addresses = [0; ROLES];
        for role in [Role::Out, Role::Lhs, Role::Rhs, Role::Mask] {
            addresses[role as usize] =
                first_element(access, role, plan.offsets[role as usize], sizes[role as usize])?;
        }
        let element_size = call.uniform.map_or(VECTOR, |(dtype, _)| dtype.size());
        let lanes = VECTOR / element_size;
        let place = |role: usize| {
            let elements = addresses[role] >> sizes[role].max(1).trailing_zeros();
            elements as usize & (lanes - 1)
        };
        let fit = Fit {
            lanes,
            element_size,
            arity: call.operands.iter().flatten().count(),
            uniform,
            places: [place(0), place(1), place(2)],
            immediate,
        };
        let (module, out_size) = (call.module, call.out.size());
        Job { lane: &self.lane, module, plan, fit, addresses, out_size, values, dtypes }.run()
    }
}

/// An elementwise call, of whatever arity.
struct Elementwise<'a> {
    module: Module,
    operands: [Option<Source>; 2],
    out: DType,
    masked: bool,
    /// What operands and destination must be for the fast kernels, if there are any.
    uniform: Option<(DType, DType)>,
    plan: &'a crate::plan::Plan,
}

/// The address of a role's first element; 0 for a role without memory.
fn first_element(access: &Access<'_>, role: Role, offset: usize, size: usize) -> Result<u64> {
    match access.memory(role) {
        None => Ok(0),
        Some(Memory::Cuda(memory)) => Ok(memory.address() + (offset * size) as u64),
        #[cfg(feature = "cpu")]
        Some(Memory::Cpu(_)) => {
            Err(Error::DeviceMismatch { op: "launch", lhs: "cuda".into(), rhs: "cpu".into() })
        }
    }
}
