"""Two policies judged on the same rows: paired bootstrap of a difference, and the exact sign test.

The accuracy difference is `(wins - losses) / n`, so resampling rows is the same as drawing
`(wins*, losses*, ties*)` from a multinomial with the observed shares: the same law for 1/n of the work.
The other metrics are bootstrapped in the same spirit, from cell counts or from row weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError
from synafa.stats.resampling import (
    check_bits,
    check_paired,
    check_resampling,
    replicate_test,
    resample_indices,
    resample_weights,
)


@dataclass(frozen=True)
class PairedResult:
    """Difference of a metric, first minus second, over `n` paired rows.

    `low`, `high` bound the percentile interval. `pvalue` is `2 * min(P(d* <= 0), P(d* >= 0))`, at most 1; it is 0
    when no resample crossed zero (read: below 2 / n_resamples), and 1 when the two never disagree.
    `wins` (`losses`) counts the rows that only the first (second) got right.
    """

    difference: float
    low: float
    high: float
    pvalue: float
    n: int
    wins: int
    losses: int


@dataclass(frozen=True)
class SignTestResult:
    """Exact two-sided sign test of equal wins and losses; ties do not enter."""

    pvalue: float
    wins: int
    losses: int


def paired_bootstrap(
    correct_a: ArrayLike,
    correct_b: ArrayLike,
    n_resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
    method: str = "multinomial",
) -> PairedResult:
    """Two-sided paired bootstrap of the accuracy difference of two policies on the same rows.

    Parameters
    ----------
    correct_a, correct_b : array of bool, shape (n,)
        Whether each row was classified correctly under the first and the second policy.
    n_resamples, seed, confidence
        Number of resamples, seed of the generator, level of the percentile interval.
    method : "multinomial" or "rows"
        Draw the discordant counts (default), or re-index rows; both have the same law.

    Examples
    --------
    >>> result = paired_bootstrap([1, 1, 1, 0, 1], [1, 0, 0, 0, 1])
    >>> result.wins, result.losses, round(result.difference, 2)
    (2, 0, 0.4)
    """
    check_resampling(n_resamples, confidence)
    a, b = _paired_flags(correct_a, correct_b)
    n, wins, losses = a.size, int(np.sum(a & ~b)), int(np.sum(b & ~a))
    difference = (wins - losses) / n
    rng = np.random.default_rng(seed)
    if method == "multinomial":
        shares = np.array([wins, losses, n - wins - losses]) / n
        drawn = rng.multinomial(n, shares, size=n_resamples)
        replicates = (drawn[:, 0] - drawn[:, 1]) / n
    elif method == "rows":
        sign = a.astype(np.int64) - b.astype(np.int64)
        replicates = np.concatenate([sign[index].sum(axis=1) / n for index in resample_indices(rng, n, n_resamples)])
    else:
        raise SynafaError(f"method must be 'multinomial' or 'rows', got: {method!r}.")
    return PairedResult(difference, *replicate_test(replicates, confidence), n, wins, losses)


def paired_bootstrap_statistic(
    a: ArrayLike,
    b: ArrayLike,
    y: ArrayLike,
    statistic: str = "balanced_accuracy",
    n_resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> PairedResult:
    """Paired bootstrap of a difference in balanced accuracy or AUROC.

    Parameters
    ----------
    a, b : array, shape (n,)
        Predicted classes (`balanced_accuracy`) or scores of class 1 (`auroc`) of the two policies.
    y : array of int, shape (n,)
        True classes; exactly two of them for `auroc`.

    Resamples that miss a class are averaged over the classes they hold (balanced accuracy) or dropped (AUROC).
    For `auroc`, `wins` and `losses` count the rows whose score is nearer to their class under `a` or `b`.
    """
    check_resampling(n_resamples, confidence)
    first, second, truth = np.asarray(a), np.asarray(b), np.asarray(y)
    check_paired(a=first, b=second, y=truth)
    rng = np.random.default_rng(seed)
    classes, label = np.unique(truth, return_inverse=True)
    if statistic == "balanced_accuracy":
        right_a, right_b = first == truth, second == truth
        better, worse = right_a & ~right_b, right_b & ~right_a
        observed, replicates = _balanced(better, worse, label, classes.size, n_resamples, rng)
    elif statistic == "auroc":
        if classes.size != 2:
            raise SynafaError(f"auroc needs exactly two classes in y, got: {classes.size}.")
        nearer = (first.astype(np.float64) - second.astype(np.float64)) * (2 * label - 1)
        better, worse = nearer > 0, nearer < 0
        observed, replicates = _auroc(first, second, label, n_resamples, rng)
    else:
        raise SynafaError(f"statistic must be 'balanced_accuracy' or 'auroc', got: {statistic!r}.")
    tested = replicate_test(replicates, confidence)
    return PairedResult(observed, *tested, first.size, int(better.sum()), int(worse.sum()))


def sign_test(wins: int, losses: int) -> SignTestResult:
    """Exact two-sided sign test (McNemar's exact test) of `wins` against `losses`.

    >>> round(sign_test(8, 1).pvalue, 4)
    0.0391
    """
    from scipy.stats import binomtest

    if wins < 0 or losses < 0:
        raise SynafaError(f"wins and losses must not be negative, got: {wins}, {losses}.")
    pvalue = 1.0 if wins + losses == 0 else float(binomtest(wins, wins + losses, 0.5).pvalue)
    return SignTestResult(pvalue, wins, losses)


def _paired_flags(correct_a: ArrayLike, correct_b: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    a, b = np.asarray(correct_a), np.asarray(correct_b)
    check_paired(correct_a=a, correct_b=b)
    check_bits("must hold only 0 and 1 (was the row classified correctly?).", correct_a=a, correct_b=b)
    return a.astype(bool), b.astype(bool)


def _balanced(
    better: NDArray[np.bool_],
    worse: NDArray[np.bool_],
    label: NDArray[np.int64],
    n_classes: int,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[float, NDArray[np.float64]]:
    """Observed and resampled differences from the 3K counts of (class; better, worse, same)."""
    outcome = np.where(better, 0, np.where(worse, 1, 2))
    cells = np.bincount(label * 3 + outcome, minlength=3 * n_classes)
    drawn = rng.multinomial(label.size, cells / label.size, size=n_resamples)
    both = np.vstack([cells, drawn]).reshape(-1, n_classes, 3)
    size = both.sum(axis=2)
    recall = (both[:, :, 0] - both[:, :, 1]) / np.maximum(size, 1)
    differences = recall.sum(axis=1) / (size > 0).sum(axis=1)
    return float(differences[0]), differences[1:]


def _auroc(
    first: NDArray[Any], second: NDArray[Any], label: NDArray[np.int64], n_resamples: int, rng: np.random.Generator
) -> tuple[float, NDArray[np.float64]]:
    """Observed and resampled AUROC differences; each score is sorted once, resamples only reweight the rows."""
    from synafa.stats.paired_kernels import weighted_auroc

    n, positive = label.size, label == 1
    sides = [_sorted_once(score) for score in (first, second)]

    def difference(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        values = [weighted_auroc(weights, order, last_of_tie, positive) for order, last_of_tie in sides]
        return values[0] - values[1]

    observed = float(difference(np.ones((1, n)))[0])
    replicates = np.concatenate([difference(weights) for weights in resample_weights(rng, n, n_resamples)])
    replicates = replicates[np.isfinite(replicates)]
    if replicates.size == 0:
        raise SynafaError("No resample holds both classes; auroc needs more rows of the rarer class.")
    return observed, replicates


def _sorted_once(score: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The ascending order of the scores, and where in it each run of tied scores ends."""
    order = np.argsort(score, kind="stable")
    ranked = score[order]
    return order, np.r_[ranked[1:] != ranked[:-1], True]
