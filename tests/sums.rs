//! Sums, means and extremes, compared with the plain definition of their order for every dtype, layout and device.

mod devices;
#[path = "sums/extremes.rs"]
mod extremes;
mod model;

use bitlane::{Complex, DType, Device, Element, ErrorKind, Tensor, bf16, f16};
use devices::devices;
use model::element::{Nan, download, from_bytes, same, to_bytes};
use model::random::Random;

/// The definition: the terms are the leaves of a perfect binary tree, and every node is the sum of its children.
/// Missing leaves change nothing.
fn tree<T: Copy>(terms: &[T], add: &impl Fn(T, T) -> T) -> T {
    if let [term] = terms {
        return *term;
    }
    let (left, right) = terms.split_at(terms.len().next_power_of_two() / 2);
    add(tree(left, add), tree(right, add))
}

fn float_sum(terms: &[f64], is_mean: bool) -> f64 {
    match (terms.is_empty(), is_mean) {
        (true, false) => 0.0,
        (true, true) => f64::NAN,
        (false, false) => tree(terms, &|x, y| x + y),
        (false, true) => tree(terms, &|x, y| x + y) / terms.len() as f64,
    }
}

/// Conversion of an element to the number that is summed, and of the sum to an element of the result.
trait Term: Element {
    type Wide: Copy;
    type Result: Element;
    fn widen(self) -> Self::Wide;
    fn sum(terms: &[Self::Wide], is_mean: bool) -> Self::Result;
}

macro_rules! integer_terms {
    ($($term:ty => $result:ty;)*) => {$(
        impl Term for $term {
            type Wide = $result;
            type Result = $result;

            fn widen(self) -> $result {
                self.into()
            }

            fn sum(terms: &[$result], _: bool) -> $result {
                terms.iter().fold(0, |sum, &term| sum.wrapping_add(term))
            }
        }
    )*};
}

integer_terms! {
    bool => i64; i8 => i64; i16 => i64; i32 => i64; i64 => i64;
    u8 => u64; u16 => u64; u32 => u64; u64 => u64;
}

macro_rules! float_terms {
    ($($term:ty: $round:expr;)*) => {$(
        impl Term for $term {
            type Wide = f64;
            type Result = $term;

            fn widen(self) -> f64 {
                self.into()
            }

            fn sum(terms: &[f64], is_mean: bool) -> $term {
                $round(float_sum(terms, is_mean))
            }
        }
    )*};
}

float_terms! { f16: f16::from_f64; bf16: bf16::from_f64; f32: |sum| sum as f32; f64: |sum| sum; }

macro_rules! complex_terms {
    ($($part:ty)*) => {$(
        impl Term for Complex<$part> {
            type Wide = [f64; 2];
            type Result = Complex<$part>;

            fn widen(self) -> [f64; 2] {
                [self.re.into(), self.im.into()]
            }

            fn sum(terms: &[[f64; 2]], is_mean: bool) -> Complex<$part> {
                let part = |part: usize| {
                    let terms: Vec<_> = terms.iter().map(|term| term[part]).collect();
                    float_sum(&terms, is_mean) as $part
                };
                Complex::new(part(0), part(1))
            }
        }
    )*};
}

complex_terms! { f32 f64 }

/// Sums a tensor over axes by the definition.
fn expected<T: Term>(x: &Tensor, axes: &[usize], is_mean: bool) -> Vec<T::Result> {
    let rank = x.rank();
    let is_summed = |axis: &usize| axes.is_empty() || axes.contains(axis);
    let (summed, kept): (Vec<usize>, Vec<usize>) = (0..rank).partition(is_summed);
    let order: Vec<usize> = kept.iter().chain(&summed).copied().collect();
    let terms = x.permute(&order).unwrap().to_vec::<T>().unwrap();
    let outputs: usize = kept.iter().map(|&axis| x.shape()[axis]).product();
    let count: usize = summed.iter().map(|&axis| x.shape()[axis]).product();
    (0..outputs)
        .map(|output| {
            let terms = &terms[output * count..(output + 1) * count];
            let terms: Vec<_> = terms.iter().map(|term| term.widen()).collect();
            T::sum(&terms, is_mean)
        })
        .collect()
}

#[track_caller]
fn check<T: Term>(x: &Tensor, axes: &[usize]) {
    let means =
        if T::DTYPE.is_float() || T::DTYPE.is_complex() { &[false, true][..] } else { &[false] };
    for &is_mean in means {
        let given = if is_mean { x.mean(axes) } else { x.sum(axes) }.unwrap();
        let expected = expected::<T>(x, axes, is_mean);
        let dtype = <T::Result as Element>::DTYPE;
        assert_eq!(given.dtype(), dtype);
        let expected = from_bytes(dtype, bytemuck::cast_slice(&expected));
        let given = download(&given);
        assert_eq!(given.len(), expected.len());
        for (index, (&given, &expected)) in given.iter().zip(&expected).enumerate() {
            assert!(
                same(dtype, expected, given, Nan::Any),
                "{} of {} {:?} over {axes:?}, element {index}: {given:#x}, not {expected:#x}",
                if is_mean { "mean" } else { "sum" },
                x.dtype(),
                x.shape(),
            );
        }
    }
}

/// Calls a function with the Rust type of a dtype.
macro_rules! for_dtype {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::Bool => $function::<bool>($($argument),*),
            DType::U8 => $function::<u8>($($argument),*),
            DType::U16 => $function::<u16>($($argument),*),
            DType::U32 => $function::<u32>($($argument),*),
            DType::U64 => $function::<u64>($($argument),*),
            DType::I8 => $function::<i8>($($argument),*),
            DType::I16 => $function::<i16>($($argument),*),
            DType::I32 => $function::<i32>($($argument),*),
            DType::I64 => $function::<i64>($($argument),*),
            DType::F16 => $function::<f16>($($argument),*),
            DType::BF16 => $function::<bf16>($($argument),*),
            DType::F32 => $function::<f32>($($argument),*),
            DType::F64 => $function::<f64>($($argument),*),
            DType::C64 => $function::<Complex<f32>>($($argument),*),
            DType::C128 => $function::<Complex<f64>>($($argument),*),
        }
    };
}

fn random_tensor(seed: u64, dtype: DType, shape: &[usize], device: &Device) -> Tensor {
    let len = shape.iter().product();
    let mut random = Random::new(seed);
    let elements = random.elements(dtype, len);
    // With infinities and NaN most sums would be NaN; finite numbers of all sizes show the order.
    let elements: Vec<_> = elements
        .into_iter()
        .map(|bits| match dtype {
            DType::F16 => bits & !0x4000,
            DType::BF16 => bits & !0x4000,
            DType::F32 => bits & !(1 << 30),
            DType::F64 => bits & !(1 << 62),
            DType::C64 => bits & !((1 << 30) | (1 << 62)),
            DType::C128 => bits & !((1 << 62) | (1 << 126)),
            _ => bits,
        })
        .collect();
    Tensor::from_bytes(dtype, &to_bytes(dtype, &elements), shape, device).unwrap()
}

#[test]
fn every_dtype_over_every_set_of_axes() {
    for device in devices() {
        for &dtype in DType::ALL {
            let x = random_tensor(7, dtype, &[3, 5, 7], &device);
            for set in 0..8usize {
                let axes: Vec<usize> = (0..3).filter(|axis| set >> axis & 1 == 1).collect();
                for_dtype!(dtype, check(&x, &axes));
                // The order in which axes are given does not matter.
                let reversed: Vec<usize> = axes.iter().rev().copied().collect();
                for_dtype!(dtype, check(&x, &reversed));
            }
        }
    }
}

#[test]
fn lengths_around_every_edge() {
    let lengths = [
        1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257,
        511, 513, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 8191, 8193, 20_000, 65_537,
    ];
    for device in devices() {
        for (seed, &len) in lengths.iter().enumerate() {
            for dtype in [DType::F32, DType::F64, DType::F16, DType::I8] {
                let x = random_tensor(seed as u64, dtype, &[len], &device);
                for_dtype!(dtype, check(&x, &[]));
                // The same terms in reverse, and from an unaligned view.
                for_dtype!(dtype, check(&x.flip(0).unwrap(), &[0]));
                if len > 3 {
                    for_dtype!(dtype, check(&x.narrow(0, 1, len - 3).unwrap(), &[0]));
                }
            }
        }
    }
}

#[test]
fn rows_columns_and_permutations_have_the_same_order() {
    for device in devices() {
        for (rows, columns) in
            [(1, 300), (300, 1), (7, 129), (129, 7), (64, 64), (1000, 3), (3, 1000)]
        {
            let x = random_tensor(11, DType::F32, &[rows, columns], &device);
            let transposed =
                x.transpose(0, 1).unwrap().contiguous().unwrap().transpose(0, 1).unwrap();
            for axes in [&[0][..], &[1], &[0, 1]] {
                check::<f32>(&x, axes);
                check::<f32>(&transposed, axes);
                let bits = |x: &Tensor| x.sum(axes).unwrap().to_bytes().unwrap();
                assert_eq!(bits(&x), bits(&transposed));
            }
            let broadcast = x.unsqueeze(1).unwrap().broadcast_to([rows, 4, columns]).unwrap();
            check::<f32>(&broadcast, &[1]);
            check::<f32>(&broadcast, &[0, 1]);
        }
    }
}

#[test]
fn large_sums_are_the_same_however_they_are_shared_out() {
    for device in devices() {
        let is_cpu = device.to_string() == "cpu";
        let len = if is_cpu { (1 << 21) + 12_345 } else { (1 << 17) + 123 };
        let x = random_tensor(13, DType::F32, &[len], &device);
        check::<f32>(&x, &[]);
        let matrix = x.narrow(0, 0, len / 64 * 64).unwrap().reshape([64, len / 64]).unwrap();
        check::<f32>(&matrix, &[0]);
        check::<f32>(&matrix, &[1]);
    }
}

#[test]
fn zeros_keep_their_sign() {
    for device in devices() {
        let negative = Tensor::full([5], -0.0, DType::F32, &device).unwrap();
        let bits = |x: &Tensor| x.sum(&[]).unwrap().to_vec::<f32>().unwrap()[0].to_bits();
        assert_eq!(bits(&negative), (-0.0f32).to_bits());
        let mixed = Tensor::from_slice(&[-0.0f32, 0.0], [2], &device).unwrap();
        assert_eq!(bits(&mixed), 0);
        let nothing = Tensor::zeros([0], DType::F32, &device).unwrap();
        assert_eq!(bits(&nothing), 0);
        assert!(nothing.mean(&[]).unwrap().to_vec::<f32>().unwrap()[0].is_nan());
        let rows = Tensor::zeros([3, 0], DType::I8, &device).unwrap();
        assert_eq!(rows.sum(&[1]).unwrap().to_vec::<i64>().unwrap(), [0, 0, 0]);
        assert_eq!(rows.sum(&[0]).unwrap().shape(), [0]);
        let scalar = Tensor::from_slice(&[-0.0f32], (), &device).unwrap();
        assert_eq!(bits(&scalar), (-0.0f32).to_bits());
    }
}

#[test]
fn a_sum_is_rounded_once() {
    for device in devices() {
        // In f16 the sum would overflow on the way, in f32 the small terms would be lost.
        let x =
            Tensor::from_slice(&[f16::MAX, f16::MAX, f16::MIN, f16::MIN, f16::ONE], [5], &device);
        assert_eq!(x.unwrap().sum(&[]).unwrap().to_vec::<f16>().unwrap(), [f16::ONE]);
        let x = Tensor::from_slice(&[3e7f32, 1.0, 1.0, 1.0, -3e7], [5], &device).unwrap();
        assert_eq!(x.sum(&[]).unwrap().to_vec::<f32>().unwrap(), [3.0]);
    }
}

#[test]
fn wrong_axes_and_dtypes_are_refused() {
    for device in devices() {
        let x = Tensor::zeros([2, 3], DType::I32, &device).unwrap();
        assert_eq!(x.sum(&[2]).unwrap_err().kind(), ErrorKind::OutOfBounds);
        assert_eq!(x.sum(&[1, 1]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(x.mean(&[0]).unwrap_err().kind(), ErrorKind::UnsupportedDType);
        let bools = Tensor::ones([2], DType::Bool, &device).unwrap();
        assert_eq!(bools.mean(&[]).unwrap_err().kind(), ErrorKind::UnsupportedDType);
        assert_eq!(bools.sum(&[]).unwrap().to_vec::<i64>().unwrap(), [2]);
    }
}
