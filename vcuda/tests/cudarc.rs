//! The real cudarc loads the shared library and runs PTX through it.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use std::path::PathBuf;
use vcuda::control::Control;

const ADD: &str = r"
.version 8.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 o, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [o];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd4, %r5, 4;
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    add.s64 %rd7, %rd3, %rd4;
    ld.global.nc.u32 %r6, [%rd5];
    ld.global.nc.u32 %r7, [%rd6];
    add.u32 %r6, %r6, %r7;
    st.global.u32 [%rd7], %r6;
DONE:
    ret;
}
";

/// The shared library next to the test executable.
fn library() -> PathBuf {
    let exe = std::env::current_exe().expect("the test has a path");
    let name = "libvcuda.so";
    exe.ancestors()
        .skip(1)
        .map(|dir| dir.join(name))
        .find(|path| path.exists())
        .expect("cargo builds the cdylib for integration tests")
}

#[test]
fn cudarc_runs_a_kernel() {
    let control = Control::load(&library()).expect("the library loads");
    let ctx = CudaContext::new(0).expect("a context");
    assert_eq!(ctx.compute_capability().expect("capability"), (8, 0));
    let stream = ctx.new_stream().expect("a stream");
    let module = ctx.load_module(Ptx::from_src(ADD)).expect("the module loads");
    let add = module.load_function("add").expect("the function is there");
    for n in [1usize, 31, 32, 33, 255, 256, 257, 100_000] {
        let a: Vec<u32> = (0..n as u32).collect();
        let b: Vec<u32> = (0..n as u32).map(|x| x * 7).collect();
        let (da, db) = (stream.clone_htod(&a).expect("copy"), stream.clone_htod(&b).expect("copy"));
        let mut out = unsafe { stream.alloc::<u32>(n) }.expect("memory");
        let count = n as u32;
        let mut launch = stream.launch_builder(&add);
        launch.arg(&da).arg(&db).arg(&mut out).arg(&count);
        unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }
            .expect("the launch is accepted");
        let got = stream.clone_dtoh(&out).expect("copy");
        if n > 40 {
            assert_ne!(
                got[n - 1],
                a[n - 1] + b[n - 1],
                "nothing happens before the synchronisation"
            );
        }
        stream.synchronize().expect("no fault");
        assert!(got.iter().zip(a.iter().zip(&b)).all(|(g, (a, b))| *g == a + b));
    }
    drop((add, module, stream));
    assert_eq!(ctx.check_err(), Ok(()));
    drop(ctx);
    assert_eq!(control.findings(), Vec::<String>::new());
    assert_eq!(control.stats().launches(), 8);
    assert!(control.stats().calls_of("cuLaunchKernel") == 8);
    assert_eq!(control.live().contexts, 0);
    assert_eq!(control.live().allocations, 0);
    // Settings reach the loaded library, not the copy linked into this test.
    control.reset();
    control.set("cc", "9.0").expect("a setting");
    control.fail("cuMemAllocAsync", 1, 2).expect("a rule");
    let ctx = CudaContext::new(0).expect("a context");
    assert_eq!(ctx.compute_capability().expect("capability"), (9, 0));
    let stream = ctx.default_stream();
    assert_eq!(unsafe { stream.alloc::<u8>(16) }.map(drop).map_err(|e| e.0 as u32), Err(2));
    assert!(unsafe { stream.alloc::<u8>(16) }.is_ok());
}
