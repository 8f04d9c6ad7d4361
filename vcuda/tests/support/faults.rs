//! Small kernels with a fault in them, or with none.

use super::{Gpu, report};

/// A kernel of one pointer and one number, in which `%rd1` is the pointer, `%r1` the number, `%r2` the thread
/// in the block, `%r3` the block and `%rd2` the pointer moved by four bytes per thread of the grid.
pub fn kernel(body: &str) -> String {
    format!(
        r"
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 pointer, .param .u32 number)
{{
    .shared .align 4 .b8 fixed[128];
    .local .align 8 .b8 depot[16];
    .reg .pred %p<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<20>;
    ld.param.u64 %rd1, [pointer];
    ld.param.u32 %r1, [number];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r5, %r3, %r4, %r2;
    mad.wide.u32 %rd2, %r5, 4, %rd1;
{body}
    ret;
}}"
    )
}

/// Runs a kernel body on 1024 bytes and gives the error and the report.
pub fn run(body: &str, grid: u32, block: u32, number: u64) -> (u32, String) {
    let gpu = Gpu::new(&[]);
    let f = gpu.function(gpu.load(&kernel(body)), "k");
    let memory = gpu.zeros(1024);
    assert_eq!(gpu.launch(f, grid, block, &[memory, number]), 0);
    (gpu.sync(), report())
}

/// Expects a kind of finding, told with its kernel, thread and line, and gives the report.
#[track_caller]
pub fn expect(body: &str, grid: u32, block: u32, code: u32, kind: &str) -> String {
    let (got, text) = run(body, grid, block, 0);
    assert_eq!(got, code, "{body}: {text}");
    for word in [&format!("\"kind\":\"{kind}\""), "kernel k, block (", "thread (", "PTX line "] {
        assert!(text.contains(word), "{word}: {text}");
    }
    text
}

/// Expects no finding.
#[track_caller]
pub fn fine(body: &str, grid: u32, block: u32) {
    assert_eq!(run(body, grid, block, 0), (0, "[]".into()), "{body}");
}
