"""The parts of the plan search against slow and obvious versions of the same."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.plan.build import deal_rows, linear_copies
from synafa.plan.judge import Judge
from synafa.plan.prices import Prices
from synafa.plan.scorers import AdditiveScorer, NetworkScorer, OpaqueScorer
from synafa.plan.splits import plain_between, thresholds
from synafa.plan.splits_kernels import side_moves, split_values
from synafa.plan.utility import LogUtility, MoneyUtility
from tests.plan.stand_ins import CellBayes, context


def test_log_utility_is_half_natural_half_balanced() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=50)
    y = rng.choice(3, size=50, p=[0.6, 0.3, 0.1])
    prior = np.array([0.6, 0.3, 0.1])
    for weighted in (False, True):
        natural = p * prior if weighted else p
        natural = natural / natural.sum(axis=1, keepdims=True)
        balanced = natural / prior / (natural / prior).sum(axis=1, keepdims=True)
        wanted = [
            0.5 * max(np.log(balanced[i, k]), -8) / (3 * prior[k]) / np.log(2)
            + 0.5 * max(np.log(natural[i, k]), -8) / np.log(2)
            for i, k in enumerate(y)
        ]
        np.testing.assert_allclose(LogUtility(prior, weighted)(p, y), wanted, rtol=1e-12)


def test_a_proper_utility_is_best_for_the_true_probabilities() -> None:
    truth = np.array([0.8, 0.2])
    utility = LogUtility(np.array([0.7, 0.3]))

    def expected(p: float) -> float:
        guess = np.array([[p, 1 - p]])
        return float(sum(truth[k] * utility(guess, np.array([k]))[0] for k in range(2)))

    grid = np.linspace(0.05, 0.95, 91)
    natural_only = grid[np.argmax([expected(p) for p in grid])]
    assert abs(natural_only - 0.8) < 0.06


def test_money_utility_counts_the_decision() -> None:
    utility = MoneyUtility(np.array([[0.0, 10.0], [100.0, 0.0]]), smooth=False)
    p = np.array([[0.95, 0.05], [0.5, 0.5], [0.05, 0.95]])
    np.testing.assert_array_equal(utility(p, np.array([0, 0, 1])), [0.0, -10.0, 0.0])


def network(rng: np.random.Generator, d: int, k: int) -> list[np.ndarray]:
    shapes = [(128, 2 * d), (128,), (128, 128), (128,), (k, 128), (k,)]
    return [(rng.normal(size=shape) * 0.2).astype(np.float32) for shape in shapes]


def test_the_network_scorer_predicts_as_the_network_does() -> None:
    torch = pytest.importorskip("torch")
    from synafa.neural.masked_mlp import MaskedMLP
    from synafa.neural.settings import MLPConfig

    rng = np.random.default_rng(0)
    layers, X = network(rng, 6, 3), rng.normal(size=(40, 6))
    net = MaskedMLP(tuple(layers), MLPConfig(), 0, "made up")
    assert torch is not None
    scorer, rows = NetworkScorer(layers, X), np.array([3, 7, 31, 5])
    mask = np.zeros((4, 6), bool)
    mask[:, [0, 2, 5]] = True
    wanted = net.predict_proba(np.where(mask, X[rows], 0), mask)
    np.testing.assert_allclose(scorer.proba(scorer.open((0, 2), rows), rows, (5,)), wanted, atol=1e-5)


def test_additive_and_opaque_scorers_agree_also_in_parts() -> None:
    X, y, _ = context(n=200)
    X[::9, 2] = np.nan
    halves = np.arange(0, 100), np.arange(100, 200)
    parts = [(CellBayes(X[other], y[other], 2, y[other]), here) for here, other in (halves, halves[::-1])]
    fast, slow = AdditiveScorer(parts, X), OpaqueScorer(parts, X, 2)
    rows = np.array([150, 2, 99, 100, 0, 18])
    for features, more in (((), ()), ((1, 2), ()), ((0,), (2, 5))):
        one = fast.proba(fast.open(features, rows), rows, more)
        two = slow.proba(slow.open(features, rows), rows, more)
        np.testing.assert_allclose(one, two, atol=1e-5)


def test_parts_may_have_hidden_states_of_different_sizes() -> None:
    X, y, _ = context(n=200)
    cells = np.column_stack([X[:, 0] > 0.5, y])
    parts = [(CellBayes(X, y, 2, y), np.arange(0, 90)), (CellBayes(X, y, 2, cells), np.arange(90, 200))]
    fast, slow, rows = AdditiveScorer(parts, X), OpaqueScorer(parts, X, 2), np.array([95, 3, 89, 150])
    one = fast.proba(fast.open((1, 4), rows), rows, (0,))
    np.testing.assert_allclose(one, slow.proba(slow.open((1, 4), rows), rows, (0,)), atol=1e-5)


def judge_of(n: int = 300, panels: tuple[tuple[int, ...], ...] = ()) -> Judge:
    X, y, _ = context(n=n)
    everyone = np.arange(n)
    scorer = AdditiveScorer([(CellBayes(X, y, 2, y), everyone)], X)
    return Judge(scorer, y, LogUtility.of(y, 2), Prices.plain(np.ones(7), panels))


def test_the_judge_remembers_and_recomputes_nothing() -> None:
    judge, rows = judge_of(), np.arange(0, 300, 3)
    first = judge.sweep((1,), [(2,), (3, 4)], rows)
    done = judge.evaluations
    np.testing.assert_array_equal(judge.sweep((2,), [(1,)], rows)[:, 0], first[:, 0])
    assert judge.evaluations == done
    np.testing.assert_allclose(judge.utility((1, 3, 4), np.arange(300))[rows], first[:, 1], rtol=1e-5)
    np.testing.assert_allclose(judge.measure(judge.proba((1, 2), rows), judge.y[rows]), first[:, 0], rtol=1e-5)


def test_asking_a_panel_reveals_all_of_it() -> None:
    whole, single = judge_of(panels=((1, 2, 3),)), judge_of()
    rows = np.arange(300)
    np.testing.assert_array_equal(whole.utility((2,), rows), single.utility((1, 2, 3), rows))


def test_prices_in_groups_depend_on_what_was_asked() -> None:
    prices = Prices(
        np.array([3.0, 3.0, 1.0]), np.array([1.0, 2.0, 1.0]), np.array([0, 0, -1]), np.eye(3, dtype=bool),
        np.zeros((3, 3), bool),
    )  # fmt: skip
    assert prices.cost((0, 1, 2)) == 6.0
    assert prices.cost((1, 0)) == 4.0
    assert prices.cost((1,), (0,)) == 2.0
    assert prices.all_now((0,)).tolist() == [1.0, 2.0, 1.0]


def test_split_values_are_sums_over_both_sides() -> None:
    rng = np.random.default_rng(0)
    m, n_plan = 400, 2
    column = rng.integers(0, 4, m)
    effects = rng.normal(size=(m, 5)).astype(np.float32)
    effects[column <= 1, 3] += 2.0
    prices, margin = np.array([1.0, 2.0, 1.0, 1.0, 2.0]), 0.01
    bins = column.astype(np.uint8)[:, None]
    alone = rng.normal(size=(m, 1)).astype(np.float32)
    alone[column == 3] += 1.0  # cases that had better stop after the question
    options = (np.array([0]), alone, 0.0, margin, True, 25)
    values, _ = split_values(bins, np.array([4]), effects, prices, n_plan, *options)
    stopped = 0
    for t in range(3):
        total = 0.0
        for side in (column <= t, column > t):
            sums = effects[side].sum(axis=0, dtype=np.float64)
            _, gain = side_moves(sums, side.sum(), prices, n_plan, 0, 0.0, margin, True, 2)
            stopped += alone[side].sum() > gain
            gain = max(gain, float(alone[side].sum(dtype=np.float64)))
            total += gain * side.sum() / (side.sum() + 30.0)
        assert values[0, t] == pytest.approx(total, rel=1e-6)
    assert stopped


def test_moves_of_one_side_are_affordable_and_keep_the_question() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        prices = rng.choice([1.0, 2.0, 3.0], size=7)
        sums, slack = rng.normal(size=7) * 5, float(rng.choice([0.0, 1.0]))
        question = int(rng.integers(-1, 7))
        bought, gain = side_moves(sums, 50, prices, 3, question, slack, 0.01, True, 2)
        if np.isneginf(gain):
            continue
        assert prices[bought].sum() <= prices[:3].sum() + slack + 1e-9
        assert question < 0 or bought[question]
        change = sums[3:][bought[3:]].sum() - sums[:3][~bought[:3]].sum()
        saved = 0.01 * 50 * (prices[:3].sum() - prices[bought].sum())
        assert gain == pytest.approx(change + saved)


def test_thresholds_part_values_and_are_short() -> None:
    assert thresholds(np.array([0.0, 1.0, 1.0, np.nan])).tolist() == [0.5]
    assert thresholds(np.array([2.0, 2.0])).tolist() == []
    many = np.random.default_rng(0).normal(size=6000)
    found = thresholds(many)
    assert len(found) == 9
    assert not np.isin(found, many).any()
    assert plain_between(1.23456, 1.34567) == 1.3
    assert 1.0 <= plain_between(1.0, np.nextafter(1.0, 2)) < np.nextafter(1.0, 2)


def test_rows_are_dealt_by_class_or_by_group() -> None:
    y = np.repeat([0, 1], [90, 10])
    proposing, confirming = deal_rows(y, None, 0.4, 0)
    assert sorted([*proposing, *confirming]) == list(range(100))
    assert y[confirming].sum() == 4
    groups = np.arange(100) // 5
    proposing, confirming = deal_rows(y, groups, 0.4, 0)
    assert not set(groups[proposing]) & set(groups[confirming])


def test_only_linear_copies_are_copies() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=3000)
    b = a.copy()
    b[-1] += 1.0  # one row differs, outside many samples
    X = np.column_stack([a, 32 - 1.8 * a, a**3, b, np.ones(3000)])
    copies = linear_copies(X)
    assert np.argwhere(np.triu(copies)).tolist() == [[0, 1]]
