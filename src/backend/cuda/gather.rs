//! Look-ups by index, and the places of what is true.

use super::CudaDevice;
use super::generate::{COMMON, Key, NARROW};
use super::graph::Way;
use super::kernels::Written;
use super::launch::{count, launch};
use super::params::{BL_MAX_RANK, BL_THREADS};
use super::run::{address, note};
use super::trace::trace_launch;
use crate::gather::GatherRequest;
use crate::introspect::Kernel;
use crate::storage::Access;
use crate::{DType, Result};

/// The kernels, which come after the parts that all kernels have.
const GATHER: &str = include_str!(concat!(env!("OUT_DIR"), "/gather.cuh"));

/// The first byte of the keys of these kernels, which those of forms and scans do not have.
const KEY: u8 = 0x41;

/// The largest x dimension of a grid.
const GRID_X: usize = i32::MAX as usize;

/// `GatherParams`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Parameters {
    at: [u64; 3],
    count: u64,
    rank: u64,
    len: u64,
    stride: i64,
    size: [u64; BL_MAX_RANK as usize],
    step: [[i64; 3]; BL_MAX_RANK as usize],
}

impl CudaDevice {
    /// Queues the launch of a look-up or, on a thread that captures a graph, adds it to the graph.
    pub(crate) fn gather(&self, request: &GatherRequest<'_>, access: &Access<'_>) -> Result<()> {
        let GatherRequest { op, dtype, indices, plan, stride, len } = *request;
        let sizes = [dtype.size(), dtype.size(), indices.size()];
        let mut parameters = Parameters {
            count: plan.len as u64,
            rank: plan.rank as u64,
            len: len as u64,
            stride: (stride * dtype.size() as isize) as i64,
            ..Parameters::default()
        };
        for (slot, &size) in sizes.iter().enumerate() {
            let offset = plan.slots[slot].offset * size;
            parameters.at[slot] = address(op, access.memory(slot))? + offset as u64;
            for level in 0..plan.rank {
                let step = plan.slots[slot].strides[level] * size as isize;
                parameters.step[level][slot] = step as i64;
            }
        }
        for level in 0..plan.rank {
            parameters.size[level] = plan.sizes[level] as u64;
        }
        // Only the size of an element matters.
        let element = match dtype.size() {
            1 => DType::U8,
            2 => DType::U16,
            4 => DType::U32,
            8 => DType::U64,
            _ => DType::C128,
        };
        let index = if plan.len < NARROW { "u32" } else { "u64" };
        let call = format!("gather<bl::dtype_{element}, bl::dtype_{indices}, bl::{index}>");
        let key = Key::from_slice(&[KEY, element as u8, indices as u8, (index == "u64").into()]);
        self.on_its_way(|device, way| device.look_up(op, key, &call, &parameters, access, way))
    }

    /// Queues the launch that writes the places of bools that are true, given their running sums.
    pub(crate) fn places(&self, op: &'static str, len: usize, access: &Access<'_>) -> Result<()> {
        let mut parameters = Parameters { count: len as u64, ..Parameters::default() };
        for slot in 0..3 {
            parameters.at[slot] = address(op, access.memory(slot))?;
        }
        let key = Key::from_slice(&[KEY, u8::MAX]);
        self.look_up(op, key, "write_places", &parameters, access, Way::Launch)
    }

    fn look_up(
        &self,
        op: &'static str,
        key: Key,
        call: &str,
        parameters: &Parameters,
        access: &Access<'_>,
        way: Way,
    ) -> Result<()> {
        let context = self.stream.context();
        let _bound = context.bind()?;
        let kernel = || {
            format!(
                "static_assert(sizeof(bl::GatherParams) == {}, \"the parameters are those of the launch\");\n\
                 extern \"C\" __global__ void __launch_bounds__(BL_THREADS) look_up(const __grid_constant__ bl::GatherParams p) {{\n    \
                 bl::{call}(p);\n}}\n",
                size_of::<Parameters>()
            )
        };
        let source = || [COMMON, GATHER, "#line 1 \"gather\"\n", &kernel()].concat();
        let functions = context.kernels().keyed(&self.stream, key, || Written {
            name: op.into(),
            text: source(),
            kernels: vec!["look_up".into()],
        })?;
        let blocks = (parameters.count as usize).div_ceil(BL_THREADS as usize);
        let x = blocks.min(GRID_X);
        let grid = [count(x)?, count(blocks.div_ceil(x))?];
        if way == Way::Prepare {
            return Ok(());
        }
        self.order_all(access)?;
        note(|| Kernel { name: op.into(), source: source(), kernel: kernel(), blocks });
        trace_launch!(kernel = op, ?grid, "launch");
        // SAFETY: these are the parameters of the kernel. All elements that it reaches through them lie inside the memory of
        // the access, whatever the indices are; as many places are written as the sums say. The memory is locked and alive
        // until the launch is queued, `order` has made the stream wait for earlier work on it, and `_bound` keeps the context current.
        unsafe { launch(&self.stream, functions[0], grid, std::ptr::from_ref(parameters).cast()) }
    }
}
