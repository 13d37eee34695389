"""The experiment plan-tree: which units it asks for, what it makes of constructed results, and its fixed panels."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from synafa.datasets import load
from synafa.stats import hierarchical_bootstrap
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.experiments import leaderboard, plan_policies, plan_tree
from synafa.study.experiments.leaderboard import Board
from tests.study.test_units_and_sweeps import finished

pytestmark = pytest.mark.slow

SETTINGS = Settings("standard")
N = 40
RIGHT = {"plan-tree": 0.9, "plan-panel": 0.9, "synafa": 0.7, "aaco": 0.6, "gdfs": 0.95}  # P(true class) of every row
BOARD = Board("A", "ckd", (2, 4), (0, 1), ("synafa", "aaco", "gdfs"))


def made(unit, instance_rows: np.ndarray):
    """A unit's result in which every row gets its method's probability of the true class, with a little noise."""
    rng = np.random.default_rng([unit.seed, unit["instance"]])
    y = np.arange(N) % 2
    arrays = {"y": y.astype(np.uint8), "row": instance_rows.astype(np.int32)}
    judges = len(unit["judges"])
    for budget in unit["budgets"]:
        true = np.clip(RIGHT[unit["method"]] + 0.02 * rng.normal(size=(judges, N)), 0.01, 0.99).astype(np.float32)
        arrays[f"true_probability_{budget}"] = true
        arrays[f"positive_{budget}"] = np.where(y == 1, true, 1 - true)
    row = {"leaves": 3 if unit["instance"] else 1, "nodes": 5, "fit_seconds": 0.5}
    return finished(unit, [{"budget": b, **row} for b in unit["budgets"]], arrays)


def results_of(board: Board) -> Results:
    done = [
        made(unit, np.arange(N) + 10 * unit["instance"])  # the instances share 30 of their 40 test rows
        for unit in plan_tree.board_units(SETTINGS, board)
    ]
    return Results(SETTINGS, [result.unit for result in done], done)


def test_the_tables_are_those_of_the_question() -> None:
    titles = [board.title for board in plan_tree.boards(SETTINGS)]
    sweeps = [f"alpha sweep, alpha = {alpha}" for alpha in ("0", "0.5", "1")]
    real = ["CKD", "ACTG175", "BankMarketing", "PhysioNet", "MNIST-loop"]
    assert titles == [*real, "CUBE", "CUBE, costs 1, 2, 4", *sweeps]
    wanted = {"synafa", "synafa-strict", "static-greedy", "permutation", "aaco"}
    assert all(wanted <= set(board.methods) for board in plan_tree.boards(SETTINGS))


TEN = {*leaderboard.EIGHT, *leaderboard.GENERATIVE}


@pytest.mark.parametrize("dataset", ["ckd", "actg175", "bank", "physionet", "cube", "cube-costs", "synergy-sweep"])
def test_instance_0_meets_all_ten_at_least_three_times(dataset: str) -> None:
    for board in (board for board in plan_tree.boards(SETTINGS) if board.dataset == dataset):
        units = [unit for unit in plan_tree.board_units(SETTINGS, board) if unit["method"] in TEN]
        budget = board.budgets[-1]
        once_an_instance = ("gdfs", "dime", "cae", "permutation", "aaco") if dataset == "synergy-sweep" else ()
        for method in TEN:
            met = [unit for unit in units if unit["method"] == method and budget in unit["budgets"]]
            repeated = [unit for unit in met if unit["instance"] == 0]
            assert repeated, (board.title, method)
            assert len(met if method in once_an_instance else repeated) >= 3, (board.title, method)


def test_the_selectors_over_pixels_are_trained_three_times() -> None:
    board = next(board for board in plan_tree.boards(SETTINGS) if board.dataset == "mnist-loop")
    units = plan_tree.board_units(SETTINGS, board)
    for method in ("gdfs", "dime", "cae"):
        assert sum(unit["method"] == method and 10 in unit["budgets"] for unit in units) == 3


def test_every_instance_has_three_classifiers_and_others_than_0_no_slow_learner() -> None:
    board = next(board for board in plan_tree.boards(SETTINGS) if board.dataset == "ckd")
    units = plan_tree.board_units(SETTINGS, board)
    further = {unit["method"] for unit in units if unit["instance"] == 3} - set(plan_policies.METHODS)
    assert further == {"synafa", "synafa-strict", "permutation", "aaco", "gdfs", "dime"}
    for instance in range(5):
        trees = [u for u in units if (u["method"], u["instance"]) == ("plan-tree", instance)]
        assert sorted((u["judges"][0], u["budgets"][0]) for u in trees) == [(j, b) for j in range(3) for b in (2, 4, 7)]


def test_what_the_leaderboard_asks_for_too_is_computed_once() -> None:
    mine = {unit.key for unit in plan_tree.units(SETTINGS)}
    theirs = leaderboard.units(SETTINGS)
    shared = {unit["method"] for unit in theirs if unit.key in mine}
    assert {"plan-tree", "synafa", "aaco", "permutation", "gdfs", "dime", "jafa", "eddi"} <= shared
    trees = [unit for unit in theirs if unit["method"] == "plan-tree" and unit["dataset"] != "fixed-v"]
    assert trees
    assert all(unit.key in mine for unit in trees)


def test_a_panel_waits_for_the_tree_whose_root_it_is() -> None:
    board = next(board for board in plan_tree.boards(SETTINGS) if board.dataset == "ckd")
    units = plan_tree.board_units(SETTINGS, board)
    trees = {unit.key for unit in units if unit["method"] == "plan-tree"}
    for panel in (unit for unit in units if unit["method"] == "plan-panel"):
        (tree,) = (need for need in panel.needs if need.experiment == "policies")
        assert tree.key in trees
        assert all(tree[name] == panel[name] for name in ("instance", "budgets", "judges", "training"))


def test_quick_is_one_small_table() -> None:
    units = plan_tree.units(Settings("quick"))
    assert {unit["dataset"] for unit in units} == {"ckd"}
    assert len(units) < 40


def test_a_gain_is_positive_where_the_tree_is_better_and_zero_against_its_like() -> None:
    results = results_of(BOARD)
    for measure in ("auroc", "log_loss"):
        better = plan_tree.gain(results, BOARD, "synafa", 2, measure)
        worse = plan_tree.gain(results, BOARD, "gdfs", 4, measure)
        assert better is not None
        assert worse is not None
        assert better.instances == 2
        if measure == "log_loss":  # every probability is on the right side: no AUROC to gain
            assert better.value == pytest.approx(np.log(0.9 / 0.7), abs=0.02)
            assert better.low > 0
            assert better.p < 0.01
            assert worse.value == pytest.approx(np.log(0.9 / 0.95), abs=0.02)
            assert worse.high < 0
        else:
            assert better.value == 0.0
            assert better.p == 1.0
    assert plan_tree.gain(results, BOARD, "permutation", 2, "auroc") is None  # not met


def test_aaco_is_met_in_all_its_draws_and_its_luck_is_in_the_interval() -> None:
    found = plan_tree.gain(results_of(BOARD), BOARD, "aaco", 2, "log_loss")
    assert found is not None
    assert found.value == pytest.approx(np.log(0.9 / 0.6), abs=0.02)
    assert found.low < found.value < found.high  # constant but for its draws, a difference still has an interval
    hands = plan_tree.dealt(np.arange(10.0)[:, None], 3)
    assert hands[:, 0].tolist() == [4.5, 4.0, 5.0]  # 0 3 6 9, 1 4 7, 2 5 8


def test_rows_that_several_instances_test_are_one_cluster() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 1, 60))
    twice = np.concatenate([values, values], axis=2)
    rows = np.concatenate([np.arange(60), np.arange(60)])
    merged = plan_tree.clustered(twice, rows)
    np.testing.assert_allclose(merged, values, atol=1e-12)  # said twice is said once
    some = rng.integers(0, 25, 60)
    slow = np.array([[[0.0] * 25] * 1] * 2)
    names = np.unique(some)
    for at, name in enumerate(names):
        slow[:, :, at] = (values - values.mean(axis=2, keepdims=True))[:, :, some == name].sum(axis=2)
    slow = values.mean(axis=2, keepdims=True) + slow[:, :, : len(names)] * len(names) / 60
    np.testing.assert_allclose(plan_tree.clustered(values, some), slow, atol=1e-12)
    assert plan_tree.clustered(values, some).mean() == pytest.approx(values.mean())
    narrow, wide = (hierarchical_bootstrap(v, n_resamples=500).se for v in (twice, merged))
    assert narrow < 0.8 * wide


def test_the_tables_say_won_lost_sizes_and_what_adapting_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_tree, "boards", lambda settings: [BOARD])
    results = results_of(BOARD)
    summary, gains, adapting, sizes = plan_tree.tables(results)
    assert [row[0] for row in summary.rows] == ["SynAFA", "AACO", "GDFS"]
    assert summary.rows[0][1:] == (2, "0/2/0", "2/0/0")
    assert summary.rows[2][1:] == (2, "0/2/0", "0/0/2")
    assert [row[:3] for row in gains.rows][:2] == [("A", "2", "SynAFA"), ("A", "4", "SynAFA")]
    assert gains.rows[0][5].endswith("*")
    assert [row[:2] for row in adapting.rows] == [("A", "2"), ("A", "4")]
    assert abs(float(adapting.rows[0][5])) < 0.01
    assert sizes.rows[0][:6] == ("A", "2", 6, 1, 2.0, 3)
    assert len(plan_tree.figures(results)) == 1
    assert plan_tree.headline(results) == []  # two tables are too few to speak


@pytest.fixture(scope="module")
def cube():
    pytest.importorskip("torch")
    from synafa.neural.shared import shared_classifier

    dataset = load("cube", n=400)
    return dataset, shared_classifier(dataset, "quick", 0, cache=False)


def test_static_greedy_is_the_obvious_loop(cube) -> None:
    from synafa.plan.utility import LogUtility

    dataset, judge = cube
    X, y = dataset.X[dataset.train], dataset.y[dataset.train]
    utility = LogUtility.of(y, dataset.n_classes, True)
    chosen: list[int] = []
    for _ in range(4):
        worth = np.full(dataset.n_features, -np.inf)
        for j in set(range(dataset.n_features)) - set(chosen):
            mask = np.zeros(X.shape, bool)
            mask[:, [*chosen, j]] = True
            worth[j] = utility(judge.predict_proba(np.where(mask, X, 0), mask), y).mean(dtype=np.float64)
        chosen.append(int(worth.argmax()))
    assert plan_policies.greedy_plan(dataset, 4, judge, seed=0) == tuple(chosen)


def test_the_tree_is_grown_once_and_its_panel_is_its_root(
    cube, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, judge = cube
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path))
    grown = plan_policies.fit_plan("plan-tree", dataset, 3, judge, seed=0)
    assert len(list((tmp_path / "plan-trees").iterdir())) == 1
    again = plan_policies.fit_plan("plan-tree", dataset, 3, judge, seed=0)
    rows = dataset.X[dataset.test]
    np.testing.assert_array_equal(grown.acquire(rows).order, again.acquire(rows).order)
    panel = plan_policies.fit_plan("plan-panel", dataset, 3, judge, seed=0)
    plan = plan_policies.root_plan(grown)
    assert panel.order[: len(plan)].tolist() == list(plan)
    assert sorted(plan) == sorted(grown.root_.plan)
    assert dataset.costs[list(plan)].sum() <= 3
    plan_policies.fit_plan("plan-tree", dataset, 3, judge, seed=1)
    assert len(list((tmp_path / "plan-trees").iterdir())) == 2


def test_a_classifier_that_cannot_be_told_from_another_is_refused() -> None:
    from synafa.errors import SynafaError

    with pytest.raises(SynafaError, match="shared classifier"):
        plan_policies.fitted_tree(load("cube", n=100), 3, SimpleNamespace(), 0)
