//! Graphs, whether captured or built node by node.

use super::nodes::node;
use super::{api, on_stream, put, wanted, working};
use crate::error::{
    Code, ERROR_GRAPH_EXEC_UPDATE_FAILURE, ERROR_INVALID_HANDLE, ERROR_INVALID_VALUE,
};
use crate::runtime::{Exec, Graph, Guard, Work, run_all, run_by_policy};
use std::ffi::{c_char, c_uint, c_ulonglong, c_void};
use std::mem::discriminant;

// Flags of an instantiation.
const FREE_AT_LAUNCH: c_ulonglong = 1;
const UPLOAD: c_ulonglong = 2;
const LAUNCH_BY_DEVICE: c_ulonglong = 4;
const PRIORITIES: c_ulonglong = 8;

/// Instantiates a graph. `known` are the flags that the calling API function accepts; two of them exclude each other.
fn instantiate(
    to: *mut u64,
    graph: u64,
    flags: c_ulonglong,
    known: c_ulonglong,
) -> Result<(), Code> {
    let (mut s, _) = working()?;
    wanted(to)?;
    let both = FREE_AT_LAUNCH | LAUNCH_BY_DEVICE;
    if flags & !known != 0 || flags & both == both {
        return Err(ERROR_INVALID_VALUE);
    }
    let works = complete(&s, graph)?.to_vec();
    // A graph launched from the device may contain kernels, copies and fills, but nothing that needs the host.
    let on_device =
        |w: &Work| matches!(w, Work::Kernel(_) | Work::Copy { .. } | Work::Fill(_) | Work::Nothing);
    if flags & LAUNCH_BY_DEVICE != 0 && !works.iter().all(on_device) {
        return Err(ERROR_INVALID_VALUE);
    }
    let handle = s.handle();
    s.execs.insert(handle, Exec { works });
    put(to, handle)
}

/// Returns the work items of a graph that is not being captured any more.
pub(super) fn complete(s: &Guard, graph: u64) -> Result<&[Work], Code> {
    s.graphs.get(&graph).filter(|g| !g.open).map(|g| &*g.works).ok_or(ERROR_INVALID_VALUE)
}

/// Frees the allocations of a destroyed graph once its launches have run.
fn clean_up(s: Guard, works: &[Work]) {
    if works.iter().any(|w| matches!(w, Work::Open { .. })) {
        run_all(s).free_memory_of(works);
    }
}

/// Replaces the work items of an executable graph by those of a graph with the same kinds of nodes.
fn update(exec: u64, graph: u64) -> Result<(), Code> {
    let (mut s, _) = working()?;
    let works = complete(&s, graph)?.to_vec();
    let exec = s.execs.get_mut(&exec).ok_or(ERROR_INVALID_VALUE)?;
    let same = |(a, b): (&Work, &Work)| discriminant(a) == discriminant(b);
    if exec.works.len() != works.len() || !exec.works.iter().zip(&works).all(same) {
        return Err(ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    }
    let old = std::mem::replace(&mut exec.works, works);
    clean_up(s, &old);
    Ok(())
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
struct InstantiateParams {
    flags: c_ulonglong,
    stream: u64,
    node: u64,
    result: c_uint,
}

api! {
    fn cuGraphCreate(graph: *mut u64, flags: c_uint) {
        let (mut s, _) = working()?;
        if flags != 0 {
            return Err(ERROR_INVALID_VALUE);
        }
        wanted(graph)?;
        let handle = s.handle();
        s.graphs.insert(handle, Graph::default());
        put(graph, handle)
    }

    fn cuGraphInstantiateWithFlags(exec: *mut u64, graph: u64, flags: c_ulonglong) {
        instantiate(exec, graph, flags, FREE_AT_LAUNCH | LAUNCH_BY_DEVICE | PRIORITIES)
    }

    fn cuGraphInstantiate_v2(exec: *mut u64, graph: u64, _node: *mut u64, _log: *mut c_char, _size: usize) {
        instantiate(exec, graph, 0, 0)
    }

    fn cuGraphInstantiateWithParams(exec: *mut u64, graph: u64, params: *mut c_void) {
        wanted(params)?;
        let at = params.cast::<InstantiateParams>();
        // SAFETY: not null, and by the API's contract it points to a valid structure.
        let p = unsafe { at.read_unaligned() };
        let known = FREE_AT_LAUNCH | UPLOAD | LAUNCH_BY_DEVICE | PRIORITIES;
        let uploads = if p.flags & UPLOAD != 0 { on_stream(p.stream).map(drop) } else { Ok(()) };
        let done = uploads.and_then(|()| instantiate(exec, graph, p.flags, known));
        // SAFETY: as above, and writable. The result is 0 for success and 1 for an error that no single node caused.
        unsafe { at.write_unaligned(InstantiateParams { node: 0, result: c_uint::from(done.is_err()), ..p }) };
        done
    }

    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, result: *mut c_uint) {
        let done = update(exec, graph);
        if !result.is_null() {
            // 0: success; 1: error; 3: the kinds of the nodes changed.
            put(result, match done { Ok(()) => 0, Err(ERROR_GRAPH_EXEC_UPDATE_FAILURE) => 3, Err(_) => 1 })?;
        }
        done
    }

    fn cuGraphUpload(exec: u64, stream: u64) {
        let (mut s, cx) = working()?;
        s.stream(cx, stream)?;
        if s.execs.contains_key(&exec) { Ok(()) } else { Err(ERROR_INVALID_VALUE) }
    }

    fn cuGraphLaunch(exec: u64, stream: u64) {
        let (mut s, cx) = working()?;
        let stream = s.stream(cx, stream)?;
        let works = s.execs.get(&exec).ok_or(ERROR_INVALID_VALUE)?.works.clone();
        works.into_iter().try_for_each(|work| s.push(stream, work))?;
        drop(run_by_policy(s, stream));
        Ok(())
    }

    fn cuGraphDestroy(graph: u64) {
        let (mut s, _) = working()?;
        complete(&s, graph)?;
        let gone = s.graphs.remove(&graph).ok_or(ERROR_INVALID_VALUE)?;
        clean_up(s, &gone.works);
        Ok(())
    }

    fn cuGraphExecDestroy(exec: u64) {
        let (mut s, _) = working()?;
        let gone = s.execs.remove(&exec).ok_or(ERROR_INVALID_HANDLE)?;
        clean_up(s, &gone.works);
        Ok(())
    }

    fn cuGraphGetNodes(graph: u64, nodes: *mut u64, count: *mut usize) {
        let (s, _) = working()?;
        let works = s.graphs.get(&graph).ok_or(ERROR_INVALID_VALUE)?.works.len();
        if nodes.is_null() {
            return put(count, works);
        }
        if count.is_null() {
            return Err(ERROR_INVALID_VALUE);
        }
        // SAFETY: not null, and by the API's contract it holds the capacity of `nodes`.
        let room = unsafe { count.read_unaligned() };
        for k in 0..works.min(room) {
            put(nodes.wrapping_add(k), node(graph, k))?;
        }
        put(count, works)
    }

    fn cuGraphClone(to: *mut u64, graph: u64) {
        let (mut s, _) = working()?;
        wanted(to)?;
        let works = complete(&s, graph)?.to_vec();
        let handle = s.handle();
        s.graphs.insert(handle, Graph { works, open: false });
        put(to, handle)
    }
}
