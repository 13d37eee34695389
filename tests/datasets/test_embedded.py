"""The embedded tables are whole, fit together, and come with their licence."""

from __future__ import annotations

import polars as pl
import pytest
from benchmarks.test_costs import LEVELS, read_costs

from synafa.datasets.embedded import embedded_names, embedded_path
from synafa.errors import SynafaError
from synafa.money import ErrorCosts, PriceList


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
