"""Comparisons from stored policy units, over test rows and seeds together, pooled over instances where asked.

A policy is a cube of values (judges, runs, rows): what each shared classifier made of what each training or draw of the
policy acquired for each test row. Every function looks units up by method, budget and parameters, and answers None when
one of them is not finished.
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
SHARED = ("aaco", "cae", "permutation")  # what an advantage is measured against, on average
Methods = Sequence[str]
MEASURES = ("accuracy", "balanced_accuracy", "auroc", "log_loss", "threshold_matched")


@dataclass(frozen=True)
class Difference:
    """A difference, first minus second, with its 95 % interval and p-value over rows and runs.

    wins, losses : discordant rows of the first run; runs : number of (judge, training) pairs behind it
    spread : where one more run of ours would lie (95 %), None with a single one
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    wins: int
    losses: int
    runs: int = 1
    spread: tuple[float, float] | None = None

    @property
    def significant(self) -> bool:
        """Below 0.05, unadjusted, as in the paper."""
        return self.p < 0.05

    @property
    def outcome(self) -> str:
        """`win`, `tie` or `loss` of the first."""
        return "tie" if not self.significant else "win" if self.value > 0 else "loss"


def runs(results: Results, method: str, budget: float, instance: int = 0, **parameters: Any) -> list[UnitResult]:
    """All finished trainings or draws of `method` at `budget` on this dataset instance, in order."""
    found = [
        result
        for result in _index(results).get((method, instance, float(budget)), ())
        if all(result.unit.parameters.get(name) == value for name, value in parameters.items())
    ]
    return sorted(found, key=lambda result: result.unit.parameters.get("training", 0))


def find(results: Results, method: str, budget: float, instance: int = 0, **parameters: Any) -> UnitResult | None:
    """The first of `runs`."""
    found = runs(results, method, budget, instance, **parameters)
    return found[0] if found else None


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
    """One number of one policy, the mean over judges and trainings, e.g. `metric(results, "auroc", "aaco", 5)`."""
    found = [
        row.get(name)
        for one in runs(results, method, budget, instance, **parameters)
        for row in one.rows
        if row["budget"] == budget
    ]
    there = [float(value) for value in found if value is not None]
    return float(np.mean(there)) if there else None


def accuracy(results: Results, method: str, budget: float, instance: int = 0, **parameters: Any) -> float | None:
    """Test accuracy of one policy, the mean over judges and trainings."""
    return metric(results, "accuracy", method, budget, instance, **parameters)


def array(
    results: Results, name: str, method: str, budget: float, instance: int = 0, **parameters: Any
) -> np.ndarray | None:
    """A stored array of the first run: `mask` (packed), or the first judge's `correct`, `predicted`, `positive`..."""
    found = find(results, method, budget, instance, **parameters)
    values = None if found is None else found.arrays.get(f"{name}_{budget:g}")
    return values if values is None or name == "mask" or values.ndim == 1 else values[0]


def values_of(
    results: Results, method: str, budget: float, instance: int = 0, measure: str = "accuracy", **parameters: Any
) -> tuple[tuple[int, ...], np.ndarray] | None:
    """The seeds of the judges, and one value a judge, run and test row, float64 (judges, runs, n).

    The mean over rows is the measure (see `synafa.stats.row_values`). A policy that asks the classifier has one judge a
    run; its runs under the same judge are averaged, because their draws are not those of another judge.
    """
    found = runs(results, method, budget, instance, **parameters)
    if not found:
        return None
    judges = [tuple(one.unit.parameters.get("judges", (0,))) for one in found]
    cells = [row_values(one, budget, measure) for one in found]
    if any(cell is None for cell in cells):
        return None
    there = [cell for cell in cells if cell is not None]
    if len(set(judges)) == 1:
        return judges[0][: len(there[0])], np.stack(there, axis=1)
    every = sorted({judge for seeds in judges for judge in seeds})
    means = [np.mean([cell[0] for cell, seeds in zip(there, judges) if judge in seeds], axis=0) for judge in every]
    return tuple(every), np.stack(means)[:, None, :]


def row_values(result: UnitResult, budget: float, measure: str) -> np.ndarray | None:
    """The values of one unit's measure, float64 (judges, n); None where the unit did not keep what it needs."""
    from synafa.stats.row_values import auroc_values, balanced_accuracy_values, log_loss_values

    arrays = result.arrays

    def stored(name: str) -> np.ndarray | None:
        values = arrays.get(f"{name}_{budget:g}")
        return None if values is None else np.atleast_2d(values)

    source = {"accuracy": "correct", "balanced_accuracy": "predicted", "log_loss": "true_probability"}
    values = stored(source.get(measure, "positive"))
    if values is None:
        return None
    if measure == "accuracy":
        return values.astype(np.float64)
    if measure == "log_loss":
        return np.stack([log_loss_values(row) for row in values])
    y = arrays["y"]
    if measure == "balanced_accuracy":
        return np.stack([balanced_accuracy_values(y, row) for row in values])
    if set(np.unique(y).tolist()) != {0, 1}:
        return None
    if measure == "auroc":
        return np.stack([auroc_values(y, row) for row in values])
    if measure == "threshold_matched":
        return _matched(values, stored("validation_positive"), y, arrays.get("validation_y"))
    raise ValueError(f"measure must be one of {MEASURES}, got: {measure!r}")


def _matched(
    positive: np.ndarray, validation: np.ndarray | None, y: np.ndarray, y_validation: np.ndarray | None
) -> np.ndarray | None:
    """Right or wrong when each judge's threshold gives the validation rows their own positive share, (judges, n)."""
    from synafa.evaluation.metrics import matched_threshold

    if validation is None or y_validation is None:
        return None
    share = float(np.mean(y_validation))
    thresholds = [matched_threshold(scores, share) for scores in validation]
    return np.stack([((row > t) == (y == 1)).astype(np.float64) for row, t in zip(positive, thresholds)])


def difference_of(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> Difference:
    """The difference of two policies' `correct` arrays, (n,) or (judges, n) each, rows of all instances pooled."""
    a, b = (np.concatenate([np.atleast_2d(part) for part in side], axis=1) for side in (first, second))
    return difference_over(a[:, None].astype(np.float64) - b[:, None])


def difference_over(values: np.ndarray) -> Difference:
    """The mean of differences (judges, runs, n) with its interval over rows and runs."""
    from synafa.stats import hierarchical_bootstrap, paired_bootstrap, prediction_interval

    first = values[0, 0]
    wins, losses, n = int((first > 0).sum()), int((first < 0).sum()), values.shape[-1]
    count = values.shape[0] * values.shape[1]
    if count == 1 and np.isin(first, (-1.0, 0.0, 1.0)).all():
        done = paired_bootstrap(first > 0, first < 0, n_resamples=RESAMPLES)
        return Difference(done.difference, done.low, done.high, done.pvalue, n, wins, losses)
    found = hierarchical_bootstrap(values, n_resamples=RESAMPLES)
    single = one_run_each(values.mean(axis=2))
    spread = prediction_interval(single) if len(single) > 1 else None
    return Difference(found.estimate, found.low, found.high, found.pvalue, n, wins, losses, count, spread)


def share_of(correct: np.ndarray) -> Difference:
    """The mean of values (n,), (judges, n) or (judges, runs, n) with its interval, e.g. an accuracy."""
    return difference_over(as_cube(correct))


def as_cube(values: np.ndarray) -> np.ndarray:
    """(n,) or (judges, n) -> float64 (judges, runs, n), a single run."""
    x = np.asarray(values, dtype=np.float64)
    return x if x.ndim == 3 else np.atleast_2d(x)[:, None]


def against_values(
    judges: Sequence[int], correct: np.ndarray, other: tuple[tuple[int, ...], np.ndarray] | None
) -> Difference | None:
    """`correct` (judges, n) or (judges, runs, n) of a policy that is no unit, minus the values of one that is."""
    if other is None:
        return None
    gap = paired((tuple(judges), as_cube(correct)), other)
    return None if gap is None else difference_over(gap)


def one_run_each(means: np.ndarray) -> np.ndarray:
    """(judges, runs) means -> as many as the larger side has, each of another judge and run as far as they go."""
    count = max(means.shape)
    return np.array([means[i % means.shape[0], i % means.shape[1]] for i in range(count)])


def compare(
    results: Results,
    a: str,
    b: str,
    budget: float,
    instances: Iterable[int] = (0,),
    measure: str = "accuracy",
    **parameters: Any,
) -> Difference | None:
    """`measure` of `a` minus that of `b`, pooled over `instances`; None if one of the units is missing."""
    parts = []
    for instance in instances:
        both = [values_of(results, method, budget, instance, measure, **parameters) for method in (a, b)]
        if both[0] is None or both[1] is None:
            return None
        parts.append(paired(both[0], both[1]))
    if not parts or any(part is None for part in parts):
        return None
    there = [part for part in parts if part is not None]
    shape = tuple(min(part.shape[axis] for part in there) for axis in (0, 1))
    return difference_over(np.concatenate([part[: shape[0], : shape[1]] for part in there], axis=2))


def paired(first: tuple[tuple[int, ...], np.ndarray], second: tuple[tuple[int, ...], np.ndarray]) -> np.ndarray | None:
    """Differences (judges, runs, n) under the judges that both have; a single run meets all of the other's."""
    judges = [judge for judge in first[0] if judge in second[0]]
    if not judges:
        return None
    a, b = (values[[seeds.index(judge) for judge in judges]] for seeds, values in (first, second))
    if a.shape[1] > 1 and b.shape[1] > 1:
        count = min(a.shape[1], b.shape[1])
        a, b = a[:, :count], b[:, :count]
    return a - b


def mean_advantage(
    results: Results, method: str, budget: float, instance: int = 0, against: Methods = SHARED, **parameters: Any
) -> float | None:
    """Accuracy of `method` minus the mean accuracy of the baselines, on one instance."""
    rows = advantages(results, method, budget, instance, against, **parameters)
    return None if rows is None else float(rows.mean())


def advantages(
    results: Results, method: str, budget: float, instance: int = 0, against: Methods = SHARED, **parameters: Any
) -> np.ndarray | None:
    """Per judge, run and test row: right under `method` minus the mean of the baselines, float64 (judges, runs, n).

    Runs are matched as far as the baseline with fewest goes; a single one meets all.
    """
    own = values_of(results, method, budget, instance, **parameters)
    others = [values_of(results, name, budget, instance, **parameters) for name in against]
    there = [values for values in others if values is not None]
    if own is None or len(there) < len(others):
        return None
    gaps = [paired(own, other) for other in there]
    known = [gap for gap in gaps if gap is not None]
    if len(known) < len(gaps):
        return None
    judges = min(gap.shape[0] for gap in known)
    several = [gap.shape[1] for gap in known if gap.shape[1] > 1]
    count = min(several, default=1)
    wide = [np.broadcast_to(gap[:judges, :count], (judges, count, gap.shape[2])) for gap in known]
    return np.mean(wide, axis=0)


def advantage_rows(
    results: Results, method: str, budget: float, instance: int = 0, against: Methods = SHARED, **parameters: Any
) -> np.ndarray | None:
    """`advantages`, the mean over judges and runs, float64 (n,)."""
    found = advantages(results, method, budget, instance, against, **parameters)
    return None if found is None else found.mean(axis=(0, 1))


def mean_of_rows(values: np.ndarray) -> Difference:
    """Mean of paired row differences, (n,) or (judges, runs, n), with its interval."""
    return difference_over(
        np.asarray(values, dtype=np.float64).reshape((1, 1, -1) if values.ndim == 1 else values.shape)
    )
