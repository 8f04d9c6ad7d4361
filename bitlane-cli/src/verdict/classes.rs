//! Cases of the classes of generated kernels that operations of contiguous operands do not reach.

use bitlane::loss::{self, Reduction};
use bitlane::{BinaryOp, DType, Device, Error, Packing, Slice, Tensor};

use super::cases::{BLOCK, Case, Computation, SIZES, sample, sized};

/// The words by which the names of cases of each class are known.
#[cfg(test)]
pub const NAMES: [&str; 12] = [
    "tiles",
    "strided destination",
    "unaligned destination",
    "look-ups",
    "compress",
    "clip",
    "fma",
    "losses",
    "pack",
    "bitcast",
    "masked fill",
    "cumulative",
];

/// Adds the cases of a dtype. Those of one dtype of each class are in every sample.
pub fn add(dtype: DType, cases: &mut Vec<Case>) {
    let mut add = |name: &str, chosen: DType, run: Computation| {
        cases.push(Case::new(format!("{name} {dtype}"), dtype == chosen, run));
    };
    add(
        "masked fill",
        DType::F32,
        Box::new(move |device| {
            sized(SIZES, |len| {
                let mut x = sample(dtype, 5, &[len], device)?;
                x.masked_fill(&sample(DType::Bool, 6, &[len], device)?, 1)?;
                Ok(x)
            })
        }),
    );
    add("tiles", DType::F32, Box::new(move |device| tiles(dtype, device)));
    add(
        "strided destination",
        DType::F32,
        Box::new(move |device| {
            into_view(dtype, device, |base| base.slice(0, Slice::new(None, None, 2)))
        }),
    );
    add(
        "unaligned destination",
        DType::F32,
        Box::new(move |device| into_view(dtype, device, |base| base.narrow(0, 1, base.len() - 1))),
    );
    add("look-ups", DType::F32, Box::new(move |device| take(dtype, device)));
    add(
        "compress",
        DType::F32,
        Box::new(move |device| {
            let x = sample(dtype, 5, &[BLOCK + 1], device)?;
            let mut results = x.nonzero()?;
            results.push(x.compress(&sample(DType::Bool, 6, &[BLOCK + 1], device)?)?);
            Ok(results)
        }),
    );
    if dtype != DType::Bool {
        add("bitcast", DType::F32, Box::new(move |device| bitcast(dtype, device)));
    }
    if !dtype.is_complex() {
        add(
            "clip",
            DType::F32,
            Box::new(move |device| {
                sized(SIZES, |len| {
                    let low = sample(dtype, 6, &[len], device)?;
                    sample(dtype, 5, &[len], device)?.clip(&low, 100)
                })
            }),
        );
    }
    if dtype.is_float() {
        add(
            "fma",
            DType::F32,
            Box::new(move |device| {
                sized(SIZES, |len| {
                    let [x, y, z] = [5, 6, 7].map(|seed| sample(dtype, seed, &[len], device));
                    x?.fma(&y?, &z?)
                })
            }),
        );
        add("losses", DType::F32, Box::new(move |device| losses(dtype, device)));
    }
    if [DType::U8, DType::U16, DType::U32, DType::U64].contains(&dtype) {
        add("pack", DType::U32, Box::new(move |device| pack(dtype, device)));
    }
}

/// Operands that are contiguous along another axis than the destination.
fn tiles(dtype: DType, device: &Device) -> Result<Vec<Tensor>, Error> {
    let mut results = Vec::new();
    for shape in [[16, 16], [130, 97], [33, 515]] {
        let x = sample(dtype, 1, &shape, device)?.transpose(0, 1)?;
        let y = sample(dtype, 2, &[shape[1], shape[0]], device)?;
        results.push(x.contiguous()?);
        results.push(bitlane::binary(BinaryOp::Equal, &x, &y).run()?);
        results.push(x.expr().equal(&y).logical_not().run()?);
    }
    let x = sample(dtype, 1, &[40, 3, 50], device)?;
    results.push(x.permute([2, 1, 0])?.contiguous()?);
    Ok(results)
}

/// Computes into a view of a tensor: by a hand-written kernel, if it can, and by a generated one.
fn into_view(
    dtype: DType,
    device: &Device,
    view: impl Fn(&Tensor) -> Result<Tensor, Error>,
) -> Result<Vec<Tensor>, Error> {
    let mut results = Vec::new();
    for len in [2, BLOCK, 3 * BLOCK + 5] {
        let base = sample(dtype, 8, &[len], device)?;
        let mut out = view(&base)?;
        let [x, y] = [1, 2].map(|seed| sample(dtype, seed, out.shape(), device));
        let (x, y) = (x?, y?);
        bitlane::binary(BinaryOp::Equal, &x, &y).out(&mut out).run()?;
        results.push(base.copy()?);
        out.copy_from(&sample(DType::I8, 3, out.shape(), device)?.cast(DType::Bool)?)?;
        results.push(base.copy()?);
        out.fill(1)?;
        results.push(base);
    }
    Ok(results)
}

/// Look-ups by index along each axis.
fn take(dtype: DType, device: &Device) -> Result<Vec<Tensor>, Error> {
    let x = sample(dtype, 1, &[67, 300], device)?;
    let indices: Vec<i64> = (0..1000).map(|k| k * 7919 % 134 - 67).collect();
    let indices = Tensor::from_slice(&indices, [10, 100], device)?;
    let wild = indices.cast(DType::I32)?.multiply(5)?;
    Ok(vec![
        x.take(&indices, 0)?,
        x.take(&indices, 1)?,
        x.take_clamped(&wild, 0)?,
        x.take_along_axis(&indices.narrow(1, 0, 1)?.broadcast_to([10, 300])?, 0)?,
    ])
}

/// The bits as those of the unsigned integers of their size, and as bytes.
fn bitcast(dtype: DType, device: &Device) -> Result<Vec<Tensor>, Error> {
    let x = sample(dtype, 1, &[BLOCK + 1], device)?;
    let bits = match dtype.size() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    };
    let count = x.bitcast(bits)?.len();
    Ok(vec![
        x.expr().bitcast(bits).count_ones().run()?,
        x.bitcast(DType::U8)?.bitwise_xor(1)?,
        sample(bits, 2, &[count], device)?.expr().bitcast(dtype).isnan().run()?,
    ])
}

fn losses(dtype: DType, device: &Device) -> Result<Vec<Tensor>, Error> {
    let [x, y] = [1, 2].map(|seed| sample(dtype, seed, &[3 * BLOCK + 5], device));
    let (x, y) = (x?, y?);
    let mut results = Vec::new();
    for reduction in [Reduction::None, Reduction::Sum, Reduction::Mean] {
        results.push(loss::l1(&x, &y, reduction)?);
        results.push(loss::mse(&x, &y, reduction)?);
        results.push(loss::huber(&x, &y, 2.0, reduction)?);
        results.push(loss::smooth_l1(&x, &y, 0.5, reduction)?);
    }
    Ok(results)
}

/// Values of every number of bits in words of this dtype, packed, unpacked, and packed from the other end.
fn pack(word: DType, device: &Device) -> Result<Vec<Tensor>, Error> {
    let values = sample(DType::U8, 1, &[7, 4800], device)?;
    let mut results = Vec::new();
    for bits in 1..=8 {
        let packing = Packing::new(bits, word);
        let words = values.pack(&packing, -1)?;
        results.push(words.unpack(&packing, -1)?);
        results.push(words.unpack(&packing.clone().signed(), -1)?);
        // Values that cross words lie in one order only.
        if (word.size() * 8).is_multiple_of(bits) {
            results.push(words.repack(&packing, &packing.clone().big_endian_fields(), -1)?);
        }
        results.push(words);
    }
    Ok(results)
}
