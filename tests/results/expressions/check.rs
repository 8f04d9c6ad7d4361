//! Compares a graph run as an expression with its eager evaluation: the result, a destination, a mask, or the same
//! error.

use bitlane::{DType, Device, ErrorKind, Tensor, select};

use super::graph::{Graph, Outcome};
use crate::model::element::{Nan, download, same};
use crate::model::random::Random;

/// Compares a tensor with the expected one. A NaN may have any bits, and a free element any value.
#[track_caller]
pub fn assert_equal(given: &Tensor, expected: &Outcome, context: &dyn Fn() -> String) {
    let dtype = expected.result.dtype();
    assert_eq!(given.dtype(), dtype, "{}", context());
    assert_eq!(given.shape(), expected.result.shape(), "{}", context());
    let free = expected.free.to_vec::<bool>().unwrap();
    let elements = download(given).into_iter().zip(download(&expected.result));
    for (index, (given, expected)) in elements.enumerate() {
        assert!(
            free[index] || same(dtype, expected, given, Nan::Any),
            "element {index}: {given:#x}, not {expected:#x} ({dtype})\n{}",
            context()
        );
    }
}

/// Runs a random graph on one device and compares it with its eager evaluation on another. Both graphs are drawn from
/// the same choices, which `source` names.
pub fn check(
    source: &dyn std::fmt::Display,
    random: &dyn Fn() -> Random,
    device: &Device,
    reference: &Device,
) {
    let mut choices = random();
    // Others than the CPU compile a kernel for each graph, which takes long if it is deep.
    let is_cpu = device.to_string() == "cpu";
    let draw = |choices: &mut Random, device: &Device| match choices.below(32) {
        31 if is_cpu => Graph::deep(choices, device),
        _ => Graph::random(choices, 24, device),
    };
    let graph = draw(&mut choices, device);
    let eager = draw(&mut random(), reference);
    let context = || format!("{source}: {:?} of {:?}", graph.expr(), graph.entries);
    let expected = eager.eager();
    let given = graph.expr().run();
    match (&given, &expected) {
        (Ok(given), Ok(expected)) => {
            let expr = graph.expr();
            assert_eq!(expr.dtype().unwrap(), expected.result.dtype(), "{}", context());
            assert_eq!(expr.shape().unwrap(), expected.result.shape(), "{}", context());
            assert_equal(given, expected, &context);
            check_destination(&graph, expected, &mut choices, &context);
        }
        (Err(given), Err(expected)) => {
            assert_eq!(given.to_string(), expected.to_string(), "{}", context());
            assert_eq!(graph.expr().dtype().unwrap_err().to_string(), given.to_string());
        }
        _ => panic!("{given:?}, not {:?}\n{}", expected.map(|outcome| outcome.result), context()),
    }
}

/// Runs the same graph into a destination, which it may read or which may overlap what it reads, possibly with a mask.
fn check_destination(
    graph: &Graph,
    expected: &Outcome,
    random: &mut Random,
    context: &dyn Fn() -> String,
) {
    let (shape, result) = (expected.result.shape(), expected.result.dtype());
    let device = graph.tensors[0].device();
    let fits = |out: &Tensor| out.shape() == shape && out.dtype().category() >= result.category();
    let own = &graph.tensors[random.below(graph.tensors.len())];
    let mut out = match random.below(4) {
        0 if fits(own) => own.clone(),
        1 if fits(own) && own.rank() > 0 => own.flip(0).unwrap(),
        2 if !shape.is_empty() => {
            let mut room = shape.to_vec();
            room[shape.len() - 1] *= 3;
            let room = Tensor::full(room, 1, result, device).unwrap();
            let every_third = bitlane::Slice::from(..).step(-3);
            room.slice(shape.len() - 1, every_third).unwrap()
        }
        _ => {
            let all: Vec<_> = DType::ALL
                .iter()
                .filter(|dtype| dtype.category() >= result.category())
                .copied()
                .collect();
            Tensor::full(shape, 1, all[random.below(all.len())], device).unwrap()
        }
    };
    let reference = expected.result.device();
    let before = out.to_device(reference).unwrap().copy().unwrap();
    let mask: Vec<bool> = (0..before.len()).map(|_| random.below(3) > 0).collect();
    let mask = (random.below(2) == 0).then(|| Tensor::from_slice(&mask, shape, device).unwrap());
    let expr = graph.expr();
    let evaluation = expr.out(&mut out);
    let evaluation = match &mask {
        Some(mask) => evaluation.mask(mask),
        None => evaluation,
    };
    match evaluation.run() {
        Ok(_) => {
            let written = expected.result.cast(before.dtype()).unwrap();
            let written = match &mask {
                Some(mask) => {
                    select(&mask.to_device(reference).unwrap(), &written, &before).unwrap()
                }
                None => written,
            };
            let expected = Outcome { result: written, free: expected.free.clone() };
            assert_equal(&out, &expected, context);
        }
        // A view of an input may overlap itself, and is then refused and left unchanged.
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::OverlappingDestination, "{}", context());
            assert_eq!(download(&out), download(&before), "{}", context());
        }
    }
}
