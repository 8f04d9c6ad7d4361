//! What the backends are asked to do, and the memory they do it on.
//!
//! A backend is given a [`Plan`], dtypes and locked memory. It never broadcasts, promotes, or
//! chooses a destination: that has been done.

#[cfg(feature = "cpu")]
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use std::mem::ManuallyDrop;
use std::ops::Range;

use bytemuck::AnyBitPattern;

use crate::device::Kind;
use crate::op::{BinaryOp, UnaryOp};
use crate::plan::Plan;
use crate::promote::Compute;
use crate::scalar::ElementBytes;
use crate::storage::Access;
use crate::{DType, Device, Element, Result};

/// A block of a device's memory.
pub(crate) enum Memory {
    #[cfg(feature = "cpu")]
    Cpu(cpu::CpuMemory),
    #[cfg(feature = "cuda")]
    Cuda(cuda::CudaMemory),
}

/// Where an operand's elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The memory of the operand's role, holding elements of this dtype.
    Memory(DType),
    /// One number for all elements, already in the dtype of the computation.
    Scalar(ElementBytes),
}

/// A binary operation: convert both operands to `compute`, apply `op`, convert the `result` to the
/// destination's dtype `out`.
#[derive(Clone, Debug)]
pub(crate) struct BinaryCall<'a> {
    pub(crate) op: BinaryOp,
    pub(crate) compute: Compute,
    pub(crate) result: DType,
    pub(crate) lhs: Source,
    pub(crate) rhs: Source,
    pub(crate) out: DType,
    pub(crate) masked: bool,
    pub(crate) plan: &'a Plan,
}

/// A unary operation on the elements of `lhs`, converted to the destination's dtype `out`.
#[derive(Clone, Debug)]
pub(crate) struct UnaryCall<'a> {
    pub(crate) op: UnaryOp,
    pub(crate) lhs: Source,
    pub(crate) out: DType,
    pub(crate) masked: bool,
    pub(crate) plan: &'a Plan,
}

/// The gradient of `copysign` by its left operand, summed over the dimensions in which that was
/// broadcast. `kept` walks the destination's elements and the first element of each sum, `summed`
/// the elements of one sum; in both the roles are destination, left operand, right operand and, in
/// the place of the mask, the gradient that comes in.
#[derive(Clone, Debug)]
pub(crate) struct CopysignGradCall<'a> {
    pub(crate) dtype: DType,
    pub(crate) kept: &'a Plan,
    pub(crate) summed: &'a Plan,
}

/// Runs a call on the device that all of the access' memory belongs to.
macro_rules! dispatch {
    ($device:expr, $access:expr, $call:expr, $function:ident) => {
        match $device.kind() {
            #[cfg(feature = "cpu")]
            Kind::Cpu => cpu::$function($call, $access),
            #[cfg(feature = "cuda")]
            Kind::Cuda(device) => device.$function($call, $access),
        }
    };
}

pub(crate) fn binary(device: &Device, call: &BinaryCall<'_>, access: &Access<'_>) -> Result<()> {
    dispatch!(device, access, call, binary)
}

pub(crate) fn unary(device: &Device, call: &UnaryCall<'_>, access: &Access<'_>) -> Result<()> {
    dispatch!(device, access, call, unary)
}

pub(crate) fn copysign_grad(
    device: &Device,
    call: &CopysignGradCall<'_>,
    access: &Access<'_>,
) -> Result<()> {
    dispatch!(device, access, call, copysign_grad)
}

impl Memory {
    /// Copies bytes of the host into the front of memory that nobody else can see yet.
    pub(crate) fn upload(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            #[cfg(feature = "cpu")]
            Memory::Cpu(memory) => {
                memory.write(bytes);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => memory.upload(bytes),
        }
    }

    /// Copies a range of bytes to the host, as numbers whose size divides it, waiting for the device.
    pub(crate) fn download<B: AnyBitPattern>(&self, range: Range<usize>) -> Result<Vec<B>> {
        match self {
            #[cfg(feature = "cpu")]
            Memory::Cpu(memory) => memory.read(range),
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => memory.download(range),
        }
    }

    /// Copies a range of another memory's bytes into the front of this one, which nobody else can
    /// see yet; between CUDA devices without waiting, else through the host.
    pub(crate) fn copy_from(&mut self, source: &Memory, range: Range<usize>) -> Result<()> {
        match (self, source) {
            #[cfg(feature = "cuda")]
            (Memory::Cuda(memory), Memory::Cuda(source)) => memory.copy_from_peer(source, range),
            #[cfg(feature = "cpu")]
            (memory, source) => memory.upload(&source.download::<u8>(range)?),
        }
    }

    /// Sets every byte to zero.
    pub(crate) fn clear(&mut self) -> Result<()> {
        match self {
            #[cfg(feature = "cpu")]
            Memory::Cpu(memory) => {
                memory.clear();
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => memory.clear(),
        }
    }
}

/// Downloaded bits as elements, without a copy, if every one of them is valid.
pub(crate) fn elements<T: Element>(bits: Vec<T::Bits>) -> Option<Vec<T>> {
    if !bits.iter().all(T::is_valid_bit_pattern) {
        return None;
    }
    let mut bits = ManuallyDrop::new(bits);
    // SAFETY: the vector is given up, its elements are valid as `T`, and `Bits` has the same size
    // and alignment, as `CheckedBitPattern` promises.
    Some(unsafe { Vec::from_raw_parts(bits.as_mut_ptr().cast(), bits.len(), bits.capacity()) })
}
