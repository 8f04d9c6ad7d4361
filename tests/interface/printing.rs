//! Tensors as text. NumPy 2.4 prints the same arrays in the same way, except that it has no `bf16`.

use crate::devices::devices;
use bitlane::{Complex, DType, Device, Element, Tensor, bf16, f16};

#[track_caller]
fn printed<T: Element>(elements: &[T], shape: &[usize], expected: &str) {
    let tensor = Tensor::from_slice(elements, shape, &Device::cpu()).unwrap();
    assert_eq!(format!("{tensor:#}"), expected);
}

#[test]
fn integers_and_bools() {
    printed(&[1i32, -20, 300], &[3], "[  1 -20 300]");
    printed(&[true, false, true], &[3], "[ True False  True]");
    printed(&[u64::MAX, 0], &[2, 1], "[[18446744073709551615]\n [                   0]]");
    printed(&[7u8], &[], "7");
    printed(&[true], &[], "True");
    printed::<f32>(&[], &[0, 3], "[]");
}

#[test]
fn floats() {
    printed(&[1.0f64, 2.5, -3.125], &[3], "[ 1.     2.5   -3.125]");
    printed(&[0.1f32, 0.2], &[2], "[0.1 0.2]");
    printed(&[1.0f64 / 3.0, 2.0 / 3.0], &[2], "[0.33333333 0.66666667]");
    printed(&[1e-5f64, 1.0], &[2], "[1.e-05 1.e+00]");
    printed(&[1e-5f64, 2.5], &[2], "[1.0e-05 2.5e+00]");
    printed(&[1e300f64, -1e-300], &[2], "[ 1.e+300 -1.e-300]");
    printed(&[1e6f32, 1.0], &[2], "[1.e+06 1.e+00]");
    printed(&[f32::NAN, 1.0, f32::NEG_INFINITY], &[3], "[ nan   1. -inf]");
    printed(&[f64::NAN, f64::INFINITY], &[2], "[nan inf]");
    printed(&[-0.0f32, 0.0], &[2], "[-0.  0.]");
    printed(&[1.5f64, f64::NAN, 1e10], &[3], "[1.5e+00     nan 1.0e+10]");
    printed(&[12345.678f64], &[1], "[12345.678]");
    printed(&[0.1f32 + 0.2], &[1], "[0.3]");
    printed(&[f16::from_f32(0.1), f16::from_f32(65504.0)], &[2], "[1.00e-01 6.55e+04]");
    printed(&[f16::from_f32(0.333)], &[1], "[0.333]");
    printed(&[bf16::from_f32(0.1), bf16::from_f32(3.0)], &[2], "[0.1 3. ]");
}

#[test]
fn complex_numbers() {
    let z = |re: f64, im: f64| Complex::new(re, im);
    printed(&[z(1.0, 2.0), z(-3.5, -0.25)], &[2], "[ 1. +2.j   -3.5-0.25j]");
    printed(&[z(f64::NAN, f64::INFINITY)], &[1], "[nan+infj]");
}

#[test]
fn brackets_and_lines() {
    let x = Tensor::arange(8, DType::I32, &Device::cpu()).unwrap();
    let cube = x.reshape((2, 2, 2)).unwrap();
    assert_eq!(
        cube.to_string(),
        "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\nshape [2, 2, 2], i32, cpu"
    );
    let long = Tensor::arange(30, DType::I32, &Device::cpu()).unwrap();
    assert_eq!(
        format!("{long:#}"),
        "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n \
         24 25 26 27 28 29]"
    );
}

#[test]
fn large_tensors_are_shortened() {
    let x = Tensor::arange(10_000, DType::I32, &Device::cpu()).unwrap();
    assert_eq!(format!("{x:#}"), "[   0    1    2 ... 9997 9998 9999]");
    let square = x.reshape((100, 100)).unwrap();
    assert_eq!(
        format!("{square:#}"),
        "[[   0    1    2 ...   97   98   99]\n \
          [ 100  101  102 ...  197  198  199]\n \
          [ 200  201  202 ...  297  298  299]\n \
          ...\n \
          [9700 9701 9702 ... 9797 9798 9799]\n \
          [9800 9801 9802 ... 9897 9898 9899]\n \
          [9900 9901 9902 ... 9997 9998 9999]]"
    );
    let narrow = x.reshape((5000, 2)).unwrap().transpose(0, 1).unwrap();
    assert_eq!(
        format!("{narrow:#}"),
        "[[   0    2    4 ... 9994 9996 9998]\n [   1    3    5 ... 9995 9997 9999]]"
    );
}

#[test]
fn the_precision_can_be_chosen() {
    let x = Tensor::from_nested([1.0f64 / 3.0, 20.0], &Device::cpu()).unwrap();
    assert_eq!(format!("{x:#.3}"), "[ 0.333 20.   ]");
}

#[test]
fn debugging_is_one_line() {
    let x = Tensor::from_nested([[1.5f32, f32::NAN], [0.1, -2.0]], &Device::cpu()).unwrap();
    assert_eq!(format!("{x:?}"), "Tensor(f32 [2, 2] cpu: 1.5 nan 0.1 -2.)");
    let turned = x.transpose(0, 1).unwrap();
    assert_eq!(format!("{turned:?}"), "Tensor(f32 [2, 2] strides [1, 2] cpu: 1.5 0.1 nan -2.)");
    let long = Tensor::zeros([5, 3], DType::Bool, &Device::cpu()).unwrap();
    assert!(format!("{long:?}").ends_with("False False False ...)"));
    let empty = Tensor::zeros([0], DType::Bool, &Device::cpu()).unwrap();
    assert_eq!(format!("{empty:?}"), "Tensor(bool [0] cpu:)");
}

#[test]
fn bits_have_all_their_digits() {
    for device in devices() {
        let x = Tensor::from_nested([[-1i16, 0], [1, 0x7ab]], &device).unwrap();
        assert_eq!(format!("{x:#x}"), "[[ffff 0000]\n [0001 07ab]]");
        assert_eq!(format!("{x:#X}"), "[[FFFF 0000]\n [0001 07AB]]");
        let x = Tensor::from_nested([true, false], &device).unwrap();
        assert_eq!(format!("{x:#b}"), "[00000001 00000000]");
        let x = Tensor::from_nested(-0.0f32, &device).unwrap();
        assert_eq!(format!("{x:x}"), format!("80000000\nshape [], f32, {device}"));
        let x = Tensor::from_nested([bitlane::Complex::new(1.0f32, -2.0)], &device).unwrap();
        assert_eq!(format!("{x:#x}"), "[3f800000:c0000000]");
    }
}
