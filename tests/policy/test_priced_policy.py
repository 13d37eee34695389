"""SynAFA with panels and groups: prices that depend on what was paid, and features that come together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa import AcquisitionClassifier, SynAFA, SynafaError, load_model
from synafa.datasets import Dataset
from synafa.evaluation.harness import run_compiled, run_policy
from synafa.evaluation.policies import build_policies
from synafa.model.storage import load_bedside
from synafa.money import PriceList
from synafa.policy.branches import BRANCHES
from synafa.policy.rule import AFFORDABILITY
from tests import naive
from tests.tables_strategy import coded_tables

PRICES = [0.0, 0.5, 1.0, 2.0, 5.0]


def drawn_prices(d: int, data: st.DataObject) -> PriceList:
    """A price list of x0, x1, ... with panels and groups wherever they fall."""
    panel = [data.draw(st.integers(-2, 1)) for _ in range(d)]
    panels = [[j for j in range(d) if panel[j] == p] for p in (0, 1)]
    panels = [members for members in panels if len(members) > 1]
    price = np.array([data.draw(st.sampled_from(PRICES)) for _ in range(d)])
    group = np.array([data.draw(st.integers(-1, 1)) for _ in range(d)])
    share = np.array([data.draw(st.sampled_from([0.0, 0.25, 1.0])) for _ in range(d)])
    for members in panels:
        for values in (price, group, share):
            values[members] = values[members[0]]
    inside = np.where(group >= 0, share * price, price)
    return PriceList(tuple(f"x{j}" for j in range(d)), price, tuple(map(tuple, panels)), group, inside, ("g", "h"))


@settings(max_examples=150, deadline=None)
@given(coded_tables(max_bins=3, max_classes=3, min_classes=2), st.data())
def test_an_episode_is_that_of_the_rule_written_as_loops(table, data):
    codes, y, bins = table
    n, d = codes.shape
    prices = drawn_prices(d, data)
    weight = data.draw(st.sampled_from([0.0, 0.01, 0.2]))
    budget = data.draw(st.sampled_from([0.0, 1.0, 2.5, 6.0]))
    affordability = data.draw(st.sampled_from(AFFORDABILITY))
    pair_branch, force = data.draw(st.booleans()), data.draw(st.booleans())
    at_start, known, blocked = ({j for j in range(d) if data.draw(st.integers(0, 3)) == 0} for _ in range(3))
    blocked -= known | at_start
    X = codes.astype(float)
    policy = SynAFA(budget, None, weight, pair_branch, affordability, n_bins=max(bins, 2), prices=prices)
    policy.fit(X, y, known=[f"x{j}" for j in at_start])
    run = policy.acquire(
        X,
        known=[f"x{j}" for j in known],
        unavailable=[f"x{j}" for j in blocked],
        on_stop="fallback" if force else "stop",
    )
    coded = policy.codes(X)
    for i in range(n):
        steps, spent, seen = naive.priced_episode(
            policy.tables_,
            coded[i],
            prices,
            weight,
            budget,
            affordability,
            force,
            pair_branch,
            known,
            blocked,
            at_start,
        )
        assert [(int(j), BRANCHES[b]) for j, b in zip(run.order[i], run.branch[i]) if j >= 0] == steps
        assert run.cost[i] == pytest.approx(spent)
        assert set(np.flatnonzero(run.mask[i])) == seen


@settings(max_examples=100, deadline=None)
@given(coded_tables(max_bins=3, max_classes=3, min_classes=2), st.data())
def test_one_decision_is_the_same_for_one_row_for_a_batch_and_as_loops(table, data):
    codes, y, bins = table
    n, d = codes.shape
    prices = drawn_prices(d, data)
    affordability = data.draw(st.sampled_from(AFFORDABILITY))
    policy = SynAFA(4, None, 0.01, affordability=affordability, n_bins=bins, prices=prices).fit(codes.astype(float), y)
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    mask = rng.random((n, d)) < 0.4
    remaining = rng.choice([0.0, 0.5, 1.0, 3.0, 7.0], size=n)
    coded = policy.codes(codes.astype(float))
    feature, branch = policy.propose_with_reason(np.where(mask, codes, 0).astype(np.float32), mask, remaining)
    for i in range(n):
        seen = set(np.flatnonzero(mask[i]))
        j, words = naive.priced_decide(policy.tables_, coded[i], seen, prices, 0.01, remaining[i], affordability)
        assert (feature[i], BRANCHES[branch[i]] if feature[i] >= 0 else "stop") == (-1 if j is None else j, words)
        one = policy.rule_.decide(mask[i], coded[i], remaining[i])
        assert (one.feature, one.branch) == (feature[i], branch[i])
        told = policy.next_feature({f"x{k}": float(codes[i, k]) for k in seen}, remaining=float(remaining[i]))
        price = np.inf if j is None else naive.price_now(prices, j, seen)
        assert told.feature == (f"x{j}" if price <= remaining[i] + 1e-9 else None)
        assert told.feature is None or told.cost == price


@settings(max_examples=60, deadline=None)
@given(coded_tables(max_bins=3, max_classes=3, min_classes=2), st.data())
def test_a_price_list_without_panels_and_groups_changes_nothing(table, data):
    codes, y, bins = table
    costs = [data.draw(st.sampled_from(PRICES)) for _ in range(codes.shape[1])]
    plain = PriceList.plain([f"x{j}" for j in range(codes.shape[1])], costs)
    X = codes.astype(float)
    one, two = (SynAFA(4, n_bins=bins, **given).fit(X, y) for given in ({"costs": costs}, {"prices": plain}))
    first, second = one.acquire(X, on_stop="fallback"), two.acquire(X, on_stop="fallback")
    for name in ("order", "branch", "mask", "cost"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    a, b = one.rule_.to_arrays(), two.rule_.to_arrays()
    assert a[1] == b[1]
    assert all(np.array_equal(a[0][name], b[0][name]) for name in a[0])


def ward(n: int = 600) -> tuple[pl.DataFrame, np.ndarray, PriceList]:
    """Sodium and potassium come in one panel; the panel and lactate share the needle."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({name: rng.normal(size=n) for name in ("sodium", "potassium", "lactate", "ecg")})
    score = frame["sodium"] + frame["lactate"] + 0.5 * frame["ecg"]
    y = np.where(score.to_numpy() + 0.5 * rng.normal(size=n) > 0, "ill", "well")
    prices = PriceList.from_columns(
        frame.columns, [10, 10, 9, 20], ["lab", "lab", "", ""], ["needle", "needle", "needle", ""], [4, 4, 3, None]
    )
    return frame, y, prices


def test_a_panel_comes_together_and_its_needle_makes_the_next_cheaper():
    frame, y, prices = ward()
    policy = SynAFA(budget=13, cost_weight=0.001, prices=prices).fit(frame, y)
    run = policy.acquire(frame)
    assert set(run.cost.tolist()) <= {10 + 3, 9 + 4}
    assert run.mask[:, :3].all()
    assert not run.mask[:, 3].any()
    first = policy.next_feature()
    assert first.cost in (9, 10)
    second = policy.next_feature({"sodium": 1.0, "potassium": 0.0})
    assert (second.feature, second.cost, second.remaining) == ("lactate", 3, 3)
    assert policy.next_feature({"sodium": None, "potassium": None}).cost == 3, "paid, though without a result"


def test_the_harness_and_the_compiled_episodes_agree():
    frame, y, prices = ward()
    data = Dataset.from_table(frame, y, prices=prices, budgets=(12.0, 13.0, 40.0))
    for name, policy in build_policies(["synafa", "synafa-masked", "synafa-strict"], data, data.budgets).items():
        for budget in data.budgets:
            for forced in (True, False):
                one = run_policy(policy, data, "test", budget, forced=forced)
                two = run_compiled(policy, data, "test", budget, forced)
                steps = one.order.shape[1]
                np.testing.assert_array_equal(one.order, two.order[:, :steps], err_msg=f"{name} {budget} {forced}")
                np.testing.assert_array_equal(one.mask, two.mask)
                np.testing.assert_allclose(one.cost, two.cost)


def test_a_stored_policy_keeps_its_panels_and_answers_alike(tmp_path):
    frame, y, prices = ward()
    policy = SynAFA(budget=14, cost_weight=0.001, prices=prices).fit(frame, y, known="ecg")
    policy.save(tmp_path / "m.synafa")
    back = load_model(tmp_path / "m.synafa")
    for name in ("order", "branch", "mask", "cost"):
        np.testing.assert_array_equal(getattr(policy.acquire(frame), name), getattr(back.acquire(frame), name))
    asked = load_bedside(tmp_path / "m.synafa")
    found = asked.next_feature({"ecg": 0.1, "sodium": 0.3})
    assert (found.recommendation.feature, found.recommendation.cost) == ("potassium", 0)
    assert found.recommendation.text == "Tell potassium (no charge): it came with sodium, in one panel."
    assert asked.next_feature({"ecg": 0.1}).reveals in (("potassium",), ("sodium",), ())


def test_the_decision_graph_counts_the_rows_that_take_each_way():
    frame, y, prices = ward()
    policy = SynAFA(budget=13, cost_weight=0.001, prices=prices).fit(frame, y)
    graph, run = policy.decision_graph(min_share=0.0), policy.acquire(frame)
    root = graph.nodes[0]
    assert root.feature == frame.columns[run.order[0, 0]]
    for node in graph.nodes:
        going = [edge for edge in graph.edges if edge.source == node.id]
        assert not going or sum(edge.count for edge in going) == node.count
    ends = [node for node in graph.nodes if node.feature is None]
    assert sum(node.count for node in ends) == len(y)
    assert {node.remaining for node in ends} == {0.0}
    if len(prices.panels[0]) and root.feature in ("sodium", "potassium"):
        assert all("sodium" in edge.label and "potassium" in edge.label for edge in graph.edges if edge.source == 0)


def test_a_classifier_with_panels_follows_one_case_to_its_end():
    frame, y, prices = ward(300)
    model = AcquisitionClassifier(SynAFA(budget=13, cost_weight=0.001, prices=prices)).fit(frame, y, target="state")
    fetched: list[str] = []
    row = frame.row(0, named=True)

    def fetch(name: str) -> float:
        fetched.append(name)
        return row[name]

    answer = model.predict_one(fetch)
    assert set(fetched) == {"sodium", "potassium", "lactate"}
    run = model.acquire(frame[:1])
    assert set(np.array(frame.columns)[run.mask[0]]) == set(fetched)
    assert answer.decision in ("ill", "well")


def test_costs_and_prices_together_are_refused():
    frame, y, prices = ward(60)
    with pytest.raises(SynafaError, match="either costs or prices"):
        SynAFA(costs=[1, 1, 1, 1], prices=prices).fit(frame, y)
