//! Runs a request that is one loop over contiguous memory, with nothing to copy into blocks.
//!
//! `walk` would run the same loop; small calls, and those that two threads finish in microseconds, avoid its overhead.

use super::convert::{Hop, hop};
use super::kernels::recipe;
use super::loops::{Kernel, Kernels, Versions};
use super::settings::Settings;
use super::sharing::Team;
use super::transfer::LINE;
use super::{address, start};
use crate::DType;
use crate::backend::Memory;
use crate::op::ElementOp;
use crate::plan::OUT;
use crate::program::{Action, Input, Step, Value};
use crate::request::Request;
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

/// Runs a request if it is one loop over memory, and returns whether it has. If not, nothing has been written.
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
    let mut args = [(std::ptr::null::<u8>(), 0); 3];
    let mut still = [false; 3];
    for (place, value) in step.arguments().iter().enumerate() {
        let Value::Input(index) = value else { return false };
        (args[place], still[place]) = match &request.program.inputs()[usize::from(*index)] {
            Input::Number(_, number) => ((number.0.as_ptr(), 0), !is_one),
            Input::Memory(dtype, slot) => {
                let stride = plan.slots[*slot].strides[0];
                if access.is_written(*slot) || !(is_one || matches!(stride, 0 | 1)) {
                    return false;
                }
                bytes += dtype.size();
                let size = dtype.size();
                let first = address(access, *slot, plan.slots[*slot].offset * size);
                let is_still = !is_one && stride == 0;
                ((first.cast_const(), if is_still { 0 } else { size }), is_still)
            }
        };
    }
    let bytes = bytes.saturating_mul(plan.len);
    if waits_for_memory(bytes, settings) {
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
    let size = request.out.size();
    let out = (address(access, OUT, plan.slots[OUT].offset * size), size);
    let span = Span { kernel: versions[settings.level as usize], args, out };
    // SAFETY: the plan was made from layouts inside their storages, whose locks are held; these hold elements of the
    // dtypes that the program names, and were written in full before they were shared. Arguments are contiguous, or one
    // element where the loop expects that, and do not overlap the destination, which is contiguous.
    unsafe { span.share(plan.len, Team::new(bytes, settings)) };
    true
}

/// Whether an operation reads and writes so much that memory and not its loop decides how long it takes: `walk` has the
/// means against that.
fn waits_for_memory(bytes: usize, settings: &Settings) -> bool {
    bytes >= settings.stream_bytes / 2
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
    team: Team,
}

impl Dense {
    /// Returns the loop of a binary function, whose right operand may be a number. Returns `None` if the function takes
    /// more than one loop, or if there is nothing to do, or too much.
    #[inline]
    pub(crate) fn find(op: ElementOp, dtype: DType, is_number: bool, len: usize) -> Option<Dense> {
        let settings = Settings::get();
        let sizes = [dtype.size(), op.result(dtype).size()];
        let bytes = len.saturating_mul(2 * sizes[0] + sizes[1]);
        if len == 0 || op.arity() != 2 || waits_for_memory(bytes, settings) {
            return None;
        }
        let (kernels, swapped) = recipe(op, dtype)?.single()?;
        let still = [swapped && is_number, !swapped && is_number, false];
        let (versions, again) = version(kernels, still, 2)?;
        let kernel = versions[settings.level as usize];
        let team = Team::new(bytes, settings);
        Some(Dense { kernel, swapped: swapped != again, sizes, len, team })
    }

    /// Runs the loop from the elements of two blocks, or of one block and a number, to those of a third, each from an
    /// offset on.
    ///
    /// # Safety
    ///
    /// From its offset on, each block must be memory of the CPU that holds as many aligned elements as the loop was
    /// found for, of the dtypes that it was found for; those of the first two must be initialised. There must be a
    /// number exactly if the loop was found for one, of the same dtype. The third block must not be one of the first
    /// two. The caller must hold the locks of the blocks, or be the only one who can reach them.
    #[inline]
    pub(crate) unsafe fn run(
        &self,
        x: (&Memory, usize),
        y: (&Memory, usize),
        number: Option<&ElementBytes>,
        out: (&Memory, usize),
    ) {
        let place = |(memory, offset): (&Memory, usize), size: usize| {
            start(memory).wrapping_add(offset * size)
        };
        let [size, result] = self.sizes;
        let x = (place(x, size).cast_const(), size);
        let y = match number {
            None => (place(y, size).cast_const(), size),
            Some(number) => (number.0.as_ptr(), 0),
        };
        let args = if self.swapped { [y, x, x] } else { [x, y, x] };
        let span = Span { kernel: self.kernel, args, out: (place(out, result), result) };
        // SAFETY: the caller vouches for the blocks, and the loop was found for which arguments are constant; the
        // settings' level is one that the machine has.
        unsafe { span.share(self.len, self.team) };
    }
}

/// A loop with its arguments and its destination, each a first element and the bytes from one to the next.
struct Span {
    kernel: Kernel,
    args: [(*const u8, usize); 3],
    out: (*mut u8, usize),
}

// SAFETY: the pointers are followed by `share` alone, whose caller vouches for them until it returns.
unsafe impl Sync for Span {}

impl Span {
    /// Runs the loop over so many elements, on as many threads as the team has.
    ///
    /// # Safety
    ///
    /// As for a [`Kernel`].
    unsafe fn share(&self, len: usize, team: Team) {
        if team.parts == 1 {
            // SAFETY: the caller's promise.
            return unsafe { self.run(0, len) };
        }
        let share = len.div_ceil(team.parts).next_multiple_of(LINE);
        team.share(team.parts, &|part| {
            let first = part * share;
            // SAFETY: the caller's promise; parts write disjoint elements.
            unsafe { self.run(first, share.min(len.saturating_sub(first))) };
        });
    }

    /// Runs the loop over some of the elements.
    ///
    /// # Safety
    ///
    /// As for a [`Kernel`], for these elements.
    unsafe fn run(&self, first: usize, len: usize) {
        let args = self.args.map(|(start, step)| start.wrapping_add(first * step));
        let out = self.out.0.wrapping_add(first * self.out.1);
        // SAFETY: the caller's promise.
        unsafe { (self.kernel)(&args, out, len) };
    }
}
