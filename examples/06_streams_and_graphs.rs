// Runs operations on a cudarc stream, and captures them into a CUDA graph that is launched several times.
//
// Run with `cargo run --release --example 06_streams_and_graphs --features cuda`.

use std::error::Error;

use bitlane::cuda::{self, cudarc::driver::sys};
use bitlane::{BinaryOp, DType, Device, Shift, Tensor, binary};

fn main() -> Result<(), Box<dyn Error>> {
    if Device::cuda_count() == 0 {
        println!(
            "there is no CUDA device: {}",
            Device::cuda(0).err().map_or(String::new(), |e| e.to_string())
        );
        return Ok(());
    }
    let context = cuda::cudarc::driver::CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let device = cuda::device_on(&stream)?;
    let x = Tensor::arange(1024, DType::U32, &device)?;
    let mut out = Tensor::zeros([1024], DType::U32, &device)?;
    let shift = BinaryOp::LeftShift(Shift::Arithmetic);
    binary(shift, &x, 1).out(&mut out).run()?; // compiles the kernel before the capture
    stream.synchronize()?;

    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let source = out.clone();
    for _ in 0..4 {
        binary(shift, &source, 1).out(&mut out).run()?;
    }
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flags)?.ok_or("nothing was captured")?;
    for _ in 0..3 {
        graph.launch()?;
    }
    stream.synchronize()?;
    // One shift before the capture, then four in each of three launches.
    assert_eq!(out.to_vec::<u32>()?[1], 1 << 13);
    println!("{device}: three launches of a graph of four shifts");
    Ok(())
}
