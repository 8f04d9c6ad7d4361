"""Records what the reference packages compute, as the files in tests/goldens.

    pip install gguf==0.19.0 numpy==2.4.6 torch==2.15.0 safetensors==0.8.0 compressed-tensors==0.20.0 \
        bitsandbytes==0.50.2 torchao==0.18.0
    pip download --no-deps autoawq==0.2.9 gptqmodel==7.7.0 -d SDISTS
    python bitlane-quant/tests/goldens.py --sdists SDISTS

autoawq and gptqmodel cannot be imported without a GPU, so their packing functions are taken from their source packages and
run. Where a package has a function for the CPU only, that is the one that is run.

With `--blocks 1000000 --to FOLDER`, every file has as many random blocks or groups; BITLANE_QUANT_GOLDENS=FOLDER makes the
tests read them.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from recording import blocks, file, floats, grouped

PARTS = {"blocks": blocks, "file": file, "floats": floats, "grouped": grouped}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path(__file__).parent / "goldens")
    parser.add_argument("--sdists", type=pathlib.Path)
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--only", choices=PARTS)
    arguments = parser.parse_args()
    arguments.to.mkdir(exist_ok=True)
    for name, part in PARTS.items():
        if arguments.only in (None, name):
            part.record(arguments)


main()
