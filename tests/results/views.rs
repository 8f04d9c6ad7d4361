//! Operations on random views of random shapes, compared with the definition for one element: zero and negative
//! strides, offsets, overlapping elements, and both operands in one storage.

use crate::devices::devices;
use crate::model::arbitrary::{Arrangement, arrangements, config, dtypes, shapes, shrunk};
use crate::model::element::{Bits, Nan, cast, download, integer, same, upload};
use crate::model::ops::{apply, freedom, is_negative, result_dtype};
use crate::model::random::Random;
use crate::model::view::{View, broadcast};
use bitlane::promote::{Kind, result_type};
use bitlane::{BinaryOp, DType, Rules, Tensor, binary};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Operand {
    dtype: DType,
    dropped: usize,
    ones: u8,
    arrangement: Arrangement,
}

fn operands() -> impl Strategy<Value = Operand> {
    let dropped = prop_oneof![2 => Just(0usize), 1 => 0..=8usize];
    let ones = prop_oneof![2 => Just(0u8), 1 => any::<u8>()];
    (dtypes(), dropped, ones, arrangements()).prop_map(|(dtype, dropped, ones, arrangement)| {
        Operand { dtype, dropped, ones, arrangement }
    })
}

/// Returns the dtype in which an operation on two tensors computes; the rulebook has allowed the pair.
fn compute_dtype(op: BinaryOp, lhs: &Tensor, rhs: &Tensor, rules: Rules) -> DType {
    use BinaryOp::*;
    match op {
        LogicalAnd | LogicalOr | LogicalXor => {
            let select: bitlane::promote::Op = "select".parse().unwrap();
            result_type(select, lhs, rhs, rules).or(result_type(Add, lhs, rhs, rules))
        }
        Equal | NotEqual | LessThan | LessEqual | GreaterThan | GreaterEqual => {
            result_type(Add, lhs, rhs, rules)
        }
        _ => result_type(op, lhs, rhs, rules),
    }
    // Torch compares a half float with a complex number, although their sum would have a dtype that the crate lacks.
    .unwrap_or(DType::C64)
}

/// Returns the result for two elements by the specification.
fn expected(op: BinaryOp, compute: DType, x: (DType, Bits), y: (DType, Bits)) -> Bits {
    let is_comparison = matches!(
        op,
        BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::LessThan
            | BinaryOp::LessEqual
            | BinaryOp::GreaterThan
            | BinaryOp::GreaterEqual
    );
    if is_comparison && x.0.is_int() && y.0.is_int() {
        // Integers are compared exactly: replace them by two small numbers in the same order.
        let order = integer(x.0, x.1).cmp(&integer(y.0, y.1)) as i128;
        return apply(op, DType::I8, (order + 1) as Bits, 1);
    }
    apply(op, compute, cast(x.0, compute, x.1), cast(y.0, compute, y.1))
}

fn check(
    op: BinaryOp,
    rules: Rules,
    (x, x_places): (&Tensor, Vec<Bits>),
    (y, y_places): (&Tensor, Vec<Bits>),
    shape: &[usize],
) -> Result<(), TestCaseError> {
    let announced = result_type(op, x, y, rules);
    let result = match binary(op, x, y).rules(rules).run() {
        Ok(result) => result,
        Err(error) => {
            prop_assert_eq!(announced.map_err(|error| error.to_string()), Err(error.to_string()));
            return Ok(());
        }
    };
    let compute = compute_dtype(op, x, y, rules);
    prop_assert_eq!(result.shape(), shape);
    prop_assert!(result.is_contiguous());
    prop_assert_eq!(result.dtype(), result_dtype(op, compute));
    let converted = x.dtype() != compute;
    let nan = match op {
        BinaryOp::Copysign if converted => Nan::SameSign,
        op => freedom(op),
    };
    let given = download(&result);
    prop_assert_eq!(given.len(), x_places.len());
    for (index, given) in given.into_iter().enumerate() {
        let (l, r) = (x_places[index], y_places[index]);
        let expected = expected(op, compute, (x.dtype(), l), (y.dtype(), r));
        prop_assert!(
            same(result.dtype(), expected, given, nan),
            "{op} of {} {l:#x} and {} {r:#x} in {compute}: {given:#x}, not {expected:#x} (element {index})",
            x.dtype(),
            y.dtype()
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn random_views_of_any_two_dtypes(
        shape in shapes(),
        lhs in operands(),
        rhs in operands(),
        equal_dtypes in prop::bool::weighted(0.6),
        op in prop::sample::select(BinaryOp::ALL),
        rules in prop::sample::select(Rules::ALL),
        seed in any::<u64>(),
    ) {
        let rhs_dtype = if equal_dtypes { lhs.dtype } else { rhs.dtype };
        let views = [&lhs, &rhs].map(|operand| {
            operand.arrangement.of(&shrunk(&shape, operand.dropped, operand.ones))
        });
        let shape = broadcast(&views[0].shape, &views[1].shape).unwrap();
        let mut random = Random::new(seed);
        for device in devices() {
            let mut build = |dtype: DType, view: &View| {
                let base = random.elements(dtype, view.extent() + 2);
                let tensor = view.of(&upload(dtype, &base, &[base.len()], &device));
                let places = view.broadcast_places(&shape);
                (tensor, places.into_iter().map(|place| base[place]).collect::<Vec<_>>())
            };
            let (x, x_places) = build(lhs.dtype, &views[0]);
            let (y, y_places) = build(rhs_dtype, &views[1]);
            check(op, rules, (&x, x_places), (&y, y_places), &shape)?;
        }
    }

    #[test]
    fn two_views_of_one_storage(
        shape in shapes(),
        lhs in operands(),
        rhs in operands(),
        op in prop::sample::select(BinaryOp::ALL),
        seed in any::<u64>(),
    ) {
        let dtype = lhs.dtype;
        let views = [&lhs, &rhs].map(|operand| {
            operand.arrangement.of(&shrunk(&shape, operand.dropped, operand.ones))
        });
        let shape = broadcast(&views[0].shape, &views[1].shape).unwrap();
        let len = views[0].extent().max(views[1].extent());
        let base = Random::new(seed).elements(dtype, len);
        for device in devices() {
            let tensor = upload(dtype, &base, &[len], &device);
            let [x, y] = [&views[0], &views[1]].map(|view| {
                let places = view.broadcast_places(&shape);
                let elements: Vec<_> = places.into_iter().map(|place| base[place]).collect();
                (view.of(&tensor), elements)
            });
            check(op, Rules::Paddle, (&x.0, x.1), (&y.0, y.1), &shape)?;
            prop_assert_eq!(&download(&tensor), &base, "an operand was written to");
        }
    }

    #[test]
    fn a_copy_a_cast_and_a_sign_of_a_random_view(
        shape in shapes(),
        from in dtypes(),
        to in dtypes(),
        arrangement in arrangements(),
        seed in any::<u64>(),
    ) {
        let view = arrangement.of(&shape);
        let base = Random::new(seed).elements(from, view.extent());
        let elements: Vec<_> = view.places().into_iter().map(|place| base[place]).collect();
        for device in devices() {
            let x = view.of(&upload(from, &base, &[base.len()], &device));
            prop_assert_eq!((x.shape(), x.strides()), (&*view.shape, &*view.strides));
            prop_assert_eq!(&download(&x), &elements);
            let copy = x.contiguous().unwrap();
            prop_assert!(copy.is_contiguous());
            prop_assert_eq!(copy.shares_storage(&x), x.is_contiguous());
            prop_assert_eq!(&download(&copy), &elements);
            prop_assert_eq!(&download(&x.to_device(&device).unwrap()), &elements);
            let nan = if from == to { Nan::Exact } else { Nan::SameSign };
            for (&bits, given) in elements.iter().zip(download(&x.cast(to).unwrap())) {
                let expected = cast(from, to, bits);
                prop_assert!(same(to, expected, given, nan), "{from} {bits:#x} to {to}: {given:#x}");
            }
            if !from.is_complex() {
                let signs = elements.iter().map(|&bits| is_negative(from, bits));
                prop_assert_eq!(x.signbit().unwrap().to_vec::<bool>().unwrap(), signs.collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn kinds_follow_the_rank() {
    for device in devices() {
        let x = Tensor::zeros([2, 1], DType::I8, &device).unwrap();
        assert_eq!(Kind::from(&x), Kind::tensor(DType::I8));
        assert_eq!(Kind::from(&x.as_strided(&[], &[], 1).unwrap()), Kind::zero_d(DType::I8));
    }
}
