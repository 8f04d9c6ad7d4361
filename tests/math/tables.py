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


def f32_bits(x):
    """The bits of the nearest f32. Through a float, whose rounding does not matter for these numbers."""
    return struct.unpack("<I", struct.pack("<f", float(x)))[0]


def f32_number(x):
    return mpf(struct.unpack("<f", struct.pack("<f", float(x)))[0])


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


def two(x):
    """A number as two f32: the bits of the nearest one, and above them those of the rest."""
    return f32_bits(x) | f32_bits(x - f32_number(x)) << 32


def exp_pair():
    """2^(i/64) rounded to f32, and above its bits those of what the rounding left out, relative to it."""
    rows = []
    for i in range(64):
        exact = mpf(2) ** (mpf(i) / 64)
        rows.append([f32_bits(exact) | f32_bits(exact / f32_number(exact) - 1) << 32])
    return rows


def sin_cos_pair():
    angles = [mp.pi / 128 * i for i in range(256)]
    zero = lambda x: x if abs(x) > mpf(2) ** -100 else mpf(0)  # the sine of a half turn is 0
    return [[two(zero(mp.sin(a))), two(zero(mp.cos(a)))] for a in angles]


def asin_pair():
    """For sines up to the root of 1/2; the other rows only fill the table."""
    return [[two(mp.sqrt(1 - s * s)), two(mp.asin(s))] for s in (mpf(min(i, 46)) / 64 for i in range(64))]


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
        rows.append([f32_bits(inverse), two(-mp.log(inverse if i < 53 else 2 * inverse))])
    return rows


# Integers, for the functions of cuda/narrow.cuh.
FIXED_TABLES = [
    ("EXP_PAIR", exp_pair, "2^(i/64) as an f32, and its relative error: what one plus it must be multiplied by."),
    ("SIN_COS_PAIR", sin_cos_pair, "sin and cos of i 2 pi/256, each as a sum of two f32."),
    ("ASIN_PAIR", asin_pair, "sqrt(1 - s^2) and asin(s) for s = i/64, each as a sum of two f32; i is 46 at most."),
    ("LOG_PAIR", log_pair, "For s in [1 + i/128, 1 + (i + 1)/128): 1/s as an f32 of 8 bits, and ln s or ln s/2 as a sum of two f32."),
    ("EXP_FIXED", exp_fixed, "2^(i/512) in units of 2^-63."),
    ("LOG_FIXED", log_fixed, "For s in [1 + i/256, 1 + (i + 1)/256): 1/s in units of 2^-14, and ln s or ln s/2 in units of 2^-64."),
]
LN2_F32_HI = on_grid(mp.ln(2), mpf(2) ** -16)
TURN = mp.pi / 128
TURN_REST = TURN - f32_number(TURN)
SINGLES = [
    ("LN2_F32_HI", LN2_F32_HI, "The part of ln 2 whose product with an exponent is exact."),
    ("LN2_F32_LO", mp.ln(2) - LN2_F32_HI, "The rest of ln 2."),
    ("TURN_F32", f32_number(TURN), "A 256th of a turn as a sum of three f32."),
    ("TURN_REST_F32", f32_number(TURN_REST), "The second of them."),
    ("TURN_LAST_F32", TURN_REST - f32_number(TURN_REST), "The third of them."),
    ("TURNS_F32", 1 / TURN, "The reciprocal of a 256th of a turn."),
    ("STEP_F32", f32_number(mp.ln(2) / 64), "ln 2 / 64 as an f32."),
    ("STEP_REST_F32", mp.ln(2) / 64 - f32_number(mp.ln(2) / 64), "The rest of ln 2 / 64."),
    ("LN2_F32", f32_number(mp.ln(2)), "ln 2 as an f32."),
    ("LN2_REST_F32", mp.ln(2) - f32_number(mp.ln(2)), "The rest of ln 2."),
    ("LOG2_E_F32", f32_number(1 / mp.ln(2)), "log2 e as an f32."),
    ("LOG2_E_REST_F32", 1 / mp.ln(2) - f32_number(1 / mp.ln(2)), "The rest of log2 e."),
    ("LOG10_E_F32", f32_number(1 / mp.ln(10)), "log10 e as an f32."),
    ("LOG10_E_REST_F32", 1 / mp.ln(10) - f32_number(1 / mp.ln(10)), "The rest of log10 e."),
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


# ---- Pairs of f32, for CUDA ----


def f32_pair(x):
    hi = f32_number(x)
    return f"Pair{{from_bits<f32>({f32_bits(hi):#010x}u), from_bits<f32>({f32_bits(x - hi):#010x}u)}}"


def f32_constants():
    hi = f32_number(mp.pi / 2)
    return [("HALF_PI_F32", hi), ("HALF_PI_F32_REST", mp.pi / 2 - hi)]


def cos_minus_one(u):
    u = max(u, mpf(2) ** -60)
    return (mp.cos(mp.sqrt(u)) - 1) / u


# Name, coefficients, how many of them are pairs, and what the series is.
PAIR_SERIES = [
    ("sin_pairs", series(over_square(mp.sin, 1), mpf("0.62"), 6), 4, "(sin(r) / r - 1) / u for u = r^2 up to (pi/4)^2."),
    ("cos_pairs", series(cos_minus_one, mpf("0.62"), 6), 4, "(cos(r) - 1) / u for u = r^2 up to (pi/4)^2."),
    ("asin_pairs", series(over_square(mp.asin, 1), mpf(1) / 4, 11), 7, "(asin(v) / v - 1) / u for u = v^2 up to 1/4."),
    ("atan_pairs", series(over_square(mp.atan, 1), mpf(2) ** -13, 2), 1, "(atan(t) / t - 1) / u for u = t^2 up to 2^-14."),
]
# The f32 inputs for which a pair is on the wrong side of a tie, found by running all of them. Of an odd or even function,
# the positive ones.
MISSED_BY_PAIRS = {
    "sin": [
        0x3A1285FF, 0x3A852018, 0x3DCF5597, 0x3EF3830F, 0x42D44528, 0x45E38B6E, 0x4605B1C7, 0x46199998, 0x4967CB9B,
        0x497D25C7, 0x4A987933, 0x4CF3E70E, 0x4DB9313E, 0x4DF947F3, 0x4F45DCAB, 0x4FB56937, 0x509B1E93, 0x55CAFB2A,
        0x55DA572E, 0x59C871DA, 0x5AD34A5A, 0x5AF484BE, 0x5CDAA4F7, 0x5E060CCA, 0x616D8730, 0x61DFC847, 0x636FE56A,
        0x6446CEC0, 0x64E5A461, 0x653CEE8F, 0x656A98A6, 0x6652A0DC, 0x67051B8D, 0x67A9242B, 0x6A3F60FF, 0x6D734599,
        0x6DCEA82E, 0x726FD58E, 0x7400C9EC, 0x744E6A54, 0x7608C65E, 0x76ECD5E5, 0x7814E20E, 0x7970A79D, 0x7A175DF8,
        0x7A5AACDB, 0x7BCEBCDD, 0x7D6B2398, 0x7F2A2CA7, 0x7F58CAD9,
    ],
    "cos": [
        0x3A0F1BBD, 0x3A544395, 0x3B434E12, 0x3DAC4FC0, 0x3FAA2672, 0x3FDB3C0E, 0x42378DB8, 0x424790CE, 0x4544DE31,
        0x46F85A22, 0x47999291, 0x47A0E238, 0x4E5B65FF, 0x4EB4D529, 0x5027962C, 0x52D9D3FE, 0x52F88494, 0x58AAE0FB,
        0x5922AA80, 0x5A1A3626, 0x5A8C921B, 0x5D173A7D, 0x5DA7AB87, 0x5F18B878, 0x6115CB11, 0x62FE22BD, 0x6978E912,
        0x699F1BF1, 0x69B7B0B9, 0x6AA2E13A, 0x71874A79, 0x731B0E98, 0x75DA4C95, 0x76545E3C, 0x768BD236, 0x7908CD73,
        0x7A38AB34, 0x7A879C44, 0x7BF7C207, 0x7C06DC1B, 0x7C352F65, 0x7D378AEF, 0x7E82FEA4,
    ],
    "tan": [
        0x3E19205E, 0x4017205B, 0x408174DD, 0x43204C3C, 0x4389D852, 0x451E0885, 0x4872B9FA, 0x4C0A82A3, 0x4E2AC003,
        0x4E9BC28B, 0x4ECBEB44, 0x4ECE8446, 0x505B24EC, 0x50EA207B, 0x51065D81, 0x51519391, 0x516AC773, 0x5349D1B3,
        0x5586A33A, 0x565E7EFB, 0x56807D7F, 0x56947C41, 0x575852F8, 0x577B61E6, 0x59DD40F4, 0x59E8F681, 0x5A848AB9,
        0x5BE68BCD, 0x5C1785A1, 0x5D5873AE, 0x5D608C2D, 0x5D92978F, 0x5E51FF1E, 0x5EF23C3F, 0x5F285F74, 0x5FFD33A4,
        0x611BC894, 0x613D28D9, 0x61FE289F, 0x624684EF, 0x6419641D, 0x64E8E6F3, 0x6694993E, 0x68058F5D, 0x690843D2,
        0x6C045516, 0x6EAC88A4, 0x72E99894, 0x750820FC, 0x7602E9DA, 0x77B68A9F, 0x7945A734, 0x7967A335, 0x7A1605EC,
        0x7A98D2C2, 0x7D043C5F, 0x7DAE7426, 0x7E4F5C9C,
    ],
    "asin": [
        0x39E89768, 0x3D07959C, 0x3D09BF86, 0x3D17817C,
    ],
    "acos": [
        0x328885A3, 0x39826222, 0x39827222, 0x3A3B4910, 0x3DB6EC75, 0x3E0B7255, 0xB3DDDE97, 0xBD56BD25, 0xBE6DFF37,
    ],
    "atan": [
        0x3D8D6B23, 0x3E242361, 0x3EE06DB1, 0x40357F1D, 0x40F91AD2, 0x4309084E, 0x43D8ED1A, 0x4A2367A3, 0x4AE1E272,
        0x4C700518,
    ],
}


def rust():
    out = ["//! The tables and constants of this module, as bits. Written by `tests/math/tables.py`.", ""]
    out += ["/// The bits at which the first interval of [`LOG`] starts.", f"pub(super) const LOG_START: u64 = {LOG_START:#018x};"]
    for name, value, doc in constants():
        out += [f"/// {doc}", f"pub(super) const {name}: f64 = f64::from_bits({bits(value):#018x});"]
    for name, rows, doc in TABLES:
        rows = rows()
        out += ["", f"/// {doc}", "#[rustfmt::skip]"]
        out += [f"pub(super) const {name}: [[u64; {len(rows[0])}]; {len(rows)}] = ["]
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
    for name, value, doc in FIXED:
        out += [f"// {doc}", f"#define BL_{name} {word(value):#018x}ull"]
    for name, value, doc in SINGLES:
        out += [f"// {doc}", f"#define BL_{name} from_bits<f32>({f32_bits(value):#010x}u)"]
    # That one is only for the f64 arithmetic of narrow formats.
    tables = [(name, [[bits(x) for x in row] for row in rows()], doc) for name, rows, doc in TABLES if name != "TURNS"]
    for name, rows, doc in tables + [(name, rows(), doc) for name, rows, doc in FIXED_TABLES]:
        # Inside a function, and so in no module that does not call it.
        out += ["", f"// {doc}", f"BL_FN const u64 (&{name.lower()}_row(u32 row))[{len(rows[0])}] {{"]
        out += [f"    alignas(16) static const u64 rows[{len(rows)}][{len(rows[0])}] = {{"]
        out += ["        {" + ", ".join(f"{x:#018x}ull" for x in row) + "}," for row in rows]
        out += ["    };", "    return rows[row];", "}"]
    for name, value in f32_constants():
        out += [f"#define BL_{name} from_bits<f32>({f32_bits(value):#010x}u)"]
    for name, coefficients, pairs, doc in PAIR_SERIES:
        out += ["", f"// {doc}", f"BL_FN Pair {name}(Pair u) {{", f"    f32 tail = from_bits<f32>({f32_bits(coefficients[-1]):#010x}u);"]
        for c in reversed(coefficients[pairs:-1]):
            out += [f"    tail = angles::fused(u.hi, tail, from_bits<f32>({f32_bits(c):#010x}u));"]
        for i, c in enumerate(reversed(coefficients[:pairs])):
            factor = "tail" if i == 0 else "s"
            out += [f"    {'Pair s' if i == 0 else 's'} = angles::plus({f32_pair(c)}, angles::times(u, {factor}));"]
        out += ["    return s;", "}"]
    out += ["", "// 2/pi as a fraction, 32 bits per word, after 32 bits that are 0.", "BL_FN u32 quarter_turns_word(u32 index) {"]
    out += ["    static const u32 words[8] = {"]
    out += ["        " + ", ".join(f"{int(mp.floor(mp.ldexp(2 / mp.pi, 32 * i))) % 2**32:#010x}u" for i in range(8))]
    out += ["    };", "    return words[index];", "}"]
    out += ["", "// atan(i/64).", "BL_FN Pair atan_pair(u32 index) {", "    alignas(8) static const u32 rows[65][2] = {"]
    for i in range(65):
        hi = f32_number(mp.atan(mpf(i) / 64))
        out += [f"        {{{f32_bits(hi):#010x}u, {f32_bits(mp.atan(mpf(i) / 64) - hi):#010x}u}},"]
    out += ["    };", "    return Pair{from_bits<f32>(rows[index][0]), from_bits<f32>(rows[index][1])};", "}"]
    for name, inputs in MISSED_BY_PAIRS.items():
        out += ["", f"// Whether the pair for {name} of this operand is on the wrong side of a tie.", f"BL_FN bool {name}_is_missed(f32 x) {{"]
        out += [f"    static const u32 inputs[{len(inputs)}] = {{"]
        out += ["        " + ", ".join(f"{x:#010x}u" for x in inputs[i : i + 9]) + "," for i in range(0, len(inputs), 9)]
        mask = "" if name == "acos" else " & 0x7fffffffu"
        out += ["    };", "    bool found = false;"]
        out += [f"    for (u32 i = 0; i < {len(inputs)}; ++i) found |= inputs[i] == (bits_of(x){mask});", "    return found;", "}"]
    return "\n".join(out + ["", "}  // namespace math", "}  // namespace bl"]) + "\n"


(ROOT / "src/math/tables.rs").write_text(rust())
(ROOT / "cuda/tables.cuh").write_text(cuda())
