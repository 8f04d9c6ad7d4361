//! Unary operations, select and losses, compared element by element with the model.

mod devices;
mod model;

use bitlane::loss::{self, PoissonNll, Reduction};
use bitlane::{DType, Device, ErrorKind, Result, Tensor, select};
use devices::devices;
use model::element::{Bits, Nan, cast, download, edge_values, same, upload};
use model::functions::{is_near, nearest, value};
use model::losses::{Loss, loss as one_loss, reduced};
use model::random::Random;
use model::unary;

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// A unary operation: its name, its method, its dtypes, and its definition in the model.
struct Unary {
    name: &'static str,
    method: fn(&Tensor) -> Result<Tensor>,
    is_defined: fn(DType) -> bool,
    element: fn(DType, Bits) -> Bits,
}

const UNARY: [Unary; 6] = [
    Unary {
        name: "abs",
        method: Tensor::abs,
        is_defined: unary::abs_is_defined,
        element: unary::abs,
    },
    Unary {
        name: "negative",
        method: Tensor::negative,
        is_defined: unary::negative_is_defined,
        element: unary::negative,
    },
    Unary {
        name: "-",
        method: |x| -x,
        is_defined: unary::negative_is_defined,
        element: unary::negative,
    },
    Unary {
        name: "bitwise_not",
        method: Tensor::bitwise_not,
        is_defined: unary::bitwise_not_is_defined,
        element: unary::bitwise_not,
    },
    Unary {
        name: "!",
        method: |x| !x,
        is_defined: unary::bitwise_not_is_defined,
        element: unary::bitwise_not,
    },
    Unary {
        name: "logical_not",
        method: Tensor::logical_not,
        is_defined: |_| true,
        element: unary::logical_not,
    },
];

#[test]
fn unary_operations_see_every_edge_in_every_layout() {
    for device in devices() {
        for Unary { name, method, is_defined, element } in UNARY {
            for &dtype in DType::ALL {
                let mut elements = edge_values(dtype);
                elements.truncate(elements.len() & !1);
                let x = upload(dtype, &elements, &[2, elements.len() / 2], &device);
                if !is_defined(dtype) {
                    let error = method(&x).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::UnsupportedDType, "{name} {dtype}");
                    continue;
                }
                let to = if name == "logical_not" { DType::Bool } else { dtype };
                let column = x.transpose(0, 1).unwrap();
                let alone = x.narrow(0, 1, 1).unwrap().narrow(1, 0, 1).unwrap();
                for (view, layout) in [
                    (x.clone(), "dense"),
                    (column.clone(), "transposed"),
                    (x.flip(1).unwrap(), "backwards"),
                    (column.broadcast_to([3, elements.len() / 2, 2]).unwrap(), "broadcast"),
                    (alone.reshape(()).unwrap(), "0-d"),
                    (x.narrow(1, 0, 0).unwrap(), "empty"),
                ] {
                    let result = method(&view).unwrap();
                    assert_eq!((result.dtype(), result.shape()), (to, view.shape()), "{name}");
                    let expected = download(&view).into_iter().map(|bits| element(dtype, bits));
                    // Bits are only copied and flipped, so NaNs must match bit for bit.
                    for (given, expected) in download(&result).into_iter().zip(expected) {
                        assert_eq!(given, expected, "{name} of {dtype}, {layout}, on {device}");
                    }
                }
            }
        }
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
                    let expected = unary::select(flags[at], l, r);
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
