"""Metrics: the standard ones agree with scikit-learn, the others with what they are said to mean."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.metrics as skm
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa.errors import SynafaError
from synafa.evaluation import metrics


def drawn(seed, n=60, k=2, coarse=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, size=n)
    y[:k] = np.arange(k)
    p = rng.dirichlet(np.ones(k), size=n)
    if coarse:  # many ties
        p = np.round(p * 4) + 0.1
        p = p / p.sum(axis=1, keepdims=True)
    return y, p


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.booleans())
def test_standard_metrics_agree_with_scikit_learn(seed, k, coarse):
    y, p = drawn(seed, k=k, coarse=coarse)
    ours, predicted = metrics.prediction_metrics(y, p), p.argmax(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        area = skm.roc_auc_score(y, p[:, 1]) if k == 2 else skm.roc_auc_score(y, p, multi_class="ovr")
    judged = {
        "accuracy": skm.accuracy_score(y, predicted),
        "balanced_accuracy": skm.balanced_accuracy_score(y, predicted),
        "macro_f1": skm.f1_score(y, predicted, average="macro"),
        "auroc": area,
        "log_loss": skm.log_loss(y, p, labels=range(k)),
    }
    assert {name: ours[name] for name in judged} == pytest.approx(judged, abs=1e-12)


def test_calibration_error_is_the_gap_between_confidence_and_accuracy():
    p = np.array([[0.2, 0.8]] * 10)
    y = np.array([1] * 8 + [0] * 2)
    assert metrics.calibration_error(y, p) == pytest.approx(0)
    assert metrics.calibration_error(1 - y, p) == pytest.approx(0.6)
    # two bins that err in opposite directions do not cancel
    p = np.array([[0.4, 0.6]] * 10 + [[0.1, 0.9]] * 10)
    y = np.array([1] * 8 + [0] * 2 + [1] * 7 + [0] * 3)
    assert metrics.calibration_error(y, p) == pytest.approx((0.2 + 0.2) / 2)


def test_metrics_without_a_second_class_or_without_rows_are_not_numbers():
    y, p = np.zeros(5, dtype=np.int64), np.tile([0.7, 0.3], (5, 1))
    assert np.isnan(metrics.auroc(y, p))
    assert all(np.isnan(v) for v in metrics.prediction_metrics(y[:0], p[:0]).values())


def test_a_certain_mistake_has_a_finite_loss():
    assert 10 < metrics.log_loss(np.array([1]), np.array([[1.0, 0.0]])) < 20


def test_acquired_sets_are_counted_as_sets():
    mask = np.zeros((6, 20), dtype=bool)
    mask[:4, [3, 17]] = True
    mask[4, 3] = True
    assert metrics.acquired_sets(mask) == (3, 4 / 6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 1), st.booleans())
def test_a_matched_threshold_gives_the_nearest_share_there_is(seed, share, coarse):
    scores = drawn(seed, n=30, coarse=coarse)[1][:, 1]
    threshold = metrics.matched_threshold(scores, share)
    cuts = [-np.inf, *np.sort(scores)]
    nearest = min(abs(np.mean(scores > t) - share) for t in cuts)
    assert abs(np.mean(scores > threshold) - share) == pytest.approx(nearest, abs=1e-12)


def test_a_policy_that_only_leans_to_the_majority_gains_nothing_at_a_matched_threshold():
    rng = np.random.default_rng(0)
    n = 4000
    y = (rng.random(n) < 0.15).astype(np.int64)
    logit = 2.0 * (y - 0.5) + rng.normal(size=n)

    def probabilities(shift):
        p = 1 / (1 + np.exp(-(logit + shift)))
        return np.column_stack([1 - p, p])

    fair, leaning = probabilities(0.5), probabilities(-3.0)
    plain = metrics.accuracy(y, leaning.argmax(axis=1)) - metrics.accuracy(y, fair.argmax(axis=1))
    half = n // 2
    result = metrics.threshold_matched_difference(
        (y[:half], leaning[:half], fair[:half]), (y[half:], leaning[half:], fair[half:])
    )
    assert plain > 0.05
    assert result.difference == 0
    assert result.share == y[:half].mean()
    assert result.share_a == result.share_b


def test_better_scores_win_at_a_matched_threshold():
    rng = np.random.default_rng(1)
    y = (rng.random(3000) < 0.3).astype(np.int64)

    def probabilities(signal):
        p = 1 / (1 + np.exp(-(signal * (y - 0.5) + rng.normal(size=len(y)))))
        return np.column_stack([1 - p, p])

    good, poor = probabilities(4), probabilities(0.5)
    result = metrics.threshold_matched_difference(
        (y[:1000], good[:1000], poor[:1000]), (y[1000:], good[1000:], poor[1000:])
    )
    assert 0 < result.low < result.difference < result.high
    assert result.difference == pytest.approx(result.accuracy_a - result.accuracy_b)


def test_three_classes_have_no_matched_threshold():
    y, p = drawn(0, k=3)
    with pytest.raises(SynafaError, match="two classes only"):
        metrics.threshold_matched_difference((y, p, p), (y, p, p))
