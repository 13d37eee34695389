"""What values a feature had in training, in seven numbers: enough to question an impossible one, and to say what if.

Quantiles are of observed cells only, in very long tables those of a random sample of rows; text columns have none.
"""

from __future__ import annotations

import numpy as np

LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
FAR = 3.0  # times the training range beyond it that a value is questioned


def observed_ranges(values: np.ndarray, text: np.ndarray) -> np.ndarray:
    """float64 (D, 7), the quantiles at LEVELS of each number column; NaN for text and for columns without a cell.

    Parameters
    ----------
    values : float (n, D), NaN for empty cells
    text : bool (D,), columns that hold categories
    """
    out = np.full((values.shape[1], len(LEVELS)), np.nan)
    for j in np.flatnonzero(~np.asarray(text, dtype=bool)):
        seen = values[:, j]
        seen = seen[~np.isnan(seen)]
        if len(seen):
            out[j] = np.quantile(seen, LEVELS)
    return out


def is_far(value: float, seven: np.ndarray) -> bool:
    """Whether a number lies further outside the training values than FAR times their range.

    >>> seven = np.array([30.0, 35, 36, 36.6, 37, 39, 42])
    >>> is_far(41.0, seven), is_far(366.0, seven)
    (False, True)
    """
    low, high = seven[0], seven[-1]
    if not np.isfinite(low) or not np.isfinite(value):
        return False
    room = FAR * max(high - low, 1e-12)
    return bool(value < low - room or value > high + room)
