//! Scans: one launch, or three if a scan is shared by several blocks.

use super::CudaDevice;
use super::generate::{Key, REDUCE_SOURCE};
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

/// The elements that a block scans: 8 per thread.
const CHUNK: usize = 8 * BL_THREADS as usize;

/// The largest x dimension of a grid.
const GRID_X: usize = i32::MAX as usize;

/// The first byte of the keys of scans, which those of forms do not have.
const KEY: u8 = 0x40;

impl CudaDevice {
    /// Queues the launches of a scan. Only the last of them writes the result.
    pub(crate) fn scan(&self, request: &ScanRequest, access: &Access<'_>) -> Result<()> {
        let ScanRequest { op, combine, terms, out, outer, len, inner, offset } = *request;
        let context = self.stream.context();
        let _bound = context.bind()?;
        let key = Key::from_slice(&[KEY, combine as u8, terms as u8, out as u8]);
        let functions = context.kernels().keyed(&self.stream, key, || written(request))?;
        let (rows, chunks) = (outer * inner, len.div_ceil(CHUNK));
        let blocks = rows.checked_mul(chunks);
        let nodes =
            blocks.and_then(|blocks| blocks.checked_mul(2 * total_dtype(combine, terms).size()));
        let (Some(blocks), Some(bytes)) = (blocks, nodes) else {
            let reason = "there are too many elements".into();
            return Err(Error::InvalidArgument { op, reason });
        };
        let workspace = CudaMemory::allocate(&self.stream, if chunks > 1 { bytes } else { 0 })?;
        let from = address(op, access.memory(1))? + (offset * terms.size()) as u64;
        let sizes = [rows, len, inner, chunks].map(|size| size as u64);
        let words = [from, address(op, access.memory(0))?, workspace.address()];
        let words: [u64; 7] =
            [words[0], words[1], words[2], sizes[0], sizes[1], sizes[2], sizes[3]];
        let grid = |blocks: usize| -> Result<[u32; 2]> {
            let x = blocks.min(GRID_X);
            Ok([count(x)?, count(blocks.div_ceil(x))?])
        };
        let grids = [grid(blocks)?, grid(rows)?, grid(blocks)?];
        self.order_all(access)?;
        let first = if chunks > 1 { 0 } else { 2 };
        for (&function, grid) in functions.iter().zip(grids).skip(first) {
            note(|| {
                let Written { name, text, .. } = written(request);
                Kernel { name, kernel: kernels(request), source: text }
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
fn written(request: &ScanRequest) -> Written {
    let name = format!("{}_{}", request.op, request.terms);
    let text = [&*REDUCE_SOURCE.concat(), SCAN, "#line 1 \"scan\"\n", &kernels(request)].concat();
    let kernels = ["scan_totals", "scan_nodes", "scan_apply"].map(String::from);
    Written { name, text, kernels: kernels.into() }
}

/// Returns the part of the source that is specific to a scan.
fn kernels(request: &ScanRequest) -> String {
    let ScanRequest { combine, terms, out, .. } = *request;
    let total = total_dtype(combine, terms);
    let mut text = format!(
        "namespace bl {{\n\
         typedef Folded<op::{}, dtype_{total}> Total;\n\
         typedef Scan<Total, dtype_{terms}> K;\n\
         }}  // namespace bl\n",
        combine.name()
    );
    let result = format!(", bl::dtype_{out}");
    for (name, result) in [("scan_totals", ""), ("scan_nodes", ""), ("scan_apply", &*result)] {
        text.push_str(&format!(
            "extern \"C\" __global__ void __launch_bounds__(BL_THREADS) {name}(const __grid_constant__ bl::ScanParams p) {{\n    \
             bl::{name}<bl::K, bl::Total{result}>(p);\n}}\n"
        ));
    }
    text
}
