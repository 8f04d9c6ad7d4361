//! Libraries and their kernels, which belong to no context.

mod support;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};
use support::driver::*;
use support::{Gpu, fresh, live, report};

const TEXT: &CStr = cr#"
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 7;
.global .attribute(.managed) .align 4 .u32 shared_with_host = 3;
.const .align 2 .b8 small[6];
.const .align 8 .b8 table[16];
.visible .entry first(.param .u64 pointer, .param .u8 small, .param .align 16 .b8 big[32])
.maxntid 128
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [pointer];
    ld.global.u32 %r1, [counter];
    st.global.u32 [%rd1], %r1;
    add.u32 %r1, %r1, 1;
    st.global.u32 [counter], %r1;
    ret;
}
.visible .entry second()
{
    .shared .align 4 .b8 fixed[1024];
    ret;
}
"#;

fn load() -> u64 {
    let mut library = 0;
    let (o, v) = (null_mut(), null_mut());
    let code = unsafe {
        let image = TEXT.as_ptr().cast();
        cuLibraryLoadData(&mut library, image, o, v, 0, null_mut(), null_mut(), 0)
    };
    assert_eq!(code, 0, "{}", report());
    library
}

fn kernel(library: u64, name: &CStr) -> u64 {
    let mut kernel = 0;
    assert_eq!(unsafe { cuLibraryGetKernel(&mut kernel, library, name.as_ptr()) }, 0);
    kernel
}

/// Everything that needs no context, on a thread without one.
#[test]
fn a_library_is_loaded_without_a_context() {
    let _turn = fresh(&[]);
    unsafe {
        assert_eq!(cuInit(0), 0);
        let library = load();
        let (first, second) = (kernel(library, c"first"), kernel(library, c"second"));
        let mut none = 0;
        assert_eq!(cuLibraryGetKernel(&mut none, library, c"third".as_ptr()), 500);
        assert_eq!(cuLibraryGetKernel(&mut none, 77, c"first".as_ptr()), 400);
        let (mut count, mut all, mut home) = (0, [0; 4], 0);
        assert_eq!(cuLibraryGetKernelCount(&mut count, library), 0);
        assert_eq!(cuLibraryEnumerateKernels(all.as_mut_ptr(), 4, library), 0);
        assert_eq!((count, all), (2, [first, second, 0, 0]));
        assert_eq!(cuKernelGetLibrary(&mut home, second), 0);
        assert_eq!(home, library);
        let mut name: *const c_char = null();
        assert_eq!(cuKernelGetName(&mut name, second), 0);
        assert_eq!(CStr::from_ptr(name), c"second");
        // Parameters: three, the last one aligned; the size may be left out.
        let (mut params, mut offset, mut size) = (0, 0, 0);
        assert_eq!(cuKernelGetParamCount(first, &mut params), 0);
        assert_eq!(cuKernelGetParamInfo(first, 2, &mut offset, &mut size), 0);
        assert_eq!((params, offset, size), (3, 16, 32));
        assert_eq!(cuKernelGetParamInfo(first, 1, &mut offset, null_mut()), 0);
        assert_eq!(offset, 8);
        assert_eq!(cuKernelGetParamInfo(first, 3, &mut offset, &mut size), 1);
        // Attributes are those of a device.
        let mut value = 0;
        assert_eq!(cuKernelGetAttribute(&mut value, 0, first, 0), 0);
        assert_eq!(value, 128);
        assert_eq!(cuKernelGetAttribute(&mut value, 1, second, 0), 0);
        assert_eq!(value, 1024);
        assert_eq!(cuKernelGetAttribute(&mut value, 0, first, 1), 101);
        assert_eq!(cuKernelGetAttribute(&mut value, 99, first, 0), 1);
        assert_eq!(cuKernelGetAttribute(&mut value, 0, library, 0), 400);
        assert_eq!(cuKernelSetAttribute(8, 60_000, second, 0), 0);
        assert_eq!(cuKernelSetAttribute(8, 1 << 20, second, 0), 1);
        assert_eq!(cuKernelGetAttribute(&mut value, 8, second, 0), 0);
        assert_eq!(value, 60_000);
        assert_eq!(cuKernelSetCacheConfig(second, 1, 0), 0);
        let mut pointer: *mut c_void = null_mut();
        assert_eq!(cuLibraryGetUnifiedFunction(&mut pointer, library, c"first".as_ptr()), 500);
        assert_eq!(report(), "[]");
        // A function is one of a context.
        assert_eq!(cuKernelGetFunction(&mut none, first), 201);
        assert_eq!(cuLibraryGetModule(&mut none, library), 201);
        assert_eq!(cuLibraryUnload(library), 0);
        assert_eq!(cuLibraryUnload(library), 400);
        assert_eq!(cuKernelGetLibrary(&mut home, second), 400);
        assert_eq!(live().modules, 0);
    }
}

/// Each context has a module of its own, with its own variables; a kernel is launched in the current one.
#[test]
fn a_library_is_used_by_several_contexts() {
    let gpu = Gpu::new(&[("devices", "2")]);
    let library = load();
    let first = kernel(library, c"first");
    let mut second = 0;
    let read = |context: u64| unsafe {
        assert_eq!(cuCtxSetCurrent(context), 0);
        let out = gpu.zeros(4);
        gpu.run(first, 1, 1, &[out, 0, 0, 0, 0, 0]);
        let value = gpu.download::<u32>(out, 1)[0];
        assert_eq!(cuMemFree_v2(out), 0);
        value
    };
    unsafe {
        assert_eq!(cuDevicePrimaryCtxRetain(&mut second, 1), 0);
        assert_eq!((read(gpu.context), read(gpu.context), read(second)), (7, 8, 7));
        let (mut here, mut there, mut size) = (0, 0, 0);
        assert_eq!(cuLibraryGetGlobal(&mut there, &mut size, library, c"counter".as_ptr()), 0);
        assert_eq!(cuCtxSetCurrent(gpu.context), 0);
        assert_eq!(cuLibraryGetGlobal(&mut here, &mut size, library, c"counter".as_ptr()), 0);
        assert_ne!(here, there);
        assert_eq!((gpu.download::<u32>(here, 1), size), (vec![9], 4));
        // The function of the kernel here is found by its module too, and keeps what was set.
        let (mut function, mut module, mut same) = (0, 0, 0);
        assert_eq!(cuKernelGetFunction(&mut function, first), 0);
        assert_eq!(cuLibraryGetModule(&mut module, library), 0);
        assert_eq!(cuModuleGetFunction(&mut same, module, c"first".as_ptr()), 0);
        assert_eq!(function, same);
        let mut value = 0;
        assert_eq!(cuKernelSetAttribute(8, 70_000, kernel(library, c"second"), 0), 0);
        assert_eq!(cuKernelGetFunction(&mut function, kernel(library, c"second")), 0);
        assert_eq!(cuFuncGetAttribute(&mut value, 8, function), 0);
        assert_eq!(value, 70_000);
        assert_eq!(cuFuncGetAttribute(&mut value, 2, function), 0);
        assert_eq!(value, 24, "constant memory");
        let mut all = [0; 3];
        assert_eq!(cuModuleEnumerateFunctions(all.as_mut_ptr(), 3, module), 0);
        assert_eq!(all, [same, function, 0]);
        let (mut name, mut state) = (null(), 9);
        assert_eq!(cuFuncGetName(&mut name, function), 0);
        assert_eq!(CStr::from_ptr(name), c"second");
        assert_eq!((cuFuncIsLoaded(&mut state, function), state), (0, 1));
        assert_eq!(cuFuncLoad(function), 0);
        let (mut offset, mut size) = (9, 9);
        assert_eq!(cuFuncGetParamInfo(same, 1, &mut offset, &mut size), 0);
        assert_eq!((offset, size), (8, 1));
        assert_eq!(cuModuleUnload(module), 400, "it is the library's");
        // Variables that a host shares are known as such.
        let managed = c"shared_with_host".as_ptr();
        assert_eq!(cuLibraryGetManaged(&mut here, &mut size, library, managed), 0);
        assert_eq!(gpu.download::<u32>(here, 1), [3]);
        assert_eq!(cuLibraryGetManaged(&mut here, &mut size, library, c"counter".as_ptr()), 500);
        // A context that ends takes its module along, and is not blamed for the library.
        assert_eq!(cuDevicePrimaryCtxRelease_v2(1), 0);
        assert_eq!(report(), "[]");
        assert_eq!(read(gpu.context), 9);
        assert_eq!(cuLibraryUnload(library), 0);
        assert_eq!(gpu.launch(first, 1, 1, &[0; 6]), 400);
        assert_eq!(live().allocations, 0);
    }
}

#[test]
fn libraries_come_from_files_and_are_refused_with_a_reason() {
    let _gpu = Gpu::new(&[]);
    let folder = std::env::temp_dir().join(format!("vcuda-libraries-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut library = 0;
    let mut load = |bytes: &[u8]| unsafe {
        let path = folder.join("image");
        std::fs::write(&path, bytes).expect("a file");
        let path = CString::new(path.to_str().expect("a path of text")).expect("no zero");
        let (o, v) = (null_mut(), null_mut());
        cuLibraryLoadFromFile(&mut library, path.as_ptr(), o, v, 0, null_mut(), null_mut(), 0)
    };
    assert_eq!(load(TEXT.to_bytes()), 0);
    // Machine code in any wrapping is refused, and the report says what to do instead.
    for image in [&b"!<arch>\nkernels.o/"[..], &[0x50, 0xed, 0x55, 0xba, 1], b"\x7fELF\x02\x01"] {
        DRIVER.clear_findings();
        assert_eq!(load(image), 200);
        let text = report();
        assert!(text.contains("nvJitLink") && text.contains("compute_XX"), "{text}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}
