"""Division with a remainder, and the functions of two operands."""

import numpy as np

from operands import DTYPES, Scalar, Tensor
from values import FLOATS, INTEGERS, MIXED, across, edges, grid, limits, mixed, non_zero, numbers


def modular(file):
    for op in ["floor_divide", "remainder"]:
        for dtype in INTEGERS:
            values = edges(dtype)
            divisors = values[(values != 0) & (values != -1)]
            grid(file, op, dtype, values, divisors, ["special"])
            # Torch and Paddle crash at MIN / -1 in the wider dtypes.
            without = ["paddle", "torch"] if dtype in ("i32", "i64") else []
            if dtype.startswith("i"):
                grid(file, op, dtype, values, [-1], ["minus_one"], without=without)
            grid(file, op, dtype, values, [0], ["by_zero"])
            info = limits(dtype)
            wide = file.random.integers(info.min, info.max, (2, 24), DTYPES[dtype], endpoint=True)
            x, y = wide[0], non_zero(wide[1] >> wide.dtype.type(info.bits // 2))
            y = np.where(y == np.array(-1).astype(y.dtype), y.dtype.type(5), y)
            file.add(op, [Tensor(dtype, x), Tensor(dtype, y)], ["random"])
        for dtype in FLOATS:
            grid(file, op, dtype, edges(dtype), edges(dtype), ["special"])
            x = numbers(file.random, dtype, 24, -1000, 1000)
            y = numbers(file.random, dtype, 24, -30, 30)
            file.add(op, [Tensor(dtype, x), Tensor(dtype, y)], ["random"])
            # Quotients that are whole numbers or close to one.
            dividends, divisors = [1.0, -1.0, 6.0, -6.0, 0.3], [0.1, -0.1, 0.2, 2.0, 3.0]
            grid(file, op, dtype, dividends, divisors, ["exact"])
        across(file, op, ["u8", "i32", "i64", "f16", "f32", "f64"], -9, 9)
        mixed(file, op, MIXED, -9, 9)
        for dtype in ["u8", "i32", "i64", "f16", "bf16", "f32", "f64"]:
            x = numbers(file.random, dtype, 4, -50, 50)
            y = non_zero(numbers(file.random, dtype, 4, -9, 9))
            for number in [7, 2.5, True] + ([-3] if dtype != "u8" else []):
                file.add(op, [Tensor(dtype, x), Scalar(number)], ["scalar"], "op")
                file.add(op, [Scalar(number), Tensor(dtype, y)], ["scalar"], "op")
        file.add(op, [Tensor("i32", [1, 2]), Tensor("i32", [1, 2, 3])], ["bad_shape"])
        for dtype in ["bool", "c64"]:
            x, y = numbers(file.random, dtype, 4), non_zero(numbers(file.random, dtype, 4))
            file.add(op, [Tensor(dtype, x), Tensor(dtype, y)], ["refused"])


def functions(file):
    power(file)
    for dtype in FLOATS:
        grid(file, "nextafter", dtype, edges(dtype), edges(dtype), ["special"])
        grid(file, "atan2", dtype, edges(dtype), edges(dtype), ["special"])
        # Finite arguments of logaddexp are random ones: near ln 2 below zero the last places of
        # the result say little.
        infinite = [np.inf, -np.inf, np.nan]
        grid(file, "logaddexp", dtype, infinite, infinite + [0.0, -3.0, 500.0], ["special"])
        grid(file, "logaddexp", dtype, infinite + [0.0, -3.0, 500.0], infinite, ["special"])
        top = limits(dtype).max
        grid(file, "logaddexp", dtype, [top, -top], [top, 3.0, -top], ["special"])
        for op, low, high in [("atan2", -50, 50), ("logaddexp", 1, 12), ("nextafter", -50, 50)]:
            x = numbers(file.random, dtype, 32, low, high)
            y = numbers(file.random, dtype, 32, low, high)
            file.add(op, [Tensor(dtype, x), Tensor(dtype, y)], ["random"])
            if op == "logaddexp":
                file.add(op, [Tensor(dtype, -x[:8] - 1), Tensor(dtype, -y[:8] - 1)], ["random"])
            if op == "atan2":
                scaled = (x.astype(np.float64) / 4096).astype(DTYPES[dtype])
                file.add(op, [Tensor(dtype, scaled), Tensor(dtype, y)], ["random"])
    for op in ["atan2", "logaddexp", "nextafter"]:
        across(file, op, FLOATS, 1, 9)
        mixed(file, op, MIXED + [("i32", "i32"), ("u8", "u8"), ("bool", "bool")], 1, 9)
        for dtype in FLOATS:
            x = Tensor(dtype, numbers(file.random, dtype, 4, 1, 9))
            for number in [2, 1.5]:
                file.add(op, [x, Scalar(number)], ["scalar"])
                file.add(op, [Scalar(number), x], ["scalar"])
        x, y = Tensor("c64", [1 + 2j]), Tensor("c64", [2 - 1j])
        file.add(op, [x, y], ["refused"])


def power(file):
    for dtype in INTEGERS:
        values = edges(dtype)
        grid(file, "pow", dtype, values, [0, 1, 2, 3, 5, 8, 31, 63, 64, 127], ["special"])
        if dtype.startswith("i"):
            grid(file, "pow", dtype, values, [-1, -2, -3, limits(dtype).min], ["negative"])
        x = numbers(file.random, dtype, 16, -9, 9)
        y = numbers(file.random, dtype, 16, 0, 12)
        file.add("pow", [Tensor(dtype, x), Tensor(dtype, np.abs(y))], ["random"])
    for dtype in FLOATS:
        grid(file, "pow", dtype, edges(dtype), edges(dtype), ["special"])
        grid(file, "pow", dtype, [-8.0, -2.0, -0.5, 0.5, 8.0], [-3.0, -2.0, 0.5, 7.0], ["exact"])
        bases = numbers(file.random, dtype, 32, 0.05, 20)
        exponents = numbers(file.random, dtype, 32, -3, 3)
        file.add("pow", [Tensor(dtype, bases), Tensor(dtype, exponents)], ["random"])
        near = (1 + file.random.uniform(-0.02, 0.02, 16)).astype(DTYPES[dtype])
        exponents = numbers(file.random, dtype, 16, -300, 300)
        file.add("pow", [Tensor(dtype, near), Tensor(dtype, exponents)], ["random"])
        grid(file, "pow", dtype, [1.5, 10.0, 0.1], [20.0, 200.0, 2000.0, -2000.0], ["huge"])
    across(file, "pow", ["u8", "i32", "i64", "f16", "f32", "f64"], 1, 5)
    mixed(file, "pow", MIXED, 1, 5)
    for dtype in ["u8", "i32", "i64", "f16", "bf16", "f32", "f64"]:
        x = Tensor(dtype, numbers(file.random, dtype, 4, 1, 5))
        for number in [0, 2, 3, 0.5, 2.5, True]:
            file.add("pow", [x, Scalar(number)], ["scalar"], "op")
            if number != 0:
                file.add("pow", [Scalar(number), x], ["scalar"], "op")
    for dtype in ["bool", "c64"]:
        x, y = numbers(file.random, dtype, 4), numbers(file.random, dtype, 4)
        file.add("pow", [Tensor(dtype, x), Tensor(dtype, y)], ["refused"])
