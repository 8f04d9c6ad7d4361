"""Memory that is shared: NumPy, DLPack, buffers, pickles; and NumPy's functions on our arrays."""

import copy
import ctypes
import gc
import pickle
import sys
import threading
import time
import weakref

import ml_dtypes
import numpy as np
import pytest

import bitlane as bl

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", NAMES)
def test_numpys_memory_is_shared_both_ways(name):
    theirs = np.ones((3, 4), name)
    ours = bl.asarray(theirs)
    theirs[1, 2] = 0
    assert ours[1, 2].item() == 0 and ours.dtype == theirs.dtype
    back = np.asarray(ours)
    ours[0, 0] = bl.zeros((), dtype=name)
    assert back[0, 0] == 0 and theirs[0, 0] == 0 and back.dtype == theirs.dtype
    assert np.shares_memory(np.from_dlpack(ours), theirs)
    assert not np.shares_memory(np.array(ours), theirs)
    view = bl.asarray(theirs[::-1, 1::2])
    theirs[2, 3] = 0
    assert view[0, 1].item() == 0 and view.shape == (3, 2)


def test_the_memory_lives_as_long_as_it_is_used():
    class Owner(np.ndarray):
        pass

    theirs = np.arange(10.0).view(Owner)
    gone = weakref.ref(theirs)
    ours = bl.asarray(theirs)[2:]
    del theirs
    gc.collect()
    assert ours.tolist() == list(range(2, 10))
    del ours
    gc.collect()
    assert gone() is None
    seen = np.asarray(bl.arange(5))
    gc.collect()
    assert seen.tolist() == [0, 1, 2, 3, 4]


def test_copies_when_asked_or_needed():
    theirs = np.arange(4)
    assert not np.shares_memory(np.asarray(bl.asarray(theirs, copy=True)), theirs)
    assert np.shares_memory(np.asarray(bl.asarray(theirs, copy=False)), theirs)
    with pytest.raises(ValueError, match="copy=False"):
        bl.asarray(theirs, dtype=bl.float32, copy=False)

    class Made:
        def __array__(self, dtype=None, copy=None):
            if copy is False:
                raise ValueError("the elements are made when they are asked for: copy=False")
            return np.arange(4)

    assert bl.asarray(Made()).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="copy=False"):
        bl.asarray(Made(), copy=False)
    theirs.flags.writeable = False
    assert bl.asarray(theirs).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="may not be written"):
        bl.asarray(theirs, copy=False)
    swapped = np.arange(3, dtype=">i4")
    assert bl.asarray(swapped).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="no array of numbers"):
        bl.asarray(np.array(["a"]))
    ours = bl.arange(3)
    assert bl.asarray(ours) is ours and not bl.shares_memory(bl.asarray(ours, copy=True), ours)


@pytest.mark.parametrize("dtype", bl._dtypes._ALL.values(), ids=str)
def test_every_dtype_is_shared_pickled_and_described(dtype):
    x = bl.astype(bl.asarray([[0, 1, 1], [1, 0, 1]]), dtype)
    theirs = np.asarray(x)
    assert theirs.dtype == dtype.__numpy_dtype__ == dtype and theirs.dtype.itemsize == dtype.itemsize
    theirs[0, 0] = 1
    assert x.astype(bl.int64).tolist() == [[1, 1, 1], [1, 0, 1]]
    assert bl.bits_equal(bl.asarray(theirs), x) and bl.bits_equal(pickle.loads(pickle.dumps(x.T, 5)), x.T)
    assert repr(x).endswith(f", dtype={dtype.name})")
    if dtype.kind in "fc":
        ours, limits = bl.finfo(dtype), ml_dtypes.finfo(theirs.dtype)
        assert (ours.bits, ours.eps, ours.max, ours.min) == (limits.bits, limits.eps, limits.max, limits.min)
        assert ours.smallest_normal == limits.smallest_normal


def test_dlpack_of_either_version():
    x = bl.arange(6, dtype=bl.int16).__dlpack__(max_version=(1, 0))
    assert "dltensor_versioned" in repr(x)
    assert '"dltensor"' in repr(bl.arange(6).__dlpack__())
    assert bl.arange(6).__dlpack_device__() == (1, 0)
    capsule = bl.arange(3).__dlpack__()

    class Once:
        def __dlpack__(self, **options):
            return capsule

        def __dlpack_device__(self):
            return 1, 0

    assert bl.from_dlpack(Once()).tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="has been used"):
        bl.from_dlpack(Once())


def test_buffers():
    x = bl.arange(6, dtype=bl.float32)
    view = memoryview(x)
    assert view.format == "f" and view.shape == (6,) and not view.readonly
    view[2] = 20.0
    assert x[2].item() == 20.0
    assert memoryview(x[::2]).strides == (8,)
    assert bl.asarray(memoryview(b"abc")).tolist() == [97, 98, 99]
    assert bytes(bl.asarray([1, 2], dtype=bl.uint8)) == b"\x01\x02"
    with pytest.raises(BufferError):
        memoryview(bl.zeros(2, dtype=bl.bfloat16))
    import array

    assert bl.asarray(array.array("d", [1.5])).tolist() == [1.5]


class Buffer(ctypes.Structure):
    """`Py_buffer`."""

    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)), ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]  # fmt: skip


# The flags of `Py_buffer`.
WRITABLE, FORMAT, ND, STRIDES, INDIRECT = 0x1, 0x4, 0x8, 0x18, 0x118
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS = 0x38, 0x58, 0x98


def lends(x, flags):
    """Return whether a buffer is lent to a consumer that understands no more than these flags say."""
    view = Buffer()
    try:
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(x), ctypes.byref(view), ctypes.c_int(flags))
    except BufferError:
        assert not view.obj
        return False
    try:
        assert view.ndim == x.ndim and view.len == x.nbytes and not view.readonly
        assert bool(view.strides) == (flags & STRIDES == STRIDES) and bool(view.shape) == bool(flags & 0x8)
        assert (view.format is not None) == bool(flags & FORMAT)
        if view.strides:
            assert [view.strides[axis] for axis in range(x.ndim)] == list(np.asarray(x).strides)
        return True
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


def test_a_buffer_is_laid_out_as_its_consumer_expects():
    x = bl.reshape(bl.arange(24, dtype=bl.float32), (4, 6))
    for array, by_rows, by_columns in (
        (x, True, False), (x.T, False, True), (x[:, ::2], False, False), (x.T[::2], False, False), (x[0], True, True),
        (x[:, 0], False, False), (x[1, 2], True, True), (x[:0], True, True), (x[::-1], False, False),
    ):  # fmt: skip
        for more in (0, WRITABLE, FORMAT, WRITABLE | FORMAT):
            assert lends(array, more) == by_rows, array.shape
            assert lends(array, ND | more) == by_rows
            assert lends(array, C_CONTIGUOUS | more) == by_rows
            assert lends(array, F_CONTIGUOUS | more) == by_columns
            assert lends(array, ANY_CONTIGUOUS | more) == (by_rows or by_columns)
            assert lends(array, STRIDES | more) and lends(array, INDIRECT | more)


class Exporter:
    """A library with DLPack of its first version, which knows neither `copy` nor `max_version`."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class NewExporter(Exporter):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("exporter", [Exporter, NewExporter])
def test_a_copy_is_one_whatever_the_exporter_knows(exporter):
    for theirs in (np.arange(4), bl.arange(4), np.zeros(0)):
        for make in (bl.from_dlpack, bl.asarray):
            for copy in (True, False, None):
                ours = make(exporter(theirs), copy=copy)
                if theirs.size:
                    is_shared = np.shares_memory(np.asarray(ours), np.asarray(theirs))
                    assert is_shared == (copy is not True), (make, copy)
                ours[...] = 7
    # What cannot be shared is copied only if that is allowed. Exporters of the first version cannot say that they may not
    # be written to, and NumPy then refuses to export.
    half = np.zeros(9, "f4")[1:].view("c8")
    fixed = np.arange(3)
    fixed.flags.writeable = False
    for theirs in [half] if exporter is Exporter else [half, fixed]:
        for copy in (True, None):
            ours = bl.from_dlpack(exporter(theirs), copy=copy)
            assert not np.shares_memory(np.asarray(ours), theirs) and bl.bits_equal(ours, bl.asarray(theirs))
        with pytest.raises(BufferError, match="copy=False"):
            bl.from_dlpack(exporter(theirs), copy=False)
        for one in (theirs, exporter(theirs)):
            with pytest.raises(ValueError, match="copy=False"):
                bl.asarray(one, copy=False)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", [*NAMES, "bfloat16"])
def test_pickles(name, protocol):
    x = bl.astype(bl.asarray([[1, 0, 3], [0, 5, 6]]), getattr(bl, name))
    for one in (x, x.T, x[:0], x[0, 0]):
        back = pickle.loads(pickle.dumps(one, protocol))
        assert back.shape == one.shape and bl.bits_equal(back, one)


def test_pickles_with_buffers_beside_them_copy_nothing():
    x, buffers = bl.arange(100000, dtype=bl.float32), []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 500 and len(buffers) == 1
    assert np.shares_memory(np.frombuffer(buffers[0], "f4"), np.asarray(x))
    back = pickle.loads(data, buffers=buffers)
    assert bl.bits_equal(back, x)
    back[0] = 5
    assert x[0].item() == 5, "the buffer is that of x itself"
    moved = pickle.loads(data, buffers=[bytes(buffers[0])])
    moved[0] = 6
    assert x[0].item() == 5 and moved[0].item() == 6
    off = bytearray(4 * x.size + 1)
    off[1:] = bytes(buffers[0])
    assert bl.bits_equal(pickle.loads(data, buffers=[memoryview(off)[1:]]), x)
    with pytest.raises(ValueError, match="no array"):
        pickle.loads(data, buffers=[b"123"])
    with pytest.raises(ValueError, match="bool"):
        bl._bitlane.rebuilt(bytearray([2]), bl.bool, (1,), "cpu")


def test_copies_and_functions():
    x = bl.arange(3)
    for other in (copy.copy(x), copy.deepcopy(x), x.copy()):
        assert bl.bits_equal(x, other) and not bl.shares_memory(x, other)
    assert pickle.loads(pickle.dumps(bl.add)) is bl.add and repr(bl.add) == "<function bitlane.add>"
    packing = bl.Packing(4, bl.uint32, order=[0, 2, 4, 6, 1, 3, 5, 7], signed=True)
    assert repr(pickle.loads(pickle.dumps(packing))) == repr(packing)


def test_other_threads_run_while_an_array_is_computed():
    x = bl.ones((1000, 1000))
    count, stop = [0], threading.Event()

    def spin():
        while not stop.is_set():
            count[0] += 1
            time.sleep(0)

    # What counts is the size of the result: these operands, and those of the fused function, are few elements.
    column, row = bl.ones((1000, 1)), bl.ones((1000,))
    fused = bl.fuse(lambda x, y: bl.exp(x * y))
    fused(column, row)
    places, words = bl.zeros(1000000, dtype=bl.int64), bl.zeros(8000, dtype=bl.uint64)
    thread = threading.Thread(target=spin)
    interval = sys.getswitchinterval()
    # The interpreter does not interrupt a thread before this, so the other one runs only when this one releases the lock.
    sys.setswitchinterval(1000)
    thread.start()
    try:
        for compute in (
            lambda: bl.exp(x), lambda: column * row, lambda: bl.where(column > 0, column, row), lambda: fused(column, row),
            lambda: bl.take(row, places), lambda: bl.unpack(words, bl.Packing(1, bl.uint64)),
        ):  # fmt: skip
            before, rounds = count[0], 0
            # The other thread is let in as soon as the lock is released, but not at once on a busy machine.
            while count[0] == before:
                compute()
                rounds += 1
                assert rounds < 50, "no other thread has run"
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


def test_functions_of_numpy(same):
    x = np.arange(12.0).reshape(3, 4) - 5
    ours = bl.asarray(x)
    for function in (
        np.abs, np.negative, np.sign, np.sum, np.max, np.mean, np.std, np.ravel, np.transpose, np.isnan, np.ones_like,
        lambda x: np.add(x, 1), lambda x: np.multiply(2, x), lambda x: np.where(x > 0, x, 0), lambda x: np.sum(x, axis=0),
        lambda x: np.var(x, axis=1, ddof=1), lambda x: np.concatenate([x, x], axis=1), lambda x: np.stack([x, x]),
        lambda x: np.clip(x, -1, 2), lambda x: np.expand_dims(x, (0, 2)), lambda x: np.cumsum(x, axis=1), lambda x: np.maximum.reduce(x, axis=1),
        lambda x: np.add.accumulate(x, axis=0), lambda x: np.take(x, [1, 0], axis=0), lambda x: np.full_like(x, 3),
        lambda x: np.reshape(x, (4, 3)), lambda x: np.squeeze(x[None]), lambda x: np.any(x > 3, axis=0), np.floor, np.rint,
        lambda x: np.count_nonzero(x, axis=0), lambda x: np.tile(x, 2), lambda x: np.repeat(x, 2, axis=0), np.triu,
        lambda x: np.zeros_like(x, shape=(2,)), lambda x: np.multiply.outer(x[0], x[1]), lambda x: np.ones((3, 4)) + x,
        lambda x: x - np.ones((3, 4)), lambda x: np.float64(2) * x, lambda x: np.argmax(x, axis=1), np.flip, np.diff,
    ):  # fmt: skip
        same(function(ours), function(x))
    out = np.empty((3, 4))
    assert np.add(ours, 1, out=out) is out and out[0, 0] == -4
    assert np.array_equal(ours, x) and np.shape(ours) == (3, 4) and np.ndim(ours) == 2
    with pytest.raises(TypeError):
        np.linalg.svd(ours)
    with pytest.raises(TypeError):
        np.sinc(ours)
    with pytest.raises(TypeError):
        np.spacing(ours)


def test_conversions_follow_the_rules_of_numpy():
    x, ours = np.arange(3), bl.asarray([0.5, 1.5, 2.5])
    kept = x.copy()
    with pytest.raises(TypeError, match="same_kind"):
        x += ours
    for target in (x, bl.asarray(kept.copy())):
        for function in (
            lambda out: np.add(ours, 1, out=out), lambda out: np.sum(ours, out=out[0, ...]), lambda out: np.cumsum(ours, out=out),
            lambda out: np.concatenate([ours], out=out), lambda out: np.clip(ours, 0, 1, out=out),
            lambda out: np.add.accumulate(ours, out=out), lambda out: np.take(ours, [0, 1, 2], out=out),
        ):  # fmt: skip
            with pytest.raises(TypeError, match="same_kind"):
                function(target)
        assert np.asarray(target).tolist() == kept.tolist()
        assert np.add(ours, 1, out=target, casting="unsafe") is target
        assert np.asarray(target).tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="same_kind"):
        np.add(ours, 1, dtype=np.int64)
    assert np.add(ours, 1, dtype=np.int64, casting="unsafe").tolist() == [1, 2, 3]
    narrow = np.zeros(3, "f4")
    narrow += ours
    assert narrow.tolist() == [0.5, 1.5, 2.5]


def test_functions_of_numpy_check_their_arguments(same):
    x = np.array([[3, 0, 2], [0, 4, 6]])
    ours = bl.asarray(x)
    for one, other in zip(np.where(ours), np.where(x), strict=True):
        same(one, other)
    same(np.where(ours > 2, ours, [7, 8, 9]), np.where(x > 2, x, [7, 8, 9]))
    with pytest.raises(ValueError, match="both or neither"):
        np.where(ours, ours)
    same(np.expand_dims(ours, (0, -1)), np.expand_dims(x, (0, -1)))
    for axes in (3, -4, (0, 4)):
        with pytest.raises(IndexError, match="rank"):
            np.expand_dims(ours, axes)
    with pytest.raises(ValueError, match="twice"):
        np.expand_dims(ours, (0, -4))
    same(ours.transpose(-1, 0), x.transpose(-1, 0))
    for axes in ((0, 2), (-3, 1), (0, 10**10)):
        with pytest.raises(IndexError, match="rank 2"):
            ours.transpose(axes)
    with pytest.raises(ValueError):
        ours.transpose(0, 0)
    same(np.clip(ours, x * 0 + 1, None), np.clip(x, x * 0 + 1, None))
    with pytest.raises(TypeError, match="where"):
        np.clip(ours, 0, 1, where=x > 0)


def test_errors_are_of_the_kinds_of_python():
    x = bl.ones(3)
    with pytest.raises(ValueError, match=r"add: cannot broadcast \[3\] with \[2\]"):
        x + bl.ones(2)
    with pytest.raises(TypeError, match="f64 is not supported, only integers"):
        x << 1
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "1"
    with pytest.raises(TypeError, match="an operand is of type str"):
        bl.add(x, "1")
    with pytest.raises(TypeError, match="positional"):
        bl.add(x)
    with pytest.raises(TypeError, match="keyword"):
        bl.add(x, x, where=x)
    with pytest.raises(MemoryError):
        bl.ones(2**50)
    with pytest.raises(ValueError):
        bl.ones((1,) * 9)
    assert (x == "1") is False and (x != None) is True  # noqa: E711
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
