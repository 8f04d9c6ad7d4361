"""The namespace of bitlane, in which arrays for which no device is named are made on CUDA.

The standard's own suite takes it in place of `bitlane`, to test the functions on a CUDA device.
"""

import functools

import bitlane
from bitlane import *  # noqa: F403
from bitlane import __array_api_version__, __array_namespace_info__ as _info, __version__  # noqa: F401


def _on_cuda(function):
    @functools.wraps(function)
    def made(*args, **kwargs):
        # Where it is given an array, its device is the default.
        if not isinstance(args[0], bitlane.Array):
            kwargs["device"] = kwargs.get("device") or "cuda:0"
        return function(*args, **kwargs)

    return made


for _name in ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros"):
    globals()[_name] = _on_cuda(getattr(bitlane, _name))


class __array_namespace_info__(_info):
    def default_device(self):
        return bitlane.Device("cuda:0")
