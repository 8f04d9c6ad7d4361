"""The transcendental functions, whose last places the libraries do not specify, signbit and hypot.

The dtypes of the results are recorded for every dtype, bools and integers included.
"""

import numpy as np

from operands import DTYPES, Scalar, Tensor
from records import TRANSCENDENTAL
from values import COMPLEX, FLOATS, INTEGERS, MIXED, across, edges, grid, mixed, numbers

# Where a function is defined and neither overflows nor loses its last places to cancellation; by
# default from −4 to 4.
RANGES = {
    "log": (2, 50), "log2": (3, 50), "log10": (2, 50), "log1p": (0.5, 50), "asin": (-0.9, 0.9),
    "acos": (-0.9, 0.7), "acosh": (1.5, 50), "atanh": (-0.9, 0.9), "sin": (0.2, 2.8), "cos": (-1.4, 1.4),
    "tan": (-1.4, 1.4), "atan": (-50, 50), "asinh": (-50, 50),
}  # fmt: skip


def transcendental(file):
    for op in TRANSCENDENTAL:
        low, high = RANGES.get(op, (-4, 4))
        for dtype in DTYPES:
            if dtype in COMPLEX:
                file.add(op, [Tensor(dtype, [0.5, 0.25 + 0.5j])], ["refused"])
            elif dtype in FLOATS:
                # Where the result is exact, infinite or a NaN.
                special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
                file.add(op, [Tensor(dtype, special)], ["special"])
                file.add(
                    op, [Tensor(dtype, numbers(file.random, dtype, 24, low, high))], ["random"]
                )
                file.add(op, [Tensor(dtype, 0.5)], ["0-D x"])
            else:
                values = [False, True] if dtype == "bool" else [0, 1, 2, 3]
                file.add(op, [Tensor(dtype, values)], ["integers"])
        base = np.linspace(max(low, 0.3), high, 24)
        for view in [([4, 6], [1, 4], 0, "transposed"), ([4, 6], [-6, -1], 23, "backwards")]:
            file.add(op, [Tensor("f32", base, *view)], ["view"])
        file.add(op, [Tensor("f32", np.zeros((2, 0)))], ["empty"])
    for dtype in DTYPES:
        tags = ["refused"] if dtype in COMPLEX else ["special"]
        file.add("signbit", [Tensor(dtype, edges(dtype))], tags)
    hypotenuses(file)


def hypotenuses(file):
    for dtype in FLOATS:
        special = [0.0, -0.0, 3.0, -4.0, np.inf, -np.inf, np.nan]
        grid(file, "hypot", dtype, special, special, ["special"])
        sides = [numbers(file.random, dtype, 32, -50, 50) for _ in "xy"]
        file.add("hypot", [Tensor(dtype, side) for side in sides], ["random"])
        for number in [3, 2.5]:
            file.add("hypot", [Tensor(dtype, sides[0][:4]), Scalar(number)], ["scalar"])
    across(file, "hypot", FLOATS, 1, 9)
    mixed(file, "hypot", MIXED + [(dtype, dtype) for dtype in ["bool"] + INTEGERS], 1, 9)
    file.add("hypot", [Tensor("c64", [1 + 2j]), Tensor("c64", [2 - 1j])], ["refused"])
