"""The mask of a dropout layer from one seed: four entries out of every number of a SplitMix64 sequence."""

from __future__ import annotations

import numpy as np
from numba import njit

LEVELS = 1 << 16
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(LEVELS - 1)


@njit("float32[::1](int64, int64, int64, float64)", cache=True, nogil=True)
def keep_mask(seed: int, n: int, dropped: int, scale: float) -> np.ndarray:
    """float32 (n,): `scale` where an entry's 16 bits are at least `dropped`, else 0."""
    whole = -(-n // 4)
    mask = np.empty(4 * whole, dtype=np.float32)
    kept, level = np.float32(scale), np.uint64(dropped)
    for i in range(whole):
        z = np.uint64(seed) + np.uint64(i + 1) * _STEP
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        z = z ^ (z >> np.uint64(31))
        for part in range(4):
            bits = (z >> np.uint64(16 * part)) & _LOW
            mask[4 * i + part] = kept if bits >= level else np.float32(0)
    return mask[:n]
