//! Arrays of `ndarray` as operands, and conversion in both directions.

use bitlane::{Device, ErrorKind, Shift, Tensor, f16};
use ndarray::{Array, Array2, ArrayD, IxDyn, ShapeBuilder, arr0, array, s};

/// Returns an array with permuted axes, whose elements are their positions in memory.
fn permuted() -> ArrayD<i32> {
    Array::from_iter(0..24)
        .into_shape_with_order((2, 3, 4))
        .unwrap()
        .permuted_axes([2, 0, 1])
        .into_dyn()
}

#[test]
fn strides_are_kept_both_ways() {
    let device = Device::cpu();
    let fortran = Array2::from_shape_vec((2, 3).f(), vec![1i16, 2, 3, 4, 5, 6]).unwrap().into_dyn();
    for array in [fortran.mapv(i32::from), permuted()] {
        let tensor = Tensor::from_ndarray(&array, &device).unwrap();
        assert_eq!((tensor.shape(), tensor.strides()), (array.shape(), array.strides()));
        let back = tensor.to_ndarray::<i32>().unwrap();
        assert_eq!(back, array);
        assert_eq!(back.strides(), array.strides());
    }
}

#[test]
fn reversed_axes_keep_their_strides_on_the_way_in() {
    let array = array![[1u8, 2, 3], [4, 5, 6]];
    for view in
        [array.slice(s![..;-1, ..]), array.slice(s![.., ..;-1]), array.slice(s![..;-1, ..;-1])]
    {
        let tensor = Tensor::from_ndarray(&view, &Device::cpu()).unwrap();
        assert_eq!(tensor.to_ndarray::<u8>().unwrap(), view.into_dyn());
    }
}

#[test]
fn views_with_gaps_are_packed() {
    let array = Array::from_iter(0..60u64).into_shape_with_order((6, 10)).unwrap();
    let view = array.slice(s![1..;2, ..;-3]);
    let tensor = Tensor::from_ndarray(&view, &Device::cpu()).unwrap();
    assert!(tensor.is_contiguous());
    assert_eq!(tensor.to_ndarray::<u64>().unwrap(), view.into_dyn());
    let gaps = tensor.slice(1, ..2).unwrap();
    let packed = gaps.to_ndarray::<u64>().unwrap();
    assert_eq!(packed, view.slice(s![.., ..2]).into_dyn());
}

#[test]
fn arrays_and_views_are_operands() {
    let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0], [3], &Device::cpu()).unwrap();
    let signs = array![-1.0f32, 1.0, -0.0];
    let expected = [-1.0, 2.0, -3.0];
    assert_eq!(x.copysign(&signs).unwrap().to_vec::<f32>().unwrap(), expected);
    assert_eq!(x.copysign(signs.view()).unwrap().to_vec::<f32>().unwrap(), expected);
    assert_eq!(x.copysign(signs).unwrap().to_vec::<f32>().unwrap(), expected);
    let mut y = Tensor::from_slice(&[1u32, 2], [2], &Device::cpu()).unwrap();
    y.bitwise_left_shift_assign(&array![1u32, 2], Shift::Logical).unwrap();
    assert_eq!(y.to_vec::<u32>().unwrap(), [2, 8]);
    let column = array![[1u32], [2]];
    assert_eq!((&y + &column).unwrap().to_vec::<u32>().unwrap(), [3, 9, 4, 10]);
}

#[test]
fn zero_dimensions_and_no_elements() {
    let scalar = Tensor::from_ndarray(&arr0(f16::ONE), &Device::cpu()).unwrap();
    assert_eq!(scalar.rank(), 0);
    assert_eq!(scalar.to_ndarray::<f16>().unwrap(), arr0(f16::ONE).into_dyn());
    let empty = ArrayD::<bool>::default(IxDyn(&[3, 0, 2]));
    let tensor = Tensor::from_ndarray(&empty, &Device::cpu()).unwrap();
    assert_eq!(tensor.to_ndarray::<bool>().unwrap(), empty);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let deep = ArrayD::<u8>::zeros(IxDyn(&[1; 9]));
    let x = Tensor::from_slice(&[1u8], [1], &Device::cpu()).unwrap();
    assert_eq!(x.add(&deep).unwrap_err().kind(), ErrorKind::InvalidShape);
    assert_eq!(x.to_ndarray::<i8>().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn an_axis_of_size_one_may_have_any_stride() {
    let x = Tensor::from_slice(&[1, 2, 3], [3], &Device::cpu()).unwrap();
    for stride in [isize::MIN, isize::MIN + 1, -1, 0, isize::MAX] {
        let view = x.as_strided(&[3, 1], &[1, stride], 0).unwrap();
        assert_eq!(view.to_ndarray::<i32>().unwrap(), array![[1], [2], [3]].into_dyn());
    }
}

#[test]
fn owned_tensors_take_arrays_too() {
    let x = Tensor::from_slice(&[1, 2], [2], &Device::cpu()).unwrap();
    let y = array![10, 20];
    let expected = [11, 22];
    assert_eq!((x.clone() + &y).unwrap().to_vec::<i32>().unwrap(), expected);
    assert_eq!((x.clone() + y.view()).unwrap().to_vec::<i32>().unwrap(), expected);
    assert_eq!((x.clone() + y).unwrap().to_vec::<i32>().unwrap(), expected);
}

#[test]
fn another_type_is_refused_by_the_name_of_the_call() {
    let x = Tensor::from_slice(&[1, 2], [2], &Device::cpu()).unwrap();
    let error = x.to_ndarray::<f32>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "to_ndarray: elements of i32 were asked for as f32; cast them first"
    );
}
