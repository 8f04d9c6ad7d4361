//! Look-ups by index, compared element by element with their definition.

use bitlane::{DType, Device, ErrorKind, Tensor};

use crate::devices::devices;
use crate::model::element::{Bits, download, upload};
use crate::model::random::Random;

/// Returns a tensor of arbitrary elements.
fn random_tensor(random: &mut Random, dtype: DType, shape: &[usize], device: &Device) -> Tensor {
    upload(dtype, &random.elements(dtype, shape.iter().product()), shape, device)
}

/// Returns indices into an axis, half of them negative.
fn random_indices(
    random: &mut Random,
    dtype: DType,
    size: usize,
    shape: &[usize],
    device: &Device,
) -> (Tensor, Vec<usize>) {
    let len = shape.iter().product();
    let places: Vec<usize> = (0..len).map(|_| random.below(size)).collect();
    let number = |(at, &place): (usize, &usize)| match at % 2 {
        0 => place as i64,
        _ => place as i64 - size as i64,
    };
    let numbers: Vec<i64> = places.iter().enumerate().map(number).collect();
    let indices = Tensor::from_slice(&numbers, shape, device).unwrap().cast(dtype).unwrap();
    (indices, places)
}

/// Takes a flat index apart, by the sizes of the dimensions.
fn coordinates(shape: &[usize], index: usize) -> Vec<usize> {
    let mut rest = index;
    let mut coordinates: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let coordinate = rest % size;
            rest /= size;
            coordinate
        })
        .collect();
    coordinates.reverse();
    coordinates
}

fn flat(shape: &[usize], coordinates: &[usize]) -> usize {
    shape.iter().zip(coordinates).fold(0, |flat, (&size, &coordinate)| flat * size + coordinate)
}

/// Views of a shape that are not all row-major.
fn views(random: &mut Random, dtype: DType, device: &Device) -> Vec<Tensor> {
    let dense = random_tensor(random, dtype, &[4, 5, 6], device);
    let turned = random_tensor(random, dtype, &[6, 4, 5], device).permute([1, 2, 0]).unwrap();
    let wide = random_tensor(random, dtype, &[4, 7, 13], device);
    let part = wide.flip(2).unwrap().narrow(2, 1, 6).unwrap().narrow(1, 2, 5).unwrap();
    let row = random_tensor(random, dtype, &[1, 5, 6], device).broadcast_to([4, 5, 6]).unwrap();
    vec![dense, turned, part, row]
}

#[test]
fn take_replaces_an_axis_by_the_dimensions_of_the_indices() {
    let mut random = Random::new(1);
    for device in devices() {
        for dtype in [DType::Bool, DType::F16, DType::I32, DType::F64, DType::C128] {
            for x in views(&mut random, dtype, &device) {
                let elements = download(&x);
                for (axis, size) in [4, 5, 6].into_iter().enumerate() {
                    for shape in [&[][..], &[7], &[2, 3], &[1, 2, 1]] {
                        let wide = [DType::I32, DType::I64][random.below(2)];
                        let (indices, places) =
                            random_indices(&mut random, wide, size, shape, &device);
                        let given = x.take(&indices, axis as i32 - 3).unwrap();
                        let (before, after) = (&x.shape()[..axis], &x.shape()[axis + 1..]);
                        assert_eq!(given.shape(), [before, shape, after].concat());
                        let expected: Vec<Bits> = (0..given.len())
                            .map(|index| {
                                let at = coordinates(given.shape(), index);
                                let (own, rest) = at[axis..].split_at(shape.len());
                                let place = places[flat(shape, own)];
                                elements[flat(x.shape(), &[&at[..axis], &[place], rest].concat())]
                            })
                            .collect();
                        assert_eq!(download(&given), expected, "{dtype} {shape:?} along {axis}");
                    }
                }
            }
        }
    }
}

#[test]
fn take_along_axis_keeps_the_place_in_the_other_dimensions() {
    let mut random = Random::new(2);
    for device in devices() {
        for dtype in [DType::U8, DType::BF16, DType::F32, DType::C64, DType::C128] {
            for x in views(&mut random, dtype, &device) {
                let elements = download(&x);
                for (axis, size) in [4, 5, 6].into_iter().enumerate() {
                    let mut shape = x.shape().to_vec();
                    shape[axis] = 3;
                    // The indices are broadcast along another axis, or are a permuted view.
                    let mut own = shape.clone();
                    own[(axis + 1) % 3] = 1;
                    let (indices, _) = random_indices(&mut random, DType::I64, size, &own, &device);
                    let (other, _) = random_indices(
                        &mut random,
                        DType::I32,
                        size,
                        &[shape[2], shape[0], shape[1]],
                        &device,
                    );
                    for indices in [indices, other.permute([1, 2, 0]).unwrap()] {
                        let given = x.take_along_axis(&indices, axis).unwrap();
                        assert_eq!(given.shape(), shape);
                        let everywhere = indices.broadcast_to(&*shape).unwrap();
                        let numbers = everywhere.cast(DType::I64).unwrap().to_vec::<i64>().unwrap();
                        let expected: Vec<Bits> = (0..given.len())
                            .map(|index| {
                                let mut at = coordinates(&shape, index);
                                at[axis] = numbers[index].rem_euclid(size as i64) as usize;
                                elements[flat(x.shape(), &at)]
                            })
                            .collect();
                        assert_eq!(download(&given), expected, "{dtype} along {axis}");
                    }
                }
            }
        }
    }
}

#[test]
fn many_elements_by_many_threads() {
    for device in devices() {
        let rows = if device.to_string() == "cpu" { 30_000 } else { 300 };
        let x =
            Tensor::arange(rows * 20, DType::I32, &device).unwrap().reshape([rows, 20]).unwrap();
        let places: Vec<i64> = (0..rows as i64).map(|row| row * 7919 % rows as i64).collect();
        let indices = Tensor::from_slice(&places, [rows], &device).unwrap();
        let taken = x.take(&indices, 0).unwrap().to_vec::<i32>().unwrap();
        for (row, &place) in taken.chunks(20).zip(&places) {
            assert!(
                row.iter().enumerate().all(|(at, &value)| value == place as i32 * 20 + at as i32)
            );
        }
        let turned = x.transpose(0, 1).unwrap().take(&indices, 1).unwrap();
        let columns = turned.transpose(0, 1).unwrap().contiguous().unwrap();
        assert_eq!(columns.to_vec::<i32>().unwrap(), taken);
    }
}

#[test]
fn an_index_out_of_range_is_named_or_clamped() {
    for device in devices() {
        let x = Tensor::from_nested([[1, 2, 3], [4, 5, 6]], &device).unwrap();
        for (wrong, clamped) in [(3, 3), (-4, 1), (i32::MAX, 3), (i32::MIN, 1)] {
            let indices = Tensor::from_slice(&[0, wrong], [2], &device).unwrap();
            let error = x.take(&indices, 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfBounds);
            assert_eq!(error.to_string(), format!("take: index {wrong} of axis 1 of size 3"));
            let row = indices.reshape([1, 2]).unwrap();
            let error = x.take_along_axis(&row, 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfBounds);
            let given = x.take_clamped(&indices, 1).unwrap().to_vec::<i32>().unwrap();
            assert_eq!(given, [1, clamped, 4, clamped + 3]);
        }
        let far = Tensor::from_slice(&[i64::MIN, i64::MAX], [2], &device).unwrap();
        assert_eq!(x.take(&far, 0).unwrap_err().kind(), ErrorKind::OutOfBounds);
        let given = x.take_clamped(&far, 0).unwrap().to_vec::<i32>().unwrap();
        assert_eq!(given, [1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn nothing_and_what_is_refused() {
    for device in devices() {
        let kind = |result: Result<Tensor, bitlane::Error>| result.unwrap_err().kind();
        let x = Tensor::zeros([2, 3], DType::F32, &device).unwrap();
        let none = Tensor::zeros([0], DType::I64, &device).unwrap();
        let first = Tensor::zeros([1], DType::I64, &device).unwrap();
        assert_eq!(x.take(&none, 0).unwrap().shape(), [0, 3]);
        let empty = Tensor::zeros([2, 0], DType::F32, &device).unwrap();
        assert_eq!(empty.take(&none, 1).unwrap().shape(), [2, 0]);
        assert_eq!(empty.take(&first, 0).unwrap().shape(), [1, 0]);
        assert_eq!(kind(empty.take(&first, 1)), ErrorKind::OutOfBounds);
        assert_eq!(kind(empty.take_clamped(&first, 1)), ErrorKind::OutOfBounds);
        assert_eq!(kind(x.take(&first, 2)), ErrorKind::OutOfBounds);
        for dtype in [DType::U8, DType::F32, DType::Bool, DType::U64] {
            let indices = first.cast(dtype).unwrap();
            assert_eq!(kind(x.take(&indices, 0)), ErrorKind::UnsupportedDType);
            assert_eq!(kind(x.take_clamped(&indices, 0)), ErrorKind::UnsupportedDType);
        }
        assert_eq!(kind(x.take_along_axis(&first, 0)), ErrorKind::InvalidShape);
        let wrong = Tensor::zeros([4, 1], DType::I64, &device).unwrap();
        assert_eq!(kind(x.take_along_axis(&wrong, 1)), ErrorKind::Broadcast);
        let eight = Tensor::zeros([1; 8], DType::I64, &device).unwrap();
        assert_eq!(kind(x.take(&eight, 0)), ErrorKind::InvalidShape);
        let scalar = Tensor::ones((), DType::F32, &device).unwrap();
        assert_eq!(kind(scalar.take(&first, 0)), ErrorKind::OutOfBounds);
        if let Some(other) = devices().into_iter().find(|other| *other != device) {
            let elsewhere = Tensor::zeros([1], DType::I64, &other).unwrap();
            assert_eq!(kind(x.take(&elsewhere, 0)), ErrorKind::DeviceMismatch);
            assert_eq!(kind(x.take_clamped(&elsewhere, 0)), ErrorKind::DeviceMismatch);
        }
    }
}

#[test]
fn what_is_not_zero_is_found_in_row_major_order() {
    let mut random = Random::new(3);
    for device in devices() {
        for dtype in [DType::Bool, DType::I8, DType::F32, DType::C64] {
            for shape in [&[4000][..], &[30, 70], &[5, 6, 7], &[2; 8]] {
                let zero_or = |bits: Bits, zero: bool| if zero { 0 } else { bits };
                let len = shape.iter().product();
                let elements: Vec<Bits> = random.elements(dtype, len);
                let elements: Vec<Bits> =
                    elements.into_iter().map(|bits| zero_or(bits, random.below(3) > 0)).collect();
                let dense = upload(dtype, &elements, shape, &device);
                let order: Vec<usize> = (0..shape.len()).rev().collect();
                for x in [dense.permute(&order).unwrap(), dense] {
                    let truth = x.cast(DType::Bool).unwrap().to_vec::<bool>().unwrap();
                    let places: Vec<usize> =
                        (0..truth.len()).filter(|&place| truth[place]).collect();
                    let given = x.nonzero().unwrap();
                    assert_eq!(given.len(), x.rank());
                    for (axis, given) in given.iter().enumerate() {
                        let at = |&place: &usize| coordinates(x.shape(), place)[axis] as i64;
                        let expected: Vec<i64> = places.iter().map(at).collect();
                        assert_eq!(given.to_vec::<i64>().unwrap(), expected, "{dtype} {axis}");
                    }
                    // The elements at these places are those that a mask selects.
                    let chosen = x.compress(&x.cast(DType::Bool).unwrap()).unwrap();
                    let all = download(&x);
                    let expected: Vec<Bits> = places.iter().map(|&place| all[place]).collect();
                    assert_eq!((chosen.rank(), download(&chosen)), (1, expected), "{dtype}");
                }
            }
        }
    }
}

/// So many places that several threads find them, each its own part of them.
#[test]
fn many_places_are_in_order() {
    for device in devices() {
        let len = 1_000_003;
        let x = Tensor::arange(len, DType::I32, &device).unwrap();
        for step in [1, 2, 7, 300_000] {
            // The first part has many, the second few.
            let is_first = x.less_than(400_001).unwrap();
            let mask = (&x % step).unwrap().equal(step - 1).unwrap();
            let mask = mask.logical_and(&is_first).unwrap().logical_or(x.equal(900_000).unwrap());
            let mask = mask.unwrap();
            let expected = (0..len as i64)
                .filter(|k| (*k < 400_001 && k % step == step - 1) || *k == 900_000)
                .collect::<Vec<_>>();
            assert_eq!(mask.nonzero().unwrap()[0].to_vec::<i64>().unwrap(), expected, "{step}");
            let chosen = x.compress(&mask).unwrap().to_vec::<i32>().unwrap();
            assert!(chosen.into_iter().map(i64::from).eq(expected), "{step}");
        }
    }
}

#[test]
fn masks_are_broadcast_and_may_select_nothing() {
    for device in devices() {
        let x = Tensor::from_nested([[1, 2, 3], [4, 5, 6]], &device).unwrap();
        let columns = Tensor::from_nested([true, false, true], &device).unwrap();
        assert_eq!(x.compress(&columns).unwrap().to_vec::<i32>().unwrap(), [1, 3, 4, 6]);
        let rows = Tensor::from_nested([[false], [true]], &device).unwrap();
        assert_eq!(x.compress(&rows).unwrap().to_vec::<i32>().unwrap(), [4, 5, 6]);
        let none = Tensor::zeros((), DType::Bool, &device).unwrap();
        assert_eq!(x.compress(&none).unwrap().shape(), [0]);
        assert_eq!(x.compress(&none).unwrap().dtype(), DType::I32);
        let kind = |mask: &Tensor| x.compress(mask).unwrap_err().kind();
        assert_eq!(kind(&x), ErrorKind::InvalidArgument);
        assert_eq!(kind(&Tensor::ones([2], DType::Bool, &device).unwrap()), ErrorKind::Broadcast);
        let larger = Tensor::ones([2, 2, 3], DType::Bool, &device).unwrap();
        assert_eq!(kind(&larger), ErrorKind::Broadcast);
        let empty = Tensor::zeros([0, 4], DType::F32, &device).unwrap();
        assert!(empty.nonzero().unwrap().iter().all(|places| places.shape() == [0]));
        let scalar = Tensor::ones((), DType::F32, &device).unwrap();
        assert_eq!(scalar.nonzero().unwrap().len(), 0);
        let truth = Tensor::ones((), DType::Bool, &device).unwrap();
        assert_eq!(scalar.compress(&truth).unwrap().to_vec::<f32>().unwrap(), [1.0]);
    }
}
