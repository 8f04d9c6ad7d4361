"""Passes arrays through bitlane and back in the same memory: `numpy BRIDGE` or `torch BRIDGE`."""

import ctypes
import gc
import sys

library = sys.argv[1]
if library == "torch":
    import torch
else:
    import numpy as np

bridge = ctypes.CDLL(sys.argv[2])
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
for name in ["transposed", "counted"]:
    getattr(bridge, name).restype = ctypes.c_void_p
bridge.transposed.argtypes = [ctypes.c_void_p]
for name in ["add_one_in_place", "add_one_in_place_versioned"]:
    getattr(bridge, name).restype = ctypes.c_bool
    getattr(bridge, name).argtypes = [ctypes.c_void_p]

# A consumed capsule is renamed, as DLPack requires, and must keep that name.
TAKEN = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


def take(capsule, name):
    pointer = api.PyCapsule_GetPointer(capsule, name)
    api.PyCapsule_SetName(capsule, TAKEN[name])
    return pointer


class Producer:
    """Wraps what bitlane exports in the protocol that `from_dlpack` expects."""

    def __init__(self, pointer, name):
        self.capsule = api.PyCapsule_New(pointer, name, None)

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


from_dlpack = torch.from_dlpack if library == "torch" else np.from_dlpack
x = from_dlpack(Producer(bridge.counted(), b"dltensor_versioned"))
check(x.tolist() == [[0, 1, 2], [3, 4, 5]], f"{library} of a new tensor")
del x
gc.collect()


def numpy():
    dtypes = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]
    for dtype in dtypes:
        x = np.arange(24).reshape(2, 3, 4).astype(dtype)
        for view in [x, x[::-1, :, 1::2], x.transpose(2, 0, 1), x[:, :0], x[1, 2, 3:].reshape(())]:
            y = np.from_dlpack(Producer(bridge.transposed(take(view.__dlpack__(), b"dltensor")), b"dltensor"))
            check(y.dtype == view.dtype and np.array_equal(y, view.T), f"numpy {dtype} {view.strides}")

    x = np.arange(12, dtype="i4").reshape(3, 4)
    check(bridge.add_one_in_place(take(x.T[::-1].__dlpack__(), b"dltensor")), "numpy in place")
    check(np.array_equal(x, np.arange(1, 13).reshape(3, 4)), "numpy sees what bitlane wrote")
    versioned = x.__dlpack__(max_version=(1, 0))
    check(bridge.add_one_in_place_versioned(take(versioned, b"dltensor_versioned")), "numpy versioned")
    check(np.array_equal(x, np.arange(2, 14).reshape(3, 4)), "numpy sees what bitlane wrote, versioned")


def pytorch():
    for dtype in [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.complex64]:
        x = torch.arange(24).reshape(2, 3, 4).to(dtype)
        for view in [x, x.permute(1, 2, 0), x[:, 1:, ::2]]:
            y = torch.from_dlpack(Producer(bridge.transposed(take(view.__dlpack__(), b"dltensor")), b"dltensor"))
            expected = view.permute(2, 1, 0)
            check(y.dtype == dtype and torch.equal(y, expected), f"torch {dtype}")
            if view.numel():
                check(y.data_ptr() == expected.data_ptr(), "torch shares the memory")
    x = torch.zeros(5, dtype=torch.bfloat16)
    check(bridge.add_one_in_place(take(x[1:4].__dlpack__(), b"dltensor")), "torch in place")
    check(x.tolist() == [0, 1, 1, 1, 0], "torch sees what bitlane wrote")


pytorch() if library == "torch" else numpy()
gc.collect()
