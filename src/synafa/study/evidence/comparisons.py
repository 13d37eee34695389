"""Paired comparisons from stored policy units: differences with intervals, pooled over instances where asked.

Every function looks units up by method, budget and parameters, and answers None when one of them is not finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from synafa.study.engine.results import Results
from synafa.study.engine.store import UnitResult

RESAMPLES = 10_000


@dataclass(frozen=True)
class Difference:
    """A paired difference, first minus second, with its 95 % interval, p-value and discordant rows."""

    value: float
    low: float
    high: float
    p: float
    n: int
    wins: int
    losses: int

    @property
    def significant(self) -> bool:
        """Below 0.05, unadjusted, as in the paper."""
        return self.p < 0.05

    @property
    def outcome(self) -> str:
        """`win`, `tie` or `loss` of the first."""
        return "tie" if not self.significant else "win" if self.value > 0 else "loss"


def find(results: Results, method: str, budget: float, instance: int = 0, **parameters: Any) -> UnitResult | None:
    """The finished unit that ran `method` at `budget` on this dataset instance."""
    for result in _index(results).get((method, instance, float(budget)), ()):
        if all(result.unit.parameters.get(name) == value for name, value in parameters.items()):
            return result
    return None


_INDICES: WeakKeyDictionary[Results, dict[tuple[str, int, float], list[UnitResult]]] = WeakKeyDictionary()


def _index(results: Results) -> dict[tuple[str, int, float], list[UnitResult]]:
    """The finished policy units by method, instance and budget: tables look up thousands of cells."""
    if results not in _INDICES:
        index: dict[tuple[str, int, float], list[UnitResult]] = {}
        for result in results:
            given = result.unit.parameters
            for budget in given.get("budgets", ()):
                index.setdefault((given.get("method", ""), given.get("instance", 0), float(budget)), []).append(result)
        _INDICES[results] = index
    return _INDICES[results]


def metric(
    results: Results, name: str, method: str, budget: float, instance: int = 0, **parameters: Any
) -> float | None:
    """One number of one policy, e.g. `metric(results, "auroc", "aaco", 5, dataset="ckd")`."""
    found = find(results, method, budget, instance, **parameters)
    rows = [] if found is None else [row for row in found.rows if row["budget"] == budget]
    return rows[0].get(name) if rows else None


def accuracy(results: Results, method: str, budget: float, instance: int = 0, **parameters: Any) -> float | None:
    """Test accuracy of one policy."""
    return metric(results, "accuracy", method, budget, instance, **parameters)


def array(
    results: Results, name: str, method: str, budget: float, instance: int = 0, **parameters: Any
) -> np.ndarray | None:
    """A stored array of one policy: `correct`, `predicted`, `positive`, `validation_positive`, `mask` (packed)..."""
    found = find(results, method, budget, instance, **parameters)
    return None if found is None else found.arrays.get(f"{name}_{budget:g}")


def probability(result: UnitResult, budget: float, part: str = "") -> np.ndarray:
    """Class probabilities (n, 2) of a two-class unit; `part` is "" for test rows, "validation_" for those."""
    positive = result.arrays[f"{part}positive_{budget:g}"]
    return np.stack([1 - positive, positive], axis=1)


def difference_of(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> Difference:
    """The paired bootstrap of two policies' `correct` arrays, rows of all instances pooled."""
    from synafa.stats import paired_bootstrap

    done = paired_bootstrap(np.concatenate(first), np.concatenate(second), n_resamples=RESAMPLES)
    return Difference(done.difference, done.low, done.high, done.pvalue, done.n, done.wins, done.losses)


def compare(
    results: Results, a: str, b: str, budget: float, instances: Iterable[int] = (0,), **parameters: Any
) -> Difference | None:
    """Accuracy of `a` minus that of `b`, pooled over `instances`; None if one of the units is missing."""
    both: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for instance in instances:
        for method, side in zip((a, b), both):
            correct = array(results, "correct", method, budget, instance, **parameters)
            if correct is None:
                return None
            side.append(correct)
    return difference_of(*both) if both[0] else None


def mean_advantage(
    results: Results,
    method: str,
    budget: float,
    instance: int = 0,
    against: Sequence[str] = ("aaco", "cae", "permutation"),
    **parameters: Any,
) -> float | None:
    """Accuracy of `method` minus the mean accuracy of the baselines, on one instance."""
    own = accuracy(results, method, budget, instance, **parameters)
    others = [accuracy(results, name, budget, instance, **parameters) for name in against]
    if own is None or any(value is None for value in others):
        return None
    return float(own - np.mean([value for value in others if value is not None]))


def threshold_matched(results: Results, a: str, b: str, budget: float, **parameters: Any) -> Any:
    """The accuracy difference at equal predicted positive share (see `synafa.evaluation.metrics`), or None."""
    from synafa.evaluation.metrics import threshold_matched_difference

    first, second = (find(results, method, budget, **parameters) for method in (a, b))
    if first is None or second is None or "validation_y" not in first.arrays:
        return None
    validation, test = (
        (first.arrays[f"{part}y"], probability(first, budget, part), probability(second, budget, part))
        for part in ("validation_", "")
    )
    return threshold_matched_difference(validation, test)


def advantage_rows(
    results: Results,
    method: str,
    budget: float,
    instance: int = 0,
    against: Sequence[str] = ("aaco", "cae", "permutation"),
    **parameters: Any,
) -> np.ndarray | None:
    """Per test row: correct under `method` minus the mean of the baselines' correct, float64 (n,)."""
    own = array(results, "correct", method, budget, instance, **parameters)
    others = [array(results, "correct", name, budget, instance, **parameters) for name in against]
    there = [values for values in others if values is not None]
    if own is None or len(there) < len(others):
        return None
    return own.astype(np.float64) - np.mean(there, axis=0)


def mean_of_rows(values: np.ndarray) -> Difference:
    """Mean of paired row differences with the normal 95 % interval (a mean over baselines has no discordant counts)."""
    from scipy.stats import norm

    from synafa.stats.shares import Z95

    mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    p = 1.0 if error == 0 else float(2 * norm.sf(abs(mean) / error))
    wide = Z95 * error
    return Difference(mean, mean - wide, mean + wide, p, len(values), int((values > 0).sum()), int((values < 0).sum()))
