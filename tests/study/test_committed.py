"""The committed report is of one whole run, and what its units took is what `--dry-run` expects of them."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest

STUDY = Path(__file__).resolve().parents[2] / "docs" / "study"


@pytest.fixture(scope="module")
def listed() -> list[dict[str, str]]:
    with (STUDY / "results" / "units.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_unit_of_the_committed_run_is_finished(listed: list[dict[str, str]]) -> None:
    assert {row["status"] for row in listed} == {"done"}
    assert {(row["profile"]) for row in listed} == {"standard"}
    assert len({row["key"] for row in listed}) == len(listed)
    facts = json.loads((STUDY / "results" / "environment.json").read_text(encoding="utf-8"))
    assert facts["units"] == len(listed)


def test_the_expected_seconds_are_within_thirty_percent_of_what_was_taken(listed: list[dict[str, str]]) -> None:
    expected, taken = defaultdict(float), defaultdict(float)
    for row in listed:
        for kind in ("all", " ".join(row["unit"].split()[:2])):  # "policies: bank", "classifiers: ckd"
            expected[kind] += float(row["expected_seconds"])
            taken[kind] += float(row["processor_seconds"])
    large = [kind for kind in taken if taken[kind] > 0.02 * taken["all"]]
    assert len(large) > 5
    for kind in large:
        assert 0.7 <= expected[kind] / taken[kind] <= 1.3, f"{kind}: {expected[kind]:.0f} s for {taken[kind]:.0f} s"


def test_the_whole_run_fits_in_four_hours_of_two_cores(listed: list[dict[str, str]]) -> None:
    assert sum(float(row["processor_seconds"]) for row in listed) <= 2 * 4 * 3600
