"""Memory that is shared with PyTorch and JAX. Only `cargo xtask python --full` runs these."""

import numpy as np
import pytest

import bitlane as bl


@pytest.mark.parametrize("name", "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split())
def test_pytorch_shares_memory_both_ways(name):
    import torch

    theirs = torch.ones((3, 4), dtype=getattr(torch, name))
    ours = bl.asarray(theirs)
    assert ours.dtype == getattr(bl, name) and ours.shape == (3, 4)
    theirs[1, 2] = 0
    assert not ours[1, 2]
    ours[0, 0] = bl.zeros((), dtype=name)
    assert not theirs[0, 0]
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr() and back.dtype == theirs.dtype
    turned = torch.from_dlpack(ours.T)
    assert turned.shape == (4, 3) and turned.data_ptr() == theirs.data_ptr()
    assert bl.asarray(theirs.t()[1:]).shape == (3, 3)


def test_the_rules_and_results_are_those_of_pytorch():
    import torch

    x, y = torch.arange(6, dtype=torch.int32).reshape(2, 3), torch.linspace(0, 1, 3)
    with bl.rules("torch"):
        ours = bl.asarray(x) * bl.asarray(y) - 2
    theirs = x * y - 2
    assert ours.dtype == bl.float32
    np.testing.assert_array_equal(np.asarray(ours), theirs.numpy())


def address(x):
    return np.asarray(x).__array_interface__["data"][0]


@pytest.mark.parametrize("name", "uint8 int32 float32 bfloat16 complex64".split())
def test_jax_shares_memory_both_ways(name):
    import jax
    import jax.numpy as jnp

    theirs = jnp.arange(6, dtype=name).reshape(2, 3)
    start = theirs.unsafe_buffer_pointer()
    for make in (bl.from_dlpack, bl.asarray):
        ours = make(theirs, copy=False)
        assert ours.dtype == getattr(bl, name) and address(ours) == start
        assert address(make(theirs, copy=True)) != start
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    back = jax.dlpack.from_dlpack(ours)
    assert back.unsafe_buffer_pointer() == start
    # Memory on its way to JAX must be aligned as JAX aligns it, or it is copied there.
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(ours[1:])), np.asarray(theirs[1:]))
