//! Forms of PTX beyond what NVRTC writes today, `printf`, and launches whose blocks wait for each other.

mod support;
use std::process::Command;
use support::driver::*;
use support::{Gpu, report};

/// A module with functions before its kernel `k(pointer)`, in which `%rd1` is the pointer, `%r2` the thread in the
/// block and `%rd2` the pointer moved by four bytes per thread.
fn module(functions: &str, body: &str) -> String {
    format!(
        r"
.version 8.0
.target sm_80
.address_size 64
{functions}
.visible .entry k(.param .u64 pointer)
{{
    .reg .pred %p<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<20>;
    ld.param.u64 %rd1, [pointer];
    mov.u32 %r2, %tid.x;
    mad.wide.u32 %rd2, %r2, 4, %rd1;
{body}
    ret;
}}"
    )
}

/// What 32 threads leave in a word each, where there was their number times ten.
fn words(functions: &str, body: &str) -> Vec<u32> {
    let gpu = Gpu::new(&[]);
    let text = module(functions, body);
    let loaded = gpu.try_load(&text).unwrap_or_else(|code| panic!("{code}: {}", report()));
    let f = gpu.function(loaded, "k");
    let memory = gpu.upload(&std::array::from_fn::<u32, 64, _>(|k| k as u32 * 10));
    gpu.run(f, 1, 32, &[memory]);
    gpu.download(memory, 32)
}

fn expected(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

/// Parameters in registers and in memory, given as registers, numbers and variables, in all combinations.
#[test]
fn parameters_are_passed_in_registers_and_in_memory() {
    let in_registers = r"
.func (.reg .b32 sum) add(.reg .b32 a, .reg .b32 b) { add.u32 sum, a, b; ret; }";
    let in_memory = r"
.func (.param .b32 sum) add(.param .b32 a, .param .b32 b)
{
    .reg .b32 x, y;
    ld.param.b32 x, [a];
    ld.param.b32 y, [b];
    add.u32 x, x, y;
    st.param.b32 [sum], x;
    ret;
}";
    let store = "st.global.u32 [%rd2], %r3;";
    for add in [in_registers, in_memory] {
        let plain = format!("call (%r3), add, (%r2, 7); {store}");
        assert_eq!(words(add, &plain), expected(|k| k + 7));
        let variables = format!(
            "{{ .param .b32 a; .param .b32 s; st.param.b32 [a], %r2;
               call.uni (s), add, (a, %r2); ld.param.b32 %r3, [s]; }} {store}"
        );
        assert_eq!(words(add, &variables), expected(|k| 2 * k));
        // A result nobody wants, one that is also a parameter, and a call that only some threads make.
        let guarded = format!(
            "mov.u32 %r3, %r2; call (_), add, (%r2, 1); setp.gt.u32 %p1, %r2, 9;
             @%p1 call (%r3), add, (%r3, 100); {store}"
        );
        assert_eq!(words(add, &guarded), expected(|k| if k > 9 { k + 100 } else { k }));
        // Twice: the second call does not see what is left of the first.
        let twice = format!(
            "call (%r3), add, (%r2, 1); call (%r4), add, (%r3, %r3); mov.u32 %r3, %r4; {store}"
        );
        assert_eq!(words(add, &twice), expected(|k| 2 * k + 2));
    }
    // Predicates and wide registers; a result of another width than its register.
    let choose = r"
.func (.reg .b64 chosen) choose(.reg .pred p, .reg .b64 a, .reg .b64 b) { selp.b64 chosen, a, b, p; ret; }";
    let body = "setp.lt.u32 %p1, %r2, 16; cvt.u64.u32 %rd3, %r2;
        call (%rd4), choose, (%p1, %rd3, 5); st.global.u32 [%rd2], %rd4;";
    assert_eq!(words(choose, body), expected(|k| if k < 16 { k } else { 5 }));
    // A structure cannot be given as a register.
    let big = ".func f(.param .align 4 .b8 s[12]) { ret; }";
    let gpu = Gpu::new(&[]);
    assert_eq!(gpu.try_load(&module(big, "call f, (%r2);")), Err(218));
    assert!(report().contains("a structure is given as a variable only"), "{}", report());
}

#[test]
fn registers_of_several_lanes() {
    let sum = "add.u32 %r3, v.x, v.y; st.global.u32 [%rd2], %r3;";
    let pair = format!(".reg .v2 .b32 v; mov.u32 v.x, %r2; mov.u32 v.y, 5; {sum}");
    assert_eq!(words("", &pair), expected(|k| k + 5));
    // Whole vectors are loaded and stored; the lanes have two kinds of names.
    let whole = "
        .reg .v4 .u32 v<2>;
        shr.u32 %r4, %r2, 2; mad.wide.u32 %rd3, %r4, 16, %rd1;
        ld.global.v4.u32 v0, [%rd3];
        bar.sync 0;
        mov.u32 v1.x, v0.w; mov.u32 v1.y, v0.b; mov.u32 v1.b, v0.g; mov.u32 v1.a, v0.r;
        and.b32 %r5, %r2, 3; setp.eq.u32 %p1, %r5, 0;
        @%p1 st.global.v4.u32 [%rd3], v1;";
    assert_eq!(words("", whole), expected(|k| (k / 4 * 4 + 3 - k % 4) * 10));
    // As a wide register in two halves, and inside a function.
    let halves = "
        .reg .v2 .b32 v; .reg .b64 wide;
        mov.u32 v.x, %r2; mov.u32 v.y, 0;
        mov.b64 wide, v;
        add.u64 wide, wide, 3;
        mov.b64 v, wide;
        st.global.u32 [%rd2], v.x;";
    assert_eq!(words("", halves), expected(|k| k + 3));
    let inner = ".func (.reg .f32 r) f(.reg .f32 a)
        { .reg .v2 .f32 v; mov.f32 v.x, a; add.f32 v.y, v.x, v.x; mov.f32 r, v.y; ret; }";
    let body = ".reg .f32 x; cvt.rn.f32.u32 x, %r2; call (x), f, (x); cvt.rzi.u32.f32 %r3, x;
        st.global.u32 [%rd2], %r3;";
    assert_eq!(words(inner, body), expected(|k| 2 * k));
    let gpu = Gpu::new(&[]);
    assert_eq!(gpu.try_load(&module("", ".reg .v2 .b32 v; mov.u32 v.z, 1;")), Err(218));
}

/// A string in the memory of a module.
fn string(name: &str, text: &str) -> String {
    let bytes: Vec<String> = text.bytes().chain([0]).map(|b| b.to_string()).collect();
    format!(".global .align 1 .b8 {name}[{}] = {{{}}};\n", bytes.len(), bytes.join(", "))
}

/// Says that the process is the one that prints.
const PART: &str = "TEST_PART";

/// What a test of this file writes to the standard output in a process of its own.
fn output_of(test: &str) -> String {
    let output = Command::new(std::env::current_exe().expect("a path"))
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(PART, "1")
        .output()
        .expect("the process starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn printf_prints() {
    if std::env::var_os(PART).is_none() {
        let text = output_of("printf_prints");
        let lines = [
            "thread 0 of 3\nthread 1 of 3\nthread 2 of 3\n",
            "[-7|fffffff9|4294967289|    5|5    |00005]",
            "[-1234567890123|1.500|1.5e+00|  2|x|100%]",
            "[word|  wo|word  ]",
        ];
        for line in lines {
            assert!(text.contains(line), "no {line:?} in {text}");
        }
        return;
    }
    let functions = [
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n".to_string(),
        string("plain", "thread %d of %d\n"),
        string("whole", "[%d|%x|%u|%5d|%-5i|%05d]\n"),
        string("mixed", "[%lld|%.3f|%.1e|%*d|%c|%d%%]\n"),
        string("texts", "[%s|%4.2s|%-6s]\n"),
        string("word", "word"),
    ]
    .concat();
    // The arguments lie in the thread's stack, each at a multiple of its size.
    let call = |format: &str| {
        format!(
            "cvta.local.u64 %rd4, stack; mov.u64 %rd5, {format}; cvta.global.u64 %rd5, %rd5;
            {{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd5;
               st.param.b64 [a], %rd4; call.uni (r), vprintf, (f, a); ld.param.b32 %r9, [r]; }}"
        )
    };
    let first = "setp.eq.u32 %p1, %r2, 0; @!%p1 bra END;";
    let body = [
        ".local .align 8 .b8 stack[64]; mov.u32 %r3, %ntid.x; st.local.v2.u32 [stack], {%r2, %r3};",
        &call("plain"),
        "st.global.u32 [%rd2], %r9;",
        first,
        "st.local.u32 [stack], -7; st.local.u32 [stack+4], -7; st.local.u32 [stack+8], -7;
         st.local.u32 [stack+12], 5; st.local.u32 [stack+16], 5; st.local.u32 [stack+20], 5;",
        &call("whole"),
        "st.local.u64 [stack], -1234567890123; st.local.f64 [stack+8], 0d3FF8000000000000;
         st.local.f64 [stack+16], 0d3FF8000000000000; st.local.u32 [stack+24], 3;
         st.local.u32 [stack+28], 2; st.local.u32 [stack+32], 120; st.local.u32 [stack+36], 100;",
        &call("mixed"),
        "mov.u64 %rd6, word; cvta.global.u64 %rd6, %rd6; st.local.u64 [stack], %rd6;
         st.local.u64 [stack+8], %rd6; st.local.u64 [stack+16], %rd6;",
        &call("texts"),
        "END:",
    ]
    .concat();
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&module(&functions, &body)), "k");
    let memory = gpu.zeros(64);
    gpu.run(f, 1, 3, &[memory]);
    // The answer is the number of arguments.
    assert_eq!(gpu.download::<u32>(memory, 3), [2, 2, 2]);
    assert_eq!(report(), "[]");
}

#[test]
fn printf_of_what_is_not_there_is_a_fault() {
    let functions = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);";
    let body = "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], 64;
        st.param.b64 [a], 64; call.uni (r), vprintf, (f, a); }";
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&module(functions, body)), "k");
    assert_eq!(gpu.launch(f, 1, 1, &[0]), 0);
    assert_eq!(gpu.sync(), 700);
    assert!(report().contains("printf of the format at 0x40"), "{}", report());
}

/// Adds the numbers of all blocks twice over, with a barrier of the whole grid in between, as the headers of
/// cooperative groups have it: the first block makes the top bit of a word flip when all have come.
const GRID_BARRIER: &str = r"
    .reg .b64 high, low, bar;
    .reg .b32 hi, lo, number, blocks, nb, old, now, x;
    .reg .pred master, first, flipped, none;
    mov.u32 hi, %envreg1; mov.u32 lo, %envreg2;
    cvt.u64.u32 high, hi; shl.b64 high, high, 32; cvt.u64.u32 low, lo; or.b64 bar, high, low;
    setp.eq.u64 none, bar, 0;
    @none trap;
    mov.u32 number, %ctaid.x; mov.u32 blocks, %nctaid.x;
    // Each thread of each block writes a word of its own.
    mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, number, %r3, %r2;
    mad.wide.u32 %rd3, %r4, 4, %rd1; add.u32 x, %r4, 1; st.global.u32 [%rd3], x;
    barrier.sync 0;
    setp.eq.u32 master, %r2, 0;
    @!master bra WAITED;
    setp.eq.u32 first, number, 0;
    sub.u32 nb, 0x80000001, blocks;
    selp.b32 nb, nb, 1, first;
    atom.add.release.gpu.u32 old, [bar+4], nb;
SPIN:
    ld.acquire.gpu.u32 now, [bar+4];
    xor.b32 now, now, old; setp.lt.s32 flipped, now, 0;
    @!flipped bra SPIN;
WAITED:
    barrier.sync 0;
    // Then it reads the word of the same thread in the next block.
    add.u32 %r5, number, 1; rem.u32 %r5, %r5, blocks; mad.lo.u32 %r5, %r5, %r3, %r2;
    mad.wide.u32 %rd4, %r5, 4, %rd1; ld.global.u32 x, [%rd4];
    st.global.u32 [%rd3+16384], x;
";

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other() {
    for (blocks, threads) in [(1, 64), (2, 1), (7, 33), (8, 256), (32, 64)] {
        let gpu = Gpu::new(&[]);
        let f = gpu.function(gpu.load(&module("", GRID_BARRIER)), "k");
        let memory = gpu.zeros(32768);
        let mut pointers = [(&raw const memory) as *mut std::ffi::c_void];
        let p = pointers.as_mut_ptr();
        unsafe {
            let code = cuLaunchCooperativeKernel(f, blocks, 1, 1, threads, 1, 1, 0, 0, p);
            assert_eq!(code, 0);
        }
        assert_eq!(gpu.sync(), 0, "{}", report());
        let read = gpu.download::<u32>(memory + 16384, (blocks * threads) as usize);
        let wanted = (0..blocks * threads).map(|k| (k + threads) % (blocks * threads) + 1);
        assert_eq!(read, wanted.collect::<Vec<_>>(), "{blocks} blocks of {threads}");
        // An ordinary launch has no such barrier: the headers end the kernel.
        assert_eq!(gpu.launch(f, blocks, threads, &[memory]), 0);
        assert_eq!(gpu.sync(), 719);
        assert!(report().contains("trap"), "{}", report());
    }
}

#[test]
fn a_cooperative_launch_must_fit_on_the_device() {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&module("", "")), "k");
    let (mut per, mut count, mut can) = (0, 0, 0);
    let mut pointers = [(&raw const count) as *mut std::ffi::c_void];
    unsafe {
        assert_eq!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut per, f, 512, 0), 0);
        assert_eq!(cuDeviceGetAttribute(&mut count, 16, 0), 0);
        assert_eq!(cuDeviceGetAttribute(&mut can, 95, 0), 0);
        assert_eq!(can, 1);
        let most = (per * count) as u32;
        let p = pointers.as_mut_ptr();
        assert_eq!(cuLaunchCooperativeKernel(f, most, 1, 1, 512, 1, 1, 0, 0, p), 0);
        assert_eq!(cuLaunchCooperativeKernel(f, most + 1, 1, 1, 512, 1, 1, 0, 0, p), 720);
        assert_eq!(gpu.sync(), 0);
    }
    drop(gpu);
    // Blocks that wait for one that never comes do not wait for ever.
    let spin = ".reg .b32 x; SPIN: ld.volatile.global.u32 x, [%rd1]; setp.eq.u32 %p1, x, 0; @%p1 bra SPIN;";
    let gpu = Gpu::new(&[("timeout", "100000")]);
    let f = gpu.function(gpu.load(&module("", spin)), "k");
    let memory = gpu.zeros(4);
    let mut pointers = [(&raw const memory) as *mut std::ffi::c_void];
    unsafe {
        let p = pointers.as_mut_ptr();
        assert_eq!(cuLaunchCooperativeKernel(f, 2, 1, 1, 32, 1, 1, 0, 0, p), 0);
    }
    assert_eq!(gpu.sync(), 702);
    assert!(report().contains("runs for too long"), "{}", report());
}
