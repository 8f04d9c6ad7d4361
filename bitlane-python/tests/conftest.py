"""What the tests share."""

import numpy as np
import pytest

import bitlane as bl


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
