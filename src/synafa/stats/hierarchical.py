"""Intervals that cover test rows and seeds together: a crossed bootstrap, corrected for having few seeds.

`values[s, i]` is what run `s` (a classifier's seed, a draw, a training) scored on test row `i`; every run is judged on
the same rows, so rows and runs are crossed. With mean squares `MS` of the analysis of variance and `N` values,

    Var(mean) = (MS_rows + MS_runs - MS_rows:runs) / N,

and by inclusion and exclusion with more factors. Resampling rows and runs independently counts their interaction three
times and, with five runs, misses a fifth of their variance and all of the tail. So the resampled deviations are scaled
to the unbiased variance and each is divided by `sqrt(chi2_df / df)` with Satterthwaite's degrees of freedom `df`: with
many runs that is the plain bootstrap of rows, with few and different ones the t interval of their means.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError
from synafa.stats.resampling import check_resampling, kept_weights, replicate_test

_FEW_PATTERNS = 4  # below n / 4 distinct rows it is cheaper to draw how often each pattern occurs


@dataclass(frozen=True)
class HierarchicalResult:
    """A mean over runs and rows, its interval and two-sided p-value against 0.

    Attributes
    ----------
    estimate, low, high, pvalue : float
        `pvalue` is 0 when no resample crossed zero: read it as below 2 / n_resamples.
    se : float
        Standard error over rows and runs together.
    df : float
        Satterthwaite's degrees of freedom.
    n : int
        Number of rows.
    runs : tuple of int
        Number of runs along each factor.
    """

    estimate: float
    low: float
    high: float
    pvalue: float
    se: float
    df: float
    n: int
    runs: tuple[int, ...]


def hierarchical_bootstrap(
    values: ArrayLike, n_resamples: int = 10_000, seed: int = 0, confidence: float = 0.95
) -> HierarchicalResult:
    """Bootstrap the mean of `values` over rows and over every other factor at once.

    Parameters
    ----------
    values : array of float, shape (n,), (runs, n) or (runs, more runs, n)
        The last axis are test rows, the others are what was repeated: seeds of the classifier, trainings of a policy.
        Every run must have been judged on the same rows. A factor of one run tells nothing of its spread and is left
        out: the interval then holds for that run.
    n_resamples : int, default 10_000
        Number of resamples.
    seed : int, default 0
        Seed of the generator.
    confidence : float, default 0.95
        Level of the interval.

    Returns
    -------
    HierarchicalResult

    Raises
    ------
    SynafaError
        When `values` is empty or holds a missing value, or a setting is out of range.

    Examples
    --------
    >>> two_runs = [[1, 0, 1, 0, 1, 1], [1, 0, 1, 1, 1, 1]]
    >>> found = hierarchical_bootstrap(two_runs, n_resamples=2000)
    >>> round(found.estimate, 2), found.runs, found.n
    (0.75, (2,), 6)
    """
    check_resampling(n_resamples, confidence)
    x = np.asarray(values, dtype=np.float64)
    if x.ndim < 1 or x.size == 0:
        raise SynafaError(f"values must have rows along its last axis and not be empty, got shape: {x.shape}.")
    if not np.isfinite(x).all():
        raise SynafaError("values must be finite; drop or fill the missing ones first.")
    runs, n = x.shape[:-1], x.shape[-1]
    estimate = float(x.mean())
    kept = x.reshape(*(size for size in runs if size > 1), n)
    variance, df = crossed_variance(kept)
    if variance <= 0.0:  # one row, or every run says the same of every row
        pvalue = 1.0 if estimate == 0.0 else 0.0
        return HierarchicalResult(estimate, estimate, estimate, pvalue, 0.0, df, n, runs)
    rng = np.random.default_rng(seed)
    deviation = _resampled(kept - estimate, n_resamples, rng)
    spread = float(deviation.std())
    heavy = np.sqrt(df / rng.chisquare(df, n_resamples)) if np.isfinite(df) else 1.0
    scale = variance**0.5 / spread if spread > 0 else 0.0
    replicates = estimate + (deviation - deviation.mean()) * scale * heavy
    tested = replicate_test(replicates, confidence)
    return HierarchicalResult(estimate, *tested, variance**0.5, df, n, runs)


def crossed_variance(values: NDArray[np.float64]) -> tuple[float, float]:
    """Variance of the mean of a crossed array, all factors random, and Satterthwaite's degrees of freedom.

    The estimate is unbiased; where chance takes it below the part of an interaction of runs, or of the highest one,
    that part stands: such an interaction is subtracted from the runs' own parts, and would otherwise leave next to no
    variance with next to no degrees of freedom. These are never fewer than those of the factor with the fewest levels.
    """
    squares = _mean_squares(values)
    axes, total = tuple(range(values.ndim)), values.size
    rows = axes[-1]
    if values.shape[rows] < 2:
        return 0.0, np.inf
    variance, lost, together = 0.0, 0.0, 0.0
    for factors, (square, free) in squares.items():
        variance += (1 if len(factors) % 2 else -1) * square / total
        lost += (square / total) ** 2 / free
        if len(factors) > 1 and rows not in factors:
            together = max(together, square / total)
    variance = max(variance, together)
    floor, free = squares[axes][0] / total, squares[(rows,)][1]
    if variance <= floor:
        return floor, float(free)
    return variance, float(max(variance**2 / lost, min(values.shape) - 1))


def _mean_squares(values: NDArray[np.float64]) -> dict[tuple[int, ...], tuple[float, int]]:
    """Mean square and degrees of freedom of every main effect and interaction, by its axes."""
    axes = tuple(range(values.ndim))
    subsets = chain.from_iterable(combinations(axes, size) for size in range(1, values.ndim + 1))
    found = {}
    for factors in subsets:
        others = tuple(axis for axis in axes if axis not in factors)
        effect = values.mean(axis=others, keepdims=True) if others else values
        for axis in factors:
            effect = effect - effect.mean(axis=axis, keepdims=True)
        free = int(np.prod([values.shape[axis] - 1 for axis in factors]))
        repeated = int(np.prod([values.shape[axis] for axis in others]))
        found[factors] = (float((effect**2).sum()) * repeated / max(free, 1), max(free, 1))
    return found


def _resampled(centred: NDArray[np.float64], n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Means of `centred` when rows and the runs of each factor are drawn with replacement, independently."""
    n, runs = centred.shape[-1], centred.shape[:-1]
    flat = centred.reshape(-1, n)
    patterns, counts = np.unique(flat, axis=1, return_counts=True)
    if patterns.shape[1] * _FEW_PATTERNS <= n:
        rows = rng.multinomial(n, counts / n, size=n_resamples) @ patterns.T / n
    else:
        rows = np.concatenate([weights @ flat.T / n for weights in kept_weights(rng, n, n_resamples)])
    found = rows.reshape(n_resamples, *runs)
    for size in reversed(runs):
        drawn = rng.multinomial(size, np.full(size, 1.0 / size), size=n_resamples) / size
        found = np.einsum("b...k,bk->b...", found, drawn)
    return found
