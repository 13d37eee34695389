"""One's own table and one's own policy in the research tools, and prices that depend on what was paid."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from synafa.datasets import Dataset
from synafa.errors import SynafaError
from synafa.evaluation import Evaluation, run_policy
from synafa.evaluation.own_policy import own_policy
from synafa.evaluation.policies import build_policies
from synafa.money import PriceList
from synafa.predictor import fit_predictor

OWN = """
import numpy as np

class Last:
    uses_remaining = False
    def __init__(self, costs):
        self.costs = costs
    def fit(self, X, y):
        self.rows = len(y)
        return self
    def propose(self, values, mask, remaining):
        hidden = ~mask
        return np.where(hidden.any(axis=1), mask.shape[1] - 1 - hidden[:, ::-1].argmax(axis=1), -1)

class Bound:
    def __init__(self, budget):
        self.budget = budget
    def propose(self, values, mask, remaining):
        return np.full(len(mask), -1)

class Mute:
    pass
"""


def table(n: int = 400, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.normal(size=n)}
        | {"sex": np.where(rng.random(n) < 0.5, "f", "m")}
    )
    y = np.where(frame["b"].to_numpy() + 0.3 * rng.normal(size=n) > 0, "ill", "well")
    return frame.with_columns(pl.when(pl.col("a") > 1.5).then(None).otherwise(pl.col("a")).alias("a")), y


class InOrder:
    """Asks the features in the order of their columns."""

    uses_remaining = False

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        return np.where(mask.all(axis=1), -1, mask.argmin(axis=1))


class Predictor:
    """The package's predictor in the place of the shared network."""

    def __init__(self, data: Dataset) -> None:
        rows = data.train
        self._fitted = fit_predictor(data.X[rows].astype(float), data.y[rows], data.n_classes)

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return self._fitted.predict_proba(np.asarray(values, dtype=float), mask)


def test_a_table_becomes_a_dataset_without_gaps_and_scaled_on_its_training_rows() -> None:
    frame, y = table()
    data = Dataset.from_table(frame, y, name="mine")
    assert data.feature_names == ("a", "b", "c", "sex")
    assert np.isfinite(data.X).all()
    np.testing.assert_allclose(data.X[data.train].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(data.X[data.train].std(axis=0), 1, atol=1e-5)
    assert sorted([*data.train, *data.validation, *data.test]) == list(range(400))
    assert abs(len(data.train) - 240) <= 2
    assert data.budgets == (1.0, 2.0, 4.0, 8.0)
    for part in (data.train, data.validation, data.test):
        assert abs(data.y[part].mean() - data.y.mean()) < 0.02
    assert data.fingerprint() != Dataset.from_table(frame, y, name="mine", instance=1).fingerprint()


def test_rows_of_one_group_stay_in_one_part() -> None:
    frame, y = table()
    patient = np.repeat(np.arange(80), 5)
    data = Dataset.from_table(frame, y, rows_together=patient)
    parts = [set(patient[rows]) for rows in (data.train, data.validation, data.test)]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]


def test_the_harness_charges_reduced_prices_and_reveals_panels() -> None:
    frame, y = table()
    prices = PriceList.from_columns(
        ["a", "b", "c", "sex"], [10, 10, 4, 4], ["", "", "lab", "lab"], ["x", "x", "", ""], [3, 3, None, None]
    )
    data = Dataset.from_table(frame, y, prices=prices, budgets=(13.0, 16.9, 17.0))
    assert data.full_cost == 17.0
    for budget, steps, cost in ((9.9, 0, 0.0), (12.9, 1, 10.0), (13.0, 2, 13.0), (16.9, 2, 13.0), (17.0, 3, 17.0)):
        run = run_policy(InOrder(), data, "test", budget)
        assert run.order.shape[1] == steps, budget
        np.testing.assert_allclose(run.cost, cost)
    assert run.mask.all()  # the panel showed the fourth feature too
    np.testing.assert_allclose(run.step_cost[0], [10, 3, 4])
    one = Evaluation({"in order": InOrder()}, data, None).runs("in order")
    assert [float(one[b].cost[0]) for b in data.budgets] == [13.0, 13.0, 17.0]
    assert data.fingerprint() != replace(data, prices=None).fingerprint()


def test_with_plain_prices_nothing_changes() -> None:
    frame, y = table()
    names = list(frame.columns)
    plain = Dataset.from_table(frame, y, prices=PriceList.plain(names, [1, 2, 3, 4]), budgets=(5.0,))
    assert plain.prices is None
    listed = replace(plain, prices=PriceList.plain(names, [1, 2, 3, 4]))
    one, two = (run_policy(InOrder(), data, "test", 5.0) for data in (plain, listed))
    for field in ("order", "cost", "step_cost", "mask", "ending"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    assert (
        plain.fingerprint()
        == Dataset.from_table(frame, y, prices={"b": 2, "c": 3, "sex": 4}, budgets=(5,)).fingerprint()
    )


def test_the_plan_tree_is_a_policy_with_the_classifier_as_its_predictor() -> None:
    frame, y = table()
    data = Dataset.from_table(frame, y, budgets=(1.0, 2.0))
    judge = Predictor(data)
    built = build_policies(["plan-tree"], data, data.budgets, judge)
    assert sorted(built["plan-tree"]) == [1.0, 2.0]  # one tree a budget
    found = Evaluation(built, data, judge)
    assert (found.runs("plan-tree")[1.0].order[:, 0] == 1).all()  # b decides
    spent = found.table()
    assert spent["mean_cost"].to_list() == [1.0, 2.0]
    assert spent["auroc"][0] > 0.9
    stopping = build_policies(["plan-tree"], data, (4.0,), judge, forced=False)
    assert Evaluation(stopping, data, judge, (4.0,), forced=False).table()["mean_cost"][0] < 4.0
    with pytest.raises(SynafaError, match="needs the shared classifier"):
        build_policies(["plan-tree"], data, (1.0,))


def test_a_policy_of_ones_own_is_made_fitted_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_policies_of_this_test.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    frame, y = table()
    data = Dataset.from_table(frame, y, budgets=(1.0, 2.0))
    last = own_policy("own_policies_of_this_test:Last", data, data.budgets)
    assert last.rows == len(data.train)
    assert (run_policy(last, data, "test", 1.0).order[:, 0] == 3).all()
    bound = own_policy("own_policies_of_this_test:Bound", data, data.budgets)
    assert {b: policy.budget for b, policy in bound.items()} == {1.0: 1.0, 2.0: 2.0}
    for spec, words in (
        ("own_policies_of_this_test:Mute", "no method propose"),
        ("own_policies_of_this_test:Missing", "Cannot import 'Missing'"),
        ("no_such_module_here:A", "There is no module"),
        ("Last", "module:Name"),
    ):
        with pytest.raises(SynafaError, match=words):
            own_policy(spec, data, data.budgets)


def test_the_command_takes_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from synafa.cli.app import run

    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "own_policies_of_this_test.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    frame, y = table(200)
    frame.with_columns(pl.Series("class", y)).write_csv(tmp_path / "mine.csv")
    words = ["evaluate", "--data", str(tmp_path / "mine.csv"), "--target", "class", "--policies", "plan-tree,synafa"]
    words += ["--policy", "own_policies_of_this_test:Last", "--budgets", "1,2", "--profile", "quick", "--json"]
    assert run(words) == 0
    found = json.loads(capsys.readouterr().out)
    names = [line["policy"] for line in found["policies"]]
    assert names == ["plan-tree"] * 2 + ["synafa"] * 2 + ["own_policies_of_this_test:Last"] * 2
    assert {line["against"] for line in found["differences"]} == {"synafa", "own_policies_of_this_test:Last"}
    assert run(words[:3]) == 2
    assert "--target" in capsys.readouterr().err
    assert run(["evaluate"]) == 2
    assert "--dataset" in capsys.readouterr().err
