"""Computes the jobs of an example with NumPy, and with PyTorch where it is installed, and compares
them with what the example printed.

    example | jobs.py 08_normalize_and_quantize

Integers and the bits of the weights must be equal; the other numbers may differ in the last digit
that is printed.
"""

import re
import sys

import numpy as np

try:
    import torch
except ImportError:
    torch = None

WORDS = sys.stdin.read()


def printed(label):
    """Returns the numbers in the brackets that follow a label."""
    start = re.search(rf"^{label}", WORDS, re.MULTILINE)
    if not start:
        sys.exit(f"the example printed no {label}:\n{WORDS}")
    depth, end = 0, WORDS.index("[", start.end())
    while depth > 0 or WORDS[end] == "[":
        depth += {"[": 1, "]": -1}.get(WORDS[end], 0)
        end += 1
    words = re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", WORDS[start.end() : end])
    return np.array([float(word) for word in words])


def same(label, expected, tolerance=0.0):
    """Ends the program unless the numbers after a label are the expected ones."""
    given, expected = printed(label), np.asarray(expected, np.float64).ravel()
    if given.shape != expected.shape or not (np.abs(given - expected) <= tolerance).all():
        sys.exit(f"{label}: the example printed {given}, and NumPy says {expected}")


def normalize_and_quantize():
    x = np.array([[0, 1, 2, -3], [10, 10.5, 9.5, 10]], np.float32)
    e = np.exp(x - x.max(-1, keepdims=True))
    softmax = e / e.sum(-1, keepdims=True)
    centred = x - x.mean(-1, keepdims=True)
    normalised = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5))
    scale = np.abs(x).max(-1, keepdims=True) / np.float32(127)
    steps = np.clip(np.round(x / scale), -127, 127).astype(np.int8)
    close = 1.1e-6
    same("softmax", softmax, close)
    same("normalised", normalised, close)
    same("scales", scale, close)
    same("quantised", steps)
    if torch:
        rows = torch.from_numpy(x)
        same("softmax", torch.softmax(rows, -1), close)
        same("normalised", torch.nn.functional.layer_norm(rows, [4], eps=1e-5), close)
        steps = torch.clamp(torch.round(rows / torch.from_numpy(scale)), -127, 127)
        same("quantised", steps)


def scattered(start, length):
    """Hashes of the numbers from `start` on."""
    h = (np.arange(length, dtype=np.uint64) + np.uint64(start)) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


def search_and_vote():
    signatures, query = scattered(1, 4000).reshape(1000, 4), scattered(5001, 4)
    distances = np.bitwise_count(signatures ^ query).sum(-1, dtype=np.int64)
    nearest = np.argsort(distances, kind="stable")[:10]
    same("nearest", np.stack([nearest, distances[nearest]], -1))

    values = scattered(1, 4096) >> np.uint64(60)
    same("histogram", np.bincount(values.astype(np.int64), minlength=16))

    codes = (scattered(1, 8) >> np.uint64(56)).astype(np.uint8)
    bits = np.bitwise_xor.accumulate(np.unpackbits(codes[:, None], axis=-1), axis=-1)
    same("decoded", np.packbits(bits, axis=-1))

    gradients = (scattered(1, 80).reshape(5, 16) >> np.uint64(40)).astype(np.float32) - np.float32(
        2**23
    )
    weights = np.arange(16, dtype=np.float32) / np.float32(8)
    majority = np.signbit(gradients).sum(0) > 5 // 2
    weights = weights - np.where(majority, np.float32(-0.1), np.float32(0.1))
    # Nine digits identify a float32.
    given = printed("weights").astype(np.float32)
    if given.tobytes() != weights.tobytes():
        sys.exit(f"weights: the example printed {given}, and NumPy says {weights}")


{"08_normalize_and_quantize": normalize_and_quantize, "09_search_and_vote": search_and_vote}[
    sys.argv[1]
]()
