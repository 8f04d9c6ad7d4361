"""Losses."""

import itertools

import numpy as np

from operands import Tensor
from values import FLOATS, numbers


def losses(file):
    kinds = [
        ("l1_loss", [{}]),
        ("mse_loss", [{}]),
        ("huber_loss", [{"delta": 1.0}, {"delta": 0.3}]),
        ("smooth_l1_loss", [{"beta": 1.0}, {"beta": 0.3}, {"beta": 0.0}]),
        (
            "poisson_nll_loss",
            [
                {"log_input": log_input, "full": full, "epsilon": 1e-8}
                for log_input in (True, False)
                for full in (True, False)
            ],
        ),
    ]
    for op, variants in kinds:
        poisson = op == "poisson_nll_loss"
        for dtype, parameters in itertools.product(FLOATS, variants):
            # Terms of the same sign, so that nothing cancels.
            low, high = (-3, 3)
            if poisson:
                low, high = (-3, -0.1) if parameters["log_input"] else (0.1, 0.9)
            x = numbers(file.random, dtype, 12, low, high).reshape(3, 4)
            y = numbers(file.random, dtype, 12, 4, 9).reshape(3, 4)
            quarters = [(file.random.integers(0, 24, (3, 4)) / 4).astype(x.dtype) for _ in "xy"]
            for reduction in ["none", "mean", "sum"]:
                params = parameters | {"reduction": reduction}
                file.add(op, [Tensor(dtype, x), Tensor(dtype, y)], ["random"], params=params)
                if not poisson:
                    pair = [Tensor(dtype, side) for side in quarters]
                    file.add(op, pair, ["exact"], params=params)
                if dtype == "f32":
                    nothing = [Tensor(dtype, x[:0]), Tensor(dtype, y[:0])]
                    file.add(op, nothing, ["empty"], params=params)
            zero = [Tensor(dtype, x[0, 0]), Tensor(dtype, y[0, 0])]
            file.add(op, zero, ["0-D x", "0-D y"], params=params)
            params = parameters | {"reduction": "none"}
            # Torch and Paddle require equal shapes in some losses; these views have them.
            transposed = [Tensor(dtype, side, [4, 3], [1, 4], 0, "transposed") for side in (x, y)]
            file.add(op, transposed, ["view"], params=params)
            special = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
            rows = [np.repeat(special, 6), np.tile(special, 6)]
            file.add(op, [Tensor(dtype, row) for row in rows], ["special"], params=params)
        params = variants[0] | {"reduction": "mean"}
        for left, right in [("f32", "f64"), ("f16", "f32"), ("f16", "bf16")]:
            x, y = numbers(file.random, left, 4, -3, -0.5), numbers(file.random, right, 4, 4, 9)
            file.add(op, [Tensor(left, x), Tensor(right, y)], ["mixed"], params=params)
