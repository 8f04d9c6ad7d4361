"""The records of a golden file."""

import json
import pathlib

import numpy as np

from libraries import LIBRARIES, ask

# The tolerance for a library's answer, in units in the last place, where the last bit is not
# specified: by operation and dtype.
FUNCTION = {"f16": 1, "bf16": 1, "f32": 2, "f64": 2}
SUM = {"f16": 2, "bf16": 2, "f32": 4, "f64": 4, "c64": 4, "c128": 4}
# Every factor rounds, and so do the distances from a rounded mean.
LONG = {**SUM, "f64": 16}
# Composed of several rounded steps, also in the half floats.
COMPOSED = {"f16": 4, "bf16": 4, "f32": 4, "f64": 4}
PRODUCT = {"c64": 16, "c128": 16}
TRANSCENDENTAL = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
]  # fmt: skip
ULP = {
    "pow": FUNCTION, "atan2": FUNCTION, "logaddexp": FUNCTION,
    "sqrt": {"f32": 2}, "hypot": FUNCTION,
    **dict.fromkeys(TRANSCENDENTAL, COMPOSED),
    # The libraries fuse steps of complex products and quotients. XLA also multiplies by the reciprocal.
    "multiply": PRODUCT, "divide": PRODUCT,
    ("jax", "divide"): {"f16": 1, "bf16": 1, "f32": 1, "f64": 1, **PRODUCT},
    "sum": SUM, "mean": SUM, "cumulative_sum": SUM,
    "prod": LONG, "cumulative_prod": LONG, "var": LONG, "std": LONG,
    "l1_loss": SUM, "mse_loss": SUM, "huber_loss": SUM, "smooth_l1_loss": SUM,
    "poisson_nll_loss": COMPOSED,
}  # fmt: skip


class File:
    """The records of one file."""

    def __init__(self, name):
        self.name, self.lines = name, []
        self.random = np.random.default_rng(list(name.encode()))

    def add(self, op, operands, tags=(), form="api", params=None, without=(), cmp="nan_any"):
        """Asks every library except those in `without` and keeps the answers, if there are any.

        A missing kernel counts as an answer only where the crate's rules refuse the call as well.
        """
        params = params or {}
        arguments = {} if op == "select" or form == "op" else params
        answers = []
        for library in LIBRARIES:
            if library.name in without:
                continue
            answer = ask(library, op, form, operands, arguments)
            if answer is None:
                continue
            lacks_kernel = answer.get("error", {}).get("kind") == "unsupported"
            if lacks_kernel and "refused" not in tags:
                continue
            ulp = ULP.get((library.name, op), ULP.get(op, {})).get(answer.get("dtype"))
            if ulp is not None:
                answer["ulp"] = ulp
            answers.append((library.name, answer))
        params = params if len(operands) == 1 else {"form": form} | params
        self.keep(op, params, operands, answers, tags, cmp)

    def keep(self, op, params, operands, answers, tags=(), cmp=None, names=None):
        """Adds a record of pairs of a library and its answer, unless there are none."""
        if not answers:
            return
        equal = {}
        for library, answer in answers:
            equal.setdefault(json.dumps(answer), ([], answer))[0].append(library)
        names = {1: ["x"], 2: ["x", "y"]}.get(len(operands)) if names is None else names
        record = {"id": f"{self.name}-{len(self.lines):05}", "op": op, "params": params}
        given = [operand.json() for operand in operands]
        record |= dict(zip(names, given)) if names else {"inputs": given}
        if cmp:
            record["cmp"] = cmp
        if tags:
            record["tags"] = list(tags)
        record["expect"] = [{"lib": libraries} | answer for libraries, answer in equal.values()]
        self.lines.append(json.dumps(record, separators=(",", ":")))

    def write(self):
        path = pathlib.Path(__file__).with_name(f"{self.name}.jsonl")
        path.write_text("".join(line + "\n" for line in self.lines))
        print(f"{path.name}: {len(self.lines)} records, {path.stat().st_size} bytes")
