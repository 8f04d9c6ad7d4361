//! Graphs, however they were made.

use super::nodes::node;
use super::{api, put, wanted, working};
use crate::error::{
    Code, ERROR_GRAPH_EXEC_UPDATE_FAILURE, ERROR_INVALID_HANDLE, ERROR_INVALID_VALUE,
};
use crate::runtime::{Exec, Graph, Guard, Work, run_all, stir};
use std::ffi::{c_char, c_uint, c_ulonglong, c_void};
use std::mem::discriminant;

/// The flags for launches by devices, frees at launch, uploads and priorities.
const FLAGS: c_ulonglong = 15;

fn instantiate(to: *mut u64, graph: u64, flags: c_ulonglong) -> Result<(), Code> {
    let (mut s, _) = working()?;
    wanted(to)?;
    if flags > FLAGS {
        return Err(ERROR_INVALID_VALUE);
    }
    let works = complete(&s, graph)?.to_vec();
    let handle = s.handle();
    s.execs.insert(handle, Exec { works });
    put(to, handle)
}

/// The works of a graph that is complete.
pub(super) fn complete(s: &Guard, graph: u64) -> Result<&[Work], Code> {
    s.graphs.get(&graph).filter(|g| !g.open).map(|g| &*g.works).ok_or(ERROR_INVALID_VALUE)
}

/// Lets go of the memory of a graph that is gone, after all launches of it.
fn clean_up(s: Guard, works: &[Work]) {
    if works.iter().any(|w| matches!(w, Work::Open { .. })) {
        run_all(s).free_memory_of(works);
    }
}

/// Gives an executable graph the works of another graph of the same shape.
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
        instantiate(exec, graph, flags)
    }

    fn cuGraphInstantiate_v2(exec: *mut u64, graph: u64, _node: *mut u64, _log: *mut c_char, _size: usize) {
        instantiate(exec, graph, 0)
    }

    fn cuGraphInstantiateWithParams(exec: *mut u64, graph: u64, params: *mut c_void) {
        wanted(params)?;
        // SAFETY: not null, and by the API's contract a structure that begins with the flags.
        instantiate(exec, graph, unsafe { params.cast::<c_ulonglong>().read_unaligned() })
    }

    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, result: *mut c_uint) {
        let done = update(exec, graph);
        if !result.is_null() {
            // Zero: done; one: not; three: other nodes than before.
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
        drop(stir(s, stream));
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
        // SAFETY: not null, and by the API's contract the room in `nodes`.
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
