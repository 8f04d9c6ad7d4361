"""Indexing with arrays: boolean masks and integers. Views are made in Rust."""

import math

from . import _bitlane
from ._bitlane import Array, int64
from ._creation import asarray
from ._manipulation import broadcast_shapes, moveaxis


def _is_mask(item):
    return isinstance(item, Array) and item.dtype.kind == "b"


def _parts(x, key):
    """Return the parts of an index, one for each dimension it uses, and None; masks are integers by now."""
    key = key if isinstance(key, tuple) else (key,)
    parts = []
    for item in key:
        if not (item is None or item is Ellipsis or isinstance(item, slice)):
            item = item if isinstance(item, Array) else asarray(item, device=x.device)
            if item.dtype.kind not in "biu":
                raise IndexError(f"an index is an integer, a slice, `...`, None, or an array of integers or bools, not {item.dtype}")
        parts.append(item)
    used = sum(item.ndim if _is_mask(item) else 1 for item in parts if item is not None and item is not Ellipsis)
    if used > x.ndim:
        raise IndexError(f"{used} indices are too many for an array of shape {x.shape}")
    if sum(item is Ellipsis for item in parts) > 1:
        raise IndexError("an index has at most one `...`")
    if not any(item is Ellipsis for item in parts):
        parts.append(Ellipsis)
    expanded, axis = [], 0
    for item in parts:
        if item is Ellipsis:
            expanded += [slice(None)] * (x.ndim - used)
            axis += x.ndim - used
        elif _is_mask(item):
            if item.shape != x.shape[axis : axis + item.ndim]:
                text = f"a mask of shape {item.shape} does not fit axes {axis} to {axis + item.ndim} of shape {x.shape}"
                raise IndexError(text)
            expanded += _bitlane.nonzero(item)
            axis += item.ndim
        else:
            expanded.append(item)
            axis += item is not None
    return expanded


def _wrapped(index, size, axis):
    """Return indices that count from the start, after a check."""
    # Narrow dtypes cannot hold every size, and what is beyond int64 stays beyond every array.
    index = _bitlane.cast_saturating(index, int64)
    outside = (index < -size) | (index >= size)
    if bool(_bitlane.reduce("any", outside)):
        raise IndexError(f"an index is out of bounds for axis {axis} of size {size}")
    return _bitlane.select(index < 0, index + size, index)


def get(x, key):
    """Return ``x[key]`` for a key that has arrays in it."""
    if _is_mask(key) and key.ndim == x.ndim and key.ndim:
        if key.shape != x.shape:
            raise IndexError(f"a mask of shape {key.shape} does not fit an array of shape {x.shape}")
        return _bitlane.compress(x, key)
    if key is True or key is False or (_is_mask(key) and key.ndim == 0):
        x, key = x[None], _bitlane.reshape(asarray(key, device=x.device), (1,))
    view, arrays = _split(x, _parts(x, key))
    places = [place for place, _ in arrays]
    if len(arrays) == 1:
        place, index = arrays[0]
        _wrapped(index, view.shape[place], place)
        return _bitlane.take(view, index, place)
    linear, shape = _linear(view, arrays)
    rest = [axis for axis in range(view.ndim) if axis not in places]
    ordered = _bitlane.permute(view, places + rest)
    sizes = [view.shape[axis] for axis in rest]
    count = 1
    for place in places:
        count *= view.shape[place]
    flat = _bitlane.reshape(ordered, [count, *sizes])
    result = _bitlane.take(flat, linear, 0)
    if _adjacent(places):
        # Beside each other, their dimensions stay where they were.
        source = list(range(len(shape)))
        result = moveaxis(result, source, [places[0] + axis for axis in source])
    return result


def _split(x, parts):
    """Apply the slices, and return the view with the arrays and their axes."""
    view = x[tuple(slice(None) if isinstance(item, Array) else item for item in parts)]
    arrays, axis = [], 0
    for item in parts:
        if isinstance(item, Array):
            arrays.append((axis, item))
        axis += 1
    return view, arrays


def _linear(view, arrays):
    """Return one index into the flattened axes of several."""
    shape = broadcast_shapes(*(index.shape for _, index in arrays))
    linear = None
    for place, index in arrays:
        size = view.shape[place]
        index = _bitlane.broadcast_to(_wrapped(index, size, place), shape)
        linear = index if linear is None else linear * size + index
    return linear, shape


def set(x, key, value):
    """Do ``x[key] = value`` for a key that has arrays in it."""
    value = value if isinstance(value, (bool, int, float, complex, Array)) else asarray(value, device=x.device)
    if key is True or key is False or (_is_mask(key) and key.ndim == 0):
        if bool(key):
            x[...] = value
        return
    if _is_mask(key):
        if key.shape != x.shape[: key.ndim]:
            raise IndexError(f"a mask of shape {key.shape} does not fit an array of shape {x.shape}")
        mask = _bitlane.reshape(key, key.shape + (1,) * (x.ndim - key.ndim))
        if isinstance(value, Array) and value.ndim > x.ndim - key.ndim:
            # The value has an element for every one that is true: number k goes to the place that is the k-th.
            flat = _bitlane.reshape(key, (-1,))
            number = _bitlane.scan("cumulative_sum", _bitlane.cast(flat, int64), 0) - 1
            count = int(number[-1]) + 1 if flat.size else 0
            if value.shape[0] not in (1, count):
                raise ValueError(f"{value.shape[0]} values do not fit the {count} elements that the mask selects")
            if count == 0:
                return
            number = number * 0 if value.shape[0] == 1 else _bitlane.clip(number, 0, count - 1)
            value = _bitlane.reshape(_bitlane.take(value, number, 0), key.shape + value.shape[1:])
        _bitlane.assign_where(x, _bitlane.broadcast_to(mask, x.shape), value)
        return
    view, arrays = _split(x, _parts(x, key))
    places = [place for place, _ in arrays]
    linear, shape = _linear(view, arrays)
    rest = [axis for axis in range(view.ndim) if axis not in places]
    sizes = tuple(view.shape[axis] for axis in rest)
    indexed = tuple(view.shape[axis] for axis in places)
    if isinstance(value, Array):
        # Beside each other, the dimensions of the indices are where those that they replace were, otherwise in front.
        first = places[0] if _adjacent(places) else 0
        value = _bitlane.broadcast_to(_without_ones(value, len(shape) + len(sizes)), sizes[:first] + shape + sizes[first:])
        value = moveaxis(value, range(first, first + len(shape)), range(len(shape)))
        value = _bitlane.reshape(value, (linear.size, *sizes))
    target = _bitlane.permute(view, places + rest)
    if linear.size * _FEW <= math.prod(indexed):
        _set_few(target, linear, indexed, value)
        return
    # The last of several indices of the same place wins. Every place gets a value, and the mask says which are written.
    last = _bitlane.last_indices(_bitlane.reshape(linear, (-1,)), math.prod(indexed))
    if isinstance(value, Array):
        value = _bitlane.take(value, _bitlane.clip(last, 0, linear.size - 1), 0)
        value = _bitlane.reshape(value, indexed + sizes)
    mask = _bitlane.reshape(last >= 0, indexed + (1,) * len(sizes))
    _bitlane.assign_where(target, _bitlane.broadcast_to(mask, target.shape), value)


# To this few indices, one for this many places, elements are assigned one by one: a pass over all places takes longer.
_FEW = 1024


def _set_few(target, linear, indexed, value):
    for number, index in enumerate(_bitlane.reshape(linear, (-1,)).tolist()):
        place = []
        for size in reversed(indexed):
            index, rest = divmod(index, size)
            place.append(rest)
        target[tuple(reversed(place))] = value[number] if isinstance(value, Array) else value


def _without_ones(value, rank):
    """Remove dimensions of size 1 that a value has before those of its target, as NumPy does."""
    while value.ndim > rank and value.shape[0] == 1:
        value = value[0]
    return value


def _adjacent(places):
    return places == list(range(places[0], places[0] + len(places)))
