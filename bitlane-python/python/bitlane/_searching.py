"""Looking elements up."""

from . import _bitlane
from ._bitlane import Array
from ._manipulation import _axes
from ._statistics import _reduced

__all__ = ["argmax", "argmin", "compress", "nonzero", "take", "take_along_axis", "where"]


def argmax(x, /, *, axis=None, keepdims=False):
    """Return the place of the first of the largest elements along a dimension, or of all.

    >>> import bitlane
    >>> bitlane.argmax(bitlane.asarray([1, 5, 5]))
    Array(1, dtype=int64)
    """
    return _reduced("argmax", x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Return the place of the first of the smallest elements along a dimension, or of all.

    >>> import bitlane
    >>> bitlane.argmin(bitlane.asarray([[3, 1], [2, 4]]), axis=1)
    Array([1, 0], dtype=int64)
    """
    return _reduced("argmin", x, axis, keepdims)


def nonzero(x, /):
    """Return the indices of the elements that are not zero, an array for each dimension.

    >>> import bitlane
    >>> bitlane.nonzero(bitlane.asarray([0, 3, 5]))
    (Array([1, 2], dtype=int64),)
    """
    if x.ndim == 0:
        raise ValueError("nonzero: an array without dimensions has no indices")
    return tuple(_bitlane.nonzero(x))


def where(condition, x1, x2, /):
    """Choose between the elements of two arrays, or numbers.

    >>> import bitlane
    >>> x = bitlane.asarray([-1.5, 2.0])
    >>> bitlane.where(x < 0, 0.0, x)
    Array([0., 2.], dtype=float64)
    """
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        from ._creation import asarray

        x1 = asarray(x1, device=condition.device)
    return _bitlane.select(condition, x1, x2)


def take(x, indices, /, *, axis=None):
    """Look elements up by their places along a dimension. Negative places count from the end.

    >>> import bitlane
    >>> bitlane.take(bitlane.asarray([10, 20, 30]), bitlane.asarray([2, 0, -1]))
    Array([30, 10, 30], dtype=int64)
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: an array of shape {x.shape} needs an axis")
        axis = 0
    return _bitlane.take(x, indices, _axes(axis, x.ndim, "take")[0])


def take_along_axis(x, indices, /, *, axis=-1):
    """Look one element up for every index, at its own place in the other dimensions.

    >>> import bitlane
    >>> x = bitlane.asarray([[3, 1], [2, 4]])
    >>> bitlane.take_along_axis(x, bitlane.argmax(x, axis=1, keepdims=True), axis=1)
    Array([[3],
           [4]], dtype=int64)
    """
    return _bitlane.take_along_axis(x, indices, _axes(axis, x.ndim, "take_along_axis")[0])


def compress(x, mask, /):
    """Return the elements for which a mask is true, in row-major order.

    >>> import bitlane
    >>> bitlane.compress(bitlane.asarray([1, 2, 3]), bitlane.asarray([True, False, True]))
    Array([1, 3], dtype=int64)
    """
    return _bitlane.compress(x, mask)
