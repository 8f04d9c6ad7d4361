"""Dtypes, promotion and conversion to Python's numbers."""

import pickle

import numpy as np
import pytest

import bitlane as bl

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def test_dtypes_are_numpys():
    for name in NAMES:
        ours, theirs = getattr(bl, name), np.dtype(name)
        assert ours == theirs and theirs == ours and np.dtype(ours) == theirs
        assert (ours.name, ours.itemsize, ours.kind) == (theirs.name, theirs.itemsize, theirs.kind)
        assert bl.zeros(1, dtype=name).dtype == bl.zeros(1, dtype=theirs).dtype == ours
        assert pickle.loads(pickle.dumps(ours)) == ours and hash(ours) == hash(getattr(bl, name))
    assert bl.bfloat16.itemsize == 2 and repr(bl.bfloat16) == "bitlane.bfloat16"
    assert bl.zeros(1, dtype=float).dtype == bl.float64
    # The codes of NumPy count bytes.
    assert bl.zeros(1, dtype="f4").dtype == bl.float32 and bl.zeros(1, dtype="<i8").dtype == bl.int64
    with pytest.raises(TypeError, match="bfloat16"):
        bl.zeros(1, dtype="float12")


def test_promotion_is_numpys():
    for one in NAMES:
        for other in NAMES:
            expected = np.result_type(np.dtype(one), np.dtype(other))
            assert bl.result_type(getattr(bl, one), getattr(bl, other)) == expected
    for name in NAMES:
        x = bl.zeros(1, dtype=name)
        for number in (True, 1, 1.0, 1j):
            assert bl.result_type(x, number) == np.result_type(np.zeros(1, name), number)


def test_rulebooks():
    x, y = bl.ones(2, dtype=bl.int32), bl.ones(2, dtype=bl.float32)
    assert (x + y).dtype == bl.float64
    for name, expected in (("torch", bl.float32), ("jax", bl.float32), ("numpy", bl.float64)):
        with bl.rules(name):
            assert (x + y).dtype == expected
    with bl.rules("paddle"):
        with pytest.raises(TypeError, match="Paddle rules give i32 tensor and f32 tensor no common dtype"):
            x + y
        with bl.rules("torch"):
            assert bl.current_rules() == "Torch"
        assert bl.current_rules() == "Paddle"
    assert bl.current_rules() == "NumPy"
    with pytest.raises(ValueError, match="rulebook"), bl.rules("cobol"):
        pass


def test_numbers_keep_their_limits():
    x = bl.ones(2, dtype=bl.int8)
    with pytest.raises(OverflowError, match="300"):
        x + 300
    with pytest.raises(OverflowError):
        x + 2**70
    assert (bl.ones(1, dtype=bl.uint64) + (2**63 + 5)).tolist() == [2**63 + 6]
    assert (x + np.int16(300)).dtype == bl.int16
    assert (x + np.float64(0.5)).dtype == bl.float64


def test_limits():
    for name in ("int8", "uint16", "int64", "uint64"):
        ours, theirs = bl.iinfo(getattr(bl, name)), np.iinfo(name)
        assert (ours.min, ours.max, ours.bits) == (theirs.min, theirs.max, theirs.bits)
    for name in ("float16", "float32", "float64", "complex64"):
        ours, theirs = bl.finfo(getattr(bl, name)), np.finfo(name)
        assert (ours.bits, ours.eps, ours.max, ours.min) == (theirs.bits, theirs.eps, theirs.max, theirs.min)
        assert ours.smallest_normal == theirs.smallest_normal
    assert bl.finfo(bl.bfloat16).eps == 2.0**-7
    assert bl.isdtype(bl.uint8, "integral") and not bl.isdtype(bl.bfloat16, "integral")
    assert bl.can_cast(bl.int8, bl.int16) and not bl.can_cast(bl.float64, bl.float32)
    with pytest.raises(TypeError):
        bl.iinfo(bl.float32)


def test_numbers_of_python():
    assert int(bl.asarray(2**64 - 1, dtype=bl.uint64)) == 2**64 - 1
    assert float(bl.asarray(0.1, dtype=bl.float32)) == np.float32(0.1)
    assert complex(bl.asarray(1 + 2j)) == 1 + 2j and bool(bl.asarray([[1]]))
    assert int(bl.asarray(-2.7)) == -2 and [10, 20, 30][bl.asarray(1)] == 20
    with pytest.raises(ValueError, match="2 elements"):
        bool(bl.ones(2))
    with pytest.raises(TypeError):
        float(bl.asarray(1j))
    with pytest.raises(TypeError):
        [1][bl.asarray(0.0)]
    with pytest.raises(OverflowError):
        int(bl.asarray(float("inf")))
    assert bl.asarray([[1, 2]]).tolist() == [[1, 2]] and bl.asarray(True).item() is True


def test_bfloat16():
    x = bl.asarray([1.0, 1.00390625, -0.0], dtype=bl.bfloat16)
    assert x.tolist() == [1.0, 1.0, -0.0]
    assert (x + x).dtype == bl.bfloat16 and (x * 3).tolist() == [3.0, 3.0, -0.0]


def test_how_arrays_are_represented():
    assert repr(bl.asarray([[1, 2], [3, 4]])) == "Array([[1, 2],\n       [3, 4]], dtype=int64)"
    assert repr(bl.asarray(1.5, dtype=bl.float32)) == "Array(1.5, dtype=float32)"
    assert repr(bl.zeros((0, 3))) == "Array([], shape=[0, 3], dtype=float64)"
    assert repr(bl.zeros((2, 1, 2), dtype=bl.int8)) == "Array([[[0, 0]],\n\n       [[0, 0]]], dtype=int8)"
    assert str(bl.asarray([1, 2])) == "[1 2]" and f"{bl.asarray(1.25):.1f}" == "1.2"
    assert "..." in repr(bl.zeros(10000)) and f"{bl.asarray([10, 3], dtype=bl.uint8):b}" == "[00001010 00000011]"


def test_devices():
    x = bl.ones(2, device="cpu")
    assert x.device == "cpu" == bl.Device("cpu") and str(x.device) == "cpu"
    assert x.to_device("cpu") is x
    assert pickle.loads(pickle.dumps(x.device)) == x.device
    with pytest.raises(ValueError, match="names no device"):
        bl.ones(1, device="tpu")
    with pytest.raises(RuntimeError, match="CUDA is not available"):
        bl.ones(1, device="cuda:7")
