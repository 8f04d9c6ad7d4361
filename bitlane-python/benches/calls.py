"""The time of calls from Python, beside NumPy's and that of the same call from Rust.

    cargo xtask python --release -- -k dtypes        # builds the wheel as users get it
    cargo bench --bench peers --no-run               # prints PEERS, the path of the program that measures the crate
    PYTHONPATH=target/python/bitlane:target/python/package python3 bitlane-python/benches/calls.py PEERS

The libraries take turns, and the medians are shown, with the ratios that matter: a call on one element should take no
longer than NumPy's, and one on many elements no more than 3 % longer than from Rust. Measure on a quiet machine.
"""

import argparse
import os
import statistics
import subprocess
import time

import numpy as np

CASES = [("add", "f32"), ("multiply", "i32"), ("right_shift", "i32"), ("left_shift", "u8"), ("less_than", "f32"), ("sqrt", "f32")]
SIZES = {"1": 1, "1K": 1 << 10, "64K": 1 << 16, "1M": 1 << 20, "16M": 1 << 24}
DTYPES = {"f32": "float32", "i32": "int32", "u8": "uint8"}
NUMPY = {"less_than": "less"}
OURS = {"right_shift": "bitwise_right_shift", "left_shift": "bitwise_left_shift", "less_than": "less"}


def microseconds(call):
    """Return the time of a call: the fastest of some samples, each of which takes half a millisecond at least."""
    call()
    count, taken = 1, 0.0
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - start
        if taken > 0.0005:
            break
        count *= 2
    best, end = taken / count, time.perf_counter() + 0.03
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e6


class Rust:
    """The program that measures the crate for `cargo xtask bench`."""

    def __init__(self, program, threads):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program, "--worker", str(threads)], stdin=pipe, stdout=pipe, text=True)

    def microseconds(self, op, dtype, size):
        self.process.stdin.write(f"{op} {dtype} {size} fresh\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        return float(answer) if answer not in ("", "-") else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="?", help="the program that measures the crate")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    import bitlane

    rust = Rust(options.peers, options.threads) if options.peers else None
    print("| | elements | NumPy µs | Python µs | Rust µs | Python / NumPy | Python / Rust |\n|---|---|---|---|---|---|---|")
    for op, dtype in CASES:
        for word, size in SIZES.items():
            x = (np.arange(size, dtype=np.uint32) % 7 + 1).astype(DTYPES[dtype])
            ours, function, theirs = bitlane.asarray(x), getattr(bitlane, OURS.get(op, op)), getattr(np, NUMPY.get(op, op))
            operands = [x, x.copy()] if op != "sqrt" else [x]
            arrays = [ours, bitlane.asarray(operands[-1])] if op != "sqrt" else [ours]
            calls = {
                "numpy": lambda: microseconds(lambda: theirs(*operands)),
                "python": lambda: microseconds(lambda: function(*arrays)),
                "rust": lambda: rust.microseconds(op, dtype, word) if rust else None,
            }
            times = {name: [] for name in calls}
            for _ in range(options.rounds):
                for name, call in calls.items():
                    times[name].append(call())
            numpy, python, crate = (
                statistics.median(found) if None not in found else None for found in times.values()
            )
            shown = ["–" if one is None else f"{one:.3g}" for one in (numpy, python, crate)]
            ratios = [f"{python / numpy:.2f}", "–" if crate is None else f"{python / crate:.3f}"]
            print("|", " | ".join([f"{op} {dtype}", word, *shown, *ratios]), "|", flush=True)
    if rust:
        rust.process.kill()
        rust.process.wait()


if __name__ == "__main__":
    main()
