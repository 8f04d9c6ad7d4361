//! Evaluates expressions on candle storages into a new candle storage, or in place.

use bitlane::{Expr, Tensor};
use candle_core::{Error, Layout, Result, Shape};

use crate::storage::{Storage, view};

/// An operand, as candle passes it to a custom operation.
pub(crate) type Operand<'a, S> = (&'a S, &'a Layout);

/// An operand that is written in place.
pub(crate) type Destination<'a, S> = (&'a mut S, &'a Layout);

/// A result, as candle expects it.
pub(crate) type Output<S> = Result<(S, Shape)>;

/// Wraps an error of bitlane in one of candle.
pub(crate) fn failed(error: bitlane::Error) -> Error {
    Error::wrap(error)
}

/// Creates an error of this crate.
pub(crate) fn refused(op: &'static str, reason: &str) -> Error {
    Error::msg(format!("{op}: {reason}"))
}

/// Evaluates the expression that `build` makes of an operand.
///
/// `build` is given expressions rather than tensors: the tensors must not outlive the call, and an expression borrows
/// them, so `build` cannot keep a clone.
pub(crate) fn with_one<S: Storage>(
    op: &'static str,
    (s1, l1): Operand<'_, S>,
    build: impl for<'a> FnOnce(Expr<'a>) -> Expr<'a>,
) -> Output<S> {
    s1.with_tensor(op, l1, |x| s1.evaluate(op, build(x.expr())))
}

pub(crate) fn with_two<S: Storage>(
    op: &'static str,
    (s1, l1): Operand<'_, S>,
    (s2, l2): Operand<'_, S>,
    build: impl for<'a> FnOnce(Expr<'a>, Expr<'a>) -> Expr<'a>,
) -> Output<S> {
    s1.with_tensor(op, l1, |x| {
        s2.with_tensor(op, l2, |y| s1.evaluate(op, build(x.expr(), y.expr())))
    })
}

pub(crate) fn with_three<S: Storage>(
    op: &'static str,
    (s1, l1): Operand<'_, S>,
    (s2, l2): Operand<'_, S>,
    (s3, l3): Operand<'_, S>,
    build: impl for<'a> FnOnce(Expr<'a>, Expr<'a>, Expr<'a>) -> Expr<'a>,
) -> Output<S> {
    s1.with_tensor(op, l1, |x| {
        s2.with_tensor(op, l2, |y| {
            s3.with_tensor(op, l3, |z| s1.evaluate(op, build(x.expr(), y.expr(), z.expr())))
        })
    })
}

/// Evaluates the expression that `build` makes of an operand into that operand.
pub(crate) fn assign_one<S: Storage>(
    op: &'static str,
    (s1, l1): Destination<'_, S>,
    build: impl for<'a> FnOnce(Expr<'a>) -> Expr<'a>,
) -> Result<()> {
    assign(op, (s1, l1), |x, out| build(x.expr()).out(out).run().map(drop))
}

pub(crate) fn assign_two<S: Storage>(
    op: &'static str,
    (s1, l1): Destination<'_, S>,
    (s2, l2): Operand<'_, S>,
    build: impl for<'a> FnOnce(Expr<'a>, Expr<'a>) -> Expr<'a>,
) -> Result<()> {
    s2.with_tensor(op, l2, |y| {
        assign(op, (s1, l1), |x, out| build(x.expr(), y.expr()).out(out).run().map(drop))
    })
}

pub(crate) fn assign_three<S: Storage>(
    op: &'static str,
    (s1, l1): Destination<'_, S>,
    (s2, l2): Operand<'_, S>,
    (s3, l3): Operand<'_, S>,
    build: impl for<'a> FnOnce(Expr<'a>, Expr<'a>, Expr<'a>) -> Expr<'a>,
) -> Result<()> {
    s2.with_tensor(op, l2, |y| {
        s3.with_tensor(op, l3, |z| {
            assign(op, (s1, l1), |x, out| {
                build(x.expr(), y.expr(), z.expr()).out(out).run().map(drop)
            })
        })
    })
}

/// Calls a function with a view of a storage twice: to read it, and as the destination.
fn assign<S: Storage>(
    op: &'static str,
    (storage, layout): Destination<'_, S>,
    run: impl FnOnce(&Tensor, &mut Tensor) -> bitlane::Result<()>,
) -> Result<()> {
    storage.with_elements_mut(op, |elements| {
        let mut out = view(op, elements, layout)?;
        run(&out.clone(), &mut out).map_err(failed)
    })
}

/// Computes the gradient of `copysign` with respect to its first operand into a new storage.
pub(crate) fn copysign_gradient<S: Storage>(
    op: &'static str,
    (s1, l1): Operand<'_, S>,
    (s2, l2): Operand<'_, S>,
    (s3, l3): Operand<'_, S>,
) -> Output<S> {
    s1.with_tensor(op, l1, |x| {
        s2.with_tensor(op, l2, |y| {
            s3.with_tensor(op, l3, |g| s1.keep(op, x.copysign_grad(y, g).map_err(failed)?.0))
        })
    })
}
