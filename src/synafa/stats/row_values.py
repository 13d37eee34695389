"""A measure as a mean over rows, so that rows and seeds of any measure can be resampled alike.

For accuracy and log loss a row's value is its own score. For balanced accuracy and AUROC it is the measure plus the
row's influence on it (DeLong's placements for the AUROC): the mean is the measure itself, and the variance of the mean
is the measure's own to first order.
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
