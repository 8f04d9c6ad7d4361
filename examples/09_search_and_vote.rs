// Whole jobs on bits: a search for the nearest signatures, a histogram, Gray decoding by a scan, and an optimiser whose
// workers send one bit per gradient. The expected numbers are NumPy's, with which a test compares what is printed.
//
// Run with `cargo run --release --example 09_search_and_vote`.

use bitlane::{DType, Device, Packing, Result, Tensor};

/// Returns scattered bits: hashes of the numbers from `start` on.
fn scattered(start: u64, len: usize, device: &Device) -> Result<Tensor> {
    let counter = Tensor::arange(len, DType::U64, device)?;
    let h = (counter.expr() + start) * 0x9e37_79b9_7f4a_7c15u64;
    let h = (&h ^ (&h >> 29)) * 0xbf58_476d_1ce4_e5b9u64;
    (&h ^ (&h >> 32)).run()
}

/// Returns the places of the nearest signatures and their distances, the nearest first, and the first of equally near ones.
fn nearest(signatures: &Tensor, query: &Tensor, count: usize) -> Result<Vec<(u64, u64)>> {
    let len = signatures.shape()[0];
    // The distance is the number of bits that differ. With the place as its lower digits, no two are equal.
    let places = Tensor::arange(len, DType::U64, query.device())?;
    let distances = (signatures.expr() ^ query).count_ones().sum(-1);
    let keys = (distances * len as u64 + &places).run()?;
    let mut found = Vec::new();
    let mut left = keys.expr();
    for _ in 0..count {
        let key = left.min(..).run()?.item::<u64>()?;
        found.push((key % len as u64, key / len as u64));
        left = keys.expr().greater_than(key).select(&keys, u64::MAX);
    }
    Ok(found)
}

/// Counts how often each of the numbers below `bins` is there. The comparisons with all bins are not stored.
fn histogram(values: &Tensor, bins: usize) -> Result<Tensor> {
    let bins = Tensor::arange(bins, values.dtype(), values.device())?;
    values.expr().unsqueeze(-1).equal(&bins).count_nonzero(0).run()
}

/// Decodes the Gray code of each byte: a bit is the exclusive or of all bits from the highest to its own.
fn decoded(codes: &Tensor) -> Result<Tensor> {
    let bits = codes.unsqueeze(-1)?.unpack(&Packing::numpy_bits(), -1)?;
    bits.cumulative_xor(-1)?.pack(&Packing::numpy_bits(), -1)?.squeeze(-1)
}

/// A step of sign-SGD: of every gradient a worker sends the sign, eight to a byte, and the majority decides.
fn step(weights: &Tensor, gradients: &Tensor, rate: f64) -> Result<Tensor> {
    let workers = gradients.shape()[0];
    let sent = gradients.signbit()?.cast(DType::U8)?.pack(&Packing::numpy_bits(), -1)?;
    assert_eq!(sent.shape(), [workers, gradients.shape()[1] / 8]);
    let signs = sent.unpack(&Packing::numpy_bits(), -1)?;
    let is_negative = signs.expr().sum(0).greater_than(workers as u64 / 2);
    (weights.expr() - is_negative.select(-rate, rate).cast(DType::F32)).run()
}

fn main() -> Result<()> {
    let device = Device::best()?;

    let signatures = scattered(1, 4000, &device)?.reshape([1000, 4])?;
    let found = nearest(&signatures, &scattered(5001, 4, &device)?, 10)?;
    println!("nearest signatures and their distances {found:?}");
    let (places, distances): (Vec<u64>, Vec<u64>) = found.into_iter().unzip();
    assert_eq!(places, [135, 727, 339, 849, 23, 313, 323, 833, 117, 441]);
    assert_eq!(distances, [101, 104, 106, 106, 109, 109, 109, 109, 110, 110]);

    let values = (scattered(1, 4096, &device)?.expr() >> 60).cast(DType::U8).run()?;
    let counts = histogram(&values, 16)?.to_vec::<i64>()?;
    println!("histogram {counts:?}");
    let expected = [255, 242, 258, 289, 267, 247, 254, 238, 251, 243, 247, 265, 256, 215, 280, 289];
    assert_eq!(counts, expected);

    let codes = (scattered(1, 8, &device)?.expr() >> 56).cast(DType::U8).run()?;
    let numbers = decoded(&codes)?.to_vec::<u8>()?;
    println!("decoded {numbers:?}");
    assert_eq!(codes.to_vec::<u8>()?, [202, 108, 234, 151, 255, 123, 99, 238]);
    assert_eq!(numbers, [140, 72, 179, 229, 170, 82, 66, 180]);

    let gradients = scattered(1, 80, &device)?.into_expr().reshape([5, 16]) >> 40;
    let gradients = (gradients.cast(DType::F32) - 8_388_608.0).run()?;
    let weights = (Tensor::arange(16, DType::F32, &device)?.expr() / 8.0).run()?;
    let weights = step(&weights, &gradients, 0.1)?;
    println!("weights {weights:.9}");
    let bits = [
        0xbdcc_cccdu32,
        0x3e66_6666,
        0x3e19_999a,
        0x3e8c_cccd,
        0x3ecc_cccd,
        0x3f06_6666,
        0x3f59_999a,
        0x3f79_999a,
        0x3f8c_cccd,
        0x3f83_3333,
        0x3fac_cccd,
        0x3fa3_3333,
        0x3fb3_3333,
        0x3fc3_3333,
        0x3fec_cccd,
        0x3fe3_3333,
    ];
    assert_eq!(weights.bitcast(DType::U32)?.to_vec::<u32>()?, bits);
    Ok(())
}
