"""What the namespace can do, as the standard asks for it."""

from . import _bitlane, _dtypes

__all__ = ["__array_namespace_info__"]

# The dtypes of the standard; there are more.
_STANDARD = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
)


class __array_namespace_info__:
    """What the namespace can do.

    >>> import bitlane
    >>> bitlane.__array_namespace_info__().default_dtypes()["real floating"]
    bitlane.float64
    """

    def capabilities(self):
        """Return what is optional in the standard."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self):
        """Return the device of arrays for which none is named."""
        return _bitlane.Device("cpu")

    def devices(self):
        """Return all devices."""
        cuda = [_bitlane.Device(f"cuda:{ordinal}") for ordinal in range(_bitlane.cuda_count())]
        return [_bitlane.Device("cpu"), *cuda]

    def default_dtypes(self, *, device=None):
        """Return the dtypes of Python's numbers and of indices."""
        return {
            "real floating": _bitlane.float64,
            "complex floating": _bitlane.complex128,
            "integral": _bitlane.int64,
            "indexing": _bitlane.int64,
        }

    def dtypes(self, *, device=None, kind=None):
        """Return the dtypes of the standard by name, all or those of a kind."""
        dtypes = {name: _dtypes._ALL[name] for name in _STANDARD}
        if kind is None:
            return dtypes
        return {name: dtype for name, dtype in dtypes.items() if _dtypes.isdtype(dtype, kind)}
