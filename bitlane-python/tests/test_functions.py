"""Functions of the namespace, compared with NumPy."""

import inspect

import numpy as np
import pytest

import bitlane as bl

INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOATS = "float16 float32 float64".split()
COMPLEX = "complex64 complex128".split()
ALL = ["bool", *INTEGERS, *FLOATS, *COMPLEX]


def sample(rng, name, size=24):
    """Elements of a dtype, with zeros, negative numbers and equal ones among them."""
    dtype = np.dtype(name)
    values = rng.integers(-4 if dtype.kind in "ifc" else 0, 5, size)
    if dtype.kind == "c":
        return (values + 1j * rng.integers(-3, 4, size)).astype(dtype)
    if dtype.kind == "f":
        return (values * 0.75).astype(dtype)
    return values.astype(dtype)


# NumPy's name, and for which dtypes of NumPy it is compared.
UNARY = {
    "abs": ("absolute", INTEGERS + FLOATS),
    "acos": ("arccos", FLOATS),
    "acosh": ("arccosh", FLOATS),
    "asin": ("arcsin", FLOATS),
    "asinh": ("arcsinh", FLOATS),
    "atan": ("arctan", FLOATS),
    "atanh": ("arctanh", FLOATS),
    "bitwise_invert": ("invert", ["bool", *INTEGERS]),
    "ceil": ("ceil", INTEGERS + FLOATS),
    "conj": ("conj", INTEGERS + FLOATS + COMPLEX),
    "cos": ("cos", FLOATS + ["int8", "int32"]),
    "cosh": ("cosh", FLOATS),
    "exp": ("exp", FLOATS),
    "exp2": ("exp2", FLOATS),
    "expm1": ("expm1", FLOATS),
    "floor": ("floor", INTEGERS + FLOATS),
    "imag": ("imag", COMPLEX),
    "isfinite": ("isfinite", ALL),
    "isinf": ("isinf", ALL),
    "isnan": ("isnan", ALL),
    "log": ("log", FLOATS),
    "log10": ("log10", FLOATS),
    "log1p": ("log1p", FLOATS),
    "log2": ("log2", FLOATS),
    "logical_not": ("logical_not", ALL),
    "negative": ("negative", INTEGERS + FLOATS + COMPLEX),
    "positive": ("positive", INTEGERS + FLOATS + COMPLEX),
    "real": ("real", FLOATS + COMPLEX),
    "reciprocal": ("reciprocal", FLOATS),
    "round": ("round", INTEGERS + FLOATS + COMPLEX),
    "sign": ("sign", INTEGERS + FLOATS + COMPLEX),
    "signbit": ("signbit", FLOATS),
    "sin": ("sin", FLOATS + ["uint8", "uint64"]),
    "sinh": ("sinh", FLOATS),
    "sqrt": ("sqrt", FLOATS + INTEGERS),
    "square": ("square", INTEGERS + FLOATS + COMPLEX),
    "tan": ("tan", FLOATS),
    "tanh": ("tanh", FLOATS),
    "trunc": ("trunc", INTEGERS + FLOATS),
}

BINARY = {
    "add": ("add", ALL),
    "atan2": ("arctan2", FLOATS),
    "bitwise_and": ("bitwise_and", ["bool", *INTEGERS]),
    "bitwise_left_shift": ("left_shift", INTEGERS),
    "bitwise_or": ("bitwise_or", ["bool", *INTEGERS]),
    "bitwise_right_shift": ("right_shift", INTEGERS),
    "bitwise_xor": ("bitwise_xor", ["bool", *INTEGERS]),
    "copysign": ("copysign", FLOATS),
    "divide": ("divide", FLOATS + COMPLEX + ["int32", "uint8"]),
    "equal": ("equal", ALL),
    "floor_divide": ("floor_divide", INTEGERS + FLOATS),
    "greater": ("greater", INTEGERS + FLOATS),
    "greater_equal": ("greater_equal", INTEGERS + FLOATS),
    "hypot": ("hypot", FLOATS),
    "less": ("less", INTEGERS + FLOATS),
    "less_equal": ("less_equal", INTEGERS + FLOATS),
    "logaddexp": ("logaddexp", FLOATS),
    "logical_and": ("logical_and", ALL),
    "logical_or": ("logical_or", ALL),
    "logical_xor": ("logical_xor", ALL),
    "maximum": ("maximum", INTEGERS + FLOATS),
    "minimum": ("minimum", INTEGERS + FLOATS),
    "multiply": ("multiply", ALL),
    "nextafter": ("nextafter", FLOATS),
    "not_equal": ("not_equal", ALL),
    "pow": ("power", FLOATS + [name for name in INTEGERS if name.startswith("u")]),
    "remainder": ("remainder", INTEGERS + FLOATS),
    "subtract": ("subtract", INTEGERS + FLOATS + COMPLEX),
}

# Computed otherwise, so that the last digits may differ; float16 differs by its last digit.
ROUNDED = set(
    "acos acosh asin asinh atan atan2 atanh cos cosh divide exp exp2 expm1 hypot log log10 log1p log2 logaddexp pow reciprocal "
    "sign sin sinh tan tanh".split()
)


def compared(name, kind, same, ours, theirs):
    if name in ROUNDED and np.dtype(theirs.dtype).kind in "fc":
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        tolerance = {2: 2e-3, 4: 1e-6, 8: 1e-13 if kind != "complex64" else 1e-6, 16: 1e-13}[theirs.itemsize]
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=tolerance, atol=tolerance)
    else:
        same(ours, theirs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name, rng, same):
    theirs, kinds = UNARY[name]
    for kind in kinds:
        x = sample(rng, kind)
        compared(name, kind, same, getattr(bl, name)(bl.asarray(x)), getattr(np, theirs)(x))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name, rng, same):
    theirs, kinds = BINARY[name]
    for kind in kinds:
        x, y = sample(rng, kind, 24).reshape(4, 6), sample(rng, kind, 6)
        if name in ("divide", "floor_divide", "remainder"):
            y[y == 0] = 1
        if name in ("bitwise_left_shift", "bitwise_right_shift"):
            y = y % 7
        if name == "pow":
            x = np.abs(x)
        expected = getattr(np, theirs)(x, y)
        compared(name, kind, same, getattr(bl, name)(bl.asarray(x), bl.asarray(y)), expected)


def test_every_operation_is_a_documented_function():
    unary, binary = bl._bitlane.operations()
    assert len(unary) > 40 and len(binary) > 30
    made = {function.description: function for function in bl._elementwise._functions.values()}
    assert len(made) >= len(unary) + len(binary) - 2
    for name, function in bl._elementwise._functions.items():
        assert getattr(bl, name).__doc__ and function.__name__ == name
        assert list(inspect.signature(function).parameters) == (["x"], ["x1", "x2"])[function.arity - 1]
    for name in "linalg fft sort argsort unique_all matmul vecdot tensordot searchsorted".split():
        assert not hasattr(bl, name), f"{name} is not what bitlane has"


@pytest.mark.parametrize("kind", INTEGERS + FLOATS)
def test_operators_and_their_reflected_forms(kind, rng, same):
    x, number = sample(rng, kind), 3
    x[x == 0] = 1
    ours = bl.asarray(x)
    for operate in (
        lambda x: x + number, lambda x: number + x, lambda x: x - number, lambda x: number - x, lambda x: x * number,
        lambda x: number * x, lambda x: x // number, lambda x: number // x, lambda x: x % number, lambda x: number % x,
        lambda x: x / number, lambda x: number / x, lambda x: x == number, lambda x: x != number, lambda x: x < number,
        lambda x: number <= x, lambda x: x >= number, lambda x: number > x, lambda x: -x, lambda x: +x, lambda x: abs(x),
    ):  # fmt: skip
        same(operate(ours), operate(x))
    if np.dtype(kind).kind != "f":
        for operate in (
            lambda x: x & number, lambda x: number | x, lambda x: x ^ number, lambda x: x << number, lambda x: ~x,
            lambda x: x >> 1, lambda x: 1 << (x & 3), lambda x: 100 >> (x & 3), lambda x: (x & 3) ** 2,
        ):  # fmt: skip
            same(operate(ours), operate(x))


def test_operators_in_place_write_to_the_array():
    x = bl.asarray([1, 2, 3], dtype=bl.int8)
    view = x[1:]
    x += 1
    x <<= 2
    x **= 2
    assert x.tolist() == [64, -112, 0] and view.tolist() == [-112, 0]
    with pytest.raises(TypeError, match="destination"):
        x += 0.5
    with pytest.raises(ValueError):
        x += bl.ones((2, 3), dtype=bl.int8)
    assert x.tolist() == [64, -112, 0]


def test_logical_shifts_and_rotations():
    x = bl.asarray([-1, 64], dtype=bl.int8)
    assert bl.bitwise_right_shift_logical(x, 4).tolist() == [15, 4]
    assert bl.rotate_left(x, 9).tolist() == [-1, -128]
    assert bl.bitwise_left_shift(x, 300).tolist() == [0, 0]
    assert bl.bitwise_right_shift(x, -1).tolist() == [-1, 0]
    assert bl.count_ones(x).tolist() == [8, 1]


@pytest.mark.parametrize("kind", INTEGERS + FLOATS)
def test_reductions(kind, rng, same):
    x = sample(rng, kind, 24).reshape(2, 3, 4)
    ours = bl.asarray(x)
    for name in ("max", "min", "all", "any"):
        for axis in (None, 0, -1, (0, 2), (1,)):
            for keepdims in (False, True):
                expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                same(getattr(bl, name)(ours, axis=axis, keepdims=keepdims), expected)
    for axis in (None, 1, -1):
        same(bl.argmax(ours, axis=axis), np.argmax(x, axis=axis))
        same(bl.argmin(ours, axis=axis, keepdims=True), np.argmin(x, axis=axis, keepdims=True))
    same(bl.count_nonzero(ours, axis=0), np.count_nonzero(x, axis=0))
    if np.dtype(kind).kind != "f":
        same(bl.sum(ours, axis=(0, 1)), np.sum(x, axis=(0, 1)))
        same(bl.prod(ours, axis=2), np.prod(x, axis=2))
        same(bl.cumulative_sum(ours, axis=1), np.cumsum(x, axis=1))
        same(bl.bitwise_xor_reduce(ours, axis=0), np.bitwise_xor.reduce(x, axis=0))
    else:
        for name in ("sum", "mean", "var", "std"):
            ours_, theirs = getattr(bl, name)(ours, axis=1), getattr(np, name)(x.astype("f8"), axis=1)
            same(ours_, theirs.astype(kind))
        same(bl.var(ours, correction=1), np.var(x.astype("f8"), ddof=1).astype(kind))
        same(bl.prod(ours, axis=2), np.prod(x.astype("f8"), axis=2).astype(kind))
    same(bl.sum(ours, dtype=bl.float32), np.sum(x, dtype="f8").astype("f4"))


def test_a_sum_does_not_depend_on_the_layout(rng):
    x = bl.asarray(rng.standard_normal((300, 200)).astype("f4"))
    whole = bl.sum(x, axis=0)
    assert bl.bits_equal(whole, bl.sum(x.T.copy(), axis=1))
    assert bl.bits_equal(whole[::7], bl.sum(x[:, ::7], axis=0))


def test_scans(same):
    x = np.array([[3, 1, 2], [5, 4, 6]])
    ours = bl.asarray(x)
    same(bl.cumulative_prod(ours, axis=1), np.cumprod(x, axis=1))
    same(bl.cumulative_max(ours, axis=1), np.maximum.accumulate(x, axis=1))
    same(bl.cumulative_min(ours, axis=0), np.minimum.accumulate(x, axis=0))
    initial = bl.cumulative_sum(ours, axis=1, include_initial=True)
    same(initial, np.concatenate([np.zeros((2, 1), int), np.cumsum(x, axis=1)], axis=1))
    with pytest.raises(ValueError, match="axis"):
        bl.cumulative_sum(ours)


def test_manipulation(same):
    x = np.arange(24, dtype="i4").reshape(2, 3, 4)
    ours = bl.asarray(x)
    same(bl.reshape(ours, (4, -1)), x.reshape(4, -1))
    same(bl.reshape(ours.mT, (4, 6)), np.swapaxes(x, 1, 2).reshape(4, 6))
    same(bl.permute_dims(ours, (2, 0, 1)), x.transpose(2, 0, 1))
    same(bl.moveaxis(ours, (0, 1), (-1, 0)), np.moveaxis(x, (0, 1), (-1, 0)))
    same(bl.expand_dims(ours, axis=-1), np.expand_dims(x, -1))
    same(bl.squeeze(bl.expand_dims(ours, axis=1), 1), x)
    same(bl.flip(ours, axis=(0, 2)), np.flip(x, (0, 2)))
    same(bl.flip(ours), np.flip(x))
    for shift, axis in ((5, None), (-1, 1), ((1, -2), (0, 2)), (0, 0)):
        same(bl.roll(ours, shift, axis=axis), np.roll(x, shift, axis))
    same(bl.tile(ours, (2, 1, 1, 2)), np.tile(x, (2, 1, 1, 2)))
    same(bl.tile(ours, (0,)), np.tile(x, (0,)))
    same(bl.repeat(ours, 2, axis=1), np.repeat(x, 2, axis=1))
    same(bl.repeat(ours, bl.asarray([0, 2, 1]), axis=1), np.repeat(x, [0, 2, 1], axis=1))
    same(bl.concat([ours, ours[:1]], axis=0), np.concatenate([x, x[:1]]))
    same(bl.concat([ours, bl.ones(2)], axis=None), np.concatenate([x.ravel(), np.ones(2)]))
    same(bl.stack([ours, ours], axis=-1), np.stack([x, x], axis=-1))
    for ours_, theirs in zip(bl.unstack(ours, axis=1), np.moveaxis(x, 1, 0), strict=True):
        same(ours_, theirs)
    same(bl.broadcast_to(ours, (5, 2, 3, 4)), np.broadcast_to(x, (5, 2, 3, 4)))
    assert [one.shape for one in bl.broadcast_arrays(ours, bl.ones((3, 1)))] == [(2, 3, 4)] * 2
    assert bl.shares_memory(bl.reshape(ours, (24,)), ours)
    assert not bl.shares_memory(bl.reshape(ours, (24,), copy=True), ours)
    with pytest.raises(ValueError, match="copy=False"):
        bl.reshape(ours.mT, (24,), copy=False)
    with pytest.raises(ValueError, match="does not fit"):
        bl.reshape(ours, (5, -1))
    for shape in ((-2, 12), (-1, -2), (4, -3)):
        with pytest.raises(ValueError, match="only -1 stands"):
            bl.reshape(ours, shape)
    # The product of these is beyond 64 bits; modulo 2⁶⁴ it is 0 or 24.
    for shape in ((2**32, 2**32, -1), (2**62, 4, 24, -1), (2**32, 2**32), (3 * 2**61 + 3, 8)):
        with pytest.raises(ValueError):
            bl.reshape(ours, shape)
    assert bl.reshape(bl.zeros((0, 3)), (2**40, 0, 2)).shape == (2**40, 0, 2)


def test_creation(same):
    same(bl.asarray([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    same(bl.asarray([1, 2.5]), np.array([1, 2.5]))
    same(bl.asarray([True, False]), np.array([True, False]))
    same(bl.asarray([1, 2j]), np.array([1, 2j]))
    same(bl.asarray(2**63), np.array(2**63, dtype="u8"))
    same(bl.asarray([]), np.array([]))
    same(bl.asarray([bl.asarray(1), 2]), np.array([1, 2]))
    same(bl.asarray([bl.ones(2), bl.zeros(2)]), np.array([[1.0, 1], [0, 0]]))
    same(bl.arange(3, 20, 4), np.arange(3, 20, 4))
    same(bl.arange(5, 0, -2, dtype=bl.int8), np.arange(5, 0, -2, dtype="i1"))
    same(bl.arange(0.5, 3, 0.25), np.arange(0.5, 3, 0.25))
    same(bl.linspace(0, 1, 7), np.linspace(0, 1, 7))
    same(bl.linspace(1, 9, 4, endpoint=False, dtype=bl.float32), np.linspace(1, 9, 4, endpoint=False, dtype="f4"))
    same(bl.eye(3, 4, k=-1), np.eye(3, 4, k=-1))
    same(bl.full((2,), 7, dtype=bl.uint8), np.full(2, 7, "u1"))
    same(bl.full_like(bl.ones(2, dtype=bl.float32), 3), np.full(2, 3, "f4"))
    same(bl.tril(bl.ones((3, 3)), k=-1), np.tril(np.ones((3, 3)), -1))
    same(bl.triu(bl.ones((2, 3, 3)), k=1), np.triu(np.ones((2, 3, 3)), 1))
    for k in (-(2**64), -3, -2, 3, 4, 2**63):
        near = max(-9, min(k, 9))
        same(bl.eye(2, 4, k=k), np.eye(2, 4, near))
        same(bl.tril(bl.ones((2, 4)), k=k), np.tril(np.ones((2, 4)), near))
        same(bl.triu(bl.ones((2, 4)), k=k), np.triu(np.ones((2, 4)), near))
    assert bl.eye(0, k=2**63).shape == (0, 0)
    for ours, theirs in zip(bl.meshgrid(bl.arange(2), bl.arange(3)), np.meshgrid(np.arange(2), np.arange(3)), strict=True):
        same(ours, theirs)
    with pytest.raises(OverflowError, match="300"):
        bl.asarray([300], dtype=bl.uint8)
    with pytest.raises(ValueError, match="nested"):
        bl.asarray([[1, 2], [3]])
    with pytest.raises(ValueError, match="copy"):
        bl.asarray([1], copy=False)
    with pytest.raises(TypeError):
        bl.asarray(object())


def test_searching_and_choosing(same):
    x = np.array([[3, 0, 2], [0, 4, 6]])
    ours = bl.asarray(x)
    for one, other in zip(bl.nonzero(ours), np.nonzero(x), strict=True):
        same(one, other)
    same(bl.where(ours > 2, ours, -1), np.where(x > 2, x, -1))
    same(bl.where(bl.asarray([True, False]), 1.0, 2), np.where([True, False], 1.0, 2))
    same(bl.take(ours, bl.asarray([1, 0, -1]), axis=1), np.take(x, [1, 0, -1], axis=1))
    same(bl.take_along_axis(ours, bl.asarray([[1], [0]])), np.take_along_axis(x, np.array([[1], [0]]), -1))
    same(bl.clip(ours, 1, 3), np.clip(x, 1, 3))
    same(bl.clip(ours, None, 3), np.minimum(x, 3))
    same(bl.diff(ours, axis=0), np.diff(x, axis=0))
    with pytest.raises(IndexError):
        bl.take(ours, bl.asarray([3]), axis=1)
    # As int64 they would be -1 and -2.
    beyond = bl.asarray([2**64 - 1, 2**64 - 2], dtype=bl.uint64)
    with pytest.raises(IndexError):
        bl.take(ours, beyond, axis=1)
    with pytest.raises(IndexError):
        bl.take_along_axis(ours, beyond[:, None])


def test_bits_beyond_the_standard():
    x = bl.asarray([1.0, -2.0], dtype=bl.float32)
    assert format(bl.bitcast(x, bl.uint32), "x") == "[3f800000 c0000000]"
    packing = bl.Packing(3, bl.uint32, signed=True)
    values = bl.asarray([-4, 3, 0, -1, 2, 1, -2, -3, 3, 2, 1], dtype=bl.int8)
    words = bl.pack(values, packing)
    assert words.dtype == bl.uint32 and words.shape == (2,)
    assert bl.unpack(words, packing)[: values.size].tolist() == values.tolist()
    bits = bl.Packing(1, bl.uint8, big_endian=True)
    truth = np.array([True, False, False, True, True, False, True, True, True])
    assert bl.pack(bl.asarray(truth), bits).tolist() == np.packbits(truth).tolist()
    narrow = bl.Packing(3, bl.uint8, signed=True)
    repacked = bl.repack(words, packing, narrow)
    assert repacked.dtype == bl.uint8
    assert bl.unpack(repacked, narrow)[: values.size].tolist() == values.tolist()
    gradient, zero = bl.copysign_grad(x, bl.asarray([-1.0, -1.0], dtype=bl.float32), bl.ones(2, dtype=bl.float32))
    assert gradient.tolist() == [-1.0, 1.0] and zero.tolist() == [0.0, 0.0]


def test_casts_that_saturate():
    x = bl.asarray([1e6, -1e6, float("inf"), 1.5, -0.0])
    for name, limit in (("float8_e4m3fn", 448.0), ("float8_e5m2", 57344.0), ("float16", 65504.0)):
        narrow = bl.cast_saturating(x, getattr(bl, name))
        assert narrow.dtype == getattr(bl, name) and narrow.tolist() == [limit, -limit, limit, 1.5, -0.0]
        assert bl.bits_equal(bl.fuse(lambda x: bl.cast_saturating(x * 1, narrow.dtype))(x), narrow)
    assert bl.cast_saturating(x, bl.int8).tolist() == [127, -128, 127, 1, 0]
    assert bl.cast_saturating(bl.asarray([2**64 - 1], dtype=bl.uint64), "int64").tolist() == [2**63 - 1]


def test_losses(rng):
    x, y = (rng.standard_normal(100) for _ in range(2))
    ours = bl.asarray(x), bl.asarray(y)
    z = x - y
    np.testing.assert_allclose(float(bl.l1_loss(*ours)), np.abs(z).mean())
    np.testing.assert_allclose(float(bl.mse_loss(*ours, reduction="sum")), (z * z).sum())
    huber = np.where(np.abs(z) <= 0.5, 0.5 * z * z, 0.5 * (np.abs(z) - 0.25))
    np.testing.assert_allclose(np.asarray(bl.huber_loss(*ours, delta=0.5, reduction="none")), huber)
    smooth = np.where(np.abs(z) < 2, 0.25 * z * z, np.abs(z) - 1)
    np.testing.assert_allclose(float(bl.smooth_l1_loss(*ours, beta=2.0)), smooth.mean())
    np.testing.assert_allclose(float(bl.poisson_nll_loss(*ours)), (np.exp(x) - y * x).mean())
    with pytest.raises(ValueError, match="reduction"):
        bl.l1_loss(*ours, reduction="median")
