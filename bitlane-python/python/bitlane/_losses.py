"""Losses, with the reductions ``"mean"``, ``"sum"`` and ``"none"``."""

from . import _bitlane

__all__ = ["huber_loss", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss"]


def l1_loss(x, y, /, *, reduction="mean"):
    """Compute the mean of ``abs(x - y)``.

    >>> import bitlane
    >>> bitlane.l1_loss(bitlane.asarray([1.0, 2.0]), bitlane.asarray([0.0, 4.0]))
    Array(1.5, dtype=float64)
    """
    return _bitlane.computed_loss("l1", x, y, reduction)


def mse_loss(x, y, /, *, reduction="mean"):
    """Compute the mean of ``(x - y) ** 2``.

    >>> import bitlane
    >>> bitlane.mse_loss(bitlane.asarray([1.0, 2.0]), bitlane.asarray([0.0, 4.0]))
    Array(2.5, dtype=float64)
    """
    return _bitlane.computed_loss("mse", x, y, reduction)


def huber_loss(x, y, /, *, delta=1.0, reduction="mean"):
    """Compute the mean of squares up to a distance of ``delta``, and of distances beyond it.

    >>> import bitlane
    >>> bitlane.huber_loss(bitlane.asarray([1.0, 2.0]), bitlane.asarray([0.0, 4.0]), reduction="none")
    Array([0.5, 1.5], dtype=float64)
    """
    return _bitlane.computed_loss("huber", x, y, reduction, delta)


def smooth_l1_loss(x, y, /, *, beta=1.0, reduction="mean"):
    """Compute the mean of squares up to a distance of ``beta``, divided by it, and of distances beyond it.

    >>> import bitlane
    >>> bitlane.smooth_l1_loss(bitlane.asarray([1.0, 2.0]), bitlane.asarray([0.0, 4.0]), reduction="sum")
    Array(2., dtype=float64)
    """
    return _bitlane.computed_loss("smooth_l1", x, y, reduction, beta)


def poisson_nll_loss(x, y, /, *, log_input=True, full=False, epsilon=1e-8, reduction="mean"):
    """Compute the negative log likelihood of counts under a Poisson distribution.

    >>> import bitlane
    >>> bitlane.poisson_nll_loss(bitlane.zeros(2), bitlane.ones(2))
    Array(1., dtype=float64)
    """
    return _bitlane.computed_loss("poisson_nll", x, y, reduction, 1.0, log_input, full, epsilon)
