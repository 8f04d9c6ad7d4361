"""Writes files for bitlane to read (`write FOLDER`), and checks those that it wrote (`check FOLDER`)."""

import pathlib
import sys

import ml_dtypes
import numpy as np
import torch
from safetensors.torch import load_file, save_file

folder = pathlib.Path(sys.argv[2])
NUMPY = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]
NAMES = ["bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "c64", "c128"]
TORCH = {
    "bool": torch.bool, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
    "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f16": torch.float16,
    "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "c64": torch.complex64,
}


def arrays():
    """The numbers 0 to 5 in every dtype, by name."""
    for name, dtype in zip(NAMES, NUMPY):
        yield name, np.arange(6).reshape(2, 3).astype(dtype)
    yield "bf16", np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


if sys.argv[1] == "write":
    for name, array in arrays():
        np.save(folder / f"{name}.npy", array)
        np.save(folder / f"{name}_fortran.npy", np.asfortranarray(array))
        np.save(folder / f"{name}_big.npy", array.astype(array.dtype.newbyteorder(">")) if name != "bf16" else array)
    np.savez(folder / "plain.npz", **dict(arrays()))
    np.savez_compressed(folder / "compressed.npz", **dict(arrays()))
    tensors = {name: torch.arange(6).reshape(2, 3).to(dtype) for name, dtype in TORCH.items()}
    save_file(tensors, folder / "torch.safetensors")
else:
    for name, array in arrays():
        for kind in ["", "_fortran"]:
            loaded = np.load(folder / f"{name}{kind}.npy")
            if name == "bf16":
                loaded = loaded.view(ml_dtypes.bfloat16)
            check(loaded.dtype == array.dtype and np.array_equal(loaded, array), f"{name}{kind}.npy")
            check(loaded.flags.f_contiguous == (kind == "_fortran"), f"the order of {name}{kind}.npy")
    archive = np.load(folder / "ours.npz")
    for name, array in arrays():
        loaded = archive[name].view(array.dtype)
        check(np.array_equal(loaded, array), f"{name} in ours.npz")
    tensors = load_file(folder / "ours.safetensors")
    check(set(tensors) == set(TORCH), "the names in ours.safetensors")
    for name, dtype in TORCH.items():
        expected = torch.arange(6).reshape(2, 3).to(dtype)
        check(tensors[name].dtype == dtype and torch.equal(tensors[name], expected), f"{name} in ours.safetensors")
