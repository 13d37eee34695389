"""AUROC of one score under many row weights."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def weighted_auroc(weights: np.ndarray, order: np.ndarray, last_of_tie: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """P(a positive scores above a negative) + half the ties for each row of `weights`; NaN where a class has no weight.

    `order` sorts the score ascending; `last_of_tie[t]` says whether the score after position t is larger.
    """
    n_resamples, n = weights.shape
    values = np.empty(n_resamples)
    for r in range(n_resamples):
        below, above, ranked = 0.0, 0.0, 0.0  # negatives below the current tie, positives so far, ordered pairs
        tied_positive, tied_negative = 0.0, 0.0
        for t in range(n):
            row = order[t]
            if positive[row]:
                tied_positive += weights[r, row]
            else:
                tied_negative += weights[r, row]
            if last_of_tie[t]:
                ranked += tied_positive * (below + 0.5 * tied_negative)
                below += tied_negative
                above += tied_positive
                tied_positive, tied_negative = 0.0, 0.0
        pairs = below * above
        values[r] = ranked / pairs if pairs > 0.0 else np.nan
    return values
