"""What errors cost while the predictor learns, and sets of features that matter most."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.predictor import fit_predictor
from synafa.predictor.masks import FOCUSED, training_masks
from synafa.predictor.stakes import HALF, Stakes

pytestmark = pytest.mark.slow

MATRIX = np.array([[0.0, 1.0], [40.0, 0.0]])


def rare(seed: int, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.05).astype(int)
    return np.column_stack([y + 0.8 * rng.normal(size=n), rng.normal(size=n)]), y


def test_weights_have_mean_one_and_count_the_dearest_mistake() -> None:
    prior = np.array([0.9, 0.1])
    stakes = Stakes.of(MATRIX, prior)
    assert np.isclose(stakes.weights @ prior, 1.0)
    assert np.isclose(stakes.weights[1] / stakes.weights[0], 40.0)
    assert stakes.unequal
    assert not Stakes.of(np.array([[0.0, 2.0], [3.0, 0.0]]), prior).unequal
    assert (Stakes.of(np.zeros((2, 2)), prior).weights == 1.0).all()


def test_probabilities_stay_those_of_the_rows() -> None:
    """Weighted forty times while it learns, the rare class is predicted as often as it is."""
    X, y = rare(0, 3000)
    model = fit_predictor(X, y, 2, error_costs=MATRIX)
    known = np.ones(X.shape, bool)
    for mask in (known, ~known):
        assert abs(model.predict_proba(X, mask)[:, 1].mean() - y.mean()) < 0.02


def test_a_rare_and_dear_class_is_decided_for_where_it_shows() -> None:
    """Over five tables, deciding by expected cost is cheaper than the best decision without any measurement."""
    paid = nothing = 0.0
    for seed in range(5):
        X, y = rare(seed)
        test, truth = rare(100 + seed)
        proba = fit_predictor(X, y, 2, error_costs=MATRIX).predict_proba(test, np.ones(test.shape, bool))
        paid += MATRIX[truth, (proba @ MATRIX).argmin(axis=1)].mean()
        shares = np.array([1 - y.mean(), y.mean()])
        nothing += MATRIX[truth, int((shares @ MATRIX).argmin())].mean()
    assert paid < 0.9 * nothing


def test_networks_alone_are_taken_only_where_their_decisions_are_cheaper() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 4000)
    stakes = Stakes.of(MATRIX, np.array([0.5, 0.5]))
    right = np.where(y[:, None] == np.arange(2), 0.9, 0.1)
    wrong = np.where(y[:, None] == np.arange(2), 0.01, 0.99)
    assert stakes.share(right, wrong, y, 1000) == 0.0
    assert stakes.share(right, right, y, 1000) == HALF
    assert stakes.share(wrong, right, y, 1000) == HALF


def test_half_of_the_masked_copies_know_a_set_that_matters() -> None:
    rng = np.random.default_rng(4)
    observed = rng.random((4000, 6)) < 0.9
    focus = np.zeros((2, 6), bool)
    focus[0, [1, 4]] = focus[1, [2, 3, 5]] = True
    masks = training_masks(observed, rng, focus)
    assert not (masks & ~observed).any()
    hits = sum((masks == (one & observed)).all(axis=1) for one in focus) > 0
    assert hits.mean() > FOCUSED - 0.03


def test_a_set_that_matters_is_predicted_better_when_it_is_said() -> None:
    """Mean log loss with three of fourteen columns known, over four tables."""
    gain = 0.0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(800, 14))
        y = ((X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (X[:, 2] > 1)).astype(int)
        known = np.zeros(X.shape, bool)
        known[:, :3] = True
        for sign, focus in ((1, None), (-1, known[:1])):
            proba = fit_predictor(X[:400], y[:400], 2, focus=focus, seed=seed).predict_proba(X[400:], known[400:])
            gain += sign * -np.log(proba[np.arange(400), y[400:]]).mean()
    assert gain > 0
