"""The embedded tables are whole, fit together, and come with their licence."""

from __future__ import annotations

import polars as pl
import pytest
from benchmarks.test_costs import LEVELS, read_costs

from synafa.datasets.embedded import embedded_names, embedded_path
from synafa.errors import SynafaError
from synafa.money import ErrorCosts, PriceList

RENAMED = {
    "fbs": "sugar",
    "restecg": "ecg",
    "thalach": "heart_rate",
    "exang": "exercise_pain",
    "oldpeak": "st_depression",
    "slope": "st_slope",
    "fca": "vessels",
    "thal": "thallium",
}
CODES = {  # as the repository's description lists them
    "sex": {0: "female", 1: "male"},
    "pain": {1: "typical", 2: "atypical", 3: "not angina", 4: "asymptomatic"},
    "sugar": {0: "normal", 1: "high"},
    "ecg": {0: "normal", 1: "ST-T change", 2: "hypertrophy"},
    "exercise_pain": {0: "absent", 1: "present"},
    "st_slope": {1: "up", 2: "flat", 3: "down"},
    "thallium": {3: "normal", 6: "fixed", 7: "reversible"},
    "disease": {0: "no", 1: "yes"},
}


def test_the_table_in_words_is_the_same_table():
    coded = pl.read_csv(embedded_path("heart")).rename(RENAMED)
    worded = pl.read_csv(embedded_path("heart-words"))
    assert worded.columns == coded.columns
    for name in coded.columns:
        if name in CODES:
            expected = [None if cell is None else CODES[name][int(cell)] for cell in coded[name]]
            assert worded[name].to_list() == expected, name
        else:
            assert worded[name].cast(float).to_list() == coded[name].cast(float).to_list(), name


def test_the_prices_and_error_costs_in_words_are_the_same():
    coded, worded = (PriceList.from_csv(embedded_path(f"heart{part}-prices")) for part in ("", "-words"))
    assert worded.feature_names == tuple(RENAMED.get(name, name) for name in coded.feature_names)
    for field in ("price", "price_in_group", "group"):
        assert getattr(worded, field).tolist() == getattr(coded, field).tolist()
    high = ErrorCosts.from_csv(embedded_path("heart-errors-high"), [0, 1])
    assert (
        ErrorCosts.from_csv(embedded_path("heart-words-errors"), ["no", "yes"]).matrix.tolist() == high.matrix.tolist()
    )


def test_heart_has_its_cases_and_a_price_for_every_feature():
    table = pl.read_csv(embedded_path("heart"))
    assert table.shape == (303, 12)
    assert table["disease"].value_counts(sort=True).rows() == [(0, 164), (1, 139)]
    features = [name for name in table.columns if name != "disease"]
    prices = PriceList.from_csv(embedded_path("heart-prices"), features)
    assert prices.feature_names == tuple(features)
    assert prices.cost_of([features.index("thal"), features.index("thalach")]) == 103.9
    assert prices.cost_of(range(len(features))) == pytest.approx(490.4)


def test_a_missed_disease_costs_more_than_a_false_alarm_at_every_level():
    found = []
    for level in LEVELS:
        costs = ErrorCosts.from_csv(embedded_path(f"heart-errors-{level}.csv"), [0, 1])
        assert costs.of([1], [0]) > costs.of([0], [1])
        found.append(float(costs.of([1], [0])[0]))
    assert found == [88, 177, 531]


def test_the_licence_goes_along():
    text = embedded_path("LICENSE-heart.txt").read_text(encoding="utf-8")
    for said in ("10.24432/C52P4X", "CC BY 4.0", "Janosi", "Steinbrunn", "Pfisterer", "Detrano", "Turney", "Lomax"):
        assert said in text


def test_an_unknown_name_is_answered_with_those_there_are():
    assert "heart.csv" in embedded_names()
    for wrong in ("hearts", "../__init__.py", "__init__.py", ""):
        with pytest.raises(SynafaError, match=r"no embedded file .*heart-prices\.csv"):
            embedded_path(wrong)


@pytest.mark.data
def test_the_embedded_files_are_the_published_ones(data_dir):
    source = data_dir / "test-costs"
    assert embedded_path("heart").read_bytes() == (source / "heart.csv").read_bytes()
    prices = PriceList.from_csv(embedded_path("heart-prices"))
    for level in LEVELS:
        published = read_costs(source / "folds" / f"heart-{level}-costs.csv")
        assert published.prices.select(prices.feature_names).to_meta() == prices.to_meta()
        embedded = ErrorCosts.from_csv(embedded_path(f"heart-errors-{level}"), [0, 1])
        assert embedded.to_meta() == published.errors.to_meta()
