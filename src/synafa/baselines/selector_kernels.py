"""What the trainings of GDFS and DIME do row by row: dropout with ReLU, the class loss, one acquisition of an episode.

A state is a row of a network's input, [x*m, m]: its second half is the mask of what is shown. One thread.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from synafa.baselines.dropout_kernels import keep_mask

TOLERANCE = np.float32(1e-6)  # of what is left to spend, as in `common.Purse`


@njit(cache=True, nogil=True)
def dropped_relu(x, seed, dropped, scale):  # type: ignore[no-untyped-def]
    """max(0, x * mask) in place, the mask being `keep_mask`'s."""
    flat = x.reshape(x.size)
    mask = keep_mask(seed, flat.size, dropped, scale)
    for i in range(flat.size):
        flat[i] = max(flat[i] * mask[i], np.float32(0.0))


@njit(cache=True, nogil=True, error_model="numpy")
def class_losses(scores, y, weights, share, gradient):  # type: ignore[no-untyped-def]
    """w_y * cross-entropy of each row and the entropy of its prediction, both float32 (m,), in nats.

    scores : float32 (m, at least K), the class scores first; row r is of class y[r % n]
    y : int64 (n,); weights : float32 (K,)
    gradient : float32, shaped like the scores; its first K columns are set to that of `share` times the sum of losses
    """
    m, n, k = len(scores), len(y), len(weights)
    losses, entropy = np.empty(m, dtype=np.float32), np.empty(m, dtype=np.float32)
    for r in range(m):
        largest = scores[r, 0]
        for c in range(1, k):
            largest = max(largest, scores[r, c])
        total = np.float32(0.0)
        for c in range(k):
            gradient[r, c] = np.exp(scores[r, c] - largest)
            total += gradient[r, c]
        shift, label = np.log(total), y[r % n]
        weight, mean = weights[label], np.float32(0.0)
        for c in range(k):
            p = gradient[r, c] / total
            mean += p * (scores[r, c] - largest - shift)
            gradient[r, c] = share * weight * (p - np.float32(c == label))
        losses[r] = weight * (shift - (scores[r, label] - largest))
        entropy[r] = -mean
    return losses, entropy


@njit(cache=True, nogil=True, inline="always")
def possible(shown, cost, left):  # type: ignore[no-untyped-def]
    """Whether a feature is hidden and costs no more than what is left."""
    return shown == 0 and cost <= left + TOLERANCE


@njit(cache=True, nogil=True)
def acquire(x, choice, costs, reveal, before, after, left, left_after):  # type: ignore[no-untyped-def]
    """The states `after` (n, 2D) that follow from the states `before` when each row takes its choice, -1 for nothing.

    x : float32 (n, D); choice : int64 (n,); costs : float32 (D,)
    reveal : float32 (D, D), row i = what asking for i shows; (0, 0) when it is only i
    left, left_after : float32 (n,), what may be spent before and after; infinite where costs do not matter
    """
    n, d = x.shape
    for r in range(n):
        after[r] = before[r]
        left_after[r] = left[r]
        taken = choice[r]
        if taken < 0:
            continue
        left_after[r] -= costs[taken]
        if len(reveal) == 0:
            after[r, taken], after[r, d + taken] = x[r, taken], 1.0
            continue
        for i in range(d):
            if reveal[taken, i] > 0:
                after[r, i], after[r, d + i] = x[r, i], 1.0
