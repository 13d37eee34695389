"""The two synthetic sweeps as the experiments see them: units per level and instance, advantages as a matrix.

The advantage of a policy is its accuracy minus the mean accuracy of AACO, CAE and permutation. With five instances the
interval of a mean is Student's (resampling five covers too little), that of a correlation the jackknife's on Fisher's
scale; the interval of one instance's correlation is that of test rows (normal errors). The spread is that over judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.datasets.synthetic import ALPHAS, FIXED_V_WEIGHTS
from synafa.report.figures import line_with_interval
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.paper import PaperValue, paper_value
from synafa.study.evidence.tables import ReportRow
from synafa.study.experiments.shared import THREE, Difference, advantage_rows, advantages, compare, policy_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTANCES = (0, 1, 2, 3, 4)
_DRAWS = 10_000


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval; None where it was not run."""

    value: float | None
    low: float | None = None
    high: float | None = None
    spread: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Sweep:
    """One sweep's levels and instances, and, with results, what was measured there.

    dataset, parameter : the dataset's name and that of its level ("alpha", "fraction")
    levels, instances : those of this profile; positions : where the levels lie on the axis of a correlation
    """

    dataset: str
    parameter: str
    levels: tuple[float, ...]
    positions: tuple[float, ...]
    instances: tuple[int, ...]
    budgets: tuple[int, ...]

    def units(self, settings: Settings, methods: Iterable[str]) -> list[Unit]:
        """The policy units of these methods at every level and instance."""
        return [
            unit
            for level in self.levels
            for instance in self.instances
            for method in methods
            for unit in policy_units(settings, self.dataset, instance, method, self.budgets, **self._level(level))
        ]

    def _level(self, level: float) -> dict[str, Any]:
        return {self.parameter: level}

    def where(self, level: float) -> dict[str, Any]:
        return {"dataset": self.dataset, self.parameter: level}

    def pooled(self, results: Results, a: str, b: str, level: float, budget: float) -> Difference | None:
        """Accuracy difference over the test rows of all instances."""
        return compare(results, a, b, budget, self.instances, **self.where(level))

    def rows(self, results: Results, method: str, level: float, budget: float, instance: int) -> np.ndarray | None:
        return advantage_rows(results, method, budget, instance, THREE, **self.where(level))

    def advantages(self, results: Results, method: str, budget: float) -> np.ndarray:
        """Mean advantage, float64 (levels, instances), NaN where a unit is missing."""
        return self._cells(results, method, budget, lambda rows: float(rows.mean()))

    def errors(self, results: Results, method: str, budget: float) -> np.ndarray:
        """Standard errors of `advantages`, from test rows."""
        return self._cells(results, method, budget, lambda rows: float(rows.std(ddof=1) / np.sqrt(len(rows))))

    def judged(self, results: Results, method: str, budget: float) -> np.ndarray | None:
        """Mean advantage of each judge, float64 (judges, levels, instances); None where a unit is missing."""
        cells = [
            [advantages(results, method, budget, instance, THREE, **self.where(level)) for instance in self.instances]
            for level in self.levels
        ]
        known = [cell for line in cells for cell in line if cell is not None]
        if len(known) < len(self.levels) * len(self.instances):
            return None
        judges = min(cell.shape[0] for cell in known)
        means = [cell[:judges].mean(axis=(1, 2)) for cell in known]
        return np.stack(means, axis=1).reshape(judges, len(self.levels), len(self.instances))

    def _spread(
        self, results: Results, method: str, budget: float, statistic: Callable[[np.ndarray], float]
    ) -> tuple[float, float] | None:
        """Where the statistic of (levels, instances) would lie under one more judge."""
        from synafa.stats import prediction_interval

        judged = self.judged(results, method, budget)
        if judged is None or len(judged) < 2:
            return None
        return prediction_interval([statistic(cells) for cells in judged])

    def _cells(
        self, results: Results, method: str, budget: float, statistic: Callable[[np.ndarray], float]
    ) -> np.ndarray:
        cells = np.full((len(self.levels), len(self.instances)), np.nan)
        for i, level in enumerate(self.levels):
            for j, instance in enumerate(self.instances):
                rows = self.rows(results, method, level, budget, instance)
                if rows is not None:
                    cells[i, j] = statistic(rows)
        return cells

    def mean(self, results: Results, method: str, level: float, budget: float) -> Interval:
        """Mean advantage over instances with Student's interval."""
        from synafa.stats import t_interval

        if level not in self.levels:
            return Interval(None)
        at = self.levels.index(level)
        values = self.advantages(results, method, budget)[at]
        if np.isnan(values).any():
            return Interval(None)
        found = t_interval(values)
        spread = self._spread(results, method, budget, lambda cells: float(cells[at].mean()))
        return Interval(found.estimate, found.low, found.high, spread)

    def deviation(self, results: Results, method: str, level: float, budget: float) -> Interval:
        """Standard deviation over instances with its chi-square interval."""
        from scipy.stats import chi2

        if level not in self.levels or len(self.instances) < 2:
            return Interval(None)
        at = self.levels.index(level)
        values = self.advantages(results, method, budget)[at]
        if np.isnan(values).any():
            return Interval(None)
        sd, free = float(values.std(ddof=1)), len(values) - 1
        low, high = (sd * float(np.sqrt(free / chi2.ppf(q, free))) for q in (0.975, 0.025))
        return Interval(
            sd, low, high, self._spread(results, method, budget, lambda cells: float(cells[at].std(ddof=1)))
        )

    def correlation(self, results: Results, method: str, budget: float) -> Interval:
        """Correlation of the levels with the mean advantage over instances, and the jackknife's interval over them."""
        from synafa.stats import jackknife_interval

        values = self.advantages(results, method, budget)
        if np.isnan(values).any():
            return Interval(None)

        def fisher(instances: np.ndarray) -> float:
            return _fisher(self.positions, instances.mean(axis=0))

        found = jackknife_interval(values.T, fisher)
        spread = self._spread(results, method, budget, lambda cells: fisher(cells.T))
        bounds = None if spread is None else (float(np.tanh(spread[0])), float(np.tanh(spread[1])))
        return Interval(float(np.tanh(found.estimate)), float(np.tanh(found.low)), float(np.tanh(found.high)), bounds)

    def instance_correlations(self, results: Results, method: str, budget: float) -> list[Interval]:
        """The correlation within each instance, test rows resampled."""
        values, errors = self.advantages(results, method, budget), self.errors(results, method, budget)
        if np.isnan(values).any():
            return [Interval(None) for _ in self.instances]
        noise = np.random.default_rng(0).standard_normal((len(self.levels), _DRAWS))
        found = []
        for at, (value, error) in enumerate(zip(values.T, errors.T)):
            drawn = _correlations(self.positions, value[:, None] + error[:, None] * noise)
            one = _with_spread(_correlations(self.positions, value[:, None])[0], drawn)
            judged = self._spread(results, method, budget, partial(_fisher_of, self.positions, at))
            bounds = None if judged is None else (float(np.tanh(judged[0])), float(np.tanh(judged[1])))
            found.append(replace(one, spread=bounds))
        return found


def _correlations(x: Sequence[float], y: np.ndarray) -> np.ndarray:
    """Pearson correlation of x (L,) with each column of y (L, m); 0 where a column is constant."""
    across = np.asarray(x, dtype=np.float64) - np.mean(x)
    up = y - y.mean(axis=0)
    scale = np.sqrt((across**2).sum() * (up**2).sum(axis=0))
    return np.where(scale > 0, across @ up / np.where(scale > 0, scale, 1.0), 0.0)


def _fisher(x: Sequence[float], y: np.ndarray) -> float:
    """Fisher's arctanh of the correlation of x and y, kept finite."""
    return float(np.arctanh(np.clip(_correlations(x, y[:, None])[0], -1 + 1e-12, 1 - 1e-12)))


def _fisher_of(x: Sequence[float], instance: int, cells: np.ndarray) -> float:
    return _fisher(x, cells[:, instance])


def _with_spread(value: float, spread: np.ndarray) -> Interval:
    low, high = np.percentile(spread, [2.5, 97.5])
    return Interval(float(value), float(low), float(high))


def alpha_sweep(settings: Settings) -> Sweep:
    """The sweep from additive to exclusive-or; levels and instances are thinned in the quick profile."""
    whole = Sweep("synergy-sweep", "alpha", ALPHAS, ALPHAS, INSTANCES, (3, 5, 8))
    return _thinned(whole) if settings.quick else whole


def fixed_v_sweep(settings: Settings) -> Sweep:
    """The control sweep at budget 8; correlations are taken with the paper's realised Syn/V."""
    fractions = tuple(FIXED_V_WEIGHTS)
    realised = tuple(float(paper_value("fixed-v-calibration", level, "Syn/V").value or 0.0) for level in fractions)
    whole = Sweep("fixed-v", "fraction", fractions, realised, INSTANCES, (8,))
    return _thinned(whole) if settings.quick else whole


def _thinned(sweep: Sweep) -> Sweep:
    return replace(sweep, levels=sweep.levels[::2], positions=sweep.positions[::2], instances=sweep.instances[:2])


def interval_row(labels: tuple[str, ...], found: Interval, paper: PaperValue | None, note: str = "") -> ReportRow:
    """A number with an interval beside the paper's."""
    return ReportRow(labels, found.value, paper, found.low, found.high, note=note, spread=found.spread)


def exact_rows(
    results: Results, label: str, part: str, level: str, levels: Iterable[float], columns: Iterable[str]
) -> list[ReportRow]:
    """A computed table beside the paper's: every column at every level, equal or not."""
    rows = []
    for value in levels:
        for column in columns:
            here = results.value(column, part=part, **{level: value})
            rows.append(ReportRow((f"{value:g}", column), here, paper_value(label, value, column), deterministic=True))
    return rows


def difference_row(
    labels: tuple[str, ...], found: Difference | None, paper: PaperValue | None, note: str = ""
) -> ReportRow:
    """A tested difference beside the paper's; `not run` without one."""
    if found is None:
        return ReportRow(labels, None, paper, note=note)
    numbers = (found.value, found.low, found.high, found.p)
    return ReportRow.tested(labels, *numbers, paper, note, spread=found.spread)


def draw(
    axes: Axes,
    x: Sequence[float],
    found: Sequence[Interval | Difference],
    label: str,
    index: int,
    band: bool = False,
) -> None:
    """A line of numbers with their intervals; all of them must be there."""
    y, low, high = ([float(getattr(one, what)) for one in found] for what in ("value", "low", "high"))
    line_with_interval(axes, x, y, low, high, label, index, band)


def legend_below(axes: Axes, columns: int = 3) -> None:
    """The legend under the axis label, where no interval can hide behind it."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=columns, columnspacing=1.2)
