"""Dask arrays of our arrays: on threads, and on worker processes."""

import contextlib
import os
import pickle
import resource
import signal
import time

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

import bitlane as bl
import bitlane.dask as bd

CHUNKS = [(1000,), (1, 999), (400, 600), (7,) * 142 + (6,), (512, 488), (333, 333, 334)]


@pytest.fixture(autouse=True)
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def same_bits(ours, expected):
    assert isinstance(ours, bl.Array), type(ours)
    assert bl.bits_equal(ours, expected), (ours, expected)


def test_chunks_stay_arrays_of_ours(rng):
    x = rng.standard_normal((20, 30))
    ours = bl.asarray(x)
    chunked = bd.from_array(ours, chunks=(7, 11))
    for function in (
        lambda x: x + 1, lambda x: 2 * x - x * x, lambda x: abs(x), lambda x: x[3:17:2, ::-1], lambda x: x[4],
        lambda x: x.T, lambda x: x > 0,
    ):  # fmt: skip
        result = function(chunked).compute()
        expected = function(ours)
        same_bits(result, expected)
    same_bits(chunked.rechunk((5, 30)).compute(), ours)
    same_bits(chunked.map_blocks(bl.exp).compute(), bl.exp(ours))
    made = da.arange(100, chunks=30, dtype="f4").map_blocks(bl.asarray, dtype="f4", meta=bl.zeros(0, dtype=bl.float32))
    same_bits(bd.sum(made / 7).compute(), bl.sum(bl.arange(100, dtype=bl.float32) / 7))
    same_bits(da.concatenate([chunked, chunked]).compute(), bl.concat([ours, ours]))
    same_bits(da.where(chunked > 0, chunked, -chunked).compute(), abs(ours))
    for name in ("max", "min", "any", "all"):
        result = getattr(chunked, name)(axis=0).compute()
        same_bits(result, getattr(bl, name)(ours, axis=0))
    np.testing.assert_allclose(np.asarray(chunked.sum(axis=1).compute()), x.sum(axis=1))


@pytest.mark.parametrize("chunks", CHUNKS, ids=lambda chunks: f"{len(chunks)} chunks")
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "complex64"])
def test_sums_have_the_bits_of_the_whole(chunks, name, rng):
    values = rng.standard_normal(1000) * 10.0 ** rng.integers(-3, 3, 1000)
    x = bl.asarray(values.clip(-9e3, 9e3).astype(name))
    chunked = da.from_array(x, chunks=(chunks,), asarray=False)
    same_bits(bd.sum(chunked).compute(), bl.sum(x))
    small = bl.astype(x, bl.float32) / 1000 + 1 if name != "complex64" else x / 1000 + 1
    chunked_small = da.from_array(small, chunks=(chunks,), asarray=False)
    same_bits(bd.prod(chunked_small).compute(), bl.prod(small))
    if name == "int8":
        same_bits(bd.mean(chunked).compute(), bl.mean(bl.astype(x, bl.float64)))
        same_bits(bd.sum(chunked, dtype=bl.int8).compute(), bl.sum(x, dtype=bl.int8))
        return
    same_bits(bd.mean(chunked).compute(), bl.mean(x))
    if name != "complex64":
        same_bits(bd.var(chunked, correction=1).compute(), bl.var(x, correction=1))
        same_bits(bd.std(chunked).compute(), bl.std(x))
        same_bits(bd.sum(chunked, dtype=bl.float32).compute(), bl.sum(x, dtype=bl.float32))


@pytest.mark.parametrize("chunks", [(6, 7, 8), (1, 7, 3), (4, 2, 8), (5, 5, 5), (1, 2, 3)], ids=str)
def test_sums_over_axes(chunks, rng):
    x = bl.asarray(rng.standard_normal((6, 7, 8)).astype("f4"))
    chunked = bd.from_array(x, chunks=chunks)
    for axis in (None, 0, 1, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        for keepdims in (False, True):
            result = bd.sum(chunked, axis=axis, keepdims=keepdims)
            expected = bl.sum(x, axis=axis, keepdims=keepdims)
            assert result.shape == expected.shape
            same_bits(result.compute(), expected)
        same_bits(bd.var(chunked, axis=axis).compute(), bl.var(x, axis=axis))
        same_bits(bd.mean(chunked, axis=axis, keepdims=True).compute(), bl.mean(x, axis=axis, keepdims=True))


def test_chunks_of_numpy_give_arrays_of_numpy(rng):
    x = rng.standard_normal((100, 10)).astype("f4")
    total = bd.sum(da.from_array(x, chunks=(33, 4)), axis=0).compute()
    assert isinstance(total, np.ndarray) and total.dtype == "f4"
    assert bl.bits_equal(bl.asarray(total), bl.sum(bl.asarray(x), axis=0))


def test_arrays_without_elements():
    for shape, axis in (((0,), None), ((0, 3), 0), ((3, 0), None), ((3, 0), 0)):
        x = bl.zeros(shape)
        same_bits(bd.sum(bd.from_array(x), axis=axis).compute(), bl.sum(x, axis=axis))
    x = bl.ones((2, 3))
    same_bits(bd.sum(bd.from_array(x), axis=()).compute(), x)


def test_what_is_refused():
    with pytest.raises(TypeError, match="no Dask array"):
        bd.sum(bl.ones(3))
    with pytest.raises(IndexError, match="axis"):
        bd.sum(bd.from_array(bl.ones(3)), axis=1)


def test_partial_sums_are_pickled(rng):
    x = bl.asarray(rng.standard_normal(100))
    head, tail = (bl.PartialSum.over("sum", part, None, start) for part, start in ((x[:33], 0), (x[33:], 33)))
    merged = pickle.loads(pickle.dumps(tail)).merge(pickle.loads(pickle.dumps(head)))
    assert merged.range == (0, 100) and "0 to 100" in repr(merged)
    same_bits(merged.finish(bl.float64), bl.sum(x))
    with pytest.raises(ValueError, match="not neighbours"):
        head.merge(head)
    for axes, start in ((None, 2**64 - 1), ([1], 0), ([-(2**63)], 0)):
        with pytest.raises(ValueError):
            bl.PartialSum.over("sum", x, axes, start)


def slow(block, seconds):
    time.sleep(seconds)
    return block


@contextlib.contextmanager
def cluster(**options):
    """Start two worker processes with a thread each."""
    settings = {
        "distributed.scheduler.allowed-failures": 10,
        "distributed.worker.daemon": False,
        "distributed.comm.timeouts.connect": "60s",
    }
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None} | options
    with dask.config.set(settings):
        with distributed.LocalCluster(host="127.0.0.1", **options) as workers, distributed.Client(workers) as client:
            yield client


def test_worker_processes_and_one_that_is_killed(rng):
    x = bl.asarray(rng.standard_normal((64, 1000)).astype("f4"))
    with cluster() as client:
        chunked = bd.from_array(x, chunks=(4, 500))
        same_bits((chunked * 2 + 1).compute(), x * 2 + 1)
        same_bits(chunked.rechunk((64, 100)).compute(), x)
        same_bits(bd.sum(chunked).compute(), bl.sum(x))
        same_bits(bd.var(chunked, axis=0).compute(), bl.var(x, axis=0))
        # One worker dies in the middle of the work; what it had is computed again.
        pids = client.run(os.getpid)
        future = client.compute(bd.sum(chunked.map_blocks(slow, 0.2, dtype=chunked.dtype, meta=chunked._meta)))
        address, victim = next(iter(pids.items()))
        deadline = time.monotonic() + 60
        while not any("slow" in str(key) for key in client.has_what()[address]):
            assert time.monotonic() < deadline, "the worker has finished nothing"
            time.sleep(0.02)
        # It holds finished work, and more waits for it.
        assert future.status == "pending" and client.processing()[address]
        os.kill(victim, signal.SIGKILL)
        same_bits(future.result(timeout=120), bl.sum(x))
        assert victim not in client.run(os.getpid).values()


def made(block_id=None, rows=None):
    """Return a block that no other process has in its memory."""
    start = block_id[0] * rows
    return bl.arange(start, start + rows, dtype=bl.complex128)


def peak():
    """Return the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_more_than_the_memory_of_the_workers_streams_through():
    rows, blocks, limit = 2**19, 80, 300 * 2**20
    with dask.config.set({"distributed.worker.memory.spill": False}), cluster(memory_limit=limit) as client:
        before = max(client.run(peak).values())
        x = da.map_blocks(made, rows=rows, chunks=((rows,) * blocks,), dtype="c16", meta=bl.zeros(0, dtype=bl.complex128))
        total = bd.sum(x).compute()
        used = max(client.run(peak).values()) - before
    # Both workers together may not hold it, and hold far less.
    assert x.nbytes > 2 * limit and used < x.nbytes / 8, used
    # Every partial sum is an exact integer.
    same_bits(total, bl.asarray(rows * blocks * (rows * blocks - 1) // 2, dtype=bl.complex128))
