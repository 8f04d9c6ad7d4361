"""A common interface to NumPy, PyTorch, Paddle and JAX: takes operands, returns bits or an error."""

import operator
import warnings

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import paddle
import paddle.nn.functional as paddle_nn
import torch
import torch.nn.functional as torch_nn

jax.config.update("jax_enable_x64", True)
warnings.simplefilter("ignore")
np.seterr(all="ignore")

DTYPES = {
    "bool": np.bool_,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


class Tensor:
    """A tensor, or a view (strides and offset in elements) of a one-dimensional base."""

    def __init__(self, dtype, base, shape=None, strides=None, offset=0, view=None):
        self.dtype = dtype
        self.base = np.asarray(base).astype(DTYPES[dtype], copy=False).reshape(-1)
        self.shape = list(np.shape(base)) if shape is None else shape
        self.strides, self.offset, self.view = strides, offset, view

    def numpy(self):
        if self.strides is None:
            return self.base.reshape(self.shape)
        size = self.base.dtype.itemsize
        strides = [stride * size for stride in self.strides]
        return np.lib.stride_tricks.as_strided(self.base[self.offset :], self.shape, strides)

    def json(self):
        fields = {"dtype": self.dtype, "shape": self.shape}
        if self.strides is not None:
            fields |= {"strides": self.strides, "offset": self.offset, "view": self.view}
        return fields | {"bits": bits(self.base)}


class Scalar:
    """A Python number."""

    def __init__(self, value):
        self.value = value

    def json(self):
        kind = type(self.value).__name__
        match self.value:
            case bool():
                text = str(self.value).lower()
            case int():
                text = str(self.value)
            case float():
                text = bits(np.float64(self.value))
            case _:
                text = bits(np.complex128(self.value))
        return {"scalar": kind, "value": text}


def bits(array):
    """The elements as fixed-width hex, most significant digit first."""
    array = np.ascontiguousarray(array).reshape(-1)
    part = {"c": array.dtype.itemsize // 2}.get(array.dtype.kind, array.dtype.itemsize)
    return array.view(np.dtype(f"<u{part}")).astype(f">u{part}").tobytes().hex()


class NumPy:
    name = "numpy"
    functions = {
        "floor_divide": np.floor_divide, "remainder": np.remainder, "pow": np.power,
        "logaddexp": np.logaddexp, "nextafter": np.nextafter, "atan2": np.arctan2,
        "abs": np.abs, "negative": np.negative, "bitwise_not": np.bitwise_not,
        "logical_not": np.logical_not, "select": np.where,
        "sign": np.sign, "square": np.square, "reciprocal": np.reciprocal, "sqrt": np.sqrt,
        "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round,
        "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
        "real": np.real, "imag": np.imag, "conj": np.conjugate,
        "count_ones": np.bitwise_count, "swap_bytes": lambda x: x.byteswap(), "clip": np.clip,
        "sum": lambda x, axes: np.sum(x, axis=tuple(axes) or None),
        "mean": lambda x, axes: np.mean(x, axis=tuple(axes) or None),
        "prod": lambda x, axes: np.prod(x, axis=tuple(axes) or None),
        "max": lambda x, axes: np.max(x, axis=tuple(axes) or None),
        "min": lambda x, axes: np.min(x, axis=tuple(axes) or None),
        "any": lambda x, axes: np.any(x, axis=tuple(axes) or None),
        "all": lambda x, axes: np.all(x, axis=tuple(axes) or None),
        "count_nonzero": lambda x, axes: np.count_nonzero(x, axis=tuple(axes) or None),
        "argmax": lambda x, axes: np.argmax(x, axis=axes[0] if axes else None),
        "argmin": lambda x, axes: np.argmin(x, axis=axes[0] if axes else None),
        "bitwise_and": lambda x, axes: np.bitwise_and.reduce(x, axis=tuple(axes) or None),
        "bitwise_or": lambda x, axes: np.bitwise_or.reduce(x, axis=tuple(axes) or None),
        "bitwise_xor": lambda x, axes: np.bitwise_xor.reduce(x, axis=tuple(axes) or None),
        "var": lambda x, axes, correction: np.var(x, axis=tuple(axes) or None, ddof=correction),
        "std": lambda x, axes, correction: np.std(x, axis=tuple(axes) or None, ddof=correction),
        "cumulative_sum": lambda x, axis: np.cumsum(x, axis=axis),
        "cumulative_prod": lambda x, axis: np.cumprod(x, axis=axis),
        "cumulative_max": lambda x, axis: np.maximum.accumulate(x, axis=axis),
        "cumulative_min": lambda x, axis: np.minimum.accumulate(x, axis=axis),
        "cumulative_xor": lambda x, axis: np.bitwise_xor.accumulate(x, axis=axis),
        "take": lambda x, y, axis: np.take(x, y, axis=axis),
        "take_along_axis": lambda x, y, axis: np.take_along_axis(x, y, axis=axis),
        "compress": lambda x, y: x[y],
    }  # fmt: skip

    @staticmethod
    def tensor(operand):
        return operand.numpy()

    @staticmethod
    def array(result):
        return np.asarray(result)


class Jax:
    name = "jax"
    functions = {
        "floor_divide": jnp.floor_divide, "remainder": jnp.remainder, "pow": jnp.power,
        "logaddexp": jnp.logaddexp, "nextafter": jnp.nextafter, "atan2": jnp.arctan2,
        "abs": jnp.abs, "negative": jnp.negative, "bitwise_not": jnp.bitwise_not,
        "logical_not": jnp.logical_not, "select": jnp.where,
        "sign": jnp.sign, "square": jnp.square, "reciprocal": jnp.reciprocal, "sqrt": jnp.sqrt,
        "floor": jnp.floor, "ceil": jnp.ceil, "trunc": jnp.trunc, "round": jnp.round,
        "isnan": jnp.isnan, "isinf": jnp.isinf, "isfinite": jnp.isfinite,
        "real": jnp.real, "imag": jnp.imag, "conj": jnp.conj,
        "count_ones": jax.lax.population_count, "leading_zeros": jax.lax.clz, "clip": jnp.clip,
        "sum": lambda x, axes: jnp.sum(x, axis=tuple(axes) or None),
        "mean": lambda x, axes: jnp.mean(x, axis=tuple(axes) or None),
    }  # fmt: skip

    @staticmethod
    def tensor(operand):
        return jnp.asarray(operand.numpy())

    @staticmethod
    def array(result):
        return np.asarray(result)


class Torch:
    name = "torch"
    functions = {
        "floor_divide": torch.floor_divide, "remainder": torch.remainder, "pow": torch.pow,
        "logaddexp": torch.logaddexp, "nextafter": torch.nextafter, "atan2": torch.atan2,
        "abs": torch.abs, "negative": torch.neg, "bitwise_not": torch.bitwise_not,
        "logical_not": torch.logical_not, "select": torch.where,
        "sign": torch.sign, "square": torch.square, "reciprocal": torch.reciprocal,
        "sqrt": torch.sqrt, "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc,
        "round": torch.round, "isnan": torch.isnan, "isinf": torch.isinf,
        "isfinite": torch.isfinite, "real": torch.real, "imag": torch.imag,
        "conj": torch.conj_physical, "clip": torch.clamp,
        "sum": lambda x, axes: torch.sum(x, dim=axes) if axes else torch.sum(x),
        "mean": lambda x, axes: torch.mean(x, dim=axes) if axes else torch.mean(x),
        "prod": lambda x, axes: torch.prod(x, dim=axes[0]) if axes else torch.prod(x),
        "max": lambda x, axes: torch.amax(x, dim=axes),
        "min": lambda x, axes: torch.amin(x, dim=axes),
        "any": lambda x, axes: torch.any(x, dim=axes) if axes else torch.any(x),
        "all": lambda x, axes: torch.all(x, dim=axes) if axes else torch.all(x),
        "count_nonzero": lambda x, axes: torch.count_nonzero(x, dim=axes or None),
        "argmax": lambda x, axes: torch.argmax(x, dim=axes[0] if axes else None),
        "argmin": lambda x, axes: torch.argmin(x, dim=axes[0] if axes else None),
        "var": lambda x, axes, correction: torch.var(x, dim=axes or None, correction=correction),
        "std": lambda x, axes, correction: torch.std(x, dim=axes or None, correction=correction),
        "cumulative_sum": lambda x, axis: torch.cumsum(x, axis),
        "cumulative_prod": lambda x, axis: torch.cumprod(x, axis),
        "cumulative_max": lambda x, axis: torch.cummax(x, axis).values,
        "cumulative_min": lambda x, axis: torch.cummin(x, axis).values,
        "take_along_axis": lambda x, y, axis: torch.take_along_dim(x, y, axis),
        "compress": lambda x, y: torch.masked_select(x, y),
        "l1_loss": torch_nn.l1_loss, "mse_loss": torch_nn.mse_loss,
        "huber_loss": torch_nn.huber_loss, "smooth_l1_loss": torch_nn.smooth_l1_loss,
        "poisson_nll_loss": lambda x, y, epsilon, **others: torch_nn.poisson_nll_loss(
            x, y, eps=epsilon, **others
        ),
    }  # fmt: skip

    @staticmethod
    def tensor(operand):
        if operand.strides is None or min(operand.strides) < 0:
            # Torch has no negative strides.
            return Torch.whole(np.array(operand.numpy(), order="C"))
        return torch.as_strided(
            Torch.whole(operand.base.copy()), operand.shape, operand.strides, operand.offset
        )

    @staticmethod
    def whole(array):
        if array.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    @staticmethod
    def array(result):
        if result.dtype == torch.bfloat16:
            return result.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        return result.numpy()


class Paddle:
    name = "paddle"
    functions = {
        "floor_divide": paddle.floor_divide, "remainder": paddle.remainder, "pow": paddle.pow,
        "logaddexp": paddle.logaddexp, "nextafter": paddle.nextafter, "atan2": paddle.atan2,
        "abs": paddle.abs, "negative": paddle.neg, "bitwise_not": paddle.bitwise_not,
        "logical_not": paddle.logical_not, "select": paddle.where,
        "sign": paddle.sign, "square": paddle.square, "reciprocal": paddle.reciprocal,
        "sqrt": paddle.sqrt, "floor": paddle.floor, "ceil": paddle.ceil, "trunc": paddle.trunc,
        "round": paddle.round, "isnan": paddle.isnan, "isinf": paddle.isinf,
        "isfinite": paddle.isfinite, "real": paddle.real, "imag": paddle.imag,
        "conj": paddle.conj, "clip": paddle.clip,
        "sum": lambda x, axes: paddle.sum(x, axis=axes or None),
        "mean": lambda x, axes: paddle.mean(x, axis=axes or None),
        "l1_loss": paddle_nn.l1_loss, "mse_loss": paddle_nn.mse_loss,
        # Paddle's smooth_l1_loss is the Huber loss by default.
        "huber_loss": lambda x, y, delta, reduction: paddle_nn.smooth_l1_loss(
            x, y, reduction, delta, is_huber=True
        ),
        "smooth_l1_loss": lambda x, y, beta, reduction: paddle_nn.smooth_l1_loss(
            x, y, reduction, beta, is_huber=False
        ),
        "poisson_nll_loss": paddle_nn.poisson_nll_loss,
    }  # fmt: skip

    @staticmethod
    def tensor(operand):
        if operand.dtype in ("u16", "u32", "u64"):
            raise Absent("Paddle reads u16 as bf16 and has no u32 and u64")
        array = np.array(operand.numpy(), order="C")
        return paddle.to_tensor(array.view(np.uint16) if operand.dtype == "bf16" else array)

    @staticmethod
    def array(result):
        array = result.numpy()
        return array.view(ml_dtypes.bfloat16) if result.dtype == paddle.bfloat16 else array


LIBRARIES = [Paddle, Torch, NumPy, Jax]
OPERATORS = {"floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow}


class Absent(Exception):
    """The library cannot be asked."""


def ask(library, op, form, operands, arguments):
    """Returns an answer as JSON, or None if the library cannot be asked."""
    function = OPERATORS[op] if form == "op" else library.functions.get(op)
    if function is None:
        return None
    try:
        given = [
            operand.value if isinstance(operand, Scalar) else library.tensor(operand)
            for operand in operands
        ]
    except Absent:
        return None
    try:
        array = library.array(function(*given, **arguments))
    except Exception as error:  # every error is an answer
        return refusal(error)
    if array.dtype not in NAMES:
        return None
    return {"dtype": NAMES[array.dtype], "shape": list(array.shape), "bits": bits(array)}


# What the words of an error message mean; the first match counts.
KINDS = [
    ("integer division by zero", "other"),
    ("zerodivisionerror", "other"),
    ("negative integer powers", "other"),
    ("integers to negative", "other"),
    ("the type promotion only support", "promotion"),
    ("type promotion only support", "promotion"),
    ("promotion for uint16", "promotion"),
    ("could not be promoted", "promotion"),
    ("expected both inputs to have the same", "dtype_mismatch"),
    ("out of bounds for", "overflow"),
    ("too large to convert", "overflow"),
    ("not implemented for", "unsupported"),
    ("the kernel with key", "unsupported"),
    ("not supported for the input types", "unsupported"),
    ("did not contain a loop", "unsupported"),
    ("is not supported", "unsupported"),
    ("could not infer output dtype", "unsupported"),
    ("does not support", "unsupported"),
    ("does not accept dtype", "unsupported"),
    ("requires floating point", "unsupported"),
    ("broadcast", "shape"),
    ("must match the size", "shape"),
]


def refusal(error):
    """Returns an error as JSON, or None if only the Python wrapper refused the arguments."""
    text = " ".join(str(error).split())
    summary = text.split("Error: ", 1)[-1] if "EnforceNotMet" in type(error).__name__ else text
    kind = next((kind for words, kind in KINDS if words in text.lower()), "argument")
    if kind == "argument":
        SET_ASIDE[(type(error).__name__, summary[:150])] = (
            SET_ASIDE.get((type(error).__name__, summary[:150]), 0) + 1
        )
        return None
    return {"error": {"kind": kind, "class": type(error).__name__, "text": summary[:90]}}


# The errors attributed to a wrapper, to be reviewed by whoever runs the generator.
SET_ASIDE = {}
