"""The dtype of every result: a matrix for every library, operation and kind of operands.

An operand is a tensor (T), a tensor without dimensions (Z), which only Paddle and Torch treat
otherwise, or a Python number (S).
"""

import itertools
import json
import operator

import jax
import jax.numpy as jnp
import numpy as np
import paddle
import paddle.nn.functional as paddle_nn
import torch
import torch.nn.functional as torch_nn

from libraries import Jax, NumPy, Outside, Paddle, Torch
from operands import DTYPES, FLOAT8, NAMES, TYPES, Tensor
from refusals import kind_of

# By family: the operations as NumPy calls them, or as Paddle and Torch do if that is another name.
FAMILIES = {
    "arith": ["add", "subtract", "multiply"],
    "divide": ["divide"],
    "modular": ["floor_divide", "remainder"],
    "pow": ["pow"],
    "order": ["less_than", "less_equal", "greater_than", "greater_equal"],
    "equality": ["equal", "not_equal"],
    "logical": ["logical_and", "logical_or", "logical_xor"],
    "bitwise": ["bitwise_and", "bitwise_or", "bitwise_xor"],
    "shift": ["bitwise_left_shift", "bitwise_right_shift"],
    "minmax": ["maximum", "minimum", "fmax", "fmin"],
    "float_only": ["copysign", "atan2", "nextafter", "logaddexp"],
    "select": ["where"],
    "loss": ["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "poisson_nll_loss"],
    "operators": [
        "op.add", "op.sub", "op.mul", "op.truediv", "op.floordiv", "op.mod", "op.pow", "op.lshift",
        "op.and_", "op.eq",
    ],
    "base": ["result_type"],
}  # fmt: skip
NUMPY_NAMES = {
    "less_than": "less", "greater_than": "greater", "pow": "power", "atan2": "arctan2",
    "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
}  # fmt: skip
TORCH_NAMES = {
    "less_than": "lt", "less_equal": "le", "greater_than": "gt", "greater_equal": "ge",
    "equal": "eq", "not_equal": "ne",
}  # fmt: skip
NUMBERS = {"bool": True, "int": 1, "float": 1.5, "complex": 1 + 2j}
NO_UNSIGNED = [dtype for dtype in DTYPES if dtype not in ("u16", "u32", "u64")]


def choice(where, condition):
    """Returns the function of two operands that chooses the first."""
    return lambda x, y: where(condition, x, y)


def function_of(library, op):
    """Returns the function, or None."""
    if op.startswith("op."):
        return getattr(operator, op[3:])
    if op.endswith("_loss"):
        if library is Paddle and op == "huber_loss":
            return lambda x, y: paddle._C_ops.huber_loss(x, y, 1.0)
        return getattr({Paddle: paddle_nn, Torch: torch_nn}.get(library), op, None)
    true = np.array([True, True])
    if library is Paddle:
        return (
            choice(paddle.where, paddle.to_tensor(true))
            if op == "where"
            else getattr(paddle, op, None)
        )
    if library is Torch:
        name = TORCH_NAMES.get(op, op)
        return (
            choice(torch.where, torch.from_numpy(true)) if op == "where" else getattr(torch, name)
        )
    module = np if library is NumPy else jnp
    return choice(module.where, true) if op == "where" else getattr(module, NUMPY_NAMES.get(op, op))


def operand(library, kind, name):
    """Returns an operand of ones."""
    if kind == "S":
        return NUMBERS[name]
    ones = np.ones([2] if kind == "T" else [], np.float32).astype(TYPES[name])
    if library is Jax:
        return jax.ShapeDtypeStruct(ones.shape, ones.dtype)
    return library.tensor(Tensor(name, ones))


def dtype_of(library, result):
    """Returns the name of a result's dtype."""
    if isinstance(result, torch.dtype):
        result = torch.empty(0, dtype=result)
    if isinstance(result, (np.dtype, type)):
        return NAMES[np.dtype(result)]
    if library is Jax:
        return NAMES[np.dtype(result.dtype)]
    return NAMES[library.array(result).dtype]


def result_of(library, function, kinds, x, y):
    """Calls a function; JAX only finds out what the result would be."""
    if library is not Jax or function is jnp.result_type:
        return function(x, y)
    # A traced number would be an array.
    match kinds:
        case "TS":
            return jax.eval_shape(lambda x: function(x, y), x)
        case "ST":
            return jax.eval_shape(lambda y: function(x, y), y)
        case _:
            return jax.eval_shape(function, x, y)


def cell(library, function, kinds, left, right):
    """Returns the dtype of a result, or the letter of an error."""
    x, y = operand(library, kinds[0], left), operand(library, kinds[1], right)
    try:
        return dtype_of(library, result_of(library, function, kinds, x, y))
    except Outside:
        return "!C"
    except Exception as error:  # every error is an answer
        letters = {
            "promotion": "!P", "dtype_mismatch": "!D", "unsupported": "!U", "shape": "!S",
            "overflow": "!X", "inplace_dtype": "!J", "inplace_shape": "!I", "argument": "!A",
        }  # fmt: skip
        return letters.get(kind_of(error), "!O")


def add(file, library, op, family, kinds, rows, columns):
    """Adds a matrix, unless the library has no such function."""
    function = function_of(library, op)
    if function is None:
        return
    rows, columns = (
        list(NUMBERS) if kind == "S" else names for kind, names in zip(kinds, (rows, columns))
    )
    table = [
        " ".join(cell(library, function, kinds, left, right) for right in columns) for left in rows
    ]
    record = {
        "lib": library.name, "op": op, "family": family, "operands": kinds,
        "rows": " ".join(rows), "cols": " ".join(columns), "table": table,
    }  # fmt: skip
    file.lines.append(json.dumps(record, separators=(",", ":")))


def promotion(file):
    for library in [Paddle, Torch, NumPy, Jax]:
        dtypes = NO_UNSIGNED if library is Paddle else list(DTYPES)
        # The results of NumPy and JAX do not depend on the number of dimensions; TZ shows it.
        kinds = (
            ["TT", "TZ", "ZT", "ZZ", "TS", "ST"]
            if library in (Paddle, Torch)
            else ["TT", "TZ", "TS", "ST"]
        )
        for family, ops in FAMILIES.items():
            for op, kind in itertools.product(ops, kinds):
                if op != "result_type" or library is not Paddle:
                    add(file, library, op, family, kind, dtypes, dtypes)
    floats_of_8_bits(file)


def floats_of_8_bits(file):
    """Adds matrices of the floats of 8 bits, which Torch only promotes and Paddle does not know."""
    narrow = list(FLOAT8)
    operations = [("add", "arith"), ("divide", "divide"), ("less_than", "order")]
    kinds = [
        ("TT", narrow, list(TYPES)),
        ("TT", list(DTYPES), narrow),
        ("TS", narrow, []),
        ("ST", [], narrow),
    ]
    without_dimensions = [
        (kind, rows, columns) for kind in ("TZ", "ZT") for _, rows, columns in kinds[:2]
    ]
    for library, ops, kinds in [
        (Torch, [("result_type", "base")], kinds + without_dimensions),
        (NumPy, operations, kinds),
        (Jax, operations, kinds),
    ]:
        for (op, family), (kind, rows, columns) in itertools.product(ops, kinds):
            add(file, library, op, family, kind, rows, columns)
