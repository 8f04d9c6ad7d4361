//! Stand-ins for the functions of cuBLAS and cuRAND that candle calls, so that candle runs on the virtual driver.
//!
//! The vendor's libraries contain machine code, which the virtual driver cannot run. These functions wait for their stream,
//! copy the operands to the host, compute there and copy the result back. Products are summed in `f64` and rounded once;
//! random numbers have the distribution that was asked for, not the values of cuRAND. They say nothing of how the vendor's
//! libraries round or of how fast they are.

use std::f64::consts::TAU;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::OnceLock;

use half::{bf16, f16};
use libloading::Library;

const SUCCESS: c_int = 0;
/// `CUBLAS_STATUS_INVALID_VALUE`, `CUBLAS_STATUS_EXECUTION_FAILED` and `CUBLAS_STATUS_NOT_SUPPORTED`.
const INVALID: c_int = 7;
const FAILED: c_int = 13;
const UNSUPPORTED: c_int = 15;
/// `CURAND_STATUS_LAUNCH_FAILURE`.
const LAUNCH_FAILURE: c_int = 201;

/// What a handle of either library points to.
struct Handle {
    stream: *mut c_void,
    seed: u64,
    drawn: u64,
}

type Wait = unsafe extern "C" fn(*mut c_void) -> c_int;
type Download = unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int;
type Upload = unsafe extern "C" fn(u64, *const c_void, usize) -> c_int;

/// Returns the functions of the driver that are needed.
fn driver() -> Option<(Wait, Download, Upload)> {
    static DRIVER: OnceLock<Option<(Wait, Download, Upload)>> = OnceLock::new();
    // SAFETY: loading a driver has no conditions, and its functions have these types; the library is never unloaded.
    *DRIVER.get_or_init(|| unsafe {
        let library = Library::new("libcuda.so.1").or_else(|_| Library::new("libcuda.so")).ok()?;
        let library = ManuallyDrop::new(library);
        let wait = *library.get(b"cuStreamSynchronize").ok()?;
        Some((wait, *library.get(b"cuMemcpyDtoH_v2").ok()?, *library.get(b"cuMemcpyHtoD_v2").ok()?))
    })
}

/// Creates a handle.
///
/// # Safety
///
/// `handle` must be valid for a write.
unsafe fn create(handle: *mut *mut Handle) -> c_int {
    let made = Handle { stream: ptr::null_mut(), seed: 0, drawn: 0 };
    // SAFETY: guaranteed by the caller.
    unsafe { *handle = Box::into_raw(Box::new(made)) };
    SUCCESS
}

/// Defines the exported functions. Their callers answer for the pointers, as with the vendor's libraries.
macro_rules! export {
    ($($name:ident($($argument:ident: $type:ty),*) $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: handles come from `create` and are used until they are destroyed, by one thread at a time; all
            // other pointers are what the vendor's function of this name takes.
            unsafe { $body }
        }
    )*};
}

type Pointer = *const c_void;

export! {
    cublasCreate_v2(handle: *mut *mut Handle) create(handle);
    cublasDestroy_v2(handle: *mut Handle) { drop(Box::from_raw(handle)); SUCCESS };
    cublasSetStream_v2(handle: *mut Handle, stream: *mut c_void) { (*handle).stream = stream; SUCCESS };
    cublasSgemmStridedBatched(
        handle: *mut Handle, ta: c_int, tb: c_int, m: c_int, n: c_int, k: c_int, alpha: Pointer,
        a: u64, lda: c_int, sa: i64, b: u64, ldb: c_int, sb: i64, beta: Pointer,
        c: u64, ldc: c_int, sc: i64, count: c_int
    ) cublasGemmStridedBatchedEx(
        handle, ta, tb, m, n, k, alpha, a, 0, lda, sa, b, 0, ldb, sb, beta, c, 0, ldc, sc, count, 68, -1
    );
    cublasDgemmStridedBatched(
        handle: *mut Handle, ta: c_int, tb: c_int, m: c_int, n: c_int, k: c_int, alpha: Pointer,
        a: u64, lda: c_int, sa: i64, b: u64, ldb: c_int, sb: i64, beta: Pointer,
        c: u64, ldc: c_int, sc: i64, count: c_int
    ) cublasGemmStridedBatchedEx(
        handle, ta, tb, m, n, k, alpha, a, 1, lda, sa, b, 1, ldb, sb, beta, c, 1, ldc, sc, count, 70, -1
    );
    cublasGemmStridedBatchedEx(
        handle: *mut Handle, ta: c_int, tb: c_int, m: c_int, n: c_int, k: c_int, alpha: Pointer,
        a: u64, a_type: c_int, lda: c_int, sa: i64, b: u64, b_type: c_int, ldb: c_int, sb: i64,
        beta: Pointer, c: u64, c_type: c_int, ldc: c_int, sc: i64, count: c_int, compute: c_int, _algorithm: c_int
    ) {
        let [Some(m), Some(n), Some(k), Some(count)] = [m, n, k, count].map(|size| usize::try_from(size).ok()) else {
            return INVALID;
        };
        // CUBLAS_COMPUTE_16F and CUBLAS_COMPUTE_64F; all others for floats scale in `f32`.
        let scale = |number: Pointer| match compute {
            64 => (*number.cast::<f16>()).to_f64(),
            70 => *number.cast::<f64>(),
            _ => f64::from(*number.cast::<f32>()),
        };
        let (alpha, beta) = (scale(alpha), scale(beta));
        let shape = |turned, rows, columns| if turned == 0 { (rows, columns) } else { (columns, rows) };
        let stream = (*handle).stream;
        let a = Matrix::read(stream, a, a_type, shape(ta, m, k), lda, sa, count);
        let b = Matrix::read(stream, b, b_type, shape(tb, k, n), ldb, sb, count);
        let dense = ldc as usize == m && (count < 2 || sc as usize == m * n);
        let old = match beta == 0.0 && dense {
            true => Ok(Matrix { elements: vec![0.0; m * n * count], leading: m, stride: m * n }),
            false => Matrix::read(stream, c, c_type, (m, n), ldc, sc, count),
        };
        let (a, b, mut out) = match (a, b, old) {
            (Ok(a), Ok(b), Ok(old)) => (a, b, old),
            (Err(code), ..) | (_, Err(code), _) | (.., Err(code)) => return code,
        };
        for (z, j, i) in (0..count).flat_map(|z| (0..n).flat_map(move |j| (0..m).map(move |i| (z, j, i)))) {
            let product = |l| a.at(z, ta, i, l) * b.at(z, tb, l, j);
            let sum: f64 = (0..k).map(product).sum();
            let place = z * out.stride + j * out.leading + i;
            let old = if beta == 0.0 { 0.0 } else { beta * out.elements[place] };
            out.elements[place] = alpha * sum + old;
        }
        write(c, c_type, &out.elements)
    };
    curandCreateGenerator(handle: *mut *mut Handle, _kind: c_int) create(handle);
    curandDestroyGenerator(handle: *mut Handle) { drop(Box::from_raw(handle)); SUCCESS };
    curandSetStream(handle: *mut Handle, stream: *mut c_void) { (*handle).stream = stream; SUCCESS };
    curandSetPseudoRandomGeneratorSeed(handle: *mut Handle, seed: c_ulonglong) {
        ((*handle).seed, (*handle).drawn) = (seed, 0);
        SUCCESS
    };
    curandSetGeneratorOffset(handle: *mut Handle, offset: c_ulonglong) { (*handle).drawn = offset; SUCCESS };
    curandGenerateUniform(handle: *mut Handle, to: u64, count: usize) random(&mut *handle, to, 0, count, Handle::uniform);
    curandGenerateUniformDouble(handle: *mut Handle, to: u64, count: usize) {
        random(&mut *handle, to, 1, count, Handle::uniform)
    };
    curandGenerateNormal(handle: *mut Handle, to: u64, count: usize, mean: f32, deviation: f32) {
        let draw = |handle: &mut Handle| f64::from(mean) + f64::from(deviation) * handle.normal();
        random(&mut *handle, to, 0, count, draw)
    };
    curandGenerateNormalDouble(handle: *mut Handle, to: u64, count: usize, mean: f64, deviation: f64) {
        random(&mut *handle, to, 1, count, |handle| mean + deviation * handle.normal())
    };
}

/// Matrices in columns, on the host.
struct Matrix {
    elements: Vec<f64>,
    leading: usize,
    stride: usize,
}

impl Matrix {
    /// Copies matrices to the host after waiting for a stream.
    fn read(
        stream: *mut c_void,
        from: u64,
        kind: c_int,
        (rows, columns): (usize, usize),
        leading: c_int,
        stride: i64,
        count: usize,
    ) -> Result<Matrix, c_int> {
        let (leading, stride) = (leading as usize, stride as usize);
        let size = size_of_kind(kind).ok_or(UNSUPPORTED)?;
        let mut elements = Vec::new();
        if rows * columns * count > 0 {
            let last = (count - 1) * stride + (columns - 1) * leading + rows;
            let mut bytes = vec![0u8; last * size];
            let (wait, download, _) = driver().ok_or(FAILED)?;
            // SAFETY: the vector has room for all bytes; the driver checks its own handles and addresses.
            let code =
                unsafe { wait(stream) | download(bytes.as_mut_ptr().cast(), from, bytes.len()) };
            if code != SUCCESS {
                return Err(FAILED);
            }
            elements = bytes.chunks_exact(size).map(|bytes| decoded(kind, bytes)).collect();
        }
        Ok(Matrix { elements, leading, stride })
    }

    fn at(&self, matrix: usize, turned: c_int, row: usize, column: usize) -> f64 {
        let (row, column) = if turned == 0 { (row, column) } else { (column, row) };
        self.elements[matrix * self.stride + column * self.leading + row]
    }
}

/// The size of an element by `cudaDataType_t`: CUDA_R_32F, CUDA_R_64F, CUDA_R_16F and CUDA_R_16BF.
fn size_of_kind(kind: c_int) -> Option<usize> {
    [(0, 4), (1, 8), (2, 2), (14, 2)].into_iter().find(|of| of.0 == kind).map(|of| of.1)
}

fn decoded(kind: c_int, bytes: &[u8]) -> f64 {
    match (kind, bytes) {
        (2, &[a, b]) => f16::from_ne_bytes([a, b]).to_f64(),
        (14, &[a, b]) => bf16::from_ne_bytes([a, b]).to_f64(),
        (_, &[a, b, c, d]) => f64::from(f32::from_ne_bytes([a, b, c, d])),
        (_, bytes) => bytes.try_into().map_or(f64::NAN, f64::from_ne_bytes),
    }
}

/// Rounds elements and copies them to the device.
fn write(to: u64, kind: c_int, elements: &[f64]) -> c_int {
    let bytes: Vec<u8> = match kind {
        0 => elements.iter().flat_map(|&x| (x as f32).to_ne_bytes()).collect(),
        1 => elements.iter().flat_map(|x| x.to_ne_bytes()).collect(),
        2 => elements.iter().flat_map(|&x| f16::from_f64(x).to_ne_bytes()).collect(),
        14 => elements.iter().flat_map(|&x| bf16::from_f64(x).to_ne_bytes()).collect(),
        _ => return UNSUPPORTED,
    };
    let Some((_, _, upload)) = driver() else { return FAILED };
    // SAFETY: the vector holds all bytes; the driver checks the address.
    let done =
        bytes.is_empty() || unsafe { upload(to, bytes.as_ptr().cast(), bytes.len()) } == SUCCESS;
    if done { SUCCESS } else { FAILED }
}

/// Fills device memory with random numbers.
fn random(
    handle: &mut Handle,
    to: u64,
    kind: c_int,
    count: usize,
    draw: impl Fn(&mut Handle) -> f64,
) -> c_int {
    let elements: Vec<f64> = (0..count).map(|_| draw(handle)).collect();
    // SAFETY: the driver checks its handle.
    let waited = driver().map(|(wait, ..)| unsafe { wait(handle.stream) });
    let done = waited == Some(SUCCESS) && write(to, kind, &elements) == SUCCESS;
    if done { SUCCESS } else { LAUNCH_FAILURE }
}

impl Handle {
    /// The next number above 0 and at most 1, of 24 random bits (splitmix64).
    fn uniform(&mut self) -> f64 {
        self.drawn += 1;
        let mut bits = self.seed.wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let top = ((bits ^ (bits >> 31)) >> 40) as c_uint;
        f64::from(top + 1) / f64::from(1u32 << 24)
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }
}
