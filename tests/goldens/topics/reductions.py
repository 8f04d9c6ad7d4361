"""Reductions, scans and look-ups by index."""

import itertools

import numpy as np

from operands import DTYPES, Tensor
from values import COMPLEX, FLOATS, INTEGERS, limits, numbers, views

BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor"]


def sums(file):
    for op in ["sum", "mean"]:
        for dtype in DTYPES:
            if op == "mean" and dtype in ["bool"] + INTEGERS:
                file.add(op, [Tensor(dtype, [1, 0, 1])], ["refused"], params={"axes": []})
                continue
            # Multiples of 1/4 below 16, whose sums are exact in any order.
            exact = file.random.integers(0, 60, 24) / 4
            exact = exact.astype(np.int64) if dtype in INTEGERS else exact
            base = (exact > 7) if dtype == "bool" else exact.astype(DTYPES[dtype])
            cube = Tensor(dtype, base.reshape(2, 3, 4))
            for axes in [[], [0], [1], [2], [0, 2], [1, 2], [0, 1, 2]]:
                file.add(op, [cube], ["exact"], params={"axes": axes})
            for view, axes in zip(views(dtype, base), [[0], [], [1], [0]]):
                file.add(op, [view], ["view"], params={"axes": axes})
            file.add(op, [Tensor(dtype, base[0])], ["0-D x"], params={"axes": []})
            file.add(op, [Tensor(dtype, np.zeros((0, 3)))], ["empty"], params={"axes": []})
            file.add(op, [Tensor(dtype, np.zeros((0, 3)))], ["empty"], params={"axes": [0]})
            if dtype in INTEGERS:
                ends = [limits(dtype).max, limits(dtype).max, 1]
                file.add(op, [Tensor(dtype, ends)], ["wraps"], params={"axes": []})
            elif dtype != "bool":
                # Numbers of the same sign, so that nothing cancels.
                x = Tensor(dtype, numbers(file.random, dtype, 60, 1, 9).reshape(3, 20))
                for axes in [[], [1]]:
                    file.add(op, [x], ["random"], params={"axes": axes})
                zeros = [[-0.0], [-0.0, -0.0], [-0.0, 0.0]]
                for values in zeros + [[np.inf, 1.0], [np.inf, -np.inf], [np.nan, 1.0]]:
                    file.add(op, [Tensor(dtype, values)], ["special"], params={"axes": []})
        for dtype in FLOATS:
            top = [limits(dtype).max] * 3
            file.add(op, [Tensor(dtype, top)], ["overflow"], params={"axes": []})


def reductions(file):
    """The other reductions, scans and look-ups by index."""

    def cubes(dtype):
        """Small numbers of which none is twice the largest or the smallest, and a view of them."""
        if dtype == "bool":
            base = file.random.integers(0, 2, 24).astype(bool)
        else:
            low = 0 if dtype.startswith("u") else -12
            base = file.random.permutation(np.arange(low, low + 24)).astype(DTYPES[dtype])
        view = Tensor(dtype, base, [4, 3, 2], [1, 4, 12], 0, "transposed")
        return [Tensor(dtype, base.reshape(2, 3, 4)), view]

    for dtype in DTYPES:
        is_complex = dtype in COMPLEX
        ops = ["any", "all", "count_nonzero"]
        ops += [] if is_complex else ["max", "min", "argmax", "argmin"]
        ops += BITWISE if dtype == "bool" or dtype in INTEGERS else []
        cube, view = cubes(dtype)
        for op in ops:
            file.add(op, [cube], ["exact"], params={"axes": []})
            file.add(op, [cube], ["exact"], params={"axes": [1]})
            if dtype in ["i32", "f32"]:
                for axes in [[0], [2], [1]]:
                    file.add(op, [view], ["exact", "view"], params={"axes": axes})
        if dtype == "bool" or dtype in INTEGERS:
            for op in BITWISE:
                nothing = Tensor(dtype, np.zeros((3, 0)))
                file.add(op, [nothing], ["empty"], params={"axes": [1]})
        # Torch sums and multiplies unsigned integers as i64.
        without = ["torch"] if dtype.startswith("u") else []
        # Powers of two, whose products are exact in any order.
        lowest = 0 if dtype == "bool" or dtype in INTEGERS else -1
        exact = 2.0 ** file.random.integers(lowest, 2, 24)
        base = (exact > 1) if dtype == "bool" else exact.astype(DTYPES[dtype])
        powers = Tensor(dtype, base.reshape(2, 3, 4))
        for axes in [[], [1]]:
            file.add("prod", [powers], ["exact"], params={"axes": axes}, without=without)
        nothing = Tensor(dtype, np.zeros((0, 3)))
        file.add("prod", [nothing], ["empty"], params={"axes": [0]}, without=without)
        scans = ["cumulative_sum", "cumulative_prod"]
        for op, axis in itertools.product(scans, [1, 2]):
            file.add(op, [powers], ["exact"], params={"axis": axis}, without=without)
        scans = [] if is_complex else ["cumulative_max", "cumulative_min"]
        scans += ["cumulative_xor"] if dtype == "bool" or dtype in INTEGERS else []
        for op, axis in itertools.product(scans, [1, 2]):
            file.add(op, [cubes(dtype)[axis % 2]], ["exact"], params={"axis": axis})
    for dtype in FLOATS:
        for op in ["max", "min", "argmax", "argmin"]:
            # The first of equals, and the first NaN.
            for values in [[1.0, 3.0, 3.0, 1.0], [2.0, np.nan, np.inf, np.nan], [-np.inf, -np.inf]]:
                file.add(op, [Tensor(dtype, values)], ["special"], params={"axes": [0]})
        for op in ["cumulative_max", "cumulative_min"]:
            values = [2.0, 1.0, np.inf, np.nan, -np.inf, 3.0]
            file.add(op, [Tensor(dtype, values)], ["special"], params={"axis": 0})
    for dtype in ["f32", "f64"]:
        x = Tensor(dtype, numbers(file.random, dtype, 60, 1, 9).reshape(3, 20))
        near = Tensor(dtype, (1 + numbers(file.random, dtype, 60, -0.1, 0.1)).reshape(3, 20))
        for op, axes, correction in itertools.product(["var", "std"], [[], [0], [1]], [0, 1]):
            params = {"axes": axes, "correction": correction}
            file.add(op, [x], ["random"], params=params)
        for op in ["var", "std"]:
            params = {"axes": [0], "correction": 2}
            file.add(op, [Tensor(dtype, [1.0, 3.0])], ["special"], params=params)
            params = {"axes": [0], "correction": 0}
            file.add(op, [Tensor(dtype, [])], ["empty"], params=params)
        for axes in [[], [1]]:
            file.add("prod", [near], ["random"], params={"axes": axes})
        for axis in [0, 1]:
            file.add("cumulative_sum", [x], ["random"], params={"axis": axis})
            file.add("cumulative_prod", [near], ["random"], params={"axis": axis})
    for dtype, wide in itertools.product(["u8", "f16", "f32", "i64", "c128"], ["i32", "i64"]):
        for axis, x in itertools.product([0, 1, 2], cubes(dtype)):
            size = x.shape[axis]
            indices = Tensor(wide, file.random.integers(-size, size, (2, 2)))
            file.add("take", [x, indices], ["index"], params={"axis": axis})
            shape = list(x.shape)
            shape[axis] = 3
            # Torch takes neither negative indices nor i32.
            indices = Tensor(wide, file.random.integers(0, size, shape))
            without = ["torch"] if wide == "i32" else []
            params = {"axis": axis}
            file.add("take_along_axis", [x, indices], ["index"], params=params, without=without)
        x = cubes(dtype)[1]
        mask = Tensor("bool", file.random.integers(0, 2, x.shape).astype(bool))
        file.add("compress", [x, mask], ["mask"])
