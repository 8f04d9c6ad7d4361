//! The functions of the driver API that the tests call, resolved in the loaded shared library.
#![allow(dead_code, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use std::ffi::{CString, c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};
use std::sync::LazyLock;
use vcuda_control::Control;

/// The driver, loaded once.
pub static DRIVER: LazyLock<Control> =
    LazyLock::new(|| Control::load_built().unwrap_or_else(|why| panic!("{why}")));

/// Returns the address of a function.
pub fn address(name: &str) -> usize {
    let name = CString::new(name).expect("no zeros");
    DRIVER.symbol(&name).unwrap_or_else(|| panic!("the driver has no {name:?}")) as usize
}

/// The callback of `cuStreamAddCallback`, called with the stream, an error code and the user data.
pub type Callback = extern "C" fn(u64, u32, *mut c_void);

macro_rules! functions {
    ($(fn $name:ident($($a:ident: $t:ty),* $(,)?);)*) => {
        $(
            pub unsafe fn $name($($a: $t),*) -> u32 {
                type Function = unsafe extern "C" fn($($t),*) -> u32;
                static AT: LazyLock<usize> = LazyLock::new(|| address(stringify!($name)));
                // SAFETY: the driver exports a function of this type under this name and is never unloaded.
                let function = unsafe { std::mem::transmute::<usize, Function>(*AT) };
                // SAFETY: the caller keeps the contract of the API.
                unsafe { function($($a),*) }
            }
        )*
    };
}

functions! {
    fn cuArrayCreate_v2();
    fn cuTensorMapEncodeTiled();
    fn cuCtxCreate_v2(context: *mut u64, flags: c_uint, device: c_int);
    fn cuCtxCreate_v3(context: *mut u64, params: *mut c_void, count: c_int, flags: c_uint, device: c_int);
    fn cuCtxCreate_v4(context: *mut u64, params: *mut c_void, flags: c_uint, device: c_int);
    fn cuCtxDestroy_v2(context: u64);
    fn cuCtxDisablePeerAccess(peer: u64);
    fn cuCtxEnablePeerAccess(peer: u64, flags: c_uint);
    fn cuCtxGetCurrent(context: *mut u64);
    fn cuCtxGetDevice(device: *mut c_int);
    fn cuCtxGetFlags(flags: *mut c_uint);
    fn cuCtxGetLimit(value: *mut usize, limit: c_int);
    fn cuCtxPopCurrent_v2(context: *mut u64);
    fn cuCtxPushCurrent_v2(context: u64);
    fn cuCtxSetCurrent(context: u64);
    fn cuCtxSetLimit(limit: c_int, value: usize);
    fn cuCtxSynchronize();
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int);
    fn cuDeviceGetAttribute(value: *mut c_int, which: c_int, device: c_int);
    fn cuDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetDefaultMemPool(pool: *mut u64, device: c_int);
    fn cuDeviceGetP2PAttribute(value: *mut c_int, which: c_int, device: c_int, peer: c_int);
    fn cuDeviceGetPCIBusId(name: *mut c_char, len: c_int, device: c_int);
    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int);
    fn cuDevicePrimaryCtxRelease_v2(device: c_int);
    fn cuDevicePrimaryCtxReset_v2(device: c_int);
    fn cuDevicePrimaryCtxRetain(context: *mut u64, device: c_int);
    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint);
    fn cuDeviceSetMemPool(device: c_int, pool: u64);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuEventCreate(event: *mut u64, flags: c_uint);
    fn cuEventDestroy_v2(event: u64);
    fn cuEventElapsedTime(ms: *mut f32, start: u64, end: u64);
    fn cuEventQuery(event: u64);
    fn cuEventRecord(event: u64, stream: u64);
    fn cuEventRecordWithFlags(event: u64, stream: u64, flags: c_uint);
    fn cuEventSynchronize(event: u64);
    fn cuFuncGetAttribute(value: *mut c_int, which: c_int, f: u64);
    fn cuFuncGetName(to: *mut *const c_char, f: u64);
    fn cuFuncGetParamInfo(f: u64, index: usize, offset: *mut usize, size: *mut usize);
    fn cuFuncIsLoaded(state: *mut c_int, f: u64);
    fn cuFuncLoad(f: u64);
    fn cuFuncSetAttribute(f: u64, which: c_int, value: c_int);
    fn cuGetErrorName(code: u32, name: *mut *const c_char);
    fn cuGetExportTable(table: *mut *const c_void, id: *const c_void);
    fn cuGetProcAddress(symbol: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64);
    fn cuGetProcAddress_v2(symbol: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64, status: *mut c_int);
    fn cuGraphAddChildGraphNode(to: *mut u64, graph: u64, after: *const u64, count: usize, child: u64);
    fn cuGraphAddDependencies(graph: u64, from: *const u64, to: *const u64, count: usize);
    fn cuGraphAddEmptyNode(to: *mut u64, graph: u64, after: *const u64, count: usize);
    fn cuGraphAddHostNode(to: *mut u64, graph: u64, after: *const u64, count: usize, params: *const c_void);
    fn cuGraphAddKernelNode_v2(to: *mut u64, graph: u64, after: *const u64, count: usize, params: *const c_void);
    fn cuGraphAddMemcpyNode(to: *mut u64, graph: u64, after: *const u64, count: usize, what: *const c_void, context: u64);
    fn cuGraphAddMemsetNode(to: *mut u64, graph: u64, after: *const u64, count: usize, params: *const c_void, context: u64);
    fn cuGraphClone(to: *mut u64, graph: u64);
    fn cuGraphCreate(graph: *mut u64, flags: c_uint);
    fn cuGraphDestroy(graph: u64);
    fn cuGraphExecDestroy(exec: u64);
    fn cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, params: *const c_void);
    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, result: *mut c_uint);
    fn cuGraphGetNodes(graph: u64, nodes: *mut u64, count: *mut usize);
    fn cuGraphInstantiateWithFlags(exec: *mut u64, graph: u64, flags: c_ulonglong);
    fn cuGraphInstantiateWithParams(exec: *mut u64, graph: u64, params: *mut c_void);
    fn cuGraphLaunch(exec: u64, stream: u64);
    fn cuGraphNodeGetType(node: u64, kind: *mut c_int);
    fn cuGraphUpload(exec: u64, stream: u64);
    fn cuInit(flags: c_uint);
    fn cuKernelGetAttribute(value: *mut c_int, which: c_int, k: u64, device: c_int);
    fn cuKernelGetFunction(to: *mut u64, kernel: u64);
    fn cuKernelGetLibrary(library: *mut u64, which: u64);
    fn cuKernelGetName(to: *mut *const c_char, kernel: u64);
    fn cuKernelGetParamCount(kernel: u64, count: *mut usize);
    fn cuKernelGetParamInfo(kernel: u64, index: usize, offset: *mut usize, size: *mut usize);
    fn cuKernelSetAttribute(which: c_int, value: c_int, k: u64, device: c_int);
    fn cuKernelSetCacheConfig(k: u64, config: c_int, device: c_int);
    fn cuLaunchCooperativeKernel(f: u64, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: u64, params: *mut *mut c_void);
    fn cuLaunchHostFunc(stream: u64, function: *mut c_void, data: *mut c_void);
    fn cuLaunchKernel(f: u64, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: u64, params: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuLibraryEnumerateKernels(to: *mut u64, count: c_uint, library: u64);
    fn cuLibraryGetGlobal(addr: *mut u64, size: *mut usize, library: u64, name: *const c_char);
    fn cuLibraryGetKernel(to: *mut u64, library: u64, name: *const c_char);
    fn cuLibraryGetKernelCount(count: *mut c_uint, library: u64);
    fn cuLibraryGetManaged(addr: *mut u64, size: *mut usize, library: u64, name: *const c_char);
    fn cuLibraryGetModule(module: *mut u64, library: u64);
    fn cuLibraryGetUnifiedFunction(to: *mut *mut c_void, library: u64, name: *const c_char);
    fn cuLibraryLoadData(library: *mut u64, image: *const c_void, options: *mut c_int, values: *mut *mut c_void, count: c_uint, lo: *mut c_int, lv: *mut *mut c_void, ln: c_uint);
    fn cuLibraryLoadFromFile(library: *mut u64, path: *const c_char, options: *mut c_int, values: *mut *mut c_void, count: c_uint, lo: *mut c_int, lv: *mut *mut c_void, ln: c_uint);
    fn cuLibraryUnload(library: u64);
    fn cuLinkAddData_v2(link: u64, kind: c_int, data: *mut c_void, size: usize, name: *const c_char, count: c_uint, options: *mut c_int, values: *mut *mut c_void);
    fn cuLinkAddFile_v2(link: u64, kind: c_int, path: *const c_char, count: c_uint, options: *mut c_int, values: *mut *mut c_void);
    fn cuLinkComplete(link: u64, image: *mut *mut c_void, size: *mut usize);
    fn cuLinkCreate_v2(count: c_uint, options: *mut c_int, values: *mut *mut c_void, link: *mut u64);
    fn cuLinkDestroy(link: u64);
    fn cuMemAdvise_v2(addr: u64, len: usize, advice: c_int, location: u64);
    fn cuMemAllocAsync(addr: *mut u64, size: usize, stream: u64);
    fn cuMemAllocFromPoolAsync(addr: *mut u64, size: usize, pool: u64, stream: u64);
    fn cuMemAllocHost_v2(to: *mut *mut c_void, size: usize);
    fn cuMemAllocManaged(addr: *mut u64, size: usize, flags: c_uint);
    fn cuMemAllocPitch_v2(addr: *mut u64, pitch: *mut usize, width: usize, height: usize, element: c_uint);
    fn cuMemAlloc_v2(addr: *mut u64, size: usize);
    fn cuMemFreeAsync(addr: u64, stream: u64);
    fn cuMemFreeHost(at: *mut c_void);
    fn cuMemFree_v2(addr: u64);
    fn cuMemGetAddressRange_v2(base: *mut u64, size: *mut usize, addr: u64);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemHostAlloc(to: *mut *mut c_void, size: usize, flags: c_uint);
    fn cuMemHostRegister_v2(at: *mut c_void, size: usize, flags: c_uint);
    fn cuMemHostUnregister(at: *mut c_void);
    fn cuMemPoolCreate(pool: *mut u64, properties: *const c_void);
    fn cuMemPoolDestroy(pool: u64);
    fn cuMemPoolGetAttribute(pool: u64, which: c_int, value: *mut c_void);
    fn cuMemPoolSetAccess(pool: u64, access: *const c_void, count: usize);
    fn cuMemPoolSetAttribute(pool: u64, which: c_int, value: *mut c_void);
    fn cuMemPoolTrimTo(pool: u64, keep: usize);
    fn cuMemPrefetchAsync(addr: u64, len: usize, device: c_int, stream: u64);
    fn cuMemPrefetchAsync_v2(addr: u64, len: usize, location: u64, flags: c_uint, stream: u64);
    fn cuMemcpy(to: u64, from: u64, len: usize);
    fn cuMemcpy2DAsync_v2(what: *const c_void, stream: u64);
    fn cuMemcpy2D_v2(what: *const c_void);
    fn cuMemcpy3DAsync_v2(what: *const c_void, stream: u64);
    fn cuMemcpy3D_v2(what: *const c_void);
    fn cuMemcpyAsync(to: u64, from: u64, len: usize, stream: u64);
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, len: usize, stream: u64);
    fn cuMemcpyDtoD_v2(to: u64, from: u64, len: usize);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, len: usize, stream: u64);
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, len: usize);
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, len: usize, stream: u64);
    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, len: usize);
    fn cuMemcpyPeer(to: u64, to_context: u64, from: u64, from_context: u64, len: usize);
    fn cuMemcpyPeerAsync(to: u64, to_context: u64, from: u64, from_context: u64, len: usize, stream: u64);
    fn cuMemsetD16_v2(addr: u64, value: c_ushort, count: usize);
    fn cuMemsetD2D32_v2(addr: u64, pitch: usize, value: c_uint, width: usize, height: usize);
    fn cuMemsetD2D8_v2(addr: u64, pitch: usize, value: c_uchar, width: usize, height: usize);
    fn cuMemsetD32Async(addr: u64, value: c_uint, count: usize, stream: u64);
    fn cuMemsetD32_v2(addr: u64, value: c_uint, count: usize);
    fn cuMemsetD8Async(addr: u64, value: c_uchar, count: usize, stream: u64);
    fn cuMemsetD8_v2(addr: u64, value: c_uchar, count: usize);
    fn cuModuleEnumerateFunctions(to: *mut u64, count: c_uint, module: u64);
    fn cuModuleGetFunction(to: *mut u64, module: u64, name: *const c_char);
    fn cuModuleGetGlobal_v2(addr: *mut u64, size: *mut usize, module: u64, name: *const c_char);
    fn cuModuleGetLoadingMode(mode: *mut c_int);
    fn cuModuleLoad(module: *mut u64, path: *const c_char);
    fn cuModuleLoadData(module: *mut u64, image: *const c_void);
    fn cuModuleLoadDataEx(module: *mut u64, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void);
    fn cuModuleLoadFatBinary(module: *mut u64, image: *const c_void);
    fn cuModuleUnload(module: u64);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(count: *mut c_int, f: u64, size: c_int, dynamic: usize);
    fn cuOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int, f: u64, callback: Option<extern "C" fn(c_int) -> usize>, dynamic: usize, limit: c_int);
    fn cuPointerGetAttribute(data: *mut c_void, which: c_int, addr: u64);
    fn cuPointerGetAttributes(count: c_uint, which: *mut c_int, data: *mut *mut c_void, addr: u64);
    fn cuProfilerStart();
    fn cuStreamAddCallback(stream: u64, function: Option<Callback>, data: *mut c_void, flags: c_uint);
    fn cuStreamBeginCapture_v2(stream: u64, mode: c_uint);
    fn cuStreamCreate(stream: *mut u64, flags: c_uint);
    fn cuStreamDestroy_v2(stream: u64);
    fn cuStreamEndCapture(stream: u64, graph: *mut u64);
    fn cuStreamGetCtx(stream: u64, context: *mut u64);
    fn cuStreamGetFlags(stream: u64, flags: *mut c_uint);
    fn cuStreamIsCapturing(stream: u64, status: *mut c_int);
    fn cuStreamQuery(stream: u64);
    fn cuStreamSynchronize(stream: u64);
    fn cuStreamWaitEvent(stream: u64, event: u64, flags: c_uint);
    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_uint);
}
