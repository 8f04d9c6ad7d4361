//! Graphs made by capture.

use super::{api, put, working};
use crate::error::{Code, ERROR_INVALID_HANDLE, ERROR_INVALID_VALUE};
use crate::runtime::{Exec, Graph, Work, stir};
use std::ffi::{c_char, c_uint, c_ulonglong, c_void};

fn instantiate(to: *mut u64, graph: u64) -> Result<(), Code> {
    let (mut s, _) = working()?;
    let works = s.graphs.get(&graph).filter(|g| !g.open).ok_or(ERROR_INVALID_VALUE)?.works.clone();
    let handle = s.handle();
    s.execs.insert(handle, Exec { works });
    put(to, handle)
}

api! {
    fn cuGraphCreate(graph: *mut u64, flags: c_uint) {
        let (mut s, _) = working()?;
        if flags != 0 {
            return Err(ERROR_INVALID_VALUE);
        }
        let handle = s.handle();
        s.graphs.insert(handle, Graph::default());
        put(graph, handle)
    }

    fn cuGraphInstantiateWithFlags(exec: *mut u64, graph: u64, _flags: c_ulonglong) {
        instantiate(exec, graph)
    }

    fn cuGraphInstantiate_v2(exec: *mut u64, graph: u64, _node: *mut u64, _log: *mut c_char, _size: usize) {
        instantiate(exec, graph)
    }

    fn cuGraphInstantiateWithParams(exec: *mut u64, graph: u64, _params: *mut c_void) {
        instantiate(exec, graph)
    }

    fn cuGraphUpload(exec: u64, stream: u64) {
        let (s, cx) = working()?;
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
        s.graphs.remove(&graph).map(drop).ok_or(ERROR_INVALID_VALUE)
    }

    fn cuGraphExecDestroy(exec: u64) {
        let (mut s, _) = working()?;
        s.execs.remove(&exec).map(drop).ok_or(ERROR_INVALID_HANDLE)
    }

    fn cuGraphGetNodes(graph: u64, nodes: *mut u64, count: *mut usize) {
        let (s, _) = working()?;
        let works = s.graphs.get(&graph).ok_or(ERROR_INVALID_VALUE)?.works.iter().filter(|w| !matches!(w, Work::Wait { .. })).count();
        if nodes.is_null() {
            return put(count, works);
        }
        if count.is_null() {
            return Err(ERROR_INVALID_VALUE);
        }
        // SAFETY: not null, and by the API's contract the room in `nodes`.
        let room = unsafe { count.read_unaligned() };
        for k in 0..works.min(room) {
            put(nodes.wrapping_add(k), graph + 1 + k as u64)?;
        }
        put(count, works)
    }

    fn cuGraphClone(to: *mut u64, graph: u64) {
        let (mut s, _) = working()?;
        let works = s.graphs.get(&graph).ok_or(ERROR_INVALID_VALUE)?.works.clone();
        let handle = s.handle();
        s.graphs.insert(handle, Graph { works, open: false });
        put(to, handle)
    }
}
