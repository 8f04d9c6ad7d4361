//! What reductions fold their terms into: totals of a dtype, and the loops that combine them.

use std::mem::MaybeUninit;

use num_complex::Complex;

use super::tree::Room;
use crate::DType;
use crate::backend::cpu::loops::element;
use crate::backend::cpu::loops::table::{Recipe, recipe};
use crate::backend::cpu::loops::vector::{Kernel, Kernels};
use crate::backend::cpu::settings::Level;
use crate::op::ElementOp;

/// How totals of one dtype are combined. The code around the loops only moves totals, so that it is compiled once for
/// each size and not for each dtype and operation.
#[derive(Clone, Copy)]
pub(super) struct Totals {
    pub(super) dtype: DType,
    /// The loop that combines two rows of totals.
    pub(super) rows: Kernel,
    /// The loop that combines neighbours; `None` if every order gives the same result, which is so for everything but
    /// sums and products of floats. Two halves are then combined as rows, which needs no shuffles.
    neighbours: Option<Kernel>,
}

impl Totals {
    /// Returns `None` if the operation is not defined for the dtype.
    pub(super) fn new(combine: ElementOp, dtype: DType, level: Level) -> Option<Totals> {
        let Recipe::Loop(rows) = recipe(combine, dtype)? else { return None };
        let neighbours = match (combine, dtype) {
            (ElementOp::Add, DType::F64) => Some(const { Kernels::halve::<f64, element::Add>() }),
            (ElementOp::Add, DType::C128) => {
                Some(const { Kernels::halve::<Complex<f64>, element::Add>() })
            }
            (ElementOp::Multiply, DType::F64) => {
                Some(const { Kernels::halve::<f64, element::Multiply>() })
            }
            (ElementOp::Multiply, DType::C128) => {
                Some(const { Kernels::halve::<Complex<f64>, element::Multiply>() })
            }
            _ => None,
        };
        let neighbours = neighbours.map(|versions| versions[level as usize]);
        Some(Totals { dtype, rows: rows.all[level as usize], neighbours })
    }

    /// Combines two totals.
    ///
    /// # Safety
    ///
    /// `A` must have the size and alignment of the dtype's elements, and both must be elements.
    pub(super) unsafe fn plus<A: Copy>(&self, left: A, right: A) -> A {
        let (left, right) = ([left], [right]);
        let mut out = MaybeUninit::<A>::uninit();
        // SAFETY: the loop reads one element of each, and writes one.
        unsafe {
            let right = right.as_ptr().cast();
            (self.rows)(&[left.as_ptr().cast(), right, right], out.as_mut_ptr().cast(), 1);
            out.assume_init()
        }
    }

    /// Combines a run of totals to one, as the tree does; what is missing of a perfect tree is left out. The run stays as
    /// it is.
    ///
    /// # Safety
    ///
    /// As for [`Totals::plus`]; the first `count` totals of `run` must be there, at least one.
    pub(super) unsafe fn folded<A: Copy>(
        &self,
        run: &mut Room,
        spare: [&mut Room; 2],
        count: usize,
    ) -> A {
        let [mut to, mut next] = spare.map(Room::as_ptr::<A>);
        let mut from = run.as_ptr::<A>();
        let mut count = count;
        while count > 1 {
            let half = count / 2;
            // SAFETY: there are twice as many totals, and room for the results, apart.
            unsafe {
                match self.neighbours {
                    Some(halve) => halve(&[from.cast_const().cast(); 3], to.cast(), half),
                    None => {
                        let second = from.add(half).cast_const().cast();
                        (self.rows)(&[from.cast_const().cast(), second, second], to.cast(), half);
                    }
                }
                if count % 2 == 1 {
                    to.add(half).write(from.add(count - 1).read());
                }
            }
            count = count.div_ceil(2);
            (from, to, next) = (to, next, to);
        }
        // SAFETY: the last total has been written.
        unsafe { from.read() }
    }
}
