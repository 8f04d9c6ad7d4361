"""Operands that the topics share: edges, random numbers and views."""

import itertools

import ml_dtypes
import numpy as np

from operands import DTYPES, Tensor

INTEGERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
COMPLEX = ["c64", "c128"]
LENGTHS = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 127, 129, 130, 200]
# Pairs of shapes that broadcast, and pairs that do not.
SHAPES = [
    ([3], [3]), ([2, 3], [3]), ([3], [2, 3]), ([2, 1], [1, 3]), ([3], []), ([], [3]), ([], []),
    ([1], []), ([1], [4]), ([5, 1, 2], [1, 3, 1]), ([2, 1, 3], [4, 1]), ([1, 1, 1, 1, 2], [3, 1]),
    ([2, 2, 2, 2], [2, 1, 2]), ([1, 9], [6, 1]), ([7, 5], [7, 1]), ([0], [1]), ([0], []),
    ([0], [0]), ([0, 3], [3]), ([0, 3], [2, 1, 3]), ([2, 0], [2, 1]), ([3, 0, 2], [1, 2]),
    ([1], [0]), ([4, 1], [0]),
]  # fmt: skip
REFUSED_SHAPES = [
    ([2], [3]), ([2, 3], [2]), ([2, 3, 4], [3, 3]), ([0], [2]), ([0, 3], [2, 3]), ([3, 0], [3, 2]),
    ([4, 1, 5], [2, 4]),
]  # fmt: skip
MIXED = [
    ("f16", "bf16"), ("f16", "f32"), ("f32", "f64"), ("f64", "bf16"), ("i8", "i32"), ("u8", "i8"),
    ("u8", "i64"), ("i32", "f32"), ("i64", "f16"), ("u16", "u64"), ("bool", "i16"), ("bool", "f32"),
    ("f32", "c64"),
]  # fmt: skip


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


def laid_out(dtype):
    """Functions that make views of a base of 40 elements, each with strides of its own."""
    layouts = [
        ([4, 3], [1, 4], 0, "transpose of [3,4]"), ([3, 2], [4, 2], 1, "columns 1::2 of [3,4]"),
        ([7], [2], 0, "every 2nd of [14]"), ([9], [2], 1, "slice 1:19:2 of [20]"),
        ([4, 2, 3], [1, 12, 4], 0, "permute(2,0,1) of [2,3,4]"),
        ([3, 5], [0, 1], 0, "expand [5] to [3,5]"), ([3, 4], [1, 0], 0, "expand [3,1] to [3,4]"),
        ([5, 4], [6, 1], 1, "columns 1:5 of [5,6]"), ([2, 2], [0, 0], 0, "expand 0-D to [2,2]"),
        ([37], [1], 3, "slice 3: of [40] (unaligned start)"),
        ([20, 2], [1, 20], 0, "transpose of [2,20]"), ([4, 6], [-6, -1], 23, "backwards"),
    ]  # fmt: skip
    return [lambda base, layout=layout: Tensor(dtype, base, *layout) for layout in layouts]


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
