"""Cross-fitting: a row's prediction never saw the row, nor its group."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.errors import SynafaError
from synafa.predictor import cross_fit, fit_predictor, log_loss
from synafa.predictor.folds import deal_folds, inner_folds


def row_ids(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Classes by chance; a text column names a pair of rows of the same class, so that it can only be memorised."""
    rng = np.random.default_rng(seed)
    pair = np.repeat(np.arange(n // 2), 2)
    y = np.repeat(rng.integers(0, 2, n // 2), 2)
    return pair[:, None].astype(float), y, [n // 2]


def test_rows_of_a_group_are_not_seen() -> None:
    X, y, categories = row_ids(56, 0)
    known = np.ones(X.shape, dtype=bool)
    memorised = fit_predictor(X, y, 2, categories=categories).predict_proba(X, known)
    together = cross_fit(X, y, 2, folds=4, groups=X[:, 0], categories=categories).predict_proba(X, known)
    apart = cross_fit(X, y, 2, folds=4, categories=categories).predict_proba(X, known)
    assert log_loss(memorised, y) < 0.5
    assert log_loss(apart, y) < log_loss(together, y) - 0.05  # the twin gives it away
    assert log_loss(together, y) > 0.66


def test_a_fold_s_predictor_does_not_change_with_its_rows() -> None:
    """Whatever the rows of a fold hold, the predictor for them is the same to the last bit."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), np.arange(120) % 2
    before = cross_fit(X, y, 2, folds=3, seed=5)
    hidden = before.fold == 1
    changed = X.copy()
    changed[hidden] = 1e6
    after = cross_fit(changed, y, 2, folds=3, seed=5)
    one, two = before.predictors[1].to_arrays()[0], after.predictors[1].to_arrays()[0]
    assert all(np.array_equal(one[name], two[name]) for name in one)
    other = after.predictors[0].to_arrays()[0]
    assert not np.array_equal(before.predictors[0].to_arrays()[0]["number_weights"], other["number_weights"])


def test_rows_may_come_in_any_order_and_number() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    fitted = cross_fit(X, (X[:, 0] > 0).astype(int), 2, folds=3)
    known = np.ones(X.shape, dtype=bool)
    rows = rng.integers(0, 90, 200)
    expected = fitted.predict_proba(X, known)[rows]
    np.testing.assert_allclose(fitted.predict_proba(X[rows], known[rows], rows), expected, atol=1e-6)
    with pytest.raises(SynafaError, match="pass rows"):
        fitted.predict_proba(X[:5], known[:5])


@pytest.mark.parametrize(("folds", "groups"), [(1, None), (11, None), (3, [0] * 5 + [1] * 5)])
def test_folds_that_cannot_be_are_refused(folds: int, groups: list[int] | None) -> None:
    with pytest.raises(SynafaError, match=r"folds must be from 2 to"):
        cross_fit(np.zeros((10, 1)), np.arange(10) % 2, 2, folds=folds, groups=groups)


def test_folds_share_classes_evenly_and_keep_groups() -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(100) < 20).astype(int)
    fold = deal_folds(y, 4, rng)
    assert set(np.bincount(fold[y == 1])) == {5}
    groups = rng.integers(0, 13, 100)
    fold = deal_folds(y, 4, rng, groups)
    assert all(len(set(fold[groups == g])) == 1 for g in range(13))
    assert np.bincount(fold, minlength=4).min() >= 15
    assert inner_folds(y, 4, rng, np.zeros(100)).max() == 3  # one group: rows are dealt one by one
    assert inner_folds(y, 4, rng, groups % 2).max() == 1
