//! Large tensors: offsets and element counts beyond 2³¹ and 2³².

use std::sync::Arc;

use bitlane::cuda::cudarc::driver::{CudaContext, CudaStream};
use bitlane::{BinaryOp, DType, Device, Tensor, binary, cuda, introspect};

use crate::virtual_driver::isolated;

pub fn elements_further_apart_than_32_bits_count() {
    isolated(module_path!(), "elements_further_apart_than_32_bits_count", &[], |_| {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        // Almost none of this memory is ever accessed, so the allocation costs address space only.
        let stride = (1usize << 31) + 7;
        // SAFETY: only the elements that are written below are ever read.
        let mut slice = unsafe { stream.alloc::<u8>(2 * stride + 5) }.unwrap();
        for (place, value) in [(0, 10u8), (stride, 20), (2 * stride, 30)] {
            stream
                .memcpy_htod(&[value, value + 1], &mut slice.slice_mut(place..place + 2))
                .unwrap();
        }
        let far = cuda::tensor_from_slice(slice, [2 * stride + 5]).unwrap();
        let view = |shape: &[usize], strides: &[isize], offset| {
            far.as_strided(shape, strides, offset).unwrap()
        };
        let step = stride as isize;
        // Beyond 2³¹, beyond 2³², backwards, and as the outer of two loops.
        for (view, expected) in [
            (view(&[2], &[step], 0), vec![10, 20]),
            (view(&[3], &[step], 0), vec![10, 20, 30]),
            (view(&[3], &[-step], 2 * stride), vec![30, 20, 10]),
            (view(&[3, 2], &[step, 1], 0), vec![10, 11, 20, 21, 30, 31]),
        ] {
            assert_eq!(view.to_vec::<u8>().unwrap(), expected);
            let shifted: Vec<_> = expected.iter().map(|value| value << 1).collect();
            assert_eq!((&view << 1).unwrap().to_vec::<u8>().unwrap(), shifted);
            let wide = view.cast(DType::I32).unwrap();
            let sum = binary(BinaryOp::Add, &view, wide.cast(DType::U8).unwrap()).run().unwrap();
            assert_eq!(sum.to_vec::<u8>().unwrap(), shifted);
        }
        let mut written = view(&[2], &[2 * step], 1);
        let ones = Tensor::ones([2], DType::U8, written.device()).unwrap();
        written.add_assign(&ones).unwrap();
        assert_eq!(view(&[3], &[step], 1).to_vec::<u8>().unwrap(), [12, 21, 32]);
    });
}

pub fn gradients_of_more_elements_than_one_launch_counts() {
    let name = "gradients_of_more_elements_than_one_launch_counts";
    // The kernels are launched but not executed.
    let settings = &[("VCUDA_STUB", "1"), ("VCUDA_MEMORY", "64g")];
    isolated(module_path!(), name, settings, |_| {
        let device = Device::cuda(0).unwrap();
        for n in [(1usize << 31) + 5, (1 << 32) + 1] {
            let one = Tensor::ones([1, 1], DType::F16, &device).unwrap();
            let x = one.broadcast_to([2, n]).unwrap();
            let y = Tensor::ones([2, 1], DType::F16, &device).unwrap();
            let (gx, gy) = x.copysign_grad(&y, &x).unwrap();
            assert_eq!((gx.shape(), gy.shape()), (&[2, n][..], &[2, 1][..]));
        }
    });
}

/// The number of initialised elements at either end of a large tensor: more than the blocks at the ends of a grid read.
const END: usize = 1 << 17;

/// The number of results compared at either end: fewer than those blocks write.
const CHECKED: usize = 2000;

/// Returns a tensor of bytes that is initialised only at its ends, where each element is a function of its index.
fn only_ends(len: usize, stream: &Arc<CudaStream>) -> Tensor {
    // SAFETY: only the elements that are written below are ever read.
    let mut slice = unsafe { stream.alloc::<u8>(len) }.unwrap();
    for first in [0, len - END] {
        let bytes: Vec<u8> = (first..first + END).map(byte_at).collect();
        stream.memcpy_htod(&bytes, &mut slice.slice_mut(first..first + END)).unwrap();
    }
    cuda::tensor_from_slice(slice, [len]).unwrap()
}

/// Hashes an index to a byte that depends on all of its bits.
fn byte_at(place: usize) -> u8 {
    (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0]
}

pub fn more_elements_than_32_bits_count() {
    let settings = &[("VCUDA_MEMORY", "128g")];
    isolated(module_path!(), "more_elements_than_32_bits_count", settings, |driver| {
        let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
        let row = Tensor::arange(65_537, DType::I32, &cuda::device_on(&stream).unwrap()).unwrap();
        let row = row.cast(DType::U8).unwrap();
        row.device().synchronize().unwrap();
        // Only the blocks at the ends of a grid are executed: they see the smallest and largest indices, which overflow
        // first.
        driver.set("ends", "2");
        // A contiguous operand with a number, and with a row: rows of whole groups, and rows whose ends groups
        // straddle.
        for (shape, kernel) in [
            (&[(1usize << 32) + 4096][..], "linear_"),
            (&[65_537, 65_536], "groups2w_"),
            (&[65_537, 65_537], "elements2w_"),
        ] {
            let len = shape.iter().product();
            let x = only_ends(len, &stream).reshape(shape.to_vec()).unwrap();
            let shifted = x.expr() >> 1;
            let (other, columns) = match shape {
                [_, columns] => (shifted ^ row.narrow(0, 0, *columns).unwrap(), *columns),
                _ => (shifted ^ 3, 1),
            };
            introspect::record();
            let result = other.run().unwrap().reshape([len]).unwrap();
            let ran = introspect::recorded().pop().unwrap();
            assert!(ran.starts_with(kernel), "{ran}, not {kernel}");
            // The results that the first and last blocks have written, however many a thread computes.
            for first in [0, len - CHECKED] {
                let given = result.narrow(0, first, CHECKED).unwrap().to_vec::<u8>().unwrap();
                let expected = (first..first + CHECKED).map(|place| {
                    let other = if columns == 1 { 3 } else { (place % columns) as u8 };
                    byte_at(place) >> 1 ^ other
                });
                assert!(given.into_iter().eq(expected), "{shape:?} from {first} on");
            }
        }
    });
}
