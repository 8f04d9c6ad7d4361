//! Unary operations, select and losses, compared element by element with the model.

use crate::devices::{devices, is_tried};
use crate::model::element::{Bits, Nan, cast, download, edge_values, same, upload};
use crate::model::functions::{is_near, nearest, value};
use crate::model::losses::{Loss, loss as one_loss, reduced};
use crate::model::random::Random;
use crate::model::{ternary, unary};
use bitlane::loss::{self, PoissonNll, Reduction};
use bitlane::promote::unary_result_type;
use bitlane::{DType, Device, ErrorKind, Result, Rules, Tensor, UnaryOp, select};

const FLOATS: [DType; 6] =
    [DType::F8E4M3FN, DType::F8E5M2, DType::F16, DType::BF16, DType::F32, DType::F64];

/// How many dtypes each unary operation is defined for (docs/semantics.md). Counted by hand, so that a pair that the
/// model leaves out, and that would therefore not be tested, is noticed.
const DEFINED: [(usize, UnaryOp); 43] = [
    (16, UnaryOp::Abs),
    (16, UnaryOp::Negative),
    (9, UnaryOp::BitwiseNot),
    (17, UnaryOp::LogicalNot),
    (15, UnaryOp::Signbit),
    (14, UnaryOp::Sign),
    (16, UnaryOp::Square),
    (8, UnaryOp::Reciprocal),
    (14, UnaryOp::Floor),
    (14, UnaryOp::Ceil),
    (14, UnaryOp::Trunc),
    (14, UnaryOp::Round),
    (17, UnaryOp::IsNan),
    (17, UnaryOp::IsInf),
    (17, UnaryOp::IsFinite),
    (8, UnaryOp::CountOnes),
    (8, UnaryOp::LeadingZeros),
    (8, UnaryOp::TrailingZeros),
    (8, UnaryOp::ReverseBits),
    (8, UnaryOp::SwapBytes),
    (2, UnaryOp::Real),
    (2, UnaryOp::Imag),
    (2, UnaryOp::Conj),
    (6, UnaryOp::Sqrt),
    (6, UnaryOp::Sin),
    (6, UnaryOp::Cos),
    (6, UnaryOp::Tan),
    (6, UnaryOp::Asin),
    (6, UnaryOp::Acos),
    (6, UnaryOp::Atan),
    (6, UnaryOp::Exp),
    (6, UnaryOp::Log),
    (6, UnaryOp::Exp2),
    (6, UnaryOp::Expm1),
    (6, UnaryOp::Log2),
    (6, UnaryOp::Log10),
    (6, UnaryOp::Log1p),
    (6, UnaryOp::Sinh),
    (6, UnaryOp::Cosh),
    (6, UnaryOp::Tanh),
    (6, UnaryOp::Asinh),
    (6, UnaryOp::Acosh),
    (6, UnaryOp::Atanh),
];

#[test]
fn every_unary_operation_is_defined_for_the_dtypes_of_its_domain() {
    assert_eq!(DEFINED.len(), UnaryOp::ALL.len());
    for (count, op) in DEFINED {
        let defined = DType::ALL.iter().filter(|&&dtype| unary::is_defined(op, dtype));
        assert_eq!(defined.count(), count, "{op}");
    }
}

#[test]
fn unary_operations_see_every_edge_in_every_layout() {
    for device in devices() {
        for &op in UnaryOp::ALL {
            for &dtype in DType::ALL {
                let mut elements = edge_values(dtype);
                elements.truncate(elements.len() & !1);
                let x = upload(dtype, &elements, &[2, elements.len() / 2], &device);
                for &rules in Rules::ALL {
                    let compute = unary::compute_dtype(op, dtype, rules);
                    let expected = compute.map(|compute| unary::result_dtype(op, compute));
                    let result = unary_result_type(op, dtype, rules);
                    assert_eq!(result.ok(), expected, "{op} {dtype} {rules}");
                }
                // The rulebooks differ in the float to which they convert an integer, and take turns.
                let rules = Rules::ALL[(op as usize + dtype as usize) % Rules::ALL.len()];
                let Some(compute) = unary::compute_dtype(op, dtype, rules) else {
                    let error = bitlane::unary(op, &x).rules(rules).run().unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::UnsupportedDType, "{op} {dtype}");
                    continue;
                };
                let to = unary::result_dtype(op, compute);
                let column = x.transpose(0, 1).unwrap();
                let alone = x.narrow(0, 1, 1).unwrap().narrow(1, 0, 1).unwrap();
                for (_, (view, layout)) in [
                    (x.clone(), "dense"),
                    (column.clone(), "transposed"),
                    (x.flip(1).unwrap(), "backwards"),
                    (column.broadcast_to([3, elements.len() / 2, 2]).unwrap(), "broadcast"),
                    (alone.reshape(()).unwrap(), "0-d"),
                    (x.narrow(1, 0, 0).unwrap(), "empty"),
                ]
                .into_iter()
                .enumerate()
                .filter(|(place, _)| is_tried(&device, place + op as usize + dtype as usize))
                {
                    let result = bitlane::unary(op, &view).rules(rules).run().unwrap();
                    assert_eq!((result.dtype(), result.shape()), (to, view.shape()), "{op}");
                    let elements = download(&view).into_iter();
                    let freedom = unary::freedom(op, compute);
                    for (given, bits) in download(&result).into_iter().zip(elements) {
                        let expected = unary::apply(op, compute, cast(dtype, compute, bits));
                        assert!(
                            same(to, expected, given, freedom),
                            "{op} of {dtype} {bits:#x}, {layout}, on {device}: {given:#x}, not {expected:#x}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn prefix_operators_are_unary_operations() {
    for device in devices() {
        let x = Tensor::from_nested([[1, -2], [3, i32::MIN]], &device).unwrap();
        let is = |result: Result<Tensor>, op| {
            let expected = bitlane::unary(op, &x).run().unwrap();
            assert!(result.unwrap().bits_equal(&expected).unwrap());
        };
        is(-&x, UnaryOp::Negative);
        is(-x.clone(), UnaryOp::Negative);
        is(!&x, UnaryOp::BitwiseNot);
        is(!x.clone(), UnaryOp::BitwiseNot);
        is((-x.expr()).run(), UnaryOp::Negative);
        is((!x.expr()).run(), UnaryOp::BitwiseNot);
    }
}

#[test]
fn unary_operations_have_destinations_and_masks() {
    for device in devices() {
        let x = Tensor::from_slice(&[-1.5f32, 2.5, -0.0, 4.0], [2, 2], &device).unwrap();
        let mask = Tensor::from_slice(&[true, false], [2], &device).unwrap();
        for &op in UnaryOp::ALL.iter().filter(|&&op| unary::is_defined(op, DType::F32)) {
            let expected = bitlane::unary(op, &x).run().unwrap().cast(DType::F32).unwrap();
            // A destination of a higher category, a view, and the operand itself.
            let mut room = Tensor::full([2, 4], 7, DType::F32, &device).unwrap();
            let mut out = room.narrow(1, 1, 2).unwrap();
            bitlane::unary(op, &x).rules(Rules::Jax).out(&mut out).mask(&mask).run().unwrap();
            let sevens = Tensor::full([2, 2], 7, DType::F32, &device).unwrap();
            let merged = select(&mask, &expected, &sevens).unwrap();
            assert!(out.bits_equal(&merged).unwrap(), "{op} under a mask");
            room.fill(0).unwrap();
            let mut own = x.copy().unwrap();
            let result = bitlane::unary(op, &own.clone()).out(&mut own).run().unwrap();
            assert!(result.shares_storage(&own) && own.bits_equal(&expected).unwrap(), "{op}");
        }
        let error = bitlane::unary(UnaryOp::Abs, &x).mask(&mask).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let mut small = Tensor::zeros([2], DType::F32, &device).unwrap();
        let error = bitlane::unary(UnaryOp::Abs, &x).out(&mut small).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InplaceShape);
        let mut whole = Tensor::zeros([2, 2], DType::I32, &device).unwrap();
        let error = bitlane::unary(UnaryOp::Abs, &x).out(&mut whole).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InplaceDtype);
    }
}

#[test]
fn select_moves_bits_and_broadcasts_all_three() {
    for device in devices() {
        for &dtype in DType::ALL {
            let edges = edge_values(dtype);
            let count = edges.len();
            let flags: Vec<Bits> = (0..count * count).map(|at| (at * 7 % 3 == 0).into()).collect();
            let condition = upload(DType::Bool, &flags, &[count, count], &device);
            let x = upload(dtype, &edges, &[count, 1], &device);
            let y = upload(dtype, &edges, &[count], &device).flip(0).unwrap();
            let check = |condition: &Tensor, what: &str| {
                let result = select(condition, &x, &y).unwrap();
                assert_eq!((result.dtype(), result.shape()), (dtype, &[count, count][..]));
                let flags = download(&condition.broadcast_to([count, count]).unwrap());
                for (at, given) in download(&result).into_iter().enumerate() {
                    let (l, r) = (edges[at / count], edges[count - 1 - at % count]);
                    let expected = ternary::select(flags[at], l, r);
                    assert_eq!(given, expected, "{dtype}, {what}, element {at} on {device}");
                }
            };
            check(&condition, "dense");
            check(&condition.transpose(0, 1).unwrap(), "transposed");
            check(&condition.narrow(0, 1, 1).unwrap(), "a row of conditions");
            check(&condition.narrow(1, 1, 1).unwrap(), "a column of conditions");
            if dtype != DType::Bool {
                let error = select(&x, &x, &y).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{dtype}");
            }
        }
        let condition = Tensor::from_slice(&[true, false], [2], &device).unwrap();
        let (single, double) = (DType::F32, DType::F64);
        let edges = edge_values(single);
        for &bits in &edges {
            let x = upload(single, &[bits], &[1], &device);
            let y = upload(double, &[0], &[1], &device);
            let given = download(&select(&condition, &x, &y).unwrap());
            assert!(same(double, cast(single, double, bits), given[0], Nan::SameSign), "{bits:#x}");
            assert_eq!(given[1], 0);
        }
        let clipped =
            select(&condition, 7, Tensor::zeros((), DType::U8, &device).unwrap()).unwrap();
        assert_eq!(clipped.to_vec::<u8>().unwrap(), [7, 0]);
    }
}

fn run(kind: Loss, x: &Tensor, y: &Tensor, reduction: Reduction) -> Result<Tensor> {
    match kind {
        Loss::L1 => loss::l1(x, y, reduction),
        Loss::Mse => loss::mse(x, y, reduction),
        Loss::Huber { delta } => loss::huber(x, y, delta, reduction),
        Loss::SmoothL1 { beta } => loss::smooth_l1(x, y, beta, reduction),
        Loss::PoissonNll { log_input, full, epsilon } => {
            loss::poisson_nll(x, y, PoissonNll { log_input, full, epsilon }, reduction)
        }
    }
}

const EXACT: [Loss; 7] = [
    Loss::L1,
    Loss::Mse,
    Loss::Huber { delta: 1.5 },
    Loss::Huber { delta: 0.3 },
    // A delta beyond the range of f32: all but huge f64 numbers are in the quadratic part.
    Loss::Huber { delta: 1e200 },
    Loss::SmoothL1 { beta: 1.5 },
    Loss::SmoothL1 { beta: 0.0 },
];

#[test]
fn losses_without_functions_are_exact_step_by_step() {
    for device in devices() {
        for (dtype, kind) in FLOATS.into_iter().flat_map(|dtype| EXACT.map(|kind| (dtype, kind))) {
            let mut edges = edge_values(dtype);
            // Numbers whose squares overflow f32 or f64, while half of the squares does not.
            edges.extend([2.3e19, 1.7e154].map(|value| nearest(dtype, value)));
            let count = edges.len();
            let x = upload(dtype, &edges, &[count, 1], &device);
            let y = upload(dtype, &edges, &[count], &device);
            let result = run(kind, &x, &y, Reduction::None).unwrap();
            assert_eq!((result.dtype(), result.shape()), (dtype, &[count, count][..]));
            for (at, given) in download(&result).into_iter().enumerate() {
                let (l, r) = (edges[at / count], edges[at % count]);
                let expected = nearest(dtype, one_loss(kind, dtype, l, r));
                assert!(
                    same(dtype, expected, given, Nan::Any),
                    "{kind:?} of {dtype} {l:#x} and {r:#x} on {device}: {given:#x}, not {expected:#x}"
                );
            }
        }
    }
}

/// Draws numbers of a dtype between two bounds.
fn between(random: &mut Random, dtype: DType, count: usize, low: f64, high: f64) -> Vec<Bits> {
    let fraction = |random: &mut Random| random.next() as f64 / u64::MAX as f64;
    (0..count).map(|_| nearest(dtype, low + (high - low) * fraction(random))).collect()
}

#[test]
fn poisson_losses_are_right_up_to_exp_and_log() {
    for device in devices() {
        for dtype in FLOATS {
            let mut random = Random::new(11);
            for (log_input, full) in [(true, true), (true, false), (false, true), (false, false)] {
                let kind = Loss::PoissonNll { log_input, full, epsilon: 1e-8 };
                let x = between(&mut random, dtype, 500, if log_input { -4.0 } else { 0.1 }, 4.0);
                let mut y = between(&mut random, dtype, 500, 0.0, 6.0);
                // Stirling's approximation is used above 1.
                for (place, target) in [0.0, 1.0, 2.0].into_iter().enumerate() {
                    y[place] = nearest(dtype, target);
                }
                let [left, right] = [&x, &y].map(|side| upload(dtype, side, &[500], &device));
                let result = run(kind, &left, &right, Reduction::None).unwrap();
                for (at, given) in download(&result).into_iter().enumerate() {
                    let expected = one_loss(kind, dtype, x[at], y[at]);
                    // No term exceeds 64, and the error of each is at most a few units in its last place.
                    let step = if dtype == DType::F64 { f64::EPSILON } else { f32::EPSILON.into() };
                    let given = value(dtype, given);
                    let rounding = (value(dtype, nearest(dtype, expected)) - expected).abs();
                    assert!(
                        (given - expected).abs() <= 2.0 * rounding + 256.0 * step,
                        "{kind:?} of {dtype} {:#x} and {:#x} on {device}: {given}, not {expected}",
                        x[at],
                        y[at]
                    );
                }
            }
        }
    }
}

fn reduces(kind: Loss, dtype: DType, device: &Device) {
    let mut random = Random::new(12);
    let x = between(&mut random, dtype, 3000, -4.0, 4.0);
    let y = between(&mut random, dtype, 3000, -4.0, 4.0);
    let losses: Vec<f64> = x.iter().zip(&y).map(|(&x, &y)| one_loss(kind, dtype, x, y)).collect();
    let shape = [30, 100];
    let [x, y] = [&x, &y].map(|side| upload(dtype, side, &shape, device));
    for (reduction, is_mean) in [(Reduction::Sum, false), (Reduction::Mean, true)] {
        let expected = nearest(dtype, reduced(&losses, is_mean));
        // f64 is not summed in a wider dtype.
        let units = if dtype == DType::F64 { 16 } else { 1 };
        for (x, y) in [(&x, &y), (&x.transpose(0, 1).unwrap(), &y.transpose(0, 1).unwrap())] {
            let result = run(kind, x, y, reduction).unwrap();
            assert_eq!((result.dtype(), result.rank()), (dtype, 0));
            let given = download(&result)[0];
            assert!(
                is_near(dtype, expected, given, units, 0.0),
                "{kind:?} {reduction:?} of {dtype} on {device}: {given:#x}, not {expected:#x}"
            );
        }
        let nothing = x.narrow(0, 0, 0).unwrap();
        let given = value(dtype, download(&run(kind, &nothing, &nothing, reduction).unwrap())[0]);
        assert!(if is_mean { given.is_nan() } else { given.to_bits() == 0 }, "{kind:?} {given}");
    }
}

#[test]
fn losses_add_up() {
    for device in devices() {
        for dtype in FLOATS {
            EXACT.iter().for_each(|&kind| reduces(kind, dtype, &device));
        }
    }
}

#[test]
fn losses_refuse_parameters_that_make_no_sense() {
    for device in devices() {
        let x = Tensor::zeros([2], DType::F32, &device).unwrap();
        let kinds = [
            Loss::Huber { delta: 0.0 },
            Loss::Huber { delta: -1.0 },
            Loss::Huber { delta: f64::NAN },
            Loss::SmoothL1 { beta: -1.0 },
            Loss::SmoothL1 { beta: f64::NAN },
        ];
        for kind in kinds {
            let error = run(kind, &x, &x, Reduction::Mean).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{kind:?}");
        }
        for dtype in [DType::Bool, DType::I32, DType::C64] {
            let x = Tensor::zeros([2], dtype, &device).unwrap();
            let error = run(Loss::L1, &x, &x, Reduction::None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsupportedDType, "{dtype}");
        }
    }
}

/// Tests that are run for certain vector instructions, or with tiny blocks, must not run with others unnoticed.
#[cfg(feature = "cpu")]
#[test]
fn the_settings_that_were_asked_for_are_in_force() {
    let settings = bitlane::cpu::settings();
    let wanted = std::env::var("BITLANE_CPU").unwrap_or_default();
    for part in wanted.split(',').filter(|part| !part.is_empty()) {
        assert!(settings.split(',').any(|it| it == part), "{part} of {wanted}, not {settings}");
    }
    eprintln!("BITLANE_CPU={settings} is in force");
}
