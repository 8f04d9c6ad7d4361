// Bit manipulation: the SplitMix64 hash, and conversion to Gray code and back.
//
// Run with `cargo run --release --example 02_hash_and_gray`.

use bitlane::{DType, Device, Result, Tensor};

/// Hashes every element. A clone refers to the same node, so `h` is computed once although it is used twice.
fn mix(x: &Tensor) -> Result<Tensor> {
    let h = x.expr() + 0x9e37_79b9_7f4a_7c15u64;
    let h = (h.clone() ^ (h >> 30)) * 0xbf58_476d_1ce4_e5b9u64;
    let h = (h.clone() ^ (h >> 27)) * 0x94d0_49bb_1331_11ebu64;
    (h.clone() ^ (h >> 31)).run()
}

fn main() -> Result<()> {
    let device = Device::best()?;
    let counter = Tensor::arange(4, DType::U64, &device)?;
    let hashes = mix(&counter)?.to_vec::<u64>()?;
    println!("SplitMix64 of 0, 1, 2, 3: {hashes:016x?}");
    assert_eq!(hashes[0], 0xe220_a839_7b1d_cdaf);

    let numbers = Tensor::arange(8, DType::U8, &device)?;
    let gray = (numbers.expr() ^ (numbers.expr() >> 1)).run()?;
    println!("Gray code of 0 to 7: {:?}", gray.to_vec::<u8>()?);
    let mut back = gray.expr();
    for shift in [4, 2, 1] {
        back = back.clone() ^ (back >> shift);
    }
    assert_eq!(back.run()?.to_vec::<u8>()?, [0, 1, 2, 3, 4, 5, 6, 7]);
    Ok(())
}
