"""The elementwise half of a training step in one pass each: masked batches, and Adam with the running mean.

The arithmetic is that of NumPy's single operations in the same order, so the result is the same to the last bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def masked_batch(cells, rows, known, feature_of):  # type: ignore[no-untyped-def]
    """float32 (b, P): the cells of some rows, 0 where the column's feature is not among the row's `known` (b, D)."""
    out = np.empty((rows.size, feature_of.size), np.float32)
    for i in range(rows.size):
        source, target, mask = cells[rows[i]], out[i], known[i]
        for c in range(feature_of.size):
            target[c] = source[c] if mask[feature_of[c]] else np.float32(0.0)
    return out


@njit(cache=True, nogil=True)
def adam_step(weights, gradient, moment, square, mean, scale, correct, shrink, forget):  # type: ignore[no-untyped-def]
    """One step of flat float32 arrays in place: moments, weights (first shrunk by decay), and their running mean."""
    one = np.float32(1.0)
    for i in range(weights.size):
        g = gradient[i]
        moment[i] = moment[i] * np.float32(0.9) + np.float32(0.1) * g
        square[i] = square[i] * np.float32(0.999) + np.float32(0.001) * g * g
        now = weights[i] * shrink - scale * moment[i] / (np.sqrt(square[i] * correct) + np.float32(1e-8))
        weights[i] = now
        mean[i] = mean[i] * forget + (one - forget) * now
