"""A measure as a mean over rows, so that rows and seeds of any measure can be resampled alike.

For accuracy and log loss a row's value is its own score. For balanced accuracy and AUROC it is the measure plus the
row's influence on it (DeLong's placements for the AUROC): the mean is the measure itself, and the variance of the mean
is the measure's own to first order. Where a row has several values (the swaps of a search), or none, the mean over
values and their correlation are treated alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError


def balanced_accuracy_values(y: ArrayLike, predicted: ArrayLike) -> NDArray[np.float64]:
    """One value a row whose mean is the balanced accuracy.

    >>> balanced_accuracy_values([0, 0, 0, 1], [0, 0, 1, 1]).mean().round(4)
    np.float64(0.8333)
    """
    truth, right = np.asarray(y), (np.asarray(y) == np.asarray(predicted)).astype(np.float64)
    classes, label, counts = np.unique(truth, return_inverse=True, return_counts=True)
    recall = np.bincount(label, right) / counts
    share = truth.size / (classes.size * counts)
    return recall.mean() + share[label] * (right - recall[label])


def auroc_values(y: ArrayLike, score: ArrayLike) -> NDArray[np.float64]:
    """One value a row whose mean is the AUROC of `score` for class 1.

    >>> auroc_values([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).mean()
    np.float64(0.75)
    """
    from scipy.stats import rankdata

    positive, s = np.asarray(y) == 1, np.asarray(score, dtype=np.float64)
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    if not n_pos or not n_neg:
        raise SynafaError("The AUROC needs rows of both classes.")
    ranks = rankdata(s)
    placed = np.empty(s.size)
    placed[positive] = (ranks[positive] - rankdata(s[positive])) / n_neg  # share of negatives below
    placed[~positive] = 1.0 - (ranks[~positive] - rankdata(s[~positive])) / n_pos  # share of positives above
    area = float(placed[positive].mean())
    share = np.where(positive, s.size / (n_pos + 0.0), s.size / (n_neg + 0.0))
    return area + share * (placed - area)


def log_loss_values(true_probability: ArrayLike) -> NDArray[np.float64]:
    """-ln p(true class) of each row; 0 counts as float32's epsilon, as in `synafa.evaluation.metrics`."""
    p = np.asarray(true_probability, dtype=np.float64)
    return -np.log(np.clip(p, float(np.finfo(np.float32).eps), 1.0))


def clustered_mean_values(values: ArrayLike, rows: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """One value a row whose mean is the mean of `values`; `rows` says which row each belongs to.

    >>> clustered_mean_values([1.0, 3.0, 5.0], [0, 0, 1], 2).mean()
    np.float64(3.0)
    """
    x = np.asarray(values, dtype=np.float64)
    return _estimate_and_influence(float(x.mean()), x - x.mean(), rows, n_rows)


def clustered_correlation_values(
    x: ArrayLike, y: ArrayLike, rows: ArrayLike, n_rows: int, method: str = "pearson"
) -> NDArray[np.float64]:
    """One value a row whose mean is the correlation of `x` and `y`; `rows` says which row each pair belongs to.

    `method` is "pearson" or "spearman". NaN everywhere when a side is constant.

    >>> clustered_correlation_values([1, 2, 3, 4], [1, 3, 2, 4], [0, 0, 1, 1], 2).mean().round(3)
    np.float64(0.8)
    """
    from scipy.stats import rankdata

    first, second = (np.asarray(side, dtype=np.float64) for side in (x, y))
    if method not in ("pearson", "spearman"):
        raise SynafaError(f"method must be 'pearson' or 'spearman', got: {method!r}.")
    if method == "spearman":
        first, second = rankdata(first), rankdata(second)
    a, b = (side - side.mean() for side in (first, second))
    scale = float(np.sqrt((a * a).mean() * (b * b).mean()))
    if scale == 0.0:
        return np.full(n_rows, np.nan)
    rho = float((a * b).mean()) / scale
    if method == "pearson":
        influence = a * b / scale - rho / 2 * (a * a / (a * a).mean() + b * b / (b * b).mean())
    else:
        u, v = ((side - 0.5) / side.size for side in (first, second))
        influence = 12.0 * (u * v + _mean_beyond(first, v) + _mean_beyond(second, u))
        influence -= influence.mean()
    return _estimate_and_influence(rho, influence, rows, n_rows)


def _mean_beyond(ranks: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each value the mean over all of `other` where their own rank is not below it, 0 where it is below."""
    order = np.argsort(ranks, kind="stable")
    above = np.append(np.cumsum(other[order][::-1])[::-1], 0.0)
    return np.asarray(above[np.searchsorted(ranks[order], ranks, side="left")] / ranks.size, dtype=np.float64)


def _estimate_and_influence(
    estimate: float, influence: NDArray[np.float64], rows: ArrayLike, n_rows: int
) -> NDArray[np.float64]:
    summed = np.bincount(np.asarray(rows), influence, minlength=n_rows)
    return np.asarray(estimate + summed * (n_rows / max(influence.size, 1)), dtype=np.float64)
