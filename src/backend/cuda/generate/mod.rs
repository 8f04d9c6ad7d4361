//! Kernels generated on demand: the source of a kernel for a request, and the parameters of its launch.
//!
//! | File | Responsibility |
//! |---|---|
//! | `class` | classifies the access pattern of an operand, as finely as kernels distinguish it |
//! | `fields` | lists the parameters of a kernel, for its source and for its launches |
//! | `form` | holds everything that a kernel's source depends on, and derives the lookup key from it |
//! | `source` | writes the CUDA C++ of a form |
//! | `map`, `tiles`, `sum` | turn a request into a form, parameters and a grid |

mod class;
mod fields;
mod form;
mod map;
mod source;
mod sum;
mod tiles;

use smallvec::SmallVec;

use self::class::Class;
pub(super) use self::class::{NARROW, Operand, is_near};
pub(super) use self::form::{Form, Key, is_large};
pub(super) use self::source::{COMMON, REDUCE_SOURCE, kernel, source};
pub(super) use self::tiles::is_turned;
use super::force::Force;
use super::launch::{divisor, step};
use super::params::{BL_THREADS, BL_VECTOR_BYTES, BlDivisor};
use super::tuning::Tuning;
use crate::plan::Plan;
use crate::program::{Input, Program};
use crate::request::Request;
use crate::{Error, Result};

/// The size of the largest memory access, in bytes.
const VECTOR: usize = BL_VECTOR_BYTES as usize;

/// The number of threads of a block.
const THREADS: usize = BL_THREADS as usize;

/// The largest x dimension of a grid.
const GRID_X: usize = i32::MAX as usize;

/// The parameters of a generated kernel, in the order of [`Form::fields`]. All of them are 64 bits wide.
pub(super) type Words = SmallVec<[u64; 64]>;

/// The limit on the parameters of a kernel, in words.
const MAX_WORDS: usize = 4096 / 8;

/// A launch of a generated kernel.
pub(super) struct Job<'a> {
    pub(super) form: Form<'a>,
    pub(super) words: Words,
    pub(super) grid: [usize; 2],
}

impl Job<'_> {
    /// Returns the job, or an error if it has more parameters than a kernel can take.
    fn checked(self, op: &'static str) -> Result<Self> {
        debug_assert_eq!(self.words.len(), self.form.words(), "{:?}", self.form.fields());
        if self.words.len() <= MAX_WORDS {
            return Ok(self);
        }
        let reason = "it has too many inputs and numbers for the parameters of one kernel".into();
        Err(Error::InvalidArgument { op, reason })
    }
}

/// Returns the launches that compute a request, in order. `allocate` returns the address of temporary memory of the
/// given size, which must stay valid until the launches are queued.
pub(super) fn jobs<'a>(
    request: &Request<'a>,
    operands: &[Operand],
    force: Force,
    tuning: Tuning,
    allocate: impl FnMut(usize) -> Result<u64>,
) -> Result<SmallVec<[Job<'a>; 2]>> {
    match &request.reduction {
        None => map::map(request, operands, force, tuning).map(|job| SmallVec::from_iter([job])),
        Some(reduction) => sum::sum(request, reduction, operands, force, tuning, allocate),
    }
}

/// Appends the scalar operands of a program.
fn push_numbers(words: &mut Words, program: &Program) {
    for input in program.inputs() {
        if let Input::Number(_, bytes) = input {
            words.extend_from_slice(&bytemuck::cast::<_, [u64; 2]>(bytes.0));
        }
    }
}

/// Appends the strides of the strided operands along the inner loop, in bytes.
fn push_strides(words: &mut Words, form: &Form<'_>, plan: &Plan, operands: &[Operand]) {
    for (slot, operand) in operands.iter().enumerate() {
        if form.classes[slot] == Class::Strided {
            let bytes = plan.slots[slot].strides[0].wrapping_mul(operand.size as isize);
            words.push(bytes as u64);
        }
    }
}

/// The loops of a kernel, in the form in which it decomposes positions (see `params.h`).
struct Loops<'a> {
    plan: &'a Plan,
    /// The number of elements that the inner loop counts as one: the group size, or 1 if it counts elements.
    unit: usize,
    /// The plan's loop that becomes the kernel's innermost: 1 if the plan's inner loop is a single unit, else 0.
    first: usize,
    /// The number of loops that the kernel was compiled for.
    room: u8,
    wide: bool,
}

impl<'a> Loops<'a> {
    fn new(plan: &'a Plan, unit: usize, room: u8, wide: bool) -> Loops<'a> {
        Loops { plan, unit, first: usize::from(plan.rank > 0 && plan.sizes[0] == unit), room, wide }
    }

    fn size(&self, level: usize) -> usize {
        if level == 0 { self.plan.sizes[0] / self.unit } else { self.plan.sizes[level] }
    }

    fn stride(&self, slot: usize, level: usize) -> isize {
        let stride = self.plan.slots[slot].strides[level];
        if level == 0 { stride.wrapping_mul(self.unit as isize) } else { stride }
    }

    /// Appends the sizes of the loops, and the steps of these slots.
    fn push(&self, words: &mut Words, slots: &[usize]) -> Result<()> {
        let levels = self.first..self.plan.rank;
        for level in self.first..self.first + usize::from(self.room) {
            words.push(match (level < self.plan.rank, self.wide) {
                (true, true) => self.size(level) as u64,
                (true, false) => {
                    let BlDivisor { magic, shift } = divisor(self.size(level))?;
                    u64::from(magic) | u64::from(shift) << 32
                }
                // An unused loop: the position is 0 there, so a divisor of 0 or a size of 1 gives 0.
                (false, wide) => wide.into(),
            });
        }
        for level in levels.clone() {
            for &slot in slots {
                let stride_of = |level| self.stride(slot, level);
                words.push(step(level, self.first, |level| self.size(level), stride_of) as u64);
            }
        }
        let unused = usize::from(self.room) - levels.len();
        words.extend(std::iter::repeat_n(0, unused * slots.len()));
        Ok(())
    }
}

/// Returns the number of elements that a thread loads at once: `vector` bytes of the narrowest operand, halved while
/// the operands of a group take more than `most_bytes` of registers, and halved further if it then divides the size of
/// the inner loop. It never falls below 16 bytes of the widest operand. In programs with large functions it is 1 or 2.
fn group_size(
    sizes: impl Iterator<Item = usize>,
    vector: usize,
    most_bytes: usize,
    slow: bool,
    inner: Option<usize>,
) -> usize {
    let (mut narrowest, mut widest, mut total) = (VECTOR, 1, 0);
    for size in sizes {
        narrowest = narrowest.min(size);
        widest = widest.max(size);
        total += size;
    }
    let least = if slow { 1 } else { (VECTOR / widest).max(1) };
    let mut group = if slow { (VECTOR / widest).clamp(1, 2) } else { vector / narrowest };
    while group > least && group * total > most_bytes {
        group /= 2;
    }
    let Some(inner) = inner else { return group };
    let mut whole = group;
    while whole > least && !inner.is_multiple_of(whole) {
        whole /= 2;
    }
    if inner.is_multiple_of(whole) { whole } else { group }
}
