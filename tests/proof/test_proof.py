"""The proof on one's own table: what it says on tables whose answer is known."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from synafa.errors import SynafaError
from synafa.money import PriceList
from synafa.proof.findings import adaptivity, findings, suspicious
from synafa.proof.kept import KeptFits
from synafa.proof.measures import Bootstrap, area_values, differences, measure_all
from synafa.proof.page import report_page
from synafa.proof.prove import ALL, CART, METHODS, MODEL, NOTHING, PANEL, ROOT, Proof, Settings, check_budgets, prove
from synafa.proof.rivals import Cart, ForwardPanel
from synafa.proof.table import ProofTable


def blocks(n: int = 900, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """`where` says which of two tests tells the class; a budget of 2 pays for `where` and one of them."""
    rng = np.random.default_rng(seed)
    where, a, b, noise = rng.integers(0, 2, n), rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)
    y = (np.where(where == 1, a, b) + 0.2 * rng.normal(size=n) > 0).astype(int)
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    return pl.DataFrame({"where": where.astype(float), "a": a, "b": b, "noise": noise, "sex": sex}), y


@pytest.fixture(scope="module")
def adaptive() -> Proof:
    X, y = blocks()
    return prove(ProofTable.of(X, y, target="class", by="sex"), Settings(budgets=(2.0,)))


@pytest.mark.slow
def test_every_row_is_judged_once_by_a_model_that_did_not_see_it(adaptive: Proof) -> None:
    assert set(adaptive.judged) == {(method, 2.0) for method in METHODS}
    for judged in adaptive.judged.values():
        np.testing.assert_allclose(judged.proba.sum(axis=1), 1.0, atol=1e-6)
    assert (np.bincount(adaptive.fold) > 0).all()
    # five folds and the model of all rows, each with five predictors that judge first, five that learnt the sets of the
    # plans, and a final one; the model and its panel share them
    assert adaptive.fits == 6 * (5 + 5 + 1)


@pytest.mark.slow
def test_adapting_is_found_to_be_worth_it_where_it_is(adaptive: Proof) -> None:
    found = adaptivity(adaptive)
    assert found["verdict"] == "yes", found["sentence"]
    assert found["saved"]["low"] > 0.05
    assert found["sentence"].startswith("Yes: letting the plan depend on results saves +")
    loss = {method: measure_all(adaptive)[method, 2.0]["log_loss"].mean for method in METHODS}
    assert loss[MODEL] < loss[PANEL] - 0.05
    assert loss[MODEL] < loss[NOTHING] - 0.3
    assert loss[ALL] < loss[ROOT]
    np.testing.assert_allclose(loss[MODEL] - loss[ROOT], -found["saved"]["mean"], atol=1e-12)


@pytest.mark.slow
def test_shares_keep_within_0_and_1_up_to_the_ends_of_their_intervals() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    proof = prove(ProofTable.of(pl.DataFrame({"x": x}), (x > 0).astype(int)), Settings(budgets=(1.0,)))
    for found in measure_all(proof).values():
        for name in ("accuracy", "balanced_accuracy", "auroc"):
            assert 0 <= found[name].low <= found[name].mean <= found[name].high <= 1


@pytest.mark.slow
def test_the_budget_is_kept(adaptive: Proof) -> None:
    for method in (MODEL, ROOT, PANEL):
        judged = adaptive.judged[method, 2.0]
        assert judged.paid.max() <= 2.0
        np.testing.assert_array_equal(judged.known.sum(axis=1), judged.asked)
    assert (adaptive.judged[ALL, 2.0].paid == 5.0).all()
    assert (adaptive.judged[NOTHING, 2.0].paid == 0.0).all()


@pytest.mark.slow
def test_pages_and_json_hold_the_same_numbers(adaptive: Proof) -> None:
    found = findings(adaptive)
    json.dumps(found, allow_nan=False)
    html = report_page(found, adaptive, "my <table>")
    assert "my &lt;table&gt;" in html
    assert "<svg" in html
    assert "http://" not in html.replace("http://www.w3.org/", "").replace("http://purl.org/", "").replace(
        "http://creativecommons.org/", ""
    )
    area = next(c for c in found["curves"] if c["method"] == MODEL)["auroc"]
    assert f"{area['mean']:.3f} [{area['low']:.3f}, {area['high']:.3f}]" in html
    assert found["adaptivity"]["sentence"] in html
    assert {each["part"] for each in found["parts"]} == {"f", "m"}
    assert sum(each["rows"] for each in found["parts"]) == 900
    shares = {each["feature"]: each["shares"][0] for each in found["bought"]}
    assert shares["where"] == 1.0
    assert 0.3 < shares["a"] < 0.7
    assert sum(b["rows"] for b in found["calibration"]) == 900


@pytest.mark.slow
def test_noise_says_that_nothing_is_worth_buying() -> None:
    rng = np.random.default_rng(1)
    X = pl.DataFrame({f"x{j}": rng.normal(size=300) for j in range(4)})
    proof = prove(ProofTable.of(X, rng.integers(0, 2, 300)), Settings(budgets=(2.0,)))
    found = adaptivity(proof)
    assert found["verdict"] in ("none", "not shown"), found
    assert measure_all(proof)[MODEL, 2.0]["log_loss"].mean < np.log(2) + 0.05


@pytest.mark.slow
def test_a_leak_is_named_and_so_are_row_numbers() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    X = pl.DataFrame(
        {"result": y + 0.01 * rng.normal(size=200), "age": rng.normal(size=200), "row": np.arange(200)}
        | {"name": [f"p{i}" for i in range(200)]}
    )
    proof = prove(ProofTable.of(X, y), Settings(budgets=(1.0,)))
    found = {(each["feature"], each["why"]) for each in suspicious(proof)}
    assert found == {("result", "decides alone"), ("row", "row number"), ("name", "identifier")}


@pytest.mark.slow
def test_rows_of_one_group_stay_together_and_the_group_is_no_feature() -> None:
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(60), 5)
    a = rng.normal(size=60)[patient]
    X = pl.DataFrame({"patient": patient, "a": a, "b": rng.normal(size=300)})
    table = ProofTable.of(X, (a + rng.normal(size=300) > 0).astype(int), group="patient")
    assert table.features.columns == ["a", "b"]
    proof = prove(table, Settings(budgets=(1.0,)))
    assert all(len(np.unique(proof.fold[patient == p])) == 1 for p in range(60))
    by_rows = Bootstrap(300, None)([a])[0]
    by_groups = Bootstrap(300, patient)([a])[0]
    assert by_groups.high - by_groups.low > 1.5 * (by_rows.high - by_rows.low)


@pytest.mark.slow
def test_money_decides_the_class_and_counts_tests_and_errors() -> None:
    X, y = blocks(500, seed=4)
    prices = PriceList.from_columns(list(X.columns), [1, 4, 4, 4, 0])
    settings = Settings((5.0, float("inf")), prices, {0: {1: 50}, 1: {0: 100}}, known=("sex",))
    proof = prove(ProofTable.of(X, y), settings)
    judged = proof.judged[MODEL, float("inf")]
    decided = proof.errors.decide(judged.proba)  # type: ignore[union-attr]
    total = judged.paid + np.array([[0, 50], [100, 0]])[y, decided]
    measured = measure_all(proof)[MODEL, float("inf")]
    np.testing.assert_allclose(measured["cost"].mean, total.mean())
    assert measured["cost"].mean < measure_all(proof)[NOTHING, float("inf")]["cost"].mean - 10
    assert findings(proof)["budgets"] == [5.0, None]
    assert adaptivity(proof)["measure"] == "cost"


@pytest.mark.slow
def test_differences_are_those_of_the_same_rows(adaptive: Proof) -> None:
    found = differences(adaptive, MODEL, CART)
    one, two = (measure_all(adaptive)[method, 2.0]["accuracy"].mean for method in (MODEL, CART))
    np.testing.assert_allclose(found["accuracy"][2.0].mean, one - two)
    np.testing.assert_allclose(found["accuracy"][None].mean, one - two)


def test_areas_are_within_folds_and_over_classes() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(5)
    y, fold = rng.integers(0, 3, 300), np.arange(300) % 2
    proba = rng.dirichlet(np.ones(3) + 2 * np.eye(3)[rng.integers(0, 3)], 300)
    wanted = [roc_auc_score(y[fold == f] == k, proba[fold == f, k]) for k in range(3) for f in range(2)]
    np.testing.assert_allclose(area_values(y, proba, fold).mean(), np.mean(wanted))


def test_budgets_follow_the_prices() -> None:
    plain, none = PriceList.plain(["a", "b", "c"]), np.zeros(3, bool)
    assert check_budgets((), plain, none, False) == (1.0, 2.0)
    assert check_budgets((4, 2), plain, none, True) == (2.0, 4.0)
    dear = PriceList.plain(["a", "b", "c"], [100, 200, 100])
    assert check_budgets((), dear, none, True) == (20.0, 40.0, 100.0, 200.0, float("inf"))
    with pytest.raises(SynafaError, match="at least 0"):
        check_budgets((-1,), plain, none, False)


def test_a_panel_is_asked_in_the_order_of_what_it_brings_for_its_price() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(400, 4))
    y = (2 * X[:, 2] + X[:, 1] + 0.3 * rng.normal(size=400) > 0).astype(int)
    assert ForwardPanel(X, y, 2, [0] * 4).choose(1) == (2,)
    assert set(ForwardPanel(X, y, 2, [0] * 4).choose(2)) == {1, 2}
    dear = PriceList.plain(["a", "b", "c", "d"], [1, 1, 50, 1])
    assert ForwardPanel(X, y, 2, [0] * 4, prices=dear).choose(1) == (1,)
    panel = PriceList(("a", "b", "c", "d"), np.ones(4), panels=((1, 3),))
    forward = ForwardPanel(X, y, 2, [0] * 4, prices=panel)
    assert forward.shown(forward.choose(2)) == [1, 2, 3]


def test_a_cart_tells_which_features_it_asked_for() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 3))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    cart = Cart(X, y, 2, depth=2)
    orders = cart.orders(X)
    assert {len(order) for order in orders} == {1, 2}
    assert all(set(order) <= {0, 1} for order in orders)
    assert (cart.predict(X).argmax(axis=1) == y).mean() > 0.97


def test_kept_fits_tell_different_rows_apart() -> None:
    calls = []
    kept = KeptFits(lambda values, y, n_classes, **options: calls.append(len(y)) or len(calls))
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    assert kept(X, y, 2, seed=0) == kept(X.copy(), y.copy(), 2, seed=0) == 1
    assert kept(X, 1 - y, 2, seed=0) == 2
    assert kept(X, y, 2, seed=1) == 3
    assert kept(X + 1, y, 2, seed=0) == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [({"group": "patient"}, "no column 'patient'"), ({"by": "sxe"}, "did you mean|no column 'sxe'")],
)
def test_columns_that_are_not_there_are_named(options: dict[str, str], words: str) -> None:
    X, y = blocks(50)
    with pytest.raises(SynafaError, match=words):
        ProofTable.of(X, y, **options)


def test_a_class_of_two_rows_is_refused() -> None:
    X, _ = blocks(50)
    with pytest.raises(SynafaError, match="has 2 rows"):
        ProofTable.of(X, np.array([1, 1] + [0] * 48))
