"""Operands, which every library can be given, and their form in the files."""

import hashlib

import ml_dtypes
import numpy as np

DTYPES = {
    "bool": np.bool_,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
# The topics that loop over all dtypes leave these out; they have a file of their own.
FLOAT8 = {"f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
TYPES = DTYPES | FLOAT8
NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()}


class Tensor:
    """A tensor, or a view (strides and offset in elements) of a one-dimensional base."""

    def __init__(self, dtype, base, shape=None, strides=None, offset=0, view=None):
        self.dtype = dtype
        self.base = np.asarray(base).astype(TYPES[dtype], copy=False).reshape(-1)
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


class EveryPair:
    """Every value of a dtype or, as one of two operands, that side of every pair of bytes."""

    def __init__(self, dtype, side=None):
        self.dtype, self.side, self.strides = dtype, side, None

    def numpy(self):
        size = np.dtype(TYPES[self.dtype]).itemsize
        values = np.arange(1 << (8 * size), dtype=f"u{size}")
        if self.side is not None:
            grid = values[:, None] if self.side == 0 else values[None, :]
            values = np.broadcast_to(grid, (len(values), len(values)))
        return np.ascontiguousarray(values).view(TYPES[self.dtype])

    def json(self):
        return {"exhaustive": self.dtype}


def digests(array):
    """The digests of a large result's bytes, row-major and the least significant byte first."""
    data = np.ascontiguousarray(array).tobytes()
    fnv = 0xCBF29CE484222325
    for byte in data:
        fnv = ((fnv ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return {"fnv1a64": f"{fnv:016x}", "sha256": hashlib.sha256(data).hexdigest()}
