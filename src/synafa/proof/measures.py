"""Judged rows become numbers with intervals: every measure is a mean over rows, and whole rows or groups are resampled.

For AUROC and balanced accuracy a row's value is the measure plus the row's influence on it (`stats/row_values.py`);
AUROC is taken within the folds, whose predictions come from one model each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synafa.money import ErrorCosts
from synafa.proof.prove import Judged, Proof
from synafa.stats import auroc_values, balanced_accuracy_values, log_loss_values
from synafa.stats.resampling import percentile_interval, resample_weights

RESAMPLES = 1_000
SHARES = ("accuracy", "balanced_accuracy", "auroc")  # between 0 and 1
MEASURES = ("accuracy", "balanced_accuracy", "auroc", "log_loss", "cost", "paid", "measurements")


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % percentile interval."""

    mean: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        return {"mean": self.mean, "low": self.low, "high": self.high}


def decide(proba: np.ndarray, errors: ErrorCosts | None) -> np.ndarray:
    """The decided class of each row: the most probable, or the one of least expected cost."""
    return proba.argmax(axis=1) if errors is None else errors.decide(proba)


def row_values(
    judged: Judged, y: np.ndarray, fold: np.ndarray, errors: ErrorCosts | None, rows: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """One value a row of every measure; `cost` is what was paid plus, with error costs, what the error cost.

    rows : positions of the rows that count, default all
    """
    chosen = np.arange(len(y)) if rows is None else rows
    proba, y, fold = judged.proba[chosen], y[chosen], fold[chosen]
    proba = np.clip(proba, 1e-9, None)
    proba = proba / proba.sum(axis=1, keepdims=True)
    decided, paid = decide(proba, errors), judged.paid[chosen]
    wrong = np.zeros(len(y)) if errors is None else errors.of(y, decided)
    return {
        "accuracy": (decided == y).astype(np.float64),
        "balanced_accuracy": balanced_accuracy_values(y, decided),
        "auroc": area_values(y, proba, fold),
        "log_loss": log_loss_values(proba[np.arange(len(y)), y]),
        "cost": paid + wrong,
        "paid": paid.astype(np.float64),
        "measurements": judged.asked[chosen].astype(np.float64),
    }


def area_values(y: np.ndarray, proba: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """One value a row whose mean is the AUROC within the folds, for more classes the mean of each against the rest.

    Where a fold lacks a class, all rows are ranked together; NaN where one class is alone.
    """
    classes = [1] if proba.shape[1] == 2 else list(range(proba.shape[1]))
    found = []
    for k in classes:
        positive = y == k
        if positive.all() or not positive.any():
            continue
        parts = [fold == f for f in np.unique(fold)]
        if any(positive[part].all() or not positive[part].any() for part in parts):
            found.append(auroc_values(positive, proba[:, k]))
            continue
        values = np.empty(len(y))
        for part in parts:
            values[part] = auroc_values(positive[part], proba[part, k])
        found.append(values)
    return np.mean(found, axis=0) if found else np.full(len(y), np.nan)


class Bootstrap:
    """Intervals of many means by the same resamples of rows or of whole groups."""

    def __init__(self, n: int, groups: np.ndarray | None, seed: int = 0, resamples: int = RESAMPLES) -> None:
        self.label = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
        self.n, self.seed, self.resamples = n, seed, resamples

    def __call__(self, columns: Sequence[np.ndarray]) -> list[Interval]:
        """The mean and interval of each column (n,)."""
        units = int(self.label.max()) + 1
        stacked = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
        sums = np.zeros((units, stacked.shape[1] + 1))
        np.add.at(sums, self.label, np.column_stack([stacked, np.ones(self.n)]))
        rng = np.random.default_rng([self.seed, 31])
        totals = np.concatenate([weights @ sums for weights in resample_weights(rng, units, self.resamples)])
        means = totals[:, :-1] / totals[:, -1:]
        out = []
        for i in range(stacked.shape[1]):
            low, high = percentile_interval(means[:, i], 0.95) if np.isfinite(means[:, i]).all() else (np.nan, np.nan)
            out.append(Interval(float(stacked[:, i].mean()), low, high))
        return out


def measure_all(proof: Proof, rows: np.ndarray | None = None) -> dict[tuple[str, float], dict[str, Interval]]:
    """Every measure of every method and budget, on all rows or on some."""
    n = len(proof.table.y) if rows is None else len(rows)
    groups = proof.table.groups
    groups = groups if groups is None or rows is None else groups[rows]
    keys, columns = [], []
    for key, judged in proof.judged.items():
        values = row_values(judged, proof.table.y, proof.fold, proof.errors, rows)
        for name in MEASURES:
            keys.append((key, name))
            columns.append(values[name])
    found: dict[tuple[str, float], dict[str, Interval]] = {}
    for (key, name), interval in zip(keys, Bootstrap(n, groups, proof.settings.seed)(columns)):
        shown = interval
        if name in SHARES:  # influences can carry the end of an interval past what the measure can be
            shown = Interval(interval.mean, max(interval.low, 0.0), min(interval.high, 1.0))
        found.setdefault(key, {})[name] = shown
    return found


def differences(
    proof: Proof, first: str, second: str, measures: Sequence[str] = MEASURES
) -> Mapping[str, dict[float | None, Interval]]:
    """First minus second on the same rows at every budget, and (key None) averaged over the budgets."""
    found: dict[str, dict[float | None, Interval]] = {name: {} for name in measures}
    columns: dict[str, list[np.ndarray]] = {name: [] for name in measures}
    for budget in proof.budgets:
        a, b = (
            row_values(proof.judged[which, budget], proof.table.y, proof.fold, proof.errors)
            for which in (first, second)
        )
        for name in measures:
            columns[name].append(a[name] - b[name])
    boot = Bootstrap(len(proof.table.y), proof.table.groups, proof.settings.seed)
    for name in measures:
        intervals = boot([*columns[name], np.mean(columns[name], axis=0)])
        found[name] = dict(zip([*proof.budgets, None], intervals))
    return found
