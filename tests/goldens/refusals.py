"""The errors of the libraries."""

# What the words of an error message mean; the first match counts.
KINDS = [
    ("integer division by zero", "other"),
    ("zerodivisionerror", "other"),
    ("negative integer powers", "other"),
    ("integers to negative", "other"),
    ("the type promotion only support", "promotion"),
    ("type promotion only support", "promotion"),
    ("promotion for uint16", "promotion"),
    ("could not be promoted", "promotion"),
    ("no available implicit dtype promotion", "promotion"),
    ("expected both inputs to have the same", "dtype_mismatch"),
    ("out of bounds for", "overflow"),
    ("too large to convert", "overflow"),
    ("not implemented for", "unsupported"),
    ("the kernel with key", "unsupported"),
    ("not supported for the input types", "unsupported"),
    ("did not contain a loop", "unsupported"),
    ("is not supported", "unsupported"),
    ("could not infer output dtype", "unsupported"),
    ("does not support", "unsupported"),
    ("does not accept dtype", "unsupported"),
    ("requires floating point", "unsupported"),
    ("output with shape", "inplace_shape"),
    ("non-broadcastable output", "inplace_shape"),
    ("is different from that of inplace", "inplace_shape"),
    ("cannot cast ufunc", "inplace_dtype"),
    ("can't be cast to the desired output", "inplace_dtype"),
    ("type of data we are trying to retrieve", "dtype_mismatch"),
    ("broadcast", "shape"),
    ("shape must equal", "shape"),
    ("inhomogeneous shape", "shape"),
    ("must match the size", "shape"),
]


def kind_of(error):
    """Returns what a library refused; `argument` if only the Python wrapper refused the arguments."""
    text = " ".join(str(error).split()).lower()
    return next((kind for words, kind in KINDS if words in text), "argument")


def refusal(error):
    """Returns an error as JSON, or None if only the Python wrapper refused the arguments."""
    text = " ".join(str(error).split())
    summary = text.split("Error: ", 1)[-1] if "EnforceNotMet" in type(error).__name__ else text
    kind = kind_of(error)
    if kind == "argument":
        key = (type(error).__name__, summary[:150])
        SET_ASIDE[key] = SET_ASIDE.get(key, 0) + 1
        return None
    return {"error": {"kind": kind, "class": type(error).__name__, "text": summary[:90]}}


# The errors attributed to a wrapper, to be reviewed by whoever runs the generator.
SET_ASIDE = {}
