// Splits a computation into shards and distributes them over all GPUs, or runs them all on the one device there is.
//
// Run with `cargo run --release --example 05_several_devices --features cuda`.

use bitlane::{DType, Device, Result, Tensor};

fn main() -> Result<()> {
    let mut devices = (0..Device::cuda_count()).map(Device::cuda).collect::<Result<Vec<_>>>()?;
    if devices.is_empty() {
        devices.push(Device::best()?);
    }
    let names: Vec<_> = devices.iter().map(Device::to_string).collect();
    println!("shards on {}", names.join(", "));

    let whole = Tensor::arange(1 << 20, DType::U32, &devices[0])?;
    let shards = 4;
    let len = whole.len() / shards;
    // CUDA operations are queued, so every device has work before the first result is waited for.
    let sums = (0..shards)
        .map(|shard| {
            let device = &devices[shard % devices.len()];
            let part = whole.narrow(0, shard * len, len)?.to_device(device)?;
            ((part.expr() >> 3) & 0xff).sum(..).run()
        })
        .collect::<Result<Vec<_>>>()?;
    let mut total = 0;
    for sum in sums {
        total += sum.to_vec::<u64>()?[0];
    }
    assert_eq!(total, (0..1u64 << 20).map(|x| (x >> 3) & 0xff).sum::<u64>());
    println!("the sum of all shards is {total}");
    Ok(())
}
