"""The alpha sweep: does SynAFA's advantage grow as a pair's information turns from additive to synergistic?

Five alphas, five instances, budgets 3, 5 and 8, against AACO, CAE and permutation; how often S1 and S2 are acquired;
and the exact population decomposition of the pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from synafa.datasets.synthetic import ALPHAS
from synafa.report.figures import line_with_interval, new_figure, zero_line
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.names import NAMES
from synafa.study.evidence.paper import find_value, paper_value
from synafa.study.evidence.tables import Figure, Headline, PlainTable, ReportRow, ReportTable
from synafa.study.experiments.shared import THREE, array
from synafa.study.experiments.sweeps import (
    Interval,
    Sweep,
    alpha_sweep,
    difference_row,
    draw,
    exact_rows,
    interval_row,
    legend_below,
)

NAME = "alpha-sweep"
TITLE = "Alpha sweep: advantage against the pair's synergy"
VERSION = 1
COVERS = (
    "synergy-dose-response",
    "synergy-dose-response-full",
    "synergy-acquisition-rates",
    "synergy-pid-decomposition",
    "appendix-correlations",
    "appendix-alpha-interval",
)
BUDGETS = (3, 5, 8)
BASELINES = ("cae", "aaco", "permutation")


def units(settings: Settings) -> list[Unit]:
    sweep = alpha_sweep(settings)
    exact = [settings.unit(NAME, __name__, VERSION, {"part": "population", "alpha": alpha}) for alpha in ALPHAS]
    return [*exact, *sweep.units(settings, ("synafa", *THREE))]


def run(unit: Unit) -> dict[str, Any]:
    """The exact population atoms of the pair at one alpha."""
    from synafa.datasets import population_pid

    pid = population_pid(unit["alpha"])
    return {"rows": [{"R": pid.redundant, "Syn": pid.synergy, "V": pid.joint, "Syn/V": pid.fraction}]}


def tables(results: Results) -> list[ReportTable | PlainTable]:
    sweep = alpha_sweep(results.settings)
    return [
        _dose_response(results, sweep),
        _correlations(results, sweep),
        _interval(results, sweep),
        _instances(results, sweep),
        _full(results, sweep),
        _acquisition(results, sweep),
        _population(results),
    ]


def _dose_response(results: Results, sweep: Sweep) -> ReportTable:
    rows = []
    for budget in BUDGETS:
        for alpha in ALPHAS:
            printed = paper_value("synergy-dose-response", alpha, budget)
            rows.append(
                interval_row((f"{budget}", f"{alpha:g}", "mean"), sweep.mean(results, "synafa", alpha, budget), printed)
            )
            printed = paper_value("synergy-dose-response", alpha, f"{budget} sd")
            spread = sweep.deviation(results, "synafa", alpha, budget)
            rows.append(interval_row((f"{budget}", f"{alpha:g}", "SD"), spread, printed))
        printed = paper_value("synergy-dose-response", "corr", budget)
        found = sweep.correlation(results, "synafa", budget)
        rows.append(interval_row((f"{budget}", "", "correlation with alpha"), found, printed))
    note = (
        "Mean advantage over AACO, CAE and permutation. Intervals: Student's over instances (mean), "
        "jackknife (correlation), chi-square (SD)."
    )
    return ReportTable(
        "Mean advantage by alpha and budget",
        "synergy-dose-response",
        ("budget", "alpha", "statistic"),
        rows,
        note,
    )


def _correlations(results: Results, sweep: Sweep) -> ReportTable:
    rows = [row for budget in BUDGETS for row in correlation_rows(results, sweep, "alpha sweep", budget)]
    note = "Interval of the mean: jackknife over instances; of one instance's correlation: its test rows resampled."
    return ReportTable(
        "Correlation of advantage with alpha", "appendix-correlations", ("sweep / budget", "statistic"), rows, note
    )


def correlation_rows(results: Results, sweep: Sweep, name: str, budget: int) -> list[ReportRow]:
    """Correlation of the mean, and the lowest and highest of one instance, beside the paper's."""
    whole = sweep.correlation(results, "synafa", budget)
    each = sorted(sweep.instance_correlations(results, "synafa", budget), key=lambda found: found.value or 0.0)
    found = {"mean": whole, "lowest": each[0], "highest": each[-1]}
    return [
        interval_row(
            (f"{name} / {budget}", column), found[column], paper_value("appendix-correlations", (name, budget), column)
        )
        for column in ("mean", "lowest", "highest")
    ]


def _interval(results: Results, sweep: Sweep) -> ReportTable:
    found = sweep.mean(results, "synafa", 1.0, 8)
    rows = [interval_row(("mean advantage",), found, paper_value("appendix-alpha-interval", (8, 1), "value"))]
    for name, bound in (("lower bound", found.low), ("upper bound", found.high)):
        printed = paper_value("appendix-alpha-interval", (8, 1), "low" if "lower" in name else "high")
        rows.append(ReportRow((name,), bound, printed, comparable=False, note="bound of an interval"))
    return ReportTable(
        "Budget 8, alpha = 1: mean advantage over five instances", "appendix-alpha-interval", ("statistic",), rows
    )


def _instances(results: Results, sweep: Sweep) -> PlainTable:
    rows = []
    for budget in BUDGETS:
        each = sweep.instance_correlations(results, "synafa", budget)
        rows.append((budget, *(found.value for found in each)))
    columns = ("budget", *(f"instance {instance}" for instance in sweep.instances))
    return PlainTable("Correlation with alpha in each instance", "alpha-instances", columns, rows, digits=3)


def _full(results: Results, sweep: Sweep) -> ReportTable:
    return ReportTable(
        "Differences pooled over instances",
        "synergy-dose-response-full",
        ("alpha", "baseline", "budget"),
        pooled_rows(results, sweep, "synafa", "synergy-dose-response-full", BUDGETS),
        "Paired bootstrap over the test rows of all instances.",
    )


def pooled_rows(results: Results, sweep: Sweep, method: str, label: str, budgets: tuple[int, ...]) -> list[ReportRow]:
    """Pooled differences of `method` from each baseline at each alpha and budget, beside the paper's table `label`."""
    return [
        difference_row(
            (f"{alpha:g}", NAMES[name], f"{budget}"),
            sweep.pooled(results, method, name, alpha, budget) if alpha in sweep.levels else None,
            find_value(label, (alpha, NAMES[name]), budget),
        )
        for alpha in ALPHAS
        for name in BASELINES
        for budget in budgets
    ]


def acquisition_rates(results: Results, sweep: Sweep, alpha: float, budget: int) -> dict[str, float] | None:
    """Percent of test rows that acquire S1, S2, both; mean over instances."""
    shares = []
    for instance in sweep.instances:
        packed = array(results, "mask", "synafa", budget, instance, **sweep.where(alpha))
        if packed is None:
            return None
        known = np.unpackbits(packed, axis=1)[:, :24].astype(bool)
        s1, s2 = known[:, 22], known[:, 23]
        shares.append([s1.mean(), s2.mean(), (s1 & s2).mean()])
    mean = 100 * np.mean(shares, axis=0)
    return dict(zip(("S1", "S2", "both"), mean.tolist()))


def _acquisition(results: Results, sweep: Sweep) -> ReportTable:
    rows = []
    for alpha in ALPHAS:
        for budget in BUDGETS:
            rates = acquisition_rates(results, sweep, alpha, budget) or {}
            for column in ("S1", "S2", "both"):
                printed = paper_value("synergy-acquisition-rates", (alpha, budget), column)
                labels = (f"{alpha:g}", f"{budget}", column)
                rows.append(ReportRow(labels, rates.get(column), printed, deterministic=True))
    return ReportTable(
        "How often S1 and S2 are acquired, percent", "synergy-acquisition-rates", ("alpha", "budget", "feature"), rows
    )


def _population(results: Results) -> ReportTable:
    label, columns = "synergy-pid-decomposition", ("R", "Syn", "V", "Syn/V")
    rows = exact_rows(results, label, "population", "alpha", ALPHAS, columns)
    return ReportTable("Population decomposition of S1, S2 (bits)", label, ("alpha", "quantity"), rows)


def figures(results: Results) -> list[Figure]:
    sweep = alpha_sweep(results.settings)
    figure, (left, right) = new_figure(columns=2, width=3.9, height=3.0)
    drawn = False
    for index, budget in enumerate(BUDGETS):
        values = sweep.advantages(results, "synafa", budget)
        if np.isnan(values).any():
            continue
        drawn = True
        mean, sd = values.mean(axis=1), values.std(axis=1, ddof=1)
        line_with_interval(
            left,
            sweep.levels,
            mean.tolist(),
            (mean - sd).tolist(),
            (mean + sd).tolist(),
            f"budget {budget}",
            index,
            True,
        )
    for index, name in enumerate(BASELINES):
        found = [sweep.pooled(results, "synafa", name, alpha, 8) for alpha in sweep.levels]
        there = [one for one in found if one is not None]
        if len(there) == len(found):
            draw(
                right,
                [alpha + 0.012 * (index - 1) for alpha in sweep.levels],
                there,
                f"against {NAMES[name]}",
                index + 3,
            )
    if not drawn:
        return []
    for axes, title in ((left, "(a) by budget"), (right, "(b) by baseline, budget 8")):
        zero_line(axes)
        axes.set(xlabel="alpha (0 additive, 1 exclusive or)", ylabel="accuracy advantage", title=title)
        legend_below(axes)
    caption = (
        f"(a) Mean advantage over AACO, CAE and permutation; band: one SD over {len(sweep.instances)} instances. "
        "S1 and S2 cost 6 together: more than budgets 3 and 5. (b) Budget 8, pooled over instances, 95 % intervals of "
        "the paired bootstrap."
    )
    return [Figure("dose-response", "Advantage against synergy", caption, figure)]


def headline(results: Results) -> list[Headline]:
    sweep = alpha_sweep(results.settings)
    said: list[Headline] = []
    total = len(sweep.instances)
    signs = {budget: _signs(sweep.instance_correlations(results, "synafa", budget)) for budget in BUDGETS}
    if signs[8] is not None:
        whole = sweep.correlation(results, "synafa", 8).value
        text = f"Alpha sweep, budget 8: advantage grows with alpha in {signs[8]} of {total} instances (r of the mean {whole:+.2f}; paper +0.95)."  # noqa: E501
        said.append(Headline(text, held=signs[8] == total, rank=1))
    if signs[3] is not None and signs[5] is not None:
        falls = [total - (signs[budget] or 0) for budget in (3, 5)]
        text = f"Alpha sweep, budgets 3 and 5: advantage falls with alpha in {falls[0]} and {falls[1]} of {total} instances."  # noqa: E501
        said.append(Headline(text, held=falls == [total, total], rank=2))
    cells = [row.verdict for row in _acquisition(results, sweep).rows if row.here is not None]
    if cells:
        exact = sum(verdict == "exact" for verdict in cells)
        text = f"Acquisition rates of the sweep: {exact} of {len(cells)} cells equal the paper's."
        said.append(Headline(text, held=exact == len(cells), rank=6))
    return said


def _signs(found: list[Interval]) -> int | None:
    """How many correlations are positive; None when some were not run."""
    values = [one.value for one in found]
    return None if any(value is None for value in values) else sum(value > 0 for value in values if value is not None)
