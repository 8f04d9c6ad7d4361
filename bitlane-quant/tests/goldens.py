"""Records what the package `gguf` computes, as the files in tests/goldens.

    pip install gguf==0.19.0 numpy==2.4.6
    python bitlane-quant/tests/goldens.py

For every kind of block: KIND.blocks are random blocks and KIND.values what they stand for, as f32; where the reference
makes blocks, KIND.inputs are random values, as f32, and KIND.outputs their blocks. All are little-endian.
"""

import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import quants

FOLDER = pathlib.Path(__file__).parent / "goldens"
KINDS = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K Q6_K TQ2_0 MXFP4".split()


def inputs(random, blocks, length):
    """Values of all magnitudes, rows of zeros, of equal values, and with ties."""
    values = random.standard_normal((blocks, length)).astype(np.float32)
    values *= np.float32(2.0) ** random.integers(-20, 12, (blocks, 1)).astype(np.float32)
    values[0] = 0
    values[1] = -1.5
    values[2] = np.arange(length) % 17 - 8
    values[3] = (np.arange(length) % 5 - 2) / 2
    values[4, 7] = -0.0
    return values


def main():
    FOLDER.mkdir(exist_ok=True)
    for index, name in enumerate(KINDS):
        kind = Kind[name]
        traits = quants._type_traits[kind]
        random = np.random.default_rng(index)
        count = 256 // (traits.block_size // 32)
        blocks = random.integers(0, 256, (count, traits.type_size), dtype=np.uint8)
        with np.errstate(all="ignore"):
            values = quants.dequantize(blocks, kind)
        blocks.tofile(FOLDER / f"{name}.blocks")
        values.astype("<f4").tofile(FOLDER / f"{name}.values")
        given = inputs(random, count, traits.block_size)
        try:
            made = quants.quantize(given, kind)
        except NotImplementedError:
            continue
        given.astype("<f4").tofile(FOLDER / f"{name}.inputs")
        made.tofile(FOLDER / f"{name}.outputs")


main()
