"""Missing cells in training rows and in cases: left out of the counts, paid and without result in an episode."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa import InformationTables, SynAFA, SynafaError, load_model
from synafa.analysis.objective import set_objective
from synafa.policy.branches import BRANCHES
from synafa.policy.rule import AFFORDABILITY
from synafa.policy.wide_rule import WideRule
from tests import naive
from tests.policy.test_priced_policy import drawn_prices
from tests.policy.test_wide import narrow_limits
from tests.tables_strategy import gapped_tables

PRICES = st.sampled_from([0.5, 1.0, 2.0])
TABLES = gapped_tables(max_bins=3, max_classes=3, min_classes=2)


def with_gaps(codes, bins):
    """Values whose codes, found again, are of the same kind; NaN where a cell is missing."""
    return np.where(codes == bins, np.nan, codes.astype(float))


def fitted(codes, y, bins, data, wide=False, **more):
    """A policy of a table with missing cells, with random settings."""
    chosen = {
        "budget": data.draw(st.sampled_from([1.0, 2.5, 6.0])),
        "cost_weight": data.draw(st.sampled_from([0.0, 0.01, 0.2])),
        "affordability": data.draw(st.sampled_from(AFFORDABILITY)),
        "pair_branch": data.draw(st.booleans()),
        "n_bins": bins,
    }
    if "prices" not in more:
        more["costs"] = np.array([data.draw(PRICES) for _ in range(codes.shape[1])])
    with narrow_limits(data.draw(st.integers(0, 3)), block=1) if wide else nullcontext():
        policy = SynAFA(**chosen, **more).fit(with_gaps(codes, bins), y)
    assert isinstance(policy.rule_, WideRule) == wide
    return policy


def steps_of(run, i):
    return [(int(j), BRANCHES[b]) for j, b in zip(run.order[i], run.branch[i]) if j >= 0]


@settings(max_examples=100, deadline=None)
@given(TABLES, st.data())
def test_an_episode_is_that_of_the_rule_written_as_loops(table, data):
    codes, y, bins = table
    policy = fitted(codes, y, bins, data)
    force = data.draw(st.booleans())
    run = policy.acquire(with_gaps(codes, bins), on_stop="fallback" if force else "stop")
    for i, coded in enumerate(policy.codes_):
        steps, spent = naive.episode(
            policy.tables_, coded, policy.costs, policy.cost_weight, policy.budget, policy.affordability, force,
            policy.pair_branch,
        )  # fmt: skip
        assert steps_of(run, i) == steps
        assert run.cost[i] == pytest.approx(spent)


@settings(max_examples=60, deadline=None)
@given(TABLES, st.data())
def test_an_episode_with_panels_and_groups_is_that_of_the_rule_written_as_loops(table, data):
    codes, y, bins = table
    prices = drawn_prices(codes.shape[1], data)
    policy = fitted(codes, y, bins, data, prices=prices)
    run = policy.acquire(with_gaps(codes, bins))
    for i, coded in enumerate(policy.codes_):
        steps, spent, seen = naive.priced_episode(
            policy.tables_, coded, prices, policy.cost_weight, policy.budget, policy.affordability, False,
            policy.pair_branch, (), (), (),
        )  # fmt: skip
        assert steps_of(run, i) == steps
        assert run.cost[i] == pytest.approx(spent)
        assert set(np.flatnonzero(run.mask[i])) == seen


@pytest.mark.parametrize("wide", [False, True])
@settings(max_examples=60, deadline=None)
@given(table=TABLES, data=st.data())
def test_acquire_propose_and_next_feature_agree_step_by_step(table, data, wide):
    codes, y, bins = table
    policy = fitted(codes, y, bins, data, wide)
    X = with_gaps(codes, bins)
    run = policy.acquire(X)
    for i in range(len(X)):
        observed, mask, left = {}, np.zeros((1, X.shape[1]), bool), policy.budget
        for j in [*(j for j, _ in steps_of(run, i)), None]:
            found = policy.next_feature(observed, remaining=left)
            assert found.feature == (None if j is None else f"x{j}")
            proposed = policy.propose(np.where(mask, X[i], 0.0), mask, np.array([left]))[0]
            if j is None:
                assert proposed < 0 or policy.costs[proposed] > left, "what cannot be paid ends the episode"
                break
            assert proposed == j
            observed[f"x{j}"] = None if np.isnan(X[i, j]) else X[i, j]
            mask[0, j] = True
            left -= policy.costs[j]


@settings(max_examples=60, deadline=None)
@given(TABLES, st.data())
def test_the_decision_graph_follows_every_row_through_measurements_without_result(table, data):
    codes, y, bins = table
    policy = fitted(codes, y, bins, data)
    graph = policy.decision_graph(max_depth=20, min_share=0.0)
    onward = {(edge.source, edge.label): edge for edge in graph.edges}
    passed = dict.fromkeys(onward, 0)
    run = policy.acquire(with_gaps(codes, bins))
    for i, coded in enumerate(policy.codes_):
        node = graph.nodes[0]
        for j, _ in steps_of(run, i):
            assert node.feature == f"x{j}"
            words = policy.rule_.describe_code(j, int(coded[j]))
            assert (words == f"x{j} gives no result") == (codes[i, j] == bins)
            passed[node.id, words] += 1
            node = graph.nodes[onward[node.id, words].target]
        assert node.feature is None
    assert passed == {key: edge.count for key, edge in onward.items()}


def monitored(n=600, seed=0):
    """A table in which `left` xor `right` is the class and a third of `left` is missing; beside it a column of text."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n, 2))
    left = pl.Series("left", bits[:, 0].astype(float)).to_frame().with_columns(gone=pl.Series(rng.random(n) < 1 / 3))
    table = left.select(left=pl.when(pl.col("gone")).then(None).otherwise(pl.col("left")))
    colour = np.where(rng.random(n) < 0.1, None, rng.choice(["red", "blue"], n))
    return table.with_columns(right=pl.Series(bits[:, 1]), colour=pl.Series(colour)), bits[:, 0] ^ bits[:, 1]


def test_a_pair_is_judged_by_the_rows_that_have_both():
    table, y = monitored()
    policy = SynAFA(budget=3).fit(table, y, target="the alarm")
    assert policy.tables_.pair[0, 1] == pytest.approx(1.0, abs=0.01)
    assert policy.next_feature().why == "pair"
    failed = policy.next_feature({"left": None})
    assert failed.feature is None, "without left, right tells nothing"
    assert policy.next_feature({"left": 1.0}).feature == "right"


def test_a_saved_model_answers_and_draws_the_same_and_says_what_it_does_not_hold(tmp_path):
    table, y = monitored()
    policy = SynAFA(budget=3, cost_weight=0).fit(table, y)
    graph = policy.decision_graph(max_depth=3)
    words = [(edge.label, edge.result) for edge in graph.edges]
    assert ("left gives no result", "no result") in words
    policy.save(tmp_path / "model.synafa")
    loaded = load_model(tmp_path / "model.synafa")
    assert loaded.decision_graph(max_depth=3).to_json() == graph.to_json()
    run, again = policy.acquire(table), loaded.acquire(table)
    assert run.order.tobytes() == again.order.tobytes()
    assert loaded.tables_.missing
    assert policy.tables_.pid().synergy[0, 1] > 0.9
    with pytest.raises(SynafaError, match="fit the policy again"):
        loaded.tables_.pid()


def test_rows_without_missing_cells_leave_no_trace(tmp_path):
    table, y = monitored()
    whole = table.drop("colour").drop_nulls()
    y = y[table["left"].is_not_null().to_numpy()]
    policy = SynAFA(budget=3).fit(whole, y)
    assert not policy.tables_.missing
    assert policy.tables_.atoms is None
    assert not any("no result" in edge.result for edge in policy.decision_graph().edges)
    assert "missing_cells" not in policy.to_arrays()[1]


def test_known_from_the_start_without_a_value_tells_nothing():
    table, y = monitored()
    policy = SynAFA(budget=2).fit(table, y, known="left")
    run = policy.acquire(table)
    has = table["left"].is_not_null().to_numpy()
    assert run.mask[has, 1].all()
    assert not run.mask[~has, 1].any()
    labels = [edge.label for edge in policy.decision_graph().edges if edge.source == 0]
    assert "left gives no result" in labels


def test_an_objective_of_missing_cells_is_refused():
    table, y = monitored()
    policy = SynAFA().fit(table, y)
    with pytest.raises(SynafaError, match="fill it first"):
        set_objective(policy.tables_, policy.codes_, np.ones(table.shape, bool))


def test_the_tables_of_a_fit_are_those_of_the_values():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 7))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    policy, tables = SynAFA().fit(X, y), InformationTables.from_values(X, y)
    for name in ("single", "pair", "cond", "specific"):
        assert getattr(policy.tables_, name).tobytes() == getattr(tables, name).tobytes()
