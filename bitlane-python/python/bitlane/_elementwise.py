"""Functions of one array and of two, made from the tables of the library."""

import inspect

from . import _bitlane
from ._bitlane import Array, Function

# Where the standard has another name than the library.
_STANDARD = {
    "bitwise_not": "bitwise_invert",
    "less_than": "less",
    "greater_than": "greater",
}

_EXAMPLES = {
    "bitwise_right_shift_logical": (
        ">>> bitlane.bitwise_right_shift_logical(bitlane.asarray([-1], dtype=bitlane.int8), 4)\n"
        "Array([15], dtype=int8)"
    ),
    "rotate_left": (
        ">>> bitlane.rotate_left(bitlane.asarray([0x81], dtype=bitlane.uint8), 1)\n"
        "Array([3], dtype=uint8)"
    ),
    "copysign": ">>> bitlane.copysign(bitlane.asarray([1.5, 2.0]), -0.0)\nArray([-1.5, -2. ], dtype=float64)",
    "count_ones": ">>> bitlane.count_ones(bitlane.asarray([7, 8]))\nArray([3, 1], dtype=int64)",
}


def _made(operation):
    name = _STANDARD.get(operation, operation)
    function = Function(operation, name)
    names = ["x"] if function.arity == 1 else ["x1", "x2"]
    only = inspect.Parameter.POSITIONAL_ONLY
    function.__signature__ = inspect.Signature([inspect.Parameter(each, only) for each in names])
    function.__module__ = "bitlane"
    example = _EXAMPLES.get(operation)
    example = f"\n\n>>> import bitlane\n{example}" if example else ""
    function.__doc__ = f"{function.description}{example}"
    return name, function


_UNARY, _BINARY = _bitlane.operations()
_functions = dict(_made(operation) for operation in [*_UNARY, *_BINARY])
globals().update(_functions)

__all__ = [*_functions, "clip", "conj", "imag", "positive", "real", "round", "sign"]

_real, _imag, _conj = (_functions[name] for name in ("real", "imag", "conj"))
_round, _sign = (_functions[name] for name in ("round", "sign"))


def positive(x, /):
    """Return the array itself.

    >>> import bitlane
    >>> bitlane.positive(bitlane.asarray([-1]))
    Array([-1], dtype=int64)
    """
    return +x


def real(x, /):
    """Return the real parts: of an array that is not complex, the array itself.

    >>> import bitlane
    >>> bitlane.real(bitlane.asarray([1 + 2j]))
    Array([1.], dtype=float64)
    """
    return _real(x) if x.dtype.kind == "c" else x


def imag(x, /):
    """Return the imaginary parts of complex numbers.

    >>> import bitlane
    >>> bitlane.imag(bitlane.asarray([1 + 2j]))
    Array([2.], dtype=float64)
    """
    return _imag(x)


def conj(x, /):
    """Return the complex conjugates: of an array that is not complex, the array itself.

    >>> import bitlane
    >>> bitlane.conj(bitlane.asarray([1 + 2j]))
    Array([1.-2.j], dtype=complex128)
    """
    return _conj(x) if x.dtype.kind == "c" else x


def round(x, /):
    """Round to the nearest integer, ties to even; complex numbers part by part.

    >>> import bitlane
    >>> bitlane.round(bitlane.asarray([0.5, 1.5, -2.6]))
    Array([ 0.,  2., -3.], dtype=float64)
    """
    if x.dtype.kind != "c":
        return _round(x)
    part = _bitlane.float32 if x.dtype == _bitlane.complex64 else _bitlane.float64
    parts = _bitlane.bitcast(_bitlane.unsqueeze(x, -1), part)
    return _bitlane.squeeze(_bitlane.bitcast(_round(parts), x.dtype), -1)


def sign(x, /):
    """Return -1, 0 or 1; of a complex number the number of size 1 in its direction, or 0.

    >>> import bitlane
    >>> bitlane.sign(bitlane.asarray([-2.5, 0.0, 7.0]))
    Array([-1.,  0.,  1.], dtype=float64)
    """
    if x.dtype.kind != "c":
        return _sign(x)
    return _bitlane.select(x == 0, 0, x / abs(x))


def clip(x, /, min=None, max=None):
    """Limit the elements to a range, which may be open on either side. The result has the dtype of ``x``.

    >>> import bitlane
    >>> bitlane.clip(bitlane.asarray([-3, 5, 20]), 0, 10)
    Array([ 0,  5, 10], dtype=int64)
    """
    if min is not None and max is not None:
        result = _bitlane.clip(x, min, max)
    elif min is not None:
        result = _functions["maximum"](x, min)
    elif max is not None:
        result = _functions["minimum"](x, max)
    else:
        return +x if x.dtype.kind != "b" else x
    return result if result.dtype == x.dtype else _bitlane.cast(result, x.dtype)
