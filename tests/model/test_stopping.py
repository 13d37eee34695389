"""Stop rules of a model beside the policy's own: a probability, a number of measurements, a calibrated floor."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from synafa import AcquisitionClassifier, PlanTree, SynAFA, SynafaError, load_model
from synafa.cli.app import run
from synafa.model.stopping import step_costs
from synafa.model.storage import load_bedside
from synafa.money import PriceList, StopRule

pytestmark = pytest.mark.slow


def table(n: int = 700, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.45
    names = ("a", "b", "c", "d", "e")
    return pl.DataFrame({name: 1.3 * ill + rng.normal(size=n) for name in names}), np.where(ill, "ill", "well")


class Bayes:
    """The right probabilities of `table`, fitted at once: the predictor of these tests."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        log_odds = np.log(0.45 / 0.55) + np.where(mask, 1.3 * np.nan_to_num(values) - 0.845, 0.0).sum(axis=1)
        p = 1 / (1 + np.exp(-log_odds))
        return np.stack([p, 1 - p], axis=1)


def fitted(stop: object, n: int = 700, **prices: object) -> AcquisitionClassifier:
    X, y = table(n)
    policy = SynAFA(budget=5, cost_weight=0.0, **prices)
    return AcquisitionClassifier(policy, predictor=Bayes, stop=stop).fit(X, y)


def followed(model: AcquisitionClassifier, row: dict[str, float]) -> list[str]:
    """What one case is asked for, answer by answer."""
    asked: list[str] = []
    model.predict_one(lambda name: asked.append(name) or row[name])
    return asked


PANELS = PriceList.from_columns(["a", "b", "c", "d", "e"], [2, 2, 1, 1, 1], ["p", "p", "", "", ""])
GROUPS = PriceList.from_columns(
    ["a", "b", "c", "d", "e"],
    [2, 2, 1, 1, 1],
    group=["g", "g", "g", "", ""],
    price_in_group=[0.5, 0.5, 0.5, None, None],
)


@pytest.mark.parametrize("prices", [{}, {"prices": PANELS}, {"prices": GROUPS}])
@pytest.mark.parametrize(
    "stop", [{"probability": 0.9}, {"max_measurements": 2}, {"probability": 0.9, "max_measurements": 3}]
)
def test_whole_rows_and_one_case_stop_at_the_same_place(stop, prices):
    model = fitted(stop, **prices)
    X, _ = table(60, seed=1)
    run_, free = model.acquire(X), model.policy_.acquire(X)
    assert (run_.n_acquired <= free.n_acquired).all()
    assert (run_.n_acquired < free.n_acquired).any()
    np.testing.assert_allclose(run_.cost, step_costs(model.policy_, run_).sum(axis=1))
    for i in range(0, 60, 5):
        asked = followed(model, X.row(i, named=True))
        assert set(asked) == set(np.array(X.columns)[run_.mask[i]])
        first = [X.columns[j] for j in run_.order[i] if j >= 0]
        assert [name for name in asked if name in first] == first


def test_costs_of_steps_are_those_that_the_policy_paid():
    for prices in (PANELS, GROUPS):
        policy = fitted(None, prices=prices).policy_
        done = policy.acquire(table(50, seed=2)[0])
        np.testing.assert_allclose(step_costs(policy, done).sum(axis=1), done.cost)


def test_a_probability_reached_is_enough_and_says_so():
    model = fitted({"probability": 0.9})
    X, _ = table(300, seed=3)
    done = model.acquire(X)
    proba = model.proba_from(model.policy_.encode(X), done.mask).max(axis=1)
    early = done.n_acquired < 5
    assert early.mean() > 0.3
    assert (proba[early] >= 0.9).all()
    answer = model.next_feature({"a": 4.0})
    assert answer.recommendation.feature is None
    assert answer.recommendation.stop_reason == "enough"
    assert answer.recommendation.text.startswith("Enough: ")
    assert answer.to_dict()["stop_rule"]["rule"] == "probability"


def test_a_floor_is_calibrated_on_rows_that_were_not_fitted_and_holds_on_others():
    model = fitted({"floor": ("sensitivity", "ill", 0.9)}, n=1500)
    assert len(model.policy_.y_) == pytest.approx(1050, abs=10)
    floor = model.stop_.floor
    assert floor.reached
    X, y = table(6000, seed=4)
    done = model.acquire(X)
    p = model.proba_from(model.policy_.encode(X), done.mask)[:, 0]
    ruled_out = floor.fires(p)
    assert 0.1 < ruled_out.mean() < 0.7
    assert 1 - ruled_out[y == "ill"].mean() >= 0.89
    assert (done.n_acquired[ruled_out] < 5).any()


def test_a_floor_that_cannot_be_shown_is_refused_with_what_it_takes():
    with pytest.raises(SynafaError, match="it takes at least 59 cases of ill"):
        fitted({"floor": ("sensitivity", "ill", 0.95)}, n=100)


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        ({"sure": 0.9}, "stop knows probability"),
        ({"probability": 95}, "at most 1"),
        ({"max_measurements": 1.5}, "whole number"),
        ({"floor": ("recall", "ill", 0.9)}, "sensitivity, ppv, npv"),
        ({"floor": ("ppv", "sick", 0.9)}, "the classes are: ill, well"),
        ({"floor": "ppv"}, "kind, class, floor"),
        (StopRule(money=True), "are the policy's"),
        (3, "a StopRule or a mapping"),
    ],
)
def test_wrong_rules_are_sentences(stop, words):
    with pytest.raises(SynafaError, match=words):
        fitted(stop, n=300)


def test_the_command_line_fits_stores_and_follows_them(tmp_path, capsys):
    X, y = table(400)
    X.with_columns(pl.Series("state", y)).write_csv(tmp_path / "t.csv")
    words = ["fit", str(tmp_path / "t.csv"), "-t", "state", "--policy", "synafa", "-o", str(tmp_path / "m")]
    assert run([*words, "--most", "2", "--enough", "0.97", "--floor", "sensitivity:ill=0.8"]) == 0
    out = capsys.readouterr().out
    assert "Stops when" in out
    assert "were not used for fitting" in " ".join(out.split())
    model, asked = load_model(tmp_path / "m"), load_bedside(tmp_path / "m")
    assert model.stop_.to_meta() == asked.stop_.to_meta()
    assert (model.stop_.max_measurements, model.stop_.probability, model.stop_.floor.floor) == (2, 0.97, 0.8)
    assert model.acquire(X).n_acquired.max() <= 2
    assert run(["next", str(tmp_path / "m"), "--observed", "a=0.5", "b=0.9"]) == 0
    said = capsys.readouterr().out
    assert "Stop: 2 measurements made" in said or "Enough" in said
    for wrong in ("sensitivity=0.9", "recall:ill=0.9", "npv:ill=2"):
        assert run([*words, "--floor", wrong]) == 2
        assert "kind:class=share" in capsys.readouterr().err


@pytest.mark.slow
def test_a_plan_tree_takes_them_too_and_its_card_says_so(tmp_path):
    X, y = table(300)
    model = AcquisitionClassifier(PlanTree(budget=4), stop={"max_measurements": 1}).fit(X, y)
    assert model.acquire(X).n_acquired.max() == 1
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").acquire(X).n_acquired.max() == 1
    assert model.get_rules()["stop"] == "Stops when 1 measurement was made."


def test_a_clear_case_is_not_sent_on_by_a_model_of_the_command_line(tmp_path):
    """Iris: after a petal nearly everything is clear, and the command line's model says so and stops."""
    import polars as pl
    from sklearn.datasets import load_iris

    from synafa.cli.app import run
    from synafa.model.storage import load_bedside, load_model

    X, y = load_iris(return_X_y=True, as_frame=True)
    table, model = tmp_path / "iris.csv", tmp_path / "m.synafa"
    names = ["setosa", "versicolor", "virginica"]
    pl.from_pandas(X).with_columns(pl.Series("species", [names[k] for k in y])).write_csv(table)
    words = ["fit", str(table), "--target", "species", "--budget", "3", "-o", str(model)]
    assert run(words) == 0
    loaded = load_model(model)
    rule = loaded.stop_
    assert rule.probability >= 0.95
    assert rule.changes <= 0.01
    cut, whole = loaded.acquire(X), loaded.policy_.acquire(X)
    assert cut.cost.mean() < whole.cost.mean() - 0.3
    plan = loaded.policy_.tree_.plan()
    first = X.columns[plan[0]]
    answer = load_bedside(model).next_feature({first: float(X[first][0])})
    assert answer.recommendation.feature is None
    assert "going on would change" in answer.recommendation.text
    assert run([*words, "--enough", "never"]) == 0
    assert load_model(model).stop_ is None
