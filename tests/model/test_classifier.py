"""AcquisitionClassifier: the rules of scikit-learn, one case fetched, empty cells, equal answers after a round trip."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.estimator_checks import check_estimator

from synafa import AcquisitionClassifier, PlanTree, SynAFA, load_model
from synafa.errors import SynafaError
from synafa.model.storage import load_bedside
from synafa.predictor import fit_predictor

pytestmark = pytest.mark.slow


class NaiveBayes:
    """A predictor that fits in no time: Gaussian class densities of the known cells, added up."""

    def __init__(self, values, y, n_classes):
        shares = np.bincount(y, minlength=n_classes) + 1.0
        self.base = np.log(shares / shares.sum()).astype(np.float32)
        parts = [np.where(np.isnan(values), 0.0, values)[y == k] for k in range(n_classes)]
        self.mean = np.array([part.mean(axis=0) if len(part) else np.zeros(values.shape[1]) for part in parts])
        spread = np.array([part.std(axis=0) if len(part) else np.ones(values.shape[1]) for part in parts])
        self.spread = np.maximum(spread, 1e-3 + 0.1 * spread.max())

    def contribution(self, column, feature):
        distance = (column[:, None] - self.mean[:, feature]) / self.spread[:, feature]
        added = -0.5 * np.clip(distance, -1e3, 1e3) ** 2 - np.log(self.spread[:, feature])
        return np.where(np.isnan(column)[:, None], 0.0, added).astype(np.float32)

    def contributions(self, values):
        return np.stack([self.contribution(column, j) for j, column in enumerate(values.T)], axis=1)

    def head(self, state):
        weight = np.exp(np.asarray(state, dtype=np.float64) - state.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)

    def predict_proba(self, values, mask):
        known = self.contributions(np.where(mask, values, np.nan))
        return self.head(self.base + known.sum(axis=1, dtype=np.float64))


def naive_bayes(values, y, n_classes, *, categories=None, seed=0, progress=None):
    return NaiveBayes(values, y, n_classes)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    n = 400
    ill = rng.random(n) < 0.45
    frame = pl.DataFrame(
        {
            "lab": np.round(2 * ill + rng.normal(0, 0.8, n), 3),
            "sign": np.where(rng.random(n) < 0.8, ill, ~ill).astype(str),
            "noise": rng.normal(size=n),
        }
    )
    empty = pl.Series(rng.random(n) < 0.2)
    return frame.with_columns(lab=pl.when(empty).then(None).otherwise(pl.col("lab"))), np.where(ill, "ill", "well")


@pytest.fixture(scope="module", params=["plan-tree", "synafa"])
def model(request, table):
    policy = PlanTree(budget=2) if request.param == "plan-tree" else SynAFA(budget=2)
    return AcquisitionClassifier(policy).fit(*table, target="illness")


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        AcquisitionClassifier(SynAFA(budget=2), predictor=naive_bayes),
        AcquisitionClassifier(PlanTree(budget=2), predictor=naive_bayes),
    ],
    ids=["synafa", "plan-tree"],
)
def test_it_keeps_the_rules_of_scikit_learn(estimator):
    check_estimator(estimator)


def test_a_round_trip_changes_no_prediction(model, table, tmp_path):
    model.save(tmp_path / "m")
    again, light = load_model(tmp_path / "m"), load_bedside(tmp_path / "m")
    features = table[0]
    before, after = model.predict_proba(features), again.predict_proba(features)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.acquire(features).order, again.acquire(features).order)
    values, rng = model.policy_.encode(features), np.random.default_rng(0)
    mask = rng.random(values.shape) < 0.5
    np.testing.assert_allclose(light.proba_from(values, mask), model.proba_from(values, mask), rtol=0, atol=1e-6)
    for observed in ({}, {"lab": 1.0}, {"lab": None}, {"sign": "True"}):
        told = [json.dumps(one.next_feature(observed).to_dict()) for one in (model, again, light)]
        assert told[0] == told[1] == told[2]


def test_a_case_is_fetched_one_measurement_after_another(model):
    asked = []

    def fetch(name):
        asked.append(name)
        return {"lab": 2.5, "sign": "True", "noise": 0.0}[name]

    answer = model.predict_one(fetch)
    assert asked == list(answer.observed)
    assert answer.recommendation.feature is None
    assert answer.decision == "ill"
    assert len(asked) <= 2, "the budget"
    assert model.predict_one(fetch, {"lab": -2.0, "sign": "False"}, remaining=0).decision == "well"


def test_an_error_of_the_source_names_the_measurement(model):
    def broken(name):
        raise TimeoutError("the instrument is off")

    with pytest.raises(SynafaError, match=r"'(lab|sign)' could not be fetched: TimeoutError: the instrument is off"):
        model.predict_one(broken)
    with pytest.raises(SynafaError, match="not a value of 'sign' seen in training"):
        model.predict_one({"lab": 1.0, "sign": "perhaps", "noise": 0.0}.get, {"lab": 1.0})


def test_what_could_not_be_fetched_is_paid_and_not_asked_for_again(model):
    asked = []
    answer = model.predict_one(lambda name: asked.append(name))
    assert len(asked) == len(set(asked)) == 2
    assert set(answer.observed.values()) == {None}
    assert answer.probabilities == pytest.approx(model.next_feature().probabilities), "nothing was learnt"


def test_an_empty_cell_is_no_mean(table):
    """Cells are missing only in the ill: a model that filled them in would take them for a measurement."""
    features, labels = table
    model = AcquisitionClassifier(PlanTree(budget=1)).fit(features, labels)
    unknown = model.next_feature({"lab": None}).probabilities
    nothing = model.next_feature({}).probabilities
    assert unknown == pytest.approx(nothing)
    middle = model.next_feature({"lab": float(features["lab"].mean())}).probabilities
    assert abs(middle["ill"] - nothing["ill"]) > 0.01
    rows = pl.DataFrame({"lab": [None], "sign": ["True"], "noise": [None]}, schema=features.schema)
    assert model.predict_proba(rows).shape == (1, 2)


def test_only_the_own_predictor_can_be_saved(table, tmp_path):
    features, labels = table
    numbers = features.select("noise").to_numpy()
    model = AcquisitionClassifier(SynAFA(budget=1), predictor=HistGradientBoostingClassifier(max_iter=2), n_masks=1)
    model.fit(numbers, labels)
    with pytest.raises(SynafaError, match="HistGradientBoostingClassifier cannot be stored"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_error_costs_decide_the_class(table):
    features, labels = table
    costs = {"ill": {"well": 100.0}, "well": {"ill": 1.0}}
    model = AcquisitionClassifier(SynAFA(budget=1), predictor=fit_predictor, error_costs=costs).fit(features, labels)
    proba = model.predict_proba(features)
    np.testing.assert_array_equal(model.predict(features) == "ill", proba[:, 0] * 100 >= proba[:, 1])
    answer = model.next_feature()
    assert answer.decision == "ill"
    assert answer.expected_cost == pytest.approx(answer.probabilities["well"])


@pytest.mark.parametrize("policy", [PlanTree(budget=2), SynAFA(budget=2)])
def test_a_lazy_frame_is_a_table(policy, recwarn):
    X = pl.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), schema=["a", "b", "c"])
    y = (X["a"] > 0).cast(pl.Int64).to_numpy()
    lazy, plain = (AcquisitionClassifier(policy, naive_bayes).fit(rows, y) for rows in (X.lazy(), X))
    np.testing.assert_array_equal(lazy.predict_proba(X.lazy()), plain.predict_proba(X))
    np.testing.assert_array_equal(policy.fit(X.lazy(), y).acquire(X.lazy()).mask, policy.fit(X, y).acquire(X).mask)
    assert not recwarn.list
