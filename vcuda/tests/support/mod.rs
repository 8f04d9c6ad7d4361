//! A thin Rust face on the driver API for tests. Tests that use it take turns, as the driver's state is one.
#![allow(dead_code)]

pub mod driver;
pub mod faults;

use driver::*;
use std::ffi::{CString, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};
use vcuda_control::Live;

static TURN: Mutex<()> = Mutex::new(());

/// A driver with a primary context on device 0, in its first state.
pub struct Gpu {
    _turn: MutexGuard<'static, ()>,
    pub context: u64,
}

/// Changes a setting.
pub fn set(key: &str, value: &str) {
    DRIVER.set(key, value).unwrap_or_else(|why| panic!("{why}"));
}

/// The driver before `cuInit`.
pub fn fresh(settings: &[(&str, &str)]) -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    DRIVER.reset();
    set("quiet", "1");
    for (key, value) in settings {
        set(key, value);
    }
    turn
}

/// The findings as JSON.
pub fn report() -> String {
    DRIVER.report()
}

/// The counts of live objects.
pub fn live() -> Live {
    DRIVER.live()
}

impl Gpu {
    pub fn new(settings: &[(&str, &str)]) -> Gpu {
        let turn = fresh(settings);
        let mut context = 0;
        unsafe {
            assert_eq!(cuInit(0), 0);
            assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
            assert_eq!(cuCtxSetCurrent(context), 0);
        }
        Gpu { _turn: turn, context }
    }

    pub fn try_load(&self, ptx: &str) -> Result<u64, u32> {
        let text = CString::new(ptx).unwrap();
        let mut module = 0;
        match unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) } {
            0 => Ok(module),
            code => Err(code),
        }
    }

    pub fn load(&self, ptx: &str) -> u64 {
        self.try_load(ptx).expect("the module loads")
    }

    pub fn function(&self, module: u64, name: &str) -> u64 {
        let name = CString::new(name).unwrap();
        let mut f = 0;
        assert_eq!(unsafe { cuModuleGetFunction(&mut f, module, name.as_ptr()) }, 0, "{name:?}");
        f
    }

    pub fn alloc(&self, bytes: usize) -> u64 {
        let mut addr = 0;
        assert_eq!(unsafe { cuMemAlloc_v2(&mut addr, bytes) }, 0);
        addr
    }

    pub fn upload<T: Copy>(&self, data: &[T]) -> u64 {
        let bytes = std::mem::size_of_val(data);
        let addr = self.alloc(bytes.max(1));
        assert_eq!(unsafe { cuMemcpyHtoD_v2(addr, data.as_ptr().cast(), bytes) }, 0);
        addr
    }

    pub fn zeros(&self, bytes: usize) -> u64 {
        let addr = self.alloc(bytes);
        assert_eq!(unsafe { cuMemsetD8_v2(addr, 0, bytes) }, 0);
        addr
    }

    pub fn download<T: Copy + Default>(&self, addr: u64, count: usize) -> Vec<T> {
        let mut out = vec![T::default(); count];
        let code = unsafe {
            cuMemcpyDtoH_v2(out.as_mut_ptr().cast(), addr, std::mem::size_of_val(&out[..]))
        };
        assert_eq!(code, 0, "{}", report());
        out
    }

    /// Launches with 64-bit arguments; each is copied as wide as its parameter is.
    pub fn launch(&self, f: u64, grid: u32, block: u32, args: &[u64]) -> u32 {
        self.launch_on(f, [grid, 1, 1], [block, 1, 1], 0, 0, args)
    }

    pub fn launch_on(
        &self,
        f: u64,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        stream: u64,
        args: &[u64],
    ) -> u32 {
        let mut pointers: Vec<*mut c_void> =
            args.iter().map(|a| std::ptr::from_ref(a) as *mut c_void).collect();
        unsafe {
            cuLaunchKernel(
                f,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                stream,
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        }
    }

    pub fn sync(&self) -> u32 {
        unsafe { cuCtxSynchronize() }
    }

    /// Launches, synchronises and expects no fault.
    pub fn run(&self, f: u64, grid: u32, block: u32, args: &[u64]) {
        assert_eq!(self.launch(f, grid, block, args), 0);
        assert_eq!(self.sync(), 0, "{}", report());
    }
}

/// A kernel that adds one to each of `n` numbers.
pub const ADD_ONE: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 pointer, .param .u32 n)
.maxntid 256
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [pointer];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra END;
    mad.wide.u32 %rd2, %r5, 4, %rd1;
    ld.global.u32 %r6, [%rd2];
    add.u32 %r6, %r6, 1;
    st.global.u32 [%rd2], %r6;
END:
    ret;
}";

pub fn stream(flags: u32) -> u64 {
    let mut s = 0;
    assert_eq!(unsafe { cuStreamCreate(&mut s, flags) }, 0);
    s
}

pub fn event() -> u64 {
    let mut e = 0;
    assert_eq!(unsafe { cuEventCreate(&mut e, 0) }, 0);
    e
}
