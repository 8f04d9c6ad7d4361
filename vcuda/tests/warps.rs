//! Instructions between the lanes of a warp, barriers that count, atomics, address spaces.

mod support;
use support::{Gpu, report};

/// Runs a body in one block; `%r1` is the thread, `%r2` its input, `%r3` its result.
fn run(body: &str, block: u32, input: impl Fn(u32) -> u32) -> Vec<u32> {
    let text = format!(
        r"
.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .shared .align 8 .b8 room[256];
    .local .align 8 .b8 own[16];
    .reg .pred %p<9>;
    .reg .b16 %rs<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<20>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd3, %r1, 4, %rd1;
    mad.wide.u32 %rd4, %r1, 4, %rd2;
    ld.global.u32 %r2, [%rd3];
    setp.ne.u32 %p1, %r2, 0;
    mov.u32 %r3, 0;
{body}
    st.global.u32 [%rd4], %r3;
    ret;
}}"
    );
    let gpu = Gpu::new(&[("cc", "90"), ("quiet", "0")]);
    let f = gpu.function(gpu.load(&text), "k");
    let data: Vec<u32> = (0..block).map(input).collect();
    let (input, out) = (gpu.upload(&data), gpu.zeros(4 * block as usize));
    gpu.run(f, 1, block, &[input, out]);
    assert_eq!(report(), "[]");
    gpu.download(out, block as usize)
}

fn lanes(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn shuffles() {
    let shuffle = |mode: &str, b: u32, c: u32| {
        run(
            &format!(
                "shfl.sync.{mode}.b32 %r3|%p2, %r2, {b}, {c}, -1; @!%p2 add.u32 %r3, %r3, 1000;"
            ),
            32,
            |k| k * 2,
        )
    };
    assert_eq!(shuffle("up", 3, 0), lanes(|k| if k >= 3 { (k - 3) * 2 } else { k * 2 + 1000 }));
    assert_eq!(
        shuffle("down", 5, 31),
        lanes(|k| if k + 5 < 32 { (k + 5) * 2 } else { k * 2 + 1000 })
    );
    assert_eq!(shuffle("bfly", 6, 31), lanes(|k| (k ^ 6) * 2));
    assert_eq!(shuffle("idx", 9, 31), lanes(|_| 18));
    // Segments of eight lanes.
    assert_eq!(shuffle("idx", 3, 0x1807), lanes(|k| (k / 8 * 8 + 3) * 2));
    assert_eq!(
        shuffle("down", 2, 0x1807),
        lanes(|k| if k % 8 + 2 < 8 { (k + 2) * 2 } else { k * 2 + 1000 })
    );
    assert_eq!(
        shuffle("up", 2, 0x1800),
        lanes(|k| if k % 8 >= 2 { (k - 2) * 2 } else { k * 2 + 1000 })
    );
}

#[test]
fn votes_matches_and_reductions() {
    let odd = |k: u32| k & 1;
    assert_eq!(run("vote.sync.ballot.b32 %r3, %p1, -1;", 32, odd), lanes(|_| 0xaaaa_aaaa));
    assert_eq!(
        run("vote.sync.any.pred %p2, %p1, -1; selp.u32 %r3, 1, 0, %p2;", 32, odd),
        lanes(|_| 1)
    );
    assert_eq!(
        run("vote.sync.all.pred %p2, %p1, -1; selp.u32 %r3, 1, 0, %p2;", 32, odd),
        lanes(|_| 0)
    );
    assert_eq!(
        run("vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r3, 1, 0, %p2;", 32, |_| 0),
        lanes(|_| 1)
    );
    assert_eq!(
        run("vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r3, 1, 0, %p2;", 32, |_| 7),
        lanes(|_| 1)
    );
    assert_eq!(
        run("match.any.sync.b32 %r3, %r2, -1;", 32, |k| k % 3),
        lanes(|k| (0..32).filter(|l| l % 3 == k % 3).map(|l| 1 << l).sum())
    );
    assert_eq!(
        run("cvt.u64.u32 %rd5, %r2; match.any.sync.b64 %r3, %rd5, -1;", 32, |k| k / 16),
        lanes(|k| if k < 16 { 0xffff } else { 0xffff_0000 })
    );
    assert_eq!(
        run("match.all.sync.b32 %r3|%p2, %r2, -1; @%p2 add.u32 %r3, %r3, 2;", 32, |_| 4),
        lanes(|_| 1)
    );
    assert_eq!(run("match.all.sync.b32 %r3|%p2, %r2, -1;", 32, odd), lanes(|_| 0));
    for (form, want) in [
        ("add.u32", 496u32),
        ("add.s32", 496),
        ("min.u32", 0),
        ("max.s32", 31),
        ("min.s32", 0),
        ("max.u32", 31),
        ("or.b32", 31),
        ("and.b32", 0),
        ("xor.b32", 0),
    ] {
        assert_eq!(
            run(&format!("redux.sync.{form} %r3, %r2, -1;"), 32, |k| k),
            lanes(|_| want),
            "{form}"
        );
    }
    assert_eq!(
        run("elect.sync %r3|%p2, -1; @%p2 add.u32 %r3, %r3, 50;", 32, odd),
        lanes(|k| if k == 0 { 50 } else { 0 })
    );
}

#[test]
fn diverged_lanes_meet_again() {
    // Lanes come to the vote by two ways and wait for each other.
    let body = "@%p1 bra ODD; add.u32 %r4, %r1, 7; bra MEET; ODD: mov.u32 %r4, 1; MEET: activemask.b32 %r5; vote.sync.ballot.b32 %r3, %p1, -1;";
    assert_eq!(run(body, 32, |k| k & 1), lanes(|_| 0xaaaa_aaaa));
    // Inside the branch only its own lanes are active.
    assert_eq!(
        run("@!%p1 bra END; activemask.b32 %r3; END:", 32, |k| k & 1),
        lanes(|k| if k & 1 == 1 { 0xaaaa_aaaa } else { 0 })
    );
    // Part of a warp: the lanes that do not exist are not waited for.
    assert_eq!(run("vote.sync.ballot.b32 %r3, %p1, -1;", 20, |_| 1), vec![0xf_ffff; 20]);
    // A lock passed around among the lanes of a warp.
    let lock = "mov.u32 %r6, room; setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [%r6], 0; @%p2 st.shared.u32 [%r6+4], 0; bar.sync 0;
        AGAIN: atom.shared.cas.b32 %r7, [%r6], 0, 1; setp.ne.u32 %p3, %r7, 0; @%p3 bra AGAIN;
        ld.volatile.shared.u32 %r8, [%r6+4]; add.u32 %r8, %r8, 1; st.volatile.shared.u32 [%r6+4], %r8; atom.shared.exch.b32 %r7, [%r6], 0;
        bar.sync 0; ld.volatile.shared.u32 %r3, [%r6+4];";
    assert_eq!(run(lock, 96, |_| 0), vec![96; 96]);
}

#[test]
fn barriers_that_count() {
    assert_eq!(run("bar.red.popc.u32 %r3, 0, %p1;", 100, |k| u32::from(k % 3 == 0)), vec![34; 100]);
    assert_eq!(
        run("bar.red.and.pred %p2, 0, %p1; selp.u32 %r3, 1, 0, %p2;", 64, |_| 1),
        vec![1; 64]
    );
    assert_eq!(
        run("bar.red.or.pred %p2, 0, !%p1; selp.u32 %r3, 1, 0, %p2;", 64, |k| k),
        vec![1; 64]
    );
    // Producers arrive, consumers wait.
    let body = "setp.lt.u32 %p2, %r1, 32; mov.u32 %r6, room; shl.b32 %r7, %r1, 2; add.u32 %r7, %r7, %r6; @!%p2 bra WAIT;
        st.shared.u32 [%r7], %r1; bar.arrive 1, 64; bra END; WAIT: bar.sync 1, 64; ld.shared.u32 %r3, [%r7+-128]; END:";
    assert_eq!(
        run(body, 64, |_| 0),
        (0..64).map(|k: u32| k.saturating_sub(32)).collect::<Vec<_>>()
    );
}

#[test]
fn atomics_of_every_kind() {
    // Shared and global memory, through generic addresses too.
    let cases: &[(&str, u32, &[u32], u32)] = &[
        ("add.u32", 5, &[1, 2, 3], 11),
        ("add.s32", 5, &[u32::MAX], 4),
        ("min.u32", 5, &[9, 3, 7], 3),
        ("max.u32", 5, &[9, 3, 7], 9),
        ("min.s32", 5, &[9, -3i32 as u32], -3i32 as u32),
        ("max.s32", -5i32 as u32, &[-9i32 as u32, 2], 2),
        ("inc.u32", 3, &[4, 4], 0),
        ("dec.u32", 1, &[9, 9], 9),
        ("and.b32", 0xff, &[0xf3, 0x3f], 0x33),
        ("or.b32", 1, &[2, 4], 7),
        ("xor.b32", 1, &[3, 4], 6),
        ("exch.b32", 1, &[9], 9),
        ("add.f32", 0x3f80_0000, &[0x4000_0000, 0x3f00_0000], 0x4060_0000),
        ("add.noftz.f16x2", 0x3c00_4000, &[0x4000_3c00], 0x4200_4200),
        ("add.noftz.bf16x2", 0x3f80_4000, &[0x4000_3f80], 0x4040_4040),
    ];
    for &(form, start, values, want) in cases {
        for (space, at) in [("shared", "room"), ("", "room")] {
            let generic = if space.is_empty() {
                "cvta.shared.u64 %rd6, %rd5;"
            } else {
                "mov.u64 %rd6, %rd5;"
            };
            let dot = if space.is_empty() { String::new() } else { format!(".{space}") };
            let body = format!(
                "mov.u64 %rd5, {at}; {generic} setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [room], {start}; bar.sync 0; atom{dot}.{form} %r9, [%rd6], %r2; bar.sync 0; ld.shared.u32 %r3, [room];"
            );
            assert_eq!(
                run(&body, values.len() as u32, |k| values[k as usize]),
                vec![want; values.len()],
                "{form} {space}"
            );
        }
        // One after the other in global memory: the first cell of the results of lane 0.
        let body = format!(
            "st.global.u32 [%rd4], {start}; red.global.{form} [%rd4], %r2; ld.global.u32 %r3, [%rd4];"
        );
        if values.len() == 1 {
            assert_eq!(run(&body, 1, |_| values[0]), [want], "{form}");
        }
    }
    let wide = "mov.u64 %rd5, room; st.shared.u64 [%rd5], 7; atom.shared.{} %rd7, [%rd5], {}; ld.shared.u64 %rd8, [%rd5]; cvt.u32.u64 %r3, %rd8;";
    for (form, operands, want) in [
        ("add.u64", "5", 12u32),
        ("min.u64", "3", 3),
        ("max.u64", "9", 9),
        ("min.s64", "-3", -3i32 as u32),
        ("max.s64", "-3", 7),
        ("and.b64", "3", 3),
        ("or.b64", "8", 15),
        ("xor.b64", "1", 6),
        ("exch.b64", "2", 2),
        ("cas.b64", "7, 33", 33),
        ("cas.b64", "8, 33", 7),
        ("add.s64", "-1", 6),
    ] {
        let body = wide.replacen("{}", form, 1).replacen("{}", operands, 1);
        assert_eq!(run(&body, 1, |_| 0), [want], "{form}");
    }
    assert_eq!(
        run(
            "mov.u64 %rd5, room; st.shared.u16 [%rd5], 7; mov.u16 %rs1, 7; mov.u16 %rs2, 70; atom.shared.cas.b16 %rs3, [%rd5], %rs1, %rs2; ld.shared.u16 %r3, [%rd5];",
            1,
            |_| 0
        ),
        [70]
    );
    assert_eq!(
        run(
            "mov.u64 %rd5, room; st.shared.f64 [%rd5], 0d3FF0000000000000; atom.shared.add.f64 %rd7, [%rd5], 0d4000000000000000; ld.shared.u32 %r3, [%rd5+4];",
            1,
            |_| 0
        ),
        [0x4008_0000]
    );
}

#[test]
fn address_spaces() {
    let body = "mov.u64 %rd5, room; cvta.shared.u64 %rd6, %rd5; mov.u64 %rd7, own; cvta.local.u64 %rd8, %rd7;
        isspacep.shared %p2, %rd6; @%p2 or.b32 %r3, %r3, 1;
        isspacep.local %p2, %rd8; @%p2 or.b32 %r3, %r3, 2;
        isspacep.global %p2, %rd3; @%p2 or.b32 %r3, %r3, 4;
        isspacep.shared %p2, %rd3; @%p2 or.b32 %r3, %r3, 8;
        isspacep.const %p2, %rd3; @%p2 or.b32 %r3, %r3, 16;
        isspacep.param %p2, %rd3; @%p2 or.b32 %r3, %r3, 32;
        cvta.to.shared.u64 %rd9, %rd6; setp.eq.u64 %p2, %rd9, %rd5; @%p2 or.b32 %r3, %r3, 64;
        st.u32 [%rd8+4], 128; ld.local.u32 %r4, [own+4]; or.b32 %r3, %r3, %r4;";
    assert_eq!(run(body, 1, |_| 0), [1 | 2 | 4 | 64 | 128]);
    // Vectors and narrow types: sign and zero extension, and a wide register for a narrow value.
    let body = "st.shared.v4.u32 [room], {0x80, 0xffff, 3, 0x80000000}; ld.shared.s8 %r4, [room]; ld.shared.u8 %r5, [room]; sub.u32 %r3, %r5, %r4;
        ld.shared.s16 %r6, [room+4]; add.u32 %r3, %r3, %r6; ld.shared.s32 %rd5, [room+12]; shr.s64 %rd5, %rd5, 31; cvt.u32.u64 %r7, %rd5; add.u32 %r3, %r3, %r7;";
    assert_eq!(run(body, 1, |_| 0), [256 - 2]);
    // A jump table.
    let body = "brx.idx %r2, T; T: .branchtargets A, B, C; A: mov.u32 %r3, 10; bra E; B: mov.u32 %r3, 20; bra E; C: mov.u32 %r3, 30; E:";
    assert_eq!(run(body, 6, |k| k % 3), [10, 20, 30, 10, 20, 30]);
}
