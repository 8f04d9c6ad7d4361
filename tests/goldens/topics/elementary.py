"""Functions of one operand, and clip."""

import numpy as np

from operands import DTYPES, Scalar, Tensor
from values import COMPLEX, FLOATS, INTEGERS, edges, numbers, payloads, views

# The dtypes that the crate refuses.
REFUSED = {
    "abs": ["bool"] + COMPLEX, "negative": ["bool"], "bitwise_not": FLOATS + COMPLEX,
    "logical_not": [],
}  # fmt: skip


def unary(file):
    for op, refused in REFUSED.items():
        for dtype in DTYPES:
            # Floats are not computed with: all bits but the sign are preserved.
            values = edges(dtype)
            if dtype in refused:
                file.add(op, [Tensor(dtype, values)], ["refused"], cmp=None)
                continue
            file.add(op, [Tensor(dtype, values)], ["special"], cmp=None)
            file.add(op, [Tensor(dtype, values[-1])], ["0-D x"], cmp=None)
            if dtype in FLOATS:
                file.add(op, [Tensor(dtype, payloads(dtype))], ["payload"], cmp=None)
            base = numbers(file.random, dtype, 24)
            for view in views(dtype, base)[:: 1 if dtype in ("i8", "i64", "f16", "f32") else 3]:
                file.add(op, [view], ["view"], cmp=None)
        file.add(op, [Tensor("i32", np.zeros((2, 0)))], ["empty"], cmp=None)


# The functions of one operand that compute with it or read its bits, and the dtypes that the crate
# refuses. Integers and bools are promoted in the last two.
NOT_INTEGERS = ["bool"] + FLOATS + COMPLEX
ELEMENTARY = {
    "sign": ["bool"] + COMPLEX, "square": ["bool"],
    "floor": ["bool"] + COMPLEX, "ceil": ["bool"] + COMPLEX, "trunc": ["bool"] + COMPLEX,
    "round": ["bool"] + COMPLEX,
    "isnan": [], "isinf": [], "isfinite": [],
    "real": ["bool"] + INTEGERS + FLOATS, "imag": ["bool"] + INTEGERS + FLOATS,
    "conj": ["bool"] + INTEGERS + FLOATS,
    "count_ones": NOT_INTEGERS, "leading_zeros": NOT_INTEGERS, "swap_bytes": NOT_INTEGERS,
    "reciprocal": [], "sqrt": COMPLEX,
}  # fmt: skip


def elementary(file):
    ties = [0.4, 0.5, 0.6, 1.5, 2.5, 3.5, 1022.5, 1023.5]
    for op, refused in ELEMENTARY.items():
        for dtype in DTYPES:
            if dtype in refused:
                file.add(op, [Tensor(dtype, numbers(file.random, dtype, 3))], ["refused"])
                continue
            values = edges(dtype)
            if dtype in FLOATS:
                halves = [sign * tie for tie in ties for sign in (1, -1)]
                values = np.concatenate([values, np.array(halves).astype(values.dtype)])
            file.add(op, [Tensor(dtype, values)], ["special"])
            file.add(op, [Tensor(dtype, values[-1])], ["0-D x"])
            base = numbers(file.random, dtype, 24, -50, 50)
            file.add(op, [Tensor(dtype, base)], ["random"])
            if dtype in ("i8", "i64", "f16", "f32", "c64"):
                for view in views(dtype, base)[::3]:
                    file.add(op, [view], ["view"])
        file.add(op, [Tensor("i32", np.zeros((2, 0)))], ["empty"])
    limited(file)


def limited(file):
    """Records of clip, with tensors and with numbers as limits."""
    for dtype in INTEGERS + FLOATS:
        values = edges(dtype)
        low, high = (
            numbers(file.random, dtype, len(values)),
            numbers(file.random, dtype, len(values)),
        )
        operands = [Tensor(dtype, values), Tensor(dtype, low), Tensor(dtype, high)]
        # Paddle takes the first element of a tensor as the limit of all.
        file.add("clip", operands, ["special"], without=["paddle"])
        file.add("clip", [Tensor(dtype, values), Scalar(1), Scalar(5)], ["scalar"])
        if dtype in FLOATS:
            file.add("clip", [Tensor(dtype, values), Scalar(-0.5), Scalar(2.5)], ["scalar"])
            # A NaN as a limit.
            nan = Tensor(dtype, np.full(len(values), np.nan))
            operands = [Tensor(dtype, values), nan, Tensor(dtype, high)]
            file.add("clip", operands, ["special"], without=["paddle"])
    for left, right in [("f16", "f32"), ("f32", "f64"), ("i8", "i32"), ("i32", "f32")]:
        x, y = numbers(file.random, left, 4), numbers(file.random, right, 4)
        operands = [Tensor(left, x), Tensor(left, x[::-1]), Tensor(right, y)]
        file.add("clip", operands, ["mixed"], without=["paddle"])
    for dtype in COMPLEX:
        x = Tensor(dtype, numbers(file.random, dtype, 4))
        file.add("clip", [x, x, x], ["refused"])
