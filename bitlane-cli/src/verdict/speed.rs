//! How fast a device is: times taken by its own events, as a share of the speed of a copy.

use std::time::Instant;

use bitlane::cuda::cudarc::driver::sys::{CUdevice_attribute, CUevent_flags};
use bitlane::{DType, Device, Shift, Tensor, cuda};
use serde_json::{Value, json};

use super::process::tell;
use crate::answer::columns;
use crate::failure::Failure;

/// One measurement.
struct Measured {
    name: String,
    /// The bytes that are read and written; 0 for times of the host.
    bytes: usize,
    seconds: f64,
    /// The speed as a share of a copy of as many bytes.
    share: f64,
}

/// How often each operation is timed. The median counts.
const ROUNDS: usize = 15;

/// How many tensors of a size there are at a time, with what the pools keep between them.
const TENSORS: usize = 6;

/// Measures a device for a minute or so, and tells of each size and, at last, of the host. Leaves after a failure that may
/// be a fault of the driver.
pub fn tell_speed(device: &Device, from: usize) -> Result<(), Failure> {
    let sizes: Vec<usize> = (0..6).map(|k| 1024 << (4 * k)).collect();
    tell("steps", (sizes.len() + 1).into())?;
    for step in from..=sizes.len() {
        let (name, outcome, measured) = match sizes.get(step) {
            Some(&bytes) => {
                tell("begin", size(bytes).into())?;
                let mut measured = Vec::new();
                (size(bytes), of_size(device, bytes, &mut measured), measured)
            }
            None => {
                tell("begin", "host".into())?;
                let mut measured = Vec::new();
                ("host".to_owned(), of_the_host(device, &mut measured), measured)
            }
        };
        let mut rows: Vec<Value> = measured.iter().map(json).collect();
        let failure = outcome.err();
        if let Some(failure) = &failure {
            rows.push(
                json!({ "name": format!("the rest of {name}"), "failed": failure.to_string() }),
            );
        }
        tell("done", rows.into())?;
        if failure.is_some_and(|failure| failure.kind() != "OutOfMemory") {
            return Ok(());
        }
        // What is kept for tensors of one size is in the way of the next.
        cuda::trim_pool(device)?;
    }
    Ok(tell("end", Value::Bool(true))?)
}

/// Measures operations on tensors of a size.
fn of_size(device: &Device, bytes: usize, all: &mut Vec<Measured>) -> Result<(), Failure> {
    let context = cuda::context(device).ok_or("the device has no context")?;
    let timer = Timer::new(device)?;
    let (free, _) = context.mem_get_info()?;
    if bytes * TENSORS > free {
        let words = format!("it needs {}, and {} are free", size(bytes * TENSORS), size(free));
        return Err(words.into());
    }
    let copy = timer.copy(bytes)?;
    all.push(Measured {
        name: format!("device-to-device copy, {}", size(bytes)),
        bytes: 2 * bytes,
        seconds: copy,
        share: 1.0,
    });
    let elements = bytes / 4;
    let rows = 1 << (elements.ilog2() / 2);
    let x = Tensor::arange(elements, DType::I32, device)?.cast(DType::F32)?;
    let y = x.negative()?;
    let bits = x.cast(DType::I32)?;
    let matrix = x.reshape((rows, elements / rows))?;
    let row = matrix.index_axis(0, 0)?.contiguous()?;
    let column = matrix.narrow(1, 0, 1)?.contiguous()?;
    let turned = matrix.transpose(0, 1)?;
    let mut add = |name: &str, moved: usize, run: &dyn Fn() -> Result<Tensor, bitlane::Error>| {
        let seconds = timer.median(run)?;
        let share = (moved as f64 / seconds) / (2.0 * bytes as f64 / copy);
        let name = format!("{name}, {}", size(bytes));
        all.push(Measured { name, bytes: moved, seconds, share });
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
    add("pow", 3 * bytes, &|| x.pow(&y))
}

/// Measures what a call costs the host, the first of a kernel and later ones, and how fast small kernels follow each other.
fn of_the_host(device: &Device, all: &mut Vec<Measured>) -> Result<(), Failure> {
    let x = Tensor::ones([7], DType::I32, device)?;
    let mut host = |name: &str, seconds| {
        all.push(Measured { name: name.into(), bytes: 0, seconds, share: 0.0 })
    };
    let compiled = cuda::cache_statistics().compilations;
    // An expression that nothing else has computed; it is in the cache on the disk if this ran before.
    let start = Instant::now();
    ((x.expr() * 11 - 5).bitwise_xor(&x) + &x).run()?;
    let cold = start.elapsed().as_secs_f64();
    let was_compiled = cuda::cache_statistics().compilations > compiled;
    let from = if was_compiled { "compiled" } else { "from the disk" };
    host(&format!("first call of a kernel ({from}), host"), cold);
    device.synchronize()?;
    const CALLS: u32 = 1000;
    let mut warm = f64::INFINITY;
    let start = Instant::now();
    for _ in 0..10 {
        let start = Instant::now();
        for _ in 0..CALLS {
            (&x + 1)?;
        }
        warm = warm.min(start.elapsed().as_secs_f64() / f64::from(CALLS));
    }
    device.synchronize()?;
    let launch = start.elapsed().as_secs_f64() / f64::from(10 * CALLS);
    host("warm call, host", warm);
    host("launch of a small kernel among 10,000, host and device", launch);
    Ok(())
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

/// Returns measurements as a table.
pub fn table(measured: &[Value]) -> String {
    let row = |one: &Value| {
        let name = one["name"].as_str().unwrap_or_default().to_owned();
        if let Some(words) = one["failed"].as_str() {
            return vec![name, format!("not measured: {words}")];
        }
        let number = |key: &str| one[key].as_f64().unwrap_or(f64::NAN);
        let (bytes, seconds) = (number("bytes"), number("seconds"));
        let micros = format!("{:.1} µs", seconds * 1e6);
        if bytes == 0.0 {
            return vec![name, micros];
        }
        let speed = format!("{:.1} GB/s", bytes / seconds / 1e9);
        vec![name, micros, speed, format!("{:.2} of a copy", number("share_of_copy"))]
    };
    columns(&measured.iter().map(row).collect::<Vec<_>>())
}

fn json(one: &Measured) -> Value {
    json!({ "name": one.name, "bytes": one.bytes, "seconds": one.seconds, "share_of_copy": one.share })
}
