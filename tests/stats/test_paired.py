"""Paired tests: two policies on the same rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from synafa.errors import SynafaError
from synafa.stats import paired_bootstrap, paired_bootstrap_statistic, sign_test
from tests.naive_stats import seeded


def _flags(wins: int, losses: int, ties: int) -> tuple[np.ndarray, np.ndarray]:
    a = np.r_[np.ones(wins), np.zeros(losses), np.ones(ties)]
    b = np.r_[np.zeros(wins), np.ones(losses), np.ones(ties)]
    return a, b


def test_drawing_discordant_counts_has_the_law_of_reindexing_rows():
    a, b = _flags(30, 18, 152)
    fast = paired_bootstrap(a, b, n_resamples=40_000, seed=1)
    slow = paired_bootstrap(a, b, n_resamples=40_000, seed=2, method="rows")
    assert fast.difference == slow.difference == pytest.approx(0.06)
    assert (fast.wins, fast.losses, fast.n) == (slow.wins, slow.losses, slow.n) == (30, 18, 200)
    assert fast.pvalue == pytest.approx(slow.pvalue, abs=0.006)
    assert fast.low == pytest.approx(slow.low, abs=0.006)
    assert fast.high == pytest.approx(slow.high, abs=0.006)


def test_interval_and_pvalue_match_the_exact_multinomial_law():
    # d* = W - L with (W, L, T) multinomial: its law by convolution over single rows
    step = np.array([18, 152, 30]) / 200  # -1, 0, +1
    law = np.array([1.0])
    for _ in range(200):
        law = np.convolve(law, step)
    support = np.arange(-200, 201)
    exact = 2 * law[support <= 0].sum()
    result = paired_bootstrap(*_flags(30, 18, 152), n_resamples=200_000)
    assert result.pvalue == pytest.approx(exact, abs=0.003)
    cumulative = np.cumsum(law)
    assert result.low * 200 == pytest.approx(support[np.searchsorted(cumulative, 0.025)], abs=1)
    assert result.high * 200 == pytest.approx(support[np.searchsorted(cumulative, 0.975)], abs=1)


def test_interval_agrees_with_scipy_bootstrap():
    a, b = _flags(30, 18, 152)
    reference = scipy.stats.bootstrap(
        ((a - b),), np.mean, n_resamples=20_000, method="percentile", **seeded(0)
    ).confidence_interval
    result = paired_bootstrap(a, b, n_resamples=20_000)
    assert result.low == pytest.approx(reference.low, abs=0.006)
    assert result.high == pytest.approx(reference.high, abs=0.006)


def test_policies_that_never_disagree_have_p_one_and_an_empty_interval():
    result = paired_bootstrap(np.ones(50), np.ones(50))
    assert (result.pvalue, result.difference, result.low, result.high) == (1.0, 0.0, 0.0, 0.0)


def test_swapping_the_policies_flips_the_sign():
    a, b = _flags(40, 5, 55)
    forward, backward = paired_bootstrap(a, b), paired_bootstrap(b, a)
    assert forward.difference == -backward.difference
    assert forward.pvalue == pytest.approx(backward.pvalue, abs=0.01)
    assert forward.pvalue < 0.001


def test_the_same_seed_gives_the_same_answer():
    a, b = _flags(12, 9, 79)
    assert paired_bootstrap(a, b, seed=3) == paired_bootstrap(a, b, seed=3)
    assert paired_bootstrap(a, b, seed=3) != paired_bootstrap(a, b, seed=4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0], [1]), "equally long"),
        (([], []), "not empty"),
        (([0.3, 1], [1, 0]), "correct_a must hold only 0 and 1"),
    ],
)
def test_bad_flags_are_named(arguments, message):
    with pytest.raises(SynafaError, match=message):
        paired_bootstrap(*arguments)


def test_an_unknown_method_is_named():
    with pytest.raises(SynafaError, match="'jackknife'"):
        paired_bootstrap([1, 0], [0, 1], method="jackknife")


@pytest.mark.slow
def test_balanced_accuracy_difference_matches_reindexing_rows():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.2).astype(int)
    a = np.where(rng.random(300) < 0.75, y, 1 - y)
    b = np.where(rng.random(300) < 0.65, y, 1 - y)
    result = paired_bootstrap_statistic(a, b, y, n_resamples=20_000)
    assert result.difference == pytest.approx(balanced_accuracy_score(y, a) - balanced_accuracy_score(y, b))
    rows = [rng.integers(0, 300, 300) for _ in range(3000)]
    naive = [balanced_accuracy_score(y[r], a[r]) - balanced_accuracy_score(y[r], b[r]) for r in rows]
    assert result.low == pytest.approx(np.quantile(naive, 0.025), abs=0.015)
    assert result.high == pytest.approx(np.quantile(naive, 0.975), abs=0.015)


@pytest.mark.slow
def test_auroc_difference_with_ties_matches_reindexing_rows():
    rng = np.random.default_rng(1)
    y = (rng.random(200) < 0.3).astype(int)
    a = np.round(y * 0.8 + rng.normal(size=200), 1)
    b = np.round(y * 0.4 + rng.normal(size=200), 1)
    result = paired_bootstrap_statistic(a, b, y, statistic="auroc", n_resamples=4000)
    assert result.difference == pytest.approx(roc_auc_score(y, a) - roc_auc_score(y, b))
    rows = [rng.integers(0, 200, 200) for _ in range(2000)]
    naive = [roc_auc_score(y[r], a[r]) - roc_auc_score(y[r], b[r]) for r in rows]
    assert result.low == pytest.approx(np.quantile(naive, 0.025), abs=0.02)
    assert result.high == pytest.approx(np.quantile(naive, 0.975), abs=0.02)


def test_auroc_refuses_three_classes():
    with pytest.raises(SynafaError, match="exactly two classes"):
        paired_bootstrap_statistic([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0, 1, 2], statistic="auroc")


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (5, 0), (8, 1), (3, 3), (40, 61)])
def test_sign_test_is_the_doubled_smaller_binomial_tail(wins, losses):
    n = wins + losses
    exact = min(1.0, 2 * scipy.stats.binom.cdf(min(wins, losses), n, 0.5))
    assert sign_test(wins, losses).pvalue == pytest.approx(exact)
    assert sign_test(losses, wins).pvalue == pytest.approx(exact)
