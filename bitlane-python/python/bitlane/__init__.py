"""The array API on tensors with the same bits on every device.

The functions, dtypes and constants here are those of the Python array API standard, 2024.12, except for linear algebra,
sorting, sets and Fourier transforms, which bitlane does not have. Beyond it there are logical shifts and rotations,
packing of small integers, losses, rulebooks of promotion, and functions that are run in one pass over memory.

>>> import bitlane as bl
>>> words = bl.asarray([[0x76543210], [0xFEDCBA98]], dtype=bl.uint32)
>>> amounts = bl.asarray([0, 4, 8, 12], dtype=bl.uint32)
>>> (words >> amounts) & 0xF
Array([[ 0,  1,  2,  3],
       [ 8,  9, 10, 11]], dtype=uint32)
"""

from . import _bitlane
from ._bitlane import (
    Array,
    Device,
    DType,
    Packing,
    PartialSum,
    bitcast,
    bits_equal,
    cast_saturating,
    copysign_grad,
    cuda_count,
    fma,
    from_dlpack,
    pack,
    repack,
    result_type,
    shares_memory,
    unpack,
)
from ._constants import *
from ._creation import *
from ._dtypes import *
from ._elementwise import *
from ._fuse import fuse
from ._info import __array_namespace_info__
from ._losses import huber_loss, l1_loss, mse_loss, poisson_nll_loss, smooth_l1_loss
from ._manipulation import *
from ._rules import current_rules, rules
from ._statistics import *
from ._searching import *

__array_api_version__ = "2024.12"
__version__ = _bitlane.__version__

for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift",
):
    _name = f"__i{_name}__"
    setattr(Array, _name, (lambda name: lambda self, other: self._assign(name, other))(_name))
del _name
