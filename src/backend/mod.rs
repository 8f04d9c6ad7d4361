//! The backends' common interface, and the memory they work on.
//!
//! A backend is given a [`Request`] and locked memory. It never broadcasts, promotes, converts of its own accord
//! or chooses a destination: that has been done.

mod borrow;
#[cfg(feature = "cpu")]
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use std::mem::ManuallyDrop;
use std::ops::Range;

use bytemuck::AnyBitPattern;

pub use self::borrow::HostSlice;
pub(crate) use self::borrow::storage_of;
use crate::device::DeviceKind;
use crate::exclusive::Exclusive;
use crate::gather::GatherRequest;
use crate::program::Program;
use crate::request::Request;
use crate::scalar::ElementBytes;
use crate::scan::ScanRequest;
use crate::storage::Access;
use crate::{Device, Element, Result};

/// A block of a device's memory.
pub(crate) enum Memory {
    #[cfg(feature = "cpu")]
    Cpu(cpu::CpuMemory),
    #[cfg(feature = "cuda")]
    Cuda(cuda::CudaMemory),
}

/// Runs a request on the device that all of the access' memory belongs to.
pub(crate) fn run(device: &Device, request: &Request<'_>, access: &Access<'_>) -> Result<()> {
    match device.kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => cpu::run(request, access),
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(device) => device.run(request, access),
    }
}

/// Runs a scan on the device that all of the access' memory belongs to.
pub(crate) fn scan(device: &Device, request: &ScanRequest, access: &Access<'_>) -> Result<()> {
    match device.kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => cpu::scan(request, access),
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(device) => device.scan(request, access),
    }
}

/// Runs a look-up on the device that all of the access' memory belongs to.
pub(crate) fn gather(
    device: &Device,
    request: &GatherRequest<'_>,
    access: &Access<'_>,
) -> Result<()> {
    match device.kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => {
            cpu::gather(request, access);
            Ok(())
        }
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(device) => device.gather(request, access),
    }
}

/// Fails if the thread captures a graph of the device. The operation cannot be part of it, for a reason that ends with what
/// to do instead: it waits for the device.
pub(crate) fn forbid_in_graphs(device: &Device, op: &'static str, reason: &str) -> Result<()> {
    match device.kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => {
            let _ = (op, reason);
            Ok(())
        }
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(_) => cuda::forbid_operation(op, reason),
    }
}

/// Returns whether [`places`] needs no running sums.
pub(crate) fn counts_on_the_way(device: &Device) -> bool {
    match device.kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => true,
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(_) => false,
    }
}

/// Writes the places of those of `len` bools that are true. The slots are the places, as many as are true; the bools; and
/// their running sums, unless the device counts on the way. All are contiguous at the start of their storages.
pub(crate) fn places(
    device: &Device,
    op: &'static str,
    len: usize,
    access: &Access<'_>,
) -> Result<()> {
    match device.kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => {
            let _ = op;
            cpu::places(len, access);
            Ok(())
        }
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(device) => device.places(op, len, access),
    }
}

/// Returns whether the device runs executables as part of its requests, beside whole calls.
#[cfg(feature = "cpu")]
#[inline]
pub(crate) fn has_executables(device: &Device) -> bool {
    match device.kind() {
        DeviceKind::Cpu => true,
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(_) => false,
    }
}

/// A program for contiguous operands, which has been translated for the kind of device that it is run on.
pub(crate) enum Executable {
    #[cfg(feature = "cpu")]
    Cpu(cpu::Executable),
    #[cfg(feature = "cuda")]
    Cuda(cuda::Executable),
}

impl Executable {
    /// Translates a program, given which of its inputs in memory are one element for all. Returns `None` if there are too
    /// many of them, or if a step is not defined for its dtype.
    pub(crate) fn new(
        device: &Device,
        op: &'static str,
        program: Program,
        is_one: impl Fn(usize) -> bool,
    ) -> Option<Executable> {
        match device.kind() {
            #[cfg(feature = "cpu")]
            DeviceKind::Cpu => {
                let _ = op;
                cpu::Executable::new(program, is_one).map(Executable::Cpu)
            }
            #[cfg(feature = "cuda")]
            DeviceKind::Cuda(_) => cuda::Executable::new(op, program, is_one).map(Executable::Cuda),
        }
    }

    /// Whether so many elements, at least one, are best computed without a plan.
    #[inline(always)]
    pub(crate) fn takes(&self, len: usize) -> bool {
        match self {
            #[cfg(feature = "cpu")]
            Executable::Cpu(executable) => executable.takes(len),
            #[cfg(feature = "cuda")]
            Executable::Cuda(executable) => executable.takes(len),
        }
    }

    /// Gives one of the program's inputs, a number, another value.
    #[inline(always)]
    pub(crate) fn set_number(&mut self, input: u16, number: ElementBytes) {
        match self {
            #[cfg(feature = "cpu")]
            Executable::Cpu(executable) => executable.set_number(input, number),
            #[cfg(feature = "cuda")]
            Executable::Cuda(executable) => executable.set_number(input, number),
        }
    }

    /// Computes `len` elements, which it takes, from those of the other slots to those of the destination, the first slot,
    /// each from its offset on.
    ///
    /// The memory is that of the device and holds so many elements, or one, of the program's dtypes, in the order of its
    /// slots. The caller holds the locks: that of the destination, whose memory is no other slot's, for writing. The error,
    /// which the CPU never has, is boxed, because a larger result would be written to memory in every call.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        device: &Device,
        len: usize,
        out: Option<Exclusive<'_, Memory>>,
        memories: &[&Memory],
        offsets: &[usize],
    ) -> std::result::Result<(), Box<crate::Error>> {
        match (self, device.kind()) {
            #[cfg(feature = "cpu")]
            (Executable::Cpu(executable), DeviceKind::Cpu) => {
                let _ = out;
                executable.run(len, memories, offsets);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            (Executable::Cuda(executable), DeviceKind::Cuda(device)) => {
                executable.run(device, len, out, memories, offsets).map_err(Box::new)
            }
            #[cfg(all(feature = "cpu", feature = "cuda"))]
            _ => Err(Box::new(crate::Error::InvalidArgument {
                op: "prepared",
                reason: "it was prepared for another kind of device".into(),
            })),
        }
    }
}

/// Compiles the kernels that a request will need, and runs nothing.
pub(crate) fn prepare(device: &Device, request: &Request<'_>, access: &Access<'_>) -> Result<()> {
    match device.kind() {
        // The loops of the CPU are compiled with the crate.
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => {
            let _ = (request, access);
            Ok(())
        }
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(device) => device.prepare(request, access),
    }
}

impl Memory {
    /// Returns the memory if it is a CUDA device's.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn as_cuda(&self) -> Option<&cuda::CudaMemory> {
        match self {
            #[cfg(feature = "cpu")]
            Memory::Cpu(_) => None,
            Memory::Cuda(memory) => Some(memory),
        }
    }

    /// Returns the address of the first byte.
    pub(crate) fn address(&self) -> usize {
        match self {
            #[cfg(feature = "cpu")]
            Memory::Cpu(memory) => memory.as_ptr().addr(),
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => memory.address() as usize,
        }
    }

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

/// Returns downloaded bits as elements, without a copy, or `None` if one of them is invalid.
pub(crate) fn elements<T: Element>(bits: Vec<T::Bits>) -> Option<Vec<T>> {
    if !bits.iter().all(T::is_valid_bit_pattern) {
        return None;
    }
    let mut bits = ManuallyDrop::new(bits);
    // SAFETY: the vector is given up, its elements are valid as `T`, and `Bits` has the same size
    // and alignment, as `CheckedBitPattern` promises.
    Some(unsafe { Vec::from_raw_parts(bits.as_mut_ptr().cast(), bits.len(), bits.capacity()) })
}
