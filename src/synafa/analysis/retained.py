"""How much of the features' information about the class is left after binarisation.

`fraction = sum_j I(bit_j;Y) / sum_j I(X_j;Y)`. The numerator is the plug-in estimate. The denominator is the
k-nearest-neighbour estimate for a continuous feature and a discrete class (Ross 2014, as in scikit-learn's
`mutual_info_classif`), and the plug-in estimate for a feature with few distinct values. The study does not name its
estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError
from synafa.information.codes import Discretizer
from synafa.information.labels import check_labels


@dataclass(frozen=True)
class RetainedResult:
    """The retained fraction, and each feature's information in bits before and after binarisation.

    `nearest_neighbour[j]` says whether `before[j]` comes from nearest neighbours rather than from counts. These
    estimates scatter around the truth, so a single feature may keep a little more than it had.
    """

    fraction: float
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    nearest_neighbour: NDArray[np.bool_]


def retained_information(
    X: ArrayLike, y: ArrayLike, n_neighbors: int = 3, max_distinct: int = 20, seed: int = 0
) -> RetainedResult:
    """The share of single-feature information that survives the median split.

    Parameters
    ----------
    X : array, shape (n, D)
        Training rows without missing cells.
    y : array, shape (n,)
        Classes, of any type.
    n_neighbors : of the nearest-neighbour estimate
    max_distinct : features with at most this many distinct values are counted instead
    seed : of the tiny noise that separates tied values for the nearest-neighbour estimate

    Examples
    --------
    >>> bits = np.random.default_rng(0).integers(0, 2, (500, 2))
    >>> retained_information(bits, bits[:, 0]).fraction
    1.0
    """
    from sklearn.feature_selection import mutual_info_classif

    values, target = np.asarray(X, dtype=np.float64), np.asarray(y)
    if values.ndim != 2 or target.shape != values.shape[:1] or target.size == 0:
        raise SynafaError(f"X must be (n, D) and y (n,), with rows, got shapes: {values.shape}, {target.shape}.")
    if not np.isfinite(values).all():
        raise SynafaError("X holds missing or infinite cells; fill them first.")
    _, label = np.unique(check_labels(target, len(values)), return_inverse=True)
    ranked = [np.unique(column, return_inverse=True) for column in values.T]
    continuous = np.array([distinct.size > max_distinct for distinct, _ in ranked], dtype=bool)
    before = np.array([0.0 if large else _plug_in(codes, label) for large, (_, codes) in zip(continuous, ranked)])
    if continuous.any():
        nats = mutual_info_classif(
            values[:, continuous], label, discrete_features=False, n_neighbors=n_neighbors, random_state=seed
        )
        before[continuous] = nats / log(2.0)
    bits = Discretizer(n_bins=2).fit_transform(values)
    after = np.array([_plug_in(column, label) for column in bits.T])
    total = before.sum()
    return RetainedResult(float(after.sum() / total) if total > 0 else float("nan"), before, after, continuous)


def _plug_in(codes: NDArray[np.integer], label: NDArray[np.int64]) -> float:
    """Plug-in `I(X;Y)` in bits of two columns of codes."""
    k = int(label.max()) + 1
    joint = np.bincount(codes.astype(np.int64) * k + label, minlength=(int(codes.max()) + 1) * k).reshape(-1, k)
    p = joint / joint.sum()
    expected = p.sum(axis=1, keepdims=True) * p.sum(axis=0)
    seen = p > 0
    return max(0.0, float((p[seen] * np.log2(p[seen] / expected[seen])).sum()))
