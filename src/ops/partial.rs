//! Partial sums: what one part of the terms contributes to a sum, a product, a mean or a variance over all of them.

use std::ops::{Bound, Range, RangeBounds};

use crate::op::ReduceOp;
use crate::tensor::IntoAxes;
use crate::{DType, Device, Error, Result, Tensor, reduce};

/// The sum or product of a run of terms of a larger one, to be merged with those of the other runs.
///
/// The terms of a sum are the leaves of a perfect binary tree, so that every run of 2ᵏ terms that starts at a multiple
/// of 2ᵏ is a subtree. A partial sum holds the totals of the largest such runs within its range, unrounded: `f64`, `c128`
/// or 64-bit integers. [`merge`](PartialSum::merge) joins neighbours, in any order, and
/// [`finish`](PartialSum::finish) combines what there is and rounds once. The result has the bits of the sum of all terms
/// at once, wherever they are cut, and whichever devices or machines sum the parts.
///
/// With the feature `serde` a partial sum can be sent to another machine; it is on the CPU there.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, PartialSum, Tensor};
/// let device = Device::cpu();
/// let x = Tensor::from_slice(&[0.1f32, 0.2, 0.3, 0.4, 0.5], [5], &device)?;
/// let tail = x.narrow(0, 3, 2)?.partial_sum(3..)?;
/// let head = x.narrow(0, 0, 3)?.partial_sum(..3)?;
/// let sum = PartialSum::merge(tail, head)?.finish(DType::F32)?;
/// assert!(sum.bits_equal(&x.sum(..)?)?);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PartialSum {
    /// `Sum`, `Prod`, or `Var` for squares of distances from the mean.
    op: ReduceOp,
    /// The dtype of the totals, in which nothing is rounded that the tree does not round.
    dtype: DType,
    range: Range<usize>,
    /// The shape of the result.
    shape: Vec<usize>,
    device: Device,
    /// The totals of the subtrees of the range, in order.
    nodes: Vec<Tensor>,
}

/// # Partial sums
///
/// See [`PartialSum`].
impl Tensor {
    /// Sums the elements, in row-major order, as the terms `range` of a larger sum.
    ///
    /// A tensor of as many elements as the range is that part of the larger sum; a bound that is left out follows from the
    /// other. Of a larger tensor, `a..b` selects the elements from number `a` to `b`. For sums along some axes see
    /// [`PartialSum::over`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, PartialSum, Tensor};
    /// let x = Tensor::from_nested([1u8, 2, 3], &Device::cpu())?;
    /// let y = Tensor::from_nested([4u8, 5], &Device::cpu())?;
    /// let sum = PartialSum::merge(x.partial_sum(..3)?, y.partial_sum(3..5)?)?;
    /// assert_eq!(sum.finish(DType::U64)?.item::<u64>()?, 15);
    /// // Both parts are of one tensor.
    /// let whole = Tensor::arange(6, DType::U8, &Device::cpu())?;
    /// let sum = PartialSum::merge(whole.partial_sum(0..2)?, whole.partial_sum(2..6)?)?;
    /// assert_eq!(sum.finish(DType::U64)?.item::<u64>()?, 15);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`PartialSum::over`].
    pub fn partial_sum(&self, range: impl RangeBounds<usize>) -> Result<PartialSum> {
        PartialSum::over(ReduceOp::Sum, self, .., range)
    }

    /// Multiplies the elements as the factors `range` of a larger product, as [`Tensor::partial_sum`] sums them.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, PartialSum, Tensor};
    /// let x = Tensor::from_nested([0.5f64, 3.0], &Device::cpu())?;
    /// let whole = PartialSum::merge(x.partial_prod(..2)?, x.partial_prod(2..)?)?;
    /// assert_eq!(whole.finish(DType::F64)?.item::<f64>()?, 2.25);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`PartialSum::over`].
    pub fn partial_prod(&self, range: impl RangeBounds<usize>) -> Result<PartialSum> {
        PartialSum::over(ReduceOp::Prod, self, .., range)
    }
}

impl PartialSum {
    /// Reduces a tensor over some axes. Its elements along these, in row-major order, are the terms `range` of each
    /// result or, if there are more of them than the range `a..b` has, those from number `a` to `b` are. The reduction is a
    /// `sum` (or a `mean`, for which the terms are summed) or a `prod`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, PartialSum, ReduceOp, Tensor};
    /// let x = Tensor::from_nested([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]], &Device::cpu())?;
    /// let part = |first, len| PartialSum::over(ReduceOp::Sum, &x.narrow(0, first, len)?, 0, first..first + len);
    /// let columns = PartialSum::merge(part(0, 1)?, part(1, 2)?)?;
    /// assert_eq!(columns.finish(DType::F32)?.to_vec::<f32>()?, [9.0, 12.0]);
    /// assert_eq!(columns.mean(DType::F32)?.to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for another reduction, and if the range neither has the number of terms nor is a part of
    /// them; otherwise see [`Reduce::run`](crate::Reduce::run).
    pub fn over(
        op: ReduceOp,
        x: &Tensor,
        axes: impl IntoAxes,
        range: impl RangeBounds<usize>,
    ) -> Result<PartialSum> {
        let name = "partial_sum";
        if !matches!(op, ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Prod) {
            let reason = format!("{op} is not one of sum, mean and prod");
            return Err(Error::InvalidArgument { op: name, reason });
        }
        supports(op, x.dtype())?;
        // A mean is the sum until it is finished.
        let op = if op == ReduceOp::Mean { ReduceOp::Sum } else { op };
        let dtype = widest(op.result(x.dtype()));
        let matrix = TermMatrix::new(name, x, axes)?;
        matrix.reduced(op, dtype, range, |start, len| {
            reduce(op, &matrix.elements.narrow(1, start, len)?, 1).dtype(dtype).run()
        })
    }

    /// Sums the squares of the distances from the mean, for a variance. The mean has the shape of the result, and must
    /// not be rounded: it is [`mean(DType::F64)`](PartialSum::mean) of the sum over all terms.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, PartialSum, ReduceOp, Tensor};
    /// let x = Tensor::from_nested([1.0f32, 3.0, 5.0], &Device::cpu())?;
    /// let mean = x.partial_sum(..)?.mean(DType::F64)?;
    /// let head = PartialSum::squares(&x.narrow(0, 0, 2)?, &mean, .., ..2)?;
    /// let tail = PartialSum::squares(&x.narrow(0, 2, 1)?, &mean, .., 2..)?;
    /// let variance = PartialSum::merge(head, tail)?.variance(1.0, DType::F32)?;
    /// assert_eq!(variance.item::<f32>()?, 4.0);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the mean does not have the dtype `f64` and the shape of the result; otherwise as for
    /// [`PartialSum::over`].
    pub fn squares(
        x: &Tensor,
        mean: &Tensor,
        axes: impl IntoAxes,
        range: impl RangeBounds<usize>,
    ) -> Result<PartialSum> {
        let name = "partial squares";
        supports(ReduceOp::Var, x.dtype())?;
        let matrix = TermMatrix::new(name, x, axes)?;
        if mean.dtype() != DType::F64 || mean.shape() != matrix.shape {
            let reason = format!(
                "the mean is {} of shape {:?}; it must be the unrounded f64 of shape {:?}",
                mean.dtype(),
                mean.shape(),
                matrix.shape
            );
            return Err(Error::InvalidArgument { op: name, reason });
        }
        let mean = mean.to_device(x.device())?.contiguous()?.reshape((mean.len(), 1))?;
        matrix.reduced(ReduceOp::Var, DType::F64, range, |start, len| {
            let terms = matrix.elements.narrow(1, start, len)?;
            (terms.expr().cast(DType::F64) - &mean).square().sum(1).run()
        })
    }

    /// Joins the partial sums of two neighbouring ranges, in either order. The result is on the device of the first.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Device, PartialSum, Tensor};
    /// let x = Tensor::from_nested([1, 2], &Device::cpu())?;
    /// let joined = PartialSum::merge(x.partial_sum(4..)?, x.partial_sum(2..)?)?;
    /// assert_eq!(joined.range(), 2..6);
    /// let apart = PartialSum::merge(joined, x.partial_sum(7..)?).unwrap_err();
    /// assert_eq!(apart.to_string(), "merge: the terms 2..6 and 7..9 are not neighbours");
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there are terms between the ranges or the ranges share some, or if the two are not
    /// parts of the same reduction.
    pub fn merge(a: PartialSum, b: PartialSum) -> Result<PartialSum> {
        let refused = |reason| Err(Error::InvalidArgument { op: "merge", reason });
        if (a.op, a.dtype, &a.shape) != (b.op, b.dtype, &b.shape) {
            let named = |p: &PartialSum| {
                let what = if p.op == ReduceOp::Var { "squares" } else { p.op.name() };
                format!("a {what} in {} of shape {:?}", p.dtype, p.shape)
            };
            return refused(format!(
                "{} and {} are not parts of one reduction",
                named(&a),
                named(&b)
            ));
        }
        let device = a.device.clone();
        // An empty range comes first or last where either is possible, and has no nodes.
        let (left, right) = match (a.range.end == b.range.start, b.range.end == a.range.start) {
            (true, _) => (a, b),
            (_, true) => (b, a),
            _ => {
                let [a, b] = [a, b].map(|p| p.range);
                return refused(format!("the terms {a:?} and {b:?} are not neighbours"));
            }
        };
        let (start, end) = (left.range.start, right.range.end);
        let mut joined: Vec<(Range<usize>, Tensor)> = Vec::new();
        for part in [&left, &right] {
            for (range, node) in subtrees(part.range.clone()).zip(&part.nodes) {
                let (mut range, mut node) = (range, node.to_device(&device)?);
                // Two halves of a subtree are combined, which may complete a larger half.
                while let Some((before, total)) =
                    joined.pop_if(|(before, _)| are_halves(before, &range))
                {
                    node = combined(left.op, &total, &node)?;
                    range = before.start..range.end;
                }
                joined.push((range, node));
            }
        }
        let nodes = joined.into_iter().map(|(_, node)| node).collect();
        Ok(PartialSum { range: start..end, nodes, device, ..left })
    }

    /// Returns which terms of the whole have been reduced.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([1.0f32, 2.0], &Device::cpu())?;
    /// assert_eq!(x.partial_sum(6..)?.range(), 6..8);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Combines the terms from the first to the last of the range, and rounds once to `dtype`, which has the category of
    /// the terms. Integers wrap.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::from_nested([200u8, 100], &Device::cpu())?;
    /// assert_eq!(x.partial_sum(..)?.finish(DType::U8)?.item::<u8>()?, 44); // 300 wraps
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the range does not start at 0 or the dtype has another category,
    /// [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    pub fn finish(&self, dtype: DType) -> Result<Tensor> {
        if dtype.category() != self.dtype.category() {
            let reason = format!(
                "the terms were combined in {}, and {dtype} has another category; cast the tensors before",
                self.dtype
            );
            return Err(Error::InvalidArgument { op: "finish", reason });
        }
        self.total()?.cast(dtype)
    }

    /// Divides the sum by the number of terms and rounds once, as [`Tensor::mean`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::from_nested([1.0f32, 2.0], &Device::cpu())?;
    /// assert_eq!(x.partial_sum(..)?.mean(DType::F32)?.item::<f32>()?, 1.5);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`] for integers, [`Error::InvalidArgument`] for a product; otherwise as for
    /// [`PartialSum::finish`].
    pub fn mean(&self, dtype: DType) -> Result<Tensor> {
        self.expect(ReduceOp::Sum, "mean")?;
        supports(ReduceOp::Mean, self.dtype)?;
        supports(ReduceOp::Mean, dtype)?;
        let (total, count) = (self.total()?, self.range.end as f64);
        if self.dtype != DType::C128 {
            return (&total / count)?.cast(dtype);
        }
        // Each part is divided on its own.
        let parts = total.contiguous()?.reshape((total.len(), 1))?.bitcast(DType::F64)?;
        let mean = (&parts / count)?.bitcast(DType::C128)?.reshape(&*self.shape)?;
        mean.cast(dtype)
    }

    /// Divides a sum of [squares](PartialSum::squares) by the number of terms less the correction and rounds once, as
    /// [`Tensor::var`] does.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for another sum and a correction that is no number; otherwise as for
    /// [`PartialSum::finish`].
    pub fn variance(&self, correction: f64, dtype: DType) -> Result<Tensor> {
        self.quotient(correction, dtype)?.cast(dtype)
    }

    /// Computes the square root of the [variance](PartialSum::variance) before it is rounded, as [`Tensor::std`] does.
    ///
    /// # Errors
    ///
    /// As for [`PartialSum::variance`].
    pub fn deviation(&self, correction: f64, dtype: DType) -> Result<Tensor> {
        self.quotient(correction, dtype)?.sqrt()?.cast(dtype)
    }

    fn quotient(&self, correction: f64, dtype: DType) -> Result<Tensor> {
        self.expect(ReduceOp::Var, "variance")?;
        supports(ReduceOp::Var, dtype)?;
        if !correction.is_finite() {
            let reason = format!("the correction {correction} is not a number of elements");
            return Err(Error::InvalidArgument { op: "variance", reason });
        }
        &self.total()? / (self.range.end as f64 - correction).max(0.0)
    }

    fn expect(&self, op: ReduceOp, what: &'static str) -> Result<()> {
        if self.op == op {
            return Ok(());
        }
        let reason = match op {
            ReduceOp::Var => "this is not a sum of squares; see `PartialSum::squares`",
            _ => "this is not a sum of the terms themselves",
        };
        Err(Error::InvalidArgument { op: what, reason: reason.into() })
    }

    /// Combines all nodes: each is the left sibling of everything after it.
    fn total(&self) -> Result<Tensor> {
        if self.range.start != 0 {
            let reason =
                format!("only the terms {:?} are there; merge those before them first", self.range);
            return Err(Error::InvalidArgument { op: "finish", reason });
        }
        let mut nodes = self.nodes.iter().rev();
        let Some(last) = nodes.next() else {
            let nothing = if self.op == ReduceOp::Prod { 1 } else { 0 };
            return Tensor::full(&*self.shape, nothing, self.dtype, &self.device);
        };
        nodes.try_fold(last.clone(), |total, node| combined(self.op, node, &total))
    }

    /// Returns what a partial sum consists of, for serialisation.
    #[cfg(feature = "serde")]
    pub(crate) fn parts(&self) -> (ReduceOp, DType, &Range<usize>, &[usize], &[Tensor]) {
        (self.op, self.dtype, &self.range, &self.shape, &self.nodes)
    }

    /// Puts a partial sum together, or returns `None` if the parts do not fit each other.
    #[cfg(feature = "serde")]
    pub(crate) fn from_parts(
        (op, dtype, range): (ReduceOp, DType, Range<usize>),
        shape: Vec<usize>,
        nodes: Vec<Tensor>,
        device: Device,
    ) -> Option<PartialSum> {
        let is_right = matches!(op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Var)
            && matches!(dtype, DType::F64 | DType::C128 | DType::I64 | DType::U64)
            && (op != ReduceOp::Var || dtype == DType::F64)
            && range.start <= range.end
            && Tensor::zeros((), dtype, &device).and_then(|x| x.broadcast_to(&*shape)).is_ok()
            && subtrees(range.clone()).count() == nodes.len()
            && nodes.iter().all(|node| node.dtype() == dtype && node.shape() == shape);
        is_right.then_some(PartialSum { op, dtype, range, shape, device, nodes })
    }
}

/// The elements of a tensor as a matrix with a row for each result and a column for each term.
struct TermMatrix {
    op: &'static str,
    elements: Tensor,
    /// The shape of the results.
    shape: Vec<usize>,
}

impl TermMatrix {
    fn new(op: &'static str, x: &Tensor, axes: impl IntoAxes) -> Result<TermMatrix> {
        let chosen = axes.into_axes().of(op, x.shape())?;
        let (terms, kept): (Vec<usize>, Vec<usize>) = (0..x.rank()).partition(|&k| chosen[k]);
        let sizes = |axes: &[usize]| axes.iter().map(|&k| x.shape()[k]).collect::<Vec<_>>();
        let (shape, count) = (sizes(&kept), sizes(&terms).iter().product::<usize>());
        let matrix = (shape.iter().product::<usize>(), count);
        let ordered = x.permute([kept, terms].concat())?;
        let elements = match ordered.reshape(matrix) {
            Ok(elements) => elements,
            Err(_) => ordered.contiguous()?.reshape(matrix)?,
        };
        Ok(TermMatrix { op, elements, shape })
    }

    /// Calls a function with the place and the length of each subtree of a range, and keeps the totals.
    fn reduced(
        &self,
        op: ReduceOp,
        dtype: DType,
        range: impl RangeBounds<usize>,
        total: impl Fn(usize, usize) -> Result<Tensor>,
    ) -> Result<PartialSum> {
        let (range, first) = self.checked(range)?;
        let node = |part: Range<usize>| {
            total(part.start - range.start + first, part.len())?.reshape(&*self.shape)
        };
        let nodes = subtrees(range.clone()).map(node).collect::<Result<_>>()?;
        let device = self.elements.device().clone();
        Ok(PartialSum { op, dtype, shape: self.shape.clone(), device, nodes, range: range.clone() })
    }

    /// Returns the range of the terms, and the place of its first one: 0 if the range has the number of terms, and else its
    /// start, if the range is a part of them.
    fn checked(&self, range: impl RangeBounds<usize>) -> Result<(Range<usize>, usize)> {
        let count = self.elements.shape()[1];
        let end = match range.end_bound() {
            Bound::Included(&end) => Some(end.saturating_add(1)),
            Bound::Excluded(&end) => Some(end),
            Bound::Unbounded => None,
        };
        let given = match range.start_bound() {
            Bound::Included(&start) => Some(start),
            Bound::Excluded(&before) => Some(before.saturating_add(1)),
            Bound::Unbounded => None,
        };
        let start = match (given, end) {
            (Some(start), Some(end)) if start <= end && end <= count => {
                return Ok((start..end, start));
            }
            (Some(start), _) => Some(start),
            (None, Some(end)) => end.checked_sub(count),
            (None, None) => Some(0),
        };
        let stop = start.and_then(|start| start.checked_add(count));
        let reason = match (start, stop, end) {
            (Some(start), Some(stop), None) => return Ok((start..stop, 0)),
            (Some(start), Some(stop), Some(end)) if end == stop => return Ok((start..stop, 0)),
            (Some(start), _, Some(end)) => {
                let given = end.saturating_sub(start);
                format!(
                    "the range {start}..{end} has {given} terms, and the tensor {count}, of which it is no part"
                )
            }
            (None, _, end) => {
                let end = end.unwrap_or_default();
                format!("the range ..{end} has at most {end} terms, and the tensor {count}")
            }
            (Some(start), _, None) => {
                format!("{count} terms from {start} on end beyond {}", usize::MAX)
            }
        };
        Err(Error::InvalidArgument { op: self.op, reason })
    }
}

/// Returns the largest aligned runs of 2ᵏ terms within a range, in order.
fn subtrees(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let fitting = 1 << (range.end - start).checked_ilog2()?;
        let aligned = if start == 0 { fitting } else { 1 << start.trailing_zeros() };
        let run = start..start + fitting.min(aligned);
        start = run.end;
        Some(run)
    })
}

/// Returns whether two neighbours are the two halves of a subtree.
fn are_halves(left: &Range<usize>, right: &Range<usize>) -> bool {
    left.len() == right.len() && left.start.is_multiple_of(2 * left.len())
}

fn combined(op: ReduceOp, left: &Tensor, right: &Tensor) -> Result<Tensor> {
    if op == ReduceOp::Prod { left * right } else { left + right }
}

/// Returns the dtype in which totals are kept.
fn widest(dtype: DType) -> DType {
    if dtype.is_complex() {
        DType::C128
    } else if dtype.is_float() {
        DType::F64
    } else {
        dtype
    }
}

fn supports(op: ReduceOp, dtype: DType) -> Result<()> {
    let allowed = op.domain().words();
    let refused = Error::UnsupportedDType { op: op.name(), dtype, allowed };
    if op.is_defined_for(dtype) { Ok(()) } else { Err(refused) }
}
