"""Tables whose best policy is known, and what the plan tree makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.datasets import load
from synafa.plan.plan_tree import PlanTree
from tests.plan.stand_ins import bayes, context, copied, exclusive_or, noise


def accuracy(policy: PlanTree, X: np.ndarray, y: np.ndarray) -> float:
    run = policy.acquire(X)
    return float((policy.predict_proba(X, run.mask).argmax(axis=1) == y).mean())


def test_two_bits_that_tell_nothing_alone_are_bought_together() -> None:
    X, y, fit = exclusive_or()
    policy = PlanTree(budget=2, predictor=fit).fit(X, y)
    new, truth, _ = exclusive_or(seed=1)
    assert set(policy.tree_.plan()) == {2, 3}
    assert accuracy(policy, new, truth) > 0.97


def test_cube_is_followed_better_than_by_any_fixed_panel() -> None:
    data = load("cube", n=3000)
    train, test = np.concatenate([data.train, data.validation]), data.test
    tree = PlanTree(budget=4, predictor=bayes()).fit(data.X[train], data.y[train])
    panel = PlanTree(budget=4, predictor=bayes(), adaptive=False).fit(data.X[train], data.y[train])
    assert not tree.tree_.is_panel
    assert panel.tree_.is_panel
    gained = accuracy(tree, data.X[test], data.y[test]) - accuracy(panel, data.X[test], data.y[test])
    assert gained >= 0.03


def test_a_copied_feature_is_never_bought_twice() -> None:
    X, y = copied()
    policy = PlanTree(budget=None, margin=0.0, predictor=bayes()).fit(X, y)
    order = policy.acquire(X).order
    assert (np.isin(order, [0, 1, 4]).sum(axis=1) == 1).all()
    assert np.isin(order, [2, 3]).any()


def test_a_copy_known_from_elsewhere_is_not_bought_either() -> None:
    X, y = copied()
    policy = PlanTree(budget=5, predictor=bayes()).fit(X, y)
    known = np.zeros(X.shape, bool)
    known[:, 4] = True
    assert not np.isin(policy.acquire(X, known=known).order, [0, 1]).any()


def test_the_predictor_is_told_what_follows_from_a_copy() -> None:
    X, y = copied()
    policy = PlanTree(budget=5, predictor=bayes()).fit(X, y)
    one, all_three = np.zeros(X.shape, bool), np.zeros(X.shape, bool)
    one[:, 1] = True
    all_three[:, [0, 1, 4]] = True
    np.testing.assert_allclose(policy.predict_proba(X, one), policy.predict_proba(X, all_three), atol=1e-6)


@pytest.mark.slow
def test_a_context_feature_decides_which_block_is_bought() -> None:
    X, y, fit = context()
    policy = PlanTree(budget=4, predictor=fit).fit(X, y)
    order = policy.acquire(X).order
    assert (order[:, 0] == 0).all()
    first = X[:, 0] <= 0.5
    assert np.isin(order[first, 1:], [1, 2, 3]).all()
    assert np.isin(order[~first, 1:], [4, 5, 6]).all()


def test_one_dear_test_loses_to_five_cheap_ones() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    dear = y + 0.7 * rng.normal(size=1000)
    cheap = y[:, None] + 0.9 * rng.normal(size=(1000, 5))
    X = np.column_stack([dear, cheap])
    policy = PlanTree(budget=5, costs=[5, 1, 1, 1, 1, 1], predictor=bayes()).fit(X, y)
    assert set(policy.tree_.plan()) == {1, 2, 3, 4, 5}


def test_one_dear_test_wins_when_it_is_worth_five_cheap_ones() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    dear = y + 0.2 * rng.normal(size=1000)
    cheap = y[:, None] + 3.0 * rng.normal(size=(1000, 5))
    policy = PlanTree(budget=5, costs=[5, 1, 1, 1, 1, 1], predictor=bayes()).fit(np.column_stack([dear, cheap]), y)
    assert policy.tree_.plan() == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_noise_is_not_bought(seed: int) -> None:
    X, y = noise(seed=seed)
    policy = PlanTree(budget=5, predictor=bayes()).fit(X, y)
    assert policy.tree_.is_panel
    assert policy.tree_.plan() == ()
    assert policy.next_feature().stop_reason == "nothing left is worth its price"


@pytest.mark.slow
def test_noise_is_not_bought_in_95_of_100_seeds() -> None:
    bought = 0
    for seed in range(100):
        X, y = noise(seed=seed)
        tree = PlanTree(budget=5, predictor=bayes()).fit(X, y).tree_
        bought += not (tree.is_panel and tree.plan() == ())
    assert bought <= 5


@pytest.mark.slow
def test_an_unlimited_budget_stops_where_nothing_is_gained() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1500)
    X = np.column_stack([y[:, None] + rng.normal(size=(1500, 2)), rng.normal(size=(1500, 8))])
    policy = PlanTree(budget=None, predictor=bayes()).fit(X, y)
    assert set(policy.tree_.plan()) >= {0, 1}
    assert policy.acquire(X).n_acquired.mean() < 4.5


@pytest.mark.parametrize(("price", "bought"), [(1.0, True), (60.0, False)])
def test_with_error_costs_a_test_is_bought_when_it_saves_more_than_its_price(price: float, bought: bool) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    X = np.column_stack([y + 0.4 * rng.normal(size=1000), rng.normal(size=1000)])
    errors = {0: {1: 100.0}, 1: {0: 100.0}}  # about 50 without, 10 with the first feature
    policy = PlanTree(budget=None, costs=[price, 1.0], error_costs=errors, predictor=bayes()).fit(X, y)
    assert policy.tree_.plan() == ((0,) if bought else ())
    told = policy.next_feature()
    assert told.unit == "money"
    assert (told.stop_reason == "nothing left is worth its price") == (not bought)


def test_a_case_that_is_sure_stops_where_the_next_test_is_dear() -> None:
    """A cheap first test settles the low half; only the others are worth a dear second one."""
    rng = np.random.default_rng(0)
    n = 2000
    low = rng.random(n) < 0.5
    y = np.where(low, 0, rng.integers(0, 2, n))
    first = np.where(low, 0.0, 1.0) + 0.05 * rng.normal(size=n)
    X = np.column_stack([first, y + 0.3 * rng.normal(size=n)])
    fit = bayes(lambda values, y: np.column_stack([values[:, 0] > 0.5, y]))
    errors = {0: {1: 100.0}, 1: {0: 100.0}}
    policy = PlanTree(budget=None, costs=[1.0, 30.0], error_costs=errors, predictor=fit).fit(X, y)
    run = policy.acquire(X)
    assert run.mask[low, 1].mean() < 0.02
    assert run.mask[~low, 1].mean() > 0.98


@pytest.mark.slow
def test_the_packages_own_predictor_finds_the_exclusive_or() -> None:
    X, y, _ = exclusive_or(n=1500)
    policy = PlanTree(budget=2).fit(X, y)
    assert set(policy.tree_.plan()) == {2, 3}
