"""`synafa fit` and `next` with prices, panels, error costs and groups, and what is said about odd columns."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from synafa.cli.app import run
from synafa.model.storage import load_bedside, load_model

pytestmark = pytest.mark.slow

N = 400


@pytest.fixture(scope="module")
def table():
    """A panel of two values that tell the disease, a cheap hint, and an identifier."""
    rng = np.random.default_rng(3)
    ill = rng.random(N) < 0.4
    return pl.DataFrame(
        {
            "patient": [f"p{i // 2:03d}" for i in range(N)],
            "age": rng.integers(30, 90, N),
            "hint": np.round(ill + rng.normal(0, 1.2, N), 2),
            "lactate": np.round(2 * ill + rng.normal(0, 0.8, N), 2),
            "ph": np.round(7.4 - 0.1 * ill + rng.normal(0, 0.05, N), 3),
            "state": np.where(ill, "ill", "well"),
        }
    )


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    table.write_csv(folder / "t.csv")
    (folder / "prices.csv").write_text(
        "feature;price;panel;group;price_in_group\nhint;50,5;;;\nlactate;200;gas;;\nph;200;gas;;\n"
    )
    words = ["fit", folder / "t.csv", "-t", "state", "--known", "age", "--group", "patient"]
    words += ["--prices", folder / "prices.csv", "--errors", "ill:well=5000", "well:ill=500", "-o", folder / "m"]
    assert run([str(word) for word in words]) == 0
    return folder


@pytest.fixture
def call(capsys):
    def call(*words):
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_prices_panels_errors_and_groups_reach_the_model(folder):
    model = load_model(folder / "m")
    names = model.policy_.encoder_.feature_names_
    assert names == ("age", "hint", "lactate", "ph"), "the patient is no feature"
    assert model.policy_.prices_.price.tolist() == [0, 50.5, 200, 200]
    assert model.policy_.prices_.reveals[2].tolist() == [False, False, True, True]
    assert model.error_costs_.matrix.tolist() == [[0, 5000], [500, 0]]
    assert np.isinf(model.policy_.budget_), "no budget was given: no limit"
    assert model.policy_.target_ == "state"


def test_next_says_what_it_is_and_what_to_do_in_money(folder, call):
    code, out, _ = call("next", folder / "m", "--observed", "age=60", "--other")
    assert code == 0
    assert out.startswith("Now: ")
    assert "with expected error costs of " in out
    assert "Measure lactate" in out or "Measure ph" in out
    assert "With it, for the same price: " in out
    assert "lowers the expected cost of errors from " in out
    assert "if " in out
    assert "Why not hint (cost 50.5)?" in out
    assert "Without " in out


def test_members_of_a_panel_are_asked_for_together_and_paid_once(folder, call):
    _, out, _ = call("next", folder / "m", "--observed", "age=60", "lactate=3.1", "--remaining", "0", "--json")
    answer = json.loads(out)
    assert (answer["feature"], answer["comes_with"], answer["cost"]) == ("ph", "lactate", 0)
    assert "Tell ph (no charge): it came with lactate" in answer["text"]
    _, out, _ = call("next", folder / "m", "--observed", "age=60", "lactate=3.1", "ph=", "--json")
    answer = json.loads(out)
    assert answer["feature"] not in ("lactate", "ph")
    assert answer["observed"]["ph"] is None


def test_a_stop_is_told_in_money_and_its_number_is_in_the_model(folder, call):
    _, out, _ = call("next", folder / "m", "--observed", "age=60", "lactate=3.1", "ph=7.2", "hint=1", "--json")
    assert json.loads(out)["stop_reason"] == "nothing left"
    _, out, _ = call("next", folder / "m", "--observed", "age=60", "lactate=3.1", "ph=7.2", "--json")
    answer = json.loads(out)
    if answer["feature"] is None:
        saving, price = answer["best_left_saving"], answer["best_left_price"]
        assert price == 50.5
        assert f"Stop: the best remaining test (hint, 50.50) is expected to save {max(saving, 0):.2f}" in answer["text"]
        tree = load_bedside(folder / "m").policy_.tree_
        assert saving in tree.rest_saving[answer["node"]]
    _, out, _ = call("next", folder / "m", "--observed", "age=60", "--remaining", "10")
    assert "Stop: the budget is spent" in out
    assert "enough" not in out.lower()


def test_the_answer_as_json_has_every_field(folder, call):
    _, out, _ = call("next", folder / "m", "--observed", "age=60", "--json")
    answer = json.loads(out)
    wanted = "probabilities decision expected_cost now outcomes others reveals runners_up questioned observed remaining"
    assert {*wanted.split(), "plan", "loss_before", "loss_after", "text"} <= set(answer)
    assert sum(answer["probabilities"].values()) == pytest.approx(1)
    assert answer["outcomes"][0]["decision"] in ("ill", "well")
    matrix = {"ill": 5000 * answer["probabilities"]["ill"], "well": 500 * answer["probabilities"]["well"]}
    assert answer["expected_cost"] == pytest.approx(min(matrix.values()), abs=1e-6)


def test_an_impossible_value_is_questioned_and_taken_when_it_is_repeated(folder, call, monkeypatch):
    _, out, _ = call("next", folder / "m", "--observed", "age=600")
    assert out.startswith("Is age = 600 right? In training it was between 30 and 89.")
    answers = iter(["600", "600", "stop"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    _, out, _ = call("next", folder / "m", "-i")
    assert "Is age = 600 right?" in out
    assert "Type it again if it is." in out
    assert "Measured: age=600." in out


def test_a_measurement_without_a_result_is_paid_and_not_asked_for_again(folder, call, monkeypatch):
    answers = iter(["60", "failed", "failed", "other", "no"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers, "stop"))
    _, out, _ = call("next", folder / "m", "-i", "--remaining", "300")
    assert "Without a result: " in out
    back = out.split("To come back here: ")[1].strip()
    assert "lactate= ph=" in back or "ph= lactate=" in back
    assert "--remaining 100" in back, "the panel was paid once"


def test_prices_in_the_hundreds_do_not_make_everything_too_dear(table, tmp_path, call):
    table.drop("patient").write_csv(tmp_path / "t.csv")
    plans = []
    for factor in (1, 500):
        costs = [f"{name}={price * factor}" for name, price in (("age", 1), ("hint", 1), ("lactate", 2), ("ph", 2))]
        for policy in ("plan-tree", "synafa"):
            words = ("-o", tmp_path / "m", "--policy", policy, "--json", "--costs", *costs)
            code, _, _ = call("fit", tmp_path / "t.csv", "-t", "state", *words)
            assert code == 0
            run = load_model(tmp_path / "m").acquire(table)
            assert run.n_acquired.mean() > 0.5
            plans.append(run.mask)
    np.testing.assert_array_equal(plans[0], plans[2], err_msg="plan-tree: the unit does not matter")
    np.testing.assert_array_equal(plans[1], plans[3], err_msg="synafa: the unit does not matter")


def test_odd_columns_are_named_before_the_model_is_saved(table, tmp_path, call):
    rng = np.random.default_rng(0)
    names = [f"Name{i:04d} Person" for i in range(N)]
    words = [f"code{rng.integers(0, 150):03d}" for _ in range(N)]
    odd = table.with_columns(
        row=pl.Series(range(1, N + 1)), mrn=pl.Series(rng.permutation(N) * 7 + 1000), name=pl.Series(names),
        diagnosis=pl.Series(words), outcome=pl.Series((table["state"] == "ill").to_numpy() * 3 + 1),
    )  # fmt: skip
    odd.write_csv(tmp_path / "t.csv")
    code, out, err = call("fit", tmp_path / "t.csv", "-t", "state", "-o", tmp_path / "m", "--json", "--drop", "patient")
    assert code == 0
    found = {one["column"]: one["kind"] for one in json.loads(out)["suspicious"]}
    assert found == {
        "row": "row number", "mrn": "identifier", "name": "identifier", "diagnosis": "many texts", "outcome": "leak",
    }  # fmt: skip
    assert "Note: 'outcome' alone tells " in err
    data = (tmp_path / "m").read_bytes()
    assert b"Name0" not in data
    assert b"code1" not in data
    assert "name" not in load_bedside(tmp_path / "m").policy_.encoder_.feature_names_


def test_texts_by_the_hundred_are_in_no_file_however_it_was_made(table, tmp_path):
    from synafa import AcquisitionClassifier, PlanTree

    words = pl.Series([f"code{i % 150:03d}" for i in range(N)])
    features = table.select("lactate").with_columns(diagnosis=words)
    AcquisitionClassifier(PlanTree(budget=2)).fit(features, table["state"].to_numpy()).save(tmp_path / "m")
    assert b"code0" not in (tmp_path / "m").read_bytes()
    assert load_bedside(tmp_path / "m").next_feature().recommendation.feature == "lactate"


@pytest.mark.parametrize("column", ["lactate", "age"])
def test_a_continuous_target_is_refused_with_a_hint(folder, call, tmp_path, column):
    code, out, err = call("fit", folder / "t.csv", "-t", column, "-o", tmp_path / "m")
    assert (code, out) == (2, "")
    few = "is a measurement and not a class" in err and "whether it is above" in err
    assert few or "group a measured number into classes first" in err


def test_rows_of_one_patient_are_never_judged_by_a_predictor_that_saw_them(monkeypatch, folder, call, tmp_path):
    import synafa.plan.inputs as inputs

    parts = []
    before = inputs._cross_fitted
    monkeypatch.setattr(inputs, "_cross_fitted", lambda *a: parts.append(a) or before(*a))
    call("fit", folder / "t.csv", "-t", "state", "--group", "patient", "-o", tmp_path / "m")
    groups = parts[0][0].groups
    assert groups.tolist() == [i // 2 for i in range(N)]


def test_synafa_takes_panels_too(folder, call, tmp_path):
    words = ("-t", "state", "--prices", folder / "prices.csv", "--policy", "synafa", "-o", tmp_path / "m")
    assert call("fit", folder / "t.csv", "--known", "age", "--drop", "patient", *words)[0] == 0
    rule = load_model(tmp_path / "m").policy_.rule_
    assert rule.prices.panels == ((2, 3),)
    assert call("next", tmp_path / "m", "--observed", f"{rule.feature_names[2]}=1")[0] == 0


def test_a_price_for_a_dropped_column_is_no_mistake(folder, call, tmp_path):
    words = ("-t", "state", "--prices", folder / "prices.csv", "-o", tmp_path / "m")
    assert call("fit", folder / "t.csv", "--drop", "patient,ph", "--known", "age", *words)[0] == 0
    code, _, err = call("fit", folder / "t.csv", "--drop", "patient", *words)
    assert code == 2
    assert "no price for 'age'" in err


def test_a_bar_appears_only_when_it_takes_long(capsys, monkeypatch):
    from synafa.cli import progress

    with progress.progress_bar("Learning") as tell:
        tell(0.5, "half")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress.progress_bar("Learning") as tell:
        tell(0.5, "half")
    assert "Learning: half" in capsys.readouterr().err
