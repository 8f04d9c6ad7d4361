"""What the tests share."""

import os

import numpy as np
import pytest

import bitlane as bl


def pytest_addoption(parser):
    parser.addoption("--others", action="store_true", help="test with PyTorch, JAX, SciPy and Cubed too")
    parser.addoption("--cuda", action="store_true", help="test on CUDA too")


def pytest_configure(config):
    if config.getoption("--others"):
        # Read when SciPy and Cubed are imported, which others do, too.
        os.environ |= {"SCIPY_ARRAY_API": "1", "CUBED_BACKEND_ARRAY_API_MODULE": "bitlane"}


def pytest_ignore_collect(collection_path, config):
    options = {"test_cuda.py": "--cuda", "test_others.py": "--others", "test_standard.py": "--others"}
    option = options.get(collection_path.name)
    return True if option and not config.getoption(option) else None


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def same():
    """Check that an array has NumPy's dtype, shape and elements; NaNs are equal to NaNs."""

    def check(ours, theirs, exact=True):
        theirs = np.asarray(theirs)
        assert isinstance(ours, bl.Array), ours
        assert ours.dtype == theirs.dtype, (ours.dtype, theirs.dtype)
        assert ours.shape == theirs.shape
        if exact:
            np.testing.assert_array_equal(np.asarray(ours), theirs)
        else:
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-6 if theirs.itemsize < 8 else 1e-14)

    return check
