//! Kernels made on demand: from a request to the source of a kernel that does just that, and to its parameters.
//!
//! | File | What it knows |
//! |---|---|
//! | `class` | how a loop nest walks an operand, as coarse as kernels tell it apart |
//! | `form` | everything that a kernel's source depends on, which is its key |
//! | `source` | from a form to CUDA C++ |
//! | `map`, `sum` | from a request to a form, parameters and a grid |

mod class;
mod form;
mod map;
mod source;
mod sum;

use smallvec::SmallVec;

pub(super) use self::class::{NARROW, Operand, is_near};
pub(super) use self::form::{Form, Key, is_large};
pub(super) use self::map::map;
pub(super) use self::source::{kernel, source};
pub(super) use self::sum::sum;
use super::launch::divisor;
use super::params::{BL_THREADS, BL_VECTOR_BYTES, BlDivisor};
use crate::plan::Plan;
use crate::program::{Action, Input, Program};
use crate::{Error, Result};

/// The size of the largest access, in bytes.
const VECTOR: usize = BL_VECTOR_BYTES as usize;

/// The threads of a block.
const THREADS: usize = BL_THREADS as usize;

/// The largest first dimension of a grid.
const GRID_X: usize = i32::MAX as usize;

/// The parameters of a generated kernel, which are all 64 bits wide, in the order of its `Params`.
pub(super) type Words = SmallVec<[u64; 64]>;

/// The most that a kernel takes as parameters, in words.
const MOST_WORDS: usize = 4096 / 8;

/// A launch of a generated kernel.
pub(super) struct Job<'a> {
    pub(super) form: Form<'a>,
    pub(super) words: Words,
    pub(super) grid: [usize; 2],
}

impl Job<'_> {
    /// The job, if a kernel can take so many parameters.
    fn checked(self, op: &'static str) -> Result<Self> {
        if self.words.len() <= MOST_WORDS {
            return Ok(self);
        }
        let reason = "it has too many inputs and numbers for the parameters of one kernel".into();
        Err(Error::InvalidArgument { op, reason })
    }
}

/// Whether a program calls one of the larger functions.
fn is_slow(program: &Program) -> bool {
    program.steps().iter().any(|step| matches!(step.action, Action::Apply(op) if is_large(op)))
}

/// Appends the numbers of a program.
fn push_numbers(words: &mut Words, program: &Program) {
    for input in program.inputs() {
        if let Input::Number(_, bytes) = input {
            words.extend_from_slice(&bytemuck::cast::<_, [u64; 2]>(bytes.0));
        }
    }
}

/// The loops that a kernel walks, as positions are divided down them (see `params.h`).
struct Loops<'a> {
    plan: &'a Plan,
    /// The elements of a group that the inner loop counts as one; 1 where it counts elements.
    unit: usize,
    /// The first loop: the second of the plan where the inner one is a single group.
    first: usize,
    /// How many loops the kernel has room for.
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

    /// Appends the sizes, and the steps of these slots.
    fn push(&self, words: &mut Words, slots: &[usize]) -> Result<()> {
        let levels = self.first..self.plan.rank;
        for level in self.first..self.first + usize::from(self.room) {
            words.push(match (level < self.plan.rank, self.wide) {
                (true, true) => self.size(level) as u64,
                (true, false) => {
                    let BlDivisor { magic, shift } = divisor(self.size(level))?;
                    u64::from(magic) | u64::from(shift) << 32
                }
                // Positions are 0 by then.
                (false, wide) => wide.into(),
            });
        }
        for level in levels.clone() {
            for &slot in slots {
                let inner = match level {
                    _ if level == self.first => 0,
                    _ => (self.size(level - 1) as isize).wrapping_mul(self.stride(slot, level - 1)),
                };
                // Steps wrap, as the kernels' sums do; the offsets that come out fit.
                words.push(self.stride(slot, level).wrapping_sub(inner) as u64);
            }
        }
        let unused = usize::from(self.room) - levels.len();
        words.extend(std::iter::repeat_n(0, unused * slots.len()));
        Ok(())
    }
}

/// The elements that a thread takes at once: 16 bytes of the narrowest operand, but of the others no more than registers
/// can hold; and of an inner loop that is no multiple of that, less.
fn group_size(sizes: impl Iterator<Item = usize>, most_bytes: usize, slow: bool, inner: Option<usize>) -> usize {
    let (mut narrowest, mut widest, mut total) = (VECTOR, 1, 0);
    for size in sizes {
        narrowest = narrowest.min(size);
        widest = widest.max(size);
        total += size;
    }
    let least = if slow { 1 } else { (VECTOR / widest).max(1) };
    let mut group = if slow { (VECTOR / widest).clamp(1, 2) } else { VECTOR / narrowest };
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
