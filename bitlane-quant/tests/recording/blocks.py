"""Blocks of GGUF files, by the package `gguf`.

For every kind of block: KIND.blocks are random blocks and KIND.values what they stand for, as f32; where the reference
makes blocks, KIND.inputs are random values, as f32, and KIND.outputs their blocks. All are little-endian.
"""

import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import quants

KINDS = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K Q6_K TQ2_0 MXFP4".split()


def inputs(random, count, length):
    """Values of all magnitudes, rows of zeros, of equal values, and with ties."""
    values = random.standard_normal((count, length)).astype(np.float32)
    values *= np.float32(2.0) ** random.integers(-20, 12, (count, 1)).astype(np.float32)
    values[0] = 0
    values[1] = -1.5
    values[2] = np.arange(length) % 17 - 8
    values[3] = (np.arange(length) % 5 - 2) / 2
    values[4, 7] = -0.0
    return values


def record(arguments):
    for index, name in enumerate(KINDS):
        kind = Kind[name]
        traits = quants._type_traits[kind]
        random = np.random.default_rng(index)
        count = arguments.blocks or 256 // (traits.block_size // 32)
        blocks = random.integers(0, 256, (count, traits.type_size), dtype=np.uint8)
        with np.errstate(all="ignore"):
            values = quants.dequantize(blocks, kind)
        blocks.tofile(arguments.to / f"{name}.blocks")
        values.astype("<f4").tofile(arguments.to / f"{name}.values")
        given = inputs(random, count, traits.block_size)
        try:
            made = quants.quantize(given, kind)
        except NotImplementedError:
            continue
        given.astype("<f4").tofile(arguments.to / f"{name}.inputs")
        made.tofile(arguments.to / f"{name}.outputs")
