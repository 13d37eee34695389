"""Bootstraps that resample whole clusters, for values that depend on each other within a cluster.

A mean or a correlation is a function of sums, and sums add over clusters: `sum_c w_c * S_c` with bootstrap weights
`w` over clusters and per-cluster sums `S`. One matrix product per chunk of resamples does all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError
from synafa.stats.resampling import check_paired, check_resampling, replicate_test, resample_indices, resample_weights


@dataclass(frozen=True)
class BootstrapResult:
    """An estimate, its percentile interval, the two-sided p-value against 0, and what was resampled."""

    estimate: float
    low: float
    high: float
    pvalue: float
    n: int
    n_clusters: int


def cluster_bootstrap(
    values: ArrayLike,
    clusters: ArrayLike,
    statistic: str | Callable[[NDArray[np.float64]], float] = "mean",
    n_resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> BootstrapResult:
    """Bootstrap a statistic of `values`, drawing whole clusters with replacement.

    `statistic` is "mean" (fast, from per-cluster sums) or a function of the pooled values of the drawn clusters.

    >>> cluster_bootstrap([1.0, 3.0, 5.0], [0, 0, 1]).estimate
    3.0
    """
    check_resampling(n_resamples, confidence)
    x, label, n_clusters = _checked(values, clusters)
    rng = np.random.default_rng(seed)
    if callable(statistic):
        order = np.argsort(label, kind="stable")
        members = np.split(x[order], np.cumsum(np.bincount(label))[:-1])
        estimate = float(statistic(x))
        replicates = np.array(
            [
                statistic(np.concatenate([members[c] for c in drawn]))
                for chunk in resample_indices(rng, n_clusters, n_resamples)
                for drawn in chunk
            ]
        )
    elif statistic == "mean":
        estimate = float(x.mean())
        sums = _sums_by_cluster(label, x - estimate, np.ones_like(x))
        totals = _resampled_sums(sums, n_resamples, rng)
        replicates = estimate + totals[:, 0] / totals[:, 1]
    else:
        raise SynafaError(f"statistic must be 'mean' or a function, got: {statistic!r}.")
    return BootstrapResult(estimate, *replicate_test(replicates, confidence), x.size, n_clusters)


def cluster_bootstrap_correlation(
    x: ArrayLike,
    y: ArrayLike,
    clusters: ArrayLike,
    method: str = "pearson",
    n_resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> BootstrapResult:
    """Bootstrap a correlation, drawing whole clusters with replacement.

    `method` is "pearson" or "spearman". For "spearman" the ranks are those of the full sample in every resample
    (computed once, average ranks for ties): an approximation whose error is of the order of the share of ties that
    resampling creates, small beside the width of the interval. Resamples in which a side is constant are dropped;
    when either side is constant to begin with, everything is NaN.
    """
    check_resampling(n_resamples, confidence)
    first, label, n_clusters = _checked(x, clusters)
    second = np.asarray(y, dtype=np.float64)
    if second.shape != first.shape:
        raise SynafaError(f"x and y must be equally long, got shapes: {first.shape}, {second.shape}.")
    if method == "spearman":
        from scipy.stats import rankdata

        first, second = rankdata(first), rankdata(second)
    elif method != "pearson":
        raise SynafaError(f"method must be 'pearson' or 'spearman', got: {method!r}.")
    first, second = _standardised(first), _standardised(second)  # keeps the sums of squares well conditioned
    squares = (first * first, second * second, first * second)
    sums = _sums_by_cluster(label, np.ones_like(first), first, second, *squares)
    estimate = float(_correlation(sums.sum(axis=0, keepdims=True))[0])
    if not np.isfinite(estimate):
        return BootstrapResult(np.nan, np.nan, np.nan, np.nan, first.size, n_clusters)
    replicates = _correlation(_resampled_sums(sums, n_resamples, np.random.default_rng(seed)))
    replicates = replicates[np.isfinite(replicates)]
    tested = replicate_test(replicates, confidence) if replicates.size else (np.nan, np.nan, np.nan)
    return BootstrapResult(estimate, *tested, first.size, n_clusters)


def instance_bootstrap(
    means: ArrayLike, n_resamples: int = 10_000, seed: int = 0, confidence: float = 0.95
) -> BootstrapResult:
    """Bootstrap the mean of a few per-instance means (each dataset instance is one unit).

    >>> instance_bootstrap([0.07, 0.08, 0.09]).estimate
    0.08
    """
    values = np.asarray(means, dtype=np.float64)
    return cluster_bootstrap(values, np.arange(values.size), "mean", n_resamples, seed, confidence)


def _checked(values: ArrayLike, clusters: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    x, groups = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    check_paired(values=x, clusters=groups)
    if not np.isfinite(x).all():
        raise SynafaError("values must be finite; drop or fill the missing ones first.")
    names, label = np.unique(groups, return_inverse=True)
    return x, label, names.size


def _sums_by_cluster(label: NDArray[np.int64], *columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of each column within each cluster, shape (clusters, columns)."""
    return np.stack([np.bincount(label, column).astype(np.float64) for column in columns], axis=1)


def _resampled_sums(sums: NDArray[np.float64], n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Sums over the drawn clusters, shape (n_resamples, columns of `sums`)."""
    weights = resample_weights(rng, sums.shape[0], n_resamples)
    return np.concatenate([chunk @ sums for chunk in weights])


def _standardised(x: NDArray[np.float64]) -> NDArray[np.float64]:
    deviation = x.std()
    return (x - x.mean()) / (deviation if deviation > 0 else 1.0)


def _correlation(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson correlation from rows of (n, sum x, sum y, sum xx, sum yy, sum xy); NaN where a side is constant."""
    n, sx, sy, sxx, syy, sxy = sums.T
    variance = (sxx - sx * sx / n) * (syy - sy * sy / n)
    usable = variance > 1e-18 * n * n
    return np.where(usable, (sxy - sx * sy / n) / np.sqrt(np.where(usable, variance, 1.0)), np.nan)
