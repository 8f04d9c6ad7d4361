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


# Arrays with a slice between them are only read.
ASSIGNED = [key for key in ARRAYS if not (isinstance(key, tuple) and len(key) == 3 and isinstance(key[1], slice))]


@pytest.mark.parametrize("key", [*ASSIGNED, (slice(None), np.array([0, 2]), np.array([3, 1]))], ids=str)
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


def test_iteration():
    x = bl.asarray([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2
    one, other = x
    assert bl.shares_memory(other, x)
    with pytest.raises(TypeError):
        iter(bl.asarray(1))
    with pytest.raises(TypeError):
        len(bl.asarray(1))
