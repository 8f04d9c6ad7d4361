"""NumPy's functions on our arrays, and NumPy's arrays as ours. NumPy is imported only when this module is."""

import numpy as np

from . import _bitlane
from ._bitlane import Array, DType
from ._manipulation import _axes


def from_numpy(obj, copy=None):
    """Return an array that shares the memory of NumPy's, or of a buffer, where that is possible."""
    array = np.asarray(obj, copy=False if copy is False else None)
    if array.dtype.kind not in "biufcV" or array.dtype.names or array.dtype.kind == "V" and array.dtype.name.startswith("void"):
        raise TypeError(f"asarray: {type(obj).__name__} is no array of numbers (NumPy makes it {array.dtype})")
    if not array.dtype.isnative:
        if copy is False:
            raise ValueError("asarray: the bytes of the elements are swapped, which needs a copy")
        array = array.astype(array.dtype.newbyteorder("="))
    if copy:
        array = array.copy()
    try:
        dtype = getattr(_bitlane, array.dtype.name)
    except AttributeError:
        raise TypeError(f"asarray: there is no dtype {array.dtype.name}") from None
    known = array.dtype.kind != "V" and not array.dtype.name.startswith(("bfloat", "float8"))
    words = array if known else array.view(f"u{array.itemsize}")
    if copy is False and not words.flags.writeable:
        raise ValueError("asarray: the memory may not be written, so it has to be copied; leave copy=False out")
    result = _bitlane.from_dlpack(words, copy=False if copy is False else None)
    return result if known else _bitlane.bitcast(result, dtype)


def to_numpy(x, dtype=None, copy=None):
    """Return an array of NumPy that shares the memory, where that is possible."""
    if str(x.device) != "cpu":
        raise TypeError(f'the array is on {x.device}; copy it with `to_device("cpu")` first')
    own = x.dtype.__numpy_dtype__
    if own.kind == "V" or own.name.startswith(("bfloat", "float8")):
        word = getattr(_bitlane, f"uint{8 * x.itemsize}")
        result = np.from_dlpack(_bitlane.bitcast(x, word)).view(own)
    else:
        result = np.from_dlpack(x)
    if dtype is not None and np.dtype(dtype) != result.dtype:
        if copy is False:
            raise ValueError(f"a copy is needed from {result.dtype} to {np.dtype(dtype)}")
        return result.astype(dtype)
    return result.copy() if copy else result


def _dtype(dtype):
    return dtype if dtype is None or isinstance(dtype, DType) else getattr(_bitlane, np.dtype(dtype).name)


# The functions of NumPy that have other names here.
_UFUNCS = {
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "invert": "bitwise_invert",
    "true_divide": "divide",
    "absolute": "abs",
    "power": "pow",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arctan2": "atan2",
    "conjugate": "conj",
    "rint": "round",
    "float_power": None,
    "sign": "sign",
}

_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "bitwise_and": "bitwise_and_reduce",
    "bitwise_or": "bitwise_or_reduce",
    "bitwise_xor": "bitwise_xor_reduce",
}

_SCANS = {
    "add": "cumulative_sum",
    "multiply": "cumulative_prod",
    "maximum": "cumulative_max",
    "minimum": "cumulative_min",
    "bitwise_xor": "cumulative_xor",
}


def _namespace():
    import bitlane

    return bitlane


def array_ufunc(ufunc, method, inputs, kwargs):
    """What `__array_ufunc__` does."""
    kwargs = dict(kwargs or {})
    out = kwargs.pop("out", None)
    dtype = _dtype(kwargs.pop("dtype", None))
    casting = kwargs.pop("casting", "same_kind")
    bitlane = _namespace()
    inputs = [_bitlane.as_operand(one) for one in inputs]
    if any(one is None for one in inputs):
        return NotImplemented
    if method == "__call__":
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        function = getattr(bitlane, name, None) if name else None
        if kwargs or function is None:
            return NotImplemented
        if dtype is not None and dtype.kind in "iufc":
            inputs = [_converted(one, dtype, casting) if isinstance(one, Array) else one for one in inputs]
        if not any(isinstance(one, Array) for one in inputs):
            inputs[0] = bitlane.asarray(inputs[0])
        result = function(*inputs)
    elif method in ("reduce", "accumulate"):
        name = (_REDUCTIONS if method == "reduce" else _SCANS).get(ufunc.__name__)
        if name is None:
            return NotImplemented
        axis = kwargs.pop("axis", 0)
        keepdims = kwargs.pop("keepdims", False)
        where, initial = kwargs.pop("where", True), kwargs.pop("initial", None)
        if kwargs or where is not True or initial not in (None, np._NoValue):
            return NotImplemented
        options = {"axis": axis}
        if method == "reduce":
            options["keepdims"] = bool(keepdims)
        if dtype is not None and ufunc.__name__ in ("add", "multiply"):
            options["dtype"] = dtype
        result = getattr(bitlane, name)(inputs[0], **options)
    elif method == "outer":
        one, other = (bitlane.asarray(each) for each in inputs)
        one = _bitlane.reshape(one, one.shape + (1,) * other.ndim)
        return array_ufunc(ufunc, "__call__", [one, other], {"out": out, "casting": casting} if out else {})
    else:
        return NotImplemented
    return result if out is None else _returned(result, out[0], casting)


def _check_casting(dtype, target, casting):
    one, other = (np.dtype(each) for each in (dtype, target))
    if not np.can_cast(one, other, casting):
        raise TypeError(f"{one} cannot be cast to {other} according to the rule {casting!r}; give another casting or `astype`")


def _converted(x, dtype, casting):
    _check_casting(x.dtype, dtype, casting)
    return _bitlane.cast(x, dtype)


def _returned(result, out, casting="same_kind"):
    """Return a result, or write it to an array that was given for it."""
    if out is None:
        return result
    _check_casting(result.dtype, out.dtype, casting)
    out[...] = _bitlane.cast(result, out.dtype) if isinstance(out, Array) else np.asarray(result)
    return out


_FUNCTIONS = {}


def _implements(*functions):
    def register(implementation):
        for function in functions:
            _FUNCTIONS[function] = implementation
        return implementation

    return register


def _reduction(name, takes_dtype=False, takes_correction=False):
    def reduced(a, axis=None, dtype=None, out=None, *, ddof=0, correction=None, keepdims=False, **options):
        options = {key: value for key, value in options.items() if value is not np._NoValue}
        if options:
            raise TypeError(f"np.{name}: the options {', '.join(options)} are not supported for arrays of bitlane")
        keepdims = bool(keepdims) if keepdims is not np._NoValue else False
        bitlane = _namespace()
        a = bitlane.asarray(a)
        own = {"axis": axis, "keepdims": keepdims}
        if takes_correction:
            given = correction if correction not in (None, np._NoValue) else ddof
            own["correction"] = given
        dtype = _dtype(dtype)
        if name in ("mean", "var", "std") and a.dtype.kind in "biu":
            a = _bitlane.cast(a, dtype or _bitlane.float64)
        if takes_dtype:
            own["dtype"] = dtype
        elif dtype is not None and name in ("mean", "var", "std"):
            a = _bitlane.cast(a, dtype)
        return _returned(getattr(bitlane, name)(a, **own), out)

    return reduced


for _name in ("sum", "prod"):
    _implements(getattr(np, _name))(_reduction(_name, takes_dtype=True))
for _name in ("mean", "max", "min", "all", "any", "argmax", "argmin"):
    _implements(getattr(np, _name))(_reduction(_name))
for _name in ("var", "std"):
    _implements(getattr(np, _name))(_reduction(_name, takes_correction=True))
_implements(np.count_nonzero)(_reduction("count_nonzero"))


@_implements(np.concatenate)
def _concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = _all_converted(arrays, dtype, casting)
    return _returned(_namespace().concat(arrays, axis=axis), out, casting)


@_implements(np.stack)
def _stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = _all_converted(arrays, dtype, casting)
    return _returned(_namespace().stack(arrays, axis=axis), out, casting)


def _all_converted(arrays, dtype, casting):
    arrays = [_namespace().asarray(array) for array in arrays]
    return arrays if dtype is None else [_converted(array, _dtype(dtype), casting) for array in arrays]


_implements(np.expand_dims)(lambda a, axis: _expanded(a, axis))
_implements(np.moveaxis)(lambda a, source, destination: _namespace().moveaxis(a, source, destination))
_implements(np.broadcast_to)(lambda array, shape, subok=False: _namespace().broadcast_to(array, shape))
_implements(np.flip)(lambda m, axis=None: _namespace().flip(m, axis=axis))
_implements(np.roll)(lambda a, shift, axis=None: _namespace().roll(a, shift, axis=axis))
_implements(np.tile)(lambda A, reps: _namespace().tile(A, reps))
_implements(np.repeat)(lambda a, repeats, axis=None: _namespace().repeat(a, repeats, axis=axis))
_implements(np.nonzero)(lambda a: _namespace().nonzero(a))
_implements(np.ravel)(lambda a, order="C": _bitlane.reshape(a, (-1,)))
_implements(np.shape)(lambda a: a.shape)
_implements(np.ndim)(lambda a: a.ndim)
_implements(np.size)(lambda a, axis=None: a.size if axis is None else a.shape[axis])
_implements(np.copy)(lambda a, order="K", subok=False: a.copy())
_implements(np.real)(lambda val: _namespace().real(val))
_implements(np.imag)(lambda val: _namespace().imag(val))
_implements(np.tril)(lambda m, k=0: _namespace().tril(m, k=k))
_implements(np.triu)(lambda m, k=0: _namespace().triu(m, k=k))
_implements(np.iscomplexobj)(lambda x: x.dtype.kind == "c")
_implements(np.take_along_axis)(lambda arr, indices, axis=-1: _namespace().take_along_axis(arr, indices, axis=axis))
_implements(np.diff)(lambda a, n=1, axis=-1: _namespace().diff(a, n=n, axis=axis))
_implements(np.round, np.around)(lambda a, decimals=0, out=None: _rounded(a, decimals, out))
_implements(np.array_repr, np.array_str)(lambda a, *args, **kwargs: repr(a))


def _expanded(a, axis):
    axes = (axis,) if hasattr(axis, "__index__") else tuple(axis)
    for one in sorted(_axes(axes, a.ndim + len(axes), "np.expand_dims")):
        a = _bitlane.unsqueeze(a, one)
    return a


def _rounded(a, decimals, out):
    if decimals:
        raise TypeError("np.round: only whole numbers are rounded to for arrays of bitlane")
    return _returned(_namespace().round(a), out)


@_implements(np.reshape)
def _reshape(a, /, shape=None, order="C", *, newshape=None, copy=None):
    if order != "C":
        raise TypeError("np.reshape: the order is row-major for arrays of bitlane")
    return _namespace().reshape(a, shape, copy=copy)


@_implements(np.transpose, np.permute_dims)
def _transpose(a, axes=None):
    return _namespace().permute_dims(a, tuple(range(a.ndim))[::-1] if axes is None else axes)


@_implements(np.squeeze)
def _squeeze(a, axis=None):
    axis = tuple(place for place, size in enumerate(a.shape) if size == 1) if axis is None else axis
    return _namespace().squeeze(a, axis)


@_implements(np.where)
def _where(condition, *choices):
    bitlane = _namespace()
    if not choices:
        return bitlane.nonzero(bitlane.asarray(condition))
    if len(choices) != 2:
        raise ValueError("np.where: either both or neither of x and y should be given")
    x, y = (bitlane.asarray(one) if isinstance(one, (list, tuple)) else _bitlane.as_operand(one) for one in choices)
    return bitlane.where(bitlane.asarray(condition), x, y)


@_implements(np.take)
def _take(a, indices, axis=None, out=None, mode="raise"):
    bitlane = _namespace()
    if axis is None:
        a, axis = _bitlane.reshape(a, (-1,)), 0
    return _returned(bitlane.take(a, bitlane.asarray(indices), axis=axis), out)


@_implements(np.clip)
def _clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **options):
    low = min if a_min is None or a_min is np._NoValue else a_min
    high = max if a_max is None or a_max is np._NoValue else a_max
    casting = options.pop("casting", "same_kind")
    if options:
        raise TypeError(f"np.clip: the options {', '.join(options)} are not supported for arrays of bitlane")
    return _returned(_namespace().clip(a, low, high), out, casting)


@_implements(np.cumsum)
def _cumsum(a, axis=None, dtype=None, out=None):
    a, axis = (_bitlane.reshape(a, (-1,)), 0) if axis is None else (a, axis)
    return _returned(_namespace().cumulative_sum(a, axis=axis, dtype=_dtype(dtype)), out)


@_implements(np.cumprod)
def _cumprod(a, axis=None, dtype=None, out=None):
    a, axis = (_bitlane.reshape(a, (-1,)), 0) if axis is None else (a, axis)
    return _returned(_namespace().cumulative_prod(a, axis=axis, dtype=_dtype(dtype)), out)


def _like(name):
    def made(prototype, *args, dtype=None, order="K", subok=True, shape=None, device=None):
        bitlane = _namespace()
        dtype = _dtype(dtype) or prototype.dtype
        shape = prototype.shape if shape is None else shape
        fill = args[0] if args else {"zeros": 0, "ones": 1, "empty": 0}[name]
        return bitlane.full(shape, fill, dtype=dtype, device=device or prototype.device)

    return made


for _name in ("zeros", "ones", "empty", "full"):
    _implements(getattr(np, f"{_name}_like"))(_like(_name))


@_implements(np.array_equal)
def _array_equal(a1, a2, equal_nan=False):
    bitlane = _namespace()
    a1, a2 = bitlane.asarray(a1), bitlane.asarray(a2)
    if a1.shape != a2.shape:
        return False
    equal = a1 == a2
    if equal_nan:
        equal = equal | ((a1 != a1) & (a2 != a2))
    return bool(bitlane.all(equal))


@_implements(np.result_type)
def _result_type(*arrays_and_dtypes):
    return np.result_type(*(one.dtype.__numpy_dtype__ if isinstance(one, Array) else one for one in arrays_and_dtypes))


@_implements(np.may_share_memory, np.shares_memory)
def _shares(a, b, max_work=None):
    return isinstance(a, Array) and isinstance(b, Array) and _bitlane.shares_memory(a, b)


def array_function(func, types, args, kwargs):
    """What `__array_function__` does: functions that are not in the table are a `TypeError` of NumPy."""
    implementation = _FUNCTIONS.get(func)
    if implementation is None:
        return NotImplemented
    return implementation(*args, **kwargs)
