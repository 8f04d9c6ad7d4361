//! Scans: one launch, or three if the rows are cut into chunks.

use super::CudaDevice;
use super::force::{self, Force};
use super::generate::{Key, REDUCE_SOURCE};
use super::graph::Way;
use super::kernels::Written;
use super::launch::{count, launch};
use super::memory::CudaMemory;
use super::params::BL_THREADS;
use super::run::{address, note};
use super::trace::trace_launch;
use crate::introspect::Kernel;
use crate::program::total_dtype;
use crate::scan::ScanRequest;
use crate::storage::Access;
use crate::{Error, Result};

/// The kernels, which come after the parts that reductions are made of.
const SCAN: &str = include_str!(concat!(env!("OUT_DIR"), "/scan.cuh"));

/// The most elements of a chunk: 8 for each thread of a block, or for each of the groups whose totals a thread remembers.
const LONGEST: usize = 8 * BL_THREADS as usize;

/// The fewest elements that a thread scans alone, if rows have as many. Fewer would take longer to combine than to scan.
const SHORTEST: usize = 128;

/// The longest row that a thread scans where its elements are neighbours. In longer ones a block has enough to do.
const SHORT_ROW: usize = 256;

/// The largest x dimension of a grid.
const GRID_X: usize = i32::MAX as usize;

/// `ScanParams`.
type Words = [u64; 8];

/// The first byte of the keys of scans, which those of forms do not have.
const KEY: u8 = 0x40;

/// How rows are cut and shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// Whether a thread scans a chunk, and not a block.
    by_threads: bool,
    /// The elements of a chunk: a power of two.
    run: usize,
}

impl Cut {
    /// Chooses for `rows` rows of `len` elements that are `inner` apart. A thread scans as much as leaves enough work for
    /// the others.
    fn of(rows: usize, len: usize, inner: usize, threads: usize, force: Force) -> Cut {
        let by_threads = inner > 1 || len <= SHORT_ROW;
        if force.has(Force::SMALL_SEGMENTS) {
            return Cut { by_threads: true, run: 8 };
        }
        if force.has(Force::BLOCK_SUMS) || !(by_threads || force.has(Force::THREAD_SUMS)) {
            return Cut { by_threads: false, run: LONGEST };
        }
        if force.has(Force::THREAD_SUMS) {
            return Cut { by_threads: true, run: LONGEST };
        }
        let mut run = LONGEST;
        while run > SHORTEST && rows.saturating_mul(len.div_ceil(run)) < threads {
            run /= 2;
        }
        Cut { by_threads, run }
    }
}

impl CudaDevice {
    /// Queues the launches of a scan or, on a thread that captures a graph, adds them to the graph.
    pub(crate) fn scan(&self, request: &ScanRequest, access: &Access<'_>) -> Result<()> {
        self.on_its_way(|device, way| device.scan_here(request, access, way))
    }

    /// Queues the launches on this stream. Only the last of them writes the result.
    fn scan_here(&self, request: &ScanRequest, access: &Access<'_>, way: Way) -> Result<()> {
        let ScanRequest { op, combine, terms, out, outer, len, inner, offset } = *request;
        let context = self.stream.context();
        let _bound = context.bind()?;
        let rows = outer * inner;
        let cut = Cut::of(rows, len, inner, context.tuning().threads, force::current());
        let key = [KEY, combine as u8, terms as u8, out as u8, cut.by_threads.into()];
        let functions = context
            .kernels()
            .keyed(&self.stream, Key::from_slice(&key), || written(request, cut))?;
        let chunks = len.div_ceil(cut.run);
        let units = rows.checked_mul(chunks);
        let nodes =
            units.and_then(|units| units.checked_mul(2 * total_dtype(combine, terms).size()));
        let (Some(units), Some(bytes)) = (units, nodes) else {
            let reason = "there are too many elements".into();
            return Err(Error::InvalidArgument { op, reason });
        };
        let workspace = CudaMemory::allocate(&self.stream, if chunks > 1 { bytes } else { 0 })?;
        let from = address(op, access.memory(1))? + (offset * terms.size()) as u64;
        let [rows_, len_, inner_, chunks_, run] =
            [rows, len, inner, chunks, cut.run].map(|size| size as u64);
        let to = address(op, access.memory(0))?;
        let words: Words = [from, to, workspace.address(), rows_, len_, inner_, chunks_, run];
        let blocks = if cut.by_threads { units.div_ceil(BL_THREADS as usize) } else { units };
        let grid = |blocks: usize| -> Result<[u32; 2]> {
            let x = blocks.min(GRID_X);
            Ok([count(x)?, count(blocks.div_ceil(x))?])
        };
        let grids = [grid(blocks)?, grid(rows)?, grid(blocks)?];
        if way == Way::Prepare {
            return Ok(());
        }
        self.order_all(access)?;
        let first = if chunks > 1 { 0 } else { 2 };
        for (&function, grid) in functions.iter().zip(grids).skip(first) {
            note(|| {
                let Written { name, text, .. } = written(request, cut);
                let blocks = grid[0] as usize * grid[1] as usize;
                Kernel { name, kernel: kernels(request, cut), source: text, blocks }
            });
            trace_launch!(kernel = op, ?grid, plan = ?request, "launch");
            // SAFETY: the words are the `ScanParams` of these kernels, whose elements lie inside the memory of the access
            // or of the workspace. The former is locked, and `order` has made the stream wait for earlier work on it; the
            // latter was allocated by this call on this stream. Both are alive until the launch is queued, and
            // `_bound` keeps the context current.
            unsafe { launch(&self.stream, function, grid, words.as_ptr().cast()) }?;
        }
        Ok(())
    }
}

/// Returns the source of the kernels of a scan.
fn written(request: &ScanRequest, cut: Cut) -> Written {
    let name = format!("{}_{}", request.op, request.terms);
    let text =
        [&*REDUCE_SOURCE.concat(), SCAN, "#line 1 \"scan\"\n", &kernels(request, cut)].concat();
    let kernels = ["scan_totals", "scan_nodes", "scan_apply"].map(String::from);
    Written { name, text, kernels: kernels.into() }
}

/// Returns the part of the source that is specific to a scan.
fn kernels(request: &ScanRequest, cut: Cut) -> String {
    let ScanRequest { combine, terms, out, .. } = *request;
    let total = total_dtype(combine, terms);
    let unit = if cut.by_threads { "Lane" } else { "Scan" };
    let mut text = format!(
        "namespace bl {{\n\
         static_assert(sizeof(ScanParams) == {}, \"the parameters are those of the launch\");\n\
         typedef Folded<op::{}, dtype_{total}> Total;\n\
         typedef {unit}<Total, dtype_{terms}> K;\n\
         }}  // namespace bl\n",
        size_of::<Words>(),
        combine.name()
    );
    let apply = format!("K::scan_apply<bl::dtype_{out}>");
    for (name, function) in [
        ("scan_totals", "K::scan_totals"),
        ("scan_nodes", "scan_nodes<bl::Total>"),
        ("scan_apply", &*apply),
    ] {
        text.push_str(&format!(
            "extern \"C\" __global__ void __launch_bounds__(BL_THREADS) {name}(const __grid_constant__ bl::ScanParams p) {{\n    \
             bl::{function}(p);\n}}\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_so_that_there_is_enough_to_do() {
        let cut = |rows, len, inner| {
            let Cut { by_threads, run } = Cut::of(rows, len, inner, 131_072, Force::NOTHING);
            (by_threads, run)
        };
        // Long rows of neighbours: by blocks. Short ones and columns: by threads.
        assert_eq!(cut(1, 1 << 20, 1), (false, LONGEST));
        assert_eq!(cut(1 << 20, 257, 1), (false, LONGEST));
        assert_eq!(cut(1 << 20, 256, 1), (true, LONGEST));
        assert_eq!(cut(1 << 20, 10, 1 << 20), (true, LONGEST));
        assert_eq!(cut(1 << 17, 1 << 20, 1 << 17), (true, LONGEST));
        // 1024 columns of 2^17: 128 chunks of 1024 are enough.
        assert_eq!(cut(1024, 1 << 17, 1024), (true, 1024));
        assert_eq!(cut(10, 1 << 20, 10), (true, SHORTEST));
        assert_eq!(Cut::of(1, 9, 1, 1, Force::BLOCK_SUMS).run, LONGEST);
        assert_eq!(
            Cut::of(1, 1 << 20, 1, 1, Force::SMALL_SEGMENTS),
            Cut { by_threads: true, run: 8 }
        );
    }
}
