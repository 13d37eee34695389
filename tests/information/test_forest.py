"""A packed forest says what scikit-learn's says, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from synafa.errors import SynafaError
from synafa.information.forest import Forest
from tests import naive


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Features with many ties, negative values and both zeros; a target of every size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1] * 3) / 3
    X[:, 2] = rng.choice(np.array([-0.0, 0.0, 1e-30, -1e-30, 5.0], np.float32), 700)
    return X, X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=700)


@pytest.fixture(scope="module")
def regressor(rows):
    return RandomForestRegressor(15, random_state=0).fit(*rows)


def asked(rows, fitted) -> np.ndarray:
    """Rows near the training rows, some again and again, and rows whose values are thresholds."""
    X = np.concatenate([rows[0], rows[0][:50], rows[0] + np.float32(0.3)])
    for f in range(X.shape[1]):
        tree = fitted.estimators_[f].tree_
        found = tree.threshold[tree.feature == f][:100].astype(np.float32)
        X[: len(found), f] = found
    return X


def test_a_regressor_says_what_it_says_in_scikit_learn(rows, regressor):
    X = asked(rows, regressor)
    found = Forest.of(regressor).mean(X)
    assert np.array_equal(found, regressor.predict(X))
    assert found[:60].tolist() == [naive.forest_mean(regressor, row) for row in X[:60]]


def test_a_classifier_says_what_it_says_in_scikit_learn(rows):
    classifier = RandomForestClassifier(15, random_state=0, min_samples_leaf=3).fit(rows[0], rows[1] > 0.2)
    X = asked(rows, classifier)
    found = Forest.of(classifier).mean(X)
    assert np.array_equal(found, classifier.predict_proba(X)[:, 1])
    assert found[:60].tolist() == [naive.forest_mean(classifier, row) for row in X[:60]]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 17, 300])
def test_an_answer_does_not_depend_on_the_other_rows(rows, regressor, n):
    forest = Forest.of(regressor)
    assert np.array_equal(forest.mean(rows[0][:n]), forest.mean(rows[0])[:n])


def test_a_constant_forest_says_one_thing(rows):
    assert (Forest.constant(0.25).mean(rows[0]) == 0.25).all()


def test_a_forest_of_too_many_features_is_refused():
    X = np.random.default_rng(0).random((30, 17))
    with pytest.raises(SynafaError, match="at most 16 features"):
        Forest.of(RandomForestRegressor(2, random_state=0).fit(X, X[:, 0]))
