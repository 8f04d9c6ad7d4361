"""Dtypes and what can be asked of them."""

from dataclasses import dataclass

from . import _bitlane
from ._bitlane import Array, DType, astype

_ALL = {name: value for name, value in vars(_bitlane).items() if isinstance(value, DType)}
globals().update(_ALL)

__all__ = [*_ALL, "astype", "can_cast", "finfo", "iinfo", "isdtype"]

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def _dtype(value):
    return value.dtype if isinstance(value, Array) else value


def isdtype(dtype, kind):
    """Return whether a dtype is of a kind: a dtype, a name such as ``"integral"``, or a tuple of these.

    >>> import bitlane
    >>> bitlane.isdtype(bitlane.uint8, ("bool", "unsigned integer"))
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: {kind!r} is no kind of dtypes; the kinds are {', '.join(_KINDS)}")
        return dtype.kind in _KINDS[kind]
    return dtype == kind


def can_cast(from_, to, /):
    """Return whether promotion can turn one dtype into another.

    >>> import bitlane
    >>> bitlane.can_cast(bitlane.int8, bitlane.int16), bitlane.can_cast(bitlane.int16, bitlane.int8)
    (True, False)
    """
    try:
        return _bitlane.result_type(_dtype(from_), to) == to
    except TypeError:
        return False


@dataclass(frozen=True)
class iinfo:
    """The limits of an integer dtype.

    >>> import bitlane
    >>> bitlane.iinfo(bitlane.int8).max
    127
    """

    bits: int
    max: int
    min: int
    dtype: DType

    def __init__(self, type):
        dtype = _dtype(type)
        if dtype.kind not in "iu":
            raise TypeError(f"iinfo: {dtype} is not an integer dtype")
        bits = 8 * dtype.itemsize
        signed = dtype.kind == "i"
        fields = {
            "bits": bits,
            "max": 2 ** (bits - signed) - 1,
            "min": -(2 ** (bits - 1)) if signed else 0,
            "dtype": dtype,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)


# Bits of the fraction and the largest exponent; an 8-bit float of "fn" has finite numbers where others have infinities.
_FLOATS = {
    "float8_e4m3fn": (3, 8, 1.75),
    "float8_e5m2": (2, 15, None),
    "float16": (10, 15, None),
    "bfloat16": (7, 127, None),
    "float32": (23, 127, None),
    "float64": (52, 1023, None),
}


@dataclass(frozen=True)
class finfo:
    """The limits of a float dtype, or of the parts of a complex one.

    >>> import bitlane
    >>> bitlane.finfo(bitlane.float32).eps
    1.1920928955078125e-07
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    def __init__(self, type):
        dtype = _dtype(type)
        if dtype.kind == "c":
            dtype = _ALL[f"float{4 * dtype.itemsize}"]
        if dtype.name not in _FLOATS:
            raise TypeError(f"finfo: {dtype} is not a float dtype")
        fraction, exponent, largest = _FLOATS[dtype.name]
        largest = (2 - 2.0**-fraction if largest is None else largest) * 2.0**exponent
        smallest = 2.0 ** (1 - exponent) if dtype.name != "float8_e4m3fn" else 2.0**-6
        fields = {
            "bits": 8 * dtype.itemsize,
            "eps": 2.0**-fraction,
            "max": largest,
            "min": -largest,
            "smallest_normal": smallest,
            "dtype": dtype,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
