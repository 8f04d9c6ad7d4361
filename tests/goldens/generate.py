#!/usr/bin/env python3
"""Records the answers of the real libraries in the JSON Lines files that README.md describes.

    python3 -m venv target/goldens
    target/goldens/bin/pip install -r tests/goldens/requirements.txt
    target/goldens/bin/python tests/goldens/generate.py            # all files, or the names of some

writes every `.jsonl` next to this script. The same versions give the same bytes on the same kind of
processor.
"""

import sys

sys.dont_write_bytecode = True
from records import File
from refusals import SET_ASIDE
from topics.atleast import atleast
from topics.binary import binary
from topics.choice import select
from topics.copysign import copysign, copysign_grad
from topics.elementary import elementary, unary
from topics.float8 import float8
from topics.functions import functions, modular
from topics.losses import losses
from topics.promotion import promotion
from topics.reductions import reductions, sums
from topics.shifts import shift
from topics.transcendental import transcendental

FILES = [
    shift, copysign, copysign_grad, atleast, binary, promotion, modular, functions, unary, elementary,
    transcendental, select, sums, reductions, losses, float8,
]  # fmt: skip

if __name__ == "__main__":
    for fill in FILES:
        if not sys.argv[1:] or fill.__name__ in sys.argv[1:]:
            file = File(fill.__name__)
            fill(file)
            file.write()
    for (kind, text), count in sorted(SET_ASIDE.items()):
        print(f"set aside {count} times: {kind}: {text}", file=sys.stderr)
