"""DIME's estimates, sigmoid(v) * entropy: whom they choose, and the gradient of their squared errors.

An output row holds K class scores and then D values v. One thread.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from synafa.baselines.cae_kernels import LOG2_E, exp2
from synafa.baselines.selector_kernels import possible

ONE = np.float32(1.0)


@njit(cache=True, nogil=True)
def _sigmoid(x):  # type: ignore[no-untyped-def]
    """The sigmoid of float32 values, shaped alike."""
    out = np.empty(x.shape, dtype=np.float32)
    flat, to = x.reshape(x.size), out.reshape(x.size)
    for i in range(flat.size):  # all entries alike, which vectorises whatever the number of features
        small = exp2(-abs(flat[i]) * LOG2_E)
        to[i] = (ONE if flat[i] >= 0 else small) / (ONE + small)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def choices(outputs, entropy, states, left, costs, luck, epsilon):  # type: ignore[no-untyped-def]
    """int64 (n,): the possible feature of highest estimate per cost, or any of them with probability epsilon; else -1.

    outputs : float32 (n, K + D); entropy, left : float32 (n,); states : float32 (n, 2D); costs : float32 (D,)
    luck : float32 (n, 2), uniform: whether a row explores, and which possible feature it would take
    """
    n, d = len(outputs), len(costs)
    k = outputs.shape[1] - d
    share = _sigmoid(outputs)
    chosen = np.full(n, -1, dtype=np.int64)
    for r in range(n):
        best, count = np.float32(-np.inf), 0
        for i in range(d):
            if possible(states[r, d + i], costs[i], left[r]):
                count += 1
                ratio = share[r, k + i] * entropy[r] / costs[i]
                if ratio > best:
                    best, chosen[r] = ratio, i
        if luck[r, 0] < epsilon and count:
            rank = min(int(luck[r, 1] * count), count - 1)
            for i in range(d):
                if possible(states[r, d + i], costs[i], left[r]):
                    if rank == 0:
                        chosen[r] = i
                    rank -= 1
    return chosen


@njit(cache=True, nogil=True)
def error_gradient(outputs, k, entropy, losses, chosen, share, gradient):  # type: ignore[no-untyped-def]
    """Set the columns of `gradient` beyond k to that of `share` times the sum of (estimate - drop of the loss)^2.

    outputs, gradient : float32 ((B + 1) n, k + D), state after state; entropy, losses : float32 ((B + 1) n,)
    chosen : int64 (B n,), the feature that each state but the last took, -1 for none
    """
    n = len(losses) - len(chosen)
    gradient[:, k:] = 0.0
    for r in range(len(chosen)):
        if chosen[r] < 0:
            continue
        value = outputs[r, k + chosen[r]]
        small = np.exp(-abs(value))
        part = (ONE if value >= 0 else small) / (ONE + small)
        error = part * entropy[r] - (losses[r] - losses[r + n])
        gradient[r, k + chosen[r]] = np.float32(2.0 * share) * error * entropy[r] * part * (ONE - part)
