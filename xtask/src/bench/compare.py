"""`cargo xtask bench`: measures the libraries in turns, and writes tables and plots.

Machines are noisy and differ, so the result is the ratio to the fastest of the other libraries on the same case. Each
library runs in a process of its own; they take turns on each case, and a process that waits for its turn is stopped
(SIGSTOP), because idle threads of some libraries spin for a while and would take a core from the one being measured.
"""

import argparse
import collections
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # next to the sources
import plots

# From this ratio on two libraries count as equally fast: runs are noisy.
EQUAL = 0.95
# Cases that come out slower are measured again, in as many times the rounds: among hundreds of cases in which two
# libraries are equally fast, noise puts some below the line.
AGAIN = 3
# If other programs keep more cores busy than this, on average, ratios are meaningless: when two threads spin on each
# other, as those of PyTorch do, and one of them has no core, 20 µs become 20 ms.
QUIET = 0.2

Case = collections.namedtuple("Case", "row column mode")
# The memory bandwidth of the machine: a triad over three arrays of 16 M 32-bit numbers.
TRIAD = Case("triad f32", "16M", "out")
LIBRARIES = ["bitlane", "numpy", "torch", "paddle", "jax"]
# What readers call the libraries and the way they are called.
NAMES = {"numpy": "NumPy", "torch": "PyTorch", "paddle": "Paddle", "jax": "JAX"}


def rows(*groups):
    return [f"{op} {dtype}" for op, dtypes in groups for dtype in dtypes.split()]


def power_of_two(exponent):
    return f"{1 << exponent % 10}{' KM'[exponent // 10]}".replace(" ", "")


class Grid:
    """The cases of one table, by row, then by column. The first library is this crate."""

    def __init__(self, name, title, columns, rows, quick=None, modes=("fresh", "out"), libraries=LIBRARIES):
        self.name, self.title, self.libraries = name, title, libraries
        self.columns, self.rows, self.quick, self.modes = columns, rows, quick or rows, modes

    def names(self):
        """Returns the names of the libraries. Chains and jobs are compiled by jax.jit."""
        jax = {"jax": "jax.jit"} if "torch.compile" in self.libraries else {}
        return {library: (NAMES | jax).get(library, library) for library in self.libraries}

    def cases(self, quick):
        rows = self.quick if quick else self.rows
        return [Case(row, column, mode) for row in rows for column in self.columns for mode in self.modes]


class Races(Grid):
    """A few cases, of which the times are shown."""

    def __init__(self, name, title, cases, libraries):
        super().__init__(name, title, [], [case.row for case in cases], modes=["fresh"], libraries=libraries)
        self.chosen = cases

    def cases(self, quick):
        return self.chosen


CHAINS = "nibbles dequant mix axpy poly sign halfmix rsqrt"
# Those that compile what they are given.
COMPILED = ["jax", "torch.compile", "numexpr"]
FUNCTIONS = "exp log sin tanh exp2 expm1 log2 log10 log1p cos tan asin acos atan sinh cosh asinh acosh atanh"
JOBS = "softmax layernorm quantise hamming"
# Formats of weights, with what readers call them and the bytes of 32 values, and what is done with them. Scales of GPTQ and AWQ
# are one for 128 values, and too few to count.
KINDS = {
    "gptq4": ("GPTQ, 4 bits", 16), "awq4": ("AWQ", 16),
    "q4_0": ("GGUF Q4_0", 18), "q8_0": ("GGUF Q8_0", 34), "mxfp4": ("GGUF MXFP4", 17),
}
WAYS = {"to_f16": ("to f16", 64), "to_f32": ("to f32", 128), "from_f32": ("from f32", 128)}
GRIDS = {
    "overview": Races(
        "overview", "The time of one call", [Case("dequant chain", "16M", "fresh"), Case("mix chain", "16M", "fresh")],
        ["bitlane", "torch.compile", "jax", "numexpr", "torch", "numpy"],
    ),
    "1": Grid(
        "operations", "Shifts and copysign",
        "1 1K 64K 1M 16M row column scalar transposed permuted step2".split(),
        rows(("left_shift", "u8 i8 i16 i32 i64"), ("right_shift", "u8 i8 i16 i32 i64"),
             ("logical_shift", "i8 i16 i32 i64"), ("copysign", "f16 f32 f64")),
        rows(("left_shift", "u8 i64"), ("right_shift", "i8 i16 i32"), ("copysign", "f16 f32")),
    ),
    "2": Grid(
        "dtypes", "Other operations, mixed dtypes and casts", ["1K", "1M", "16M"],
        rows(("add", "f32 f16 bf16 i32"), ("multiply", "i8"), ("divide", "f32 i32"), ("maximum", "f32"),
             ("less_than", "f32"), ("equal", "i64"), ("bitwise_and", "u8"),
             ("add", "f16+f32 bf16+f32 i32+f32 u8+i32"), ("multiply", "f16+bf16"),
             ("cast", "f16>f32 f32>f16 f32>bf16 u8>f32 i64>i32")),
        rows(("add", "f32 f16 bf16"), ("multiply", "i8"), ("bitwise_and", "u8"), ("add", "bf16+f32 i32+f32"),
             ("cast", "f16>f32 f32>f16 u8>f32")),
    ),
    "expr": Grid(
        "expressions", "Chains of operations", ["64K", "16M"], [f"{name} chain" for name in CHAINS.split()],
        modes=["fresh"], libraries=["bitlane", "numpy", "torch", "numexpr", "jax", "torch.compile"],
    ),
    "3": Grid(
        "reductions", "Reductions and running sums",
        [f"{size}{way}" for way in ["", "/rows", "/columns"] for size in ["64K", "1M", "16M"]],
        rows(("sum", "f32 f16 i32 u8"), ("mean", "f32 f16"), ("max", "f32 f16 i32 u8"), ("argmax", "f32 f16 i32 u8"),
             ("var", "f32 f16"), ("cumsum", "f32 f16 i32 u8")),
        rows(("sum", "f32 u8"), ("max", "f32 f16"), ("argmax", "f32"), ("var", "f32"), ("cumsum", "f32")),
        modes=["fresh"], libraries=["bitlane", "numpy", "torch", "jax"],
    ),
    "functions": Grid(
        "functions", "Operations of one operand", ["1K", "64K", "1M", "16M"],
        rows(*((op, "f32 f64 f16") for op in "floor ceil trunc round sign square reciprocal sqrt".split()),
             ("count_ones", "u32 u8"), ("leading_zeros", "u32"), ("swap_bytes", "u32 i64"),
             ("isnan", "f32 f64 f16"), ("isfinite", "f32 f64 f16"),
             *((op, "f32 f64 f16") for op in FUNCTIONS.split())),
        rows(("round", "f32"), ("sqrt", "f32"), ("count_ones", "u32"), ("exp", "f32 f16"), ("log", "f32"),
             ("sin", "f32"), ("tanh", "f32")),
        modes=["fresh"], libraries=["bitlane", "numpy", "torch", "jax"],
    ),
    "jobs": Grid(
        "jobs", "Whole jobs", ["whole"], [f"{name} job" for name in JOBS.split()],
        modes=["fresh"], libraries=["bitlane", "numpy", "torch", "jax", "torch.compile"],
    ),
    "quant": Grid(
        "quant", "Quantised weights, read and packed", ["16M"],
        [f"{kind} {way}" for kind in KINDS for way in WAYS],
        modes=["fresh"], libraries=["bitlane", "numpy", "torch"],
    ),
    "growth": Grid(
        "growth", "Cost over sizes and ranks",
        [power_of_two(exponent) for exponent in range(27)] + [f"rank{rank}" for rank in range(1, 9)],
        rows(("right_shift", "i32")),
    ),
}


class Worker:
    """The process of a library, stopped while it is not measured."""

    def __init__(self, library, program, options):
        self.library = library
        command = [program, "--worker", str(options.threads)]
        if library != "bitlane":
            worker = pathlib.Path(__file__).with_name("worker.py")
            command = [sys.executable, worker, library, str(options.threads)]
        self.log = options.logs / f"{library}.log"
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self.log.open("w"), text=True)

    def ask(self, case):
        """Returns the microseconds of one call, or None if the library does not support the case."""
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(" ".join(case) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"{self.library} ended at {' '.join(case)}; see {self.log}")
        self.process.send_signal(signal.SIGSTOP)
        return None if answer == "-" else float(answer)


class Times:
    """The times of one case, by library."""

    def __init__(self, case, libraries):
        self.case, self.taken = case, {library: [] for library in libraries}

    def round(self, workers):
        for worker in workers:
            # A library that does not have the case is asked once.
            if worker.library in self.taken:
                time = worker.ask(self.case)
                if time is None:
                    del self.taken[worker.library]
                else:
                    self.taken[worker.library].append(time)

    def median(self, library):
        return statistics.median(self.taken[library]) if self.taken.get(library) else None

    def fastest_peer(self, leave_out=()):
        peers = [library for library in self.taken if library != "bitlane" and library not in leave_out]
        medians = {library: self.median(library) for library in peers}
        return min(medians.items(), key=lambda item: item[1]) if medians else None

    def ratio(self, leave_out=()):
        """Returns the time of the fastest of the other libraries, divided by the time of this crate."""
        ours, peer = self.median("bitlane"), self.fastest_peer(leave_out)
        return peer[1] / ours if ours and peer else None

    def is_slower(self):
        return (self.ratio() or math.inf) < EQUAL


def ticks(processes):
    """Returns all ticks of the machine, those in which a core was busy, and those of these processes."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    own = 0
    for process in processes:
        # The program's name comes before, in parentheses, and may contain anything.
        stat = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        own += sum(int(field) for field in stat[11:15])
    return sum(fields), sum(fields) - fields[3] - fields[4], own


def take_turns(grid, cases, options):
    """Returns the times of the cases, and how many cores other programs kept busy, on average."""
    program = options.formats if grid.name == "quant" else options.peers
    workers = [Worker(library, program, options) for library in grid.libraries]
    processes = [os.getpid()] + [worker.process.pid for worker in workers]
    # The triad is measured amid the cases it is compared with, under the same conditions.
    middle = len(cases) // 2
    all_times = [Times(case, grid.libraries) for case in [*cases[:middle], TRIAD, *cases[middle:]]]
    before = ticks(processes)
    try:
        run(all_times, workers, options.rounds)
        run([times for times in all_times if times.is_slower()], workers, AGAIN * options.rounds)
        every, busy, own = (now - then for now, then in zip(ticks(processes), before))
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.wait()
    return all_times, (busy - own) / max(every, 1) * os.cpu_count()


def run(all_times, workers, rounds):
    for done, times in enumerate(all_times):
        print(f"\r\033[K{done}/{len(all_times)} {' '.join(times.case)}", end="", file=sys.stderr, flush=True)
        for _ in range(rounds):
            times.round(workers)
    print("\r\033[K", end="", file=sys.stderr)


def shown(number, digits=2):
    return "–" if number is None else f"{number:.{digits}f}"


def table(head, lines):
    """Returns a table in Markdown."""
    lines = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def mean_and_worst(times):
    ratios = [ratio for one in times if (ratio := one.ratio()) is not None]
    return f"{statistics.geometric_mean(ratios):.2f} ({min(ratios):.2f})" if ratios else "–"


def summary(grid, all_times, others, options):
    """Returns the means, the slower cases and the share of the memory bandwidth that is used, in Markdown."""
    cases = [times for times in all_times if times.case != TRIAD]
    text = f"## {grid.title}\n\nTimes of the fastest of {', '.join(grid.libraries[1:])} over ours "
    text += f"({options.versions}; {options.threads} threads; medians, taking turns).\n\n"
    if others > QUIET:
        text += f"**Not valid: other programs kept {others:.1f} cores busy, on average. Libraries with threads suffer "
        text += "most from that, so the ratios are too high. Measure again on a quiet machine.**\n\n"
    columns = list(dict.fromkeys(times.case.column for times in cases))
    text += table(
        ["geometric mean (worst)", *columns],
        [[mode, *(mean_and_worst([t for t in cases if t.case[1:] == (column, mode)]) for column in columns)]
         for mode in grid.modes],
    )
    slower = sorted((times for times in cases if times.is_slower()), key=Times.ratio)
    alone = [" ".join(times.case) for times in cases if times.ratio() is None]
    text += f"\nAll: {mean_and_worst(cases)} over {len(cases) - len(alone)} cases, {len(slower)} slower.\n"
    if alone:
        text += f"\nNot compared, since no other library or not this crate has them: {', '.join(alone)}.\n"
    if "torch.compile" in grid.libraries:
        eager = [f"{words(t.case.row)} {t.case.column} {ratio:.2f}" for t in cases if (ratio := t.ratio(COMPILED))]
        text += f"\nCompared only with those that compile nothing: {', '.join(eager)}.\n"
    triad = next(times for times in all_times if times.case == TRIAD).median("bitlane")
    text += f"\nA streaming triad by hand moves {12 * (16 << 20) / triad / 1e3:.1f} GB/s.\n"
    # Reductions, chains and jobs have other operands than the triad, and no given destination.
    moved = cases if "out" in grid.modes or grid.name == "quant" else []
    shares = {times.case: share for times in moved if (share := share_of(times, triad))}
    if shares:
        text += f"Of that, contiguous 16 M reach {statistics.geometric_mean(shares.values()):.0%} (geometric mean): "
        text += ", ".join(f"{case.row} {case.mode} {share:.0%}" for case, share in shares.items()) + ".\n"
    if slower:
        text += "\n" + table(
            [f"slower than {EQUAL}", "ratio", "ours µs", "fastest", "µs"],
            [[" ".join(times.case), shown(times.ratio()), shown(times.median("bitlane")),
              times.fastest_peer()[0], shown(times.fastest_peer()[1])] for times in slower],
        )
    return text


def share_of(times, triad):
    """Returns the bytes per second of a contiguous case with two operands of one dtype, compared with the triad's."""
    (name, dtype), ours = times.case.row.split(), times.median("bitlane")
    if name in KINDS and ours:
        return triad / ours * ((KINDS[name][1] + WAYS[dtype][1]) / 32) / 12
    if times.case.column != "16M" or not ours or not dtype[1:].isdigit():
        return None
    return triad / ours * (3 * int(dtype[1:]) / 8) / 12


# What a chain or a job is called, and its formula.
FORMULAS = {
    "nibbles chain": ("4-bit fields", "(w >> a) & 15"),
    "dequant chain": ("dequantise int4", "f32(((w >> a) & 15) - 8) * s"),
    "mix chain": ("SplitMix64 hash", "h ^= h >> 30; h *= c; h ^= h >> 27; h *= d; h ^= h >> 31"),
    "axpy chain": ("x·y + z", "x * y + z"),
    "poly chain": ("polynomial", "((x * 0.5 + 1.25) * x - 0.75) * x + 2"),
    "sign chain": ("soft threshold", "copysign(max(abs(x) - 0.5, 0), x)"),
    "halfmix chain": ("x·y + z in f16", "q * x + y, in f16"),
    "rsqrt chain": ("1/√x by its bits", "y = f32(0x5f3759df - (bits(x) >> 1)); y * (1.5 - 0.5 * x * y * y)"),
    "softmax job": ("softmax", "of 512 rows of 1000 f32"),
    "layernorm job": ("layer normalisation", "of 4096 rows of 1024 f32"),
    "quantise job": ("quantise to int8", "4096 × 1024 f32, a scale for each row"),
    "hamming job": ("Hamming distances", "differing bits of 256 K × 256 bits with a query"),
}
FORMULAS |= {
    f"{kind} {way}": (name, words) for kind, (name, _) in KINDS.items() for way, (words, _) in WAYS.items()
}
# What is raced in the overview.
RACES = {
    "dequant chain": "Dequantise 16 M 4-bit weights to f32",
    "mix chain": "Hash 8 M 64-bit integers (SplitMix64)",
}
# The sizes of the layouts.
LAYOUTS = {
    "row": "row\n4096²", "column": "column\n4096²", "scalar": "scalar\n4096²", "transposed": "transposed\n4096²",
    "permuted": "permuted\n256³", "step2": "step 2\nof 16 M", "whole": "",
}
MODES = {"fresh": "new result", "out": "result into a given tensor"}


def notes(grid, options):
    """Returns the lines below a plot's title: what its numbers are, and what they were measured with."""
    names = list(grid.names().values())
    is_time = isinstance(grid, Races) or grid.name == "growth"
    what = "Shorter is better." if is_time else f"Speed relative to the best of {', '.join(names[1:])}."
    versions = dict(pair.split(" ") for pair in options.versions.split(", "))
    known = {NAMES.get(library, library): versions[library] for library in grid.libraries if library in versions}
    listed = ", ".join(f"{name} {version}" for name, version in known.items())
    return [what, f"{listed};", f"{options.threads} threads; {machine()}; medians, libraries taking turns."]


def words(row):
    """Returns the words of a row: an operation and its dtypes, as `add i32+f32` and `cast i64>i32`."""
    return FORMULAS[row][0] if row in FORMULAS else row.replace("_", " ").replace(">", " → ").replace("+", " + ")


def size(column):
    """Returns the words of a column: a number of elements, some over an axis, or a layout."""
    count, _, axis = column.partition("/")
    if count[-1] in "KM":
        count = f"{count[:-1]} {count[-1]}"
    return LAYOUTS.get(column, f"{count}\n{axis}" if axis else count)


def machine():
    """Returns the name of the processor, where the system tells it."""
    try:
        info = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "an unnamed processor"
    return next((line.partition(": ")[2] for line in info if line.startswith("model name")), "an unnamed processor")


def title(grid):
    return "Cost of a right shift of 32-bit integers" if grid.name == "growth" else grid.title


def plot(grid, all_times, options):
    """Returns the plot of a table: bars if it has few columns, else a heat map; lines for times over sizes."""
    cases = [times for times in all_times if times.case != TRIAD]
    below = notes(grid, options)
    if isinstance(grid, Races):
        panels = [
            (RACES[t.case.row], FORMULAS[t.case.row][1],
             [(name, time) for library, name in grid.names().items() if (time := t.median(library))])
            for t in cases
        ]
        return plots.races(grid.title, below, panels)
    if grid.name == "growth":
        return plots.lines(title(grid), below, growth(grid, cases))
    ratios = {(t.case.row, t.case.column, t.case.mode): ratio for t in cases if (ratio := t.ratio())}
    return drawn(grid, below, ratios)


def drawn(grid, below, ratios):
    """Returns the plot of these ratios by row, column and mode."""
    named = lambda index: list(dict.fromkeys(key[index] for key in ratios))
    if len(named(1)) <= 2:
        groups = [
            (*FORMULAS.get(row, (words(row), "")), [(size(column), ratio) for (r, column, _), ratio in ratios.items() if r == row])
            for row in named(0)
        ]
        return plots.bars(grid.title, below, groups)
    panels = [
        (MODES[mode], [(row, words(row)) for row in named(0)], [(column, size(column)) for column in named(1)],
         {(r, c): ratio for (r, c, m), ratio in ratios.items() if m == mode})
        for mode in named(2)
    ]
    return plots.heat_maps(grid.title, below, panels)


def growth(grid, cases):
    sizes = {power_of_two(exponent): 1 << exponent for exponent in range(27)}
    ranks = {f"rank{rank}": rank for rank in range(1, 9)}
    panels = []
    for title, mode, places in [("new result", "fresh", sizes), ("given result", "out", sizes), ("64 K elements", "fresh", ranks)]:
        series = {}
        for library in grid.libraries:
            these = [t for t in cases if t.case.mode == mode and t.case.column in places and t.median(library)]
            if these:
                series[grid.names()[library]] = [(places[times.case.column], times.median(library)) for times in these]
        panels.append((title, "elements" if places is sizes else "dimensions", places is sizes, series))
    return panels


def write(grid, all_times, others, options):
    path = options.out / grid.name
    lines = [
        [*times.case, *(shown(times.median(library), 4) for library in grid.libraries), shown(times.ratio())]
        for times in all_times
    ]
    head = ["row", "column", "mode", *grid.libraries, "ratio"]
    path.with_suffix(".csv").write_text("".join(",".join(line).replace("–", "") + "\n" for line in [head, *lines]))
    text = summary(grid, all_times, others, options)
    path.with_suffix(".md").write_text(f"{text}\nMicroseconds:\n\n{table(head, lines)}")
    path.with_suffix(".svg").write_text(plot(grid, all_times, options))
    print(f"{text}\nmore in {path}.md, .csv and .svg\n")


def main():
    parser = argparse.ArgumentParser()
    for name in ["peers", "formats", "out", "logs"]:
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--versions", required=True)
    parser.add_argument("--grid", action="append", choices=GRIDS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 5)
    if options.only:
        options.out /= "only"  # selected cases must not overwrite the full tables
    for folder in [options.out, options.logs]:
        folder.mkdir(parents=True, exist_ok=True)
    for name in options.grid or GRIDS:
        cases = [case for case in GRIDS[name].cases(options.quick) if (options.only or "") in " ".join(case)]
        if cases:
            write(GRIDS[name], *take_turns(GRIDS[name], cases, options), options)


if __name__ == "__main__":
    main()
