//! Test data that is the same on both sides, and the comparison of results.

use bitlane::{DType, Device, Tensor};

use crate::model::element::{Bits, Nan, from_bytes, same, upload, wrapped};
use crate::model::random::Random;
use crate::model::view::View;

/// The same tensor on the CPU and on the device under test.
#[derive(Clone)]
pub struct Pair(pub [Tensor; 2]);

impl Pair {
    pub fn new(dtype: DType, elements: &[Bits], devices: &[Device; 2]) -> Pair {
        Pair(devices.each_ref().map(|device| upload(dtype, elements, &[elements.len()], device)))
    }
}

/// The elements of one dtype that operands are views of.
pub struct Data {
    pub dtype: DType,
    pub lhs: Pair,
    pub rhs: Pair,
    /// The elements of `lhs`, for destinations that start as a copy of it.
    pub elements: Vec<Bits>,
}

/// Returns the number of elements of a dtype in a vector of 16 bytes.
pub fn lanes(dtype: DType) -> usize {
    16 / dtype.size()
}

impl Data {
    pub fn new(dtype: DType, devices: &[Device; 2]) -> Data {
        // Enough for the widest matrix of the column kernels.
        let len = 4200 * lanes(dtype) + 64;
        let mut random = Random::new(dtype as u64);
        let lhs = random.elements(dtype, len);
        let any = random.elements(dtype, len);
        let rhs: Vec<_> = (lhs.iter().zip(&any).enumerate())
            .map(|(at, (&x, &y))| match at % 4 {
                // Equal elements, for comparisons, and small numbers, for shifts.
                0 => x,
                1 if dtype.is_int() => wrapped(dtype, random.below(70) as i128 - 2),
                _ => y,
            })
            .collect();
        let [left, right] = [&lhs, &rhs].map(|run| Pair::new(dtype, run, devices));
        Data { dtype, lhs: left, rhs: right, elements: lhs }
    }
}

/// Returns a row-major view at an offset.
pub fn dense(shape: &[usize], offset: usize) -> View {
    View { offset, ..View::row_major(shape) }
}

/// Returns a view with any strides, at the smallest offset that keeps it inside the storage.
pub fn strided(shape: &[usize], strides: &[isize]) -> View {
    let below = |(&size, &stride): (&usize, &isize)| (size as isize - 1) * stride.min(0);
    let below: isize = shape.iter().zip(strides).map(below).sum();
    View { shape: shape.to_vec(), strides: strides.to_vec(), offset: below.unsigned_abs() }
}

/// Returns a column-major view: the first axis has stride 1.
pub fn turned(shape: &[usize]) -> View {
    let reversed: Vec<_> = shape.iter().rev().copied().collect();
    let strides = View::row_major(&reversed).strides.into_iter().rev().collect();
    View { shape: shape.to_vec(), strides, offset: 0 }
}

/// Describes where two tensors differ by more than the specification allows, or returns `None`.
pub fn difference(cpu: &Tensor, cuda: &Tensor, nan: Nan) -> Option<String> {
    if (cpu.dtype(), cpu.shape()) != (cuda.dtype(), cuda.shape()) {
        let of = |tensor: &Tensor| format!("{} {:?}", tensor.dtype(), tensor.shape());
        return Some(format!("{} on the CPU, {} on CUDA", of(cpu), of(cuda)));
    }
    let (expected, given) = match (cpu.to_bytes(), cuda.to_bytes()) {
        (Ok(expected), Ok(given)) => (expected, given),
        (expected, given) => return Some(format!("{:?}, {:?}", expected.err(), given.err())),
    };
    if expected == given {
        return None;
    }
    let dtype = cpu.dtype();
    let (expected, given) = (from_bytes(dtype, &expected), from_bytes(dtype, &given));
    let at = (0..expected.len()).find(|&at| !same(dtype, expected[at], given[at], nan))?;
    Some(format!("element {at} is {:#x}, on the CPU {:#x}", given[at], expected[at]))
}
