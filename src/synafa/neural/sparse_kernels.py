"""The first layer where most is hidden: sums over the shown entries, in place of products with mostly zeros.

With [x*m, m] and W stored by input, (2d, h), a row's sum is b + sum over shown j of x_j W[j] + W[d + j]; its gradient
adds to the same rows of W. A pixel that is shown and black adds only W[d + j].
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def listed(shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shown columns of each row: `columns[starts[i]:starts[i + 1]]` are those of row i."""
    n, d = shown.shape
    starts = np.zeros(n + 1, dtype=np.int64)
    columns = np.empty(n * d + 1, dtype=np.int32)
    at = 0
    for i in range(n):
        for j in range(d):
            columns[at] = j  # overwritten by the next one if this is hidden
            at += shown[i, j]
        starts[i + 1] = at
    return starts, columns[:at]


@njit(cache=True, nogil=True, fastmath={"contract"})
def first_sums(
    X: np.ndarray, rows: np.ndarray, starts: np.ndarray, columns: np.ndarray, weight: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """float32 (n, h): the first layer before its ReLU for rows of X."""
    n, d, h = len(rows), X.shape[1], len(bias)
    sums = np.empty((n, h), dtype=np.float32)
    for i in range(n):
        total = sums[i]
        total[:] = bias
        for at in range(starts[i], starts[i + 1]):
            j = columns[at]
            value, own, beside = X[rows[i], j], weight[j], weight[d + j]
            if value != 0:
                for k in range(h):
                    total[k] += value * own[k] + beside[k]
            else:
                for k in range(h):
                    total[k] += beside[k]
    return sums


@njit(cache=True, nogil=True, fastmath={"contract"})
def first_gradient(
    X: np.ndarray, rows: np.ndarray, starts: np.ndarray, columns: np.ndarray, flow: np.ndarray, gradient: np.ndarray
) -> None:
    """Write the gradient of the weights (2d, h) for the gradient `flow` (n, h) of the sums."""
    d, h = X.shape[1], flow.shape[1]
    gradient[:] = 0
    for i in range(len(rows)):
        own = flow[i]
        for at in range(starts[i], starts[i + 1]):
            j = columns[at]
            value, left, right = X[rows[i], j], gradient[j], gradient[d + j]
            for k in range(h):
                right[k] += own[k]
            if value != 0:
                for k in range(h):
                    left[k] += value * own[k]


@njit(cache=True, nogil=True, error_model="numpy")  # a division that may not raise is done in vectors
def adam_step(
    flat: np.ndarray, gradient: np.ndarray, mean: np.ndarray, square: np.ndarray, rate: float, root: float
) -> None:
    """Adam on one flat vector; rate = lr / (1 - 0.9^t), root = sqrt(1 - 0.999^t)."""
    one, other, kept = np.float32(0.1), np.float32(0.001), np.float32(0.999)
    speed, scale, least = np.float32(rate), np.float32(1 / root), np.float32(1e-8)
    for i in range(len(flat)):
        g = gradient[i]
        mean[i] += one * (g - mean[i])
        square[i] = kept * square[i] + other * g * g
        flat[i] -= speed * mean[i] / (np.sqrt(square[i]) * scale + least)
