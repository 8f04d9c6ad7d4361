"""Arithmetic and comparisons of every two dtypes, with tensors without dimensions and with numbers.

Values that are computed with complex numbers are finite.
"""

import itertools

from operands import DTYPES, Scalar, Tensor
from values import COMPLEX, FLOATS, edges, grid, non_zero, numbers

OPS = ["add", "subtract", "multiply", "divide", "equal", "less_than", "maximum"]


def small(file, dtype, count):
    """Numbers whose sums and products every dtype holds."""
    return numbers(file.random, dtype, count, -9, 9)


def refused(op, *dtypes):
    """The crate has no order of complex numbers, and no difference of bools."""
    complex_order = op in ("less_than", "maximum") and any(d in COMPLEX for d in dtypes)
    return complex_order or (op == "subtract" and set(dtypes) == {"bool"})


def binary(file):
    turn = 0
    for left in DTYPES:
        for right in DTYPES:
            # One operation for every two dtypes, and all of them for equal ones.
            turn += 1
            for op in OPS if left == right else [OPS[turn % 7]]:
                tags = ["refused"] if refused(op, left, right) else []
                x, y = small(file, left, 4), small(file, right, 4)
                if left != right and turn // 7 % 2:
                    y, tags = y[0], tags + ["0-D y"]
                y = non_zero(y) if op == "divide" else y
                # Paddle divides two bools as bools.
                without = ["paddle"] if op == "divide" and left == right == "bool" else []
                file.add(op, [Tensor(left, x), Tensor(right, y)], tags, without=without)
        for number, op in itertools.product([True, 3, -2.5, 1 - 2j], OPS[:-1]):
            turn += 1
            category = {bool: "bool", int: "i64", float: "f32", complex: "c64"}[type(number)]
            tags = ["scalar", "refused"] if refused(op, left, category) else ["scalar"]
            if turn % 3 == 0:
                x = Tensor(left, small(file, left, 3))
                file.add(op, [x, Scalar(number)], tags, "op")
        special(file, left)


def special(file, dtype):
    """Records of every pair of edges. JAX takes subnormal numbers for zeros."""
    if dtype in COMPLEX:
        return
    ops = ["multiply", "equal", "less_than"] + (["add", "subtract"] if dtype != "bool" else [])
    for op in ops + (["divide"] if dtype in FLOATS else []):
        grid(file, op, dtype, edges(dtype), edges(dtype), ["special"], without=["jax"])
