//! Order among threads: what is told as a race or as wrong synchronisation, and what must not be.

mod support;
use support::faults::{expect, fine, kernel};
use support::{Gpu, report};

#[test]
fn races_in_global_memory() {
    expect("st.global.u32 [%rd1], %r5;", 1, 2, 719, "race");
    expect("st.global.u32 [%rd1], %r5;", 2, 1, 719, "race");
    expect("st.global.u32 [%rd2], %r5; ld.global.u32 %r6, [%rd1];", 1, 64, 719, "race");
    expect("ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd2], %r5;", 1, 64, 719, "race");
    expect("ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd2], %r5;", 64, 1, 719, "race");
    // Neighbouring bytes are no conflict, nor are reads, atomics, one's own bytes, or a barrier in between.
    fine(
        "cvt.u64.u32 %rd5, %r5; add.u64 %rd6, %rd1, %rd5; st.global.u8 [%rd6], %r5; ld.global.u8 %r6, [%rd6]; st.global.u8 [%rd6], %r6;",
        4,
        100,
    );
    fine("ld.global.u32 %r6, [%rd1];", 4, 64);
    fine("atom.global.add.u32 %r6, [%rd1], 1;", 4, 64);
    fine(
        "st.global.u32 [%rd2], %r5; bar.sync 0; ld.global.u32 %r6, [%rd1]; bar.sync 0; st.global.u32 [%rd2], %r6;",
        1,
        96,
    );
    // Not across blocks, however.
    expect("st.global.u32 [%rd2], %r5; bar.sync 0; ld.global.u32 %r6, [%rd1];", 2, 32, 719, "race");
    // Switched off, it is not found.
    let gpu = Gpu::new(&[("no_races", "1")]);
    let f = gpu.function(gpu.load(&kernel("st.global.u32 [%rd1], %r5;")), "k");
    let memory = gpu.zeros(64);
    gpu.run(f, 2, 64, &[memory, 0]);
}

#[test]
fn races_in_shared_memory() {
    let all_write_then_first_reads = |between: &str| {
        format!(
            "and.b32 %r6, %r2, 31; shl.b32 %r6, %r6, 2; mov.u32 %r7, fixed; add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], %r5; {between} ld.shared.u32 %r8, [fixed+4];"
        )
    };
    expect(&all_write_then_first_reads(""), 1, 32, 719, "race");
    let text = expect("st.shared.u32 [fixed], %r5;", 1, 2, 719, "race");
    assert!(text.contains("by thread (0,0,0) of this block"), "{text}");
    fine(&all_write_then_first_reads("bar.sync 0;"), 3, 32);
    fine(&all_write_then_first_reads("bar.warp.sync 0xffffffff;"), 3, 32);
    expect(&all_write_then_first_reads("bar.warp.sync 0xffffffff;"), 1, 64, 719, "race");
}

#[test]
fn read_only_loads_of_written_bytes() {
    expect(
        "ld.global.nc.u32 %r6, [%rd2]; st.global.u32 [%rd2], %r6;",
        1,
        1,
        719,
        "readonly-written",
    );
    expect(
        "st.global.u32 [%rd2], %r5; ld.global.nc.u32 %r6, [%rd2];",
        1,
        1,
        719,
        "readonly-written",
    );
    expect(
        "st.global.u32 [%rd2], %r5; bar.sync 0; ld.global.nc.u32 %r6, [%rd1];",
        1,
        64,
        719,
        "readonly-written",
    );
    fine("ld.global.nc.u32 %r6, [%rd1]; st.global.u32 [%rd2+512], %r6;", 1, 64);
    // Bytes written by an earlier launch are fine.
    let gpu = Gpu::new(&[]);
    let module = gpu.load(&kernel("ld.global.nc.u32 %r6, [%rd2]; st.global.u32 [%rd2+512], %r6;"));
    let f = gpu.function(module, "k");
    let memory = gpu.zeros(1024);
    gpu.run(f, 1, 64, &[memory, 0]);
    gpu.run(f, 1, 64, &[memory + 512 - 512, 0]);
}

#[test]
fn waiting_for_ever() {
    expect(
        "setp.eq.u32 %p1, %r2, 0; @%p1 bra L; bar.sync 0; bra E; L: bar.sync 1; E:",
        1,
        64,
        702,
        "deadlock",
    );
    let gpu = Gpu::new(&[("timeout", "100000")]);
    let f = gpu.function(gpu.load(&kernel("L: bra L;")), "k");
    assert_eq!(gpu.launch(f, 1, 1, &[0, 0]), 0);
    assert_eq!(gpu.sync(), 702);
    assert!(report().contains("timeout"), "{}", report());
    drop(gpu);
    expect("trap;", 1, 1, 719, "trap");
}

/// `store` by thread 0, then `load` by thread `reader`, which waits until `flag` says so.
fn handed_over(store: &str, fence: &str, take: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r2, 0; setp.ne.u32 %p2, %r2, 32; @%p1 bra OTHER;
        {store} {fence} st.volatile.global.u32 [%rd1+512], 1; bra END;
        OTHER: @%p2 bra END;
        WAIT: ld.volatile.global.u32 %r6, [%rd1+512]; setp.eq.u32 %p3, %r6, 0; @%p3 bra WAIT; {take}
        ld.global.u32 %r7, [%rd1]; END:"
    )
}

#[test]
fn atomics_beside_plain_accesses() {
    let first = "setp.eq.u32 %p1, %r2, 0;";
    for (space, at) in [("global", "%rd1"), ("shared", "fixed")] {
        let atomic = format!("atom.{space}.add.u32 %r6, [{at}], 1;");
        let init = format!("{first} @%p1 st.{space}.u32 [{at}], 0; bar.sync 0;");
        let read = format!("@%p1 ld.{space}.u32 %r7, [{at}];");
        let byte = format!("@%p1 ld.{space}.u8 %r7, [{at}+3];");
        let write = format!("@%p1 st.{space}.u32 [{at}], 7;");
        for plain in [&read, &byte, &write] {
            // Before and after, within a warp and between warps; a barrier makes it right.
            expect(&format!("{init} {atomic} {plain}"), 1, 64, 719, "race");
            expect(&format!("{init} {plain} {atomic}"), 1, 64, 719, "race");
            expect(&format!("{init} {atomic} bar.warp.sync -1; {plain}"), 1, 64, 719, "race");
            fine(&format!("{init} {atomic} bar.warp.sync -1; {plain}"), 1, 32);
            fine(&format!("{init} {atomic} bar.sync 0; {plain} bar.sync 0; {atomic}"), 1, 64);
        }
        // A thread alone may mix as it likes.
        fine(&format!("{init} @!%p1 bra END; {atomic} {read} {write} {atomic} {read} END:"), 1, 64);
        // A volatile store is as an atomic.
        let volatile = format!("st.volatile.{space}.u32 [{at}], 1;");
        expect(&format!("{init} {volatile} {read}"), 1, 64, 719, "race");
        fine(&format!("{init} {volatile} {atomic}"), 1, 64);
        // A loop around a compare-and-swap begins with a plain load.
        let compare = format!("atom.{space}.cas.b32 %r6, [{at}], %r7, 5;");
        fine(&format!("{init} ld.{space}.u32 %r7, [{at}]; {compare}"), 1, 64);
        expect(&format!("{init} {compare} {write}"), 1, 64, 719, "race");
    }
    expect("atom.global.add.u32 %r6, [%rd1], 1; ld.global.u32 %r7, [%rd1];", 2, 1, 719, "race");
    let text = expect(
        "@!%p1 bra END; END: setp.ge.u32 %p1, %r2, 2; @%p1 bra OUT; setp.eq.u32 %p1, %r2, 0; @%p1 red.global.add.u32 [%rd1], 1; @!%p1 ld.global.u32 %r7, [%rd1]; OUT:",
        1,
        32,
        719,
        "race",
    );
    assert!(text.contains("an atomic or volatile write by thread (0,0,0) of this block"), "{text}");
}

#[test]
fn flags_and_locks_within_a_block() {
    let store = "st.global.u32 [%rd1], 5;";
    for fence in ["membar.gl;", "membar.cta;", "fence.acq_rel.cta;", "fence.sc.gpu;"] {
        fine(&handed_over(store, fence, fence), 1, 64);
        fine(&handed_over(store, fence, ""), 1, 64);
    }
    expect(&handed_over(store, "", ""), 1, 64, 719, "race");
    // What is written after the fence was not handed over.
    expect(
        &handed_over("", "membar.gl; st.global.u32 [%rd1], 5;", "membar.gl;"),
        1,
        64,
        719,
        "race",
    );
    // Whoever waits may be the earlier warp.
    let turned = handed_over(store, "membar.gl;", "membar.gl;")
        .replace("%p1, %r2, 0", "%p1, %r2, 40")
        .replace("%p2, %r2, 32", "%p2, %r2, 0");
    fine(&turned, 1, 64);
    // A fence is no barrier.
    let all = "and.b32 %r6, %r2, 31; shl.b32 %r6, %r6, 2; mov.u32 %r7, fixed; add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], %r5; membar.cta; ld.shared.u32 %r8, [fixed+4];";
    expect(all, 1, 32, 719, "race");
    // Locks: all threads of the block, one after the other.
    let lock = |fence: &str| {
        format!(
            "AGAIN: atom.global.cas.b32 %r6, [%rd1], 0, 1; setp.ne.u32 %p1, %r6, 0; @%p1 bra AGAIN; {fence}
            ld.global.u32 %r7, [%rd1+4]; add.u32 %r7, %r7, 1; st.global.u32 [%rd1+4], %r7; {fence} atom.global.exch.b32 %r6, [%rd1], 0;"
        )
    };
    fine(&lock("membar.gl;"), 1, 70);
    fine(&lock("membar.gl;"), 4, 32);
    expect(&lock(""), 1, 70, 719, "race");
    // Release and acquire need no fence.
    let released = handed_over(store, "", "")
        .replace("st.volatile.global", "st.release.gpu.global")
        .replace("ld.volatile.global", "ld.acquire.gpu.global");
    fine(&released, 1, 64);
}

#[test]
fn barriers_of_some_threads() {
    // Two warps of three meet: their bytes are in order, those of the third are not.
    let met = |offset: u32| {
        format!(
            "shl.b32 %r6, %r2, 2; mov.u32 %r7, dynamic; add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], %r2; setp.ge.u32 %p1, %r2, 64; @%p1 bra END; bar.sync 1, 64; ld.shared.u32 %r8, [dynamic+{offset}]; END:"
        )
    };
    let go = |body: &str| {
        let gpu = Gpu::new(&[]);
        let f = gpu.function(gpu.load(&kernel(body)), "k");
        assert_eq!(gpu.launch_on(f, [1; 3], [96, 1, 1], 512, 0, &[0, 0]), 0);
        (gpu.sync(), report())
    };
    assert_eq!(go(&met(0)), (0, "[]".into()));
    assert_eq!(go(&met(252)), (0, "[]".into()));
    let (code, text) = go(&met(256));
    assert!(code == 719 && text.contains("not ordered with a write by thread (64,0,0)"), "{text}");
    // Parts of a warp.
    let halves = |mask: &str, other: &str| {
        format!(
            "and.b32 %r6, %r2, 31; setp.lt.u32 %p1, %r6, 16; selp.b32 %r9, 0xffff, {mask}, %p1; shl.b32 %r6, %r6, 2; mov.u32 %r7, fixed; add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], %r2; bar.warp.sync %r9; xor.b32 %r8, %r6, {other}; add.u32 %r8, %r8, fixed; ld.shared.u32 %r10, [%r8];"
        )
    };
    fine(&halves("0xffff0000", "60"), 2, 32);
    expect(&halves("0xffff0000", "64"), 1, 32, 719, "race");
    // All lanes look at a word that one of them changes after they have met.
    fine(
        "setp.eq.u32 %p1, %r2, 0; @%p1 st.shared.u32 [fixed], 1; bar.warp.sync -1; ld.shared.u32 %r6, [fixed]; bar.warp.sync -1; @%p1 st.shared.u32 [fixed], 2;",
        1,
        32,
    );
    // A producer and consumers that tell each other by arriving.
    let ring = "shl.b32 %r6, %r2, 2; and.b32 %r6, %r6, 127; mov.u32 %r7, fixed; add.u32 %r7, %r7, %r6; setp.ge.u32 %p1, %r2, 32; mov.u32 %r9, 0; @%p1 bra CONSUME;
        PRODUCE: st.shared.u32 [%r7], %r9; bar.arrive 1, 96; bar.sync 2, 96; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 5; @%p2 bra PRODUCE; bra END;
        CONSUME: bar.sync 1, 96; ld.shared.u32 %r8, [fixed]; ld.shared.u32 %r8, [%r7]; bar.arrive 2, 96; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 5; @%p2 bra CONSUME; END:";
    fine(ring, 2, 96);
    expect(
        &ring.replace("bar.arrive 2, 96;", "bar.arrive 2, 96; ld.shared.u32 %r8, [fixed];"),
        1,
        96,
        719,
        "race",
    );
}

#[test]
fn lanes_of_a_warp_that_wait() {
    // A full mask after some lanes have ended, and one barrier in each branch, are fine.
    let ended = "setp.ge.u32 %p1, %r2, 50; @%p1 bra OUT;";
    fine(&format!("{ended} shfl.sync.down.b32 %r6, %r2, 1, 31, -1; bar.warp.sync -1; OUT:"), 1, 64);
    fine(
        "setp.ge.u32 %p1, %r2, 16; @%p1 bra B; st.global.u32 [%rd2], 1; bar.warp.sync -1; ld.global.u32 %r6, [%rd2+64]; bra OUT; B: st.global.u32 [%rd2], 2; bar.warp.sync -1; ld.global.u32 %r6, [%rd2+-64]; OUT:",
        1,
        32,
    );
    // A mask must name who uses it.
    for op in ["shfl.sync.idx.b32 %r6, %r2, 0, 31, 0xffff;", "bar.warp.sync 0xffff;"] {
        let text = expect(op, 1, 32, 719, "wrong-synchronisation");
        assert!(text.contains("lacks the lane 16") && text.contains("PTX line 20"), "{text}");
    }
    // Lanes that never come are told where the others wait.
    let text = expect(
        "setp.lt.u32 %p1, %r2, 16; @%p1 bra B;\nmov.u32 %r6, 0;\nbar.warp.sync -1; B: bar.sync 0;",
        1,
        32,
        702,
        "deadlock",
    );
    assert!(text.contains("of their warp that never come") && text.contains("line 22"), "{text}");
}

#[test]
fn barriers_in_diverged_code() {
    let branches =
        |op: &str| format!("setp.lt.u32 %p1, %r2, 16; @%p1 bra B;\n{op}\nbra OUT;\nB: {op}\nOUT:");
    let text = expect(&branches("bar.sync 0;"), 1, 64, 719, "wrong-synchronisation");
    assert!(text.contains("line 21") && text.contains("line 23"), "{text}");
    expect(&branches("barrier.sync.aligned 0;"), 1, 32, 719, "wrong-synchronisation");
    fine(&branches("barrier.sync 0;"), 1, 64);
    // Whole warps may come from different places, and threads that have ended are not waited for.
    fine(&branches("bar.sync 0;").replace("%r2, 16", "%r2, 32"), 1, 64);
    fine("setp.ge.u32 %p1, %r2, 40; @%p1 bra OUT; bar.sync 0; OUT:", 1, 64);
}

#[test]
fn read_only_loads_and_atomics() {
    let load = "ld.global.nc.u32 %r6, [%rd2];";
    for change in ["red.global.add.u32 [%rd2], 1;", "st.volatile.global.u32 [%rd2], 1;"] {
        expect(&format!("{load} {change}"), 1, 1, 719, "readonly-written");
        expect(&format!("{change} {load}"), 1, 1, 719, "readonly-written");
        expect(&format!("{change} membar.gl; {load}"), 2, 32, 719, "readonly-written");
    }
    // Another block's.
    expect("ld.global.nc.u32 %r6, [%rd1]; st.global.u32 [%rd2], 1;", 4, 1, 719, "readonly-written");
}

/// Whatever gives a thread a fresh number, what it did before is in order with what it does now.
#[test]
fn a_thread_never_races_with_itself() {
    let synchronisations = [
        "membar.gl;",
        "membar.cta;",
        "fence.acq_rel.gpu;",
        "bar.arrive 1, 64;",
        "bar.warp.sync 1;",
        "atom.global.add.acq_rel.gpu.u32 %r9, [%rd1+512], 1;",
        "st.release.gpu.global.u32 [%rd1+512], 1;",
        "ld.acquire.gpu.global.u32 %r9, [%rd1+512];",
    ];
    let accesses = [
        "ld.global.u32 %r6, [%rd1];",
        "st.global.u32 [%rd1], 1;",
        "atom.global.add.u32 %r6, [%rd1], 1;",
        "ld.volatile.global.u32 %r6, [%rd1];",
        "st.volatile.global.u32 [%rd1], 1;",
    ];
    let in_shared = |access: &str| access.replace("%rd1", "fixed").replace("global", "shared");
    for between in synchronisations {
        for first in accesses {
            for second in accesses {
                fine(&format!("{first} {between} {second} {between} {first}"), 1, 1);
                let (first, second) = (in_shared(first), in_shared(second));
                let start = "st.shared.u32 [fixed], 0;";
                fine(&format!("{start} {between} {first} {between} {second}"), 1, 1);
            }
        }
        // One thread of many, the others having nothing to do with the word.
        let increment =
            "@%p1 ld.global.u32 %r6, [%rd1]; add.u32 %r6, %r6, 1; @%p1 st.global.u32 [%rd1], %r6;";
        let only = "setp.eq.u32 %p1, %r2, 0;";
        if !between.contains("arrive") && !between.contains("warp") {
            fine(&format!("{only} {increment} {between} {increment}"), 1, 64);
        }
        // Another thread that does the same is still found.
        expect("st.global.u32 [%rd1], 1; membar.gl; st.global.u32 [%rd1], 2;", 1, 2, 719, "race");
    }
}
