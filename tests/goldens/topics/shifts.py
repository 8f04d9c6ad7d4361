"""Shifts: every dtype with amounts inside and outside the width, every form, shapes, views and numbers."""

import numpy as np

from operands import DTYPES, EveryPair, Scalar, Tensor
from values import (
    COMPLEX, FLOATS, INTEGERS, LENGTHS, REFUSED_SHAPES, SHAPES, edges, laid_out, limits, numbers,
)  # fmt: skip

LEFT, RIGHT = "bitwise_left_shift", "bitwise_right_shift"
KINDS = [(op, {"is_arithmetic": kind}) for op in (LEFT, RIGHT) for kind in (True, False)]


def amounts(dtype):
    """Amounts inside the width and outside: negative, the width, and the extremes of the dtype."""
    info = limits(dtype)
    width = info.bits
    near = [0, 1, 2, width // 2, width - 2, width - 1, width, width + 1, 2 * width, 100]
    all_of_them = {info.min, -width, -2, -1, *near, info.max - 1, info.max}
    return [amount for amount in sorted(all_of_them) if info.min <= amount <= info.max]


def patterns(dtype):
    """The extremes, and patterns whose halves differ."""
    info = limits(dtype)
    word = np.array([0x5555_5555_5555_5555, 0xC3A5_96F0_1E2D_4B87], np.uint64)
    return np.concatenate([edges(dtype), word.astype(f"u{info.bits // 8}").view(DTYPES[dtype])])


def some(file, dtype, shape):
    """Random bits as values, and amounts of which a few are out of range."""
    info = limits(dtype)
    count = int(np.prod(shape, dtype=int))
    words = file.random.integers(0, 256, count * info.bits // 8).astype(np.uint8)
    choice = np.array([*range(info.bits), *range(info.bits), *amounts(dtype)]).astype(DTYPES[dtype])
    return words.view(DTYPES[dtype]).reshape(shape), file.random.choice(choice, count).reshape(
        shape
    )


def shift(file):
    def ask(op, kind, operands, tags=(), form="api", **others):
        file.add(op, operands, tags, form, dict(kind), cmp=None, **others)

    for dtype in INTEGERS:
        x = Tensor(dtype, patterns(dtype).reshape(-1, 1))
        y = Tensor(dtype, np.array(amounts(dtype)).astype(DTYPES[dtype]))
        for op, kind in KINDS:
            ask(op, kind, [x, y])
            # The lax functions do not broadcast.
            pair = [np.repeat(x.numpy(), len(y.numpy())), np.tile(y.numpy(), len(x.numpy()))]
            ask(op, kind, [Tensor(dtype, side) for side in pair], form="lax")
            if dtype in ("u8", "i8"):
                ask(op, kind, [EveryPair(dtype, 0), EveryPair(dtype, 1)])
                ask(op, kind, [EveryPair(dtype, 0), EveryPair(dtype, 1)], form="lax")
        turn = INTEGERS.index(dtype)
        for number, count in enumerate(LENGTHS[turn % 3 :: 3]):
            op, kind = KINDS[(number + turn) % 4]
            x, y = some(file, dtype, [count])
            ask(op, kind, [Tensor(dtype, x), Tensor(dtype, y)], ["length"])
        for number, (left, right) in enumerate(SHAPES):
            op, kind = KINDS[(number + turn) % 4]
            x, y = some(file, dtype, left)[0], some(file, dtype, right)[1]
            ask(op, kind, [Tensor(dtype, x), Tensor(dtype, y)], ["broadcast"])
        for number, shape_of in enumerate(laid_out(dtype)):
            op, kind = KINDS[(number + turn) % 4]
            x, y = (shape_of(side) for side in some(file, dtype, [40]))
            dense = [Tensor(dtype, np.ascontiguousarray(side.numpy())) for side in (x, y)]
            # JAX has no views.
            ask(op, kind, [[x, dense[1]], [dense[0], y]][number % 2], ["view"], without=["jax"])
            ask(op, kind, [x, y], ["view"], without=["jax"])
        in_place(file, ask, dtype)
        with_numbers(file, ask, dtype)
    for dtype in ("u8", "i32"):
        for number, (left, right) in enumerate(REFUSED_SHAPES):
            op, kind = KINDS[number % 4]
            x, y = some(file, dtype, left)[0], some(file, dtype, right)[1]
            ask(op, kind, [Tensor(dtype, x), Tensor(dtype, y)], ["bad_shape"])
    mixed_dtypes(file, ask)


def in_place(file, ask, dtype):
    """Records of destinations that are the left operand; the last ones are too small."""
    for number, (left, right) in enumerate([([6], [6]), ([2, 3], [3]), ([2, 3], [])]):
        for op, kind in [KINDS[number], KINDS[(number + 1) % 4], KINDS[(number + 2) % 4]]:
            x, y = some(file, dtype, left)[0], some(file, dtype, right)[1]
            ask(op, kind, [Tensor(dtype, x), Tensor(dtype, y)], form="inplace")
    for number, (left, right) in enumerate([([3], [2, 3]), ([], [2]), ([1], [3])]):
        op, kind = KINDS[(number + INTEGERS.index(dtype)) % 4]
        x, y = some(file, dtype, left)[0], some(file, dtype, right)[1]
        ask(op, kind, [Tensor(dtype, x), Tensor(dtype, y)], ["enlarge"], form="inplace")


def with_numbers(file, ask, dtype):
    """Records of numbers on either side, with the Python operator."""
    width = limits(dtype).bits
    kind = {"is_arithmetic": True}
    for op in (LEFT, RIGHT):
        for number in [0, 1, 3, width - 1, width, -1, 257, 300, 2**31 + 1, True]:
            x = Tensor(dtype, some(file, dtype, [5])[0])
            ask(op, kind, [x, Scalar(number)], ["scalar"], "op")
        for number in [1, 3, -8, True]:
            y = Tensor(dtype, some(file, dtype, [5])[1])
            ask(op, kind, [Scalar(number), y], ["scalar"], "op")
        x = Tensor(dtype, some(file, dtype, [5])[0])
        ask(op, kind, [x, Scalar(1.5)], ["scalar", "refused"], "op")
        ask(op, kind, [Scalar(1.0), x], ["scalar", "refused"], "op")


def mixed_dtypes(file, ask):
    """Records of every two dtypes. Floats, complex numbers and pairs of bools are refused."""
    kind = {"is_arithmetic": True}
    for left in DTYPES:
        for right in DTYPES:
            if left == right and left in INTEGERS:
                continue
            refused = any(dtype in FLOATS + COMPLEX for dtype in (left, right)) or left == right
            tags = ["mixed", "refused"] if refused else ["mixed"]
            x, y = (numbers(file.random, dtype, 4, 0, 9) for dtype in (left, right))
            op = (LEFT, RIGHT)[len(file.lines) % 2]
            ask(op, kind, [Tensor(left, x), Tensor(right, y)], tags)
            if not refused:
                ask(op, kind, [Tensor(left, x), Tensor(right, y[0])], tags + ["0-D y"])
                ask(op, kind, [Tensor(left, x), Tensor(right, y)], tags, "inplace")
