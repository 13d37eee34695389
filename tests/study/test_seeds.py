"""The same acquired sets under several classifiers: what may change with the seed, and what may not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synafa.datasets import Dataset
from synafa.study import Settings
from synafa.study.experiments import seeds
from synafa.study.experiments.local_search import Start
from synafa.study.experiments.mnist import exact_policy


class Sharp:
    """A classifier whose probability depends on every value it sees, in a way of its own for each seed."""

    def __init__(self, seed: int) -> None:
        self.weights = np.random.default_rng(seed).normal(size=12)

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        one = 1 / (1 + np.exp(-(values * mask) @ self.weights))
        return np.stack([1 - one, one], axis=1)


@pytest.fixture(scope="module")
def begin() -> Start:
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, size=(1500, 12)).astype(np.float32)
    y = ((X[:, 0] != X[:, 1]) | ((X[:, 2] > 0) & (X[:, 5] != X[:, 6]))).astype(np.int64)
    for j in (3, 4, 7):
        X[:, j] = np.where(rng.random(1500) < 0.8, X[:, j - 2], X[:, j])
    parts = np.split(np.arange(1500), (900, 1200))
    dataset = Dataset("toy", 0, X, y, tuple("abcdefghijkl"), np.ones(12), (4.0, 5.0), *parts, "made here")
    return Start(dataset, exact_policy(dataset), None)


def test_one_search_is_judged_by_every_classifier(begin: Start) -> None:
    rows = seeds.search_rows(begin, {0: Sharp(0), 7: Sharp(7)}, budgets=(4, 5))
    assert [(row["budget"], row["seed"]) for row in rows] == [(4, 0), (4, 7), (5, 0), (5, 7)]
    for first, second in zip(rows[::2], rows[1::2]):
        for name in ("swaps", "T_before", "T_after"):
            assert first[name] == second[name]
        for name in ("before", "rho", "dU"):
            assert first[name] != second[name]
        assert first["swaps"] > 100
        assert first["T_after"] > first["T_before"]
    for row in rows:
        assert row["change"] == pytest.approx(row["after"] - row["before"])
        assert row["low"] <= row["change"] <= row["high"]


def test_without_swaps_there_is_no_correlation(begin: Start) -> None:
    (row,) = seeds.search_rows(begin, {0: Sharp(0)}, budgets=(3,))
    assert row["swaps"] == row["change"] == 0
    assert np.isnan(row["rho"])


@pytest.mark.data
def test_the_study_seed_gives_the_study_rows(data_dir: Path, monkeypatch, tmp_path: Path) -> None:
    """With the study's own classifier the differences are those of the study's units."""
    from synafa.study.experiments.shared import load_dataset, policy_unit, run_policy_unit

    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path))
    settings, dataset = Settings("quick"), load_dataset("physionet", 0, quick=True)
    judges = seeds.classifiers(dataset, (0, 1), "quick")
    rows = seeds.difference_rows(settings, "physionet", judges, ("aaco",))
    assert [(row["seed"], row["budget"]) for row in rows] == [(s, b) for s in (0, 1) for b in (5, 10, 15)]
    units = [policy_unit(settings, "physionet", 0, name, dataset.budgets) for name in ("synafa", "aaco")]
    own, other = ([row["accuracy"] for row in run_policy_unit(unit)["rows"] if row["judge"] == 0] for unit in units)
    assert [row["synafa"] for row in rows[:3]] == pytest.approx(own)
    assert [row["difference"] for row in rows[:3]] == pytest.approx(np.subtract(own, other))
    assert rows[0] != {**rows[3], "seed": 0}
