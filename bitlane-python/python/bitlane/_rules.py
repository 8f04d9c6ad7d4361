"""Rulebooks of promotion."""

from . import _bitlane

__all__ = ["current_rules", "rules"]


def current_rules():
    """Return the name of the rulebook by which this thread promotes dtypes.

    >>> import bitlane
    >>> bitlane.current_rules()
    'NumPy'
    """
    return _bitlane.current_rules()


class rules:
    """Promote dtypes as another library does, in a ``with`` block of this thread.

    The rulebooks are ``"numpy"`` (the default), ``"torch"``, ``"jax"`` and ``"paddle"``. Numbers adapt to the dtype of
    arrays under all of them.

    >>> import bitlane
    >>> x = bitlane.asarray([1, 2], dtype=bitlane.int32)
    >>> y = bitlane.asarray([0.5, 0.5], dtype=bitlane.float32)
    >>> (x + y).dtype
    bitlane.float64
    >>> with bitlane.rules("torch"):
    ...     (x + y).dtype
    bitlane.float32
    """

    def __init__(self, name):
        self._name = name
        self._before = []

    def __enter__(self):
        self._before.append(_bitlane.set_rules(self._name))
        return self

    def __exit__(self, *exception):
        _bitlane.set_rules(self._before.pop())
