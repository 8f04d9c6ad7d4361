//! The shortest way: a request that is one loop over memory, with nothing to bring into blocks and nobody to
//! share it with.
//!
//! `walk` would come to the same loop; small calls are spared the detour.

use super::address;
use super::convert::{Hop, hop};
use super::kernels::{Recipe, recipe};
use super::loops::{Kernels, Versions};
use super::settings::Settings;
use crate::plan::OUT;
use crate::program::{Action, Input, Request, Value};
use crate::storage::Access;

/// Runs a request if it is so simple, and says whether it was.
pub(super) fn run(request: &Request<'_>, access: &Access<'_>, settings: &Settings) -> bool {
    let plan = request.plan;
    let [step] = request.program.steps() else { return false };
    if request.masked || request.reduction.is_some() || plan.rank > 1 {
        return false;
    }
    let is_one = plan.len == 1;
    if !is_one && plan.slots[OUT].strides[0] != 1 {
        return false;
    }
    let (kernels, swap) = match step.action {
        Action::Cast => match hop(step.dtype, step.result) {
            Hop::Loop(kernels) => (kernels, false),
            _ => return false,
        },
        Action::Apply(op) => match recipe(op, step.dtype) {
            Some(Recipe::Loop(kernels)) => (kernels, false),
            Some(Recipe::Swapped(kernels)) => (kernels, true),
            _ => return false,
        },
    };
    let mut bytes = request.out.size();
    let mut args = [std::ptr::null::<u8>(); 3];
    let mut still = [false; 3];
    for (place, value) in step.arguments().iter().enumerate() {
        let Value::Input(index) = value else { return false };
        (args[place], still[place]) = match &request.program.inputs()[usize::from(*index)] {
            Input::Number(_, number) => (number.0.as_ptr(), !is_one),
            Input::Memory(dtype, slot) => {
                let stride = plan.slots[*slot].strides[0];
                if access.is_written(*slot) || !(is_one || matches!(stride, 0 | 1)) {
                    return false;
                }
                bytes += dtype.size();
                let offset = plan.slots[*slot].offset * dtype.size();
                (address(access, *slot, offset).cast_const(), !is_one && stride == 0)
            }
        };
    }
    if bytes.saturating_mul(plan.len) >= settings.parallel_bytes {
        return false;
    }
    if swap {
        args.swap(0, 1);
        still.swap(0, 1);
    }
    let Some(versions) = version(kernels, &mut args, still, step.arity()) else { return false };
    let out = address(access, OUT, plan.slots[OUT].offset * request.out.size());
    // SAFETY: the plan was made from layouts that lie inside their storages, whose locks are held; these hold
    // elements of the dtypes that the program names, and were written in full before they were shared.
    // Arguments lie side by side, or stand still where the loop expects it, and are apart from the
    // destination, which is dense.
    unsafe { versions[settings.level as usize](&args, out, plan.len) };
    true
}

/// The loop for the arguments that stand still, which may have to change places.
fn version<'k>(
    kernels: &'k Kernels,
    args: &mut [*const u8; 3],
    still: [bool; 3],
    arity: usize,
) -> Option<&'k Versions> {
    match still {
        [false, false, false] => Some(&kernels.all),
        _ if arity != 2 => None,
        [false, true, _] => kernels.constant_rhs.as_ref(),
        [true, false, _] if kernels.commutes => {
            args.swap(0, 1);
            kernels.constant_rhs.as_ref()
        }
        [true, false, _] => kernels.constant_lhs.as_ref(),
        _ => None,
    }
}
