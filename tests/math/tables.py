#!/usr/bin/env python3
"""Writes the tables of src/math/tables.rs and cuda/tables.cuh, the same numbers in two languages.

Needs mpmath 1.3. Run it from anywhere; it writes into the tree it lies in.
"""

import pathlib
import struct

from mpmath import mp, mpf

mp.prec = 1400
ROOT = pathlib.Path(__file__).resolve().parents[2]

# The bits of the smallest significand of a reduced argument, about 0.7044: 1 lies two thirds into the 76th of 128
# intervals, so that the interval around 1 reaches as far below it as above.
LOG_START = 0x3FF0000000000000 - (75 << 45) - (0xAAAA << 29)
LN2_GRID = mpf(2) ** -42


def bits(x):
    if isinstance(x, int):
        return x
    return struct.unpack("<Q", struct.pack("<d", float(x)))[0]


def number(b):
    return mpf(struct.unpack("<d", struct.pack("<Q", b))[0])


def on_grid(x, grid):
    return mp.nint(x / grid) * grid


def pair(x):
    hi = mpf(float(x))
    return hi, mpf(float(x - hi))


def log_rows():
    """For each interval: a reciprocal of its middle c with 12 bits after the point, ln c in two parts, log2 c."""
    rows, widest = [], mpf(0)
    for i in range(128):
        low, high = number(LOG_START + (i << 45)), number(LOG_START + ((i + 1) << 45))
        inverse = mpf(1) if low < 1 < high else on_grid(2 / (low + high), mpf(2) ** -12)
        hi = on_grid(-mp.log(inverse), LN2_GRID)
        lo = mpf(float(-mp.log(inverse) - hi))
        residue = max(abs(low * inverse - 1), abs(high * inverse - 1))
        # What the algorithm relies on: the table's value outweighs the residue, or is zero.
        assert hi == 0 or abs(hi) > residue, (i, hi, residue)
        widest = max(widest, residue)
        rows.append([inverse, hi, lo, -mp.log(inverse, 2)])
    print("largest residue of log:", mp.nstr(widest, 6))
    return rows


def exp_rows():
    """2^(i/128) rounded, and what the rounding left out, relative to it."""
    rows = []
    for i in range(128):
        exact = mpf(2) ** (mpf(i) / 128)
        rounded = mpf(float(exact))
        rows.append([rounded, exact / rounded - 1])
    return rows


def atan_rows():
    return [list(pair(mp.atan(mpf(i) / 64))) for i in range(65)]


def parts(name, text, x):
    """The first 24 bits of a number below 2, which have exact products with numbers of 26 bits, and the rest."""
    upper = on_grid(x, mpf(2) ** -24)
    return [
        (f"{name}_UPPER", upper, f"The first 24 bits of {text}."),
        (f"{name}_LOWER", x - upper, f"The rest of {text}."),
    ]


def turn_rows():
    """For each exponent of x from -32 to 127: 2/pi without what x makes multiples of 4, in three parts.

    A number of 24 bits is an integer times 2^(exponent - 23), and its products with the first two parts are exact.
    """
    rows = []
    for exponent in range(-32, 128):
        unit = mpf(2) ** (exponent - 23)
        turns = unit * 2 / mp.pi
        turns -= 4 * mp.floor(turns / 4)
        hi = on_grid(turns, mpf(2) ** -27)
        mid = on_grid(turns - hi, mpf(2) ** -56)
        rows.append([part / unit for part in (hi, mid, turns - hi - mid)])
    return rows


def quarter_turn_rows():
    """2/pi as a fraction, 64 bits per row, after 128 bits that are 0."""
    return [[int(mp.floor(mp.ldexp(2 / mp.pi, 64 * i - 64))) % 2**64] for i in range(21)]


def sin_cos_rows():
    return [[*pair(mp.sin(mpf(i) / 64)), *pair(mp.cos(mpf(i) / 64))] for i in range(52)]


def series(function, limit, degree):
    """Nearly the best polynomial for a function on [0, limit], lowest coefficient first."""
    coefficients, error = mp.chebyfit(function, [mpf(0), limit], degree + 1, error=True)
    print("largest error of a series:", mp.nstr(mp.log(error, 2), 6), "bits")
    return list(reversed(coefficients))


def over_square(function, at_zero):
    """(f(sqrt u) / sqrt u - f'(0)) / u, which is a series in u for an odd f."""
    def quotient(u):
        u = u if u > mpf(2) ** -60 else mpf(2) ** -60
        return (function(mp.sqrt(u)) / mp.sqrt(u) - at_zero) / u
    return quotient


def constants():
    ln2_hi = on_grid(mp.ln(2), LN2_GRID)
    step = mp.ln(2) / 128
    step_hi = on_grid(step, mpf(2) ** -42)
    pi_hi, pi_lo = pair(mp.pi)
    half_pi_hi, half_pi_lo = pair(mp.pi / 2)
    return [
        ("LN2_HI", ln2_hi, "The part of ln 2 whose product with an exponent is exact."),
        ("LN2_LO", mp.ln(2) - ln2_hi, "The rest of ln 2."),
        ("STEP_HI", step_hi, "The part of ln 2 / 128 whose product with an integer of 18 bits is exact."),
        ("STEP_LO", step - step_hi, "The rest of ln 2 / 128."),
        ("STEPS", 128 / mp.ln(2), "128 / ln 2."),
        ("LN2", mp.ln(2), "ln 2."),
        ("LN2_REST", mp.ln(2) - mpf(float(mp.ln(2))), "What rounding ln 2 left out."),
        ("LOG2_E", 1 / mp.ln(2), "log2 e."),
        *parts("LOG2_E", "log2 e", 1 / mp.ln(2)),
        *parts("LOG10_E", "log10 e", 1 / mp.ln(10)),
        ("PI_HI", pi_hi, "Pi, rounded."),
        ("PI_LO", pi_lo, "The rest of pi."),
        ("HALF_PI_HI", half_pi_hi, "Half of pi, rounded."),
        ("HALF_PI_LO", half_pi_lo, "The rest of half of pi."),
    ]


TABLES = [
    ("LOG", log_rows, "1/c, ln c as a sum of two, log2 c, for c near the middle of each of 128 intervals."),
    ("EXP", exp_rows, "2^(i/128), and its relative error: what one plus it must be multiplied by."),
    ("ATAN", atan_rows, "atan(i/64) as a sum of two."),
    ("TURNS", turn_rows, "What a number is multiplied by for its quarter turns modulo 4, in three parts, by its exponent from -32 up."),
    ("QUARTER_TURNS", quarter_turn_rows, "2/pi as a fraction, 64 bits per row, after 128 bits that are 0."),
    ("SIN_COS", sin_cos_rows, "sin(i/64) and cos(i/64), each as a sum of two."),
]

EIGHTH_TURN = (mpf(1) / 2 + mpf(2) ** -20) ** 2
SERIES = [
    ("sin_quarter_turns", series(over_square(lambda f: mp.sin(mp.pi / 2 * f), mp.pi / 2), EIGHTH_TURN, 6),
     "(sin(pi/2 f) / f - pi/2) / u for u = f^2 up to 1/4."),
    ("cos_quarter_turns", series(lambda u: (mp.cos(mp.pi / 2 * mp.sqrt(max(u, mpf(2) ** -60))) - 1) / max(u, mpf(2) ** -60), EIGHTH_TURN, 6),
     "(cos(pi/2 f) - 1) / u for u = f^2 up to 1/4."),
    ("asin_series", series(over_square(mp.asin, 1), mpf(1) / 4, 13),
     "(asin(v) / v - 1) / u for u = v^2 up to 1/4."),
]


# The f32 inputs whose exact results are so close to a tie, less than half a unit in the last place of an f64, that the
# nearest f64 is that tie. Found by running all of them (tests/math/of_one.rs).
NEAREST_TIES = [
    ("SIN", mp.sin, [0x46199998]),
    ("COS", mp.cos, [0x5F18B878, 0x6115CB11]),
    ("ACOS", mp.acos, [0x328885A3, 0x39826222]),
    ("ATAN", mp.atan, [0x3D8D6B23]),
]


def beside_ties(function, inputs):
    """The inputs as f64, and their results, truncated and with the last bit set, so on the right side of the tie."""
    rows = []
    for f32_bits in inputs:
        x = mpf(struct.unpack("<f", struct.pack("<I", f32_bits))[0])
        exact = function(x)
        nearest = bits(exact)
        rows.append([bits(x), (nearest - (abs(number(nearest)) > abs(exact))) | 1])
    return rows


def rust():
    out = ["//! The tables and constants of this module, as bits. Written by `tests/math/tables.py`.", ""]
    out += ["/// The bits at which the first interval of [`LOG`] starts.", f"pub(super) const LOG_START: u64 = {LOG_START:#018x};"]
    for name, value, doc in constants():
        out += [f"/// {doc}", f"pub(super) const {name}: f64 = f64::from_bits({bits(value):#018x});"]
    for name, rows, doc in TABLES:
        rows = rows()
        out += ["", f"/// {doc}", "#[rustfmt::skip]"]
        out += [f"pub(super) static {name}: [[u64; {len(rows[0])}]; {len(rows)}] = ["]
        out += ["    [" + ", ".join(f"{bits(x):#018x}" for x in row) + "]," for row in rows] + ["];"]
    for name, function, inputs in NEAREST_TIES:
        out += ["", f"/// Inputs of {name.lower()} whose result is all but a tie, and an f64 on its side of the tie.", "#[rustfmt::skip]"]
        out += [f"pub(super) const {name}_TIES: [[u64; 2]; {len(inputs)}] = ["]
        out += ["    [" + ", ".join(f"{x:#018x}" for x in row) + "]," for row in beside_ties(function, inputs)] + ["];"]
    for name, coefficients, doc in SERIES:
        *lower, last = coefficients
        out += ["", f"/// {doc}", "#[inline(always)]", f"pub(super) fn {name}(u: f64) -> f64 {{"]
        out += [f"    let s = f64::from_bits({bits(last):#018x});"]
        out += [f"    let s = f64::from_bits({bits(c):#018x}) + u * s;" for c in reversed(lower[1:])]
        out += [f"    f64::from_bits({bits(lower[0]):#018x}) + u * s", "}"]
    return "\n".join(out) + "\n"


def cuda():
    out = ["// The tables and constants of math.cuh, as bits: those of src/math/tables.rs. Written by tests/math/tables.py.", ""]
    out += ["namespace bl {", "namespace math {", ""]
    out += ["// The bits at which the first interval of log_row starts.", f"#define BL_LOG_START {LOG_START:#018x}ull"]
    for name, value, doc in constants():
        out += [f"// {doc}", f"#define BL_{name} from_bits<f64>({bits(value):#018x}ull)"]
    for name, rows, doc in TABLES:
        rows = rows()
        # Inside a function, and so in no module that does not call it.
        out += ["", f"// {doc}", f"BL_FN const u64 (&{name.lower()}_row(u32 row))[{len(rows[0])}] {{"]
        out += [f"    alignas(16) static const u64 rows[{len(rows)}][{len(rows[0])}] = {{"]
        out += ["        {" + ", ".join(f"{bits(x):#018x}ull" for x in row) + "}," for row in rows]
        out += ["    };", "    return rows[row];", "}"]
    for name, function, inputs in NEAREST_TIES:
        out += ["", f"// The result of {name.lower()}, except for inputs whose result is all but a tie."]
        out += [f"BL_FN f64 {name.lower()}_ties(f64 x, f64 result) {{"]
        for x, beside in beside_ties(function, inputs):
            out += [f"    result = bits_of(x) == {x:#018x}ull ? from_bits<f64>({beside:#018x}ull) : result;"]
        out += ["    return result;", "}"]
    for name, coefficients, doc in SERIES:
        *lower, last = coefficients
        out += ["", f"// {doc}", f"BL_FN f64 {name}(f64 u) {{", f"    f64 s = from_bits<f64>({bits(last):#018x}ull);"]
        out += [f"    s = from_bits<f64>({bits(c):#018x}ull) + u * s;" for c in reversed(lower)]
        out += ["    return s;", "}"]
    return "\n".join(out + ["", "}  // namespace math", "}  // namespace bl"]) + "\n"


(ROOT / "src/math/tables.rs").write_text(rust())
(ROOT / "cuda/tables.cuh").write_text(cuda())
