"""Every number in a reason can be recomputed from the model and the rows it was judged on."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from synafa.graph.shape import DecisionGraph
from synafa.money.words import one_in, percent
from synafa.plan.plan_tree import PlanTree
from synafa.plan.reasons import sentence
from tests.plan.stand_ins import bayes, context, noise


@cache
def fitted() -> tuple[PlanTree, np.ndarray]:
    X, y, fit = context()
    return PlanTree(budget=4, predictor=fit).fit(X, y), X


def rows_of(policy: PlanTree, node: int) -> np.ndarray:
    """Judged rows that come through a node."""
    tree, values = policy.tree_, policy.judged_values_
    rows = np.arange(len(values))
    path = tree.path_to(node)
    for here, after in itertools.pairwise(path):
        column = values[rows, tree.feature[here]]
        left = np.where(np.isnan(column), tree.missing_left[here], column <= tree.threshold[here])
        rows = rows[left] if after == tree.left[here] else rows[~left]
    return rows


def loss(policy: PlanTree, asked: list[int], rows: np.ndarray) -> float:
    """The mean loss by probabilities, not by the judge's own utilities."""
    y, prior = policy.judge_.y, np.bincount(policy.judge_.y) / len(policy.judge_.y)
    p = policy.judge_.proba(asked, rows).astype(float)
    natural = np.log2(p[np.arange(len(rows)), y[rows]])
    q = p / prior / (p / prior).sum(axis=1, keepdims=True)
    balanced = np.log2(q[np.arange(len(rows)), y[rows]]) / (len(prior) * prior[y[rows]])
    return float(-(0.5 * np.maximum(natural, -8 / np.log(2)) + 0.5 * balanced).mean())


def test_cases_and_losses_of_a_question_are_those_of_its_rows() -> None:
    policy, _ = fitted()
    told = policy.next_feature()
    rows = rows_of(policy, told.node)
    plan = [int(name[1:]) for name in told.plan]
    assert told.branch == "question"
    assert told.cases == len(rows)
    assert told.loss_before == pytest.approx(loss(policy, [], rows), abs=1e-5)
    assert told.loss_next == pytest.approx(loss(policy, [0], rows), abs=1e-5)
    assert told.loss_after == pytest.approx(loss(policy, [0, *plan], rows), abs=1e-5)
    assert f"{told.cases:,} cases" in told.text
    assert f"from {told.loss_before:.2f} to {told.loss_after:.2f} bits" in told.text


@cache
def panel() -> tuple[PlanTree, list[int]]:
    """A plan of three steps for everybody, and its order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + 0.8 * X[:, 1] + 0.6 * X[:, 2] + 0.5 * rng.normal(size=400) > 0).astype(int)
    policy = PlanTree(budget=3, predictor=bayes(), adaptive=False).fit(X, y)
    return policy, list(policy.tree_.plan())


def test_what_is_known_before_its_turn_is_part_of_the_numbers_and_said() -> None:
    policy, (a, b, c) = panel()
    rows = np.arange(len(policy.judge_.y))
    told = policy.next_feature({f"x{b}": 0.3}, remaining=2)
    assert (told.feature, told.plan, told.known_early, told.left_out) == (f"x{a}", (f"x{c}",), (f"x{b}",), ())
    assert told.loss_before == pytest.approx(loss(policy, [], rows), abs=1e-5)
    assert told.loss_after == pytest.approx(loss(policy, [a, b, c], rows), abs=1e-5)
    assert f"measuring x{a} next and then x{c}, together with x{b} that is known already, lowers" in told.text
    both = policy.next_feature({f"x{b}": 0.3, f"x{c}": 0.1}, remaining=1)
    assert f"together with x{b} and x{c} that are known already" in both.text


def test_a_plan_is_told_up_to_what_cannot_be_had() -> None:
    policy, (a, b, c) = panel()
    rows = np.arange(len(policy.judge_.y))
    told = policy.next_feature(unavailable=[f"x{c}"])
    assert (told.feature, told.plan) == (f"x{a}", (f"x{b}",))
    assert told.loss_after == pytest.approx(loss(policy, [a, b], rows), abs=1e-5)
    told = policy.next_feature(unavailable=[f"x{a}"])
    assert (told.feature, told.left_out) == (f"x{b}", (f"x{a}",))
    assert told.loss_before == pytest.approx(loss(policy, [a], rows), abs=1e-5)
    assert f"these numbers begin with x{a}, which cannot be had" in told.text


def test_a_plan_is_told_up_to_what_the_money_left_pays_for() -> None:
    """Something beside the plan was paid, so the plan's last step does not fit any more."""
    policy, (a, b, c) = panel()
    (beside,) = set(range(5)) - {a, b, c} - {max(set(range(5)) - {a, b, c})}
    told = policy.next_feature({f"x{beside}": 0.3})
    assert (told.feature, told.plan, told.remaining) == (f"x{a}", (f"x{b}",), 2)
    assert told.loss_after == pytest.approx(loss(policy, [a, b], np.arange(len(policy.judge_.y))), abs=1e-5)
    assert f"x{c}" not in told.text
    assert policy.next_feature({}, remaining=1).plan == ()


@pytest.mark.parametrize(("after", "words"), [(0.31, "from 0.37 to 0.31"), (0.3741, "from 0.3744 to 0.3741")])
def test_a_gain_is_told_with_as_many_digits_as_show_it(after: float, words: str) -> None:
    policy, _ = panel()
    assert words in sentence(replace(policy.next_feature(), loss_before=0.3744, loss_after=after))


def test_the_same_holds_in_a_leaf_and_for_the_runners_up() -> None:
    policy, _ = fitted()
    first = policy.next_feature({"x0": 0.0})
    second = policy.next_feature({"x0": 0.0, first.feature: 0.5})
    rows = rows_of(policy, second.node)
    asked = [0, int(first.feature[1:]), int(second.feature[1:])]
    assert second.cases == len(rows) < len(policy.judged_values_)
    assert second.loss_before == pytest.approx(loss(policy, asked[:2], rows), abs=1e-5)
    assert second.loss_next == pytest.approx(loss(policy, asked, rows), abs=1e-5)
    assert second.information == pytest.approx(second.loss_before - second.loss_next)
    for runner in second.runners_up:
        other = [*asked[:2], int(runner.feature[1:])]
        assert runner.loss == pytest.approx(loss(policy, other, rows[:500]), abs=0.08)


def test_probabilities_are_the_predictors() -> None:
    policy, _ = fitted()
    values, mask = np.full((1, 7), np.nan), np.zeros((1, 7), bool)
    values[0, [0, 2]], mask[0, [0, 2]] = [0.1, 1.3], True
    told = policy.next_feature({"x0": 0.1, "x2": 1.3})
    assert list(told.probabilities.values()) == policy.predictor_.predict_proba(values, mask)[0].tolist()


def test_a_feature_is_passed_over_because_something_known_repeats_it() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    good = y + 0.5 * rng.normal(size=1500)
    X = np.column_stack([good, good + 0.1 * rng.normal(size=1500), 0.5 * y + rng.normal(size=1500)])
    policy = PlanTree(budget=2, predictor=bayes()).fit(X, y)
    first = policy.next_feature()
    second = policy.next_feature({first.feature: 1.0})
    single, pair = policy.overlap_.single, policy.overlap_.pair
    if second.feature == "x2":
        other, known = int(second.instead_of[1:]), int(second.because[1:])
        assert known == int(first.feature[1:])
        assert single[other] > single[2]
        assert pair[other, known] - single[known] < 0.5 * single[other]
        assert f"instead of {second.instead_of}, because {second.because} is known already" in second.text
    else:
        pytest.fail("a nearly exact copy was bought")


def test_the_three_stops_are_three_sentences() -> None:
    policy, _ = fitted()
    spent = policy.next_feature(remaining=0.5)
    assert spent.stop_reason == "budget spent"
    X, y = noise()
    empty = PlanTree(budget=3, predictor=bayes()).fit(X, y).next_feature()
    assert empty.stop_reason == "nothing left is worth its price"
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 800)
    X = np.column_stack([y + 0.05 * rng.normal(size=800), rng.normal(size=(800, 3))])
    sure = PlanTree(budget=3, predictor=bayes()).fit(X, y)
    enough = sure.next_feature({"x0": 0.0})
    assert enough.stop_reason == "enough"
    rows = np.arange(800)
    more = sure.judge_.proba([0, 1, 2, 3], rows).argmax(axis=1) != sure.judge_.proba([0], rows).argmax(axis=1)
    assert sure.tree_.changes[0] == pytest.approx(more.mean(), abs=0.005)
    assert f"{percent(max(enough.probabilities.values()))} sure" in enough.text
    assert one_in(sure.tree_.changes[0]) in enough.text
    assert len({spent.text, empty.text, enough.text}) == 3
    everything = policy.next_feature({f"x{j}": 0.0 for j in range(7)}, remaining=9.0)
    assert everything.stop_reason == "nothing left"


def test_the_graph_shows_the_tree() -> None:
    policy, X = fitted()
    graph = policy.decision_graph()
    assert isinstance(graph, DecisionGraph)
    assert graph.nodes[0].feature == "x0"
    labels = [edge.label for edge in graph.edges if edge.source == 0]
    threshold = f"{policy.tree_.threshold[0]:.6g}"
    assert labels == [f"x0 <= {threshold}", f"x0 > {threshold}"]
    assert sum(edge.count for edge in graph.edges if edge.source == 0) == len(X)
    assert sum(node.feature is None for node in graph.nodes) == policy.tree_.n_leaves
    assert "<svg" in graph.to_svg()


def test_the_budget_curve_falls_and_ends_where_the_tree_ends() -> None:
    policy, _X = fitted()
    curve = policy.budget_curve_
    assert [point.budget for point in curve] == [0, 1, 2, 3, 4]
    assert all(point.spent <= point.budget + 1e-9 for point in curve)
    assert curve[-1].loss < curve[2].loss < curve[0].loss
    assert curve[-1].auroc > 0.9
