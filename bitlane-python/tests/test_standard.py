"""Libraries that are written for the array API take these arrays. Only `cargo xtask python --full` runs these."""

import numpy as np
import pytest

import bitlane as bl


@pytest.fixture
def values(rng):
    return rng.standard_normal((20, 3))


def test_array_api_compat_knows_the_namespace(values):
    import array_api_compat as compat

    x = bl.asarray(values)
    assert compat.is_array_api_obj(x) and compat.array_namespace(x, x * 2) is bl
    assert compat.size(x) == 60 and compat.device(x) == "cpu" and compat.to_device(x, "cpu") is x
    with pytest.raises(TypeError):
        compat.array_namespace(x, values)


def test_array_api_extra(values):
    import array_api_extra as extra

    x = bl.asarray(values)
    for function in (
        lambda x: extra.at(x, (0,)).add(1.0, copy=True), lambda x: extra.atleast_nd(x, ndim=3), lambda x: extra.pad(x, 1),
        lambda x: extra.create_diagonal(x[0]), lambda x: extra.kron(x[0], x[1]), lambda x: extra.isclose(x, x + 1e-9),
        lambda x: extra.apply_where(x > 0, (x,), lambda x: x * 2, lambda x: x - 1), lambda x: extra.isin(x, x[0]),
    ):  # fmt: skip
        ours = function(x)
        assert isinstance(ours, bl.Array)
        np.testing.assert_allclose(np.asarray(ours), function(values))
    with pytest.raises(AttributeError, match="unique"):
        extra.nunique(x)


def test_scipy(values):
    from scipy import integrate, optimize, special, stats

    x = bl.asarray(values)
    for function in (
        stats.zscore, stats.skew, stats.kurtosis, stats.sem, stats.variation, lambda x: stats.moment(x, 3),
        lambda x: stats.gmean(abs(x)), lambda x: stats.pmean(abs(x), 2), lambda x: stats.entropy(abs(x)),
        lambda x: stats.ttest_1samp(x, 0.0).pvalue, special.logsumexp, special.softmax, special.expit,
        lambda x: special.xlogy(abs(x), abs(x)), lambda x: integrate.trapezoid(x, axis=0), optimize.rosen,
        lambda x: integrate.cumulative_trapezoid(x, axis=0),
    ):  # fmt: skip
        ours = function(x)
        assert isinstance(ours, bl.Array)
        np.testing.assert_allclose(np.asarray(ours), function(values), rtol=1e-10)


def test_cubed(values, tmp_path):
    import cubed
    import cubed.array_api as chunked

    spec = cubed.Spec(work_dir=str(tmp_path), allowed_mem="200MB")
    x = chunked.asarray(values, chunks=(7, 2), spec=spec)
    for ours, theirs in (
        (x * 2 + 1, values * 2 + 1), (x[3:11, ::2], values[3:11, ::2]), (chunked.exp(-x), np.exp(-values)),
        (chunked.sum(x, axis=0), values.sum(axis=0)), (chunked.mean(x), values.mean()), (chunked.max(x, axis=1), values.max(axis=1)),
        (chunked.permute_dims(x, (1, 0)), values.T),
    ):  # fmt: skip
        result = ours.compute()
        assert isinstance(result, bl.Array)
        np.testing.assert_allclose(np.asarray(result), theirs)
