"""Cluster and instance bootstraps, and corrections for many tests."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from synafa.errors import SynafaError
from synafa.stats import (
    benjamini_hochberg,
    cluster_bootstrap,
    cluster_bootstrap_correlation,
    clustered_correlation_values,
    clustered_mean_values,
    holm,
    instance_bootstrap,
)
from tests.naive_stats import seeded


def _swaps(n_clusters: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(n_clusters), rng.integers(1, 9, n_clusters))
    shared = rng.normal(size=n_clusters)[clusters]
    x = shared + rng.normal(size=clusters.size)
    return x, 0.3 * x + shared + rng.normal(size=clusters.size), clusters


def test_instance_bootstrap_of_three_means_matches_full_enumeration():
    means = np.array([0.05, 0.09, 0.10])
    every = [np.mean(drawn) for drawn in itertools.product(means, repeat=3)]
    result = instance_bootstrap(means, n_resamples=50_000, confidence=0.8)
    assert result.estimate == pytest.approx(means.mean())
    assert result.low == pytest.approx(np.quantile(every, 0.1, method="inverted_cdf"), abs=1e-9)
    assert result.high == pytest.approx(np.quantile(every, 0.9, method="inverted_cdf"), abs=1e-9)
    assert result.pvalue == 0.0


def test_singleton_clusters_give_scipys_ordinary_bootstrap():
    x = np.random.default_rng(0).normal(0.2, 1.0, 150)
    reference = scipy.stats.bootstrap((x,), np.mean, n_resamples=20_000, method="percentile", **seeded(1))
    reference = reference.confidence_interval
    result = cluster_bootstrap(x, np.arange(150), n_resamples=20_000)
    assert result.low == pytest.approx(reference.low, abs=0.01)
    assert result.high == pytest.approx(reference.high, abs=0.01)


def test_mean_from_sums_is_the_mean_of_the_drawn_clusters():
    x, _, clusters = _swaps(40, 1)
    fast = cluster_bootstrap(x, clusters, "mean", n_resamples=2000, seed=5)
    slow = cluster_bootstrap(x, clusters, np.mean, n_resamples=2000, seed=5)
    for name in ("estimate", "low", "high", "pvalue"):
        assert getattr(fast, name) == pytest.approx(getattr(slow, name), abs=1e-12)


def test_copying_every_row_leaves_the_cluster_interval_unchanged():
    x, _, clusters = _swaps(50, 2)
    once = cluster_bootstrap(x, clusters)
    twice = cluster_bootstrap(np.r_[x, x], np.r_[clusters, clusters])
    assert (once.low, once.high) == pytest.approx((twice.low, twice.high))


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_correlation_matches_pooling_the_drawn_clusters(method):
    x, y, clusters = _swaps(60, 3)
    result = cluster_bootstrap_correlation(x, y, clusters, method=method, n_resamples=10_000)
    reference = scipy.stats.pearsonr if method == "pearson" else scipy.stats.spearmanr
    assert result.estimate == pytest.approx(reference(x, y).statistic)
    rng = np.random.default_rng(9)
    members = [np.flatnonzero(clusters == c) for c in range(60)]
    drawn = [np.concatenate([members[c] for c in rng.integers(0, 60, 60)]) for _ in range(2000)]
    naive = [reference(x[rows], y[rows]).statistic for rows in drawn]
    assert result.low == pytest.approx(np.quantile(naive, 0.025), abs=0.03)
    assert result.high == pytest.approx(np.quantile(naive, 0.975), abs=0.03)


def test_correlation_with_a_constant_is_undefined():
    result = cluster_bootstrap_correlation(np.ones(10), np.arange(10), np.arange(10))
    assert np.isnan(result.estimate)
    assert np.isnan(result.low)


def test_correlation_does_not_depend_on_the_scale_of_the_data():
    x, y, clusters = _swaps(60, 4)
    plain = cluster_bootstrap_correlation(x, y, clusters)
    scaled = cluster_bootstrap_correlation(1e-6 * x + 5.0, 1e6 * y - 7.0, clusters)
    assert (plain.low, plain.high) == pytest.approx((scaled.low, scaled.high), abs=1e-6)


def test_missing_values_are_refused():
    with pytest.raises(SynafaError, match="finite"):
        cluster_bootstrap([1.0, np.nan], [0, 1])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.01, 0.3))
def test_corrections_agree_with_statsmodels(p, level):
    for ours, name in ((benjamini_hochberg, "fdr_bh"), (holm, "holm")):
        _, adjusted, _, _ = multipletests(p, alpha=level, method=name)
        result = ours(p, level)
        np.testing.assert_allclose(result.adjusted, adjusted, atol=1e-12)
        np.testing.assert_array_equal(result.rejected, result.adjusted <= level)


def test_no_tests_reject_nothing():
    assert benjamini_hochberg([]).n_rejected == 0


def test_a_missing_pvalue_is_refused():
    with pytest.raises(SynafaError, match="between 0 and 1"):
        holm([0.1, np.nan])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["mean", "pearson", "spearman"])
def test_row_values_have_the_statistic_as_their_mean_and_the_clusters_error_as_their_own(method: str, seed: int):
    """The mean over rows is the statistic itself; the spread of that mean is what resampling whole clusters gives."""
    x, y, clusters = _swaps(400, seed)
    if method == "mean":
        values, expected = clustered_mean_values(x, clusters, 400), x.mean()
        wide = cluster_bootstrap(x, clusters, n_resamples=4000)
    else:
        values = clustered_correlation_values(x, y, clusters, 400, method)
        statistic = scipy.stats.pearsonr if method == "pearson" else scipy.stats.spearmanr
        expected = statistic(x, y).statistic
        wide = cluster_bootstrap_correlation(x, y, clusters, method=method, n_resamples=4000)
    assert values.mean() == pytest.approx(expected, abs=1e-12)
    error = values.std(ddof=1) / np.sqrt(400)
    assert 2 * 1.96 * error == pytest.approx(wide.high - wide.low, rel=0.1)


def test_row_values_of_a_constant_side_are_missing_and_another_method_is_refused():
    x, _, clusters = _swaps(10, 0)
    assert np.isnan(clustered_correlation_values(x, np.ones_like(x), clusters, 10)).all()
    with pytest.raises(SynafaError, match="pearson"):
        clustered_correlation_values(x, x, clusters, 10, "kendall")
