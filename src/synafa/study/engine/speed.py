"""How fast one core of this machine is, beside the one that the expected seconds were measured on.

The yardstick is what most of the study does: training steps of a network with 128 hidden units on batches of 128 rows.
"""

from __future__ import annotations

import time
from functools import cache

import numpy as np

REFERENCE = 0.0182  # `probe_seconds` on the core that `experiments/costs.py` tells of, both its cores at work
_TRIES, _STEPS = 5, 100
_ROWS, _INPUTS, _HIDDEN = 128, 82, 128


def core_speed() -> float:
    """How many times as fast as the reference; below 1 where this core is slower."""
    return REFERENCE / probe_seconds()


@cache
def process_speed() -> float:
    """`core_speed` where this process runs, measured once."""
    return core_speed()


def probe_seconds() -> float:
    """Processor seconds of the yardstick, the least of a few tries: a tenth of a second in all."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return min(_timed() for _ in range(_TRIES))


def _timed() -> float:
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((_ROWS, _INPUTS), dtype=np.float32)
    first = generator.standard_normal((_INPUTS, _HIDDEN), dtype=np.float32) / _INPUTS
    second = generator.standard_normal((_HIDDEN, _HIDDEN), dtype=np.float32) / _HIDDEN
    began = time.process_time()
    for _ in range(_STEPS):
        hidden = np.maximum(rows @ first, 0)
        error = np.tanh(hidden @ second) - 1
        back = (error @ second.T) * (hidden > 0)
        second -= 1e-4 * (hidden.T @ error)
        first -= 1e-4 * (rows.T @ back)
    return time.process_time() - began
