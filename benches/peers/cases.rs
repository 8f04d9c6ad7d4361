//! The cases with one operation.

use std::hint::black_box;

use bitlane::{BinaryOp, DType, Device, Operand, Rules, Shift, Slice, Tensor, binary};

use crate::Call;

/// A length such as `1`, `64K` or `16M`.
pub fn length(word: &str) -> Option<usize> {
    let (digits, shift) = match word.strip_suffix('K') {
        Some(digits) => (digits, 10),
        None => word.strip_suffix('M').map_or((word, 0), |digits| (digits, 20)),
    };
    Some(digits.parse::<usize>().ok()? << shift)
}

/// Small whole numbers, none of them 0: amounts that are in range for every dtype, and divisors.
pub fn numbers(shape: &[usize], dtype: DType) -> Tensor {
    let len = shape.iter().product();
    let numbers: Vec<u8> = (0..len).map(|index| (index % 7) as u8 + 1).collect();
    let numbers = Tensor::from_slice(&numbers, shape, &Device::cpu()).unwrap();
    numbers.cast(dtype).unwrap()
}

/// The operands of a shape: the right one may be a number.
fn operands(shape: &str, x: DType, y: DType) -> Option<(Tensor, Result<Tensor, i64>)> {
    const SIDE: usize = 4096;
    let square = || numbers(&[SIDE, SIDE], x);
    let every_second =
        |dtype| numbers(&[16 << 20], dtype).slice(0, Slice::from(..).step(2)).unwrap();
    Some(match shape {
        "row" => (square(), Ok(numbers(&[SIDE], y))),
        "column" => (square(), Ok(numbers(&[SIDE, 1], y))),
        "scalar" => (square(), Err(3)),
        "transposed" => (square(), Ok(numbers(&[SIDE, SIDE], y).transpose(0, 1).unwrap())),
        "permuted" => {
            let cube = [256; 3];
            (numbers(&cube, x), Ok(numbers(&cube, y).permute([2, 0, 1]).unwrap()))
        }
        "step2" => (every_second(x), Ok(every_second(y))),
        _ => match shape.strip_prefix("rank") {
            Some(rank) => {
                let rank = rank.parse().ok()?;
                (holes(rank, x), Ok(holes(rank, y)))
            }
            None => {
                let len = length(shape)?;
                (numbers(&[len], x), Ok(numbers(&[len], y)))
            }
        },
    })
}

/// 64 K elements in as many dimensions as wanted, none of which can be joined with its neighbour: a view of a tensor
/// that is one larger in every dimension.
fn holes(rank: usize, dtype: DType) -> Tensor {
    let mut shape = vec![4; rank];
    shape[rank - 1] = 4 << (2 * (8 - rank));
    let larger: Vec<usize> = shape.iter().map(|size| size + 1).collect();
    let view = numbers(&larger, dtype);
    (0..rank).fold(view, |view, axis| view.narrow(axis, 0, shape[axis]).unwrap())
}

/// A case with one operation, or a cast.
pub fn prepare(op: &str, dtypes: &str, shape: &str, fresh: bool) -> Option<Call> {
    if let Some((from, to)) = dtypes.split_once('>') {
        return cast(dtype(from)?, dtype(to)?, length(shape)?, fresh);
    }
    let (x, y) = dtypes.split_once('+').unwrap_or((dtypes, dtypes));
    let (x, y) = operands(shape, dtype(x)?, dtype(y)?)?;
    let op = match op {
        "left_shift" => BinaryOp::LeftShift(Shift::Arithmetic),
        "right_shift" => BinaryOp::RightShift(Shift::Arithmetic),
        "logical_shift" => BinaryOp::RightShift(Shift::Logical),
        "copysign" => BinaryOp::Copysign,
        "add" => BinaryOp::Add,
        "multiply" => BinaryOp::Multiply,
        "divide" => BinaryOp::Divide,
        "maximum" => BinaryOp::Maximum,
        "less_than" => BinaryOp::LessThan,
        "equal" => BinaryOp::Equal,
        "bitwise_and" => BinaryOp::BitwiseAnd,
        _ => return None,
    };
    let run = move |out: Option<&mut Tensor>| {
        let y: Operand<'_> = match &y {
            Ok(y) => y.into(),
            Err(number) => (*number).into(),
        };
        let call = binary(op, black_box(&x), y).rules(Rules::Torch);
        match out {
            Some(out) => call.out(out).run().unwrap(),
            None => call.run().unwrap(),
        }
    };
    let mut out = run(None);
    Some(match fresh {
        true => Box::new(move || drop(black_box(run(None)))),
        false => Box::new(move || drop(black_box(run(Some(&mut out))))),
    })
}

fn cast(from: DType, to: DType, len: usize, fresh: bool) -> Option<Call> {
    let x = numbers(&[len], from);
    let mut out = x.cast(to).unwrap();
    Some(match fresh {
        true => Box::new(move || drop(black_box(black_box(&x).cast(to).unwrap()))),
        false => Box::new(move || {
            drop(black_box(black_box(&x).expr().cast(to).out(&mut out).run().unwrap()));
        }),
    })
}

/// The dtype of a name.
pub fn dtype(word: &str) -> Option<DType> {
    DType::ALL.iter().copied().find(|dtype| dtype.name() == word)
}
