//! Captures of calls into a graph, which is launched as a whole.
//!
//! While a thread captures, all its calls on the device run on a stream of the capture's own, whichever stream their
//! tensors are on, so that other threads are not captured along. The function is called twice: first its kernels are loaded
//! and its memory is found, because neither can be done during the capture; then it is captured.
//!
//! A graph holds addresses. Every storage that it uses is therefore kept by it, and so is memory that was freed during the
//! capture. A launch takes the locks of all storages and is ordered like any other operation on them.

use std::cell::RefCell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cudarc::driver::sys::{CUgraph, CUgraphExec, CUstreamCaptureMode};

use super::super::Memory;
use super::CudaDevice;
use super::driver::driver;
use super::memory::CudaMemory;
use super::stream::Stream;
use super::trace::trace_warning;
use crate::exclusive::Exclusive;
use crate::storage::Storage;
use crate::{Error, Result};

/// A storage, and whether it is written.
type Used = (Arc<Storage>, bool);

/// What a thread that captures has done so far.
struct Recording {
    /// The stream that is captured.
    stream: Arc<Stream>,
    /// A stream that is not, on which memory is allocated.
    side: Arc<Stream>,
    /// Whether the capture has begun. Before that, kernels are loaded and nothing is launched.
    has_begun: bool,
    used: Vec<Used>,
    /// Memory that was freed during the capture.
    freed: Vec<CudaMemory>,
}

thread_local! {
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// The number of threads that capture. If it is 0, which is checked first, no thread looks at its own state.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Whether no thread captures.
#[inline]
pub(super) fn is_idle() -> bool {
    THREADS.load(Ordering::Relaxed) == 0
}

#[cold]
fn with<R>(function: impl FnOnce(&mut Recording) -> R) -> Option<R> {
    // The thread's state is gone when the thread is ending, and borrowed only where nothing can be allocated or freed.
    let used = RECORDING.try_with(|recording| {
        recording.try_borrow_mut().ok().and_then(|mut recording| recording.as_mut().map(function))
    });
    used.ok().flatten()
}

/// What a call has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Load its kernels, but launch nothing: the thread is about to capture.
    Prepare,
    /// Launch them.
    Launch,
}

impl CudaDevice {
    /// Runs a call. The function is given what to do, and the device with the stream to do it on: this one's, or that of the
    /// thread's capture.
    #[inline]
    pub(super) fn on_its_way(
        &self,
        call: impl FnOnce(&CudaDevice, Way) -> Result<()>,
    ) -> Result<()> {
        match if is_idle() { None } else { way_of(&self.stream)? } {
            None => call(self, Way::Launch),
            Some((stream, way)) => call(&CudaDevice { stream }, way),
        }
    }
}

/// Returns the stream of the thread's capture and what to do on it, if the thread captures.
#[cold]
fn way_of(stream: &Stream) -> Result<Option<(Arc<Stream>, Way)>> {
    let way = with(|recording| {
        let own = Arc::clone(&recording.stream);
        if !Arc::ptr_eq(own.context(), stream.context()) {
            return Err(refused("the call is on another device than the graph"));
        }
        Ok((own, if recording.has_begun { Way::Launch } else { Way::Prepare }))
    });
    way.transpose()
}

/// Whether the thread captures.
#[inline]
fn captures() -> bool {
    !is_idle() && with(|_| ()).is_some()
}

/// Fails if the thread captures: `what` cannot be part of a graph.
#[inline]
pub(super) fn forbid(what: &str) -> Result<()> {
    if !captures() {
        return Ok(());
    }
    Err(refused(&format!("{what} cannot be part of a graph; do it before the capture")))
}

/// Fails if the thread captures: the operation waits for the device, for a reason that ends with what to do instead.
#[inline]
pub(crate) fn forbid_operation(op: &'static str, reason: &str) -> Result<()> {
    if !captures() {
        return Ok(());
    }
    let reason = format!("it cannot be part of a graph, because {reason}");
    Err(Error::InvalidArgument { op, reason })
}

/// Returns the stream to allocate on and the stream for which, if the thread captures on this stream's device.
#[inline]
pub(super) fn streams_for_allocation(stream: &Stream) -> Option<(Arc<Stream>, Arc<Stream>)> {
    if is_idle() {
        return None;
    }
    with(|recording| {
        let is_own = Arc::ptr_eq(recording.stream.context(), stream.context());
        is_own.then(|| (Arc::clone(&recording.side), Arc::clone(&recording.stream)))
    })
    .flatten()
}

/// Notes the storages of a call, of which the one with index `out` is written, if the thread captures.
#[inline]
pub(crate) fn note(storages: &[&Arc<Storage>], out: usize) {
    if !is_idle() {
        note_all(storages, out);
    }
}

#[cold]
fn note_all(storages: &[&Arc<Storage>], out: usize) {
    with(|recording| {
        for (index, &storage) in storages.iter().enumerate() {
            match recording.used.iter_mut().find(|(known, _)| Arc::ptr_eq(known, storage)) {
                Some((_, is_written)) => *is_written |= index == out,
                None => recording.used.push((Arc::clone(storage), index == out)),
            }
        }
    });
}

/// Whether memory that is freed on this thread has to be kept for a graph.
#[inline]
pub(super) fn keeps_freed() -> bool {
    !is_idle() && with(|recording| recording.has_begun) == Some(true)
}

/// Keeps memory that is freed on this thread for the graph.
#[cold]
pub(super) fn keep(memory: CudaMemory) {
    let mut memory = Some(memory);
    with(|recording| recording.freed.extend(memory.take()));
    // Memory of a thread that does not capture after all is not freed: a graph may use it.
    std::mem::forget(memory);
}

fn refused(reason: &str) -> Error {
    Error::InvalidArgument { op: "Graph::capture", reason: reason.into() }
}

/// The thread's state during a capture, which is over when this is dropped.
struct Session {
    stream: Arc<Stream>,
}

impl Session {
    fn start(device: &CudaDevice) -> Result<Session> {
        forbid("another capture")?;
        let context = device.stream.context();
        let (stream, side) = (context.new_stream()?, context.new_stream()?);
        let recording = Recording {
            stream: Arc::clone(&stream),
            side,
            has_begun: false,
            used: Vec::new(),
            freed: Vec::new(),
        };
        RECORDING.replace(Some(recording));
        THREADS.fetch_add(1, Ordering::Relaxed);
        Ok(Session { stream })
    }

    /// Begins the capture. Everything that the function has used so far is first ordered before later work on the
    /// captured stream, which can wait for nothing else during the capture.
    fn begin(&self) -> Result<()> {
        let used = with(|recording| std::mem::take(&mut recording.used)).unwrap_or_default();
        // What only the function itself has made is made again.
        let used = used.into_iter().filter(|(storage, _)| Arc::strong_count(storage) > 1).collect();
        let used = sorted(used);
        order(&used, &self.stream, || Ok(()))?;
        let _bound = self.stream.context().bind()?;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as u32;
        // SAFETY: the stream is alive, and only this thread uses it.
        unsafe { driver!(cuStreamBeginCapture_v2(self.stream.raw(), mode)) }?;
        with(|recording| recording.has_begun = true);
        Ok(())
    }

    /// Ends the capture.
    fn end(&self) -> Result<Captured> {
        let _bound = self.stream.context().bind()?;
        let mut graph = ptr::null_mut();
        // SAFETY: the driver writes one handle; the stream is captured by this thread.
        unsafe { driver!(cuStreamEndCapture(self.stream.raw(), &mut graph)) }?;
        with(|recording| recording.has_begun = false);
        Ok(Captured { raw: graph, stream: Arc::clone(&self.stream) })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let is_captured = with(|recording| recording.has_begun) == Some(true);
        if is_captured {
            // The function has failed or panicked, or the driver has refused to end the capture; what was captured is thrown
            // away.
            drop(self.end());
        }
        let recording = RECORDING.take();
        THREADS.fetch_sub(1, Ordering::Relaxed);
        // Dropped last: it frees memory, which is not kept any more.
        drop(recording);
    }
}

/// What a capture has given, destroyed on drop.
struct Captured {
    raw: CUgraph,
    stream: Arc<Stream>,
}

impl Drop for Captured {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: the graph was created by a capture of this crate and is destroyed once.
            let destroy = || unsafe { driver!(cuGraphDestroy(self.raw)) };
            report(self.stream.context().bind().and_then(|_bound| destroy()));
        }
    }
}

fn report(outcome: Result<()>) {
    if let Err(error) = outcome {
        trace_warning!(%error, "a graph was not destroyed");
        let _ = error;
    }
}

/// A captured graph, ready to be launched.
pub(crate) struct Graph {
    exec: CUgraphExec,
    stream: Arc<Stream>,
    /// The storages that the graph uses, in the order in which they are locked.
    used: Vec<Used>,
    /// Memory that only the graph uses.
    _own: Vec<CudaMemory>,
}

// SAFETY: a graph is a driver handle, which may be used on any thread.
unsafe impl Send for Graph {}
// SAFETY: as above; launches are ordered by the locks of the storages and by the stream.
unsafe impl Sync for Graph {}

impl Graph {
    /// Captures the calls that a function makes on this thread and this device.
    pub(crate) fn capture<R>(
        device: &CudaDevice,
        mut function: impl FnMut() -> Result<R>,
    ) -> Result<(Graph, R)> {
        let session = Session::start(device)?;
        drop(function()?);
        session.begin()?;
        let result = function()?;
        let graph = session.end()?;
        let recording = RECORDING.with_borrow_mut(|recording| {
            let Recording { used, freed, .. } = recording.as_mut()?;
            Some((std::mem::take(used), std::mem::take(freed)))
        });
        let (used, own) = recording.unwrap_or_default();
        let stream = Arc::clone(&session.stream);
        drop(session);
        let _bound = stream.context().bind()?;
        let exec = stream.context().with_room(0, || {
            let mut exec = ptr::null_mut();
            // SAFETY: the graph is alive, and the driver writes one handle.
            unsafe { driver!(cuGraphInstantiateWithFlags(&mut exec, graph.raw, 0)) }?;
            Ok(exec)
        })?;
        Ok((Graph { exec, stream: Arc::clone(&stream), used: sorted(used), _own: own }, result))
    }

    /// Queues the captured calls, after all earlier work on what they use.
    pub(crate) fn launch(&self) -> Result<()> {
        let _bound = self.stream.context().bind()?;
        order(&self.used, &self.stream, || {
            // SAFETY: the graph is alive. All memory that it uses is: storages that it holds and that are locked, and
            // memory that only it uses. The stream waits for earlier work on the former and, since all launches are on
            // it, for earlier launches; its context is current.
            unsafe { driver!(cuGraphLaunch(self.exec, self.stream.raw())) }
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let outcome = self.stream.context().bind().and_then(|_bound| {
            self.stream.synchronize().or_else(|_| self.stream.synchronize())?;
            // SAFETY: the graph was created by `capture`, none of its launches is running, and it is destroyed once.
            unsafe { driver!(cuGraphExecDestroy(self.exec)) }
        });
        report(outcome);
    }
}

/// Sorts storages by their addresses, the order in which operations lock them.
fn sorted(mut used: Vec<Used>) -> Vec<Used> {
    used.sort_by_key(|(storage, _)| Arc::as_ptr(storage).addr());
    used
}

/// Locks storages, which must be sorted, makes a stream wait for earlier work on them, and calls a function.
fn order(used: &[Used], stream: &Arc<Stream>, then: impl FnOnce() -> Result<()>) -> Result<()> {
    // Which of the locks are for writing makes no difference to others, who wait only while this queues its work.
    let guards: Vec<_> = used.iter().map(|(storage, _)| storage.write()).collect();
    for (guard, (_, is_written)) in guards.iter().zip(used) {
        match &**guard {
            Memory::Cuda(memory) if !is_written => memory.before_read(stream)?,
            Memory::Cuda(_) => {
                if let Some(memory) = Exclusive::locked(guard).try_part(Memory::as_cuda) {
                    CudaMemory::before_write(memory, stream)?;
                }
            }
            #[cfg(feature = "cpu")]
            Memory::Cpu(_) => {}
        }
    }
    then()
}
