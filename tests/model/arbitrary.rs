//! Proptest strategies for shapes, views and operands.

use bitlane::DType;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

use super::view::View;

/// Configures the same cases on every run and machine, unless `PROPTEST_RNG_SEED` is set. With CUDA, where almost every
/// case needs a kernel compiled, only a quarter of them is run, and at most `PROPTEST_CASES`.
pub fn config(cases: u32) -> Config {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let most = number("PROPTEST_CASES").map_or(u32::MAX, |most| most as u32);
    let cases = if cfg!(feature = "cuda") { (cases / 4).min(most) } else { cases };
    let seed: Option<u64> = number("PROPTEST_RNG_SEED");
    Config {
        cases,
        rng_seed: RngSeed::Fixed(seed.unwrap_or(0x6269_746c_616e_6521)),
        failure_persistence: None,
        max_global_rejects: 100_000,
        ..Config::default()
    }
}

/// Generates shapes of every rank, of at most a few hundred elements.
pub fn shapes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![1 => Just(0usize), 6 => Just(1), 12 => 2..=4usize, 2 => 5..=40usize];
    prop::collection::vec(size, 0..=8).prop_map(|mut shape| {
        let mut len = 1;
        for size in &mut shape {
            if len * *size > 400 {
                *size = 1;
            }
            len *= (*size).max(1);
        }
        shape
    })
}

/// How the elements of a view are arranged in the storage.
#[derive(Clone, Debug)]
pub enum Arrangement {
    /// Contiguous, from an offset on.
    Dense { offset: usize },
    /// Without overlap, in any order of the axes, in either direction, with gaps.
    Apart { order: Vec<u8>, gaps: Vec<usize>, backwards: Vec<bool>, offset: usize },
    /// With any strides, including 0, so that elements may overlap.
    Anyhow { strides: Vec<isize>, offset: usize },
}

pub fn apart() -> impl Strategy<Value = Arrangement> {
    let order = prop::collection::vec(any::<u8>(), 8);
    let gaps = prop::collection::vec(prop_oneof![3 => Just(1usize), 1 => 2..=3usize], 8);
    let backwards = prop::collection::vec(prop::bool::weighted(0.3), 8);
    prop_oneof![
        1 => (0..5usize).prop_map(|offset| Arrangement::Dense { offset }),
        2 => (order, gaps, backwards, 0..5usize).prop_map(|(order, gaps, backwards, offset)| {
            Arrangement::Apart { order, gaps, backwards, offset }
        }),
    ]
}

pub fn arrangements() -> impl Strategy<Value = Arrangement> {
    let strides = prop::collection::vec(-7..=7isize, 8);
    prop_oneof![
        3 => apart(),
        2 => (strides, 0..5usize)
            .prop_map(|(strides, offset)| Arrangement::Anyhow { strides, offset }),
    ]
}

impl Arrangement {
    /// Returns a view of this shape and arrangement, with an offset large enough that no element is before the storage.
    pub fn of(&self, shape: &[usize]) -> View {
        let (strides, offset) = match self {
            Arrangement::Dense { offset } => (View::row_major(shape).strides, *offset),
            Arrangement::Anyhow { strides, offset } => (strides[..shape.len()].to_vec(), *offset),
            Arrangement::Apart { order, gaps, backwards, offset } => {
                let mut axes: Vec<_> = (0..shape.len()).collect();
                axes.sort_by_key(|&axis| order[axis]);
                let mut strides = vec![0; shape.len()];
                let mut stride = 1;
                for axis in axes {
                    stride *= gaps[axis] as isize;
                    strides[axis] = if backwards[axis] { -stride } else { stride };
                    stride *= shape[axis].max(1) as isize;
                }
                (strides, *offset)
            }
        };
        let below: isize = shape
            .iter()
            .zip(&strides)
            .map(|(&size, &stride)| (size as isize - 1).max(0) * stride.min(0))
            .sum();
        let offset = if shape.contains(&0) { offset } else { offset + below.unsigned_abs() };
        View { shape: shape.to_vec(), strides, offset }
    }
}

/// Returns the shape of an operand that broadcasts to a shape, with leading dimensions dropped and others of size 1.
pub fn shrunk(shape: &[usize], dropped: usize, ones: u8) -> Vec<usize> {
    let rest = &shape[dropped.min(shape.len())..];
    let one = |axis: usize| ones >> axis & 1 == 1;
    rest.iter().enumerate().map(|(axis, &size)| if one(axis) { 1 } else { size }).collect()
}

pub fn dtypes() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL)
}
