//! Elements far apart: offsets around and beyond 2^31 and 2^32. The tensors take gigabytes, but only a few of their
//! elements are accessed, and only those are computed by the model.

use bitlane::{BinaryOp, DType, Device, ErrorKind, Tensor, binary, introspect};

use crate::model::element::{Bits, Nan, download, same, upload};
use crate::model::ops::{apply, nan_freedom, result_dtype};
use crate::model::random::Random;
use crate::model::view::View;

/// Returns zeros, or prints a note and returns `None` if the device does not have enough memory.
fn zeros(len: usize, dtype: DType, device: &Device) -> Option<Tensor> {
    match Tensor::zeros([len], dtype, device) {
        Ok(tensor) => Some(tensor),
        Err(error) if error.kind() == ErrorKind::OutOfMemory => {
            super::say(&format!("far elements of {dtype} skipped: {error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn view(shape: &[usize], strides: &[isize], offset: usize) -> View {
    View { shape: shape.to_vec(), strides: strides.to_vec(), offset }
}

/// Stands for any generated kernel with 64-bit indices.
const WIDE: &str = "wide";

/// Panics unless the kernel that was recorded last has the given shape.
fn expect_kernel(shape: &str, op: &str, dtype: DType) {
    let ran = introspect::recorded().pop().unwrap();
    if shape == WIDE {
        let kind = ran.split('_').next().unwrap();
        assert!(kind.ends_with('w') && kind != "row" && kind != "lrow", "{ran}");
    } else {
        assert_eq!(ran, format!("{shape}_{op}_{dtype}"));
    }
}

fn expect(dtype: DType, given: &[Bits], expected: &[Bits], nan: Nan, what: &str) {
    assert_eq!(given.len(), expected.len());
    for (at, (&given, &expected)) in given.iter().zip(expected).enumerate() {
        assert!(same(dtype, expected, given, nan), "{what}: element {at} is {given:#x}");
    }
}

/// Writes to a far view, reads it back, and computes with it as the left and as the right operand.
fn round_trip(base: &Tensor, far: &View, kernel: &str, ops: &[BinaryOp]) {
    let (dtype, device) = (base.dtype(), base.device());
    let len = far.shape.iter().product();
    let mut random = Random::new(far.offset as u64);
    let (x, y) = (random.elements(dtype, len), random.elements(dtype, len));
    let [small_x, small_y] = [&x, &y].map(|run| upload(dtype, run, &far.shape, device));
    let mut place = far.of(base);
    // The destination is far.
    let what = format!("{dtype} {far:?}");
    binary(BinaryOp::BitwiseOr, &small_x, &small_x).out(&mut place).run().unwrap();
    expect(dtype, &download(&place), &x, Nan::Exact, &what);
    for &op in ops {
        let forwards: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| apply(op, dtype, x, y)).collect();
        introspect::record();
        let result = binary(op, &place, &small_y).run().unwrap();
        expect_kernel(kernel, op.name(), dtype);
        expect(result.dtype(), &download(&result), &forwards, nan_freedom(op), &what);
        let mirrored: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| apply(op, dtype, y, x)).collect();
        introspect::record();
        let result = binary(op, &small_y, &place).run().unwrap();
        expect_kernel(kernel, op.name(), dtype);
        expect(result.dtype(), &download(&result), &mirrored, nan_freedom(op), &what);
    }
    // In place, and then reset to zeros for the next call.
    let op = BinaryOp::Add;
    place.add_assign(&small_y).unwrap();
    let sums: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| apply(op, dtype, x, y)).collect();
    assert_eq!(result_dtype(op, dtype), dtype);
    expect(dtype, &download(&place), &sums, Nan::Exact, &what);
    place.bitwise_xor_assign(place.clone()).unwrap();
    assert!(download(&place).iter().all(|&bits| bits == 0), "{what}: not cleared");
}

const OPS: [BinaryOp; 5] = [
    BinaryOp::Subtract,
    BinaryOp::Multiply,
    BinaryOp::LessThan,
    BinaryOp::Maximum,
    BinaryOp::RightShift(bitlane::Shift::Arithmetic),
];

/// Elements of one byte, 5 GiB of them.
pub fn bytes(device: &Device) {
    let Some(base) = zeros(5 << 30, DType::U8, device) else { return };
    let (half, full) = (1isize << 31, 1usize << 32);
    // The largest offset that fits in 31 bits, and the smallest that does not, in both directions.
    round_trip(&base, &view(&[2], &[half - 1], 7), "gath2", &OPS);
    round_trip(&base, &view(&[2], &[half], 7), WIDE, &OPS);
    round_trip(&base, &view(&[2], &[1 - half], full), "gath2", &OPS);
    round_trip(&base, &view(&[2], &[-half], full), WIDE, &OPS);
    // Offsets between 2^31 and 2^32, and beyond 2^32.
    round_trip(&base, &view(&[4], &[half / 2 + 1], 1), WIDE, &OPS);
    round_trip(&base, &view(&[3], &[half + 3], 5), WIDE, &OPS);
    round_trip(&base, &view(&[3, 5], &[half, -1], 9), WIDE, &OPS);
    round_trip(&base, &view(&[2, 2, 33], &[half, half - 777, 7], 0), WIDE, &OPS);
    // Contiguous views that begin beyond 2^32, aligned and not, and rows beyond 2^31.
    round_trip(&base, &view(&[1000], &[1], full + 64), "contig", &OPS);
    round_trip(&base, &view(&[1000], &[1], full + 5), "gath2", &OPS);
    round_trip(&base, &view(&[16], &[1], (5 << 30) - 16), "contig", &OPS);
    round_trip(&base, &view(&[3], &[1], (5 << 30) - 3), "gath2", &OPS);
    round_trip(&base, &view(&[2, 32], &[half - 32, 1], full / 2), "gen2", &OPS);
    masks(&base);
}

/// A mask whose elements are far apart.
fn masks(base: &Tensor) {
    let device = base.device();
    let Some(bools) = zeros((1 << 32) + 10, DType::Bool, device) else { return };
    let mut mask = bools.as_strided(&[3], &[1 << 31], 9).unwrap();
    let truths = Tensor::from_slice(&[true, false, true], [3], device).unwrap();
    binary(BinaryOp::LogicalOr, &truths, false).out(&mut mask).run().unwrap();
    let mut out = Tensor::from_slice(&[1u8, 2, 3], [3], device).unwrap();
    introspect::record();
    binary(BinaryOp::Add, out.clone(), 10).out(&mut out).mask(&mask).run().unwrap();
    expect_kernel(WIDE, "add", DType::U8);
    assert_eq!(out.to_vec::<u8>().unwrap(), [11, 2, 13]);
}

/// Wider elements: offsets that fit in 31 bits in elements, but not in 32 bits in bytes.
pub fn wide_elements(device: &Device) {
    let Some(base) = zeros((1 << 31) + 100, DType::I32, device) else { return };
    let half = 1isize << 31;
    round_trip(&base, &view(&[2], &[half - 1], 3), "gath2", &OPS);
    round_trip(&base, &view(&[2], &[1 - half], half as usize), "gath2", &OPS);
    round_trip(&base, &view(&[2], &[half], 3), WIDE, &OPS);
    round_trip(&base, &view(&[2, 8], &[half - 8, 1], 0), "gen2", &OPS);
    round_trip(&base, &view(&[2, 4], &[half, 1], 0), WIDE, &OPS);
    round_trip(&base, &view(&[1000], &[1], half as usize - 1000), "contig", &OPS);
    drop(base);
    gradient(device);
}

/// The gradient of copysign with far operands.
fn gradient(device: &Device) {
    let Some(base) = zeros((1 << 32) + 10, DType::BF16, device) else { return };
    let far = view(&[3], &[1 << 31], 2);
    let one = |negative: bool| 0x3f80 | Bits::from(negative) << 15;
    let x = [one(true), one(false), one(true)];
    let mut place = far.of(&base);
    let small = upload(DType::BF16, &x, &[3], device);
    introspect::record();
    binary(BinaryOp::Copysign, &small, &small).out(&mut place).run().unwrap();
    expect_kernel(WIDE, "copysign", DType::BF16);
    let g = upload(DType::BF16, &[0x4000, 0x4040, 0x4080], &[3], device);
    let (gx, _) = place.copysign_grad(1.0, &g).unwrap();
    assert_eq!(download(&gx), [0xc000, 0x4040, 0xc080], "x is far");
    let (gx, _) = g.copysign_grad(&place, &place).unwrap();
    // The sign is flipped where y is negative, and the incoming gradient there is −1.
    assert_eq!(download(&gx), [one(false); 3], "y and the gradient are far");
}
