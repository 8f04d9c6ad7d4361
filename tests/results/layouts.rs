//! Views, each compared with the same rearrangement done element by element on a plain array.

use crate::devices::devices;
use crate::model::arbitrary::config;
use crate::model::view::View;
use bitlane::{DType, Slice, Tensor};
use proptest::prelude::*;

/// A plain array, in row-major order.
#[derive(Clone, Debug, PartialEq)]
struct Plain {
    shape: Vec<usize>,
    elements: Vec<u32>,
}

impl Plain {
    /// Returns a new array whose element at each index is the old array's element at the index that `old` gives.
    fn rearranged(&self, shape: &[usize], old: impl Fn(&[usize]) -> Vec<usize>) -> Plain {
        let strides = View::row_major(&self.shape).strides;
        let len = shape.iter().product();
        let elements = (0..len).map(|position: usize| {
            let mut rest = position;
            let mut index = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            let old = old(&index);
            assert_eq!(old.len(), self.shape.len());
            let place: usize = old.iter().zip(&strides).map(|(&i, &s)| i * s as usize).sum();
            self.elements[place]
        });
        Plain { shape: shape.to_vec(), elements: elements.collect() }
    }
}

/// A step of a chain of views; its numbers are reduced to what the tensor allows.
#[derive(Clone, Debug)]
enum Step {
    Transpose(usize, usize),
    Permute(Vec<u8>),
    Unsqueeze(usize),
    Squeeze(usize),
    Narrow(usize, usize, usize),
    Slice(usize, Option<isize>, Option<isize>, isize),
    Flip(usize),
    BroadcastFront(usize),
    BroadcastOne(usize, usize),
    Merge(usize),
    Split(usize, usize),
}

fn steps() -> impl Strategy<Value = Step> {
    let axis = || 0..8usize;
    let end = || prop::option::of(-9..9isize);
    prop_oneof![
        (axis(), axis()).prop_map(|(a, b)| Step::Transpose(a, b)),
        prop::collection::vec(any::<u8>(), 8).prop_map(Step::Permute),
        axis().prop_map(Step::Unsqueeze),
        axis().prop_map(Step::Squeeze),
        (axis(), axis(), axis()).prop_map(|(a, s, l)| Step::Narrow(a, s, l)),
        (axis(), end(), end(), -3..=3isize).prop_map(|(a, s, e, by)| Step::Slice(a, s, e, by)),
        axis().prop_map(Step::Flip),
        (0..3usize).prop_map(Step::BroadcastFront),
        (axis(), 0..4usize).prop_map(|(a, size)| Step::BroadcastOne(a, size)),
        axis().prop_map(Step::Merge),
        (axis(), 2..4usize).prop_map(|(a, by)| Step::Split(a, by)),
    ]
}

/// Returns the indices that a Python slice selects from an axis, as its documentation defines them.
fn sliced(size: usize, start: Option<isize>, end: Option<isize>, step: isize) -> Vec<usize> {
    let size = size as isize;
    let from_back = |end: isize| if end < 0 { end + size } else { end };
    let mut taken = Vec::new();
    if step > 0 {
        let mut at = start.map_or(0, from_back).max(0);
        while at < end.map_or(size, from_back).min(size) {
            taken.push(at as usize);
            at += step;
        }
    } else {
        let mut at = start.map_or(size - 1, from_back).min(size - 1);
        while at > end.map_or(-1, |end| from_back(end).max(-1)) && at >= 0 {
            taken.push(at as usize);
            at += step;
        }
    }
    taken
}

/// Applies a step to both; `None` if it does not apply.
fn take(step: &Step, tensor: &Tensor, plain: &Plain) -> Option<(Tensor, Plain)> {
    let rank = plain.shape.len();
    let axis_of = |axis: usize| (rank > 0).then(|| axis % rank);
    let with = |axis: usize, size: usize| {
        let mut shape = plain.shape.clone();
        shape[axis] = size;
        shape
    };
    let moved = |index: &[usize], axis: usize, to: usize| {
        let mut old = index.to_vec();
        old[axis] = to;
        old
    };
    let swap_remove = |index: &[usize], axis: usize| {
        let mut old = index.to_vec();
        old.remove(axis);
        old
    };
    Some(match *step {
        Step::Transpose(first, second) => {
            let (first, second) = (axis_of(first)?, axis_of(second)?);
            let mut shape = plain.shape.clone();
            shape.swap(first, second);
            let plain = plain.rearranged(&shape, |index| {
                let mut old = index.to_vec();
                old.swap(first, second);
                old
            });
            (tensor.transpose(first, second).unwrap(), plain)
        }
        Step::Permute(ref keys) => {
            let mut order: Vec<_> = (0..rank).collect();
            order.sort_by_key(|&axis| keys[axis]);
            let shape: Vec<_> = order.iter().map(|&axis| plain.shape[axis]).collect();
            let plain = plain.rearranged(&shape, |index| {
                let mut old = vec![0; rank];
                order.iter().zip(index).for_each(|(&axis, &at)| old[axis] = at);
                old
            });
            (tensor.permute(&order).unwrap(), plain)
        }
        Step::Unsqueeze(axis) => {
            let axis = (rank < 8).then(|| axis % (rank + 1))?;
            let mut shape = plain.shape.clone();
            shape.insert(axis, 1);
            let plain = plain.rearranged(&shape, |index| swap_remove(index, axis));
            (tensor.unsqueeze(axis).unwrap(), plain)
        }
        Step::Squeeze(axis) => {
            let axis = axis_of(axis).filter(|&axis| plain.shape[axis] == 1)?;
            let shape = swap_remove(&plain.shape, axis);
            let plain = plain.rearranged(&shape, |index| {
                let mut old = index.to_vec();
                old.insert(axis, 0);
                old
            });
            (tensor.squeeze(axis).unwrap(), plain)
        }
        Step::Narrow(axis, start, len) => {
            let axis = axis_of(axis)?;
            let start = start.min(plain.shape[axis]);
            let len = len.min(plain.shape[axis] - start);
            let plain =
                plain.rearranged(&with(axis, len), |index| moved(index, axis, start + index[axis]));
            (tensor.narrow(axis, start, len).unwrap(), plain)
        }
        Step::Slice(axis, start, end, step) => {
            let axis = axis_of(axis).filter(|_| step != 0)?;
            let taken = sliced(plain.shape[axis], start, end, step);
            let plain = plain.rearranged(&with(axis, taken.len()), |index| {
                moved(index, axis, taken[index[axis]])
            });
            (tensor.slice(axis, Slice::new(start, end, step)).unwrap(), plain)
        }
        Step::Flip(axis) => {
            let axis = axis_of(axis)?;
            let size = plain.shape[axis];
            let plain =
                plain.rearranged(&plain.shape, |index| moved(index, axis, size - 1 - index[axis]));
            (tensor.flip(axis).unwrap(), plain)
        }
        Step::BroadcastFront(size) => {
            let mut shape = (rank < 8).then(|| plain.shape.clone())?;
            shape.insert(0, size);
            let plain = plain.rearranged(&shape, |index| index[1..].to_vec());
            (tensor.broadcast_to(&shape).unwrap(), plain)
        }
        Step::BroadcastOne(axis, size) => {
            let axis = axis_of(axis).filter(|&axis| plain.shape[axis] == 1)?;
            let shape = with(axis, size);
            let plain = plain.rearranged(&shape, |index| moved(index, axis, 0));
            (tensor.broadcast_to(shape).unwrap(), plain)
        }
        Step::Merge(axis) => {
            let axis = (rank > 1).then(|| axis % (rank - 1))?;
            let mut shape = plain.shape.clone();
            shape[axis] *= shape.remove(axis + 1);
            let (sizes, strides) = (tensor.shape(), tensor.strides());
            let next_is_behind = strides[axis] == strides[axis + 1] * sizes[axis + 1] as isize;
            if next_is_behind || sizes[axis] == 1 || sizes[axis + 1] == 1 || tensor.is_empty() {
                assert!(tensor.reshape(&shape).unwrap().shares_storage(tensor));
            }
            (reshaped(tensor, &shape), Plain { shape, ..plain.clone() })
        }
        Step::Split(axis, by) => {
            let axis = axis_of(axis).filter(|_| rank < 8)?;
            let size = plain.shape[axis];
            let mut shape = size.is_multiple_of(by).then(|| plain.shape.clone())?;
            shape[axis] = size / by;
            shape.insert(axis + 1, by);
            (tensor.reshape(&shape).unwrap(), Plain { shape, ..plain.clone() })
        }
    })
}

/// Reshapes a tensor, copying it first if its strides do not allow a view; checks that only then a copy is needed.
fn reshaped(tensor: &Tensor, shape: &[usize]) -> Tensor {
    tensor.reshape(shape).unwrap_or_else(|error| {
        assert!(error.to_string().ends_with("call `contiguous` first"), "{error}");
        assert!(!tensor.is_contiguous());
        tensor.contiguous().unwrap().reshape(shape).unwrap()
    })
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn a_chain_of_views_is_the_chain_of_rearrangements(
        shape in prop::collection::vec(prop_oneof![1 => Just(0usize), 9 => 1..=4usize], 0..=4),
        steps in prop::collection::vec(steps(), 1..8),
    ) {
        for device in devices() {
            let len: usize = shape.iter().product();
            let elements: Vec<u32> = (0..len as u32).collect();
            let mut tensor = Tensor::from_slice(&elements, &shape, &device).unwrap();
            let mut plain = Plain { shape: shape.clone(), elements };
            for step in &steps {
                let Some((next, expected)) = take(step, &tensor, &plain) else { continue };
                if expected.elements.len() > 2000 {
                    break;
                }
                prop_assert_eq!(next.shape(), &*expected.shape, "{:?} of {:?}", step, tensor);
                prop_assert_eq!(next.len(), expected.elements.len());
                prop_assert_eq!(next.rank(), expected.shape.len());
                prop_assert_eq!(
                    &next.to_vec::<u32>().unwrap(), &expected.elements, "{:?} of {:?}", step, tensor
                );
                if !matches!(step, Step::Merge(_)) {
                    prop_assert!(next.shares_storage(&tensor), "{:?} copied {:?}", step, tensor);
                }
                (tensor, plain) = (next, expected);
            }
        }
    }

    #[test]
    fn a_reshape_that_strides_allow_never_copies(
        shape in prop::collection::vec(1..=4usize, 0..=5),
        split in prop::collection::vec(any::<bool>(), 5),
    ) {
        // Every regrouping of the dimensions of a contiguous tensor is a view.
        let mut grouped: Vec<usize> = Vec::new();
        for (&size, &joins) in shape.iter().zip(&split) {
            match grouped.last_mut() {
                Some(last) if joins => *last *= size,
                _ => grouped.push(size),
            }
        }
        for device in devices() {
            let tensor = Tensor::zeros(&shape, DType::U16, &device).unwrap();
            let view = tensor.reshape(&grouped).unwrap();
            prop_assert!(view.shares_storage(&tensor) && view.is_contiguous());
            let back = view.reshape(&shape).unwrap();
            prop_assert_eq!(back.shape(), tensor.shape());
        }
    }
}

#[test]
fn what_is_written_through_a_view_is_seen_through_all() {
    for device in devices() {
        let x = Tensor::arange(12, DType::I32, &device).unwrap().reshape([3, 4]).unwrap();
        let mut corner = x.slice(0, 1..).unwrap().slice(1, Slice::from(..).step(-2)).unwrap();
        corner.multiply_assign(-1).unwrap();
        let expected = [0, 1, 2, 3, 4, -5, 6, -7, 8, -9, 10, -11];
        assert_eq!(x.to_vec::<i32>().unwrap(), expected);
        assert_eq!(corner.to_vec::<i32>().unwrap(), [-7, -5, -11, -9]);
        assert_eq!(x.clone().to_vec::<i32>().unwrap(), expected);
    }
}
