//! Instructions per second of the interpreter: `cargo run -p vcuda --example speed [FILE.ptx]`.
//!
//! With a file, it is only loaded, and the time to decode it printed.

#[path = "../tests/support/driver.rs"]
mod driver;

use driver::*;
use std::ffi::{CString, c_void};
use std::time::Instant;

fn main() {
    let mut context = 0;
    DRIVER.set("cc", "120").expect("a setting");
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
    }
    if let Some(path) = std::env::args().nth(1) {
        let text = CString::new(std::fs::read(path).expect("a file")).expect("no zeros");
        let (mut module, began) = (0, Instant::now());
        let code = unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) };
        println!("code {code}, {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
        return;
    }
    let ptx = CString::new(include_str!("../tests/cuda/elementwise.12.ptx")).expect("no zeros");
    let n: u64 = 1 << 20;
    for races in ["0", "1"] {
        DRIVER.set("no_races", races).expect("a setting");
        for (name, per_thread, grid) in [(c"shift_u8", 16u64, 256u32), (c"shift_i32", 1, 1024)] {
            unsafe {
                let (mut module, mut f, mut a, mut b, mut o) = (0, 0, 0, 0, 0);
                assert_eq!(cuModuleLoadData(&mut module, ptx.as_ptr().cast()), 0);
                assert_eq!(cuModuleGetFunction(&mut f, module, name.as_ptr()), 0);
                let count = if per_thread == 16 { n / 16 } else { n };
                for addr in [&mut a, &mut b, &mut o] {
                    assert_eq!(cuMemAlloc_v2(addr, (n * 4) as usize), 0);
                    assert_eq!(cuMemsetD8_v2(*addr, 3, (n * 4) as usize), 0);
                }
                for round in 0..3 {
                    let mut params: [*mut c_void; 4] = [
                        (&raw mut a).cast(),
                        (&raw mut b).cast(),
                        (&raw mut o).cast(),
                        (&raw const count) as *mut c_void,
                    ];
                    let before = instructions();
                    let began = Instant::now();
                    assert_eq!(
                        cuLaunchKernel(
                            f,
                            grid,
                            1,
                            1,
                            256,
                            1,
                            1,
                            0,
                            0,
                            params.as_mut_ptr(),
                            std::ptr::null_mut()
                        ),
                        0
                    );
                    assert_eq!(cuCtxSynchronize(), 0);
                    let (seconds, done) = (began.elapsed().as_secs_f64(), instructions() - before);
                    println!(
                        "{} round {round}, race check {}: {done} instructions, {:.1} ms, {:.0} M/s",
                        name.to_string_lossy(),
                        if races == "0" { "on" } else { "off" },
                        seconds * 1e3,
                        done as f64 / seconds / 1e6
                    );
                }
            }
        }
    }
}

fn instructions() -> u64 {
    DRIVER.stats().kernels.iter().map(|kernel| kernel.2).sum()
}
