"""Sums over Dask arrays that do not depend on the chunks.

A Dask array may have chunks that are arrays of bitlane: ``dask.array.from_array(x, chunks=…)``, elementwise operations,
slicing, reductions and ``rechunk`` keep them. The reductions of this module give, for every chunking, every number of
workers and every order of their work, the bits that :func:`bitlane.sum` and its like give on one machine for the whole
array.

>>> import bitlane as bl, bitlane.dask, dask.array as da
>>> x = bl.sin(bl.arange(1000.0))
>>> chunked = da.from_array(x, chunks=(1, 99, 300, 600))
>>> total = bl.dask.sum(chunked).compute(scheduler="synchronous")
>>> bl.bits_equal(total, bl.sum(x))
True
"""

import itertools
import math

import dask
import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph

from . import _bitlane
from ._bitlane import Array, PartialSum
from ._creation import asarray
from ._manipulation import _axes

__all__ = ["from_array", "mean", "prod", "std", "sum", "var"]

# How many neighbours one task merges.
_FAN_IN = 8


def from_array(x, chunks="auto"):
    """Make a Dask array whose chunks are views of an array of bitlane.

    >>> import bitlane as bl, bitlane.dask
    >>> chunked = bl.dask.from_array(bl.arange(10), chunks=4)
    >>> chunked.map_blocks(bl.rotate_left, 1).compute(scheduler="synchronous")[:3]
    Array([0, 2, 4], dtype=int64)
    """
    return da.from_array(asarray(x), chunks=chunks, asarray=False)


def _partial(block, op, axes, start, dtype):
    return PartialSum.over(op, asarray(block), axes, start, dtype)


def _squares(block, mean, axes, start):
    return PartialSum.squares(_widened(asarray(block)), mean, axes, start)


def _merged(parts):
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    return merged


def _finished(part, what, arguments, shape, is_numpy):
    result = getattr(part, what)(*arguments)
    if shape is not None:
        result = _bitlane.reshape(result, shape)
    return np.asarray(result) if is_numpy else result


def _widened(block):
    """Means of integers are those of float64."""
    return block if block.dtype.kind in "fc" else _bitlane.cast(block, _bitlane.float64)


def _in_runs(x, axes):
    """Rechunk so that the terms of a chunk follow one another in the row-major order of the reduced axes.

    Of the reduced axes, all before one have chunks of size 1, and all behind it are whole. A chunking that is of this
    kind is kept.
    """
    lengths = [x.shape[axis] for axis in axes]

    def is_run(place):
        before = all(set(x.chunks[axis]) <= {1} for axis in axes[:place])
        return before and all(len(x.chunks[axis]) == 1 for axis in axes[place + 1 :])

    if any(is_run(place) for place in range(len(axes))):
        return x
    kept = math.prod(max(x.chunks[axis], default=1) for axis in range(x.ndim) if axis not in axes)
    limit = dask.utils.parse_bytes(dask.config.get("array.chunk-size"))
    budget = max(1, limit // max(1, x.dtype.itemsize * kept))
    place, behind = len(axes) - 1, 1
    while place > 0 and behind * lengths[place] <= budget:
        behind *= max(1, lengths[place])
        place -= 1
    chunks = {axis: 1 for axis in axes[:place]}
    chunks[axes[place]] = max(1, min(lengths[place], budget // behind))
    chunks.update({axis: -1 for axis in axes[place + 1 :]})
    return x.rechunk(chunks)


def _dtype_of(x):
    return getattr(_bitlane, np.dtype(x.dtype).name)


def _check(x, axis, name):
    if not isinstance(x, da.Array):
        raise TypeError(f"{name}: {type(x).__name__} is no Dask array; bitlane.{name} takes an array")
    axes = tuple(range(x.ndim)) if axis is None else tuple(_axes(axis, x.ndim, name))
    if any(math.isnan(size) for size in x.shape):
        raise ValueError(f"{name}: the sizes of the chunks are not known; call compute_chunk_sizes first")
    return tuple(sorted(axes))


def _reduced(x, axes, name, step, finish, result_dtype, keepdims, is_numpy, others=()):
    """Build the graph: a task per chunk, a tree of merges along the reduced axes, and a task per result."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    token = dask.base.tokenize(x, axes, name, finish, result_dtype, keepdims, others)
    part, out = f"bitlane-{name}-part-{token}", f"bitlane-{name}-{token}"
    counts = [range(len(chunks)) for chunks in x.chunks]
    starts = [[0, *itertools.accumulate(chunks)] for chunks in x.chunks]
    graph = {}
    for places in itertools.product(*(counts[axis] for axis in kept)):
        parts = []
        for reduced in itertools.product(*(counts[axis] for axis in axes)):
            block = [0] * x.ndim
            for axis, place in itertools.chain(zip(kept, places), zip(axes, reduced)):
                block[axis] = place
            # The place of the first term in the row-major order of the reduced axes.
            start = 0
            for axis in axes:
                start = start * x.shape[axis] + starts[axis][block[axis]]
            key = (part, *block)
            graph[key] = step((x.name, *block), places, start)
            parts.append(key)
        level = 0
        while len(parts) > 1:
            merged = []
            for number in range(0, len(parts), _FAN_IN):
                key = (f"{part}-merge", level, *places, number // _FAN_IN)
                graph[key] = (_merged, parts[number : number + _FAN_IN])
                merged.append(key)
            parts, level = merged, level + 1
        shape = None
        index = list(places)
        if keepdims:
            index = [0] * x.ndim
            for axis, place in zip(kept, places):
                index[axis] = place
            shape = tuple(1 if axis in axes else x.chunks[axis][index[axis]] for axis in range(x.ndim))
        graph[(out, *index)] = (_finished, parts[0], *finish, shape, is_numpy)
    if keepdims:
        chunks = tuple((1,) if axis in axes else x.chunks[axis] for axis in range(x.ndim))
    else:
        chunks = tuple(x.chunks[axis] for axis in kept)
    graph = HighLevelGraph.from_collections(out, graph, dependencies=[x, *others])
    meta = np.empty((0,) * len(chunks), result_dtype.__numpy_dtype__)
    return da.Array(graph, out, chunks, meta=meta if is_numpy else asarray(meta))


def _prepared(x, axis, name):
    axes = _check(x, axis, name)
    is_numpy = not isinstance(x._meta, Array)
    return _in_runs(x, axes) if axes else x, axes, is_numpy


def _total(x, axis, dtype, keepdims, name):
    x, axes, is_numpy = _prepared(x, axis, name)
    dtype = dtype or _bitlane.reduce(name, _bitlane.full((1,), 0, _dtype_of(x), None), None).dtype
    # Terms are converted before they are combined where that is what the whole would do.
    terms = dtype if dtype.kind != "f" and dtype.kind != "c" or dtype != _dtype_of(x) else None

    def step(block, places, start):
        return (_partial, block, name, list(axes), start, terms)

    return _reduced(x, axes, name, step, ("finish", [dtype]), dtype, keepdims, is_numpy)


def sum(x, axis=None, dtype=None, keepdims=False):
    """Add the elements of a Dask array over axes, or all, with the bits of :func:`bitlane.sum`."""
    return _total(x, axis, dtype, keepdims, "sum")


def prod(x, axis=None, dtype=None, keepdims=False):
    """Multiply the elements of a Dask array over axes, or all, with the bits of :func:`bitlane.prod`."""
    return _total(x, axis, dtype, keepdims, "prod")


def _float_of(x):
    dtype = _dtype_of(x)
    return dtype if dtype.kind in "fc" else _bitlane.float64


def _mean(x, axes, dtype, keepdims, is_numpy):
    terms = _float_of(x) if _float_of(x) != _dtype_of(x) else None

    def step(block, places, start):
        return (_partial, block, "sum", list(axes), start, terms)

    return _reduced(x, axes, "mean", step, ("mean", [dtype]), dtype, keepdims, is_numpy)


def mean(x, axis=None, keepdims=False):
    """Compute the mean of a Dask array over axes, or of all, with the bits of :func:`bitlane.mean`."""
    x, axes, is_numpy = _prepared(x, axis, "mean")
    return _mean(x, axes, _float_of(x), keepdims, is_numpy)


def _spread(x, axis, correction, keepdims, name, finish):
    x, axes, is_numpy = _prepared(x, axis, name)
    # The first pass gives the mean without rounding it, the second one the squares of the distances from it.
    means = _mean(x, axes, _bitlane.float64, False, False)

    def step(block, places, start):
        return (_squares, block, (means.name, *places), list(axes), start)

    dtype = _float_of(x)
    finish = (finish, [float(correction), dtype])
    return _reduced(x, axes, name, step, finish, dtype, keepdims, is_numpy, others=(means,))


def var(x, axis=None, correction=0.0, keepdims=False):
    """Compute the variance of a Dask array over axes, or of all, with the bits of :func:`bitlane.var`."""
    return _spread(x, axis, correction, keepdims, "var", "variance")


def std(x, axis=None, correction=0.0, keepdims=False):
    """Compute the standard deviation of a Dask array over axes, or of all, with the bits of :func:`bitlane.std`."""
    return _spread(x, axis, correction, keepdims, "std", "deviation")
