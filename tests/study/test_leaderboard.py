"""The leaderboard: ranks on constructed results, and a policy and a table of one's own from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from synafa.cli.app import run as synafa
from synafa.datasets import Dataset
from synafa.errors import SynafaError
from synafa.evaluation.own_policy import find_policy, own_policy
from synafa.study.engine.repetition import Repetition
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.experiments import leaderboard
from synafa.study.experiments.leaderboard import Board
from tests.study.test_units_and_sweeps import finished

pytestmark = pytest.mark.slow

SETTINGS = Settings("standard", datasets=("ckd", "physionet"))
METHODS = ("synafa", "cae", "random")


def results_with(scores: dict[str, dict[str, float]], boards: list[Board]) -> Results:
    """Every unit of some policies with one AUROC a table; CAE's costs are known."""
    done = []
    for board in boards:
        for method in METHODS:
            if method not in scores[board.title]:
                continue
            for unit in leaderboard.board_units(SETTINGS, board, (method,)):
                auroc = scores[board.title][method]  # by log loss the order is the other way round
                row = {"auroc": auroc, "log_loss": auroc, "n": 10, "fit_seconds": 2.0, "run_seconds": 0.5}
                done.append(finished(unit, [{"budget": b, **row} for b in unit["budgets"]]))
    return Results(SETTINGS, [result.unit for result in done], done)


BOARDS = [Board("A", "ckd", (2, 4, 7), (0, 1), METHODS), Board("B", "physionet", (5, 10, 15), (0,), METHODS)]


def test_the_best_on_every_table_is_first_and_a_missing_policy_is_not_ranked() -> None:
    scores = {"A": {"synafa": 0.9, "cae": 0.8, "random": 0.6}, "B": {"synafa": 0.8, "cae": 0.7, "random": 0.5}}
    results = results_with(scores, BOARDS)
    found = leaderboard.ranking(results, BOARDS, METHODS)
    assert found is not None
    assert found.methods == METHODS
    assert found.ranks.mean_ranks.tolist() == [1.0, 2.0, 3.0]
    assert found.ranks.n_tables == 2  # budgets are no tables
    partly = {"A": scores["A"], "B": {"synafa": 0.8, "cae": 0.9}}
    found = leaderboard.ranking(results_with(partly, BOARDS), BOARDS, METHODS)
    assert found is not None
    assert set(found.methods) == {"synafa", "cae"}
    assert found.ranks.mean_ranks.tolist() == [1.5, 1.5]


def test_the_tables_say_rank_cost_and_score() -> None:
    scores = {"A": {"synafa": 0.9, "cae": 0.8, "random": 0.6}, "B": {"synafa": 0.8, "cae": 0.7, "random": 0.5}}
    ranks, cells, conclusions = leaderboard.tables(results_with(scores, BOARDS), BOARDS)
    assert [row[:3] for row in ranks.rows] == [
        ("SynAFA", "1.00", "3.00"),
        ("CAE", "2.00", "2.00"),
        ("random order", "3.00", "1.00"),
    ]
    assert ranks.rows[1][3] == "2"
    assert "differ by less than" in ranks.note
    assert [row[:2] for row in cells.rows] == [("A", "2"), ("A", "4"), ("A", "7"), ("B", "5"), ("B", "10"), ("B", "15")]
    assert cells.rows[0][2] == "0.900 (best)"
    assert [row[2] for row in conclusions.rows] == ["CAE", "random order"]  # only where there are instances
    assert conclusions.rows[0][3].startswith("+0.1000")


def test_other_instances_train_at_the_middle_budget_once() -> None:
    board = Board("A", "ckd", (2, 4, 7), (0, 1), ("cae",))
    units = leaderboard.board_units(SETTINGS, board)
    assert [u["budgets"] for u in units if u["instance"] == 1] == [[4]]
    assert len([u for u in units if u["instance"] == 0]) == 3 * 5  # three budgets, five trainings


def test_the_leaderboard_has_the_tables_it_promises() -> None:
    settings = Settings("standard", repetition=Repetition(instances=5))
    titles = [board.title for board in leaderboard.boards(settings)]
    assert len(titles) == 9
    assert {"CKD", "ACTG175", "BankMarketing", "PhysioNet", "MNIST-loop", "CUBE"} <= set(titles)
    costs = next(board for board in leaderboard.boards(settings) if board.dataset == "cube-costs")
    from synafa.study.experiments.shared import load_dataset

    data = load_dataset("cube-costs", 0)
    assert sorted(set(data.costs.tolist())) == [1.0, 2.0, 4.0]
    assert tuple(data.budgets) == costs.budgets


def test_a_policy_of_ones_own_is_found_fitted_or_named_in_the_error() -> None:
    where = "tests.study.own_policy:Backwards"
    data = load_table_of(Path("nowhere"))
    policy = own_policy(where, data, (2.0,), seed=7)
    assert policy.seed == 7
    assert policy.propose(np.zeros((1, 4)), np.zeros((1, 4), bool), np.ones(1)).tolist() == [3]
    for wrong, words in (
        ("tests.study.own_policy:Silent", "propose"),
        ("tests.study.own_policy:Nobody", "'Nobody'"),
        ("tests.study.nowhere:Thing", "no module"),
    ):
        with pytest.raises(SynafaError, match=words):
            find_policy(wrong)


def load_table_of(path: Path):
    from tests.baselines.baseline_tasks import one_feature_decides

    return one_feature_decides(200, d=4, which=1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 4))
    path = tmp_path / "mine.csv"
    frame = pl.DataFrame({f"x{i}": x[:, i] for i in range(4)})
    frame = frame.with_columns(
        pl.Series("colour", np.where(x[:, 0] > 0, "red", "blue")),
        pl.Series("ill", np.where(x[:, 1] + 0.2 * rng.normal(size=400) > 0, "yes", "no")),
    )
    frame.write_csv(path)
    return path


def test_a_table_is_scaled_with_its_training_rows(table: Path) -> None:
    data = Dataset.from_file(table, "ill")
    assert data.feature_names == ("x0", "x1", "x2", "x3", "colour")
    assert np.allclose(data.X[data.train].mean(axis=0), 0, atol=1e-5)
    assert not np.allclose(data.X[data.test].mean(axis=0), 0, atol=1e-5)
    assert (len(data.train), len(data.validation), len(data.test)) == (240, 80, 80)
    assert data.y.mean() == pytest.approx(0.5, abs=0.1)
    with pytest.raises(SynafaError, match="nothing"):
        Dataset.from_file(table, "nothing")


def test_ones_own_policy_and_table_are_ranked_by_one_command(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "cache"))
    words = ["leaderboard", "--table", str(table), "--target", "ill", "--policies", "synafa,static-single,random"]
    words += ["--policy", "tests.study.own_policy:Backwards", "--profile", "quick", "--workers", "1"]
    assert synafa([*words, "--results", str(tmp_path / "results"), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    ranked = {row["policy"]: row["mean rank, AUROC"] for row in made["leaderboard-ranks"]}
    assert set(ranked) == {"SynAFA", "static, single information", "random order", "tests.study.own_policy:Backwards"}
    assert float(ranked["SynAFA"]) < float(ranked["tests.study.own_policy:Backwards"])
    assert synafa(["leaderboard", "--table", str(table)]) == 2
    assert "--target" in capsys.readouterr().err
    assert synafa(["leaderboard", "--policy", "tests.study.own_policy:Nobody"]) == 2
