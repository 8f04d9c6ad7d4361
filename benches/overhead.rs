//! What a call costs on the host before any work is done on the device.
//!
//! A CUDA call is compared, in turns, with what a program would do by hand through cudarc: allocate the
//! result, launch a kernel with as many bytes of parameters, free the result. Launches have to be cheap and
//! empty for that, as the virtual driver's are: `cargo xtask overhead` sets it up and runs this.
//!
//! With `--calls N` it makes N calls and measures nothing, for a tool that counts instructions.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bitlane::cuda::cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use bitlane::cuda::cudarc::nvrtc::Ptx;
use bitlane::{BinaryOp, DType, Device, Shift, Tensor, binary, cuda};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

const OP: BinaryOp = BinaryOp::LeftShift(Shift::Arithmetic);
const LEN: usize = 256;
const TURNS: usize = 31;
const CALLS: usize = 2000;

/// As many bytes of parameters as a contiguous kernel takes; what it does is of no matter here.
const KERNEL: &str = ".version 7.5\n.target sm_75\n.address_size 64\n\
    .visible .entry bare(.param .align 8 .b8 parameters[56]) { ret; }\n";

/// The parameters of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy)]
struct Parameters([u64; 7]);

// SAFETY: plain numbers, which is what the kernel takes.
unsafe impl bitlane::cuda::cudarc::driver::DeviceRepr for Parameters {}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let calls =
        arguments.iter().position(|word| word == "--calls").and_then(|at| arguments.get(at + 1));
    if let Ok(path) = std::env::var("BITLANE_VCUDA") {
        // SAFETY: the project's own library, whose initialisers do nothing.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
        library.map(std::mem::forget).expect("BITLANE_VCUDA names the virtual driver");
    }
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(error) => return println!("nothing measured: {error}"),
    };
    match calls.map(|calls| calls.parse().expect("--calls takes a number")) {
        Some(calls) => count(&device, calls),
        None => compare(&device),
    }
}

/// Makes warm calls into a given destination.
fn count(device: &Device, calls: usize) {
    let x = Tensor::zeros([LEN], DType::I32, device).unwrap();
    let mut out = x.bitwise_left_shift(&x, Shift::Arithmetic).unwrap();
    for _ in 0..calls {
        binary(OP, &x, &x).out(&mut out).run().unwrap();
    }
}

fn compare(device: &Device) {
    let x = Tensor::zeros([LEN], DType::I32, device).unwrap();
    let mut out = Tensor::zeros([LEN], DType::I32, device).unwrap();
    let stream = cuda::stream(device).unwrap().clone();
    let module = stream.context().load_module(Ptx::from_src(KERNEL)).unwrap();
    let kernel = module.load_function("bare").unwrap();
    let [ours, ours_out, bare, bare_launch] = medians([
        &mut || drop(black_box(binary(OP, &x, &x).run().unwrap())),
        &mut || drop(black_box(binary(OP, &x, &x).out(&mut out).run().unwrap())),
        &mut || {
            // SAFETY: nobody reads the memory.
            let result = unsafe { stream.alloc::<i32>(LEN) }.unwrap();
            launch(&stream, &kernel);
            drop(black_box(result));
        },
        &mut || launch(&stream, &kernel),
    ]);
    device.synchronize().unwrap();
    let row = |name: &str, ours: Duration, bare: Duration| {
        let (ours, bare) = (ours.as_nanos() as i128, bare.as_nanos() as i128);
        println!("| {name} | {:.2} | {:+} ns |", ours as f64 / bare as f64, ours - bare);
    };
    println!("| a warm call against cudarc alone | ratio | difference |\n|---|---|---|");
    row("a new result: allocation, launch, free", ours, bare);
    row("a given result: launch", ours_out, bare_launch);
}

fn launch(stream: &CudaStream, kernel: &CudaFunction) {
    let parameters = Parameters([0; 7]);
    let grid = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel takes these parameters and touches no memory.
    unsafe { stream.launch_builder(kernel).arg(&parameters).launch(grid) }.unwrap();
}

/// The median time of one call of each function, all of them taking turns.
fn medians<const N: usize>(mut functions: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut turns = [const { Vec::new() }; N];
    for _ in 0..TURNS {
        for (times, function) in turns.iter_mut().zip(&mut functions) {
            let start = Instant::now();
            for _ in 0..CALLS {
                function();
            }
            times.push(start.elapsed() / CALLS as u32);
        }
    }
    turns.map(|mut times| {
        times.sort_unstable();
        times[TURNS / 2]
    })
}
