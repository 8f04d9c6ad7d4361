"""Writes files for bitlane to read (`numpy write FOLDER`), and checks those that it wrote (`numpy check FOLDER`).

With `torch` in place of `numpy`, the safetensors files are PyTorch's, and those of NumPy are left alone.
"""

import pathlib
import sys

library, verb, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
NUMPY = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]
NAMES = ["bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "c64", "c128"]


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


def with_numpy():
    import ml_dtypes
    import numpy as np
    from safetensors.numpy import load_file, save_file

    # The numbers 0 to 5 in every dtype, by name.
    arrays = {name: np.arange(6).reshape(2, 3).astype(dtype) for name, dtype in zip(NAMES, NUMPY)}
    arrays["bf16"] = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    # The format has no c128.
    tensors = {name: array for name, array in arrays.items() if name != "c128"}
    if verb == "write":
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
            np.save(folder / f"{name}_fortran.npy", np.asfortranarray(array))
            big = array.astype(array.dtype.newbyteorder(">")) if name != "bf16" else array
            np.save(folder / f"{name}_big.npy", big)
        np.savez(folder / "plain.npz", **arrays)
        np.savez_compressed(folder / "compressed.npz", **arrays)
        save_file(tensors, folder / "numpy.safetensors")
        return
    for name, array in arrays.items():
        for kind in ["", "_fortran"]:
            loaded = np.load(folder / f"{name}{kind}.npy")
            if name == "bf16":
                loaded = loaded.view(ml_dtypes.bfloat16)
            check(loaded.dtype == array.dtype and np.array_equal(loaded, array), f"{name}{kind}.npy")
            check(loaded.flags.f_contiguous == (kind == "_fortran"), f"the order of {name}{kind}.npy")
    archive = np.load(folder / "ours.npz")
    for name, array in arrays.items():
        check(np.array_equal(archive[name].view(array.dtype), array), f"{name} in ours.npz")
    loaded = load_file(folder / "ours.safetensors")
    check(set(loaded) == set(tensors), "the names in ours.safetensors")
    for name, array in tensors.items():
        check(loaded[name].dtype == array.dtype and np.array_equal(loaded[name], array), f"{name} in ours.safetensors")


def with_torch():
    import torch
    from safetensors.torch import load_file, save_file

    dtypes = {
        "bool": torch.bool, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
        "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f16": torch.float16,
        "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "c64": torch.complex64,
    }
    tensors = {name: torch.arange(6).reshape(2, 3).to(dtype) for name, dtype in dtypes.items()}
    if verb == "write":
        save_file(tensors, folder / "torch.safetensors")
        return
    loaded = load_file(folder / "ours.safetensors")
    check(set(loaded) == set(tensors), "the names in ours.safetensors")
    for name, expected in tensors.items():
        check(loaded[name].dtype == expected.dtype and torch.equal(loaded[name], expected), f"{name} in ours.safetensors")


with_torch() if library == "torch" else with_numpy()
