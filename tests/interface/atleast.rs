//! `atleast_1d`, `atleast_2d` and `atleast_3d` (docs/semantics.md, section 5): shapes, strides, sharing of storage, and
//! operands of several kinds at once.

use crate::devices::devices;
use bitlane::{Complex, DType, Device, Operand, Scalar, Tensor};

#[test]
fn every_rank_gets_the_dimensions_it_lacks() {
    for device in devices() {
        let cases: [(&[usize], [&[usize]; 3]); 6] = [
            (&[], [&[1], &[1, 1], &[1, 1, 1]]),
            (&[5], [&[5], &[1, 5], &[1, 5, 1]]),
            (&[0], [&[0], &[1, 0], &[1, 0, 1]]),
            (&[2, 3], [&[2, 3], &[2, 3], &[2, 3, 1]]),
            (&[2, 3, 4], [&[2, 3, 4], &[2, 3, 4], &[2, 3, 4]]),
            (&[1, 2, 1, 2, 1, 2, 1, 2], [&[1, 2, 1, 2, 1, 2, 1, 2]; 3]),
        ];
        for &dtype in DType::ALL {
            for (shape, expected) in cases {
                let x = Tensor::ones(shape, dtype, &device).unwrap();
                for (view, expected) in
                    [x.atleast_1d(), x.atleast_2d(), x.atleast_3d()].iter().zip(expected)
                {
                    assert_eq!(view.shape(), expected);
                    assert_eq!((view.dtype(), view.device()), (dtype, &device));
                    assert!(view.shares_storage(&x), "{shape:?} was copied");
                    assert_eq!(view.to_bytes().unwrap(), x.to_bytes().unwrap());
                }
            }
        }
    }
}

#[test]
fn strides_and_offsets_are_kept_and_writes_are_seen() {
    for device in devices() {
        let base = Tensor::arange(12, DType::I32, &device).unwrap();
        let x = base.as_strided(&[3], &[-4], 9).unwrap();
        let mut view = x.atleast_3d();
        assert_eq!((view.shape(), view.strides()[1]), (&[1, 3, 1][..], -4));
        assert_eq!(view.to_vec::<i32>().unwrap(), [9, 5, 1]);
        view.multiply_assign(10).unwrap();
        assert_eq!(base.to_vec::<i32>().unwrap(), [0, 10, 2, 3, 4, 50, 6, 7, 8, 90, 10, 11]);
        // A 0-d tensor is also a view: writing to it changes the base.
        let zero_d = base.as_strided(&[], &[], 2).unwrap();
        let mut view = zero_d.atleast_2d();
        view.add_assign(100).unwrap();
        assert_eq!(zero_d.to_vec::<i32>().unwrap(), [102]);
    }
}

#[test]
fn many_operands_give_as_many_tensors_in_order() {
    for device in devices() {
        let zero_d = Tensor::full((), 2.5, DType::F64, &device).unwrap();
        let vector = Tensor::arange(3, DType::U8, &device).unwrap();
        let operands: [Operand; 7] = [
            1.into(),
            (&zero_d).into(),
            2.5.into(),
            (&vector).into(),
            true.into(),
            Complex::new(1.0, 2.0).into(),
            Scalar::UInt(u64::MAX).into(),
        ];
        let views = bitlane::atleast_2d(operands).unwrap();
        let dtypes: Vec<_> = views.iter().map(Tensor::dtype).collect();
        use DType::*;
        assert_eq!(dtypes, [I64, F64, F32, U8, Bool, C64, U64]);
        let shapes: Vec<_> = views.iter().map(|view| view.shape().to_vec()).collect();
        assert_eq!(shapes, [[1, 1], [1, 1], [1, 1], [1, 3], [1, 1], [1, 1], [1, 1]]);
        assert!(views[1].shares_storage(&zero_d) && views[3].shares_storage(&vector));
        // Numbers are placed on the device of the first tensor.
        assert!(views.iter().all(|view| *view.device() == device));
        assert_eq!(views[0].to_vec::<i64>().unwrap(), [1]);
        assert_eq!(views[5].to_vec::<Complex<f32>>().unwrap(), [Complex::new(1.0, 2.0)]);

        let pair = bitlane::atleast_1d([&vector, &zero_d]).unwrap();
        assert_eq!((pair.len(), pair[0].shape(), pair[1].shape()), (2, &[3][..], &[1][..]));
        assert_eq!(bitlane::atleast_3d(vec![vector.clone()]).unwrap()[0].shape(), [1, 3, 1]);
        assert!(bitlane::atleast_3d(Vec::<Tensor>::new()).unwrap().is_empty());
    }
}

#[test]
fn numbers_alone_go_to_the_best_device() {
    // `Device::best` may be called only after the devices under test have been chosen.
    let _ = devices();
    let Ok(best) = Device::best() else { return };
    let views = bitlane::atleast_1d([1, 2]).unwrap();
    assert!(views.iter().all(|view| *view.device() == best));
    assert_eq!(views[1].to_vec::<i64>().unwrap(), [2]);
}

#[test]
fn operands_on_several_devices_stay_where_they_are() {
    for device in devices() {
        for other in devices() {
            let (x, y) = (
                Tensor::zeros((), DType::I8, &device).unwrap(),
                Tensor::zeros((), DType::I8, &other).unwrap(),
            );
            let views = bitlane::atleast_1d([&x, &y]).unwrap();
            assert_eq!((views[0].device(), views[1].device()), (&device, &other));
        }
    }
}
