"""The throughput of Dask with chunks of bitlane, beside chunks of NumPy under the same scheduler.

    cargo xtask python --release -- -k dtypes        # builds the wheel as users get it
    PYTHONPATH=target/python/bitlane:target/python/package python3 bitlane-python/benches/chunks.py

Each worker is a process with one thread. The chunks are made on the workers, so that what is measured is computing,
merging and scheduling. Measure on a quiet machine that has more cores than workers.
"""

import argparse
import statistics
import time

import dask
import dask.array as da
import distributed
import numpy as np

import bitlane as bl
import bitlane.dask as bd


def numpy_chunk(block_id=None, rows=None):
    return np.arange(block_id[0] * rows, (block_id[0] + 1) * rows, dtype=np.float32)


def bitlane_chunk(block_id=None, rows=None):
    return bl.arange(block_id[0] * rows, (block_id[0] + 1) * rows, dtype=bl.float32)


@bl.fuse
def fused(x):
    return bl.sqrt(bl.abs(((x * 0.5 + 1.25) * x - 0.75) * x + 2))


def numpy_chain(x):
    return np.sqrt(np.abs(((x * np.float32(0.5) + np.float32(1.25)) * x - np.float32(0.75)) * x + 2))


# What is done with the chunks, for NumPy and for bitlane.
JOBS = {
    "sum": (lambda x: x.sum(), bd.sum),
    "sum of a chain of operations": (
        lambda x: x.map_blocks(numpy_chain, dtype="f4").sum(),
        lambda x: bd.sum(x.map_blocks(fused, dtype="f4", meta=x._meta)),
    ),
    "variance": (lambda x: x.var(), bd.var),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--chunks", type=int, default=64)
    parser.add_argument("--rows", type=int, default=4 << 20, help="elements of a chunk")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    size = 4 * options.rows * options.chunks
    print(f"{options.chunks} chunks of {options.rows} f32; GB/s, medians of {options.rounds}\n")
    print("| | workers | NumPy | bitlane | ratio |\n|---|---|---|---|---|")
    for count in options.workers:
        with (
            dask.config.set({"distributed.worker.daemon": False}),
            distributed.LocalCluster(
                host="127.0.0.1", n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster),
        ):
            chunks = ((options.rows,) * options.chunks,)
            theirs = da.map_blocks(numpy_chunk, rows=options.rows, chunks=chunks, dtype="f4", meta=np.zeros(0, "f4"))
            ours = da.map_blocks(
                bitlane_chunk, rows=options.rows, chunks=chunks, dtype="f4", meta=bl.zeros(0, dtype=bl.float32)
            )
            for name, functions in JOBS.items():
                times = [[], []]
                for _ in range(options.rounds):
                    for taken, function, x in zip(times, functions, (theirs, ours)):
                        start = time.perf_counter()
                        function(x).compute()
                        taken.append(time.perf_counter() - start)
                numpy, bitlane = (size / statistics.median(taken) / 1e9 for taken in times)
                print(f"| {name} | {count} | {numpy:.2f} | {bitlane:.2f} | {bitlane / numpy:.2f} |", flush=True)


if __name__ == "__main__":
    main()
