"""Indexing and assignment, compared with NumPy."""

import numpy as np
import pytest

import bitlane as bl

MASK = np.array([[True, False, True, False], [False] * 4, [True, True, False, False]])

VIEWS = [
    0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(5, 0, -2), slice(-100, 100), ..., None, (..., 0),
    (0, ..., None), (slice(None), 1), (1, slice(None, None, 2), -1), (None, 0, None, slice(2)), (slice(1, 1),), (),
    (slice(None), slice(3, None, -1), slice(1, -1)), np.int64(1), (1, 2, 3),
]  # fmt: skip

ARRAYS = [
    np.array([1, 0, -1]), (slice(None), np.array([2, 0])), np.array([[0, 1], [1, 0]]), (np.array([0, 1]), np.array([2, 1])),
    (np.array([[0], [1]]), np.array([2, 1])), (slice(None), np.array([0, 2]), np.array([3, 1])),
    (np.array([0, 1]), slice(None), np.array([3, 1])), np.array([], dtype=int), (..., np.array([3, -4])), [0, 1, 1],
    np.array([True, False]), (0, MASK), MASK[None] | np.zeros((2, 3, 4), bool), (slice(None), MASK), (..., None, np.array([1])),
    (1, np.array([2, 0]), slice(None, None, 2)), np.array(True), np.array([1, 0], dtype=np.uint8),
]  # fmt: skip


def converted(key):
    if isinstance(key, tuple):
        return tuple(converted(one) for one in key)
    return bl.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", VIEWS + ARRAYS, ids=str)
def test_reading(key, same):
    x = np.arange(24, dtype="i4").reshape(2, 3, 4)
    same(bl.asarray(x)[converted(key)], x[key])


@pytest.mark.parametrize("key", VIEWS, ids=str)
def test_views_share_memory_and_can_be_written(key):
    x = np.arange(24, dtype="i4").reshape(2, 3, 4)
    ours = bl.asarray(x.copy())
    if x[key].size:
        assert bl.shares_memory(ours[key], ours)
    ours[key], x[key] = -7, -7
    np.testing.assert_array_equal(np.asarray(ours), x)
    values = np.arange(x[key].size, dtype="i4").reshape(x[key].shape)
    ours[key], x[key] = bl.asarray(values), values
    np.testing.assert_array_equal(np.asarray(ours), x)


@pytest.mark.parametrize("key", ARRAYS, ids=str)
def test_assigning_to_masks_and_integers(key):
    x = np.arange(24, dtype="i4").reshape(2, 3, 4)
    ours = bl.asarray(x.copy())
    ours[converted(key)], x[key] = -7, -7
    np.testing.assert_array_equal(np.asarray(ours), x)
    values = np.arange(x[key].size, dtype="i4").reshape(x[key].shape) + 100
    ours[converted(key)], x[key] = bl.asarray(values), values
    np.testing.assert_array_equal(np.asarray(ours), x)


def test_what_is_out_of_bounds():
    x = bl.ones((2, 3))
    for key in (2, -3, (0, 3), (0, 0, 0), bl.asarray([2]), bl.asarray([0, -3]), (..., ...), bl.asarray([1.0]),
                bl.asarray([True]), (bl.asarray([0]), bl.asarray([5])), 10**30):  # fmt: skip
        with pytest.raises(IndexError):
            x[key]
    with pytest.raises(ValueError, match="step"):
        x[::0]
    with pytest.raises(ValueError):
        x[...] = bl.ones(2)
    with pytest.raises(TypeError):
        bl.ones(2, dtype=bl.int8)[0] = 1.5
    with pytest.raises(ValueError):
        x[bl.asarray([[True, False, True], [False, False, False]])] = bl.ones(3)


def test_indices_of_dtypes_that_do_not_hold_the_size(same):
    x = np.arange(70000)
    ours = bl.asarray(x)
    for name, limit in (("int8", 127), ("int16", 32767), ("uint8", 255), ("uint16", 65535), ("int32", 69999), ("uint64", 69999)):
        index = np.array([limit, 0, 5], dtype=name)
        same(ours[bl.asarray(index)], x[index])
        if name[0] == "i":
            same(ours[bl.asarray(-index)], x[-index])
    wide, theirs = bl.zeros((2, 70000)), np.zeros((2, 70000))
    index = np.array([100, -100], dtype="i1")
    wide[1, bl.asarray(index)] = theirs[1, index] = 1
    same(wide, theirs)
    same(wide[bl.asarray([1, 0]), bl.asarray(index)], theirs[[1, 0], index])
    # As int64 this would be -1.
    beyond = bl.asarray([2**64 - 1], dtype=bl.uint64)
    for key in (beyond, (..., beyond), (beyond, beyond)):
        with pytest.raises(IndexError, match="out of bounds"):
            wide[key]
        with pytest.raises(IndexError, match="out of bounds"):
            wide[key] = 1


@pytest.mark.parametrize("shape, count", [((50,), 200), ((5000,), 3), ((20, 3), 100), ((4, 30, 2), 50)], ids=str)
def test_many_indices_at_once(shape, count, rng, same, monkeypatch):
    if count > 3:
        monkeypatch.delattr(bl._indexing, "_set_few")
    for axis in range(len(shape)):
        x = rng.integers(0, 100, shape)
        ours, before = bl.asarray(x.copy()), (slice(None),) * axis
        # Many come more than once, and the last one wins.
        index = rng.integers(-shape[axis], shape[axis], count)
        values = rng.integers(100, 10**6, x[before + (index,)].shape)
        ours[before + (bl.asarray(index),)], x[before + (index,)] = bl.asarray(values), values
        same(ours, x)
        ours[before + (bl.asarray(index[:2]),)], x[before + (index[:2],)] = -1, -1
        same(ours, x)
        # A view that is not contiguous, and a value that is broadcast.
        view, theirs = ours[before + (slice(None, None, -1),)], x[before + (slice(None, None, -1),)]
        view[before + (bl.asarray(index),)], theirs[before + (index,)] = bl.asarray(values[..., :1]), values[..., :1]
        same(ours, x)
    with pytest.raises(ValueError):
        ours[bl.asarray([0, 1])] = bl.ones((3,) + ours.shape[1:])


def test_iteration():
    x = bl.asarray([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2
    one, other = x
    assert bl.shares_memory(other, x)
    with pytest.raises(TypeError):
        iter(bl.asarray(1))
    with pytest.raises(TypeError):
        len(bl.asarray(1))
