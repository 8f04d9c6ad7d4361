//! Runs a request that is one loop over memory, with nothing to copy into blocks and too little work to share among
//! threads.
//!
//! `walk` would run the same loop; small calls avoid its overhead.

use super::convert::{Hop, hop};
use super::kernels::recipe;
use super::loops::{Kernel, Kernels, Versions};
use super::settings::Settings;
use super::sharing;
use super::{address, start};
use crate::DType;
use crate::backend::Memory;
use crate::op::ElementOp;
use crate::plan::OUT;
use crate::program::{Action, Input, Request, Step, Value};
use crate::scalar::ElementBytes;
use crate::storage::Access;

/// Returns the loop of a step, if it takes just one, and whether the loop takes its arguments in the opposite order.
pub(super) fn single(step: &Step) -> Option<(&'static Kernels, bool)> {
    match step.action {
        Action::Cast => match hop(step.dtype, step.result) {
            Hop::Loop(kernels) => Some((kernels, false)),
            _ => None,
        },
        Action::Apply(op) => recipe(op, step.dtype)?.single(),
    }
}

/// Runs a request if it is one loop over memory, and returns whether it has.
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
    let Some((kernels, swap)) = single(step) else { return false };
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
    if bytes.saturating_mul(plan.len) >= sharing::line(settings) {
        return false;
    }
    if swap {
        args.swap(0, 1);
        still.swap(0, 1);
    }
    let Some((versions, swap)) = version(kernels, still, step.arity()) else { return false };
    if swap {
        args.swap(0, 1);
    }
    let out = address(access, OUT, plan.slots[OUT].offset * request.out.size());
    // SAFETY: the plan was made from layouts inside their storages, whose locks are held; these hold elements of the
    // dtypes that the program names, and were written in full before they were shared. Arguments are contiguous, or one
    // element where the loop expects that, and do not overlap the destination, which is contiguous.
    unsafe { versions[settings.level as usize](&args, out, plan.len) };
    true
}

/// Returns the version of a loop in which some arguments are one element (`still`), and whether the two arguments have
/// to be swapped; `None` if there is no such version.
pub(super) fn version(
    kernels: &'static Kernels,
    still: [bool; 3],
    arity: usize,
) -> Option<(&'static Versions, bool)> {
    match still {
        [false, false, false] => Some((&kernels.all, false)),
        _ if arity != 2 => None,
        [false, true, _] => Some((kernels.constant_rhs.as_ref()?, false)),
        [true, false, _] if kernels.commutes => Some((kernels.constant_rhs.as_ref()?, true)),
        [true, false, _] => Some((kernels.constant_lhs.as_ref()?, false)),
        _ => None,
    }
}

/// A loop over contiguous elements, for calls that make no request.
#[derive(Clone, Copy)]
pub(crate) struct Dense {
    kernel: Kernel,
    /// Whether the loop takes its arguments in the opposite order.
    swapped: bool,
    /// The sizes of an operand's element and of a result.
    sizes: [usize; 2],
    len: usize,
}

impl Dense {
    /// Finds the loop of a binary function, whose right operand may be a number. Returns `None` if the function takes
    /// more than one loop, or if `len` is 0 or so large that the work is shared among threads.
    #[inline]
    pub(crate) fn find(op: ElementOp, dtype: DType, is_number: bool, len: usize) -> Option<Dense> {
        let settings = Settings::get();
        let sizes = [dtype.size(), op.result(dtype).size()];
        let bytes = len.saturating_mul(2 * sizes[0] + sizes[1]);
        if len == 0 || op.arity() != 2 || bytes >= sharing::line(settings) {
            return None;
        }
        let (kernels, swapped) = recipe(op, dtype)?.single()?;
        let still = [swapped && is_number, !swapped && is_number, false];
        let (versions, again) = version(kernels, still, 2)?;
        let kernel = versions[settings.level as usize];
        Some(Dense { kernel, swapped: swapped != again, sizes, len })
    }

    /// Runs the loop from the elements of two blocks, or of one block and a number, to those of a third, each from an
    /// offset on. The blocks must hold as many elements, of the dtypes that the loop was found for, and the third must
    /// not be one of the first two. The caller holds their locks, or is the only one who can reach them.
    #[inline]
    pub(crate) fn run(
        &self,
        x: (&Memory, usize),
        y: (&Memory, usize),
        number: Option<&ElementBytes>,
        out: (&Memory, usize),
    ) {
        let place = |(memory, offset): (&Memory, usize), size: usize| {
            start(memory).wrapping_add(offset * size)
        };
        let x = place(x, self.sizes[0]).cast_const();
        let y = number.map_or_else(|| place(y, self.sizes[0]).cast_const(), |it| it.0.as_ptr());
        let args = if self.swapped { [y, x, x] } else { [x, y, x] };
        let out = place(out, self.sizes[1]);
        // SAFETY: tensors are inside their storages, which were written in full before they were shared. The caller
        // vouches for the rest, and the loop was chosen by which arguments are one element.
        unsafe { (self.kernel)(&args, out, self.len) };
    }
}
