//! Creating, joining, indexing and filling tensors in the most common ways.

use crate::devices::devices;
use bitlane::{DType, ErrorKind, Slice, Tensor};

fn ints(tensor: &Tensor) -> Vec<i32> {
    tensor.to_vec().unwrap()
}

#[test]
fn nesting_gives_the_shape() {
    for device in devices() {
        let x = Tensor::from_nested([[[1, 2, 3], [4, 5, 6]]], &device).unwrap();
        assert_eq!((x.shape(), ints(&x)), (&[1, 2, 3][..], vec![1, 2, 3, 4, 5, 6]));
        let slices: Vec<&[i32]> = vec![&[1, 2], &[3, 4], &[5, 6]];
        assert_eq!(Tensor::from_nested(slices, &device).unwrap().shape(), [3, 2]);
        assert_eq!(Tensor::from_nested(7u8, &device).unwrap().shape(), [0usize; 0]);
        // Without items, the type may still give the size.
        assert_eq!(Tensor::from_nested(Vec::<[i32; 3]>::new(), &device).unwrap().shape(), [0, 3]);
        assert_eq!(Tensor::from_nested(Vec::<Vec<i32>>::new(), &device).unwrap().shape(), [0, 0]);
        let ragged = vec![vec![vec![1], vec![2]], vec![vec![3], vec![4, 5]]];
        let error = Tensor::from_nested(ragged, &device).unwrap_err();
        assert_eq!(
            error.to_string(),
            "from_nested: shape [2, 2, 1]: sizes differ in dimension 2: 1 first, then 2"
        );
    }
}

#[test]
fn shapes_as_tuples_and_with_a_size_left_out() {
    let device = &devices()[0];
    let x = Tensor::zeros((2, 3, 4), DType::U8, device).unwrap();
    let sizes = x.shape().to_vec();
    assert_eq!(x.reshape((4, ..)).unwrap().shape(), [4, 6]);
    assert_eq!(x.reshape((.., 2, 2)).unwrap().shape(), [6, 2, 2]);
    assert_eq!(x.reshape(..).unwrap().shape(), [24]);
    assert_eq!(x.reshape((sizes[0] * 3, sizes[2])).unwrap().shape(), [6, 4]);
    let refused = |error: bitlane::Error, text: &str| {
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::InvalidShape, text.to_owned()));
    };
    refused(
        x.reshape((.., ..)).unwrap_err(),
        "reshape: shape [1, 1]: 2 sizes are `..`; only one can follow from the rest",
    );
    refused(
        x.reshape((5, ..)).unwrap_err(),
        "reshape: shape [5, 1]: 24 elements are not a multiple of the 5 that the given sizes make",
    );
    let empty = Tensor::zeros((0, 3), DType::U8, device).unwrap();
    refused(
        empty.reshape((0, ..)).unwrap_err(),
        "reshape: shape [0, 1]: with a size of 0, nothing follows for the size that is `..`",
    );
    assert_eq!(empty.reshape((3, ..)).unwrap().shape(), [3, 0]);
}

#[test]
fn axes_count_from_the_back() {
    let x = Tensor::zeros([2, 3, 4], DType::U8, &devices()[0]).unwrap();
    assert_eq!(x.transpose(-1, 0).unwrap().shape(), [4, 3, 2]);
    assert_eq!(x.unsqueeze(-4).unwrap().shape(), [1, 2, 3, 4]);
    assert_eq!(x.slice(-1, 1..3).unwrap().shape(), [2, 3, 2]);
    assert_eq!(x.permute([-1, -3, -2]).unwrap().shape(), [4, 2, 3]);
    assert_eq!(x.unsqueeze(0).unwrap().squeeze(-4isize).unwrap().shape(), [2, 3, 4]);
    let error = x.flip(-4).unwrap_err();
    assert_eq!(error.to_string(), "flip: axis -4 of a tensor of rank 3 ([2, 3, 4])");
    let error = x.unsqueeze(-5).unwrap_err();
    assert_eq!(error.to_string(), "unsqueeze: axis -5 in a tensor of rank 3");
    let error = x.permute([0, -3, 1]).unwrap_err();
    assert_eq!(error.to_string(), "permute: [0, -3, 1] is not a permutation of the 3 axes");
}

#[test]
fn ranges_of_every_kind() {
    for device in devices() {
        let range = |x: Tensor| x.cast(DType::I64).unwrap().to_vec::<i64>().unwrap();
        let i16s = DType::I16;
        assert_eq!(range(Tensor::arange(3, i16s, &device).unwrap()), [0, 1, 2]);
        assert_eq!(range(Tensor::arange(-2..2, i16s, &device).unwrap()), [-2, -1, 0, 1]);
        assert_eq!(range(Tensor::arange(5u8..=6, i16s, &device).unwrap()), [5, 6]);
        let backwards = std::ops::Range { start: 5, end: 2 };
        assert!(Tensor::arange(backwards, i16s, &device).unwrap().is_empty());
        let last = Tensor::arange(u64::MAX - 1..=u64::MAX, DType::U64, &device).unwrap();
        assert_eq!(last.to_vec::<u64>().unwrap(), [u64::MAX - 1, u64::MAX]);
        let all = Tensor::arange(i64::MIN..=i64::MAX, i16s, &device).unwrap_err();
        assert_eq!(all.kind(), ErrorKind::InvalidShape);
    }
}

#[test]
fn joined_tensors_keep_their_places() {
    for device in devices() {
        let x = Tensor::arange(6, DType::I32, &device).unwrap().reshape((2, 3)).unwrap();
        let y = x.flip(1).unwrap();
        let rows = Tensor::concatenate([&x, &y], 0).unwrap();
        assert_eq!(ints(&rows), [0, 1, 2, 3, 4, 5, 2, 1, 0, 5, 4, 3]);
        let columns = Tensor::concatenate([&x, &y.slice(1, ..1).unwrap(), &x], -1).unwrap();
        assert_eq!(ints(&columns), [0, 1, 2, 2, 0, 1, 2, 3, 4, 5, 5, 3, 4, 5]);
        let stacked = Tensor::stack(vec![x.clone(), y.clone()], 1).unwrap();
        assert_eq!(stacked.shape(), [2, 2, 3]);
        assert_eq!(ints(&stacked), [0, 1, 2, 2, 1, 0, 3, 4, 5, 5, 4, 3]);
        let refused = |result: Result<Tensor, bitlane::Error>, text: &str| {
            assert_eq!(result.unwrap_err().to_string(), text);
        };
        refused(
            Tensor::concatenate(Vec::<Tensor>::new(), 0),
            "concatenate: no tensors were given, at least one is needed",
        );
        refused(
            Tensor::stack([&x, &x.slice(1, 1..).unwrap()], 0),
            "stack: shape [2, 2]: tensor 1 must have the sizes of the first, [2, 3], throughout",
        );
        refused(
            Tensor::concatenate([&x, &x.cast(DType::U8).unwrap()], 0),
            "concatenate: tensor 1 is u8, but the first is i32; `cast` one of them",
        );
    }
}

#[test]
fn views_are_filled_and_copied_into() {
    for device in devices() {
        let x = Tensor::zeros([3, 4], DType::F32, &device).unwrap();
        x.slice(1, Slice::from(..).step(-2)).unwrap().fill(2.5).unwrap();
        x.index_axis(0, 1)
            .unwrap()
            .copy_from(Tensor::from_nested([-0.0f32], &device).unwrap())
            .unwrap();
        let bits: Vec<u32> = x.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
        let (zero, filled, minus) = (0, 2.5f32.to_bits(), 1 << 31);
        let striped = [zero, filled, zero, filled];
        assert_eq!(bits, [striped, [minus; 4], striped].concat());
        // A copy from an overlapping part of the same storage goes through a temporary.
        let y = Tensor::arange(5, DType::I32, &device).unwrap();
        y.slice(0, 1..).unwrap().copy_from(y.slice(0, ..4).unwrap()).unwrap();
        assert_eq!(ints(&y), [0, 0, 1, 2, 3]);
        let floats = Tensor::ones([5], DType::F32, &device).unwrap();
        let error = y.clone().copy_from(&floats).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InplaceDtype);
        assert_eq!(y.clone().copy_from(0.5).unwrap_err().kind(), ErrorKind::InplaceDtype);
        assert_eq!(y.clone().fill(1i64 << 40).unwrap_err().kind(), ErrorKind::ScalarOverflow);
        let wide = Tensor::zeros([2, 5], DType::I32, &device).unwrap();
        assert_eq!(y.clone().copy_from(&wide).unwrap_err().kind(), ErrorKind::Broadcast);
        let mut stretched = y.broadcast_to([2, 5]).unwrap();
        assert_eq!(stretched.fill(1).unwrap_err().kind(), ErrorKind::OverlappingDestination);
        assert_eq!(ints(&y), [0, 0, 1, 2, 3]);
    }
}

#[test]
fn masks_of_the_tensor_itself() {
    for device in devices() {
        let mut x = Tensor::from_nested([[3, -1], [-4, 1]], &device).unwrap();
        x.assign_where(&x.less_than(0).unwrap(), (&x * 100).unwrap()).unwrap();
        assert_eq!(ints(&x), [3, -100, -400, 1]);
        x.masked_fill(&x.greater_than(0).unwrap(), 7).unwrap();
        assert_eq!(ints(&x), [7, -100, -400, 7]);
        let rows = Tensor::from_nested([[false], [true]], &device).unwrap();
        x.masked_fill(&rows, 0).unwrap();
        assert_eq!(ints(&x), [7, -100, 0, 0]);
        let error = x.clone().masked_fill(&x, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn elements_and_rows() {
    for device in devices() {
        let x = Tensor::arange(6, DType::I32, &device).unwrap().reshape((2, 3)).unwrap();
        assert_eq!(x.get::<i32>([1, -1]).unwrap(), 5);
        assert_eq!(x.transpose(0, 1).unwrap().get::<i32>(&[2, 0]).unwrap(), 2);
        let error = x.get::<i32>([2, 0]).unwrap_err();
        assert_eq!(error.to_string(), "get: index [2, 0] in a tensor of shape [2, 3]");
        assert_eq!(x.get::<i32>([0]).unwrap_err().kind(), ErrorKind::OutOfBounds);
        assert_eq!(x.get::<i64>([0, 0]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let rows: Vec<Vec<i32>> = x.rows().unwrap().map(|row| ints(&row)).collect();
        assert_eq!(rows, [[0, 1, 2], [3, 4, 5]]);
        let columns = x.transpose(0, 1).unwrap();
        let backwards: Vec<Vec<i32>> =
            columns.rows().unwrap().rev().map(|row| ints(&row)).collect();
        assert_eq!(backwards, [[2, 5], [1, 4], [0, 3]]);
        // Views are made one at a time, so even this many rows take no memory.
        let mut many =
            x.slice(0, 0..1).unwrap().broadcast_to((1 << 40, 3)).unwrap().rows().unwrap();
        assert_eq!(many.len(), 1 << 40);
        assert_eq!(ints(&many.nth(1 << 30).unwrap()), [0, 1, 2]);
        assert_eq!(ints(&many.nth_back(1 << 30).unwrap()), [0, 1, 2]);
        assert_eq!(many.len(), (1 << 40) - (2 << 30) - 2);
        let mut few = x.rows().unwrap();
        assert_eq!(few.by_ref().count(), 2);
        assert!(few.next().is_none() && few.next_back().is_none());
        let sum = x.sum(..).unwrap();
        assert_eq!(sum.item::<i64>().unwrap(), 15);
        assert_eq!(sum.rows().unwrap_err().kind(), ErrorKind::InvalidShape);
        let error = x.item::<i32>().unwrap_err();
        assert_eq!(error.to_string(), "item: shape [2, 3]: has 6 elements, not 1");
    }
}

#[test]
fn tensors_are_compared_as_a_whole() {
    for device in devices() {
        let x = Tensor::from_nested([1.0f32, f32::INFINITY, -0.0], &device).unwrap();
        let y = Tensor::from_nested([1.0f32, f32::INFINITY, 0.0], &device).unwrap();
        assert!(x.bits_equal(&x.copy().unwrap()).unwrap() && !x.bits_equal(&y).unwrap());
        assert!(!x.bits_equal(&x.reshape((1, 3)).unwrap()).unwrap());
        assert!(x.allclose(&y, 0.0, 0.0).unwrap());
        let nan = Tensor::from_nested([f32::NAN], &device).unwrap();
        assert!(!nan.allclose(&nan, 1.0, 1.0).unwrap());
        // These would be equal if compared as floats.
        let large = Tensor::from_nested([i64::MAX, i64::MIN], &device).unwrap();
        let other = Tensor::from_nested([i64::MAX - 1, i64::MIN], &device).unwrap();
        assert!(!large.allclose(&other, 0.0, 0.0).unwrap());
        assert!(large.allclose(&other, 0.0, 1.0).unwrap());
        let top = Tensor::from_nested([u64::MAX], &device).unwrap();
        assert!(!top.allclose(&Tensor::from_nested([-1i8], &device).unwrap(), 0.0, 5.0).unwrap());
        assert_eq!(large.allclose(&x, 0.0, 0.0).unwrap_err().kind(), ErrorKind::Broadcast);
    }
}

/// A tensor on the CPU takes over the memory of a vector; elsewhere, and where the vector is not aligned, it is a copy.
#[test]
fn vectors_become_tensors() {
    for device in devices() {
        let elements: Vec<i32> = (0..1000).collect();
        let address = elements.as_ptr();
        let mut x = Tensor::from_vec(elements, [10, 100], &device).unwrap();
        x.add_assign(1).unwrap();
        assert_eq!(ints(&x), (1..=1000).collect::<Vec<i32>>());
        match x.as_slice::<i32>() {
            Ok(slice) => assert_eq!(slice.as_ptr(), address),
            Err(_) => assert_ne!(device.to_string(), "cpu"),
        }
        let complex = vec![bitlane::Complex::new(1.5f32, -2.0); 7];
        let y = Tensor::from_vec(complex.clone(), 7, &device).unwrap();
        assert_eq!(y.to_vec::<bitlane::Complex<f32>>().unwrap(), complex);
        assert!(Tensor::from_vec(Vec::<f64>::new(), [0, 3], &device).unwrap().is_empty());
        let error = Tensor::from_vec(vec![1u8, 2], [3], &device).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidShape);
    }
}

#[cfg(feature = "cpu")]
#[test]
fn elements_are_borrowed_where_they_are() {
    let device = bitlane::Device::cpu();
    let x = Tensor::from_nested([[1, 2, 3], [4, 5, 6]], &device).unwrap();
    let rows = x.slice(0, 1..).unwrap();
    assert_eq!(rows.as_slice::<i32>().unwrap()[..], [4, 5, 6]);
    // Two slices may exist at once, and operations that read do not wait.
    let (first, second) = (x.as_slice::<i32>().unwrap(), x.as_slice::<i32>().unwrap());
    assert_eq!(ints(&(&x + 1).unwrap())[0], first[0] + second[0]);
    drop((first, second));
    let refused = |tensor: &Tensor| tensor.as_slice::<i32>().unwrap_err().to_string();
    assert!(refused(&x.transpose(0, 1).unwrap()).contains("is not contiguous"));
    assert!(refused(&x.cast(DType::I64).unwrap()).contains("asked for as i32"));
    let empty = Tensor::zeros([0, 2], DType::Bool, &device).unwrap();
    assert!(empty.as_slice::<bool>().unwrap().is_empty());
}

/// A thread that has borrowed elements may read them again, and whatever others want to write, while a writer waits for
/// the slice.
#[cfg(feature = "cpu")]
#[test]
fn whoever_borrows_may_read_while_others_wait_to_write() {
    let device = bitlane::Device::cpu();
    let tensor = || Tensor::from_slice(&[1, 2, 3], [3], &device).unwrap();
    let [x, y] = [tensor(), tensor()];
    for round in 1..=50 {
        let slice = x.as_slice::<i32>().unwrap();
        let before = slice.to_vec();
        std::thread::scope(|scope| {
            // One writes what is borrowed, and holds other locks; one writes what the former reads.
            let one = scope.spawn(|| x.clone().add_assign(&y).unwrap());
            let other = scope.spawn(|| y.clone().multiply_assign(1).unwrap());
            for _ in 0..20 {
                assert_eq!(ints(&x), before);
                assert_eq!(x.as_slice::<i32>().unwrap()[..], before);
                assert_eq!(ints(&(&x + &y).unwrap())[0], before[0] + 1);
                std::thread::yield_now();
            }
            assert!(!one.is_finished(), "a slice did not keep its elements from being written");
            assert_eq!(slice[..], before);
            drop(slice);
            (one.join().unwrap(), other.join().unwrap())
        });
        assert_eq!(ints(&x), [1, 2, 3].map(|first| first * (round + 1)));
    }
}

#[test]
fn positions_are_numbers_and_ranges() {
    for device in devices() {
        let x = Tensor::arange(24, DType::I32, &device).unwrap().reshape([2, 3, 4]).unwrap();
        assert_eq!(ints(&x.at((1, 2, 3)).unwrap()), [23]);
        assert_eq!(ints(&x.at((.., -1, Slice::from(..).step(-2))).unwrap()), [11, 9, 23, 21]);
        assert_eq!(x.at((1..2, ..)).unwrap().shape(), [1, 3, 4]);
        assert!(x.at(1).unwrap().shares_storage(&x));
        for error in [x.at((0, 3)), x.at((-3,)), x.at((0, 0, 0, 0))] {
            assert_eq!(error.unwrap_err().kind(), ErrorKind::OutOfBounds);
        }
    }
}
