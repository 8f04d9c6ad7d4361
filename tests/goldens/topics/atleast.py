"""atleast_1d, atleast_2d and atleast_3d: shapes, dtypes, numbers, several operands and views."""

import jax.numpy as jnp
import numpy as np
import paddle
import torch

from libraries import Absent, Jax, NumPy, Paddle, Torch
from operands import DTYPES, NAMES, Scalar, Tensor, bits
from refusals import refusal
from values import laid_out, numbers

MODULES = [(Paddle, paddle), (Torch, torch), (NumPy, np), (Jax, jnp)]


def ask(library, module, op, call, operands):
    """Returns an answer as JSON, or None if the library cannot be asked."""
    try:
        given = [
            operand.value if isinstance(operand, Scalar) else library.tensor(operand)
            for operand in operands
        ]
        function = getattr(module, op)
        result = (
            function(*given)
            if call == "args"
            else function({"tuple": tuple, "list": list}[call](given))
        )
    except Absent:
        return None
    except Exception as error:  # every error is an answer
        return refusal(error)
    several = isinstance(result, (list, tuple))
    arrays = [library.array(array) for array in (result if several else [result])]
    outputs = [
        {"dtype": NAMES[array.dtype], "shape": list(array.shape), "bits": bits(array)}
        for array in arrays
    ]
    answer = {"container": "list" if several else "single", "outputs": outputs}
    # JAX's arrays have no storage that could be shared, and Paddle's do not tell.
    if (
        library in (Torch, NumPy)
        and call == "args"
        and arrays
        and all(array.size for array in arrays)
    ):
        shares = {
            Torch: lambda x, y: x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr(),
            NumPy: np.shares_memory,
        }[library]
        results = result if several else [result]
        if not any(isinstance(operand, Scalar) for operand in operands):
            answer["shares_memory"] = all(map(shares, given, results))
    return answer


def atleast(file):
    def add(call, operands, tags=()):
        for op in ["atleast_1d", "atleast_2d", "atleast_3d"]:
            answers = [
                (library.name, ask(library, module, op, call, operands))
                for library, module in MODULES
            ]
            answers = [(library, answer) for library, answer in answers if answer is not None]
            file.keep(op, {"call": call}, operands, answers, tags, names=())

    def some(dtype, shape):
        return Tensor(
            dtype, numbers(file.random, dtype, int(np.prod(shape, dtype=int))).reshape(shape)
        )

    shapes = [
        [0], [1], [3], [1, 1], [2, 0], [0, 3], [2, 3], [2, 0, 3], [2, 3, 2], [1, 2, 3, 2], [0, 1, 2, 3],
        [2, 1, 0, 1, 2], [1, 2, 1, 2, 3],
    ]  # fmt: skip
    for number, shape in enumerate(shapes):
        for dtype in ["f32", list(DTYPES)[number]]:
            add("args", [some(dtype, shape)])
    for dtype in DTYPES:
        add("args", [some(dtype, [2])])
        add("args", [some(dtype, [])])
    for number in [5, 2**40, True, 2.5, 1 + 2j]:
        add("args", [Scalar(number)], ["number"])
    ragged = [some("f32", []), some("i64", [3]), some("bool", [2, 3])]
    add("args", ragged)
    add("args", ragged[:2])
    add("tuple", ragged, ["ragged"])
    add("args", [])
    for call in ["tuple", "list"]:
        add(call, [some("f32", []), some("f32", [])])
    for call in ["args", "tuple"]:
        add(call, [some("f32", []), Scalar(2.0)], ["number"])
        add(call, [some("i32", [2, 2]), some("i32", [2, 2])])
    add("tuple", [Scalar(1), Scalar(2.5)], ["number"])
    base = numbers(file.random, "i16", 40, -9000, 9000)
    for shape_of in laid_out("i16"):
        add("args", [shape_of(base)], ["view"])
