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

from operands import NAMES, TYPES, EveryPair, Scalar, bits, digests
from refusals import refusal

jax.config.update("jax_enable_x64", True)
warnings.simplefilter("ignore")
np.seterr(all="ignore")


class Absent(Exception):
    """The library cannot be asked."""


def arithmetic(shift):
    """A shift that a library has only as the arithmetic one."""

    def call(x, y, is_arithmetic):
        if not is_arithmetic:
            raise Absent("there is no logical shift")
        return shift(x, y)

    return call


class NumPy:
    name = "numpy"
    functions = {
        "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
        "equal": np.equal, "not_equal": np.not_equal, "less_than": np.less,
        "less_equal": np.less_equal, "greater_than": np.greater, "greater_equal": np.greater_equal,
        "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin,
        "copysign": np.copysign, "signbit": np.signbit, "hypot": np.hypot,
        "bitwise_left_shift": arithmetic(np.left_shift),
        "bitwise_right_shift": arithmetic(np.right_shift),
        "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
        "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
        "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
        "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
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
        "cast": lambda x, dtype: x.astype(TYPES[dtype]),
    }  # fmt: skip
    inplace = {
        "bitwise_left_shift": arithmetic(lambda x, y: np.left_shift(x, y, out=x)),
        "bitwise_right_shift": arithmetic(lambda x, y: np.right_shift(x, y, out=x)),
        "copysign": lambda x, y: np.copysign(x, y, out=x),
    }
    lax = {}

    @staticmethod
    def tensor(operand):
        # The operand of a call in place is recorded after the call.
        return operand.numpy().copy()

    @staticmethod
    def array(result):
        return np.asarray(result)


class Jax:
    name = "jax"
    functions = {
        "add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "divide": jnp.divide,
        "equal": jnp.equal, "not_equal": jnp.not_equal, "less_than": jnp.less,
        "less_equal": jnp.less_equal, "greater_than": jnp.greater,
        "greater_equal": jnp.greater_equal, "maximum": jnp.maximum, "minimum": jnp.minimum,
        "fmax": jnp.fmax, "fmin": jnp.fmin, "copysign": jnp.copysign, "signbit": jnp.signbit,
        "hypot": jnp.hypot,
        "bitwise_left_shift": arithmetic(jnp.left_shift),
        "bitwise_right_shift": arithmetic(jnp.right_shift),
        "exp": jnp.exp, "exp2": jnp.exp2, "expm1": jnp.expm1, "log": jnp.log, "log2": jnp.log2,
        "log10": jnp.log10, "log1p": jnp.log1p, "sin": jnp.sin, "cos": jnp.cos, "tan": jnp.tan,
        "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "sinh": jnp.sinh,
        "cosh": jnp.cosh, "tanh": jnp.tanh, "asinh": jnp.arcsinh, "acosh": jnp.arccosh,
        "atanh": jnp.arctanh,
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
        "prod": lambda x, axes: jnp.prod(x, axis=tuple(axes) or None),
        "max": lambda x, axes: jnp.max(x, axis=tuple(axes) or None),
        "min": lambda x, axes: jnp.min(x, axis=tuple(axes) or None),
        "any": lambda x, axes: jnp.any(x, axis=tuple(axes) or None),
        "all": lambda x, axes: jnp.all(x, axis=tuple(axes) or None),
        "count_nonzero": lambda x, axes: jnp.count_nonzero(x, axis=tuple(axes) or None),
        "argmax": lambda x, axes: jnp.argmax(x, axis=axes[0] if axes else None),
        "argmin": lambda x, axes: jnp.argmin(x, axis=axes[0] if axes else None),
        "bitwise_and": lambda x, axes: jnp.bitwise_and.reduce(x, axis=tuple(axes) or None),
        "bitwise_or": lambda x, axes: jnp.bitwise_or.reduce(x, axis=tuple(axes) or None),
        "bitwise_xor": lambda x, axes: jnp.bitwise_xor.reduce(x, axis=tuple(axes) or None),
        "var": lambda x, axes, correction: jnp.var(x, axis=tuple(axes) or None, ddof=correction),
        "std": lambda x, axes, correction: jnp.std(x, axis=tuple(axes) or None, ddof=correction),
        "cumulative_sum": lambda x, axis: jnp.cumsum(x, axis=axis),
        "cumulative_prod": lambda x, axis: jnp.cumprod(x, axis=axis),
        "cumulative_max": lambda x, axis: jax.lax.cummax(x, axis=axis),
        "cumulative_min": lambda x, axis: jax.lax.cummin(x, axis=axis),
        "take": lambda x, y, axis: jnp.take(x, y, axis=axis),
        "take_along_axis": lambda x, y, axis: jnp.take_along_axis(x, y, axis=axis),
        "compress": lambda x, y: x[y],
        "cast": lambda x, dtype: x.astype(TYPES[dtype]),
    }  # fmt: skip
    inplace = {}
    lax = {
        "bitwise_left_shift": arithmetic(jax.lax.shift_left),
        "bitwise_right_shift": lambda x, y, is_arithmetic: (
            jax.lax.shift_right_arithmetic if is_arithmetic else jax.lax.shift_right_logical
        )(x, y),
    }

    @staticmethod
    def tensor(operand):
        return jnp.asarray(operand.numpy())

    @staticmethod
    def array(result):
        return np.asarray(result)


class Outside(Exception):
    """The result has a dtype that the files have no name for."""


FLOAT8_OF_TORCH = {"f8e4m3fn": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}


class Torch:
    name = "torch"
    functions = {
        "add": torch.add, "subtract": torch.subtract, "multiply": torch.multiply,
        "divide": torch.divide, "equal": torch.eq, "not_equal": torch.ne, "less_than": torch.lt,
        "less_equal": torch.le, "greater_than": torch.gt, "greater_equal": torch.ge,
        "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax,
        "fmin": torch.fmin, "copysign": torch.copysign, "signbit": torch.signbit,
        "hypot": torch.hypot,
        "bitwise_left_shift": arithmetic(torch.bitwise_left_shift),
        "bitwise_right_shift": arithmetic(torch.bitwise_right_shift),
        "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": torch.log,
        "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p, "sin": torch.sin,
        "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos,
        "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh,
        "asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh,
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
        # Torch's conversions to this dtype saturate.
        "cast_saturating": lambda x, dtype: x.to(FLOAT8_OF_TORCH[dtype]),
    }  # fmt: skip
    inplace = {
        "bitwise_left_shift": arithmetic(torch.Tensor.bitwise_left_shift_),
        "bitwise_right_shift": arithmetic(torch.Tensor.bitwise_right_shift_),
        "copysign": torch.Tensor.copysign_,
    }
    lax = {}

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
        if NAMES[array.dtype] in FLOAT8_OF_TORCH:
            dtype = FLOAT8_OF_TORCH[NAMES[array.dtype]]
            return torch.from_numpy(array.view(np.uint8)).view(dtype)
        return torch.from_numpy(array)

    @staticmethod
    def array(result):
        if result.dtype == torch.bfloat16:
            return result.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        for name, dtype in FLOAT8_OF_TORCH.items():
            if result.dtype == dtype:
                return result.contiguous().view(torch.uint8).numpy().view(TYPES[name])
        if result.dtype.is_complex and result.dtype not in (torch.complex64, torch.complex128):
            raise Outside(f"result dtype {result.dtype}")
        return result.numpy()


class Paddle:
    name = "paddle"
    functions = {
        "add": paddle.add, "subtract": paddle.subtract, "multiply": paddle.multiply,
        "divide": paddle.divide, "equal": paddle.equal, "not_equal": paddle.not_equal,
        "less_than": paddle.less_than, "less_equal": paddle.less_equal,
        "greater_than": paddle.greater_than, "greater_equal": paddle.greater_equal,
        "maximum": paddle.maximum, "minimum": paddle.minimum, "fmax": paddle.fmax,
        "fmin": paddle.fmin, "copysign": paddle.copysign, "signbit": paddle.signbit,
        "hypot": paddle.hypot,
        "bitwise_left_shift": paddle.bitwise_left_shift,
        "bitwise_right_shift": paddle.bitwise_right_shift,
        "exp": paddle.exp, "expm1": paddle.expm1, "log": paddle.log, "log2": paddle.log2,
        "log10": paddle.log10, "log1p": paddle.log1p, "sin": paddle.sin, "cos": paddle.cos,
        "tan": paddle.tan, "asin": paddle.asin, "acos": paddle.acos, "atan": paddle.atan,
        "sinh": paddle.sinh, "cosh": paddle.cosh, "tanh": paddle.tanh, "asinh": paddle.asinh,
        "acosh": paddle.acosh, "atanh": paddle.atanh,
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
        "prod": lambda x, axes: paddle.prod(x, axis=axes or None),
        "max": lambda x, axes: paddle.max(x, axis=axes or None),
        "min": lambda x, axes: paddle.min(x, axis=axes or None),
        "any": lambda x, axes: paddle.any(x, axis=axes or None),
        "all": lambda x, axes: paddle.all(x, axis=axes or None),
        "count_nonzero": lambda x, axes: paddle.count_nonzero(x, axis=axes or None),
        "argmax": lambda x, axes: paddle.argmax(x, axis=axes[0] if axes else None),
        "argmin": lambda x, axes: paddle.argmin(x, axis=axes[0] if axes else None),
        "var": lambda x, axes, correction: paddle.var(x, axes or None, correction=correction),
        "std": lambda x, axes, correction: paddle.std(x, axes or None, correction=correction),
        "cumulative_sum": lambda x, axis: paddle.cumsum(x, axis=axis),
        "cumulative_prod": lambda x, axis: paddle.cumprod(x, dim=axis),
        "cumulative_max": lambda x, axis: paddle.cummax(x, axis=axis)[0],
        "cumulative_min": lambda x, axis: paddle.cummin(x, axis=axis)[0],
        "take_along_axis": lambda x, y, axis: paddle.take_along_axis(x, y, axis, broadcast=False),
        "compress": paddle.masked_select,
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
    inplace = {
        "bitwise_left_shift": paddle.bitwise_left_shift_,
        "bitwise_right_shift": paddle.bitwise_right_shift_,
        "copysign": paddle.copysign_,
    }
    lax = {}

    @staticmethod
    def tensor(operand):
        if operand.dtype in FLOAT8_OF_TORCH:
            raise Absent("Paddle has no operations of them")
        if operand.dtype in ("u16", "u32", "u64"):
            raise Absent("Paddle reads u16 as bf16 and has no u32 and u64")
        array = np.array(operand.numpy(), order="C")
        return paddle.to_tensor(array.view(np.uint16) if operand.dtype == "bf16" else array)

    @staticmethod
    def array(result):
        array = result.numpy()
        return array.view(ml_dtypes.bfloat16) if result.dtype == paddle.bfloat16 else array


LIBRARIES = [Paddle, Torch, NumPy, Jax]
OPERATORS = {
    "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow,
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "equal": operator.eq, "less_than": operator.lt,
    "bitwise_left_shift": operator.lshift, "bitwise_right_shift": operator.rshift,
}  # fmt: skip


def function_of(library, op, form):
    """Returns how a library is called: `api`, `op` (the Python operator), `inplace` or `lax`."""
    tables = {"op": OPERATORS, "inplace": library.inplace, "lax": library.lax}
    return tables.get(form, library.functions).get(op)


def ask(library, op, form, operands, arguments):
    """Returns an answer as JSON, or None if the library cannot be asked."""
    function = function_of(library, op, form)
    if function is None:
        return None
    try:
        given = [
            operand.value if isinstance(operand, Scalar) else library.tensor(operand)
            for operand in operands
        ]
        array = library.array(function(*given, **arguments))
    except Absent:
        return None
    except Outside as error:
        return {"error": {"kind": "outside", "class": "none", "text": str(error)}}
    except Exception as error:  # every error is an answer
        return refusal(error)
    if array.dtype not in NAMES:
        return None
    answer = {"dtype": NAMES[array.dtype], "shape": list(array.shape)}
    if any(isinstance(operand, EveryPair) for operand in operands):
        return answer | digests(array)
    return answer | {"bits": bits(array)}
