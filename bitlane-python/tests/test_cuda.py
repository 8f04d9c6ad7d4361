"""Arrays on CUDA have the bits of those on the CPU. Only `cargo xtask python --full` runs these, on the virtual driver."""

import pickle

import numpy as np
import pytest

import bitlane as bl


@pytest.fixture
def x(rng):
    return bl.asarray(rng.standard_normal((8, 9)).astype("f4"))


def softmax(x):
    e = bl.exp(x - bl.max(x, axis=-1, keepdims=True))
    return e / bl.sum(e, axis=-1, keepdims=True)


@pytest.mark.parametrize("function", [
    lambda x: x + 1, lambda x: bl.sum(x * x, axis=0), lambda x: x[1:, ::-2], lambda x: x[x > 0], softmax, bl.fuse(softmax),
    lambda x: bl.concat([x, x.mT.reshape(8, 9)]), lambda x: bl.take(x, bl.asarray([2, 0], device=x.device), axis=1),
    lambda x: bl.where(x > 0, x, 0.0), lambda x: bl.var(x), lambda x: bl.astype(x, bl.float16), lambda x: bl.roll(x, 3),
    lambda x: bl.cumulative_sum(x, axis=1), lambda x: bl.full_like(x, 3) + bl.eye(8, 9, device=x.device),
])  # fmt: skip
def test_the_bits_are_those_of_the_cpu(function, x):
    there = x.to_device("cuda:0")
    assert str(there.device) == "cuda:0" and there.__dlpack_device__() == (2, 0)
    result = function(there)
    assert result.device == "cuda:0"
    assert bl.bits_equal(result.to_device("cpu"), function(x))


def test_assignment_and_numbers(x):
    there, here = x.to_device("cuda"), x.copy()
    for array in (there, here):
        array[0] = 7.0
        array[:, 1] += 2.0
        array[array < 0] = 0.0
        array[[5, 3, -3]] = bl.reshape(bl.arange(27, dtype=bl.float32, device=array.device), (3, 9))
        array[:, bl.asarray([2, 8] * 5, device=array.device)] = np.arange(10, dtype="f4")
    assert bl.bits_equal(there.to_device("cpu"), here) and float(there[0, 0]) == 7.0
    assert repr(there).endswith("device='cuda:0')")


def test_devices_do_not_mix(x):
    there = x.to_device("cuda:0")
    with pytest.raises(ValueError, match="to_device"):
        x + there
    with pytest.raises(TypeError, match="cuda:0"):
        np.asarray(there)
    with pytest.raises(BufferError):
        memoryview(there)
    back = pickle.loads(pickle.dumps(there, 5))
    assert back.device == there.device and bl.bits_equal(back, there)
    assert np.from_dlpack(there, device="cpu", copy=True).shape == (8, 9)
    assert bl.from_dlpack(there).device == "cuda:0"
    assert [str(device) for device in bl.__array_namespace_info__().devices()][:2] == ["cpu", "cuda:0"]
