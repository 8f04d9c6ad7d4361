"""Reductions and scans."""

import builtins

from . import _bitlane
from ._bitlane import int64, uint64
from ._manipulation import _axes

__all__ = [
    "all", "any", "bitwise_and_reduce", "bitwise_or_reduce", "bitwise_xor_reduce", "count_nonzero", "cumulative_max",
    "cumulative_min", "cumulative_prod", "cumulative_sum", "cumulative_xor", "diff", "max", "mean", "min", "prod", "std",
    "sum", "var",
]


def _reduced(name, x, axis, keepdims, dtype=None, correction=0.0):
    axes = None if axis is None else _axes(axis, x.ndim, name)
    return _bitlane.reduce(name, x, axes, keepdims, dtype, correction)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """Add the elements over dimensions, or all. Floats are added in float64, in an order that depends on their number alone.

    >>> import bitlane
    >>> bitlane.sum(bitlane.asarray([[1, 2], [3, 4]]), axis=0)
    Array([4, 6], dtype=int64)
    """
    return _reduced("sum", x, axis, keepdims, dtype)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """Multiply the elements over dimensions, or all.

    >>> import bitlane
    >>> bitlane.prod(bitlane.asarray([2.0, 3.0, 4.0]))
    Array(24., dtype=float64)
    """
    return _reduced("prod", x, axis, keepdims, dtype)


def mean(x, /, *, axis=None, keepdims=False):
    """Compute the mean of floats over dimensions, or of all.

    >>> import bitlane
    >>> bitlane.mean(bitlane.asarray([1.0, 2.0, 4.5]))
    Array(2.5, dtype=float64)
    """
    return _reduced("mean", x, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Compute the variance of floats over dimensions, or of all.

    >>> import bitlane
    >>> bitlane.var(bitlane.asarray([1.0, 3.0, 5.0]), correction=1)
    Array(4., dtype=float64)
    """
    return _reduced("var", x, axis, keepdims, None, float(correction))


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Compute the standard deviation of floats over dimensions, or of all.

    >>> import bitlane
    >>> bitlane.std(bitlane.asarray([1.0, 3.0, 5.0]), correction=1)
    Array(2., dtype=float64)
    """
    return _reduced("std", x, axis, keepdims, None, float(correction))


def max(x, /, *, axis=None, keepdims=False):
    """Return the largest elements over dimensions, or of all. NaN is larger than everything.

    >>> import bitlane
    >>> bitlane.max(bitlane.asarray([[1, 5], [4, 2]]), axis=1)
    Array([5, 4], dtype=int64)
    """
    return _reduced("max", x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """Return the smallest elements over dimensions, or of all. NaN is smaller than everything.

    >>> import bitlane
    >>> bitlane.min(bitlane.asarray([[1, 5], [4, 2]]), axis=1)
    Array([1, 2], dtype=int64)
    """
    return _reduced("min", x, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Return whether all elements over dimensions are true.

    >>> import bitlane
    >>> bitlane.all(bitlane.asarray([[True, False], [True, True]]), axis=1)
    Array([False,  True], dtype=bool)
    """
    return _reduced("all", x, axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Return whether any element over dimensions is true.

    >>> import bitlane
    >>> bitlane.any(bitlane.asarray([0, 3]))
    Array(True, dtype=bool)
    """
    return _reduced("any", x, axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """Count the elements that are not zero over dimensions, or all.

    >>> import bitlane
    >>> bitlane.count_nonzero(bitlane.asarray([0, 3, 5]))
    Array(2, dtype=int64)
    """
    return _reduced("count_nonzero", x, axis, keepdims)


def bitwise_and_reduce(x, /, *, axis=None, keepdims=False):
    """Return the bits that all elements have.

    >>> import bitlane
    >>> bitlane.bitwise_and_reduce(bitlane.asarray([6, 3]))
    Array(2, dtype=int64)
    """
    return _reduced("bitwise_and", x, axis, keepdims)


def bitwise_or_reduce(x, /, *, axis=None, keepdims=False):
    """Return the bits that any element has.

    >>> import bitlane
    >>> bitlane.bitwise_or_reduce(bitlane.asarray([6, 3]))
    Array(7, dtype=int64)
    """
    return _reduced("bitwise_or", x, axis, keepdims)


def bitwise_xor_reduce(x, /, *, axis=None, keepdims=False):
    """Return the parity of the bits.

    >>> import bitlane
    >>> bitlane.bitwise_xor_reduce(bitlane.asarray([6, 3]))
    Array(5, dtype=int64)
    """
    return _reduced("bitwise_xor", x, axis, keepdims)


def _scanned(name, x, axis, dtype=None):
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: an array of shape {x.shape} needs an axis")
        axis = 0
    return _bitlane.scan(name, x, _axes(axis, x.ndim, name)[0], dtype)


def _with_initial(name, x, axis, dtype, include_initial, initial):
    result = _scanned(name, x, axis, dtype)
    if not include_initial:
        return result
    axis = 0 if axis is None else axis % x.ndim
    shape = [1 if place == axis else size for place, size in enumerate(x.shape)]
    return _bitlane.concatenate([_bitlane.full(shape, initial, result.dtype, x.device), result], axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Compute the sum of all elements up to each one along a dimension.

    >>> import bitlane
    >>> bitlane.cumulative_sum(bitlane.asarray([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int64)
    """
    return _with_initial("cumulative_sum", x, axis, dtype, include_initial, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Compute the product of all elements up to each one along a dimension.

    >>> import bitlane
    >>> bitlane.cumulative_prod(bitlane.asarray([1, 2, 3]))
    Array([1, 2, 6], dtype=int64)
    """
    return _with_initial("cumulative_prod", x, axis, dtype, include_initial, 1)


def cumulative_max(x, /, *, axis=None):
    """Return the largest of all elements up to each one along a dimension.

    >>> import bitlane
    >>> bitlane.cumulative_max(bitlane.asarray([1, 3, 2]))
    Array([1, 3, 3], dtype=int64)
    """
    return _scanned("cumulative_max", x, axis)


def cumulative_min(x, /, *, axis=None):
    """Return the smallest of all elements up to each one along a dimension.

    >>> import bitlane
    >>> bitlane.cumulative_min(bitlane.asarray([2, 3, 1]))
    Array([2, 2, 1], dtype=int64)
    """
    return _scanned("cumulative_min", x, axis)


def cumulative_xor(x, /, *, axis=None):
    """Compute the bitwise XOR of all elements up to each one along a dimension.

    >>> import bitlane
    >>> bitlane.cumulative_xor(bitlane.asarray([1, 3, 2]))
    Array([1, 2, 0], dtype=int64)
    """
    return _scanned("cumulative_xor", x, axis)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Compute the differences of neighbours along a dimension, ``n`` times.

    >>> import bitlane
    >>> bitlane.diff(bitlane.asarray([1, 4, 9]))
    Array([3, 5], dtype=int64)
    """
    axis = _axes(axis, x.ndim, "diff")[0]
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = _bitlane.concatenate(parts, axis)
    before = (slice(None),) * axis
    for _ in range(n):
        later, earlier = x[*before, 1:], x[*before, :-1]
        x = later ^ earlier if x.dtype.kind == "b" else later - earlier
    return x
