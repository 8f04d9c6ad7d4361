//! Modules: versions and targets, the compiler's log, linking.

mod support;
use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;
use support::driver::*;
use support::{ADD_ONE, Gpu, live, report};

#[test]
fn versions_targets_and_images() {
    let gpu = Gpu::new(&[("ptx_isa", "7.8")]);
    assert_eq!(gpu.try_load(ADD_ONE), Err(222));
    // A cubin of the same kernels is the program's second try: it runs the PTX it was made from.
    let mut cubin = b"\x7fELF".to_vec();
    cubin.resize(64, 0);
    cubin.extend(b"\0.text.add_one\0.nv.info\0");
    let len = cubin.len() as u64;
    cubin[40..48].copy_from_slice(&len.to_le_bytes());
    let mut module = 0;
    assert_eq!(unsafe { cuModuleLoadData(&mut module, cubin.as_ptr().cast()) }, 0);
    let data = gpu.upload(&[41u32]);
    gpu.run(gpu.function(module, "add_one"), 1, 32, &[data, 1]);
    assert_eq!(gpu.download::<u32>(data, 1), [42]);
    let unknown = String::from_utf8(cubin).unwrap().replace("add_one", "add_two").into_bytes();
    assert_eq!(unsafe { cuModuleLoadData(&mut module, unknown.as_ptr().cast()) }, 200);
    drop(gpu);

    let gpu = Gpu::new(&[("cc", "75")]);
    assert_eq!(gpu.try_load(ADD_ONE), Err(209));
    assert_eq!(gpu.try_load("hello"), Err(200));
    drop(gpu);
    let gpu = Gpu::new(&[]);
    assert_eq!(gpu.try_load(&ADD_ONE.replace("add.u32 %r6", "frobnicate.u32 %r6")), Err(218));
    assert!(report().contains("line 21: unknown instruction in `frobnicate.u32`"), "{}", report());
    assert_eq!(gpu.try_load(&ADD_ONE.replace("%r6, 1;", "%r66, 1;")), Err(218));
    assert_eq!(gpu.try_load(&ADD_ONE.replace("bra END", "bra NOWHERE")), Err(218));
    let module = gpu.load(ADD_ONE);
    let mut f = 0;
    unsafe {
        assert_eq!(cuModuleGetFunction(&mut f, module, c"nothing".as_ptr()), 500);
        assert_eq!(cuModuleGetFunction(&mut f, 77, c"add_one".as_ptr()), 400);
        assert_eq!(cuModuleUnload(module), 0);
        assert_eq!(cuModuleUnload(module), 400);
    }
}

/// Loads with buffers for both logs: the error, the log of errors, and the size that was told.
fn load_with_log(ptx: &str, room: usize) -> (u32, Vec<u8>, usize) {
    let text = CString::new(ptx).unwrap();
    let (mut errors, mut infos) = (vec![b'?'; 512], vec![b'?'; 16]);
    let mut options: [c_int; 6] = [9, 5, 6, 3, 4, 2];
    let number = |n: usize| n as *mut c_void;
    let mut values = [
        number(80),
        errors.as_mut_ptr().cast(),
        number(room),
        infos.as_mut_ptr().cast(),
        number(16),
        number(0),
    ];
    let mut module = 0;
    let code = unsafe {
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 6, options, values)
    };
    assert_eq!((infos[0], values[4] as usize), (0, 0), "the other log is empty");
    (code, errors, values[2] as usize)
}

#[test]
fn the_log_says_what_is_wrong_with_ptx() {
    let _gpu = Gpu::new(&[]);
    let broken = ADD_ONE.replace("add.u32 %r6", "frobnicate.u32 %r6");
    let (code, log, size) = load_with_log(&broken, 512);
    let text = String::from_utf8_lossy(&log[..size]);
    assert_eq!(code, 218);
    assert!(text.contains("line 21") && text.contains("frobnicate.u32"), "{text}");
    assert_eq!(log[size..size + 2], [0, b'?'], "it ends with a zero, and nothing follows");
    let (code, log, size) = load_with_log(&broken, 8);
    assert_eq!((code, size, &log[7..9]), (218, 7, &[0, b'?'][..]), "what does not fit is cut");
    assert_eq!(load_with_log(&broken, 0).2, 0);
    let (code, log, size) = load_with_log(ADD_ONE, 512);
    assert_eq!((code, log[0], size), (0, 0, 0));
    let text = CString::new(broken).unwrap();
    unsafe {
        let (mut library, mut log) = (0, [0u8; 256]);
        let mut values = [log.as_mut_ptr().cast::<c_void>(), 256 as *mut c_void];
        let mut names = [5, 6];
        let (options, image) = (names.as_mut_ptr(), text.as_ptr().cast());
        assert_eq!(
            cuLibraryLoadData(
                &mut library,
                image,
                options,
                values.as_mut_ptr(),
                2,
                null_mut(),
                null_mut(),
                0
            ),
            218
        );
        assert!(String::from_utf8_lossy(&log).contains("frobnicate"));
        // Options that cannot be.
        assert_eq!(cuModuleLoadDataEx(&mut library, image, 1, null_mut(), null_mut()), 1);
        assert_eq!(
            cuModuleLoadDataEx(&mut library, image, 1, [999].as_mut_ptr(), values.as_mut_ptr()),
            1
        );
        assert_eq!(cuModuleLoadDataEx(null_mut(), image, 0, null_mut(), null_mut()), 1);
        assert_eq!(cuModuleLoadData(&mut library, std::ptr::null()), 1);
        assert_eq!(cuModuleLoad(&mut library, c"/no/such/file".as_ptr()), 301);
        let fat = [0x50u8, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0];
        assert_eq!(cuModuleLoadFatBinary(&mut library, fat.as_ptr().cast()), 200);
        assert!(report().contains("a fat binary cannot be interpreted"));
    }
}

#[test]
fn texts_are_linked() {
    let gpu = Gpu::new(&[]);
    let second =
        ADD_ONE.replace("add_one", "add_two").replace("%r6, 1;", "%r6, 2;").replace("8.0", "7.8");
    unsafe {
        let (mut link, mut image, mut size, mut module) = (0, null_mut(), 0, 0);
        assert_eq!(cuLinkCreate_v2(0, null_mut(), null_mut(), &mut link), 0);
        for text in [ADD_ONE, &second] {
            let (data, none) = (text.as_ptr() as *mut c_void, null_mut());
            assert_eq!(
                cuLinkAddData_v2(link, 1, data, text.len(), c"x".as_ptr(), 0, none, null_mut()),
                0
            );
        }
        assert_eq!(cuLinkComplete(link, &mut image, &mut size), 0, "{}", report());
        assert_eq!(cuModuleLoadData(&mut module, image), 0);
        assert_eq!(cuLinkDestroy(link), 0);
        assert_eq!(cuLinkDestroy(link), 400);
        let x = gpu.upload(&[0u32; 32]);
        gpu.run(gpu.function(module, "add_one"), 1, 32, &[x, 32]);
        gpu.run(gpu.function(module, "add_two"), 1, 32, &[x, 32]);
        assert_eq!(gpu.download::<u32>(x, 1), [3]);
        // Anything but PTX is refused, with words.
        let (mut log, mut names) = ([0u8; 128], [5, 6]);
        let mut values = [log.as_mut_ptr().cast::<c_void>(), 128 as *mut c_void];
        assert_eq!(cuLinkCreate_v2(2, names.as_mut_ptr(), values.as_mut_ptr(), &mut link), 0);
        let none = null_mut();
        assert_eq!(
            cuLinkAddData_v2(
                link,
                4,
                log.as_mut_ptr().cast(),
                4,
                c"x".as_ptr(),
                0,
                none,
                null_mut()
            ),
            200
        );
        assert!(String::from_utf8_lossy(&log).contains("takes PTX only"));
        assert_eq!(
            cuLinkAddFile_v2(link, 1, c"/no/such/file".as_ptr(), 0, null_mut(), null_mut()),
            301
        );
    }
}

#[test]
fn variables_count_as_memory() {
    let gpu = Gpu::new(&[("memory", "1m")]);
    let with = |size: u32| {
        ADD_ONE.replace(".visible .entry", &format!(".visible .global .align 4 .b8 a[64];\n.visible .global .align 4 .b8 table[{size}];\n.visible .entry"))
    };
    assert_eq!(gpu.try_load(&with(2 << 20)), Err(2));
    assert_eq!((live().allocations, live().bytes), (0, 0), "nothing is left of it");
    let module = gpu.load(&with(1 << 19));
    let (mut at, mut size) = (0, 0);
    unsafe {
        assert_eq!(cuModuleGetGlobal_v2(&mut at, &mut size, module, c"table".as_ptr()), 0);
        assert_eq!(size, 1 << 19);
        assert_eq!(cuMemFree_v2(at), 1, "a variable is not the program's to free");
        assert_eq!(cuMemFreeAsync(at, 0), 1);
        assert_eq!(cuMemAlloc_v2(&mut at, 1 << 19), 2);
        assert_eq!(cuModuleUnload(module), 0);
        assert_eq!(cuMemAlloc_v2(&mut at, 1 << 19), 0);
    }
}

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

#[test]
fn a_common_variable_of_two_modules_is_one() {
    let gpu = Gpu::new(&[]);
    let unit = |name: &str, words: u32, code: &str| {
        format!(
            "{HEAD}.common .global .align 4 .b32 shared_word[{words}];\n.visible .entry {name}(.param .u64 p) {{\n\
             .reg .b64 %rd<3>; .reg .b32 %r<2>;\n ld.param.u64 %rd1, [p];\n mov.u64 %rd2, shared_word;\n{code} ret;\n}}\n"
        )
    };
    let write = unit("write", 1, " ld.global.u32 %r1, [%rd1];\n st.global.u32 [%rd2], %r1;\n");
    let read = unit("read", 4, " ld.global.u32 %r1, [%rd2];\n st.global.u32 [%rd1], %r1;\n");
    let (mut link, mut module, mut image) = (0, 0, null_mut());
    unsafe {
        assert_eq!(cuLinkCreate_v2(0, null_mut(), null_mut(), &mut link), 0);
        for text in [&write, &read] {
            let text = CString::new(text.as_str()).unwrap();
            let (data, len) = (text.as_ptr() as *mut c_void, text.as_bytes_with_nul().len());
            let none = (null_mut(), null_mut());
            assert_eq!(
                cuLinkAddData_v2(link, 1, data, len, std::ptr::null(), 0, none.0, none.1),
                0
            );
        }
        assert_eq!(cuLinkComplete(link, &mut image, null_mut()), 0);
        assert_eq!(cuModuleLoadData(&mut module, image), 0, "{}", report());
        assert_eq!(cuLinkDestroy(link), 0);
        let (mut at, mut size) = (0, 0);
        assert_eq!(cuModuleGetGlobal_v2(&mut at, &mut size, module, c"shared_word".as_ptr()), 0);
        assert_eq!(size, 16, "the larger of the two");
    }
    let data = gpu.upload(&[42u32, 0]);
    gpu.run(gpu.function(module, "write"), 1, 1, &[data]);
    gpu.run(gpu.function(module, "read"), 1, 1, &[data + 4]);
    assert_eq!(gpu.download::<u32>(data, 2), [42, 42]);
    // Without `.common` it is an error.
    let twice = write.replace(".common ", "") + &read.replace(".common ", "").replace(HEAD, "");
    assert_eq!(gpu.try_load(&twice), Err(218));
}

#[test]
fn a_function_without_a_result_may_be_called_for_one() {
    let gpu = Gpu::new(&[]);
    let ptx = format!(
        "{HEAD}.func (.param .b32 r) store_it(.param .b64 a);\n.func store_it(.param .b64 a) {{\n .reg .b64 %rd<2>; .reg .b32 %r<2>;\n\
         ld.param.u64 %rd1, [a];\n mov.u32 %r1, 7;\n st.global.u32 [%rd1], %r1;\n ret;\n}}\n\
         .visible .entry k(.param .u64 p) {{\n .reg .b64 %rd<2>;\n ld.param.u64 %rd1, [p];\n {{\n .param .b64 q;\n .param .b32 s;\n\
         st.param.b64 [q], %rd1;\n call.uni (s), store_it, (q);\n }}\n ret;\n}}\n"
    );
    let module = gpu.load(&ptx);
    let data = gpu.upload(&[0u32]);
    gpu.run(gpu.function(module, "k"), 1, 1, &[data]);
    assert_eq!(gpu.download::<u32>(data, 1), [7]);
}

#[test]
fn functions_are_found_without_a_current_context() {
    let gpu = Gpu::new(&[]);
    let module = gpu.load(ADD_ONE);
    let mut f = 0;
    unsafe {
        assert_eq!(cuCtxSetCurrent(0), 0);
        assert_eq!(cuModuleGetFunction(&mut f, module, c"add_one".as_ptr()), 0);
        assert_eq!(cuCtxSetCurrent(gpu.context), 0);
    }
    assert_eq!(report(), "[]");
}

#[test]
fn a_driver_accepts_the_ptx_of_its_own_version() {
    let newer = ADD_ONE.replace(".version 8.0", ".version 9.0");
    assert!(newer != ADD_ONE);
    let gpu = Gpu::new(&[("driver", "12090")]);
    assert_eq!(gpu.try_load(&newer), Err(222));
    assert!(gpu.try_load(ADD_ONE).is_ok());
    drop(gpu);
    assert!(Gpu::new(&[("driver", "13000")]).try_load(&newer).is_ok());
    assert!(Gpu::new(&[("driver", "12090"), ("ptx_isa", "9.0")]).try_load(&newer).is_ok());
}
