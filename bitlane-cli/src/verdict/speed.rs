//! How fast a device is: times taken by its own events, as a share of the speed of a copy.

use std::time::Instant;

use bitlane::cuda::cudarc::driver::sys::{CUdevice_attribute, CUevent_flags};
use bitlane::{DType, Device, Shift, Tensor, cuda};
use serde_json::{Value, json};

use crate::answer::columns;
use crate::failure::Failure;
use crate::progress::Progress;

/// One measurement.
pub struct Measured {
    name: String,
    /// The bytes that are read and written; 0 for times of the host.
    bytes: usize,
    seconds: f64,
    /// The speed as a share of a copy of as many bytes.
    share: f64,
}

/// How often each operation is timed. The median counts.
const ROUNDS: usize = 15;

/// Measures a device for a minute or so.
pub fn measure(device: &Device) -> Result<Vec<Measured>, Failure> {
    let timer = Timer::new(device)?;
    let mut all = Vec::new();
    let context = cuda::context(device).ok_or("the device has no context")?;
    let (free, _) = context.mem_get_info()?;
    // Three tensors of the largest size, and the one that flushes the cache.
    let sizes: Vec<usize> =
        (0..6).map(|k| 1024usize << (4 * k)).filter(|bytes| bytes * 4 < free).collect();
    let progress = Progress::new("speed", sizes.len());
    for &bytes in &sizes {
        progress.step(&size(bytes));
        let elements = bytes / 4;
        let rows = 1 << (elements.ilog2() / 2);
        let x = Tensor::arange(elements, DType::I32, device)?.cast(DType::F32)?;
        let y = x.negative()?;
        let bits = x.cast(DType::I32)?;
        let matrix = x.reshape((rows, elements / rows))?;
        let row = matrix.index_axis(0, 0)?.contiguous()?;
        let column = matrix.narrow(1, 0, 1)?.contiguous()?;
        let turned = matrix.transpose(0, 1)?;
        let copy = timer.copy(bytes)?;
        let mut add =
            |name: &str, moved: usize, run: &dyn Fn() -> Result<Tensor, bitlane::Error>| {
                let seconds = timer.median(run)?;
                let share = (moved as f64 / seconds) / (2.0 * bytes as f64 / copy);
                all.push(Measured {
                    name: format!("{name}, {}", size(bytes)),
                    bytes: moved,
                    seconds,
                    share,
                });
                Ok::<(), Failure>(())
            };
        add("f32 + f32", 3 * bytes, &|| &x + &y)?;
        add("i32 >> 3", 2 * bytes, &|| bits.bitwise_right_shift(3, Shift::Arithmetic))?;
        add("f32 + row", 2 * bytes, &|| &matrix + &row)?;
        add("f32 + column", 2 * bytes, &|| &matrix + &column)?;
        add("copy of a transpose", 2 * bytes, &|| turned.copy())?;
        add("sum", bytes, &|| x.sum(..))?;
        add("sum of rows", bytes, &|| matrix.sum(1))?;
        add("sum of columns", bytes, &|| matrix.sum(0))?;
        add("max", bytes, &|| x.max(..))?;
        add("pow", 3 * bytes, &|| x.pow(&y))?;
        all.push(Measured {
            name: format!("device-to-device copy, {}", size(bytes)),
            bytes: 2 * bytes,
            seconds: copy,
            share: 1.0,
        });
    }
    progress.finish();
    all.extend(of_the_host(device)?);
    Ok(all)
}

/// Measures what a call costs the host: the first call of a kernel, and later ones.
fn of_the_host(device: &Device) -> Result<Vec<Measured>, Failure> {
    let x = Tensor::ones([7], DType::I32, device)?;
    let host = |name: &str, seconds| Measured { name: name.into(), bytes: 0, seconds, share: 0.0 };
    let compiled = cuda::cache_statistics().compilations;
    // An expression that nothing else has computed; it is in the cache on the disk if this ran before.
    let start = Instant::now();
    ((x.expr() * 11 - 5).bitwise_xor(&x) + &x).run()?;
    let cold = start.elapsed().as_secs_f64();
    let was_compiled = cuda::cache_statistics().compilations > compiled;
    device.synchronize()?;
    const CALLS: u32 = 1000;
    let start = Instant::now();
    for _ in 0..CALLS {
        (&x + 1)?;
    }
    let warm = start.elapsed().as_secs_f64() / f64::from(CALLS);
    device.synchronize()?;
    let from = if was_compiled { "compiled" } else { "from the disk" };
    Ok(vec![
        host(&format!("first call of a kernel ({from}), host"), cold),
        host("warm call, host", warm),
    ])
}

/// Times work on a device's stream.
struct Timer<'a> {
    device: &'a Device,
    /// Written before each round, so that nothing of the last one is in the cache.
    flush: Tensor,
}

impl Timer<'_> {
    fn new(device: &Device) -> Result<Timer<'_>, Failure> {
        let context = cuda::context(device).ok_or("the device has no context")?;
        let cache = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
        let bytes = usize::try_from(cache).unwrap_or(0).max(1 << 20) * 2;
        Ok(Timer { device, flush: Tensor::zeros([bytes], DType::U8, device)? })
    }

    /// Returns the median time of some work, in seconds.
    fn median(&self, run: &dyn Fn() -> Result<Tensor, bitlane::Error>) -> Result<f64, Failure> {
        let stream = cuda::stream(self.device).ok_or("the device has no stream")?;
        drop(run()?);
        let mut times = Vec::new();
        for round in 0..ROUNDS {
            self.flush.clone().fill(round as i64 % 100)?;
            let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
            let start = stream.record_event(flags)?;
            let result = run()?;
            let end = stream.record_event(flags)?;
            end.synchronize()?;
            times.push(f64::from(start.elapsed_ms(&end)?) / 1e3);
            drop(result);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2].max(1e-9))
    }

    /// Returns the median time of a copy of as many bytes by the driver, in seconds.
    fn copy(&self, bytes: usize) -> Result<f64, Failure> {
        let stream = cuda::stream(self.device).ok_or("the device has no stream")?;
        let from = stream.alloc_zeros::<u8>(bytes)?;
        let to = std::cell::RefCell::new(stream.alloc_zeros::<u8>(bytes)?);
        let nothing = Tensor::ones([1], DType::U8, self.device)?;
        self.median(&|| {
            // A failure shows in the wait for the event.
            let _ = stream.memcpy_dtod(&from, &mut *to.borrow_mut());
            Ok(nothing.clone())
        })
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

/// Returns the measurements as a table.
pub fn table(measured: &[Measured]) -> String {
    let row = |one: &Measured| {
        let micros = format!("{:.1} µs", one.seconds * 1e6);
        if one.bytes == 0 {
            return vec![one.name.clone(), micros];
        }
        let speed = format!("{:.1} GB/s", one.bytes as f64 / one.seconds / 1e9);
        vec![one.name.clone(), micros, speed, format!("{:.2} of a copy", one.share)]
    };
    columns(&measured.iter().map(row).collect::<Vec<_>>())
}

/// Returns the measurements as JSON.
pub fn json(measured: &[Measured]) -> Value {
    let one = |one: &Measured| json!({ "name": one.name, "bytes": one.bytes, "seconds": one.seconds, "share_of_copy": one.share });
    measured.iter().map(one).collect()
}
