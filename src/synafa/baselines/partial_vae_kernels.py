"""The partial VAE's sum over observed positions, out[r] = sum_i relu(b + v_ri w_i), and its gradient, compiled.

A row's sum stays in the first-level cache while its observed positions are added, and the gradient computes again which
units were active instead of storing (observed entries x 500) numbers.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"contract"})
def gathered(values: np.ndarray, mask: np.ndarray, directions: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """float32 (n, hidden): sum over the observed i of relu(bias + values[r, i] * directions[i])."""
    n, width = len(values), len(bias)
    out = np.zeros((n, width), dtype=np.float32)
    for r in range(n):
        for i in np.flatnonzero(mask[r]):
            value = values[r, i]
            for h in range(width):
                out[r, h] += max(bias[h] + value * directions[i, h], np.float32(0.0))
    return out


@njit(cache=True, nogil=True, fastmath={"contract"})
def gathered_back(
    values: np.ndarray, mask: np.ndarray, directions: np.ndarray, bias: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of `directions` (d, hidden) and `bias` (hidden,) given that of `gathered`, (n, hidden)."""
    n, width = gradient.shape
    by_direction = np.zeros((directions.shape[0], width), dtype=np.float32)
    by_bias = np.zeros(width, dtype=np.float32)
    for r in range(n):
        for i in np.flatnonzero(mask[r]):
            value = values[r, i]
            for h in range(width):
                passed = gradient[r, h] if bias[h] + value * directions[i, h] > 0.0 else np.float32(0.0)
                by_direction[i, h] += value * passed
                by_bias[h] += passed
    return by_direction, by_bias


@njit(cache=True, nogil=True, fastmath={"contract"})
def one_more(
    start: np.ndarray, feature: np.ndarray, x: np.ndarray, directions: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """float32 (c * S, hidden + 1): sums and numbers of positions, `start` (c, hidden + 1), with one position more.

    feature : int64 (c,), the position; x : float32 (c, S), its values
    """
    c, samples = x.shape
    width = len(bias)
    out = np.empty((c * samples, width + 1), dtype=np.float32)
    for r in range(c):
        i = feature[r]
        for s in range(samples):
            value, at = x[r, s], r * samples + s
            for h in range(width):
                out[at, h] = start[r, h] + max(bias[h] + value * directions[i, h], np.float32(0.0))
            out[at, width] = start[r, width] + np.float32(1.0)
    return out
