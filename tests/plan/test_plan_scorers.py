"""The scorers' kernels against slow and obvious predictions, and the judge's pieces against the whole."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.plan.judge import Judge
from synafa.plan.masked_scorer import MaskedScorer
from synafa.plan.prices import Prices
from synafa.plan.scorers import NetworkScorer, OpaqueScorer, Scorer, make_scorer
from synafa.plan.utility import LogUtility, MoneyUtility, Utility
from synafa.predictor import fit_predictor
from tests import naive

MORE = [(), (4,), (0, 3), (1,)]


def network(d: int, k: int, hidden: int = 24) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    shapes = [(hidden, 2 * d), (hidden,), (hidden, hidden), (hidden,), (k, hidden), (k,)]
    return [(rng.normal(size=shape) * 0.4).astype(np.float32) for shape in shapes]


@pytest.mark.slow
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("k", [2, 5])
def test_the_network_kernel_predicts_what_the_network_does(empty: bool, k: int) -> None:
    X = np.random.default_rng(0).normal(size=(300, 6))
    if empty:
        X[::3, 4] = np.nan
        X[1::4, 2] = np.nan
    layers, rows = network(6, k), np.random.default_rng(2).permutation(300)[:270]  # more than one block
    scorer = NetworkScorer(layers, X)
    found = scorer.sweep(scorer.open((2, 5), rows), rows, MORE)
    assert found.shape == (k, 4, 270)
    for c, more in enumerate(MORE):
        for i in (0, 1, 255, 256, 269):
            wanted = naive.masked_network(X[rows[i]], {2, 5, *more}, layers)
            np.testing.assert_allclose(found[:, c, i], wanted, atol=1e-5)


@pytest.fixture(scope="module")
def own_predictors() -> tuple[np.ndarray, np.ndarray, list[tuple[object, np.ndarray]]]:
    """Texts, empty cells, and three parts of which one has a linear member and another fewer networks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    X[:, 3] = rng.integers(0, 4, 700)
    y = (X[:, 0] + 0.5 * X[:, 1] + (X[:, 3] == 2) > 0.3).astype(int)
    X[::11, 0], X[3::7, 3] = np.nan, np.nan
    categories = [0, 0, 0, 4, 0]
    small = fit_predictor(X[:60], y[:60], 2, categories=categories)
    large = fit_predictor(X[60:], y[60:], 2, categories=categories)
    few = fit_predictor(X[:3], y[:3], 2, categories=categories)
    assert len({predictor.n_hidden for predictor in (small, large, few)}) == 3, "the point of these parts"
    where = rng.integers(0, 3, 700)
    return X, y, [(p, np.flatnonzero(where == i)) for i, p in enumerate((small, large, few))]


def test_the_kernel_of_own_predictors_predicts_what_they_do(own_predictors) -> None:
    X, _, parts = own_predictors
    fast, slow = make_scorer(parts, X, 2), OpaqueScorer(parts, X, 2)
    assert isinstance(fast, MaskedScorer)
    for rows in (np.random.default_rng(3).permutation(700)[:501], np.array([5]), np.arange(0)):
        one = fast.sweep(fast.open((2,), rows), rows, MORE)
        two = slow.sweep(slow.open((2,), rows), rows, MORE)
        np.testing.assert_allclose(one, two, atol=2e-6)
        np.testing.assert_allclose(fast.proba(fast.open((2, 0), rows), rows, (3,)), two[:, 2].T, atol=2e-6)


def scorers(X: np.ndarray, parts) -> list[Scorer]:
    return [NetworkScorer(network(X.shape[1], 2), X), make_scorer(parts, X, 2), OpaqueScorer(parts, X, 2)]


@pytest.mark.parametrize("which", range(3))
def test_utilities_do_not_depend_on_threads(own_predictors, which: int) -> None:
    X, y, parts = own_predictors
    X, y, parts = (
        np.tile(X, (4, 1)),
        np.tile(y, 4),
        [(p, np.concatenate([r + 700 * i for i in range(4)])) for p, r in parts],
    )
    rows, found = np.random.default_rng(4).permutation(len(y)), []
    for threads in (1, 2, 5):
        judge = Judge(scorers(X, parts)[which], y, LogUtility.of(y, 2), Prices.plain(np.ones(5)), (), threads)
        with judge.working():
            some = judge.sweep((1,), [(0,), (2,), (3,), (4,), (0, 2)], rows[:150])
            found.append(np.concatenate([some, judge.sweep((1,), [(0,), (2,), (3,), (4,), (0, 2)], rows)]))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize(
    "utility",
    [
        LogUtility(np.array([0.5, 0.3, 0.2])),
        LogUtility(np.array([0.5, 0.3, 0.2]), class_weighted=True),
        MoneyUtility(np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])),
    ],
)
def test_many_sets_have_the_utilities_of_each(utility: Utility) -> None:
    rng = np.random.default_rng(0)
    proba, y = rng.dirichlet(np.ones(3), size=(4, 50)), rng.integers(0, 3, 50)
    planes = utility.planes(np.ascontiguousarray(np.moveaxis(proba, 2, 0)), y)
    np.testing.assert_allclose(planes, [utility(each, y) for each in proba], rtol=1e-12)


def test_costs_of_probable_classes_are_their_mean() -> None:
    rng = np.random.default_rng(0)
    matrix = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
    utility, truth = MoneyUtility(matrix), rng.dirichlet(np.ones(3), size=50)
    planes = np.ascontiguousarray(np.moveaxis(rng.dirichlet(np.ones(3), size=(4, 50)), 2, 0))
    each = [truth[:, k] * utility.planes(planes, np.full(50, k)) for k in range(3)]
    np.testing.assert_allclose(utility.planes(planes, truth), np.sum(each, axis=0), rtol=1e-12)


def test_evicted_sets_are_judged_again_and_forget_their_rows() -> None:
    X = np.random.default_rng(0).normal(size=(40, 8))
    y = (X[:, 0] > 0).astype(int)
    judge = Judge(NetworkScorer(network(8, 2), X), y, LogUtility.of(y, 2), Prices.plain(np.ones(8)))
    judge._most = 2
    first, rest = np.arange(20), np.arange(20, 40)
    wanted = judge.sweep((), [(j,) for j in range(8)], np.arange(40))
    for j in (0, 1, 2, 0, 3, 1, 2):
        np.testing.assert_allclose(judge.utility((j,), first), wanted[first, j], rtol=1e-5)
        np.testing.assert_allclose(judge.utility((j,), rest), wanted[rest, j], rtol=1e-5)
