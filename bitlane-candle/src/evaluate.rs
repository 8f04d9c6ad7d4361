//! From storages of candle through an expression to a storage of candle.

use bitlane::Expr;
use candle_core::{CpuStorage, Error, Layout, Result, Shape};

use crate::storage::{with_destination, with_tensor, zeros};

/// An operand, as candle hands it to a custom operation.
pub(crate) type Operand<'a> = (&'a CpuStorage, &'a Layout);

/// A result, as candle wants it.
pub(crate) type Output = Result<(CpuStorage, Shape)>;

/// An error of bitlane as one of candle, which keeps it as its source.
pub(crate) fn failed(error: bitlane::Error) -> Error {
    Error::wrap(error)
}

/// An error of this crate's own.
pub(crate) fn refused(op: &'static str, reason: &str) -> Error {
    Error::msg(format!("{op}: {reason}"))
}

/// Computes an expression of tensors into a new storage.
fn evaluate(op: &'static str, expr: Expr<'_>) -> Output {
    let (dtype, shape) = (expr.dtype().map_err(failed)?, expr.shape().map_err(failed)?);
    let mut storage = zeros(op, dtype, shape.iter().product())?;
    with_destination(op, &mut storage, &shape, |out| {
        expr.out(out).run().map_err(failed)?;
        Ok(())
    })?;
    Ok((storage, shape.into()))
}

/// Computes what `build` makes of an operand.
///
/// `build` sees expressions, not tensors: those end with the call, and no clone of them can be kept.
pub(crate) fn with_one(
    op: &'static str,
    (x, x_layout): Operand<'_>,
    build: impl for<'a> FnOnce(Expr<'a>) -> Expr<'a>,
) -> Output {
    with_tensor(op, x, x_layout, |x| evaluate(op, build(x.expr())))
}

pub(crate) fn with_two(
    op: &'static str,
    (x, x_layout): Operand<'_>,
    (y, y_layout): Operand<'_>,
    build: impl for<'a> FnOnce(Expr<'a>, Expr<'a>) -> Expr<'a>,
) -> Output {
    with_tensor(op, x, x_layout, |x| {
        with_tensor(op, y, y_layout, |y| evaluate(op, build(x.expr(), y.expr())))
    })
}

pub(crate) fn with_three(
    op: &'static str,
    (x, x_layout): Operand<'_>,
    (y, y_layout): Operand<'_>,
    (z, z_layout): Operand<'_>,
    build: impl for<'a> FnOnce(Expr<'a>, Expr<'a>, Expr<'a>) -> Expr<'a>,
) -> Output {
    with_tensor(op, x, x_layout, |x| {
        with_tensor(op, y, y_layout, |y| {
            with_tensor(op, z, z_layout, |z| evaluate(op, build(x.expr(), y.expr(), z.expr())))
        })
    })
}

/// The gradient of `copysign` by its first operand, in a storage of its own.
pub(crate) fn copysign_gradient(
    op: &'static str,
    (x, x_layout): Operand<'_>,
    (y, y_layout): Operand<'_>,
    (g, g_layout): Operand<'_>,
) -> Output {
    with_tensor(op, x, x_layout, |x| {
        with_tensor(op, y, y_layout, |y| {
            with_tensor(op, g, g_layout, |g| {
                let (gradient, _) = x.copysign_grad(y, g).map_err(failed)?;
                evaluate(op, gradient.expr())
            })
        })
    })
}
