//! Turns a request into launches.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::CudaDevice;
use super::force::{self, Force};
use super::generate::{self, Job, Operand};
use super::graph::Way;
use super::launch::{Parameters, count, launch};
use super::loading::Function;
use super::memory::CudaMemory;
use super::shapes::{KernelShape, Pair};
use super::trace::trace_launch;
use super::tuning::Tuning;
use crate::backend::Memory;
use crate::exclusive::Exclusive;
use crate::introspect::Kernel;
use crate::plan::OUT;
use crate::program::Input;
use crate::request::Request;
use crate::storage::Access;
use crate::{DType, Result};

/// The loaded kernels of a request's launches, with their grids.
type Loaded = SmallVec<[(Function, [u32; 2]); 2]>;

impl CudaDevice {
    /// Queues the launches of a request or, on a thread that captures a graph, adds them to the graph.
    pub(crate) fn run(&self, request: &Request<'_>, access: &Access<'_>) -> Result<()> {
        self.on_its_way(|device, way| match way {
            Way::Prepare => device.prepare(request, access),
            Way::Launch => {
                device.queue(request, &operands(request, access)?, || device.order_all(access))
            }
        })
    }

    /// Queues the launches of a request on this stream. `order` makes the stream wait for earlier work on the memory, which
    /// is locked until this returns.
    ///
    /// An error leaves the destination unchanged: every other call that can fail comes before the first launch, and
    /// only a reduction has more than one launch, of which only the last writes the destination.
    #[inline]
    pub(super) fn queue(
        &self,
        request: &Request<'_>,
        operands: &[Operand],
        order: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let context = self.stream.context();
        let force = force::current();
        if let Some((pair, shape)) = hand_written(request, operands, force) {
            let (parameters, grid) = Parameters::of(shape, &pair)?;
            let grid = [count(grid[0])?, count(grid[1])?];
            let _bound = context.bind()?;
            // Looked up first: a compilation takes long, and can fail.
            let function = context.kernels().shape(&self.stream, pair.module, shape)?;
            order()?;
            note(|| written_by_hand(&pair, shape));
            trace_launch!(kernel = %pair.module.kernel(shape), ?grid, plan = ?request.plan, "launch");
            // SAFETY: the parameters were made for this shape from the plan, all of whose elements lie inside the
            // memory of the access. That memory is locked and alive until the launch is queued, `order` has made
            // the stream wait for earlier work on it, and its context is current.
            return unsafe { launch(&self.stream, function, grid, parameters.address()) };
        }
        let _bound = context.bind()?;
        let mut workspace = Vec::new();
        let jobs = self.jobs(request, operands, force, &mut workspace)?;
        let ready = self.ready(&jobs)?;
        order()?;
        for (job, &(function, grid)) in jobs.iter().zip(&ready) {
            note(|| generated(job));
            trace_launch!(kernel = %job.form.name(), ?grid, plan = ?request.plan, "launch");
            // SAFETY: the words are the parameters of this form, in the order of its `Params`, made from the plan, all
            // of whose elements lie inside the memory of the access or of the workspace. The former is locked, and
            // `order` has made the stream wait for earlier work on it; the latter was allocated by this call on this
            // stream. Both are alive until the launch is queued, and the context is current.
            unsafe { launch(&self.stream, function, grid, job.words.as_ptr().cast()) }?;
        }
        Ok(())
    }

    /// Compiles and loads the kernels that a request needs, without launching them.
    pub(crate) fn prepare(&self, request: &Request<'_>, access: &Access<'_>) -> Result<()> {
        let operands = operands(request, access)?;
        let context = self.stream.context();
        let _bound = context.bind()?;
        let force = force::current();
        if let Some((pair, shape)) = hand_written(request, &operands, force) {
            note(|| written_by_hand(&pair, shape));
            return context.kernels().shape(&self.stream, pair.module, shape).map(drop);
        }
        let jobs = self.jobs(request, &operands, force, &mut Vec::new())?;
        for job in &jobs {
            note(|| generated(job));
        }
        self.ready(&jobs).map(drop)
    }

    /// Returns the launches of generated kernels for a request. Temporary memory that they need is added to
    /// `workspace`.
    fn jobs<'a>(
        &self,
        request: &Request<'a>,
        operands: &[Operand],
        force: Force,
        workspace: &mut Vec<CudaMemory>,
    ) -> Result<SmallVec<[Job<'a>; 2]>> {
        let tuning = self.stream.context().tuning();
        generate::jobs(request, operands, force, tuning, |bytes| {
            let memory = CudaMemory::allocate(&self.stream, bytes)?;
            let address = memory.address();
            workspace.push(memory);
            Ok(address)
        })
    }

    /// Compiles and loads the kernels of jobs, and returns them with their grids. The context must be current.
    fn ready(&self, jobs: &[Job<'_>]) -> Result<Loaded> {
        let context = self.stream.context();
        let ready = |job: &Job<'_>| {
            let grid = [count(job.grid[0])?, count(job.grid[1])?];
            Ok((context.kernels().generated(&self.stream, &job.form)?, grid))
        };
        jobs.iter().map(ready).collect()
    }

    /// Makes this stream wait for earlier work on the memory of every slot.
    pub(super) fn order_all(&self, access: &Access<'_>) -> Result<()> {
        let inputs = (0..access.slots()).filter(|&slot| !access.is_written(slot));
        self.order(access.destination(), inputs.map(|slot| access.memory(slot)))
    }

    /// Makes this stream wait for earlier work on a destination and on inputs that are other memory.
    #[inline]
    pub(super) fn order<'a>(
        &self,
        out: Option<Exclusive<'_, Memory>>,
        inputs: impl Iterator<Item = &'a Memory>,
    ) -> Result<()> {
        let out = out.and_then(|out| out.try_part(Memory::as_cuda));
        CudaMemory::before_write(out.ok_or_else(not_locked)?, &self.stream)?;
        for memory in inputs.filter_map(Memory::as_cuda) {
            memory.before_read(&self.stream)?;
        }
        Ok(())
    }
}

#[cold]
fn not_locked() -> crate::Error {
    crate::Error::InvalidArgument {
        op: "cuda",
        reason: "the destination is not locked for writing".into(),
    }
}

/// Returns the kernels that a request would launch if its memory began at aligned addresses.
pub(crate) fn kernels_for(request: &Request<'_>) -> Result<Vec<Kernel>> {
    if let Some((pair, shape)) = hand_written(request, &imagined(request), Force::NOTHING) {
        return Ok(vec![written_by_hand(&pair, shape)]);
    }
    generate_for(request)
}

/// Returns the kernels that would be generated for a request whose memory began at aligned addresses.
pub(crate) fn generate_for(request: &Request<'_>) -> Result<Vec<Kernel>> {
    let jobs =
        generate::jobs(request, &imagined(request), Force::NOTHING, Tuning::imagined(), |_| {
            Ok(IMAGINED)
        })?;
    Ok(jobs.iter().map(generated).collect())
}

/// Returns the hand-written kernel that runs a request, or `None` if generated kernels do.
#[inline]
fn hand_written<'a>(
    request: &Request<'a>,
    operands: &'a [Operand],
    force: Force,
) -> Option<(Pair<'a>, KernelShape)> {
    if force.wants_generated() {
        return None;
    }
    let pair = Pair::of(request, operands)?;
    let shape = pair.shape(force)?;
    // Generated kernels read turned operands by tiles.
    let gathers = matches!(shape, KernelShape::Gath2 | KernelShape::Gath4 | KernelShape::Gath8);
    if gathers && !force.has(Force::GATHER) && generate::is_turned(request.plan, operands) {
        return None;
    }
    Some((pair, shape))
}

/// An aligned address that is not backed by memory.
const IMAGINED: u64 = 1 << 32;

/// Returns operands at aligned addresses that are not backed by memory.
fn imagined(request: &Request<'_>) -> Vec<Operand> {
    let dtypes = request.program.inputs().iter().filter_map(|input| match input {
        Input::Memory(dtype, _) => Some(*dtype),
        Input::Number(..) => None,
    });
    let mask = request.masked.then_some(DType::Bool);
    let dtypes = std::iter::once(request.out).chain(dtypes).chain(mask);
    dtypes.map(|dtype| Operand { address: IMAGINED, size: dtype.size() }).collect()
}

/// Returns the address of memory.
#[inline]
pub(super) fn address(
    #[cfg_attr(not(feature = "cpu"), expect(unused_variables))] op: &'static str,
    memory: &Memory,
) -> Result<u64> {
    match memory {
        Memory::Cuda(memory) => Ok(memory.address()),
        #[cfg(feature = "cpu")]
        Memory::Cpu(_) => {
            Err(crate::Error::DeviceMismatch { op, lhs: "cuda".into(), rhs: "cpu".into() })
        }
    }
}

/// Returns the address of the first element and the element size of each slot.
#[inline]
fn operands(request: &Request<'_>, access: &Access<'_>) -> Result<SmallVec<[Operand; 8]>> {
    let mut operands = SmallVec::new();
    let mut push = |slot: usize, dtype: DType| {
        let size = dtype.size();
        let offset = request.plan.slots[slot].offset * size;
        let address = address(request.op, access.memory(slot))? + offset as u64;
        operands.push(Operand { address, size });
        Ok::<_, crate::Error>(())
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

fn written_by_hand(pair: &Pair<'_>, shape: KernelShape) -> Kernel {
    let (source, kernel) = (String::new(), String::new());
    Kernel { name: pair.module.kernel(shape), source, kernel, blocks: 0 }
}

fn generated(job: &Job<'_>) -> Kernel {
    let form = &job.form;
    let (source, kernel) = (generate::source(form), generate::kernel(form));
    Kernel { name: form.name(), source, kernel, blocks: job.grid[0] * job.grid[1] }
}

thread_local! {
    /// The kernels that this thread has launched or prepared since it called [`record`].
    static RECORD: RefCell<Option<Vec<Kernel>>> = const { RefCell::new(None) };
}

/// The number of threads that record their launches; 0 except in tests and tools.
static RECORDING: AtomicUsize = AtomicUsize::new(0);

/// Starts recording the kernels that this thread launches or prepares.
pub(crate) fn record() {
    if RECORD.replace(Some(Vec::new())).is_none() {
        RECORDING.fetch_add(1, Ordering::Relaxed);
    }
}

/// Stops recording, and returns the recorded kernels.
pub(crate) fn recorded() -> Vec<Kernel> {
    let record = RECORD.take();
    if record.is_some() {
        RECORDING.fetch_sub(1, Ordering::Relaxed);
    }
    record.unwrap_or_default()
}

/// Records a kernel if this thread is recording.
#[inline]
pub(super) fn note(kernel: impl FnOnce() -> Kernel) {
    if RECORDING.load(Ordering::Relaxed) != 0 {
        RECORD.with_borrow_mut(|record| {
            if let Some(record) = record {
                record.push(kernel());
            }
        });
    }
}
