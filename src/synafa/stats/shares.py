"""Intervals of a share of n rows, and the area under the ROC curve: numbers that every report needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Z95 = 1.959964  # the 97.5 % point of the standard normal distribution


def wilson_interval(share: Any, n: int) -> tuple[Any, Any]:
    """Wilson's 95 % interval of a share, which stays inside [0, 1].

    Parameters
    ----------
    share : float or array of float
        The share observed.
    n : int
        Of how many rows.

    Returns
    -------
    low, high : like `share`

    Examples
    --------
    >>> low, high = wilson_interval(0.9, 80)
    >>> round(float(low), 4), round(float(high), 4)
    (0.8149, 0.9485)
    """
    z2 = Z95 * Z95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return centre - half, centre + half


def normal_interval(share: float, n: int) -> tuple[float, float]:
    """The normal 95 % interval of a share, `share` -+ 1.96 standard errors, as papers print it.

    >>> low, high = normal_interval(0.9, 400)
    >>> round(low, 4), round(high, 4)
    (0.8706, 0.9294)
    """
    half = 1.96 * float(np.sqrt(share * (1 - share) / n))
    return share - half, share + half


def roc_area(positive: ArrayLike, score: ArrayLike) -> float:
    """The area under the ROC curve: the chance that a positive row scores above a negative one, ties counted half.

    NaN where a kind of row is missing.

    >>> roc_area([False, False, True, True], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    from scipy.stats import rankdata

    positive = np.asarray(positive, dtype=bool)
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    if not (n_pos and n_neg):
        return float("nan")
    ranks = rankdata(np.asarray(score))
    return float((ranks[positive].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg))
