//! Expressions of as many operations as there may be: every operation again and again, over operands that are the same
//! for all elements, for all rows, or different for each.

use bitlane::{BinaryOp, DType, Device, ErrorKind, Rules, Tensor, UnaryOp};

use super::check::assert_equal;
use super::graph::{Entry, Graph};

/// The most operations of an expression.
const LONGEST: usize = 256;

/// The shapes of the first operand, of the others, and of one that only the last operation takes.
type Form = (&'static [usize], &'static [usize], Option<&'static [usize]>);

const FORMS: [Form; 7] = [
    (&[], &[], None),
    (&[1], &[], None),
    (&[], &[], Some(&[5, 3])),
    (&[3], &[3], Some(&[5, 3])),
    (&[5, 3], &[], None),
    (&[5, 3], &[3], None),
    (&[5, 3], &[5, 3], None),
];

/// An operation on an entry and the inputs 1 and 2.
type Operation = Box<dyn Fn(usize) -> Entry>;

/// Returns every operation, with the entry on either side.
fn operations() -> Vec<Operation> {
    let mut all: Vec<Operation> = Vec::new();
    for &op in BinaryOp::ALL {
        all.push(Box::new(move |x| Entry::Binary(op, x, 1)));
        all.push(Box::new(move |x| Entry::Binary(op, 1, x)));
    }
    for &op in UnaryOp::ALL {
        all.push(Box::new(move |x| Entry::Unary(op, x)));
    }
    all.push(Box::new(|x| Entry::Select(2, x, 1)));
    all.push(Box::new(|x| Entry::Fma(x, 1, 3)));
    all.push(Box::new(|x| Entry::Bitcast(DType::I32, x)));
    all
}

fn graph(
    operation: &dyn Fn(usize) -> Entry,
    dtype: DType,
    (first, others, last): Form,
    len: usize,
) -> Graph {
    let device = Device::cpu();
    let tensor = |shape: &[usize], start: usize| {
        let numbers: Vec<i64> =
            (0..shape.iter().product()).map(|index: usize| (start + index % 3) as i64).collect();
        Tensor::from_slice(&numbers, shape, &device).unwrap().cast(dtype).unwrap()
    };
    let condition = tensor(others, 0).cast(DType::Bool).unwrap();
    let tensors =
        vec![tensor(first, 2), tensor(others, 1), condition, tensor(last.unwrap_or(&[]), 1)];
    let mut entries: Vec<Entry> = (0..4).map(Entry::Tensor).collect();
    let mut value = 0;
    for _ in 0..len - usize::from(last.is_some()) {
        entries.push(operation(value));
        value = entries.len() - 1;
    }
    if last.is_some() {
        entries.push(Entry::Binary(BinaryOp::Maximum, value, 3));
    }
    Graph { entries, tensors, rules: Rules::Paddle, last: None }
}

/// Every operation in every dtype and form runs at some lengths, of which all take turns. In a debug build, and where
/// fewer than 10,000 random graphs are wanted, a quarter of the dtypes takes turns, too, at a single length.
#[test]
fn expressions_of_every_length_equal_the_eager_chain() {
    let are_few = super::number("BITLANE_GRAPHS").is_some_and(|count| count < 10_000);
    let is_slow = cfg!(debug_assertions) || are_few;
    let mut turn = 0usize;
    let mut runs = 0;
    for operation in &operations() {
        for &dtype in DType::ALL {
            turn += 1;
            if is_slow && !turn.is_multiple_of(4) {
                continue;
            }
            for form in FORMS {
                if graph(operation, dtype, form, 3).expr().dtype().is_err() {
                    continue;
                }
                turn += 4;
                let all = (2 + turn % 61..LONGEST).step_by(61).chain([LONGEST]);
                let lengths: Vec<usize> = match is_slow {
                    true => all.skip(turn / 61 % 4).take(1).collect(),
                    false => all.collect(),
                };
                for len in lengths {
                    let graph = graph(operation, dtype, form, len);
                    let context =
                        || format!("{len} operations, {dtype} {form:?}: {:?}", graph.entries);
                    let given =
                        graph.expr().run().unwrap_or_else(|error| panic!("{error}: {}", context()));
                    assert_equal(&given, &graph.eager().unwrap(), &context);
                    runs += 1;
                }
            }
        }
    }
    assert!(runs > 500, "only {runs} expressions were accepted");
}

#[test]
fn two_hundred_and_fifty_powers_of_one_element_are_computed() {
    let x = Tensor::full((), 1, DType::F16, &Device::cpu()).unwrap();
    let mut powers = x.expr();
    for _ in 0..250 {
        powers = powers.pow(&x);
    }
    assert_eq!(powers.run().unwrap().to_vec::<half::f16>().unwrap(), [half::f16::ONE]);
}

#[test]
fn longer_expressions_are_refused() {
    let x = Tensor::full((), 1, DType::F16, &Device::cpu()).unwrap();
    let longest = (0..LONGEST).fold(x.expr(), |e, _| e.pow(&x));
    assert!(longest.run().is_ok());
    let error = longest.pow(&x).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}
