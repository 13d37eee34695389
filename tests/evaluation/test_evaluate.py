"""Evaluation tables: every policy is measured the same way, and the command says so."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from synafa.cli.app import run as run_command
from synafa.errors import SynafaError
from synafa.evaluation import Evaluation, RandomPolicy, StaticPolicy, all_features, evaluate, run_policy
from synafa.evaluation.metrics import METRICS
from synafa.evaluation.policies import build_policies, check_policy_names, policy_names
from tests.evaluation.test_harness import Hashed, make_dataset

BUDGETS = (1.0, 2.0, 4.0)


class Sum:
    """Predicts from the sum of what is known; the first feature carries the class."""

    profile = "paper"

    def predict_proba(self, values, mask):
        p = 1 / (1 + np.exp(-2 * values[:, 0] - 0.1 * values[:, 1:].sum(axis=1)))
        return np.column_stack([1 - p, p]).astype(np.float32)


class Counted(Hashed):
    """Counts the rows it is asked about."""

    rows = 0

    def propose(self, values, mask, remaining):
        self.rows += len(values)
        return super().propose(values, mask, remaining)


@pytest.fixture
def dataset():
    return make_dataset(n=800, d=6)


def order(*first):
    return StaticPolicy(np.array([*first, *(j for j in range(6) if j not in first)]))


def test_the_table_has_one_line_per_policy_and_budget_with_every_metric(dataset):
    table = evaluate({"good": order(0), "random": RandomPolicy(0)}, dataset, Sum(), BUDGETS)
    assert table.select("policy", "budget").rows() == [(p, b) for p in ("good", "random") for b in BUDGETS]
    assert {*METRICS, "mean_cost", "distinct_sets", "majority_set_share", "n", "profile"} <= set(table.columns)
    assert table["n"].to_list() == [200] * 6
    assert table["profile"].unique().to_list() == ["paper"]
    good = table.filter(policy="good")
    assert good["distinct_sets"].to_list() == [1, 1, 1]
    assert good["mean_cost"].to_list() == list(BUDGETS)
    assert (good["accuracy"] > 0.85).all()


def test_a_line_is_the_metrics_of_the_episodes(dataset):
    policy = Hashed(1, 0.2, True)
    table = evaluate({"p": policy}, dataset, Sum(), BUDGETS, rows="validation")
    for line in table.iter_rows(named=True):
        episodes = run_policy(policy, dataset, "validation", line["budget"], Sum())
        assert line["accuracy"] == np.mean(episodes.predictions == episodes.y)
        assert line["fallback_share"] == episodes.used_fallback.mean()


def test_one_run_serves_all_budgets_of_a_policy_that_does_not_look_at_them(dataset):
    once, thrice = Counted(1, 0.2, False), Counted(1, 0.2, False)
    first = evaluate({"p": once}, dataset, Sum(), BUDGETS)
    second = evaluate({"p": dict.fromkeys(BUDGETS, thrice)}, dataset, Sum(), BUDGETS)
    assert first.equals(second)
    assert once.rows < thrice.rows


def test_a_policy_per_budget_is_asked_at_its_budget(dataset):
    table = evaluate({"p": {1.0: order(3), 2.0: order(0)}}, dataset, Sum(), (1, 2))
    assert table["accuracy"][1] > 0.85 > table["accuracy"][0]
    with pytest.raises(SynafaError, match="'p' has no model for budget 4"):
        evaluate({"p": {1.0: order(3)}}, dataset, Sum(), (1, 4))


def test_all_features_ignores_the_budget_and_says_what_it_costs():
    dataset = make_dataset(n=80, d=6, costs=[1, 2, 3, 4, 5, 6], groups=((1, 2),))
    table = evaluate({"all": all_features(6)}, dataset, Sum(), BUDGETS)
    assert table["mean_cost"].to_list() == [18.0] * 3
    stepped = run_policy(all_features(6), dataset, "test", np.inf, Sum())
    assert stepped.cost[0] == 18
    assert table["accuracy"][0] == np.mean(stepped.predictions == stepped.y)


def test_the_uncorrected_harness_leaves_a_stop_standing(dataset):
    policy = Hashed(2, 0.6, True)
    corrected, left = (evaluate({"p": policy}, dataset, Sum(), (4,), forced=forced) for forced in (True, False))
    assert corrected["mean_cost"][0] == 4 > left["mean_cost"][0]
    assert left["stop_share"][0] > 0
    assert left["forced"].to_list() == [False]


def test_differences_are_first_minus_second_with_an_interval_around_them(dataset):
    policies = {"good": order(0), "bad": order(5, 4, 3, 2), "random": RandomPolicy(0)}
    table = Evaluation(policies, dataset, Sum(), (1, 2)).compare("good")
    assert table.select("policy", "against", "budget").rows() == [
        ("good", other, budget) for other in ("bad", "random") for budget in (1.0, 2.0)
    ]
    for metric in ("accuracy", "balanced_accuracy", "auroc", "matched"):
        difference, low, high = (table[f"{metric}_{part}"] for part in ("difference", "low", "high"))
        assert (low <= difference).all()
        assert (difference <= high).all()
        assert (difference > 0.1).all()
        assert np.allclose(difference, table[metric] - table[f"{metric}_against"])


def test_a_policy_compared_with_itself_differs_by_nothing(dataset):
    table = Evaluation({"a": order(0), "b": order(0)}, dataset, Sum(), (2,)).compare("a")
    for metric in ("accuracy", "balanced_accuracy", "auroc", "matched"):
        assert [table[f"{metric}_{part}"][0] for part in ("difference", "low", "high")] == [0, 0, 0]
    with pytest.raises(SynafaError, match="one of a, b, got: 'c'"):
        Evaluation({"a": order(0), "b": order(0)}, dataset, Sum()).compare("c")


def test_tables_are_written_as_parquet(dataset, tmp_path):
    policies = {"good": order(0), "random": RandomPolicy(0)}
    table = evaluate(policies, dataset, Sum(), (2,), output=tmp_path / "table.parquet")
    paired = Evaluation(policies, dataset, Sum(), (2,)).compare("good", output=tmp_path / "paired.parquet")
    assert pl.read_parquet(tmp_path / "table.parquet").equals(table)
    assert pl.read_parquet(tmp_path / "paired.parquet").equals(paired)


def test_names_become_policies_and_unknown_names_are_refused(dataset):
    names = [
        "synafa",
        "synafa-no-pairs",
        "synafa-masked",
        "synafa-strict",
        "random",
        "static-single",
        "static-pair",
        "all",
    ]
    built = build_policies(names, dataset, BUDGETS)
    assert list(built) == names
    table = evaluate(built, dataset, Sum(), BUDGETS)
    assert len(table) == len(names) * len(BUDGETS)
    assert (
        table.filter(pl.col("policy") != "all")["mean_cost"] <= table.filter(pl.col("policy") != "all")["budget"]
    ).all()
    assert "aaco" in policy_names()
    with pytest.raises(SynafaError, match="Unknown policy 'synapha'; choose from synafa, "):
        check_policy_names(["synapha"])


@pytest.mark.data
def test_physionet_acquisitions_are_the_papers(data_dir):
    from synafa.datasets import load

    data = load("physionet")
    synafa = build_policies(["synafa"], data, data.budgets)["synafa"]
    episodes = run_policy(synafa, data, "test", 10)
    assert len(np.unique(episodes.mask, axis=0)) == 10
    assert np.mean(~episodes.used_fallback) == pytest.approx(0.8025, abs=5e-5)


@pytest.mark.data
def test_the_command_prints_one_json_document_and_writes_a_table(data_dir, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "cache"))
    words = ["evaluate", "--dataset=ckd", "--policies=synafa,random", "--budgets=2,4", "--profile=quick"]
    assert run_command([*words, "--json", "--output", str(tmp_path / "table.parquet")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [(line["policy"], line["budget"]) for line in said["policies"]] == [
        (policy, budget) for policy in ("synafa", "random") for budget in (2, 4)
    ]
    assert [line["against"] for line in said["differences"]] == ["random", "random"]
    assert pl.read_parquet(tmp_path / "table.parquet").to_dicts() == said["policies"]
    assert run_command(words) == 0
    shown = capsys.readouterr().out
    assert "threshold-matched" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_the_command_names_the_parameters_of_a_generated_dataset(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path))
    words = [
        "evaluate",
        "--dataset=synergy-sweep",
        "--parameter=alpha=0.5",
        "--profile=quick",
        "--policies=static-single",
    ]
    assert run_command(words) == 0
    assert "synergy-sweep[alpha=0.5]#0, 6,000 test rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--policies synapha", "Unknown policy 'synapha'"),
        ("--budgets 2,many", "--budgets must be numbers with commas"),
        ("--output table.csv", "let it end in .parquet"),
        ("--parameter alpha=half", "Cannot read --parameter 'alpha=half'"),
    ],
)
def test_the_command_refuses_in_one_sentence(words, sentence, capsys):
    assert run_command(["evaluate", "--dataset", "synergy-sweep", *words.split()]) == 2
    told = capsys.readouterr().err
    assert sentence in told.replace("\n", " ")
    assert "Traceback" not in told
