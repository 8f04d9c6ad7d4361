#!/usr/bin/env python3
"""Writes the tables of src/math/tables.rs and cuda/tables.cuh, the same numbers in two languages.

Needs mpmath 1.3. Run it from anywhere; it writes into the tree it lies in.
"""

import pathlib
import struct

from mpmath import mp, mpf

mp.prec = 300
ROOT = pathlib.Path(__file__).resolve().parents[2]

# The bits of the smallest significand of a reduced argument, about 0.7044: 1 lies two thirds into the 76th of 128
# intervals, so that the interval around 1 reaches as far below it as above.
LOG_START = 0x3FF0000000000000 - (75 << 45) - (0xAAAA << 29)
LN2_GRID = mpf(2) ** -42


def bits(x):
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


def word(x):
    """The low 64 bits of a number rounded to an integer."""
    return int(mp.nint(x)) % (1 << 64)


def exp_fixed():
    """2^(i/512) with 63 bits after the point."""
    return [[word(mpf(2) ** (mpf(i) / 512 + 63))] for i in range(512)]


def log_fixed():
    """For s in each of 256 intervals of [1, 2): 1/s with 14 bits after the point, and ln s with 64.

    From 1 + 106/256, about the root of 2, on it is that of s/2. In the first and the last interval it is 0.
    """
    rows = []
    for i in range(256):
        middle = 1 + (2 * i + 1) / mpf(512)
        inverse = mpf(1) if i == 0 else mpf(1) / 2 if i == 255 else on_grid(1 / middle, mpf(2) ** -14)
        log = -mp.log(inverse if i < 106 else 2 * inverse)
        for end in (1 + i / mpf(256), 1 + (i + 1) / mpf(256)):
            assert abs(end * inverse - 1) <= mpf(2) ** -8, i
        rows.append([word(inverse * 2**14), word(log * 2**64)])
    return rows


def single(x):
    """The nearest f32."""
    return mpf(struct.unpack("<f", struct.pack("<f", float(x)))[0])


def single_bits(x):
    return struct.unpack("<I", struct.pack("<f", float(x)))[0]


def two(x):
    """A number as two f32: the bits of the nearest one, and above them those of the rest."""
    return single_bits(x) | single_bits(x - single(x)) << 32


def exp_pair():
    return [[two(mpf(2) ** (mpf(i) / 64))] for i in range(64)]


def log_pair():
    """For s in each of 128 intervals of [1, 2): 1/s with 8 bits after the point, and ln s as two f32.

    From 1 + 53/128 on, it is that of s/2. In the first and the last interval it is 0.
    """
    rows = []
    for i in range(128):
        middle = 1 + (2 * i + 1) / mpf(256)
        inverse = mpf(1) if i == 0 else mpf(1) / 2 if i == 127 else on_grid(1 / middle, mpf(2) ** -8)
        for end in (1 + i / mpf(128), 1 + (i + 1) / mpf(128)):
            assert abs(end * inverse - 1) <= mpf(2) ** -7, i
        rows.append([single_bits(inverse), two(-mp.log(inverse if i < 53 else 2 * inverse))])
    return rows


# Integers, for the functions of cuda/narrow.cuh.
FIXED_TABLES = [
    ("EXP_PAIR", exp_pair, "2^(i/64) as a sum of two f32."),
    ("LOG_PAIR", log_pair, "For s in [1 + i/128, 1 + (i + 1)/128): 1/s as an f32 of 8 bits, and ln s or ln s/2 as a sum of two f32."),
    ("EXP_FIXED", exp_fixed, "2^(i/512) in units of 2^-63."),
    ("LOG_FIXED", log_fixed, "For s in [1 + i/256, 1 + (i + 1)/256): 1/s in units of 2^-14, and ln s or ln s/2 in units of 2^-64."),
]
SINGLES = [
    ("STEP_F32", single(mp.ln(2) / 64), "ln 2 / 64 as an f32."),
    ("STEP_REST_F32", mp.ln(2) / 64 - single(mp.ln(2) / 64), "The rest of ln 2 / 64."),
    ("LN2_F32", single(mp.ln(2)), "ln 2 as an f32."),
    ("LN2_REST_F32", mp.ln(2) - single(mp.ln(2)), "The rest of ln 2."),
    ("LOG2_E_F32", single(1 / mp.ln(2)), "log2 e as an f32."),
    ("LOG2_E_REST_F32", 1 / mp.ln(2) - single(1 / mp.ln(2)), "The rest of log2 e."),
    ("LOG10_E_F32", single(1 / mp.ln(10)), "log10 e as an f32."),
    ("LOG10_E_REST_F32", 1 / mp.ln(10) - single(1 / mp.ln(10)), "The rest of log10 e."),
]
FIXED = [
    ("LN2_FIXED", mp.ln(2) * 2**64, "ln 2 in units of 2^-64."),
    ("LOG2_E_FIXED", 2**62 / mp.ln(2), "log2 e in units of 2^-62."),
    ("LOG10_E_FIXED", 2**65 / mp.ln(10), "log10 e in units of 2^-65."),
]


TABLES = [
    ("LOG", log_rows, "1/c, ln c as a sum of two, log2 c, for c near the middle of each of 128 intervals."),
    ("EXP", exp_rows, "2^(i/128), and its relative error: what one plus it must be multiplied by."),
    ("ATAN", atan_rows, "atan(i/64) as a sum of two."),
]


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
    return "\n".join(out) + "\n"


def cuda():
    out = ["// The tables and constants of math.cuh, as bits: those of src/math/tables.rs. Written by tests/math/tables.py.", ""]
    out += ["namespace bl {", "namespace math {", ""]
    out += ["// The bits at which the first interval of log_row starts.", f"#define BL_LOG_START {LOG_START:#018x}ull"]
    for name, value, doc in constants():
        out += [f"// {doc}", f"#define BL_{name} from_bits<f64>({bits(value):#018x}ull)"]
    for name, value, doc in FIXED:
        out += [f"// {doc}", f"#define BL_{name} {word(value):#018x}ull"]
    for name, value, doc in SINGLES:
        out += [f"// {doc}", f"#define BL_{name} from_bits<f32>({single_bits(value):#010x}u)"]
    tables = [(name, [[bits(x) for x in row] for row in rows()], doc) for name, rows, doc in TABLES]
    for name, rows, doc in tables + [(name, rows(), doc) for name, rows, doc in FIXED_TABLES]:
        # Inside a function, and so in no module that does not call it.
        out += ["", f"// {doc}", f"BL_FN const u64 (&{name.lower()}_row(u32 row))[{len(rows[0])}] {{"]
        out += [f"    alignas(16) static const u64 rows[{len(rows)}][{len(rows[0])}] = {{"]
        out += ["        {" + ", ".join(f"{x:#018x}ull" for x in row) + "}," for row in rows]
        out += ["    };", "    return rows[row];", "}"]
    return "\n".join(out + ["", "}  // namespace math", "}  // namespace bl"]) + "\n"


(ROOT / "src/math/tables.rs").write_text(rust())
(ROOT / "cuda/tables.cuh").write_text(cuda())
