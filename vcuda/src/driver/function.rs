//! Functions: attributes, occupancy and launches.

use super::device::{MULTIPROCESSORS, max_shared};
use super::{api, bad_call, put, wanted, working};
use crate::config;
use crate::error::{
    Code, ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, ERROR_INVALID_HANDLE, ERROR_INVALID_VALUE,
    ERROR_NOT_SUPPORTED,
};
use crate::runtime::{Kernel, KernelLaunch, Work, submit};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

fn kernel(function: u64) -> Result<Kernel, Code> {
    let (mut s, cx) = working()?;
    let function = s.function_in(cx, function)?;
    s.kernels.get(&function).cloned().ok_or(ERROR_INVALID_HANDLE)
}

/// Checks a new value of an attribute and returns whether the attribute is the limit on dynamic shared memory.
pub(super) fn check_attribute(k: &Kernel, which: c_int, value: c_int) -> Result<bool, Code> {
    let most = max_shared(config::with(|c| c.cc)) - k.program.shared_bytes as c_int;
    match which {
        8 if (0..=most).contains(&value) => Ok(true),
        9..=15 => Ok(false),
        _ => Err(ERROR_INVALID_VALUE),
    }
}

pub(super) fn attribute(k: &Kernel, which: c_int) -> Result<c_int, Code> {
    let cc = config::with(|c| c.cc) as c_int;
    Ok(match which {
        0 => k.program.max_threads.unwrap_or(1024) as c_int,
        1 => k.program.shared_bytes as c_int,
        2 => k.program.const_bytes as c_int,
        3 => k.program.local_bytes as c_int,
        4 => 32,
        5 => k.ptx_version as c_int,
        6 => cc,
        7 => 0,
        8 => {
            if k.max_dynamic_shared > 0 {
                k.max_dynamic_shared
            } else {
                (48 << 10) - k.program.shared_bytes as c_int
            }
        }
        9 => -1,
        10..=15 => 0,
        _ => return Err(ERROR_INVALID_VALUE),
    })
}

/// Returns how many blocks of a size fit on a multiprocessor, limited by threads and by shared memory.
fn blocks(k: &Kernel, size: c_int, dynamic: usize) -> Result<c_int, Code> {
    if size <= 0 {
        return Err(ERROR_INVALID_VALUE);
    }
    if size > 1024 {
        return Ok(0);
    }
    let threads = (size + 31) / 32 * 32;
    let shared = (k.program.shared_bytes as usize + 1024).saturating_add(dynamic);
    let room = max_shared(config::with(|c| c.cc)) as usize + 1024;
    Ok((2048 / threads).min(32).min((room / shared) as c_int))
}

/// Finds the block size with the highest occupancy, and among equals the largest, out of the limit and the multiples of
/// the warp size below it. The dynamic shared memory of a block is a constant or a function of the block size.
fn best_size(
    grid: *mut c_int,
    block: *mut c_int,
    function: u64,
    callback: Option<extern "C" fn(c_int) -> usize>,
    dynamic: usize,
    limit: c_int,
) -> Result<(), Code> {
    let k = kernel(function)?;
    wanted(grid)?;
    wanted(block)?;
    let most = k.program.max_threads.unwrap_or(1024).clamp(1, 1024) as c_int;
    let most = if limit > 0 { most.min(limit) } else { most };
    let fits = |size| blocks(&k, size, callback.map_or(dynamic, |bytes| bytes(size)));
    let (mut best, mut count) = (most, fits(most)?);
    for size in (1..=most / 32).map(|warps| warps * 32).rev() {
        let blocks = fits(size)?;
        if blocks * size > count * best {
            (best, count) = (size, blocks);
        }
    }
    put(block, best)?;
    put(grid, MULTIPROCESSORS * count.max(1))
}

/// Returns a description of what is wrong with a launch, or `None` if it is valid.
fn wrong(k: &Kernel, grid: [u32; 3], block: [u32; 3], shared: u32) -> Option<String> {
    let p = &k.program;
    let threads = block.iter().fold(1u64, |n, &d| n.saturating_mul(d.into()));
    if grid.contains(&0) || block.contains(&0) {
        return Some("a dimension is zero".into());
    }
    if grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
        return Some(format!("a grid of {grid:?} is too large"));
    }
    if block[0] > 1024 || block[1] > 1024 || block[2] > 64 || threads > 1024 {
        return Some(format!("a block of {block:?} is too large"));
    }
    if p.max_threads.is_some_and(|most| threads > most.into()) {
        return Some(format!(
            "{threads} threads in a block, where the kernel allows {}",
            p.max_threads.unwrap_or(0)
        ));
    }
    if p.required_block.is_some_and(|required| required != block) {
        return Some(format!(
            "a block of {block:?}, where the kernel requires {:?}",
            p.required_block.unwrap_or_default()
        ));
    }
    let most = attribute(k, 8).unwrap_or(0).max(0) as u32;
    (shared > most)
        .then(|| format!("{shared} bytes of dynamic shared memory, where {most} are allowed"))
}

/// Copies the kernel parameters from the caller into a parameter block.
fn gather(k: &Kernel, params: *mut *mut c_void, extra: *mut *mut c_void) -> Result<Vec<u8>, Code> {
    let mut block = vec![0u8; k.program.param_bytes as usize];
    if !extra.is_null() {
        let (mut buffer, mut size) = (std::ptr::null::<u8>(), 0usize);
        let mut at = extra;
        // SAFETY: by the API's contract `extra` is a zero-terminated list of pairs, whose buffer is readable for the
        // size given.
        unsafe {
            loop {
                match *at as usize {
                    0 => break,
                    1 => buffer = (*at.add(1)).cast(),
                    2 => size = *(*at.add(1)).cast::<usize>(),
                    _ => return Err(ERROR_INVALID_VALUE),
                }
                at = at.add(2);
            }
            if buffer.is_null() || size < block.len() || !params.is_null() {
                return Err(ERROR_INVALID_VALUE);
            }
            let len = block.len();
            block.copy_from_slice(std::slice::from_raw_parts(buffer, len));
        }
        return Ok(block);
    }
    if params.is_null() && !k.program.params.is_empty() {
        return Err(ERROR_INVALID_VALUE);
    }
    for (n, p) in k.program.params.iter().enumerate() {
        // SAFETY: by the API's contract there is a pointer for every parameter, readable for its size.
        unsafe {
            let from = (*params.add(n)).cast::<u8>();
            if from.is_null() {
                return Err(ERROR_INVALID_VALUE);
            }
            let (start, end) = (p.offset as usize, (p.offset + p.size) as usize);
            block[start..end].copy_from_slice(std::slice::from_raw_parts(from, end - start));
        }
    }
    Ok(block)
}

/// The configuration of a launch.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    shared: u32,
    cooperative: bool,
}

impl Shape {
    /// The configuration of a launch that is not cooperative.
    pub fn new(grid: [u32; 3], block: [u32; 3], shared: u32) -> Shape {
        Shape { grid, block, shared, cooperative: false }
    }
}

pub(super) fn launch(
    function: u64,
    shape: Shape,
    stream: u64,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<(), Code> {
    let Shape { grid, block, shared, cooperative } = shape;
    let (mut s, cx) = working()?;
    let stream = s.stream(cx, stream)?;
    let function = s.function_in(cx, function)?;
    let k = s.kernels.get(&function).ok_or(ERROR_INVALID_HANDLE)?;
    let home = s.modules.get(&k.module).map_or(0, |m| m.context);
    if s.streams.get(&stream).is_some_and(|x| x.context != cx) || home != cx {
        bad_call(
            ERROR_INVALID_HANDLE,
            format!("launch of {} with a function or stream of another context", k.program.name),
        );
        return Err(ERROR_INVALID_HANDLE);
    }
    if let Some(why) = wrong(k, grid, block, shared) {
        bad_call(ERROR_INVALID_VALUE, format!("launch of {}: {why}", k.program.name));
        return Err(ERROR_INVALID_VALUE);
    }
    if cooperative {
        together(k, grid, block, shared)?;
    }
    if config::with(|c| c.stub) {
        let program = k.program.clone();
        match s.launches.get_mut(&program.name) {
            Some(entry) => entry.0 += 1,
            None => drop(s.launches.insert(program.name.clone(), (1, 0))),
        }
        return Ok(());
    }
    let params = gather(k, params, extra)?;
    let work = Work::Kernel(Arc::new(KernelLaunch {
        program: k.program.clone(),
        grid,
        block,
        shared,
        params,
        cooperative,
    }));
    submit(s, stream, work).map(drop)
}

/// Fails unless all blocks of a grid are resident at the same time, as a cooperative launch requires.
fn together(k: &Kernel, grid: [u32; 3], block: [u32; 3], shared: u32) -> Result<(), Code> {
    let count = |sizes: [u32; 3]| sizes.iter().fold(1u64, |n, &d| n.saturating_mul(d.into()));
    let threads = c_int::try_from(count(block)).map_err(|_| ERROR_INVALID_VALUE)?;
    let room = MULTIPROCESSORS * blocks(k, threads.max(1), shared as usize)?;
    if count(grid) <= room as u64 { Ok(()) } else { Err(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) }
}

// Launch attributes.
const COOPERATIVE: c_uint = 2;
const CLUSTER: c_uint = 4;

/// `CUlaunchConfig`.
#[repr(C)]
pub struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: u64,
    attributes: *mut c_void,
    count: c_uint,
}

api! {
    fn cuLaunchKernel(f: u64, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: u64, params: *mut *mut c_void, extra: *mut *mut c_void) {
        launch(f, Shape::new([gx, gy, gz], [bx, by, bz], shared), stream, params, extra)
    }

    fn cuLaunchKernelEx(config: *const LaunchConfig, f: u64, params: *mut *mut c_void, extra: *mut *mut c_void) {
        if config.is_null() {
            return Err(ERROR_INVALID_VALUE);
        }
        // SAFETY: not null, and by the API's contract it points to a valid configuration.
        let c = unsafe { &*config };
        let mut cooperative = false;
        for k in 0..if c.attributes.is_null() { 0 } else { c.count as usize } {
            // SAFETY: by the API's contract there are `count` attributes of 72 bytes each, with the identifier at
            // offset 0 and the value at offset 8.
            let words = unsafe { c.attributes.cast::<[c_uint; 18]>().add(k).read_unaligned() };
            match words[0] {
                COOPERATIVE => cooperative = words[2] != 0,
                CLUSTER if words[2..5] != [1, 1, 1] => return Err(ERROR_NOT_SUPPORTED),
                _ => {}
            }
        }
        let shape = Shape { grid: c.grid, block: c.block, shared: c.shared, cooperative };
        launch(f, shape, c.stream, params, extra)
    }

    fn cuLaunchCooperativeKernel(f: u64, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: u64, params: *mut *mut c_void) {
        let shape = Shape { cooperative: true, ..Shape::new([gx, gy, gz], [bx, by, bz], shared) };
        launch(f, shape, stream, params, std::ptr::null_mut())
    }

    fn cuFuncGetAttribute(value: *mut c_int, which: c_int, f: u64) {
        put(value, attribute(&kernel(f)?, which)?)
    }

    fn cuFuncSetAttribute(f: u64, which: c_int, value: c_int) {
        let (mut s, cx) = working()?;
        let f = s.function_in(cx, f)?;
        let k = s.kernels.get_mut(&f).ok_or(ERROR_INVALID_HANDLE)?;
        if check_attribute(k, which, value)? {
            k.max_dynamic_shared = value;
        }
        Ok(())
    }

    fn cuFuncSetCacheConfig(f: u64, _config: c_int) {
        kernel(f).map(drop)
    }

    fn cuFuncGetModule(module: *mut u64, f: u64) {
        put(module, kernel(f)?.module)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(count: *mut c_int, f: u64, size: c_int, dynamic: usize) {
        put(count, blocks(&kernel(f)?, size, dynamic)?)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count: *mut c_int, f: u64, size: c_int, dynamic: usize, _flags: c_uint) {
        put(count, blocks(&kernel(f)?, size, dynamic)?)
    }

    fn cuOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int, f: u64, callback: Option<extern "C" fn(c_int) -> usize>, dynamic: usize, limit: c_int) {
        best_size(grid, block, f, callback, dynamic, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(grid: *mut c_int, block: *mut c_int, f: u64, callback: Option<extern "C" fn(c_int) -> usize>, dynamic: usize, limit: c_int, _flags: c_uint) {
        best_size(grid, block, f, callback, dynamic, limit)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(size: *mut usize, f: u64, blocks: c_int, _threads: c_int) {
        let k = kernel(f)?;
        let share = max_shared(config::with(|c| c.cc)) as usize / usize::try_from(blocks).ok().filter(|&n| n > 0).ok_or(ERROR_INVALID_VALUE)?;
        put(size, share.saturating_sub(k.program.shared_bytes as usize))
    }
}
