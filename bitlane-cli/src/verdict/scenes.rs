//! What only shows when several things happen at once, or something runs out.

use std::thread;

use bitlane::cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use bitlane::cuda::{self, Graph};
use bitlane::{DType, Device, ErrorKind, Tensor, introspect};
use serde_json::{Value, json};

use super::process::tell;
use crate::failure::Failure;

/// The number of elements of the tensors: several full blocks and a rest.
const LEN: usize = 100_003;

type Scene = fn(&Device) -> Result<String, Failure>;

const SCENES: [(&str, Scene); 7] = [
    ("streams", streams),
    ("graph", graph),
    ("a foreign capture", foreign_capture),
    ("eight threads", threads),
    ("out of memory", memory),
    ("other devices", peers),
    ("2^31 elements", large),
];

/// Plays the scenes from one of them on, and tells what was seen in each or what went wrong. Leaves after a failure, which
/// may be a fault of the driver.
pub fn tell_scenes(device: &Device, from: usize) -> Result<(), Failure> {
    tell("steps", SCENES.len().into())?;
    for (name, scene) in SCENES.iter().skip(from) {
        tell("begin", (*name).into())?;
        match scene(device) {
            Ok(words) => tell("done", json!({ "ok": words }))?,
            Err(failure) => return Ok(tell("done", json!({ "failed": failure.to_string() }))?),
        }
    }
    Ok(tell("end", Value::Bool(true))?)
}

fn expect(tensor: &Tensor, value: i32) -> Result<(), Failure> {
    let wrong = tensor.to_vec::<i32>()?.iter().filter(|&&found| found != value).count();
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} elements are not {value}").into()) }
}

fn streams(device: &Device) -> Result<String, Failure> {
    let mut x = Tensor::ones([LEN], DType::I32, device)?;
    for round in 1..=20 {
        let other = device.with_new_stream()?;
        let y = (&x.to_device(&other)? + 1)?;
        x.maximum_assign(&y)?;
        expect(&y, round + 1)?;
    }
    expect(&x, 21)?;
    Ok("20 streams take turns".into())
}

fn graph(device: &Device) -> Result<String, Failure> {
    let x = Tensor::ones([LEN], DType::I32, device)?;
    let mut total = Tensor::zeros([LEN], DType::I32, device)?;
    let (graph, sum) = Graph::capture(device, || {
        total.add_assign((x.expr() * 2 + 1).run()?)?;
        total.sum(..)
    })?;
    for _ in 0..3 {
        graph.launch()?;
    }
    expect(&total, 9)?;
    match sum.to_vec::<i64>()?[..] {
        [sum] if sum == 9 * LEN as i64 => Ok("captured, and launched three times".into()),
        ref other => Err(format!("the sum is {other:?}").into()),
    }
}

/// A capture that was begun by other means than this crate's.
fn foreign_capture(device: &Device) -> Result<String, Failure> {
    let own = device.with_new_stream()?;
    let stream = cuda::stream(&own).ok_or("the device has no stream")?;
    let mut x = Tensor::zeros([LEN], DType::I32, &own)?;
    let work = |x: &mut Tensor| {
        let y = (x.expr() * 2 + 1).run()?;
        x.copy_from(&y)?;
        x.add_assign(1)
    };
    // Kernels have to be loaded before the capture.
    work(&mut x)?;
    x.fill(0)?;
    own.synchronize()?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let captured = work(&mut x);
    let graph = stream
        .end_capture(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    captured?;
    let graph = graph?.ok_or("the capture has recorded nothing")?;
    for _ in 0..3 {
        graph.launch()?;
    }
    expect(&x, 14)?;
    Ok("captured by cudarc, and launched three times".into())
}

fn threads(device: &Device) -> Result<String, Failure> {
    let work = |number: i32| -> Result<(), String> {
        let run = || -> Result<(), Failure> {
            let own = device.with_new_stream()?;
            let mut x = Tensor::full([LEN], number, DType::I32, &own)?;
            for _ in 0..50 {
                x.add_assign(1)?;
            }
            expect(&x, number + 50)
        };
        run().map_err(|error| error.to_string())
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..8).map(|number| scope.spawn(move || work(number))).collect();
        running.into_iter().try_for_each(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(_) => Err("a thread has panicked".to_owned()),
        })
    })?;
    Ok("each with its own stream".into())
}

fn memory(device: &Device) -> Result<String, Failure> {
    let context = cuda::context(device).ok_or("the device has no context")?;
    let total = context.total_mem()?;
    // Freed memory of another size is in the way of the second one.
    let half = total / 2;
    for bytes in [half / 2, half] {
        match Tensor::zeros([bytes], DType::U8, device) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::OutOfMemory => {}
            Err(error) => return Err(error.into()),
        }
    }
    match Tensor::zeros([2 * total], DType::U8, device) {
        Err(error) if error.kind() == ErrorKind::OutOfMemory => {}
        Err(error) => return Err(error.into()),
        Ok(_) => return Err("twice the device's memory was allocated".into()),
    }
    cuda::trim_pool(device)?;
    expect(&(&Tensor::ones([LEN], DType::I32, device)? + 1)?, 2)?;
    Ok("is an error, after which work goes on".into())
}

fn peers(device: &Device) -> Result<String, Failure> {
    let x = Tensor::ones([LEN], DType::I32, device)?;
    let mut reached = 0;
    for ordinal in 0..Device::cuda_count() {
        let Ok(other) = Device::cuda(ordinal) else { continue };
        if other != *device {
            let there = (&x.to_device(&other)? + 1)?;
            expect(&(&there.to_device(device)? + 1)?, 3)?;
            reached += 1;
        }
    }
    Ok(if reached == 0 { "there is none".into() } else { format!("{reached} reached, and back") })
}

fn large(device: &Device) -> Result<String, Failure> {
    const COUNT: usize = (1 << 31) + 17;
    if introspect::is_virtual() {
        return Ok("not tried on a virtual device".into());
    }
    let context = cuda::context(device).ok_or("the device has no context")?;
    let (free, _) = context.mem_get_info()?;
    if free < 5 * COUNT / 2 {
        return Ok("not tried, the device has too little free memory".into());
    }
    let x = Tensor::full([COUNT], 3, DType::U8, device)?;
    let ends = |y: &Tensor, value: u8| -> Result<(), Failure> {
        for first in [0, COUNT - 5] {
            if y.narrow(0, first, 5)?.to_vec::<u8>()? != [value; 5] {
                return Err("the elements at the ends are wrong".into());
            }
        }
        Ok(())
    };
    // By a hand-written kernel, by one that counts strides, and by a generated one.
    ends(&(&x + &x)?, 6)?;
    ends(&(&x.flip(0)? + &x)?, 6)?;
    ends(&(x.expr() * 2 + 1).run()?, 7)?;
    match x.sum(..)?.to_vec::<u64>()?[..] {
        [sum] if sum == 3 * COUNT as u64 => Ok("added, in both directions, and summed".into()),
        ref other => Err(format!("the sum is {other:?}").into()),
    }
}
