"""Many methods on many tables: mean ranks, Friedman's test that all are alike, and Nemenyi's critical difference.

Two mean ranks over N tables differ significantly when they are further apart than `q sqrt(k (k + 1) / (6 N))` (Demsar
2006), with q from the studentised range of k methods.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError


@dataclass(frozen=True)
class RankResult:
    """Mean ranks (1 is best), their critical difference at `alpha`, and Friedman's p-value."""

    mean_ranks: NDArray[np.float64]
    critical_difference: float
    pvalue: float
    n_tables: int
    alpha: float


def critical_difference(n_methods: int, n_tables: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference of mean ranks.

    >>> round(critical_difference(5, 10), 3)
    1.929
    """
    from scipy.stats import studentized_range

    if n_methods < 2 or n_tables < 1:
        raise SynafaError(f"Ranks need two methods and a table, got: {n_methods} and {n_tables}.")
    q = float(studentized_range.ppf(1 - alpha, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))


def mean_ranks(scores: ArrayLike, alpha: float = 0.05) -> RankResult:
    """Rank methods on every table by score and average.

    Parameters
    ----------
    scores : array of float, shape (tables, methods)
        Higher is better; ties share their ranks. No missing values: a method must have met every table.
    alpha : float, default 0.05
        Level of the critical difference.

    Returns
    -------
    RankResult

    Examples
    --------
    >>> mean_ranks([[0.9, 0.8, 0.7], [0.9, 0.7, 0.8]]).mean_ranks.tolist()
    [1.0, 2.5, 2.5]
    """
    from scipy.stats import friedmanchisquare, rankdata

    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise SynafaError("scores must be a table of tables x methods without missing values.")
    n, k = values.shape
    ranks = rankdata(-values, axis=1)
    pvalue = float(friedmanchisquare(*values.T).pvalue) if k > 2 and n > 1 else float("nan")
    return RankResult(ranks.mean(axis=0), critical_difference(k, n, alpha), pvalue, n, alpha)
