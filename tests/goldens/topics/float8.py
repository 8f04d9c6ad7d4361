"""The floats of 8 bits: every value, every pair of values, and the conversions.

NumPy computes with the types of ml_dtypes, and JAX has its own conversions of them. In digests, every
NaN stands for the positive quiet one, because the signs of computed NaNs depend on the processor.
"""

import numpy as np

from libraries import NumPy
from operands import FLOAT8, NAMES, TYPES, EveryPair, Tensor, digests
from records import TRANSCENDENTAL
from values import COMPLEX, INTEGERS

UNARY = [
    "abs", "negative", "sign", "square", "reciprocal", "sqrt", "floor", "ceil", "trunc", "round",
    "isnan", "isinf", "isfinite", "signbit", "logical_not", *TRANSCENDENTAL,
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "maximum", "minimum",
    "fmax", "fmin", "copysign", "nextafter", "atan2", "hypot", "logaddexp", "equal", "not_equal",
    "less_than", "less_equal", "greater_than", "greater_equal",
]  # fmt: skip


def float8(file):
    others = {"without": ["paddle", "torch", "jax"]}
    for dtype in FLOAT8:
        every = EveryPair(dtype).numpy()
        for op in UNARY:
            file.add(op, [Tensor(dtype, every)], ["special"], **others)
        for op in BINARY:
            pairs(file, op, dtype)
        for other in TYPES:
            conversions(file, dtype, other)


def canonical(array, signed_zeros=True):
    """The same numbers, and one NaN."""
    if NAMES[array.dtype] not in FLOAT8:
        return array
    array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array if signed_zeros else np.where(array == 0, np.zeros_like(array), array)


def pairs(file, op, dtype):
    """Adds a record of the digests of every pair."""
    sides = [EveryPair(dtype, side) for side in (0, 1)]
    # Of two zeros, ml_dtypes takes the second. With this tag, both signs of a zero count as the same.
    tags = ["any_zero"] if op in ("maximum", "minimum", "fmax", "fmin") else []
    result = canonical(NumPy.functions[op](*(side.numpy() for side in sides)), not tags)
    answer = {"dtype": NAMES[result.dtype], "shape": list(result.shape)} | digests(result)
    file.keep(op, {"form": "api"}, sides, [("numpy", answer)], tags, cmp="nan_any")


def near(dtype, source):
    """Numbers of another dtype at, next to and between those of 8 bits, and beyond the largest."""
    every = EveryPair(dtype).numpy().astype(np.float64)
    finite = np.unique(every[np.isfinite(every)])
    if source in INTEGERS:
        info = np.iinfo(TYPES[source])
        whole = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2]).astype(np.int64)
        whole = np.unique(np.concatenate([whole, whole - 1, whole + 1]))
        ends = np.array([info.min, info.max], TYPES[source])
        return np.concatenate(
            [whole[(whole >= info.min) & (whole <= info.max)].astype(TYPES[source]), ends]
        )
    largest = finite[-1]
    beyond = largest * np.array([33 / 32, 17 / 16, 15 / 14, 9 / 8, 5 / 4, 2, 1e6])
    exact = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, beyond, -beyond]).astype(
        TYPES[source]
    )
    ends = np.array([np.inf, -np.inf, np.nan], TYPES[source])
    return np.concatenate([exact, np.nextafter(exact, ends[0]), np.nextafter(exact, ends[1]), ends])


def conversions(file, dtype, other):
    """Adds records of the conversions of every value to another dtype, and of that dtype to this one."""
    others = {"without": ["paddle", "torch"], "cmp": "nan_sign"}
    every = EveryPair(dtype).numpy()
    if other in INTEGERS:
        # A number that the integer does not hold has no answer.
        info, wide = np.iinfo(TYPES[other]), every.astype(np.float64)
        whole = np.isfinite(wide) & (wide <= info.max) & (np.trunc(wide) >= info.min)
        file.add(
            "cast", [Tensor(dtype, every[whole])], ["special"], params={"dtype": other}, **others
        )
    else:
        file.add("cast", [Tensor(dtype, every)], ["special"], params={"dtype": other}, **others)
    if other in FLOAT8 or other in COMPLEX:
        return
    if other in ("f16", "bf16"):
        result = canonical(EveryPair(other).numpy().astype(TYPES[dtype]))
        answer = {"dtype": dtype, "shape": list(result.shape)} | digests(result)
        file.keep("cast", {"dtype": dtype}, [EveryPair(other)], [("numpy", answer)], cmp="nan_any")
        return
    source = Tensor(other, [False, True] if other == "bool" else near(dtype, other))
    file.add("cast", [source], ["special"], params={"dtype": dtype}, **others)
    if dtype == "f8e4m3fn" and other in ("f32", "f64"):
        # Only Torch has saturating conversions, and only to this dtype.
        file.add("cast_saturating", [source], ["special"], params={"dtype": dtype}, cmp="nan_sign")
