"""The choice between two operands."""

import numpy as np

from operands import DTYPES, Scalar, Tensor
from values import FLOATS, MIXED, edges, numbers, payloads, views


def select(file):
    for dtype in DTYPES:
        values = edges(dtype)
        if dtype in FLOATS:
            values = np.concatenate([values, payloads(dtype)])
        condition = Tensor("bool", file.random.integers(0, 2, len(values)).astype(bool))
        operands = [condition, Tensor(dtype, values), Tensor(dtype, values[::-1])]
        file.add("select", operands, ["special"], cmp=None)
        base = numbers(file.random, dtype, 24)
        flags = file.random.integers(0, 2, 24).astype(bool)
        for x, c in zip(views(dtype, base), views("bool", flags)):
            y = Tensor(dtype, numbers(file.random, dtype, x.shape[1]))
            file.add("select", [c, x, y], ["view", "broadcast"], cmp=None)
        for number in [3, 1.5, True]:
            tags, condition = ["scalar"], Tensor("bool", flags[:6])
            file.add("select", [condition, Tensor(dtype, base[:6]), Scalar(number)], tags, cmp=None)
            file.add("select", [condition, Scalar(number), Tensor(dtype, base[:6])], tags, cmp=None)
    flags = np.array([True, False, False, True])
    for left, right in MIXED:
        x, y = numbers(file.random, left, 4), numbers(file.random, right, 4)
        for condition in [flags, flags[0], flags[:, None]]:
            operands = [Tensor("bool", condition), Tensor(left, x), Tensor(right, y)]
            file.add("select", operands, ["mixed"], cmp="nan_sign")
        operands = [Tensor("bool", flags), Tensor(left, x), Tensor(right, y[0])]
        file.add("select", operands, ["mixed", "0-D y"], cmp="nan_sign")
    operands = [Tensor("bool", flags), Tensor("f32", [1.0, 2.0]), Tensor("f32", [1.0])]
    file.add("select", operands, ["bad_shape"], cmp=None)
