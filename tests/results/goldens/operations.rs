//! Runs the records of unary operations, conversions, select, reductions, scans, look-ups and losses.

use bitlane::loss::{self, PoissonNll, Reduction};
use bitlane::{
    Axes, DType, Device, Error, Expr, IntoAxes, ReduceOp, Rules, ScanOp, Tensor, UnaryOp, reduce,
    scan, unary,
};

use super::record::{Operand, Record};

/// Runs a record; `None` if it is of another operation.
pub fn run(record: &Record, rules: Rules, device: &Device) -> Option<Result<Tensor, Error>> {
    if let Ok(op) = record.op.parse::<UnaryOp>() {
        return Some(unary(op, &x(record, device)).rules(rules).run());
    }
    // The names of bitwise reductions are those of binary operations too.
    if let (Ok(op), 1) = (record.op.parse::<ReduceOp>(), record.operands.len()) {
        let x = x(record, device);
        let reduction = reduce(op, &x, axes(record)).rules(rules);
        return Some(match record.params["correction"].as_i64() {
            Some(correction) => reduction.correction(correction).run(),
            None => reduction.run(),
        });
    }
    if let Ok(op) = record.op.parse::<ScanOp>() {
        return Some(scan(op, &x(record, device), axis(record)).run());
    }
    Some(match &*record.op {
        "cast" => x(record, device).cast(dtype(record)),
        "cast_saturating" => x(record, device).cast_saturating(dtype(record)),
        "select" => select(record, rules, device),
        "clip" => clip(record, rules, device),
        "take" => x(record, device).take(&tensor(record, 1, device), axis(record)),
        "take_along_axis" => {
            x(record, device).take_along_axis(&tensor(record, 1, device), axis(record))
        }
        "compress" => x(record, device).compress(&tensor(record, 1, device)),
        op if op.ends_with("_loss") => loss(record, device),
        _ => return None,
    })
}

fn tensor(record: &Record, at: usize, device: &Device) -> Tensor {
    match &record.operands[at] {
        Operand::Tensor(elements) => elements.upload(device),
        Operand::Every(dtype) => every(*dtype, device),
        Operand::Scalar(_) => panic!("operand {at} of {} is no tensor", record.id),
    }
}

fn x(record: &Record, device: &Device) -> Tensor {
    tensor(record, 0, device)
}

/// Returns every value of a dtype of at most 16 bits, in the order of their bits.
fn every(dtype: DType, device: &Device) -> Tensor {
    let bytes: Vec<u8> = match dtype.size() {
        1 => (0..=u8::MAX).collect(),
        _ => (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect(),
    };
    Tensor::from_bytes(dtype, &bytes, [bytes.len() / dtype.size()], device).unwrap()
}

/// Returns the dtype that a conversion is to.
fn dtype(record: &Record) -> DType {
    record.params["dtype"].as_str().unwrap().parse().unwrap()
}

/// Returns the axis of a scan or a look-up.
fn axis(record: &Record) -> i64 {
    record.params["axis"].as_i64().unwrap()
}

/// Returns the axes of a reduction; a record without any is of all.
fn axes(record: &Record) -> Axes {
    let axes = record.params["axes"].as_array().unwrap();
    let axes: Vec<i64> = axes.iter().map(|axis| axis.as_i64().unwrap()).collect();
    if axes.is_empty() { (..).into_axes() } else { axes.into_axes() }
}

/// Runs `select` as a function for Paddle's rulebook, and as an expression for the others.
fn select(record: &Record, rules: Rules, device: &Device) -> Result<Tensor, Error> {
    let condition = tensor(record, 0, device);
    let [x, y] = [1, 2].map(|at| match &record.operands[at] {
        Operand::Scalar(scalar) => Err(*scalar),
        _ => Ok(tensor(record, at, device)),
    });
    if rules == Rules::Paddle {
        let [x, y] = [&x, &y].map(|operand| match operand {
            Ok(tensor) => bitlane::Operand::from(tensor),
            Err(scalar) => (*scalar).into(),
        });
        return bitlane::select(&condition, x, y);
    }
    let [x, y] = [&x, &y].map(|operand| match operand {
        Ok(tensor) => Expr::from(tensor),
        Err(scalar) => Expr::from(*scalar),
    });
    condition.expr().select(x, y).rules(rules).run()
}

/// Runs `clip` as an expression, which takes a rulebook.
fn clip(record: &Record, rules: Rules, device: &Device) -> Result<Tensor, Error> {
    let operands = [0, 1, 2].map(|at| match &record.operands[at] {
        Operand::Scalar(scalar) => Err(*scalar),
        _ => Ok(tensor(record, at, device)),
    });
    let [x, low, high] = operands.each_ref().map(|operand| match operand {
        Ok(tensor) => Expr::from(tensor),
        Err(scalar) => Expr::from(*scalar),
    });
    x.clip(low, high).rules(rules).run()
}

/// Runs a loss. Losses promote by Paddle's rulebook, whichever library's answer is compared.
fn loss(record: &Record, device: &Device) -> Result<Tensor, Error> {
    let [x, y] = [0, 1].map(|at| tensor(record, at, device));
    let number = |name: &str| record.params[name].as_f64().unwrap();
    let flag = |name: &str| record.params[name].as_bool().unwrap();
    let reduction = match record.params["reduction"].as_str().unwrap() {
        "none" => Reduction::None,
        "mean" => Reduction::Mean,
        "sum" => Reduction::Sum,
        other => panic!("unknown reduction {other}"),
    };
    match &*record.op {
        "l1_loss" => loss::l1(&x, &y, reduction),
        "mse_loss" => loss::mse(&x, &y, reduction),
        "huber_loss" => loss::huber(&x, &y, number("delta"), reduction),
        "smooth_l1_loss" => loss::smooth_l1(&x, &y, number("beta"), reduction),
        "poisson_nll_loss" => {
            let options = PoissonNll {
                log_input: flag("log_input"),
                full: flag("full"),
                epsilon: number("epsilon"),
            };
            loss::poisson_nll(&x, &y, options, reduction)
        }
        other => panic!("unknown loss {other}"),
    }
}
