"""Functions that are traced once and then run in one pass over memory."""

import functools
import importlib
import itertools
import threading

from . import _bitlane
from ._bitlane import Array, Program

__all__ = ["fuse"]


def _flattened(value, arrays):
    """Return what is static of an argument or a result, and append its arrays to a list."""
    if isinstance(value, Array):
        arrays.append(value)
        return Array
    if isinstance(value, (list, tuple)):
        return type(value), tuple(_flattened(one, arrays) for one in value)
    if isinstance(value, dict):
        return dict, tuple((key, _flattened(one, arrays)) for key, one in value.items())
    # 1, 1.0 and True are equal, but do not promote alike; nor do 0.0 and -0.0 compute alike.
    return type(value), repr(value) if isinstance(value, (float, complex)) else value


# How many records a function keeps. The oldest gives way to another, and is made again when it is needed.
_MOST = 256

# Where a result has an array.
_PLACE = object()


def _rebuilt(value, arrays):
    """Return the value with its arrays, or their places, replaced in the same order."""
    if isinstance(value, Array) or value is _PLACE:
        return next(arrays)
    if isinstance(value, (list, tuple)):
        made = [_rebuilt(one, arrays) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {key: _rebuilt(one, arrays) for key, one in value.items()}
    return value


class _Fused:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._programs = {}
        self._lock = threading.Lock()

    def __call__(self, *args, **kwargs):
        arrays = []
        static = _flattened((args, kwargs), arrays)
        if not arrays or any(_bitlane.is_traced(array) for array in arrays):
            return self.__wrapped__(*args, **kwargs)
        signature = (
            static,
            _bitlane.current_rules(),
            tuple((array.dtype, array.shape, array.device) for array in arrays),
        )
        try:
            traced = self._programs.get(signature)
        except TypeError as error:
            text = "an argument is neither an array of bitlane nor a constant (`bitlane.asarray` converts other arrays)"
            raise TypeError(f"{self.__name__}: {text}: {error}") from None
        if traced is None:
            # No lock is held meanwhile: the function may call itself, or wait for another thread that calls it.
            traced = self._kept(signature, self._trace(args, kwargs, arrays))
        program, template = traced
        return _rebuilt(template, iter(program.run(arrays)))

    def _kept(self, signature, traced):
        """Keep a record, or return the one that another thread has kept meanwhile."""
        with self._lock:
            traced = self._programs.setdefault(signature, traced)
            if len(self._programs) > _MOST:
                del self._programs[next(iter(self._programs))]
            return traced

    def _trace(self, args, kwargs, arrays):
        stands_in = _bitlane.trace(arrays)
        args, kwargs = _rebuilt((args, kwargs), iter(stands_in))
        result = self.__wrapped__(*args, **kwargs)
        results = []
        _flattened(result, results)
        # The result itself would keep the arrays of this call alive.
        return Program(stands_in, results), _rebuilt(result, itertools.repeat(_PLACE))

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self):
        found = importlib.import_module(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        # Where its name leads to it, that is enough; anywhere else the function goes along.
        return self.__qualname__ if found is self else (fuse, (self.__wrapped__,))


def fuse(function):
    """Run a function over arrays in one pass over memory, with the same bits as without it.

    The function is called once for every combination of dtypes, shapes and devices of its arrays and of its other
    arguments, with arrays that stand for the real ones, and what it does with them is recorded. Later calls run the
    record; the last 256 are kept. So it must depend on nothing but its arguments, must not need elements, as
    ``if x > 0`` does, and cannot change an array, as ``x += 1`` and ``x[0] = 1`` do. Arrays that it uses without being given them are kept as they were found. Its result is an array, or a tuple, list or dict of
    arrays; an error is raised at the line that causes it.

    >>> import bitlane as bl
    >>> @bl.fuse
    ... def softmax(x):
    ...     e = bl.exp(x - bl.max(x, axis=-1, keepdims=True))
    ...     return e / bl.sum(e, axis=-1, keepdims=True)
    >>> softmax(bl.asarray([[0.0, 0.0], [5.0, 5.0]]))
    Array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float64)
    """
    return _Fused(function)
