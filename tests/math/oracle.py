#!/usr/bin/env python3
"""Writes digests of correctly rounded results, by mpmath 1.3 with 400 bits, against which `oracle.rs` checks core-math.

    pip install mpmath==1.3.0
    oracle.py > tests/goldens/oracle.txt
    oracle.py FUNCTION DTYPE

The second form lists the bits of operands and results, to find the one that differs. A line is: function, dtype, whether
operands have signs, their lowest and highest exponents, how many there are, and the digest.
"""

import sys

from mpmath import mp, mpf

mp.prec = 400
COUNT = 2_700
WORD = (1 << 64) - 1

# Signs, and exponents in f64 and f32: of results that are neither infinite nor subnormal.
FUNCTIONS = {
    "exp": (True, (-60, 8), (-30, 5), mp.exp),
    "exp2": (True, (-60, 8), (-30, 5), lambda x: mp.power(2, x)),
    "expm1": (True, (-60, 8), (-30, 5), mp.expm1),
    "log": (False, (-1000, 1000), (-120, 120), mp.log),
    "log2": (False, (-1000, 1000), (-120, 120), lambda x: mp.log(x) / mp.log(2)),
    "log10": (False, (-1000, 1000), (-120, 120), lambda x: mp.log(x) / mp.log(10)),
    "log1p": (False, (-60, 60), (-30, 30), mp.log1p),
    "sinh": (True, (-60, 8), (-30, 5), mp.sinh),
    "cosh": (True, (-60, 8), (-30, 5), mp.cosh),
    "tanh": (True, (-60, 4), (-30, 3), mp.tanh),
    "asinh": (True, (-60, 1000), (-30, 120), mp.asinh),
    "acosh": (False, (0, 1000), (0, 120), mp.acosh),
    "atanh": (True, (-60, -1), (-30, -1), mp.atanh),
    "sin": (True, (-60, 1000), (-30, 120), mp.sin),
    "cos": (True, (-60, 1000), (-30, 120), mp.cos),
    "tan": (True, (-60, 1000), (-30, 120), mp.tan),
    "asin": (True, (-60, -1), (-30, -1), mp.asin),
    "acos": (True, (-60, -1), (-30, -1), mp.acos),
    "atan": (True, (-60, 200), (-30, 100), mp.atan),
}
# Bits of the fraction and bias of the exponent.
FORMATS = {"f64": (52, 1023), "f32": (23, 127)}


def numbers(seed):
    """xorshift64*."""
    state = seed
    while True:
        state ^= state >> 12
        state ^= (state << 25) & WORD
        state ^= state >> 27
        yield state * 0x2545F4914F6CDD1D & WORD


def value(bits, fraction, bias):
    size = bits & ((1 << (fraction + len_of_exponent(bias))) - 1)
    significand = (size & ((1 << fraction) - 1)) | 1 << fraction
    return mp.ldexp(mpf(significand), (size >> fraction) - bias - fraction) * (1 if size == bits else -1)


def len_of_exponent(bias):
    return (2 * bias + 1).bit_length()


def rounded(x, fraction, bias):
    """The bits of the number of a format that is nearest to x, which is neither 0 nor near the ends of the range."""
    sign, man, exponent, length = x._mpf_
    man, drop = int(man), int(length) - (fraction + 1)
    if drop > 0:
        half, rest = 1 << (drop - 1), man & ((1 << drop) - 1)
        man >>= drop
        man += rest > half or (rest == half and man & 1)
    else:
        man <<= -drop
    # A carry into the next power of two is one into the exponent.
    return (int(sign) << (fraction + len_of_exponent(bias))) + man - (1 << fraction) + ((exponent + drop + fraction + bias) << fraction)


def pairs(name, dtype):
    signs, *exponents, function = FUNCTIONS[name]
    low, high = exponents[dtype == "f32"]
    fraction, bias = FORMATS[dtype]
    # Angles of 2^1000 lose that many bits when they are reduced.
    mp.prec = 1500 if name in ("sin", "cos", "tan") else 400
    source = numbers(1)
    for _ in range(COUNT):
        first, second = next(source), next(source)
        exponent = low + (second >> 8) % (high - low + 1)
        sign = second >> 63 if signs else 0
        bits = sign << (fraction + len_of_exponent(bias)) | (exponent + bias) << fraction | first >> (64 - fraction)
        yield bits, rounded(function(value(bits, fraction, bias)), fraction, bias)


def main():
    if len(sys.argv) == 3:
        for bits, result in pairs(*sys.argv[1:]):
            print(f"{bits:x} {result:x}")
        return
    for name, (signs, *exponents, _) in FUNCTIONS.items():
        for dtype in FORMATS:
            digest = 0xCBF29CE484222325
            for _, result in pairs(name, dtype):
                digest = (digest ^ result) * 0x100000001B3 & WORD
            low, high = exponents[dtype == "f32"]
            print(f"{name} {dtype} {int(signs)} {low} {high} {COUNT} {digest:016x}", flush=True)


main()
