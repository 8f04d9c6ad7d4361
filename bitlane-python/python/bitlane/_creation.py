"""Functions that make arrays."""

import builtins
import math

from . import _bitlane
from ._bitlane import Array, bool as _bool, complex128, float64, int64, uint64

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace", "meshgrid", "ones", "ones_like",
    "tril", "triu", "zeros", "zeros_like",
]


def _shape(shape):
    if type(shape) is tuple:
        return shape
    return (shape.__index__(),) if hasattr(shape, "__index__") else tuple(shape)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """Make an array of numbers, nested lists, or an array of any library.

    Arrays of other libraries, and buffers, share their memory unless ``copy`` is true, or another dtype or device is
    asked for. With ``copy=False`` what cannot be shared is a `ValueError`.

    >>> import bitlane
    >>> bitlane.asarray([[1, 2], [3, 4]], dtype=bitlane.float32)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    if isinstance(obj, Array):
        result = obj
    elif isinstance(obj, (builtins.bool, int, float, complex, list, tuple)) and not hasattr(obj, "__array_interface__"):
        if copy is False:
            raise ValueError("asarray: Python's numbers and lists can only be copied; leave copy=False out")
        if isinstance(obj, (list, tuple)) and any(isinstance(one, Array) and one.ndim for one in obj):
            result = _bitlane.stack([asarray(one, dtype=dtype) for one in obj], 0)
            return result if device is None else result.to_device(device)
        return _bitlane.from_nested(obj, dtype, device)
    else:
        result = _imported(obj, copy)
        copy = None if copy else copy
    converted = result if dtype is None else _bitlane.cast(result, dtype)
    if device is not None:
        converted = converted.to_device(device)
    if copy is False and not _bitlane.is_traced(result) and not _bitlane.shares_memory(converted, result):
        raise ValueError("asarray: the dtype or device asked for needs a copy; leave copy=False out")
    if copy and not _bitlane.is_traced(result) and _bitlane.shares_memory(converted, result):
        converted = converted.copy()
    return converted


def _imported(obj, copy):
    try:
        if hasattr(obj, "__array_interface__") or not hasattr(obj, "__dlpack__"):
            from ._numpy import from_numpy

            return from_numpy(obj, copy)
        return _bitlane.from_dlpack(obj, copy=copy)
    except BufferError as error:
        # The standard asks for another exception here than in `from_dlpack`.
        if copy is False:
            raise ValueError(f"asarray: {error}") from None
        raise


def full(shape, fill_value, *, dtype=None, device=None):
    """Make an array of one number.

    >>> import bitlane
    >>> bitlane.full((2, 2), 7, dtype=bitlane.uint8)
    Array([[7, 7],
           [7, 7]], dtype=uint8)
    """
    if dtype is None:
        kinds = {builtins.bool: _bool, int: int64, float: float64, complex: complex128}
        dtype = kinds.get(type(fill_value)) or asarray(fill_value).dtype
        if dtype == int64 and fill_value > 2**63 - 1:
            dtype = uint64
    if isinstance(fill_value, Array):
        fill_value = fill_value.item()
    return _bitlane.full(_shape(shape), fill_value, dtype, device)


def zeros(shape, *, dtype=None, device=None):
    """Make an array of zeros.

    >>> import bitlane
    >>> bitlane.zeros(3)
    Array([0., 0., 0.], dtype=float64)
    """
    return _bitlane.full(_shape(shape), 0, dtype or float64, device)


def ones(shape, *, dtype=None, device=None):
    """Make an array of ones.

    >>> import bitlane
    >>> bitlane.ones((1, 2), dtype=bitlane.int8)
    Array([[1, 1]], dtype=int8)
    """
    return _bitlane.full(_shape(shape), 1, dtype or float64, device)


def empty(shape, *, dtype=None, device=None):
    """Make an array whose elements do not matter. They are zeros.

    >>> import bitlane
    >>> bitlane.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """Make an array of one number with the shape, dtype and device of another.

    >>> import bitlane
    >>> bitlane.full_like(bitlane.ones(2, dtype=bitlane.float32), 3)
    Array([3., 3.], dtype=float32)
    """
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Make an array of zeros with the shape, dtype and device of another.

    >>> import bitlane
    >>> bitlane.zeros_like(bitlane.ones(2, dtype=bitlane.int8))
    Array([0, 0], dtype=int8)
    """
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Make an array of ones with the shape, dtype and device of another.

    >>> import bitlane
    >>> bitlane.ones_like(bitlane.zeros(2, dtype=bitlane.int8))
    Array([1, 1], dtype=int8)
    """
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """Make an array whose elements do not matter, with the shape, dtype and device of another.

    >>> import bitlane
    >>> bitlane.empty_like(bitlane.ones(2)).shape
    (2,)
    """
    return zeros_like(x, dtype=dtype, device=device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Make an array of numbers at equal distances, from ``start`` up to, but not including, ``stop``.

    >>> import bitlane
    >>> bitlane.arange(3), bitlane.arange(1.0, 2.0, 0.5)
    (Array([0, 1, 2], dtype=int64), Array([1.,  1.5], dtype=float64))
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: the step is 0")
    count = max(0, math.ceil((stop - start) / step))
    whole = all(isinstance(one, int) for one in (start, stop, step))
    if dtype is None:
        dtype = int64 if whole else float64
    if whole:
        count = len(range(start, stop, step))
        if step == 1 and -(2**63) <= start and stop < 2**63:
            return _bitlane.integers(start, start + count, dtype, device)
        # In 64 bits everything wraps as it should.
        steps = _bitlane.integers(0, count, uint64 if stop >= 2**63 else int64, device)
        return _bitlane.cast(steps * step + start, dtype)
    steps = _bitlane.integers(0, count, float64, device)
    return _bitlane.cast(steps * step + start, dtype)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """Make an array of ``num`` numbers at equal distances, the first and, with ``endpoint``, the last of which are given.

    >>> import bitlane
    >>> bitlane.linspace(0.0, 1.0, 5)
    Array([0.,   0.25, 0.5,  0.75, 1.  ], dtype=float64)
    """
    if num < 0:
        raise ValueError(f"linspace: {num} is no number of elements")
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    dtype = dtype or (complex128 if is_complex else float64)
    wide = complex128 if is_complex or dtype.kind == "c" else float64
    parts = num - 1 if endpoint else num
    places = _bitlane.cast(_bitlane.integers(0, num, float64, device), wide)
    if parts == 0:
        return _bitlane.cast(places * 0 + start, dtype)
    start, stop = (complex(start), complex(stop)) if wide == complex128 else (float(start), float(stop))
    step = (stop - start) / parts
    # A distance that overflows is taken in two halves; one that underflows is multiplied first.
    if math.isfinite(abs(step)) and step != 0:
        values = places * step + start
    else:
        values = places / parts * stop + (parts - places) / parts * start
    if endpoint and num > 1:
        values[-1] = stop
    if dtype.kind in "iu":
        from ._elementwise import _functions

        values = _functions["floor"](values)
    return _bitlane.cast(values, dtype)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Make a matrix of zeros with ones on a diagonal.

    >>> import bitlane
    >>> bitlane.eye(2, 3, k=1, dtype=bitlane.int8)
    Array([[0, 1, 0],
           [0, 0, 1]], dtype=int8)
    """
    n_cols = n_rows if n_cols is None else n_cols
    rows = _bitlane.unsqueeze(_bitlane.integers(0, n_rows, int64, device), 1)
    columns = _bitlane.integers(0, n_cols, int64, device)
    return _bitlane.cast(columns - rows == _diagonal(k, n_rows, n_cols), dtype or float64)


def _diagonal(k, n_rows, n_cols):
    """Return a diagonal that is as far off a matrix as one beyond 64 bits."""
    return max(-n_rows, min(k, n_cols))


def _triangle(x, k, name, keep):
    if x.ndim < 2:
        raise ValueError(f"{name}: an array of shape {x.shape} is no matrix")
    rows = _bitlane.unsqueeze(_bitlane.integers(0, x.shape[-2], int64, x.device), 1)
    columns = _bitlane.integers(0, x.shape[-1], int64, x.device)
    zero = _bitlane.full((), 0, x.dtype, x.device)
    return _bitlane.select(keep(columns - rows, _diagonal(k, *x.shape[-2:])), x, zero)


def tril(x, /, *, k=0):
    """Return matrices with zeros above a diagonal.

    >>> import bitlane
    >>> bitlane.tril(bitlane.ones((2, 2), dtype=bitlane.int8))
    Array([[1, 0],
           [1, 1]], dtype=int8)
    """
    return _triangle(x, k, "tril", lambda place, k: place <= k)


def triu(x, /, *, k=0):
    """Return matrices with zeros below a diagonal.

    >>> import bitlane
    >>> bitlane.triu(bitlane.ones((2, 2), dtype=bitlane.int8))
    Array([[1, 1],
           [0, 1]], dtype=int8)
    """
    return _triangle(x, k, "triu", lambda place, k: place >= k)


def meshgrid(*arrays, indexing="xy"):
    """Return the coordinates of a grid, one array for each dimension.

    >>> import bitlane
    >>> bitlane.meshgrid(bitlane.arange(2), bitlane.arange(3))[0]
    Array([[0, 1],
           [0, 1],
           [0, 1]], dtype=int64)
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: the indexing is "xy" or "ij", not {indexing!r}')
    if any(array.ndim != 1 for array in arrays):
        raise ValueError("meshgrid: an array is not of one dimension")
    if len({array.dtype for array in arrays}) > 1:
        raise ValueError("meshgrid: the arrays have different dtypes")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = 1, 0
    shape = [arrays[place].size for place in order]
    grids = []
    for number, array in enumerate(arrays):
        sizes = [1] * len(arrays)
        sizes[order.index(number)] = array.size
        grids.append(_bitlane.broadcast_to(_bitlane.reshape(array, sizes), shape).copy())
    return grids
