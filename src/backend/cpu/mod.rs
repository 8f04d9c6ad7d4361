//! The CPU backend.

mod convert;
mod element;
mod grad;
mod kernels;
mod memory;
mod threads;
mod walk;

pub(crate) use memory::CpuMemory;

use std::ptr;

use self::convert::{convert_to, converter, scatterer};
use self::kernels::{binary_loops, unary_loop};
use self::walk::{Body, Feed, Store, Walk};
use super::{BinaryCall, CopysignGradCall, Memory, Source, UnaryCall};
use crate::op::{Domain, UnaryOp};
use crate::plan::{Plan, ROLES, Role};
use crate::promote::Compute;
use crate::storage::Access;
use crate::{DType, Error, Result};

/// Runs a binary operation on memory that the caller has locked.
pub(crate) fn binary(call: &BinaryCall<'_>, access: &Access<'_>) -> Result<()> {
    let missing = || missing_kernel(call.op.name(), call.result, call.op.domain().words());
    let loops = binary_loops(call.op, call.compute).ok_or_else(missing)?;
    let memory = Operands::new(call.plan, access, [&call.lhs, &call.rhs], call.compute, call.out);
    let mut lhs = memory.feed(Role::Lhs).ok_or_else(missing)?;
    let rhs = memory.feed(Role::Rhs).ok_or_else(missing)?;
    let function = match (lhs, rhs) {
        (Feed::Constant(convert), Feed::Constant(_)) => {
            lhs = Feed::Block(convert);
            loops.constant_rhs
        }
        (_, Feed::Constant(_)) => loops.constant_rhs,
        (Feed::Constant(_), _) => loops.constant_lhs,
        _ => loops.both,
    };
    let walk = Walk {
        plan: call.plan,
        body: Body::Binary(function, lhs, rhs),
        store: store(call.plan, call.result, call.out, call.masked),
        bases: memory.bases,
        sizes: memory.sizes,
    };
    // SAFETY: the plan was made from layouts that lie inside their storages, whose locks `access`
    // holds; storages are written in full before they are shared, and hold elements of the dtype
    // that the call names; the destination's elements were checked to be distinct, and operands
    // that share its storage are the same view or apart, and never read directly.
    unsafe { walk.run() };
    Ok(())
}

/// Runs a unary operation on memory that the caller has locked.
pub(crate) fn unary(call: &UnaryCall<'_>, access: &Access<'_>) -> Result<()> {
    let missing = || missing_kernel(call.op.name(), call.out, call.op.domain().words());
    let (from, result) = match (call.op, call.lhs) {
        (UnaryOp::Copy, Source::Memory(dtype)) => (dtype, call.out),
        (UnaryOp::Copy, Source::Scalar(_)) => (call.out, call.out),
        (UnaryOp::Signbit, Source::Memory(dtype)) => (dtype, DType::Bool),
        (UnaryOp::Signbit, Source::Scalar(_)) => return Err(missing()),
    };
    let sources = [&call.lhs, &call.lhs];
    let memory = Operands::new(call.plan, access, sources, Compute::In(from), call.out);
    let body = match unary_loop(call.op, from) {
        Some(function) => {
            let feed = match memory.feed(Role::Lhs).ok_or_else(missing)? {
                Feed::Constant(convert) => Feed::Block(convert),
                feed => feed,
            };
            Body::Unary(function, feed)
        }
        None if call.op == UnaryOp::Copy => Body::Copy(convert_to(from, call.out)),
        None => return Err(missing()),
    };
    let walk = Walk {
        plan: call.plan,
        body,
        store: store(call.plan, result, call.out, call.masked),
        bases: memory.bases,
        sizes: memory.sizes,
    };
    // SAFETY: as in `binary`; copies never share their destination's storage.
    unsafe { walk.run() };
    Ok(())
}

/// Runs the gradient of copysign on memory that the caller has locked.
pub(crate) fn copysign_grad(call: &CopysignGradCall<'_>, access: &Access<'_>) -> Result<()> {
    let allowed = Domain::Floats.words();
    let missing = || missing_kernel("copysign_grad", call.dtype, allowed);
    let function = grad::function(call.dtype).ok_or_else(missing)?;
    let bases = [Role::Out, Role::Lhs, Role::Rhs, Role::Mask]
        .map(|role| base(access, role, call.kept.offsets[role as usize] * call.dtype.size()));
    // SAFETY: both plans come from layouts that lie inside their storages, whose locks `access`
    // holds and which hold elements of this dtype; the destination is fresh storage.
    unsafe { function(call.kept, call.summed, bases) };
    Ok(())
}

/// The address of a role's element that lies this many bytes into its memory; null without memory.
fn base(access: &Access<'_>, role: Role, offset: usize) -> *mut u8 {
    match access.memory(role) {
        Some(Memory::Cpu(memory)) => memory.as_ptr().wrapping_add(offset),
        _ => ptr::null_mut(),
    }
}

/// Memory and dtypes of a call's operands.
struct Operands<'a> {
    plan: &'a Plan,
    compute: Compute,
    dtypes: [Option<DType>; ROLES],
    is_written: [bool; ROLES],
    bases: [*mut u8; ROLES],
    sizes: [usize; ROLES],
}

impl<'a> Operands<'a> {
    /// Looks up every role's first element. A scalar operand is memory too: the call's own bytes,
    /// which the plan walks in steps of 0.
    fn new(
        plan: &'a Plan,
        access: &Access<'_>,
        sources: [&Source; 2],
        compute: Compute,
        out: DType,
    ) -> Operands<'a> {
        let dtype_of = |source: &Source| match (source, compute) {
            (Source::Memory(dtype), _) => Some(*dtype),
            (Source::Scalar(_), Compute::In(dtype)) => Some(dtype),
            (Source::Scalar(_), Compute::ExactIntegers) => None,
        };
        let dtypes = [Some(out), dtype_of(sources[0]), dtype_of(sources[1]), Some(DType::Bool)];
        let sizes = dtypes.map(|dtype| dtype.map_or(0, DType::size));
        let roles = [Role::Out, Role::Lhs, Role::Rhs, Role::Mask];
        let mut bases = roles
            .map(|role| base(access, role, plan.offsets[role as usize] * sizes[role as usize]));
        for (role, source) in [Role::Lhs, Role::Rhs].into_iter().zip(sources) {
            if let Source::Scalar(bytes) = source {
                bases[role as usize] = bytes.0.as_ptr().cast_mut();
            }
        }
        let is_written = roles.map(|role| access.is_written(role));
        Operands { plan, compute, dtypes, is_written, bases, sizes }
    }

    /// How the inner loop gets an operand's elements, if there is a way.
    fn feed(&self, role: Role) -> Option<Feed> {
        let dtype = self.dtypes[role as usize]?;
        let convert = converter(dtype, self.compute)?;
        let direct = self.compute == Compute::In(dtype) && !self.is_written[role as usize];
        Some(match self.plan.strides_of(role)[0] {
            0 => Feed::Constant(convert),
            1 if direct => Feed::Direct,
            _ => Feed::Block(convert),
        })
    }
}

/// How results of a dtype reach a destination of another.
fn store(plan: &Plan, result: DType, out: DType, masked: bool) -> Store {
    let side_by_side = plan.rank == 0 || plan.strides_of(Role::Out)[0] == 1;
    if side_by_side && result == out && !masked {
        return Store::Direct;
    }
    let convert = (result != out).then(|| (convert_to(result, out), result.size()));
    Store::Placed { convert, scatter: scatterer(out.size()), masked }
}

/// Promotion lets nothing through that has no kernel; this is for the day that it does.
fn missing_kernel(op: &'static str, dtype: DType, allowed: &'static str) -> Error {
    Error::UnsupportedDType { op, dtype, allowed }
}
