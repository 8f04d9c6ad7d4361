//! Evaluates expressions on candle storages into a new candle storage.

use bitlane::Expr;
use candle_core::{CpuStorage, Error, Layout, Result, Shape};

use crate::storage::{with_destination, with_tensor, zeros};

/// An operand, as candle passes it to a custom operation.
pub(crate) type Operand<'a> = (&'a CpuStorage, &'a Layout);

/// A result, as candle expects it.
pub(crate) type Output = Result<(CpuStorage, Shape)>;

/// Wraps an error of bitlane in one of candle.
pub(crate) fn failed(error: bitlane::Error) -> Error {
    Error::wrap(error)
}

/// Creates an error of this crate.
pub(crate) fn refused(op: &'static str, reason: &str) -> Error {
    Error::msg(format!("{op}: {reason}"))
}

/// Evaluates an expression into a new storage.
fn evaluate(op: &'static str, expr: Expr<'_>) -> Output {
    let (dtype, shape) = (expr.dtype().map_err(failed)?, expr.shape().map_err(failed)?);
    let mut storage = zeros(op, dtype, &shape)?;
    with_destination(op, &mut storage, &shape, |out| {
        expr.out(out).run().map_err(failed)?;
        Ok(())
    })?;
    Ok((storage, shape.into()))
}

/// Evaluates the expression that `build` makes of an operand.
///
/// `build` is given expressions rather than tensors: the tensors must not outlive the call, and an expression borrows
/// them, so `build` cannot keep a clone.
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

/// Computes the gradient of `copysign` with respect to its first operand into a new storage.
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
