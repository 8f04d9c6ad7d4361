//! Programs for contiguous operands, which are launched without a plan being made.

use smallvec::SmallVec;

use super::generate::Operand;
use super::{CudaDevice, graph};
use crate::backend::Memory;
use crate::exclusive::Exclusive;
use crate::layout::MAX_RANK;
use crate::plan::{OUT, Plan, Slot};
use crate::program::Program;
use crate::request::Request;
use crate::scalar::ElementBytes;
use crate::{DType, Result};

/// A program with the one loop over contiguous operands, or ones of one element, and a contiguous destination of its own.
pub(crate) struct Executable {
    /// The name of the operation, for messages.
    op: &'static str,
    program: Program,
    /// The dtype of the destination.
    out: DType,
    plan: Plan,
    /// The slots, whose addresses are those of the last run.
    operands: SmallVec<[Operand; 8]>,
}

impl Executable {
    /// Plans the loop of a program, given which of its inputs in memory are one element for all.
    pub(crate) fn new(
        op: &'static str,
        program: Program,
        is_one: impl Fn(usize) -> bool,
    ) -> Option<Executable> {
        let out = program.dtype(program.result());
        let sizes = std::iter::once(out.size()).chain(program.input_sizes());
        let operands: SmallVec<_> = sizes.map(|size| Operand { address: 0, size }).collect();
        let slot = |slot: usize| {
            let mut strides = [0; MAX_RANK];
            strides[0] = (slot == OUT || !is_one(slot - 1)).into();
            Slot { offset: 0, strides }
        };
        let slots = (0..operands.len()).map(slot).collect();
        let plan = Plan { len: 1, rank: 1, sizes: [1; MAX_RANK], slots };
        Some(Executable { op, program, out, plan, operands })
    }

    /// Whether so many elements can be computed: there is one, and no thread captures a graph, which has to know the
    /// storages.
    #[inline]
    pub(crate) fn takes(&self, len: usize) -> bool {
        len > 0 && graph::is_idle()
    }

    /// Gives one of the program's inputs, a number, another value.
    #[inline]
    pub(crate) fn set_number(&mut self, input: u16, number: ElementBytes) {
        self.program.set_number(input, number);
    }

    /// Queues the computation of `len` elements, which it takes.
    ///
    /// The memory holds so many elements, or one, of the program's dtypes, in the order of its slots, each from its offset
    /// on. The caller holds the locks, and `out` is the proof that the destination is locked for writing, whose memory is
    /// no other slot's.
    #[inline]
    pub(crate) fn run(
        &mut self,
        device: &CudaDevice,
        len: usize,
        out: Option<Exclusive<'_, Memory>>,
        memories: &[&Memory],
        offsets: &[usize],
    ) -> Result<()> {
        (self.plan.len, self.plan.sizes[0]) = (len, len);
        for (operand, (memory, offset)) in
            self.operands.iter_mut().zip(memories.iter().zip(offsets))
        {
            operand.address =
                super::run::address(self.op, memory)? + (offset * operand.size) as u64;
        }
        let request = Request {
            op: self.op,
            program: &self.program,
            plan: &self.plan,
            out: self.out,
            masked: false,
            reduction: None,
        };
        device.queue(&request, &self.operands, || device.order(out, memories[1..].iter().copied()))
    }
}
