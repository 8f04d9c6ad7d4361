//! Memory that 32 bits do not count: offsets beyond 2³¹ and 2³² elements.

use bitlane::cuda::cudarc::driver::CudaContext;
use bitlane::{BinaryOp, DType, Device, Tensor, binary, cuda};

use crate::virtual_driver::isolated;

pub fn elements_further_apart_than_32_bits_count() {
    isolated(module_path!(), "elements_further_apart_than_32_bits_count", &[], |_| {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        // Almost nothing of it is ever touched, so that it costs no more than it shows.
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
    // So many elements are not computed, only asked for.
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
