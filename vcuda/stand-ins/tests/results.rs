//! Products and random numbers on the virtual driver, against plain loops.

use std::ffi::{c_int, c_void};
use std::ptr;

use half::{bf16, f16};
use vcuda_control::Control;

use vcuda_stand_ins as _; // links the functions below

unsafe extern "C" {
    fn cublasCreate_v2(handle: *mut *mut c_void) -> c_int;
    fn cublasGemmStridedBatchedEx(
        handle: *mut c_void,
        ta: c_int,
        tb: c_int,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const c_void,
        a: u64,
        a_type: c_int,
        lda: c_int,
        sa: i64,
        b: u64,
        b_type: c_int,
        ldb: c_int,
        sb: i64,
        beta: *const c_void,
        c: u64,
        c_type: c_int,
        ldc: c_int,
        sc: i64,
        count: c_int,
        compute: c_int,
        algorithm: c_int,
    ) -> c_int;
    fn curandCreateGenerator(handle: *mut *mut c_void, kind: c_int) -> c_int;
    fn curandSetPseudoRandomGeneratorSeed(handle: *mut c_void, seed: u64) -> c_int;
    fn curandGenerateUniform(handle: *mut c_void, to: u64, count: usize) -> c_int;
    fn curandGenerateNormal(
        handle: *mut c_void,
        to: u64,
        count: usize,
        mean: f32,
        deviation: f32,
    ) -> c_int;
}

/// The virtual driver.
struct Driver(Control);

impl Driver {
    fn load() -> Driver {
        let loaded = Driver(Control::load_built().unwrap());
        // SAFETY: these driver functions have these types; the context is created for device 0.
        unsafe {
            loaded.function::<unsafe extern "C" fn(c_int) -> c_int>(c"cuInit")(0);
            let mut context = ptr::null_mut::<c_void>();
            let retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int =
                loaded.function(c"cuDevicePrimaryCtxRetain");
            assert_eq!(retain(&mut context, 0), 0);
            loaded.function::<unsafe extern "C" fn(*mut c_void) -> c_int>(c"cuCtxSetCurrent")(
                context,
            );
        }
        loaded
    }

    /// # Safety
    ///
    /// `F` must be the type of the function.
    unsafe fn function<F: Copy>(&self, name: &std::ffi::CStr) -> F {
        let found = self.0.symbol(name).expect("the driver has every function");
        // SAFETY: guaranteed by the caller; function pointers are as large as others.
        unsafe { std::mem::transmute_copy(&found) }
    }

    fn upload(&self, bytes: &[u8]) -> u64 {
        let mut address = 0;
        // SAFETY: these driver functions have these types, and the slice is as long as the copy.
        unsafe {
            let allocate: unsafe extern "C" fn(*mut u64, usize) -> c_int =
                self.function(c"cuMemAlloc_v2");
            assert_eq!(allocate(&mut address, bytes.len()), 0);
            let copy: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int =
                self.function(c"cuMemcpyHtoD_v2");
            assert_eq!(copy(address, bytes.as_ptr().cast(), bytes.len()), 0);
        }
        address
    }

    fn download(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut copied = vec![0; bytes];
        // SAFETY: this driver function has this type, and the vector is as long as the copy.
        unsafe {
            let copy: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int =
                self.function(c"cuMemcpyDtoH_v2");
            assert_eq!(copy(copied.as_mut_ptr().cast(), address, bytes), 0);
        }
        copied
    }
}

/// Sizes m, n and k differ, columns are further apart than they are long, and there are two matrices.
#[test]
fn products_are_those_of_plain_loops() {
    let driver = Driver::load();
    let mut blas = ptr::null_mut();
    // SAFETY: the handle is writable.
    assert_eq!(unsafe { cublasCreate_v2(&mut blas) }, 0);
    let (m, n, k, count) = (3, 2, 4, 2);
    for (kind, size) in [(0, 4), (1, 8), (2, 2), (14, 2)] {
        for (ta, tb) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let value = |index: usize| (index % 7) as f64 - 2.5;
            let encoded = |x: f64| match kind {
                0 => (x as f32).to_ne_bytes().to_vec(),
                1 => x.to_ne_bytes().to_vec(),
                2 => f16::from_f64(x).to_ne_bytes().to_vec(),
                _ => bf16::from_f64(x).to_ne_bytes().to_vec(),
            };
            let (leading, stride) = (5usize, 30usize);
            let filled: Vec<u8> = (0..2 * stride).flat_map(|index| encoded(value(index))).collect();
            let [a, b, c] = [(); 3].map(|()| driver.upload(&filled));
            let (alpha, beta) = (2f64, 0.5f64);
            let (wide, narrow) = ([alpha, beta], [alpha as f32, beta as f32]);
            let scales: [*const c_void; 2] = match kind {
                1 => [(&raw const wide[0]).cast(), (&raw const wide[1]).cast()],
                _ => [(&raw const narrow[0]).cast(), (&raw const narrow[1]).cast()],
            };
            let compute = if kind == 1 { 70 } else { 68 };
            // SAFETY: the handle was created above, the scales have the type that `compute` asks for.
            let code = unsafe {
                cublasGemmStridedBatchedEx(
                    blas,
                    ta,
                    tb,
                    m,
                    n,
                    k,
                    scales[0],
                    a,
                    kind,
                    leading as c_int,
                    stride as i64,
                    b,
                    kind,
                    leading as c_int,
                    stride as i64,
                    scales[1],
                    c,
                    kind,
                    leading as c_int,
                    stride as i64,
                    count,
                    compute,
                    -1,
                )
            };
            assert_eq!(code, 0);
            let mut expected = filled.clone();
            for z in 0..count as usize {
                for (i, j) in (0..m as usize).flat_map(|i| (0..n as usize).map(move |j| (i, j))) {
                    let at = |turned, row, column| {
                        let (row, column) = if turned == 0 { (row, column) } else { (column, row) };
                        value(z * stride + column * leading + row)
                    };
                    let sum: f64 = (0..k as usize).map(|l| at(ta, i, l) * at(tb, l, j)).sum();
                    let place = z * stride + j * leading + i;
                    let bytes = encoded(alpha * sum + beta * value(place));
                    expected[place * size..][..size].copy_from_slice(&bytes);
                }
            }
            let used = (stride + leading + 3) * size;
            assert_eq!(
                driver.download(c, 2 * stride * size)[..used],
                expected[..used],
                "{kind} {ta} {tb}"
            );
        }
    }
}

#[test]
fn random_numbers_have_their_distribution_and_repeat_with_the_seed() {
    let driver = Driver::load();
    let mut generator = ptr::null_mut();
    // SAFETY: the handle is writable.
    assert_eq!(unsafe { curandCreateGenerator(&mut generator, 100) }, 0);
    let draw = |seed: u64| {
        let to = driver.upload(&[0; 80_000]);
        // SAFETY: the generator was created above, and the memory has room for both runs of 10,000 numbers.
        unsafe {
            assert_eq!(curandSetPseudoRandomGeneratorSeed(generator, seed), 0);
            assert_eq!(curandGenerateUniform(generator, to, 10_000), 0);
            assert_eq!(curandGenerateNormal(generator, to + 40_000, 10_000, 3.0, 2.0), 0);
        }
        let bytes = driver.download(to, 80_000);
        let numbers =
            bytes.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()));
        numbers.map(f64::from).collect::<Vec<_>>()
    };
    let numbers = draw(1);
    assert_eq!(numbers, draw(1));
    assert_ne!(numbers, draw(2));
    let (uniform, normal) = numbers.split_at(10_000);
    assert!(uniform.iter().all(|&x| 0.0 < x && x <= 1.0));
    let moments = |numbers: &[f64]| {
        let mean = numbers.iter().sum::<f64>() / 1e4;
        (mean, numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e4)
    };
    let near = |x: f64, y: f64| (x - y).abs() < 0.05 * y;
    assert!(near(moments(uniform).0, 0.5) && near(moments(uniform).1, 1.0 / 12.0));
    assert!(near(moments(normal).0, 3.0) && near(moments(normal).1, 4.0));
}
