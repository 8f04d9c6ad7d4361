//! Destinations: any view, in place, masked, of another dtype, and overlapping the operands. All of them must give what
//! computing into a new tensor first would give.

use crate::devices::devices;
use crate::model::arbitrary::{apart, arrangements, config, dtypes, shapes, shrunk};
use crate::model::element::{Bits, Nan, cast, download, same, upload};
use crate::model::ops::{apply, freedom, is_defined, result_dtype};
use crate::model::random::Random;
use crate::model::view::View;
use bitlane::{BinaryOp, DType, ErrorKind, Shift, Tensor, binary};
use proptest::prelude::*;

/// Returns the elements of a buffer that a view selects, broadcast to a shape.
fn seen(base: &[Bits], view: &View, shape: &[usize]) -> Vec<Bits> {
    view.broadcast_places(shape).into_iter().map(|place| base[place]).collect()
}

/// Compares a buffer with the expected one, element by element, including the gaps between the view's elements.
fn expect(dtype: DType, given: &Tensor, expected: &[Bits], nan: Nan) -> Result<(), TestCaseError> {
    for (index, (given, &expected)) in download(given).into_iter().zip(expected).enumerate() {
        prop_assert!(
            same(dtype, expected, given, nan),
            "place {index} of the destination's storage holds {given:#x}, not {expected:#x}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(800))]

    #[test]
    fn a_view_of_any_dtype_takes_the_result_where_the_mask_is_true(
        shape in shapes(),
        dtype in dtypes(),
        destination in dtypes(),
        op in prop::sample::select(BinaryOp::ALL),
        arrangement in apart(),
        lhs in arrangements(),
        mask in prop::option::of((arrangements(), 0..=8usize, any::<u8>())),
        seed in any::<u64>(),
    ) {
        let result = result_dtype(op, dtype);
        prop_assume!(is_defined(op, dtype) && result.category() <= destination.category());
        let (out_view, x_view) = (arrangement.of(&shape), lhs.of(&shape));
        let mut random = Random::new(seed);
        let x_base = random.elements(dtype, x_view.extent());
        let y_base = random.elements(dtype, shape.iter().product());
        let out_base = random.elements(destination, out_view.extent() + 3);
        let mask = mask.map(|(arrangement, dropped, ones)| {
            let view = arrangement.of(&shrunk(&shape, dropped, ones));
            let base = random.elements(DType::Bool, view.extent());
            (view, base)
        });
        let mut expected = out_base.clone();
        let x = seen(&x_base, &x_view, &shape);
        let kept = mask.as_ref().map(|(view, base)| seen(base, view, &shape));
        for (index, place) in out_view.places().into_iter().enumerate() {
            if kept.as_ref().is_none_or(|kept| kept[index] == 1) {
                let value = apply(op, dtype, x[index], y_base[index]);
                expected[place] = cast(result, destination, value);
            }
        }
        let nan = match freedom(op) {
            Nan::Exact if result != destination => Nan::SameSign,
            // Adjacent numbers of one dtype are not adjacent in another.
            Nan::Near | Nan::NearSum => {
                prop_assume!(result == destination);
                freedom(op)
            }
            nan => nan,
        };
        for device in devices() {
            let storage = upload(destination, &out_base, &[out_base.len()], &device);
            let mut out = out_view.of(&storage);
            let x = x_view.of(&upload(dtype, &x_base, &[x_base.len()], &device));
            let y = upload(dtype, &y_base, &shape, &device);
            let mask = mask.as_ref().map(|(view, base)| {
                view.of(&upload(DType::Bool, base, &[base.len()], &device))
            });
            let call = binary(op, &x, &y).out(&mut out);
            let returned = match &mask {
                Some(mask) => call.mask(mask).run(),
                None => call.run(),
            };
            let returned = returned.unwrap();
            prop_assert!(returned.shares_storage(&storage));
            prop_assert_eq!(returned.strides(), out.strides());
            expect(destination, &storage, &expected, nan)?;
        }
    }

    #[test]
    fn overlapping_what_is_read_changes_nothing(
        shape in shapes(),
        dtype in dtypes(),
        op in prop::sample::select(BinaryOp::ALL),
        out in arrangements(),
        lhs in arrangements(),
        rhs in prop::option::of(arrangements()),
        masked in any::<bool>(),
        in_place in prop::bool::weighted(0.3),
        seed in any::<u64>(),
    ) {
        prop_assume!(is_defined(op, dtype) && result_dtype(op, dtype).category() <= dtype.category());
        let out = out.of(&shape);
        let x = if in_place { out.clone() } else { lhs.of(&shape) };
        let y = rhs.map_or_else(|| x.clone(), |arrangement| arrangement.of(&shape));
        let len = [&out, &x, &y].map(View::extent).into_iter().max().unwrap();
        let base = Random::new(seed).elements(dtype, len);
        // Use a mask in the same storage as well if its dtype allows it.
        let mask = (masked && dtype == DType::Bool).then(|| y.clone());
        let mut expected = base.clone();
        let [l, r] = [&x, &y].map(|view| seen(&base, view, &shape));
        for (index, place) in out.places().into_iter().enumerate() {
            if mask.is_none() || r[index] == 1 {
                let value = apply(op, dtype, l[index], r[index]);
                expected[place] = cast(result_dtype(op, dtype), dtype, value);
            }
        }
        for device in devices() {
            let storage = upload(dtype, &base, &[len], &device);
            let mut destination = out.of(&storage);
            let mask = mask.as_ref().map(|mask| mask.of(&storage));
            let (lhs, rhs) = (x.of(&storage), y.of(&storage));
            let call = binary(op, &lhs, &rhs).out(&mut destination);
            let outcome = match &mask {
                Some(mask) => call.mask(mask).run(),
                None => call.run(),
            };
            if out.has_distinct_places() {
                prop_assert!(outcome.is_ok(), "{:?}", outcome);
                expect(dtype, &storage, &expected, freedom(op))?;
            } else {
                prop_assert_eq!(outcome.unwrap_err().kind(), ErrorKind::OverlappingDestination);
                expect(dtype, &storage, &base, Nan::Exact)?;
            }
        }
    }
}

#[test]
fn a_view_that_runs_the_other_way_is_another() {
    for device in devices() {
        // Both start at the same element, and the second row reads what the first one writes.
        let x = Tensor::arange(12, DType::I32, &device).unwrap();
        let mut out = x.as_strided(&[2, 4], &[4, 1], 3).unwrap();
        let read = x.as_strided(&[2, 4], &[4, -1], 3).unwrap();
        binary(BinaryOp::Add, &read, 100).out(&mut out).run().unwrap();
        let expected = [0, 1, 2, 103, 102, 101, 100, 107, 106, 105, 104, 11];
        assert_eq!(x.to_vec::<i32>().unwrap(), expected, "{device}");
    }
}

#[test]
fn every_operation_has_an_in_place_method() {
    for device in devices() {
        let mut listed = Vec::new();
        macro_rules! in_place {
            ($($op:ident $(($kind:ident))? $method:ident $assign:ident;)*) => {$(
                let op = BinaryOp::$op $((Shift::$kind))?;
                listed.push(op);
                let dtypes = [DType::Bool, DType::I16, DType::F32];
                let mut dtypes = dtypes.into_iter().filter(|&dtype| is_defined(op, dtype)).peekable();
                assert!(dtypes.peek().is_some(), "{op} is defined for none of the dtypes");
                for dtype in dtypes {
                    let elements = Random::new(listed.len() as u64).elements(dtype, 33);
                    let mut x = upload(dtype, &elements, &[33], &device);
                    let y = x.flip(0).unwrap().contiguous().unwrap();
                    let fresh = x.$method(&y $(, Shift::$kind)?).unwrap().cast(dtype).unwrap();
                    let shared = x.clone();
                    x.$assign(&y $(, Shift::$kind)?).unwrap();
                    assert_eq!(x.dtype(), dtype);
                    for (given, expected) in download(&shared).into_iter().zip(download(&fresh)) {
                        assert!(same(dtype, expected, given, Nan::Any), "{op} {dtype}");
                    }
                }
            )*};
        }
        in_place! {
            LeftShift(Arithmetic) bitwise_left_shift bitwise_left_shift_assign;
            RightShift(Arithmetic) bitwise_right_shift bitwise_right_shift_assign;
            LeftShift(Logical) bitwise_left_shift bitwise_left_shift_assign;
            RightShift(Logical) bitwise_right_shift bitwise_right_shift_assign;
            RotateLeft rotate_left rotate_left_assign;
            RotateRight rotate_right rotate_right_assign;
            Copysign copysign copysign_assign;
            Add add add_assign;
            Subtract subtract subtract_assign;
            Multiply multiply multiply_assign;
            Divide divide divide_assign;
            FloorDivide floor_divide floor_divide_assign;
            Remainder remainder remainder_assign;
            Pow pow pow_assign;
            Equal equal equal_assign;
            NotEqual not_equal not_equal_assign;
            LessThan less_than less_than_assign;
            LessEqual less_equal less_equal_assign;
            GreaterThan greater_than greater_than_assign;
            GreaterEqual greater_equal greater_equal_assign;
            LogicalAnd logical_and logical_and_assign;
            LogicalOr logical_or logical_or_assign;
            LogicalXor logical_xor logical_xor_assign;
            BitwiseAnd bitwise_and bitwise_and_assign;
            BitwiseOr bitwise_or bitwise_or_assign;
            BitwiseXor bitwise_xor bitwise_xor_assign;
            Maximum maximum maximum_assign;
            Minimum minimum minimum_assign;
            Fmax fmax fmax_assign;
            Fmin fmin fmin_assign;
            LogAddExp logaddexp logaddexp_assign;
            NextAfter nextafter nextafter_assign;
            Atan2 atan2 atan2_assign;
            Hypot hypot hypot_assign;
        }
        assert_eq!(listed, BinaryOp::ALL);
    }
}
