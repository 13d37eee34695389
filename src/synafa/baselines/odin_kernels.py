"""The gradient of PPO's loss for a policy over few actions, compiled: one pass over the rows of a minibatch.

loss = mean over rows of smooth_l1(value - goal) - min(ratio * gain, clip(ratio) * gain) - entropy * H(p), where
ratio = p(action) / p_old(action) and p = softmax(scores) over the allowed actions.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def clipped_gradient(scores, value, allowed, action, old, gain, goal, clip, entropy):  # type: ignore[no-untyped-def]
    """The gradients of the scores (n, D) and of the values (n,).

    scores : float32 (n, D); value : float32 (n,); allowed : bool (n, D), at least one a row; action : int64 (n,)
    old, gain, goal : float32 (n,), the action's log probability when it was taken, its advantage and the return
    """
    n, d = scores.shape
    by_scores = np.zeros((n, d), dtype=np.float32)
    by_value = np.empty(n, dtype=np.float32)
    p = np.empty(d)
    for r in range(n):
        largest = -np.inf
        for i in range(d):
            if allowed[r, i]:
                largest = max(largest, scores[r, i])
        total = 0.0
        for i in range(d):
            p[i] = np.exp(scores[r, i] - largest) if allowed[r, i] else 0.0
            total += p[i]
        shift = largest + np.log(total)  # log p_i = score_i - shift
        mean = 0.0  # of log p, which is minus the entropy
        for i in range(d):
            p[i] /= total
            mean += p[i] * (scores[r, i] - shift)
        ratio = np.exp(scores[r, action[r]] - shift - old[r])
        bounded = min(max(ratio, 1.0 - clip), 1.0 + clip)
        pull = ratio * gain[r] if ratio * gain[r] <= bounded * gain[r] else 0.0
        for i in range(d):
            towards = pull * (p[i] - (i == action[r]))
            by_scores[r, i] = (towards + entropy * p[i] * (scores[r, i] - shift - mean)) / n
        by_value[r] = min(max(value[r] - goal[r], -1.0), 1.0) / n
    return by_scores, by_value
