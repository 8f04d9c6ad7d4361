"""Fused functions have the bits of the functions themselves."""

import collections
import gc
import pickle
import threading
import traceback
import weakref

import cloudpickle
import numpy as np
import pytest

import bitlane as bl


def softmax(x):
    e = bl.exp(x - bl.max(x, axis=-1, keepdims=True))
    return e / bl.sum(e, axis=-1, keepdims=True)


def nibbles(w, amounts, scale):
    return bl.astype((bl.expand_dims(w, axis=1) >> amounts) & 15, bl.float32) * scale - 8


def many(x, y):
    z = bl.clip(x * y + 1, -2.0, 2.0)
    return {"one": bl.where(z > 0, z, -z), "two": [bl.fma(x, y, z), bl.var(z, axis=0, correction=1)]}


def views(x):
    t = bl.permute_dims(x, (1, 0))
    return bl.flip(t, axis=1)[::2, 1:] + bl.reshape(bl.squeeze(t[None], 0), (-1,))[3]


def standard_deviation(x):
    return bl.std(bl.sqrt(abs(x)), axis=(0, 1), keepdims=True) + bl.mean(x)


CASES = [
    (softmax, lambda rng: [rng.standard_normal((50, 33)).astype("f4")]),
    (nibbles, lambda rng: [rng.integers(0, 2**32, 40, dtype="u4"), np.arange(0, 32, 4, dtype="u4"), np.float32(0.3) * np.ones(8, "f4")]),
    (many, lambda rng: [rng.standard_normal((7, 9)) for _ in range(2)]),
    (views, lambda rng: [rng.standard_normal((6, 9))]),
    (standard_deviation, lambda rng: [rng.standard_normal((6, 9)).astype("f2")]),
]


def flattened(result):
    if isinstance(result, dict):
        return [one for value in result.values() for one in flattened(value)]
    if isinstance(result, list):
        return [one for value in result for one in flattened(value)]
    return [result]


@pytest.mark.parametrize("function, arrays", CASES, ids=lambda one: getattr(one, "__name__", ""))
@pytest.mark.parametrize("rules", ["numpy", "torch"])
def test_the_bits_are_the_same(function, arrays, rules, rng):
    fused = bl.fuse(function)
    with bl.rules(rules):
        for _ in range(3):
            given = [bl.asarray(array) for array in arrays(rng)]
            ours, plain = flattened(fused(*given)), flattened(function(*given))
            assert len(ours) == len(plain)
            for one, other in zip(ours, plain):
                assert one.shape == other.shape and bl.bits_equal(one, other)
    assert fused.__name__ == function.__name__


def test_a_function_is_traced_once_per_signature():
    calls = collections.Counter()

    @bl.fuse
    def scaled(x, factor=2, *, offset=0.0):
        calls["scaled"] += 1
        return x * factor + offset

    x = bl.arange(4)
    for _ in range(3):
        assert scaled(x).tolist() == [0, 2, 4, 6]
    assert calls["scaled"] == 1
    assert scaled(x, 3).tolist() == [0, 3, 6, 9] and calls["scaled"] == 2
    # 1, 1.0 and True are equal, but not for promotion.
    assert scaled(x, 1).dtype == bl.float64
    assert scaled(x, True).dtype == bl.float64 and calls["scaled"] == 4
    assert bl.signbit(scaled(bl.zeros(1), -1.0, offset=-0.0)).tolist() == [True]
    assert bl.signbit(scaled(bl.zeros(1), -1.0, offset=0.0)).tolist() == [False]
    scaled(bl.ones(4, dtype=bl.float32)), scaled(bl.arange(5))
    assert calls["scaled"] == 8
    with bl.rules("torch"):
        assert scaled(x, 2.5).dtype == bl.float32


def test_errors_point_at_the_line_that_causes_them():
    @bl.fuse
    def wrong(x, y):
        z = x * 2
        return z + y  # here

    with pytest.raises(ValueError, match="cannot broadcast") as caught:
        wrong(bl.ones(3), bl.ones(2))
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert lines[-1].endswith("# here")

    @bl.fuse
    def shift(x):
        return x << 1

    with pytest.raises(TypeError, match="only integers"):
        shift(bl.ones(3))


def test_what_cannot_be_fused_says_so():
    kept = []

    @bl.fuse
    def branch(x):
        kept.append(x)
        return x if x > 0 else -x

    with pytest.raises(TypeError, match="not known while a function is fused"):
        branch(bl.asarray(1.0))
    with pytest.raises(TypeError, match="use `where`"):

        @bl.fuse
        def assign(x):
            x[0] = 1
            return x

        assign(bl.ones(2))
    # Without fusing, both names see the new elements.
    def in_place(x):
        y = x
        y += 1
        return x + y

    assert in_place(bl.ones(2)).tolist() == [4.0, 4.0]
    for function in (in_place, lambda x: x.__ifloordiv__(2), lambda x: bl.ones(2).__ilshift__(x)):
        with pytest.raises(TypeError, match=r"write `x = x (\+|//|<<) y`, not `x (\+|//|<<)= y`"):
            bl.fuse(function)(bl.ones(2))
    with pytest.raises(TypeError, match="nonzero"):
        bl.fuse(bl.nonzero)(bl.ones(2))
    with pytest.raises(ValueError, match="rules"):

        @bl.fuse
        def change(x):
            with bl.rules("torch"):
                return x + 1

        change(bl.ones(2))

    @bl.fuse
    def leak(x):
        kept.append(x)
        return x + 1

    assert leak(bl.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="return it instead"):
        kept[-1] + 1
    assert "traced" in repr(kept[-1]) and kept[-1].shape == (2,)


def test_functions_that_call_themselves_or_each_other():
    @bl.fuse
    def halved(x, level=3):
        # The constant is no argument, so this call is one like any other.
        return x / 2 if level == 0 else x * halved(bl.ones(2), level=level - 1)

    both = threading.Barrier(2, timeout=20)

    @bl.fuse
    def one(x, depth=0):
        if depth:
            return x * 2
        both.wait()
        return x + other(bl.ones(2), depth=1)

    @bl.fuse
    def other(x, depth=0):
        if depth:
            return x * 3
        both.wait()
        return x + one(bl.ones(2), depth=1)

    finished = {}

    def run(function):
        finished[function] = function(bl.ones(2)).tolist()

    threads = [threading.Thread(target=run, args=(function,), daemon=True) for function in (halved, one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert finished == {halved: [0.5, 0.5], one: [4.0, 4.0], other: [3.0, 3.0]}


def test_a_function_keeps_a_limited_number_of_records():
    calls = collections.Counter()

    @bl.fuse
    def plus(x, number):
        calls[number] += 1
        return x + number

    x = bl.ones(1)
    for number in range(300):
        assert plus(x, number).tolist() == [1.0 + number]
    plus(x, 299)
    assert calls[299] == 1 and len(plus._programs) == 256
    plus(x, 0)
    assert calls[0] == 2 and len(plus._programs) == 256


@bl.fuse
def doubled(x):
    return x * 2


def test_fused_functions_are_pickled():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    local = cloudpickle.loads(cloudpickle.dumps(bl.fuse(lambda x: x * 3)))
    assert local(bl.asarray([1, 2])).tolist() == [3, 6]


def test_nothing_of_a_call_is_kept():
    class Owner(np.ndarray):
        pass

    fused = bl.fuse(lambda x: (x + 1, x.shape))
    memory = np.arange(3).view(Owner)
    gone, x = weakref.ref(memory), bl.asarray(memory)
    assert fused(x)[0].tolist() == [1, 2, 3] and fused(x)[1] == (3,)
    del memory, x
    gc.collect()
    assert gone() is None
    with pytest.raises(TypeError, match="neither an array of bitlane nor a constant"):
        fused(bl.arange(3), np.arange(3))


def test_fused_functions_within_fused_functions_and_methods():
    inner = bl.fuse(lambda x: x * 2)
    outer = bl.fuse(lambda x: inner(x) + inner(x + 1))
    assert outer(bl.asarray([1, 2])).tolist() == [6, 10]
    constant = bl.asarray([10.0, 20.0])
    assert bl.fuse(lambda x: x + constant)(bl.ones(2)).tolist() == [11.0, 21.0]
    assert bl.fuse(lambda x: (x, constant))(bl.ones(2))[1].tolist() == [10.0, 20.0]

    class Model:
        @bl.fuse
        def apply(self, x):
            x = x + 1
            return x * self.factor

        factor = 3

    assert Model().apply(bl.asarray([1, 2])).tolist() == [6, 9]
    assert bl.fuse(lambda x, n: x + n)(2, 3) == 5
