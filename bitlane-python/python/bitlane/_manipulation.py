"""Functions that change the shape or the order of the elements."""

from . import _bitlane
from ._bitlane import Array, int64

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "matrix_transpose",
    "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack",
]


def _axis(axis, rank, name):
    if not -rank <= axis < rank:
        raise IndexError(f"{name}: axis {axis} of an array of rank {rank}")
    return axis % rank


def _axes(axes, rank, name):
    axes = (axes,) if hasattr(axes, "__index__") else tuple(axes)
    axes = [_axis(axis, rank, name) for axis in axes]
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name}: an axis is named twice in {axes}")
    return axes


def reshape(x, /, shape, *, copy=None):
    """Return the elements in another shape, in which one size may be -1. It is a view where strides can express it.

    >>> import bitlane
    >>> bitlane.reshape(bitlane.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int64)
    """
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    result = _bitlane.reshape(x, shape)
    if copy is None or _bitlane.is_traced(x):
        return result
    shared = _bitlane.shares_memory(result, x)
    if not copy and not shared:
        raise ValueError(f"reshape: the strides of the array cannot express {shape}; leave copy=False out")
    return result.copy() if copy and shared else result


def permute_dims(x, /, axes):
    """Reorder the dimensions, as a view.

    >>> import bitlane
    >>> bitlane.permute_dims(bitlane.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _bitlane.permute(x, _axes(axes, x.ndim, "permute_dims"))


def matrix_transpose(x, /):
    """Exchange the last two dimensions, as a view.

    >>> import bitlane
    >>> bitlane.matrix_transpose(bitlane.ones((2, 3, 4))).shape
    (2, 4, 3)
    """
    return x.mT


def moveaxis(x, source, destination, /):
    """Move dimensions to other places, as a view.

    >>> import bitlane
    >>> bitlane.moveaxis(bitlane.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    source, destination = (_axes(axes, x.ndim, "moveaxis") for axes in (source, destination))
    if len(source) != len(destination):
        raise ValueError(f"moveaxis: {len(source)} axes cannot move to {len(destination)} places")
    order = [axis for axis in range(x.ndim) if axis not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return _bitlane.permute(x, order)


def expand_dims(x, /, axis=0):
    """Insert a dimension of size 1, as a view.

    >>> import bitlane
    >>> bitlane.expand_dims(bitlane.ones((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"expand_dims: axis {axis} of a result of rank {x.ndim + 1}")
    return _bitlane.unsqueeze(x, axis)


def squeeze(x, /, axis):
    """Remove dimensions of size 1, as a view.

    >>> import bitlane
    >>> bitlane.squeeze(bitlane.ones((1, 3, 1)), (0, 2)).shape
    (3,)
    """
    for one in sorted(_axes(axis, x.ndim, "squeeze"), reverse=True):
        if x.shape[one] != 1:
            raise ValueError(f"squeeze: axis {one} of shape {x.shape} is not of size 1")
        x = _bitlane.squeeze(x, one)
    return x


def broadcast_to(x, /, shape):
    """Repeat an array to a shape, as a view.

    >>> import bitlane
    >>> bitlane.broadcast_to(bitlane.asarray([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int64)
    """
    return _bitlane.broadcast_to(x, (shape,) if hasattr(shape, "__index__") else tuple(shape))


def broadcast_shapes(*shapes):
    """Return the shape to which shapes are broadcast.

    >>> import bitlane
    >>> bitlane.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    result = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        one, other = ((1,) * (rank - len(each)) + tuple(each) for each in (result, shape))
        if any(a != b and 1 not in (a, b) for a, b in zip(one, other)):
            raise ValueError(f"broadcast: cannot broadcast {tuple(result)} with {tuple(shape)}")
        result = tuple(b if a == 1 else a for a, b in zip(one, other))
    return result


def broadcast_arrays(*arrays):
    """Repeat arrays to a common shape, as views.

    >>> import bitlane
    >>> [x.shape for x in bitlane.broadcast_arrays(bitlane.ones((2, 1)), bitlane.ones(3))]
    [(2, 3), (2, 3)]
    """
    shape = broadcast_shapes(*(array.shape for array in arrays))
    return [_bitlane.broadcast_to(array, shape) for array in arrays]


def _common(arrays, name):
    arrays = list(arrays)
    if not arrays:
        raise ValueError(f"{name}: no arrays were given, at least one is needed")
    dtype = _bitlane.result_type(*arrays)
    return [array if array.dtype == dtype else _bitlane.cast(array, dtype) for array in arrays]


def concat(arrays, /, *, axis=0):
    """Join arrays along a dimension, or flattened if ``axis`` is None.

    >>> import bitlane
    >>> bitlane.concat([bitlane.asarray([1]), bitlane.asarray([2.5, 3])])
    Array([1.,  2.5, 3. ], dtype=float64)
    """
    arrays = _common(arrays, "concat")
    if axis is None:
        arrays, axis = [_bitlane.reshape(array, (-1,)) for array in arrays], 0
    return _bitlane.concatenate(arrays, axis)


def stack(arrays, /, *, axis=0):
    """Join arrays along a new dimension.

    >>> import bitlane
    >>> bitlane.stack([bitlane.asarray([1, 2]), bitlane.asarray([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    return _bitlane.stack(_common(arrays, "stack"), axis)


def unstack(x, /, *, axis=0):
    """Return the arrays along a dimension, as views.

    >>> import bitlane
    >>> bitlane.unstack(bitlane.asarray([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int64), Array([3, 4], dtype=int64))
    """
    return tuple(moveaxis(x, axis, 0))


def flip(x, /, *, axis=None):
    """Reverse the elements along dimensions, or all, as a view.

    >>> import bitlane
    >>> bitlane.flip(bitlane.asarray([1, 2, 3]))
    Array([3, 2, 1], dtype=int64)
    """
    for one in range(x.ndim) if axis is None else _axes(axis, x.ndim, "flip"):
        x = _bitlane.flip(x, one)
    return x


def roll(x, /, shift, *, axis=None):
    """Move the elements along dimensions; those that leave at one end enter at the other.

    >>> import bitlane
    >>> bitlane.roll(bitlane.asarray([1, 2, 3]), 1)
    Array([3, 1, 2], dtype=int64)
    """
    if axis is None:
        return _bitlane.reshape(roll(_bitlane.reshape(x, (-1,)), shift, axis=0), x.shape)
    axes = (axis,) if hasattr(axis, "__index__") else tuple(axis)
    shifts = (shift,) * len(axes) if hasattr(shift, "__index__") else tuple(shift)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    for amount, one in zip(shifts, axes):
        one = _axis(one, x.ndim, "roll")
        size = x.shape[one]
        amount = amount % size if size else 0
        if amount:
            before = (slice(None),) * one
            parts = [x[*before, size - amount :], x[*before, : size - amount]]
            x = _bitlane.concatenate(parts, one)
        else:
            x = x if _bitlane.is_traced(x) else x.copy()
    return x


def tile(x, repetitions, /):
    """Repeat an array as a whole along its dimensions.

    >>> import bitlane
    >>> bitlane.tile(bitlane.asarray([1, 2]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int64)
    """
    repetitions = (repetitions,) if hasattr(repetitions, "__index__") else tuple(repetitions)
    rank = max(x.ndim, len(repetitions))
    repetitions = (1,) * (rank - len(repetitions)) + repetitions
    x = _bitlane.reshape(x, (1,) * (rank - x.ndim) + x.shape)
    for axis, count in enumerate(repetitions):
        if count == 0:
            x = x[*(slice(None),) * axis, :0]
        elif count > 1:
            x = _bitlane.concatenate([x] * count, axis)
    return x if _bitlane.is_traced(x) else x.copy()


def repeat(x, repeats, /, *, axis=None):
    """Repeat each element, or each part along a dimension.

    >>> import bitlane
    >>> bitlane.repeat(bitlane.asarray([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int64)
    """
    if axis is None:
        x, axis = _bitlane.reshape(x, (-1,)), 0
    axis = _axis(axis, x.ndim, "repeat")
    size = x.shape[axis]
    counts = repeats.tolist() if isinstance(repeats, Array) else repeats
    counts = [counts] * size if isinstance(counts, int) else list(counts)
    counts = counts * size if len(counts) == 1 else counts
    if len(counts) != size or any(count < 0 for count in counts):
        raise ValueError(f"repeat: the counts {counts} do not fit axis {axis} of shape {x.shape}")
    places = [place for place, count in enumerate(counts) for _ in range(count)]
    indices = _bitlane.from_nested(places, int64, x.device)
    return _bitlane.take(x, indices, axis)
