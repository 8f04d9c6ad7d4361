//! The cost of a launch in stub mode, which is what a measurement of host code contains of the driver.

#[path = "../tests/support/driver.rs"]
mod driver;

use driver::*;
use std::ffi::{CString, c_void};
use std::time::Instant;

fn main() {
    let ptx = CString::new(include_str!("../tests/cuda/elementwise.12.ptx")).expect("no zeros");
    let (mut context, mut module, mut f, mut a, n) = (0, 0, 0, 0u64, 16u32);
    unsafe {
        DRIVER.set("stub", "1").expect("a setting");
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuModuleLoadData(&mut module, ptx.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut f, module, c"shift_i32".as_ptr()), 0);
        assert_eq!(cuMemAlloc_v2(&mut a, 1024), 0);
        let p = (&raw mut a).cast::<c_void>();
        let mut params = [p, p, p, (&raw const n) as *mut c_void];
        let launches = 1_000_000;
        let began = Instant::now();
        for _ in 0..launches {
            assert_eq!(
                cuLaunchKernel(
                    f,
                    1,
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
        }
        println!("{:.0} ns per launch", began.elapsed().as_secs_f64() * 1e9 / f64::from(launches));
        assert_eq!(cuMemFree_v2(a), 0);
    }
}
