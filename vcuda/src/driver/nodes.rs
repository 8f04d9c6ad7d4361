//! Graphs built node by node.
//!
//! A node holds what the same call puts on a captured stream, so a temporary captured stream is made for each node.
//! Nodes run in the order in which they were added, which respects every dependency on an existing node; a dependency
//! that would require another order is refused.

use super::copy::{Copy3D, copy_3d, fill, plane};
use super::function::{Shape, launch};
use super::graph::complete;
use super::{api, put, wanted, working};
use crate::error::{Code, ERROR_INVALID_VALUE, ERROR_NOT_SUPPORTED};
use crate::runtime::{Capture, Graph, Stream, Work, enter};
use std::ffi::{c_int, c_uint, c_void};

/// Returns the handle of a graph's node, given its index.
pub(super) fn node(graph: u64, place: usize) -> u64 {
    graph << 20 | place as u64 + 1
}

/// Returns the graph and the index of a node.
fn place(node: u64) -> (u64, usize) {
    (node >> 20, (node as usize & 0xf_ffff).wrapping_sub(1))
}

/// Returns the work items that a call puts on a stream.
fn works_of(call: impl FnOnce(u64) -> Result<(), Code>) -> Result<Vec<Work>, Code> {
    let (mut s, cx) = working()?;
    let (graph, stream) = (s.handle(), s.handle());
    s.graphs.insert(graph, Graph { open: true, ..Graph::default() });
    let captured = Stream { capture: Some(Capture::into(graph)), ..Stream::new(cx, true, 1, 0) };
    s.streams.insert(stream, captured);
    drop(s);
    let done = call(stream);
    let mut s = enter();
    s.streams.remove(&stream);
    let works = s.graphs.remove(&graph).map_or(Vec::new(), |g| g.works);
    done.map(|()| if works.is_empty() { vec![Work::Nothing] } else { works })
}

fn kernel(params: *const KernelNode) -> Result<Vec<Work>, Code> {
    if params.is_null() {
        return Err(ERROR_INVALID_VALUE);
    }
    // SAFETY: not null, and by the API's contract it points to valid parameters.
    let p = unsafe { params.read_unaligned() };
    let function = if p.function == 0 { p.kernel } else { p.function };
    let shape = Shape::new(p.grid, p.block, p.shared);
    works_of(|stream| launch(function, shape, stream, p.params, p.extra))
}

/// Appends the work of a node to a graph.
fn add(
    to: *mut u64,
    graph: u64,
    after: *const u64,
    count: usize,
    works: Vec<Work>,
) -> Result<(), Code> {
    let (mut s, _) = working()?;
    wanted(to)?;
    let there = complete(&s, graph)?.len();
    if after.is_null() && count > 0 {
        return Err(ERROR_INVALID_VALUE);
    }
    for k in 0..count {
        // SAFETY: not null, and by the API's contract there are `count` nodes to read.
        let (home, at) = place(unsafe { after.add(k).read_unaligned() });
        if home != graph || at >= there {
            return Err(ERROR_INVALID_VALUE);
        }
    }
    let last = there + works.len() - 1;
    if let Some(graph) = s.graphs.get_mut(&graph) {
        graph.works.extend(works);
    }
    put(to, node(graph, last))
}

fn depend(graph: u64, from: *const u64, to: *const u64, count: usize) -> Result<(), Code> {
    let (s, _) = working()?;
    let there = complete(&s, graph)?.len();
    if count > 0 && (from.is_null() || to.is_null()) {
        return Err(ERROR_INVALID_VALUE);
    }
    for k in 0..count {
        // SAFETY: not null, and by the API's contract there are `count` nodes to read.
        let (from, to) =
            unsafe { (place(from.add(k).read_unaligned()), place(to.add(k).read_unaligned())) };
        if from.0 != graph || to.0 != graph || from.1 >= there || to.1 >= there || from == to {
            return Err(ERROR_INVALID_VALUE);
        }
        if from.1 > to.1 {
            return Err(ERROR_NOT_SUPPORTED);
        }
    }
    Ok(())
}

/// Replaces the work of a kernel node.
fn exchange(works: Option<&mut Vec<Work>>, node: u64, new: Vec<Work>) -> Result<(), Code> {
    match (works.and_then(|works| works.get_mut(place(node).1)), new.into_iter().next()) {
        (Some(old @ Work::Kernel(_)), Some(new)) => *old = new,
        _ => return Err(ERROR_INVALID_VALUE),
    }
    Ok(())
}

/// `CUDA_KERNEL_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelNode {
    function: u64,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
    kernel: u64,
    context: u64,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FillNode {
    addr: u64,
    pitch: usize,
    value: c_uint,
    element: c_uint,
    size: [usize; 2],
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostNode {
    function: usize,
    data: usize,
}

api! {
    fn cuGraphAddKernelNode_v2(to: *mut u64, graph: u64, after: *const u64, count: usize, params: *const KernelNode) {
        add(to, graph, after, count, kernel(params)?)
    }

    fn cuGraphAddMemcpyNode(to: *mut u64, graph: u64, after: *const u64, count: usize, what: *const Copy3D, _context: u64) {
        add(to, graph, after, count, works_of(|stream| copy_3d(what, Some(stream)))?)
    }

    fn cuGraphAddMemsetNode(to: *mut u64, graph: u64, after: *const u64, count: usize, params: *const FillNode, _context: u64) {
        if params.is_null() {
            return Err(ERROR_INVALID_VALUE);
        }
        // SAFETY: not null, and by the API's contract it points to valid parameters.
        let p = unsafe { params.read_unaligned() };
        if !matches!(p.element, 1 | 2 | 4) {
            return Err(ERROR_INVALID_VALUE);
        }
        // The pitch of a single row is ignored.
        let pitch = if p.size[1] == 1 { 0 } else { p.pitch };
        let works = works_of(|stream| fill(plane(p.addr, pitch, p.value, p.element.into(), p.size), Some(stream)))?;
        add(to, graph, after, count, works)
    }

    fn cuGraphAddHostNode(to: *mut u64, graph: u64, after: *const u64, count: usize, params: *const HostNode) {
        if params.is_null() {
            return Err(ERROR_INVALID_VALUE);
        }
        // SAFETY: not null, and by the API's contract it points to valid parameters.
        let HostNode { function, data } = unsafe { params.read_unaligned() };
        if function == 0 {
            return Err(ERROR_INVALID_VALUE);
        }
        add(to, graph, after, count, vec![Work::Host { function, data }])
    }

    fn cuGraphAddEmptyNode(to: *mut u64, graph: u64, after: *const u64, count: usize) {
        add(to, graph, after, count, vec![Work::Nothing])
    }

    fn cuGraphAddChildGraphNode(to: *mut u64, graph: u64, after: *const u64, count: usize, child: u64) {
        let mut works = complete(&working()?.0, child)?.to_vec();
        works.push(Work::Nothing);
        add(to, graph, after, count, works)
    }

    fn cuGraphAddDependencies(graph: u64, from: *const u64, to: *const u64, count: usize) {
        depend(graph, from, to, count)
    }

    fn cuGraphAddDependencies_v2(graph: u64, from: *const u64, to: *const u64, _edges: *const c_void, count: usize) {
        depend(graph, from, to, count)
    }

    fn cuGraphKernelNodeSetParams_v2(node: u64, params: *const KernelNode) {
        let works = kernel(params)?;
        let (mut s, _) = working()?;
        exchange(s.graphs.get_mut(&place(node).0).map(|g| &mut g.works), node, works)
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, params: *const KernelNode) {
        let works = kernel(params)?;
        let (mut s, _) = working()?;
        exchange(s.execs.get_mut(&exec).map(|e| &mut e.works), node, works)
    }

    fn cuGraphNodeGetType(node: u64, kind: *mut c_int) {
        let (s, _) = working()?;
        let (graph, at) = place(node);
        let work = s.graphs.get(&graph).and_then(|g| g.works.get(at)).ok_or(ERROR_INVALID_VALUE)?;
        put(kind, match work {
            Work::Kernel(_) => 0,
            Work::Copy { .. } => 1,
            Work::Fill(_) => 2,
            Work::Host { .. } => 3,
            Work::Open { .. } => 10,
            Work::Close { .. } | Work::Free { .. } => 11,
            Work::Wait { .. } | Work::Record { .. } | Work::Nothing => 5,
        })
    }
}
