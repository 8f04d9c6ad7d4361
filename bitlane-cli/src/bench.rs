//! `bitlane bench`: measures the speed of the CPU in a few seconds.

use std::time::{Duration, Instant};

use bitlane::{DType, Device, Error, Shift, Tensor};
use clap::Args;
use serde_json::json;

use crate::answer::{Answer, Outcome};
use crate::failure::Failure;
use crate::operands::device;
use crate::progress::Progress;

/// The length of the longest bar.
const WIDTH: usize = 40;

/// The arguments of `bench`.
#[derive(Args)]
pub struct Options {
    /// What to measure: cpu
    #[arg(long, default_value = "cpu")]
    device: String,
    /// How long to measure each operation, in milliseconds
    #[arg(long, default_value_t = 200, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    time: u64,
    /// How many elements the operands have
    #[arg(long, default_value_t = 1 << 22, value_name = "COUNT", value_parser = elements)]
    elements: usize,
}

fn elements(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("a number above 0 is needed".into()),
    }
}

/// An operation, and the number of bytes that it moves per element.
struct Subject {
    name: &'static str,
    bytes: usize,
    run: Box<dyn Fn() -> Result<Tensor, Error>>,
}

/// Runs the command.
pub fn run(options: &Options) -> Outcome {
    if options.device.starts_with("cuda") {
        let words = "bench measures the CPU; `bitlane verdict` measures a CUDA device";
        return Err(Failure::usage(words));
    }
    let device = if options.device == "best" { Device::cpu() } else { device(&options.device)? };
    let subjects = subjects(&device, options.elements)?;
    let progress = Progress::new("bench", subjects.len());
    let mut measured = Vec::new();
    for subject in &subjects {
        progress.step(subject.name);
        let time = median(Duration::from_millis(options.time), &subject.run)?;
        let gigabytes = (subject.bytes * options.elements) as f64 / time.as_secs_f64() / 1e9;
        measured.push((subject.name, time, gigabytes));
    }
    progress.finish();
    let fastest = measured.iter().map(|&(_, _, speed)| speed).fold(f64::MIN_POSITIVE, f64::max);
    let widest = measured.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let mut text = format!("{device}, {} elements, memory moved per second\n", options.elements);
    for (name, time, speed) in &measured {
        let bar = "█".repeat((speed / fastest * WIDTH as f64).round() as usize);
        let micros = time.as_secs_f64() * 1e6;
        text += &format!("{name:widest$}  {speed:8.2} GB/s  {micros:10.1} µs  {bar}\n");
    }
    let rows: Vec<_> = measured
        .iter()
        .map(|(name, time, speed)| {
            json!({ "name": name, "seconds": time.as_secs_f64(), "gigabytes_per_second": speed })
        })
        .collect();
    let json =
        json!({ "device": device.to_string(), "elements": options.elements, "results": rows });
    Ok(Answer::new(text, json))
}

fn subjects(device: &Device, elements: usize) -> Result<Vec<Subject>, Error> {
    let ints = Tensor::arange(elements, DType::I32, device)?;
    let bytes = ints.cast(DType::U8)?;
    let floats = ints.cast(DType::F32)?;
    let halves = ints.cast(DType::F16)?;
    let signs = floats.negative()?;
    let subject =
        |name, bytes, run: Box<dyn Fn() -> Result<Tensor, Error>>| Subject { name, bytes, run };
    let (a, b, c, d) = (ints.clone(), bytes, floats.clone(), halves);
    let (e, f, g) = (floats.clone(), floats.clone(), ints);
    Ok(vec![
        subject("i32 >> 3", 8, Box::new(move || a.bitwise_right_shift(3, Shift::Arithmetic))),
        subject("u8 << u8", 3, Box::new(move || b.bitwise_left_shift(&b, Shift::Logical))),
        subject("copysign f32", 12, Box::new(move || c.copysign(&signs))),
        subject("f16 + f16", 6, Box::new(move || &d + &d)),
        subject("f32 * f32 + 1", 8, Box::new(move || (e.expr() * &e + 1).run())),
        subject("sum of f32", 4, Box::new(move || f.sum(..))),
        subject("cast i32 to f64", 12, Box::new(move || g.cast(DType::F64))),
    ])
}

/// Measures the median time of a call.
fn median(budget: Duration, run: &dyn Fn() -> Result<Tensor, Error>) -> Result<Duration, Error> {
    // A warm-up call, which allocates memory.
    run()?;
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < budget || times.len() < 3 {
        let before = Instant::now();
        let result = run()?;
        times.push(before.elapsed());
        drop(result);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}
