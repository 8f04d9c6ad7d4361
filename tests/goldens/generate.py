#!/usr/bin/env python3
"""Records the answers of the real libraries in the JSON Lines files that README.md describes.

    python3 -m venv target/goldens
    target/goldens/bin/pip install -r tests/goldens/requirements.txt
    target/goldens/bin/python tests/goldens/generate.py            # all files, or the names of some

writes modular, functions, unary, elementary, select, sums, losses and reductions (.jsonl) next to this script. The same
versions give the same bytes on the same kind of processor. The other files of this directory, for
shifts, copysign, atleast_Nd, the first binary operations and promotion, are not written by it.
"""

import itertools
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

sys.dont_write_bytecode = True
from libraries import DTYPES, LIBRARIES, SET_ASIDE, Scalar, Tensor, ask

INTEGERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
COMPLEX = ["c64", "c128"]
BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor"]

# The tolerance for a library's answer, in units in the last place, where the last bit is not
# specified: by operation and dtype.
FUNCTION = {"f16": 1, "bf16": 1, "f32": 2, "f64": 2}
SUM = {"f16": 2, "bf16": 2, "f32": 4, "f64": 4, "c64": 4, "c128": 4}
# Every factor rounds, and so do the distances from a rounded mean.
LONG = {**SUM, "f64": 16}
# Composed of several rounded steps, also in the half floats.
COMPOSED = {"f16": 4, "bf16": 4, "f32": 4, "f64": 4}
ULP = {
    "pow": FUNCTION, "atan2": FUNCTION, "logaddexp": FUNCTION,
    "sqrt": {"f32": 2},
    "sum": SUM, "mean": SUM, "cumulative_sum": SUM,
    "prod": LONG, "cumulative_prod": LONG, "var": LONG, "std": LONG,
    "l1_loss": SUM, "mse_loss": SUM, "huber_loss": SUM, "smooth_l1_loss": SUM,
    "poisson_nll_loss": COMPOSED,
}  # fmt: skip


class File:
    """The records of one file."""

    def __init__(self, name):
        self.name, self.lines = name, []
        self.random = np.random.default_rng(list(name.encode()))

    def add(self, op, operands, tags=(), form="api", params=None, without=(), cmp="nan_any"):
        """Asks every library except those in `without` and keeps the answers, if there are any.

        A missing kernel counts as an answer only where the crate's rules refuse the call as well.
        """
        params = params or {}
        arguments = {} if op == "select" else dict(params)
        answers = {}
        for library in LIBRARIES:
            if library.name in without:
                continue
            answer = ask(library, op, form, operands, arguments)
            if answer is None:
                continue
            lacks_kernel = answer.get("error", {}).get("kind") == "unsupported"
            if lacks_kernel and "refused" not in tags:
                continue
            ulp = ULP.get(op, {}).get(answer.get("dtype"))
            if ulp is not None:
                answer["ulp"] = ulp
            key = json.dumps(answer)
            answers.setdefault(key, ([], answer))[0].append(library.name)
        if not answers:
            return
        names = {1: ["x"], 2: ["x", "y"]}.get(len(operands))
        record = {"id": f"{self.name}-{len(self.lines):05}", "op": op}
        record["params"] = params if len(operands) == 1 else {"form": form} | params
        given = [operand.json() for operand in operands]
        record |= dict(zip(names, given)) if names else {"inputs": given}
        if cmp:
            record["cmp"] = cmp
        if tags:
            record["tags"] = list(tags)
        record["expect"] = [{"lib": libraries} | answer for libraries, answer in answers.values()]
        self.lines.append(json.dumps(record, separators=(",", ":")))

    def write(self):
        path = pathlib.Path(__file__).with_name(f"{self.name}.jsonl")
        path.write_text("".join(line + "\n" for line in self.lines))
        print(f"{path.name}: {len(self.lines)} records, {path.stat().st_size} bytes")


# Values.


def limits(dtype):
    return ml_dtypes.finfo(DTYPES[dtype]) if dtype in FLOATS else np.iinfo(DTYPES[dtype])


def float_edges(dtype):
    """Zeros, infinities, a NaN, subnormals, the largest and a few ordinary numbers, of either sign."""
    info = limits(dtype)
    tiny = info.smallest_subnormal
    positive = [0.0, tiny, info.smallest_normal, 0.5, 1.0, 3.0, info.max, np.inf]
    return [value for edge in positive for value in (edge, -edge)] + [np.nan]


def integer_edges(dtype):
    info = limits(dtype)
    edges = [info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 3, 7, 100, info.max - 1, info.max]
    return sorted({edge for edge in edges if info.min <= edge <= info.max})


def payloads(dtype):
    """NaNs of either sign with payloads, including signalling ones: bits that only copying preserves."""
    info = limits(dtype)
    word = np.dtype(f"u{info.bits // 8}")
    infinity = np.asarray(np.inf, DTYPES[dtype]).view(word)
    sign = word.type(1 << (info.bits - 1))
    words = [infinity | word.type(1), infinity | word.type(0x2A), infinity | sign | word.type(0x55)]
    return np.array(words, word).view(DTYPES[dtype])


def edges(dtype):
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        return np.array(integer_edges(dtype), DTYPES[dtype])
    if dtype in FLOATS:
        return np.array(float_edges(dtype), np.float64).astype(DTYPES[dtype])
    parts = [0.0, -0.0, 1.5, -np.inf, np.nan]
    pairs = itertools.product(parts, parts)
    return np.array([complex(re, im) for re, im in pairs]).astype(DTYPES[dtype])


def numbers(random, dtype, count, low=-9.0, high=9.0):
    """Random numbers within bounds; not negative for unsigned dtypes."""
    if dtype == "bool":
        return random.integers(0, 2, count).astype(bool)
    if dtype in INTEGERS:
        low = 0 if dtype.startswith("u") else int(low)
        return random.integers(low, int(high), count).astype(DTYPES[dtype])
    if dtype in FLOATS:
        return random.uniform(low, high, count).astype(DTYPES[dtype])
    parts = random.uniform(low, high, (2, count))
    return (parts[0] + 1j * parts[1]).astype(DTYPES[dtype])


def non_zero(values):
    return np.where(values == 0, values.dtype.type(3), values).astype(values.dtype)


def views(dtype, base):
    """Views of the same 24 elements that are not row-major."""
    return [
        Tensor(dtype, base, [4, 6], [1, 4], 0, "transposed"),
        Tensor(dtype, base, [4, 6], [-6, -1], 23, "backwards"),
        Tensor(dtype, base, [4, 6], [6, 0], 1, "one column expanded"),
        Tensor(dtype, base, [4, 3], [6, 2], 1, "every other column"),
    ]


def grid(file, op, dtype, left, right, tags, **others):
    """Adds a record of every pair of two lists."""
    x = Tensor(dtype, np.reshape(left, (-1, 1)))
    y = Tensor(dtype, np.reshape(right, (1, -1)))
    file.add(op, [x, y], tags, **others)


def mixed(file, op, pairs, low, high):
    """Adds records of different dtypes, and with a 0-d tensor on either side."""
    for left, right in pairs:
        x, y = numbers(file.random, left, 4, low, high), numbers(file.random, right, 4, low, high)
        x, y = (x, y) if op in ("pow", "select") else (x, non_zero(y))
        file.add(op, [Tensor(left, x), Tensor(right, y)], ["mixed"])
        file.add(op, [Tensor(left, x), Tensor(right, y[0])], ["mixed", "0-D y"])
        file.add(op, [Tensor(left, x[0]), Tensor(right, y)], ["mixed", "0-D x"])


def across(file, op, dtypes, low, high):
    """Adds records with views, broadcasting and 0-d tensors of the same dtype."""
    for dtype in dtypes:
        base = numbers(file.random, dtype, 24, low, high)
        other = non_zero(numbers(file.random, dtype, 24, low, high))
        for x in views(dtype, base):
            shape = x.shape
            y = Tensor(dtype, other[: shape[0] * shape[1]].reshape(shape))
            file.add(op, [x, y], ["view"])
        file.add(op, [Tensor(dtype, base[:6]), views(dtype, other)[0]], ["view", "broadcast"])
        file.add(op, [Tensor(dtype, base[0]), Tensor(dtype, other[0])], ["0-D x", "0-D y"])
        file.add(op, [Tensor(dtype, base[:0]), Tensor(dtype, other[:1])], ["empty"])


MIXED = [
    ("f16", "bf16"), ("f16", "f32"), ("f32", "f64"), ("f64", "bf16"), ("i8", "i32"), ("u8", "i8"),
    ("u8", "i64"), ("i32", "f32"), ("i64", "f16"), ("u16", "u64"), ("bool", "i16"), ("bool", "f32"),
    ("f32", "c64"),
]  # fmt: skip


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
        low, high = numbers(file.random, dtype, len(values)), numbers(file.random, dtype, len(values))
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


def losses(file):
    kinds = [
        ("l1_loss", [{}]),
        ("mse_loss", [{}]),
        ("huber_loss", [{"delta": 1.0}, {"delta": 0.3}]),
        ("smooth_l1_loss", [{"beta": 1.0}, {"beta": 0.3}, {"beta": 0.0}]),
        (
            "poisson_nll_loss",
            [
                {"log_input": log_input, "full": full, "epsilon": 1e-8}
                for log_input in (True, False)
                for full in (True, False)
            ],
        ),
    ]
    for op, variants in kinds:
        poisson = op == "poisson_nll_loss"
        for dtype, parameters in itertools.product(FLOATS, variants):
            # Terms of the same sign, so that nothing cancels.
            low, high = (-3, 3)
            if poisson:
                low, high = (-3, -0.1) if parameters["log_input"] else (0.1, 0.9)
            x = numbers(file.random, dtype, 12, low, high).reshape(3, 4)
            y = numbers(file.random, dtype, 12, 4, 9).reshape(3, 4)
            quarters = [(file.random.integers(0, 24, (3, 4)) / 4).astype(x.dtype) for _ in "xy"]
            for reduction in ["none", "mean", "sum"]:
                params = parameters | {"reduction": reduction}
                file.add(op, [Tensor(dtype, x), Tensor(dtype, y)], ["random"], params=params)
                if not poisson:
                    pair = [Tensor(dtype, side) for side in quarters]
                    file.add(op, pair, ["exact"], params=params)
                if dtype == "f32":
                    nothing = [Tensor(dtype, x[:0]), Tensor(dtype, y[:0])]
                    file.add(op, nothing, ["empty"], params=params)
            zero = [Tensor(dtype, x[0, 0]), Tensor(dtype, y[0, 0])]
            file.add(op, zero, ["0-D x", "0-D y"], params=params)
            params = parameters | {"reduction": "none"}
            # Torch and Paddle require equal shapes in some losses; these views have them.
            transposed = [Tensor(dtype, side, [4, 3], [1, 4], 0, "transposed") for side in (x, y)]
            file.add(op, transposed, ["view"], params=params)
            special = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
            rows = [np.repeat(special, 6), np.tile(special, 6)]
            file.add(op, [Tensor(dtype, row) for row in rows], ["special"], params=params)
        params = variants[0] | {"reduction": "mean"}
        for left, right in [("f32", "f64"), ("f16", "f32"), ("f16", "bf16")]:
            x, y = numbers(file.random, left, 4, -3, -0.5), numbers(file.random, right, 4, 4, 9)
            file.add(op, [Tensor(left, x), Tensor(right, y)], ["mixed"], params=params)


def reductions(file):
    """The other reductions, scans and look-ups by index. Only NumPy and Torch are asked."""
    others = {"without": ["paddle", "jax"]}
    every = [[], [0], [1], [2], [0, 2]]

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
        for cube, op in itertools.product(cubes(dtype), ops):
            for axes in [[1]] if cube.view else every:
                if len(axes) < 2 or op not in ("argmax", "argmin"):
                    file.add(op, [cube], ["exact"], params={"axes": axes}, **others)
        if dtype == "bool" or dtype in INTEGERS:
            for op in BITWISE:
                nothing = Tensor(dtype, np.zeros((3, 0)))
                file.add(op, [nothing], ["empty"], params={"axes": [1]}, **others)
        # Torch sums and multiplies unsigned integers as i64.
        without = ["paddle", "jax"] + (["torch"] if dtype.startswith("u") else [])
        # Powers of two, whose products are exact in any order.
        lowest = 0 if dtype == "bool" or dtype in INTEGERS else -1
        exact = 2.0 ** file.random.integers(lowest, 2, 24)
        base = (exact > 1) if dtype == "bool" else exact.astype(DTYPES[dtype])
        powers = Tensor(dtype, base.reshape(2, 3, 4))
        for axes in [[], [0], [1], [2]]:
            file.add("prod", [powers], ["exact"], params={"axes": axes}, without=without)
        nothing = Tensor(dtype, np.zeros((0, 3)))
        file.add("prod", [nothing], ["empty"], params={"axes": [0]}, without=without)
        scans = ["cumulative_sum", "cumulative_prod"]
        for op, axis in itertools.product(scans, [0, 1, 2]):
            file.add(op, [powers], ["exact"], params={"axis": axis}, without=without)
        scans = [] if is_complex else ["cumulative_max", "cumulative_min"]
        scans += ["cumulative_xor"] if dtype == "bool" or dtype in INTEGERS else []
        for op, axis in itertools.product(scans, [0, 1, 2]):
            file.add(op, [cubes(dtype)[axis % 2]], ["exact"], params={"axis": axis}, **others)
    for dtype in FLOATS:
        for op in ["max", "min", "argmax", "argmin"]:
            # The first of equals, and the first NaN.
            for values in [[1.0, 3.0, 3.0, 1.0], [2.0, np.nan, np.inf, np.nan], [-np.inf, -np.inf]]:
                file.add(op, [Tensor(dtype, values)], ["special"], params={"axes": [0]}, **others)
        for op in ["cumulative_max", "cumulative_min"]:
            values = [2.0, 1.0, np.inf, np.nan, -np.inf, 3.0]
            file.add(op, [Tensor(dtype, values)], ["special"], params={"axis": 0}, **others)
    for dtype in ["f32", "f64"]:
        x = Tensor(dtype, numbers(file.random, dtype, 60, 1, 9).reshape(3, 20))
        near = Tensor(dtype, (1 + numbers(file.random, dtype, 60, -0.1, 0.1)).reshape(3, 20))
        for op, axes, correction in itertools.product(["var", "std"], [[], [0], [1]], [0, 1]):
            params = {"axes": axes, "correction": correction}
            file.add(op, [x], ["random"], params=params, **others)
        for op in ["var", "std"]:
            params = {"axes": [0], "correction": 2}
            file.add(op, [Tensor(dtype, [1.0, 3.0])], ["special"], params=params, **others)
            params = {"axes": [0], "correction": 0}
            file.add(op, [Tensor(dtype, [])], ["empty"], params=params, **others)
        for axes in [[], [1]]:
            file.add("prod", [near], ["random"], params={"axes": axes}, **others)
        for axis in [0, 1]:
            file.add("cumulative_sum", [x], ["random"], params={"axis": axis}, **others)
            file.add("cumulative_prod", [near], ["random"], params={"axis": axis}, **others)
    for dtype, wide in itertools.product(["u8", "f16", "f32", "i64", "c128"], ["i32", "i64"]):
        for axis, x in itertools.product([0, 1, 2], cubes(dtype)):
            size = x.shape[axis]
            indices = Tensor(wide, file.random.integers(-size, size, (2, 2)))
            file.add("take", [x, indices], ["index"], params={"axis": axis}, **others)
            shape = list(x.shape)
            shape[axis] = 3
            # Torch takes neither negative indices nor i32.
            indices = Tensor(wide, file.random.integers(0, size, shape))
            without = ["torch"] if wide == "i32" else []
            params = {"axis": axis}
            file.add("take_along_axis", [x, indices], ["index"], params=params, without=without)
        x = cubes(dtype)[1]
        mask = Tensor("bool", file.random.integers(0, 2, x.shape).astype(bool))
        file.add("compress", [x, mask], ["mask"], **others)


FILES = [modular, functions, unary, elementary, select, sums, losses, reductions]

if __name__ == "__main__":
    for fill in FILES:
        if not sys.argv[1:] or fill.__name__ in sys.argv[1:]:
            file = File(fill.__name__)
            fill(file)
            file.write()
    for (kind, text), count in sorted(SET_ASIDE.items()):
        print(f"set aside {count} times: {kind}: {text}", file=sys.stderr)
