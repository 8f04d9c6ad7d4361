#!/usr/bin/env python3
"""Writes exact results of the mathematical functions, to 200 bits by mpmath 1.3, as double-doubles.

    goldens.py COUNT FILE

A line is: name, x, y (bits of f64, hex), then value and exponent with exact = (hi + lo) * 2^exponent.
"""

import math
import random
import struct
import sys

from mpmath import mp, mpf

mp.prec = 700
RANDOM = random.Random(20)


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def near_one():
    return 1 + RANDOM.choice([-1, 1]) * math.ldexp(RANDOM.uniform(1, 2), RANDOM.randint(-52, -2))


def positive():
    exponent = RANDOM.randint(-1074, 1023)
    return math.ldexp(RANDOM.uniform(1, 2), exponent)


def signed():
    return RANDOM.choice([-1, 1]) * positive()


def powers():
    x = RANDOM.choice([positive, near_one, lambda: RANDOM.uniform(0.5, 2), lambda: RANDOM.randint(2, 1 << 20)])()
    target = RANDOM.uniform(-745.2, 709.8)
    y = RANDOM.choice([lambda: target / math.log(x), lambda: float(RANDOM.randint(2, 9)), lambda: RANDOM.uniform(-3, 3)])()
    return float(x), y if abs(y) < 1e300 else 1.0


ARGUMENTS = {
    "exp": [lambda: (RANDOM.uniform(-745.2, 709.8), 0.0), lambda: (signed_small(), 0.0)],
    "log": [lambda: (positive(), 0.0), lambda: (near_one(), 0.0), lambda: (RANDOM.uniform(0.5, 2), 0.0)],
    "pow": [powers],
    "atan2": [
        lambda: (signed(), signed()),
        lambda: (RANDOM.uniform(-1, 1), RANDOM.uniform(-1, 1)),
        lambda: (signed_small(), RANDOM.uniform(-1, 1)),
    ],
    "logaddexp": [
        lambda: (RANDOM.uniform(-50, 50), RANDOM.uniform(-50, 50)),
        lambda: (RANDOM.uniform(-2, 2), RANDOM.uniform(-2, 2)),
        lambda: (signed_small(), RANDOM.uniform(-700, 1)),
    ],
    "exp2": [lambda: (RANDOM.uniform(-1075, 1024), 0.0), lambda: (signed_small(), 0.0)],
    "expm1": [lambda: (RANDOM.uniform(-40, 709.7), 0.0), lambda: (signed_small(), 0.0)],
    "log2": [lambda: (positive(), 0.0), lambda: (near_one(), 0.0), lambda: (RANDOM.uniform(0.5, 2), 0.0)],
    "log10": [lambda: (positive(), 0.0), lambda: (near_one(), 0.0), lambda: (RANDOM.uniform(0.5, 2), 0.0)],
    "log1p": [lambda: (positive(), 0.0), lambda: (abs(signed_small()), 0.0), lambda: (RANDOM.uniform(-1, 1), 0.0)],
    "sinh": [lambda: (RANDOM.uniform(-710, 710), 0.0), lambda: (signed_small(), 0.0)],
    "cosh": [lambda: (RANDOM.uniform(-710, 710), 0.0), lambda: (signed_small(), 0.0)],
    "tanh": [lambda: (RANDOM.uniform(-20, 20), 0.0), lambda: (signed_small(), 0.0)],
    "asinh": [lambda: (signed(), 0.0), lambda: (signed_small(), 0.0), lambda: (RANDOM.uniform(-9, 9), 0.0)],
    "acosh": [lambda: (max(positive(), 1.5), 0.0), lambda: (2 - min(near_one(), 1 - 1e-15), 0.0)],
    "atanh": [lambda: (RANDOM.uniform(-1, 1), 0.0), lambda: (signed_small() / 8, 0.0)],
}


def signed_small():
    return RANDOM.choice([-1, 1]) * math.ldexp(RANDOM.uniform(1, 2), RANDOM.randint(-70, 2))


EXACT = {
    "exp": lambda x, y: mp.exp(x),
    "log": lambda x, y: mp.log(x),
    "pow": lambda x, y: mp.power(x, y),
    "atan2": lambda x, y: mp.atan2(x, y),
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
    "exp2": lambda x, y: mp.power(2, x),
    "expm1": lambda x, y: mp.expm1(x),
    "log2": lambda x, y: mp.log(x, 2),
    "log10": lambda x, y: mp.log(x, 10),
    "log1p": lambda x, y: mp.log1p(x),
    "sinh": lambda x, y: mp.sinh(x),
    "cosh": lambda x, y: mp.cosh(x),
    "tanh": lambda x, y: mp.tanh(x),
    "asinh": lambda x, y: mp.asinh(x),
    "acosh": lambda x, y: mp.acosh(x),
    "atanh": lambda x, y: mp.atanh(x),
}


def main():
    count, path = int(sys.argv[1]), sys.argv[2]
    with open(path, "w") as file:
        for index in range(count):
            name = list(EXACT)[index % len(EXACT)]
            x, y = RANDOM.choice(ARGUMENTS[name])()
            if RANDOM.random() < 0.5 and 1e-30 < abs(x) < 1e30 and abs(y) < 1e30:
                x, y = f32(x), f32(y)
            if (name == "atanh" and abs(x) >= 1) or (name == "acosh" and x <= 1) or (name == "log1p" and x <= -1):
                x = 0.75 if name == "atanh" else 1.75
            if x == 0 or (x == 1 and name in ("log", "log2", "log10", "pow")) or (y == 0 and name in ("pow", "atan2")):
                x, y = 1.5, 2.5
            if name == "pow" and abs(y * math.log(x)) > 900:
                y = 1.5
            exact = EXACT[name](mpf(x), mpf(y))
            value, exponent = mp.frexp(exact)
            hi = float(value)
            lo = float(value - mpf(hi))
            file.write(f"{name} {bits(x):x} {bits(y):x} {bits(hi):x} {bits(lo):x} {exponent}\n")


main()
