"""Which kernels run: vector instructions written out, or, with `SYNAFA_KERNELS=plain`, loops that anyone can read.

Both give the same numbers; what is a single instruction (the ones of a word, the lowest one) is so in both. Plain
kernels are compiled anew in every process: Numba's cache cannot tell the two apart.
"""

from __future__ import annotations

import os

PLAIN = os.environ.get("SYNAFA_KERNELS", "") == "plain"
CACHE = not PLAIN
