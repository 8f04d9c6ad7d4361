//! A CUDA program like any other: it compiles its kernel with NVRTC and runs it through cudarc. Nothing in it knows
//! which driver it gets; started in the environment of `cargo xtask cuda-env`, it gets the virtual one.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::compile_ptx;

const SOURCE: &str = r#"
extern "C" __global__ void add_up(const int *numbers, int *sum, int n) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) atomicAdd(sum, numbers[k]);
}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let kernel = context.load_module(compile_ptx(SOURCE)?)?.load_function("add_up")?;
    let numbers: Vec<i32> = (1..=100).collect();
    let numbers = stream.clone_htod(&numbers)?;
    let mut sum = stream.alloc_zeros::<i32>(1)?;
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&numbers).arg(&mut sum).arg(&100i32);
    // SAFETY: the arguments are those of the kernel.
    unsafe { launch.launch(LaunchConfig::for_num_elems(100)) }?;
    println!("the numbers up to 100 add up to {}", stream.clone_dtoh(&sum)?[0]);
    Ok(())
}
