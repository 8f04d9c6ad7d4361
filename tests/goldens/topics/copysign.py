"""Copysign: every sort of number with either sign, and its gradient."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import paddle
import torch

from libraries import Jax, Paddle, Torch
from operands import DTYPES, Scalar, Tensor, bits
from values import (
    COMPLEX, FLOATS, INTEGERS, LENGTHS, REFUSED_SHAPES, SHAPES, edges, laid_out, limits, numbers,
    payloads,
)  # fmt: skip


def magnitudes(dtype):
    """All sorts of numbers and NaNs with payloads."""
    return np.concatenate([edges(dtype), payloads(dtype)])


def signs(dtype):
    """Numbers that count as positive, and such that count as negative."""
    all_of_them = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf]
    return np.concatenate([np.array(all_of_them).astype(DTYPES[dtype]), payloads(dtype)])


def copysign(file):
    def ask(operands, tags=(), form="api", cmp=None, **others):
        file.add("copysign", operands, tags, form, cmp=cmp, **others)

    def some(dtype, shape):
        count = int(np.prod(shape, dtype=int))
        return [numbers(file.random, dtype, count).reshape(shape) for _ in "xy"]

    for dtype in FLOATS:
        x, y = magnitudes(dtype), signs(dtype)
        ask([Tensor(dtype, x.reshape(-1, 1)), Tensor(dtype, y)], ["special"])
        turn = FLOATS.index(dtype)
        for count in LENGTHS[turn % 3 :: 3]:
            ask([Tensor(dtype, side) for side in some(dtype, [count])], ["length"])
        for left, right in SHAPES[turn % 2 :: 2]:
            x, y = some(dtype, left)[0], some(dtype, right)[1]
            ask([Tensor(dtype, x), Tensor(dtype, y)], ["broadcast"])
        for number, shape_of in enumerate(laid_out(dtype)):
            x, y = (shape_of(side) for side in some(dtype, [40]))
            dense = [Tensor(dtype, np.ascontiguousarray(side.numpy())) for side in (x, y)]
            # JAX has no views.
            ask(
                [[x, dense[1]], [dense[0], y], [x, y]][(number + turn) % 3],
                ["view"],
                without=["jax"],
            )
        special = [0.0, -0.0, 1.0, -2.5, -np.inf, np.nan, -np.nan, -1e-300, 0, -1, 7, True, False]
        for number in special:
            ask([Tensor(dtype, some(dtype, [4])[0]), Scalar(number)], ["scalar"])
        for number in [2.0, 1.0]:
            ask([Scalar(number), Tensor(dtype, some(dtype, [4])[0])], ["scalar"])
        for left, right in [([6], [6]), ([2, 3], [3])]:
            x, y = some(dtype, left)[0], some(dtype, right)[1]
            ask([Tensor(dtype, x), Tensor(dtype, y)], form="inplace")
        x, y = some(dtype, [3])[0], some(dtype, [2, 3])[1]
        ask([Tensor(dtype, x), Tensor(dtype, y)], ["enlarge"], "inplace")
    for dtype in ["bool"] + INTEGERS:
        x = edges(dtype)
        ask([Tensor(dtype, x), Tensor(dtype, x[::-1])], ["int"])
        for number in [-1, 3, -0.0, -2.5, -0.5, True]:
            ask([Tensor(dtype, x), Scalar(number)], ["scalar", "int"])
    for left, right in REFUSED_SHAPES:
        x, y = some("f32", left)[0], some("f32", right)[1]
        ask([Tensor("f32", x), Tensor("f32", y)], ["bad_shape"])
    for left, right in itertools.product(DTYPES, DTYPES):
        if left == right and left not in COMPLEX:
            continue
        refused = ["refused"] if left in COMPLEX or right in COMPLEX else []
        x, y = numbers(file.random, left, 5), numbers(file.random, right, 5)
        ask([Tensor(left, x), Tensor(right, y)], ["mixed"] + refused, cmp="nan_sign")
        if refused:
            continue
        match len(file.lines) % 3:
            case 0:
                ask([Tensor(left, x), Tensor(right, y[0])], ["mixed", "0-D y"], cmp="nan_sign")
            case 1:
                ask([Tensor(left, x[0]), Tensor(right, y)], ["mixed", "0-D x"], cmp="nan_sign")
            case _:
                ask([Tensor(left, x), Tensor(right, y)], ["mixed"], "inplace", cmp="nan_any")


def gradients_of_torch(x, y, g):
    x, y, g = (Torch.tensor(operand) for operand in (x, y, g))
    x.requires_grad_(), y.requires_grad_()
    torch.copysign(x, y).backward(g)
    return [Torch.array(side.grad) for side in (x, y)]


def gradients_of_paddle(x, y, g):
    x, y, g = (Paddle.tensor(operand) for operand in (x, y, g))
    x.stop_gradient = y.stop_gradient = False
    return [Paddle.array(side) for side in paddle.grad(paddle.copysign(x, y), [x, y], g)]


def gradients_of_jax(x, y, g):
    x, y, g = (Jax.tensor(operand) for operand in (x, y, g))
    return [Jax.array(side) for side in jax.vjp(jnp.copysign, x, y)[1](g)]


def copysign_grad(file):
    """Gradients by automatic differentiation."""

    def ask(operands, tags=()):
        answers = []
        for name, gradients in [
            ("paddle", gradients_of_paddle), ("torch", gradients_of_torch), ("jax", gradients_of_jax),
        ]:  # fmt: skip
            gx, gy = (
                {"dtype": dtype, "shape": list(side.shape), "bits": bits(side)}
                for dtype, side in zip([operands[0].dtype] * 2, gradients(*operands))
            )
            answers.append((name, {"gx": gx, "gy": gy}))
        file.keep("copysign_grad", {}, operands, answers, tags, names=["x", "y", "g"])

    def exact(dtype, shape):
        """Multiples of 1/4 other than 0, whose sums are exact in any order."""
        count = int(np.prod(shape, dtype=int))
        quarters = file.random.integers(1, 31, count) * file.random.choice([-1, 1], count)
        return Tensor(dtype, (quarters / 4).reshape(shape))

    for dtype in FLOATS:
        smallest = float(limits(dtype).smallest_normal)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.0, smallest, -smallest]
        rows = [np.repeat(special, 9), np.tile(special, 9)]
        ask([Tensor(dtype, rows[0]), Tensor(dtype, rows[1]), exact(dtype, [81])])
        for shapes in [
            ([2, 3], [3], [2, 3]), ([3], [2, 3], [2, 3]), ([2, 1], [1, 3], [2, 3]), ([], [4], [4]),
            ([4], [], [4]), ([0], [1], [0]), ([2, 2], [2, 2], [2, 2]),
        ]:  # fmt: skip
            counts = [int(np.prod(shape, dtype=int)) for shape in shapes]
            x, y = (
                Tensor(dtype, numbers(file.random, dtype, count).reshape(shape))
                for shape, count in zip(shapes[:2], counts)
            )
            ask([x, y, exact(dtype, shapes[2])], ["broadcast"])
