//! The gradient of copysign (docs/semantics.md, section 4): the sign rule, special values, and the sums over broadcast
//! dimensions, compared with sums in f64.

use crate::devices::devices;
use crate::model::random::Random;
use crate::model::view::View;
use approx::assert_relative_eq;
use bitlane::{Complex, DType, Device, ErrorKind, Tensor, bf16, f16};

fn tensor(elements: &[f32], shape: &[usize], device: &Device) -> Tensor {
    Tensor::from_slice(elements, shape, device).unwrap()
}

#[test]
fn the_sign_is_turned_where_copysign_turned_it() {
    for device in devices() {
        let inf = f32::INFINITY;
        let x = [3.0, -3.0, 3.0, -3.0, 0.0, -0.0, inf, -inf, f32::NAN, f32::from_bits(1)];
        let y = [1.0, -1.0, -0.0, f32::NAN, 1.0, 1.0, -1.0, -inf, -2.0, 0.0];
        let g = [0.5, 0.25, 2.0, 4.0, 8.0, -8.0, 1.0, 3.0, 5.0, -6.0];
        let expected = [0.5f32, 0.25, -2.0, -4.0, 0.0, 0.0, -1.0, 3.0, -5.0, -6.0];
        let [x, y, g] = [x, y, g].map(|elements| tensor(&elements, &[10], &device));
        let (gx, gy) = x.copysign_grad(&y, &g).unwrap();
        let bits = |t: &Tensor| {
            t.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        assert_eq!(bits(&gx), expected.map(f32::to_bits));
        assert_eq!(bits(&gy), [0; 10]);
        // A number has no gradient of interest, but its sign matters.
        let (gx, gy) = x.copysign_grad(-0.0, &g).unwrap();
        assert_eq!(gx.to_vec::<f32>().unwrap()[..2], [-0.5, 0.25]);
        assert_eq!((gy.rank(), bits(&gy)), (0, vec![0]));
    }
}

#[test]
fn what_was_broadcast_gets_the_sum() {
    for device in devices() {
        let mut random = Random::new(3);
        for (x_shape, y_shape, shape) in [
            (&[3, 1, 5][..], &[4, 1][..], [3, 4, 5]),
            (&[1], &[2, 3, 257], [2, 3, 257]),
            (&[], &[2, 30, 40], [2, 30, 40]),
            (&[1, 64, 1], &[33, 1, 65], [33, 64, 65]),
            (&[2, 3, 4], &[], [2, 3, 4]),
            (&[2, 3, 257], &[1], [2, 3, 257]),
            (&[3, 300, 1], &[2], [3, 300, 2]),
        ] {
            let mut floats = |len: usize| -> Vec<f32> {
                (0..len).map(|_| (random.below(2001) as f32 - 1000.0) / 64.0).collect()
            };
            let len = |shape: &[usize]| shape.iter().product::<usize>();
            let (x, y, g) = (floats(len(x_shape)), floats(len(y_shape)), floats(len(&shape)));
            let places = |own: &[usize]| View::row_major(own).broadcast_places(&shape);
            let mut expected = vec![0f64; x.len()];
            let mut sizes = vec![0f64; x.len()];
            for (index, (i, j)) in places(x_shape).into_iter().zip(places(y_shape)).enumerate() {
                let same = x[i].is_sign_negative() == y[j].is_sign_negative();
                let term = if x[i] == 0.0 {
                    0.0
                } else if same {
                    g[index]
                } else {
                    -g[index]
                };
                expected[i] += f64::from(term);
                sizes[i] += f64::from(term.abs());
            }
            let (xt, yt) = (tensor(&x, x_shape, &device), tensor(&y, y_shape, &device));
            let gt = tensor(&g, &shape, &device);
            let (gx, gy) = xt.copysign_grad(&yt, &gt).unwrap();
            assert_eq!((gx.shape(), gy.shape()), (x_shape, y_shape));
            assert!(gy.to_vec::<f32>().unwrap().iter().all(|g| g.to_bits() == 0));
            let again = xt.copysign_grad(&yt, &gt).unwrap().0;
            assert_eq!(gx.to_bytes().unwrap(), again.to_bytes().unwrap(), "not deterministic");
            for ((given, expected), size) in
                gx.to_vec::<f32>().unwrap().iter().zip(expected).zip(sizes)
            {
                assert_relative_eq!(
                    f64::from(*given),
                    expected,
                    epsilon = 1e-6 * size,
                    max_relative = 1e-6
                );
            }
            // The same with views: transposed storage, and a gradient with stride 0.
            let turned = |t: &Tensor| {
                let last = t.rank().saturating_sub(1);
                if t.rank() < 2 {
                    t.clone()
                } else {
                    t.transpose(0, last).unwrap().contiguous().unwrap().transpose(0, last).unwrap()
                }
            };
            let (viewed, _) = turned(&xt).copysign_grad(turned(&yt), &turned(&gt)).unwrap();
            assert_eq!(viewed.to_bytes().unwrap(), gx.to_bytes().unwrap());
        }
    }
}

#[test]
fn half_floats_are_summed_in_f32_and_rounded_once() {
    for device in devices() {
        // 4096 ones: a sum kept in f16 would stop at 2048, one in bf16 at 256.
        let ones = Tensor::ones([4096], bitlane::DType::F16, &device).unwrap();
        let x = Tensor::ones([1], bitlane::DType::F16, &device).unwrap();
        assert_eq!(
            x.copysign_grad(&ones, &ones).unwrap().0.to_vec::<f16>().unwrap(),
            [f16::from_f32(4096.0)]
        );
        let ones = ones.cast(bitlane::DType::BF16).unwrap();
        let x = x.cast(bitlane::DType::BF16).unwrap();
        assert_eq!(
            x.copysign_grad(&ones, &ones).unwrap().0.to_vec::<bf16>().unwrap(),
            [bf16::from_f32(4096.0)]
        );
        let f64s = Tensor::full([3], 0.1, bitlane::DType::F64, &device).unwrap();
        let (gx, _) = f64s.narrow(0, 0, 1).unwrap().copysign_grad(&f64s, &f64s).unwrap();
        assert_relative_eq!(gx.to_vec::<f64>().unwrap()[0], 0.3, max_relative = 1e-15);
    }
}

#[test]
fn a_sum_over_nothing_is_zero() {
    for device in devices() {
        for _ in 0..4 {
            // Put used memory into the pool, so that a result that is not written would show.
            drop(tensor(&[7.0; 1000], &[1000], &device));
            let empty = tensor(&[], &[0, 1000], &device);
            let x = tensor(&[1.0; 1000], &[1, 1000], &device);
            let (gx, gy) = x.copysign_grad(&empty, &empty).unwrap();
            assert_eq!(
                (gx.to_vec::<f32>().unwrap(), gx.shape()),
                (vec![0.0; 1000], &[1, 1000][..])
            );
            assert_eq!(gy.shape(), [0, 1000]);
            let one = tensor(&[1.0], &[1], &device);
            let (gx, gy) = empty.copysign_grad(&one, &empty).unwrap();
            assert_eq!((gx.len(), gy.to_vec::<f32>().unwrap()), (0, vec![0.0]));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for device in devices() {
        let x = tensor(&[1.0, 2.0], &[2], &device);
        let ints = Tensor::from_slice(&[1, 2], [2], &device).unwrap();
        let refused = |result: bitlane::Result<(Tensor, Tensor)>| result.unwrap_err();
        assert_eq!(
            refused(ints.copysign_grad(&ints, &ints)).to_string(),
            "copysign_grad: i32 is not supported, only floats; cast the operands"
        );
        let three = tensor(&[1.0; 3], &[3], &device);
        assert_eq!(
            refused(x.copysign_grad(&three, &three)).to_string(),
            "copysign_grad: cannot broadcast [2] with [3] (dimension 0: 2 vs 3)"
        );
        let error = refused(x.copysign_grad(&x, &three));
        assert_eq!(error.kind(), ErrorKind::InvalidShape);
        assert_eq!(
            error.to_string(),
            "copysign_grad: shape [3]: the gradient must have the shape of the result, [2]"
        );
        assert_eq!(refused(x.copysign_grad(&ints, &x)).kind(), ErrorKind::Promotion);
        let wide = x.cast(DType::F64).unwrap();
        assert_eq!(
            refused(x.copysign_grad(&wide, &x)).to_string(),
            "copysign_grad: the gradient is f32, but the result of copysign is f64; cast it"
        );
        let complex = refused(x.copysign_grad(Complex::new(-1f32, 0.0), &x));
        assert_eq!(complex.kind(), ErrorKind::UnsupportedDType);
        assert!(complex.to_string().starts_with("copysign_grad: c64 is"), "{complex}");
        let int = Tensor::from_slice(&[1], (), &device).unwrap();
        assert_eq!(refused(x.copysign_grad(&int, &x)).kind(), ErrorKind::UnsupportedDType);
    }
}

#[test]
fn operands_of_different_floats() {
    for device in devices() {
        let x = Tensor::from_slice(&[f16::from_f32(2.0), f16::from_f32(-3.0)], [2, 1], &device);
        let x = x.unwrap();
        let y = Tensor::from_slice(&[-1.0f32, -0.0, 5.0], [3], &device).unwrap();
        // The result is f32, and so is its gradient; each operand's has its own dtype.
        let g = Tensor::full([2, 3], 1.0 + f64::powi(2.0, -11), DType::F32, &device).unwrap();
        let (gx, gy) = x.copysign_grad(&y, &g).unwrap();
        // −g − g + g and g + g − g, in f32, rounded once: a tie, to even.
        let expected = [-1.0, 1.0].map(f16::from_f32);
        assert_eq!(gx.to_vec::<f16>().unwrap(), expected);
        assert_eq!((gx.shape(), gy.shape(), gy.dtype()), (&[2, 1][..], &[3][..], DType::F32));
        // A 0-d tensor takes the dtype of the other operand, as in copysign itself.
        let y = Tensor::from_slice(&[-1.0f64], (), &device).unwrap();
        let (gx, gy) = x.copysign_grad(&y, &x).unwrap();
        assert_eq!(gx.to_vec::<f16>().unwrap(), [-2.0, -3.0].map(f16::from_f32));
        assert_eq!((gx.dtype(), gy.dtype(), gy.rank()), (DType::F16, DType::F64, 0));
    }
}
