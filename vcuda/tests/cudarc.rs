//! The real cudarc loads the shared library and runs PTX through it.

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg, result};
use cudarc::nvrtc::Ptx;
use std::process::{Command, Output};
use std::sync::Arc;
use vcuda_control::Control;

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

#[test]
fn cudarc_runs_a_kernel() {
    let control = Control::load_built().expect("the library loads");
    control.set("strict", "1").expect("a setting");
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
    control.reset();
    control.set("cc", "9.0").expect("a setting");
    control.fail("cuMemAllocAsync", 1, 2).expect("a rule");
    let ctx = CudaContext::new(0).expect("a context");
    assert_eq!(ctx.compute_capability().expect("capability"), (9, 0));
    let stream = ctx.default_stream();
    assert_eq!(unsafe { stream.alloc::<u8>(16) }.map(drop).map_err(|e| e.0 as u32), Err(2));
    assert!(unsafe { stream.alloc::<u8>(16) }.is_ok());
}

/// Says which part of a test a process of its own is to play.
const PART: &str = "TEST_PART";

/// The part that this process plays, or none in the test's own process.
fn part() -> Option<String> {
    std::env::var(PART).ok()
}

/// Plays a part of a test in a process of its own, with settings in its environment.
fn play(test: &str, part: &str, settings: &[(&str, &str)]) -> (bool, String) {
    let Output { status, stdout, stderr } = Command::new(std::env::current_exe().expect("a path"))
        .args([test, "--exact", "--nocapture"])
        .env(PART, part)
        .envs(settings.iter().map(|&(key, value)| (format!("VCUDA_{key}"), value)))
        .output()
        .expect("the process starts");
    (status.success(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

fn code<T>(result: Result<T, DriverError>) -> u32 {
    result.err().map_or(0, |e| e.0 as u32)
}

/// Adds two numbers on a device, and gives the sum.
fn sum(ctx: &Arc<CudaContext>) -> Result<u32, DriverError> {
    let stream = ctx.new_stream()?;
    let add = ctx.load_module(Ptx::from_src(ADD))?.load_function("add")?;
    let (a, b) = (stream.clone_htod(&[40u32])?, stream.clone_htod(&[2u32])?);
    let mut out = stream.alloc_zeros::<u32>(1)?;
    let mut launch = stream.launch_builder(&add);
    launch.arg(&a).arg(&b).arg(&mut out).arg(&1u32);
    // SAFETY: the arguments are those of the kernel.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }?;
    let got = stream.clone_dtoh(&out)?;
    stream.synchronize()?;
    Ok(got[0])
}

#[test]
fn settings_of_the_environment() {
    let test = "settings_of_the_environment";
    if part().is_some() {
        Control::load_built().expect("the library loads");
        println!("init {}", code(result::init()));
        println!("again {}", code(result::init()));
        let Ok(count) = result::device::get_count() else { return };
        println!("devices {count}");
        let ctx = CudaContext::new(count as usize - 1).expect("a context");
        println!("capability {:?}", ctx.compute_capability().expect("capability"));
        println!("memory {}", ctx.total_mem().expect("memory"));
        println!("pools {}", ctx.has_async_alloc());
        let sum = sum(&ctx);
        println!("sum {:?} {}", sum.as_ref().ok(), code(sum));
        return;
    }
    let says = |settings: &[(&str, &str)], lines: &[&str]| {
        let (fine, text) = play(test, "program", settings);
        assert!(fine, "{settings:?}: {text}");
        for line in lines {
            assert!(text.contains(line), "{settings:?}: no `{line}` in {text}");
        }
        text
    };
    let plain = says(
        &[],
        &[
            "init 0",
            "devices 1",
            "capability (8, 0)",
            "memory 17179869184",
            "pools true",
            "sum Some(42) 0",
        ],
    );
    assert!(!plain.contains("vcuda: "), "{plain}");
    // The very first call fails, and only that.
    says(&[("FAIL", "cuInit:1:NOT_INITIALIZED")], &["init 3", "again 0", "sum Some(42) 0"]);
    says(&[("FAIL", "*:1:999")], &["init 999", "again 0"]);
    says(&[("FAIL", "cuInit:*:999")], &["init 999", "again 999"]);
    says(&[("FAIL", "cuMemAllocAsync:2:OUT_OF_MEMORY,cuLaunchKernel:1:700")], &["sum None 2"]);
    says(&[("DEVICES", "0")], &["init 100"]);
    says(&[("DEVICES", "2"), ("CC", "9.0")], &["devices 2", "capability (9, 0)", "sum Some(42) 0"]);
    says(&[("MEMORY", "2m")], &["memory 2097152", "sum Some(42) 0"]);
    says(&[("MEMORY", "4")], &["memory 4", "sum None 2"]);
    says(&[("NO_POOLS", "1")], &["pools false", "sum Some(42) 0"]);
    says(&[("PTX_ISA", "7.8")], &["sum None 222"]);
    says(&[("CC", "70")], &["sum None 209"]);
    for when in ["eager", "lazy", "seed:3"] {
        says(&[("ASYNC", when)], &["sum Some(42) 0"]);
    }
    says(&[("TRACE", "1")], &["vcuda: cuInit -> 0 CUDA_SUCCESS", "vcuda: cuLaunchKernel -> 0"]);
    says(&[("STATS", "1")], &["vcuda: add [1, 1, 1]x["]);
    // What makes no sense is said and ignored, from the first call on.
    let nonsense = [("CC", "warm"), ("MEMORY", "lots"), ("FAIL", "cuInit"), ("COLOUR", "red")];
    let lines =
        nonsense.map(|(key, value)| format!("VCUDA_{key}={value} makes no sense and is ignored"));
    says(&nonsense, &lines.each_ref().map(|l| &**l));
    says(&nonsense, &["init 0", "capability (8, 0)", "sum Some(42) 0"]);
}

#[test]
fn leaks_are_told_at_the_end_of_the_process() {
    let test = "leaks_are_told_at_the_end_of_the_process";
    if let Some(part) = part() {
        Control::load_built().expect("the library loads");
        let ctx = CudaContext::new(0).expect("a context");
        let stream = ctx.default_stream();
        let slice = stream.alloc_zeros::<u8>(1000).expect("memory");
        // SAFETY: host code may ask for memory without filling it.
        let pinned = unsafe { ctx.alloc_pinned::<u8>(10) }.expect("memory");
        match &*part {
            "dropped" => {}
            "waiting" => std::mem::forget(ctx.clone()),
            "forgotten" => {
                std::mem::forget((slice, ctx.clone()));
                return;
            }
            "left in a context that ends" => {
                let (pointer, _) = (slice.leak(), pinned);
                println!("{pointer:#x}");
                return;
            }
            _ => panic!("no such part"),
        }
        drop((slice, pinned));
        return;
    }
    for part in ["dropped", "waiting"] {
        let (fine, text) = play(test, part, &[]);
        assert!(fine && !text.contains("vcuda: "), "{part}: {text}");
    }
    let (_, text) = play(test, "forgotten", &[]);
    assert!(
        text.contains("leak: the process ends with 1 allocations, among them #1 of 1000 bytes"),
        "{text}"
    );
    let (_, text) = play(test, "forgotten", &[("QUIET", "1")]);
    assert!(!text.contains("vcuda: "), "{text}");
    let (_, text) = play(test, "left in a context that ends", &[]);
    assert!(
        text.contains("leak: the context of device 0 ends with allocation #1 of 1000 bytes"),
        "{text}"
    );
}
