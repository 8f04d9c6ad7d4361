//! From a request to launches.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use super::force;
use super::generate::{self, Job, Operand};
use super::kernels::Function;
use super::launch::{Parameters, count, launch};
use super::memory::CudaMemory;
use super::shapes::Pair;
use super::trace::trace_launch;
use super::{CudaDevice, Memory};
use crate::plan::OUT;
use crate::program::{Input, Request};
use crate::storage::Access;
use crate::{DType, Error, Result};

impl CudaDevice {
    /// Queues what a request asks for. Everything that can be refused is asked for before the first launch, and
    /// there is but one launch unless the request is a sum, so an error leaves the destination as it was. The last
    /// launch of a sum is the one that writes it.
    pub(crate) fn run(&self, request: &Request<'_>, access: &Access<'_>) -> Result<()> {
        let operands = operands(request, access)?;
        let context = self.lane.context();
        let force = force::current();
        if !force.wants_generated()
            && let Some(pair) = Pair::of(request, &operands)
            && let Some(shape) = pair.shape(force)
        {
            let (parameters, grid) = Parameters::of(shape, &pair)?;
            let grid = [count(grid[0])?, count(grid[1])?];
            self.order(access)?;
            let function = context.kernels().shape(context, pair.module, shape)?;
            remember(|| pair.module.kernel(shape));
            trace_launch!(kernel = %pair.module.kernel(shape), ?grid, plan = ?request.plan, "launch");
            // SAFETY: the parameters were made for this shape from the plan, whose places are all inside the memory of
            // the access; that is locked, was put in order above, and is alive until the launch is queued.
            return unsafe { launch(&self.lane, function, grid, parameters.address()) };
        }
        context.bind()?;
        let mut workspace = Vec::new();
        let jobs = self.jobs(request, &operands, &mut workspace)?;
        let ready = self.ready(&jobs)?;
        self.order(access)?;
        for (job, &(function, grid)) in jobs.iter().zip(&ready) {
            remember(|| job.form.name());
            trace_launch!(kernel = %job.form.name(), ?grid, plan = ?request.plan, "launch");
            // SAFETY: the words are the parameters of this form, in the order of its `Params`, made from the plan,
            // whose places are all inside the memory of the access and of the workspace; that is locked or this call's
            // own, was put in order above, and is alive until the launch is queued.
            unsafe { launch(&self.lane, function, grid, job.words.as_ptr().cast()) }?;
        }
        Ok(())
    }

    /// Compiles and loads what a request will need, and runs nothing.
    pub(crate) fn prepare(&self, request: &Request<'_>, access: &Access<'_>) -> Result<()> {
        let operands = operands(request, access)?;
        let context = self.lane.context();
        context.bind()?;
        let force = force::current();
        if !force.wants_generated()
            && let Some(pair) = Pair::of(request, &operands)
            && let Some(shape) = pair.shape(force)
        {
            return context.kernels().shape(context, pair.module, shape).map(drop);
        }
        let jobs = self.jobs(request, &operands, &mut Vec::new())?;
        self.ready(&jobs).map(drop)
    }

    /// The launches of generated kernels for a request. Memory that they need besides goes into `workspace`.
    fn jobs<'a>(
        &self,
        request: &Request<'a>,
        operands: &[Operand],
        workspace: &mut Vec<CudaMemory>,
    ) -> Result<SmallVec<[Job<'a>; 2]>> {
        let force = force::current();
        let Some(reduction) = &request.reduction else {
            return Ok(SmallVec::from_iter([generate::map(request, operands, force)?]));
        };
        generate::sum(request, reduction, operands, force, |bytes| {
            let memory = CudaMemory::allocate(&self.lane, bytes)?;
            let address = memory.address();
            workspace.push(memory);
            Ok(address)
        })
    }

    /// The kernels of jobs, compiled and loaded, and their grids. The context is current.
    fn ready(&self, jobs: &[Job<'_>]) -> Result<SmallVec<[(Function, [u32; 2]); 2]>> {
        let context = self.lane.context();
        let ready = |job: &Job<'_>| {
            let grid = [count(job.grid[0])?, count(job.grid[1])?];
            Ok((context.kernels().generated(context, &job.form)?, grid))
        };
        jobs.iter().map(ready).collect()
    }

    /// Puts the memory of every slot in order for this stream, and makes its context current.
    fn order(&self, access: &Access<'_>) -> Result<()> {
        for slot in 0..access.slots() {
            match access.memory(slot) {
                Memory::Cuda(memory) if slot == OUT => memory.before_write(&self.lane)?,
                Memory::Cuda(memory) if !access.is_written(slot) => memory.before_read(&self.lane)?,
                _ => {}
            }
        }
        self.lane.context().bind()
    }
}

/// Where each slot begins, and how large its elements are.
#[inline]
fn operands(request: &Request<'_>, access: &Access<'_>) -> Result<SmallVec<[Operand; 8]>> {
    let mut operands = SmallVec::new();
    let mut push = |slot: usize, dtype: DType| {
        let size = dtype.size();
        let offset = request.plan.slots[slot].offset * size;
        match access.memory(slot) {
            Memory::Cuda(memory) => {
                operands.push(Operand { address: memory.address() + offset as u64, size });
                Ok(())
            }
            #[cfg(feature = "cpu")]
            Memory::Cpu(_) => {
                Err(Error::DeviceMismatch { op: request.op, lhs: "cuda".into(), rhs: "cpu".into() })
            }
        }
    };
    push(OUT, request.out)?;
    for input in request.program.inputs() {
        if let Input::Memory(dtype, slot) = input {
            push(*slot, *dtype)?;
        }
    }
    if request.masked {
        push(request.program.slots(), DType::Bool)?;
    }
    Ok(operands)
}

/// Whether somebody wants to know which kernels are launched.
static RECORDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The kernel that was last launched on this thread while that was recorded.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Begins or ends to record which kernels are launched.
pub(crate) fn record(on: bool) {
    RECORDING.store(on, Ordering::Relaxed);
}

#[inline]
fn remember(name: impl FnOnce() -> String) {
    if RECORDING.load(Ordering::Relaxed) {
        LAST.set(Some(name()));
    }
}

/// The kernel that was last launched by this thread.
pub(crate) fn last_kernel() -> Option<String> {
    LAST.with_borrow(Clone::clone)
}
