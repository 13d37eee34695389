"""Decisions: batched, alone and in whole episodes they agree, and no budget is ever exceeded."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa.errors import SynafaError
from synafa.money import PriceList
from synafa.plan.plan_tree import PlanTree
from tests.plan.stand_ins import bayes, context

pytestmark = pytest.mark.slow

NAMES = tuple(f"x{j}" for j in range(7))
PRICES = {
    "equal": None,
    "unequal": PriceList(NAMES, np.array([0.5, 1, 2, 1, 1, 3, 1.0])),
    "panels": PriceList(NAMES, np.array([1, 2, 2, 1, 1, 1, 1.0]), panels=((1, 2),)),
    "groups": PriceList(
        NAMES,
        np.array([1, 3, 3, 3, 2, 2, 2.0]),
        group=np.array([-1, 0, 0, 0, 1, 1, 1]),
        price_in_group=np.array([1, 0.5, 0.5, 0.5, 1, 1, 1.0]),
    ),
}


@cache
def policy_of(prices: str, known: tuple[str, ...] = ()) -> PlanTree:
    X, y, fit = context(n=700)
    X = X.copy()
    X[np.random.default_rng(3).random(X.shape) < 0.05] = np.nan
    X[:, 0] = np.nan_to_num(X[:, 0])
    return PlanTree(budget=5, prices=PRICES[prices], predictor=fit).fit(X, y, known=known)


@st.composite
def states(draw: Any) -> tuple[np.ndarray, np.ndarray, float]:
    mask = np.array(draw(st.lists(st.booleans(), min_size=7, max_size=7)))
    numbers = st.one_of(st.floats(-3, 3, allow_nan=False), st.just(float("nan")))
    values = np.array(draw(st.lists(numbers, min_size=7, max_size=7)))
    return values, mask, draw(st.floats(0, 8))


@pytest.mark.parametrize("prices", sorted(PRICES))
@pytest.mark.parametrize("known", [(), ("x0",), ("x4", "x1")])
@settings(max_examples=40, deadline=None)
@given(state=states())
def test_one_decision_is_the_same_by_every_way(
    prices: str, known: tuple[str, ...], state: tuple[np.ndarray, np.ndarray, float]
) -> None:
    policy = policy_of(prices, known)
    values, mask, remaining = state
    alone = policy.rule_.decide(values, mask, remaining)
    feature, reason = policy.propose_with_reason(values[None], mask[None], np.array([remaining]))
    assert feature[0] == alone.feature
    assert reason[0] == alone.reason
    observed = {f"x{j}": None if np.isnan(values[j]) else values[j] for j in np.flatnonzero(mask)}
    told = policy.next_feature(observed, remaining=remaining)
    assert told.feature == (None if alone.feature < 0 else f"x{alone.feature}")
    assert (told.stop_reason is None) == (told.feature is not None)


@pytest.mark.parametrize("prices", sorted(PRICES))
@pytest.mark.parametrize("budget", [0.0, 1.0, 2.5, 5.0, 9.0])
def test_episodes_follow_single_decisions_and_keep_the_budget(prices: str, budget: float) -> None:
    policy = policy_of(prices)
    X, _, _ = context(n=60, seed=5)
    X[::7, 0] = np.nan
    run = policy.acquire(X, budget=budget)
    reveals = policy.prices_.reveals
    for i, row in enumerate(X):
        mask, spent, order = np.zeros(7, bool), 0.0, []
        while True:
            j = policy.rule_.decide(row, mask, budget - spent).feature
            if j < 0:
                break
            spent += policy.prices_.now(j, np.flatnonzero(mask).tolist())
            mask = mask | reveals[j]
            order.append(j)
        assert [j for j in run.order[i] if j >= 0] == order
        assert run.cost[i] == pytest.approx(spent)
        assert (run.mask[i] == mask).all()
    assert (run.cost <= budget + 1e-9).all()


@settings(max_examples=60, deadline=None)
@given(state=states(), blocked=st.sets(st.sampled_from(NAMES)), prices=st.sampled_from(sorted(PRICES)))
def test_what_is_proposed_can_be_had(
    state: tuple[np.ndarray, np.ndarray, float], blocked: set[str], prices: str
) -> None:
    policy = policy_of(prices)
    values, mask, remaining = state
    observed = {f"x{j}": None if np.isnan(values[j]) else values[j] for j in np.flatnonzero(mask)}
    told = policy.next_feature(observed, remaining=remaining, unavailable=blocked)
    if told.feature is not None:
        assert told.feature not in observed
        assert told.feature not in blocked
        assert told.cost <= remaining + 1e-9


def test_a_feature_that_cannot_be_measured_is_replaced() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1200)
    X = y[:, None] + np.array([0.5, 0.8, 1.0, 1.2]) * rng.normal(size=(1200, 4))
    policy = PlanTree(budget=2, predictor=bayes()).fit(X, y)
    assert set(policy.tree_.plan()) == {0, 1}
    run = policy.acquire(X, unavailable=["x0"])
    assert set(np.unique(run.order).tolist()) == {1, 2}
    assert (run.cost == 2).all()
    assert run.branch_names[run.branch[0, 1]] == "replan"


def test_an_asked_cell_that_is_empty_costs_its_price_and_goes_one_way() -> None:
    X, y, fit = context()
    policy = PlanTree(budget=4, predictor=fit).fit(X, y)
    X[:, 0] = np.nan
    run = policy.acquire(X)
    assert (run.order[:, 0] == 0).all()
    assert len(np.unique(run.order, axis=0)) == 1
    assert (run.cost == 4).all()


def test_features_known_from_the_start_are_told_first_and_are_free() -> None:
    policy = policy_of("unequal", ("x0",))
    first = policy.next_feature()
    assert (first.feature, first.cost, first.branch) == ("x0", 0.0, "tell")
    X, _, _ = context(n=50, seed=6)
    run = policy.acquire(X)
    assert run.mask[:, 0].all()
    assert not (run.order == 0).any()


def test_results_do_not_depend_on_the_number_of_threads_and_repeat() -> None:
    X, y, fit = context(n=900, seed=2)
    one = PlanTree(budget=4, predictor=fit, n_jobs=1).fit(X, y)
    two = PlanTree(budget=4, predictor=fit, n_jobs=2).fit(X, y)
    for name, array in one.tree_.to_arrays().items():
        np.testing.assert_array_equal(array, two.tree_.to_arrays()[name], err_msg=name)


def test_an_opaque_predictor_gives_the_same_tree_as_its_additive_twin() -> None:
    X, y, fit = context(n=600, seed=4)

    def opaque(*args: Any, **options: Any) -> Any:
        inner = fit(*args, **options)
        return type("Opaque", (), {"predict_proba": staticmethod(inner.predict_proba)})()

    fast = PlanTree(budget=3, predictor=fit).fit(X, y).tree_
    slow = PlanTree(budget=3, predictor=opaque).fit(X, y).tree_
    np.testing.assert_array_equal(fast.feature, slow.feature)
    np.testing.assert_array_equal(fast.items, slow.items)
    np.testing.assert_allclose(fast.loss_after, slow.loss_after, atol=1e-4)


@pytest.mark.parametrize(
    ("settings_", "words"),
    [({"budget": -1}, "budget"), ({"margin": np.nan}, "margin"), ({"predictor": 3}, "predictor")],
)
def test_bad_settings_are_named(settings_: dict[str, Any], words: str) -> None:
    X, y, fit = context(n=100)
    with pytest.raises(SynafaError, match=words):
        PlanTree(**{"predictor": fit, **settings_}).fit(X, y)


def test_bad_cases_are_named() -> None:
    policy = policy_of("equal")
    with pytest.raises(SynafaError, match="x9"):
        policy.next_feature({"x9": 1.0})
    with pytest.raises(SynafaError, match="remaining"):
        policy.next_feature(remaining=-1.0)
    with pytest.raises(SynafaError, match="one class"):
        PlanTree(predictor=bayes()).fit(np.zeros((5, 2)), np.zeros(5, int))


def test_a_panel_does_not_show_what_cannot_be_had() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    prices = PriceList.from_columns(["a", "b", "c"], [2.0, 2.0, 1.0], ["blood", "blood", ""])
    table = pl.DataFrame(X, schema=["a", "b", "c"])
    policy = PlanTree(budget=2, prices=prices).fit(table, y)
    whole, part = policy.acquire(table), policy.acquire(table, unavailable=["b"])
    assert whole.mask[:, :2].all()
    assert part.mask[:, 0].all()
    assert not part.mask[:, 1].any()
