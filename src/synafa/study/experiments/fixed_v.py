"""The fixed-V control: does the budget-8 advantage follow the pair's synergy when its total information stays put?

The realised V and Syn/V come from the training rows of the instances, pooled; the comparison is made at budget 8, with
the corrected harness and, for the correlation the paper reports for it, with the uncorrected one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from synafa.datasets.synthetic import FIXED_V_WEIGHTS
from synafa.report.figures import new_figure, zero_line
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.names import NAMES
from synafa.study.evidence.paper import paper_value
from synafa.study.evidence.tables import Figure, Headline, PlainTable, ReportRow, ReportTable
from synafa.study.experiments.alpha_sweep import BASELINES, correlation_rows
from synafa.study.experiments.shared import THREE, array, load_dataset
from synafa.study.experiments.sweeps import (
    INSTANCES,
    Sweep,
    difference_row,
    draw,
    exact_rows,
    fixed_v_sweep,
    interval_row,
    legend_below,
)

NAME = "fixed-v"
TITLE = "Fixed-V control: synergy share at constant information"
VERSION = 1
COVERS = (
    "fixed-v-calibration",
    "fixed-v-full-significance",
    "appendix-fixed-v-instances",
    "appendix-correlations",
    "appendix-harness",
)
FRACTIONS = tuple(FIXED_V_WEIGHTS)
BUDGET = 8


def units(settings: Settings) -> list[Unit]:
    exact = [settings.unit(NAME, __name__, VERSION, {"part": "calibration", "fraction": f}) for f in FRACTIONS]
    return [*exact, *fixed_v_sweep(settings).units(settings, ("synafa", "synafa-uncorrected", *THREE))]


def run(unit: Unit) -> dict[str, Any]:
    """Realised information of the pair on the training rows of all instances, and the weights found afresh."""
    from synafa.datasets import calibrate_fixed_v
    from synafa.information.tables import InformationTables

    codes, classes = [], []
    for instance in INSTANCES:
        dataset = load_dataset("fixed-v", instance, unit.quick, fraction=unit["fraction"])
        codes.append(dataset.X[dataset.train][:, -2:].astype(np.uint8))
        classes.append(dataset.y[dataset.train])
    tables = InformationTables.from_codes(np.concatenate(codes), np.concatenate(classes), 2)
    synergy, joint = float(tables.pid().synergy[0, 1]), float(tables.pair[0, 1])
    w_add, w_xor = calibrate_fixed_v(unit["fraction"])
    return {"rows": [{"V": joint, "Syn/V": synergy / joint, "w_add": w_add, "w_xor": w_xor}]}


def tables(results: Results) -> list[ReportTable | PlainTable]:
    sweep = fixed_v_sweep(results.settings)
    return [
        _calibration(results),
        _differences(results, sweep),
        *_correlations(results, sweep),
        _harness(results, sweep),
    ]


def _calibration(results: Results) -> ReportTable:
    label, columns = "fixed-v-calibration", ("V", "Syn/V", "w_add", "w_xor")
    rows = exact_rows(results, label, "calibration", "fraction", FRACTIONS, columns)
    note = "the study's weights are the paper's; here: calibrated afresh to the target"
    rows = [
        replace(row, deterministic=False, comparable=False, note=note) if row.labels[1].startswith("w_") else row
        for row in rows
    ]
    return ReportTable("Calibration: realised V and Syn/V", label, ("target", "quantity"), rows)


def _differences(results: Results, sweep: Sweep) -> ReportTable:
    rows = []
    for fraction in FRACTIONS:
        for name in BASELINES:
            found = sweep.pooled(results, "synafa", name, fraction, BUDGET) if fraction in sweep.levels else None
            printed = paper_value("fixed-v-full-significance", fraction, NAMES[name])
            rows.append(difference_row((f"{fraction:g}", NAMES[name]), found, printed))
        printed = paper_value("fixed-v-full-significance", fraction, "mean")
        rows.append(interval_row((f"{fraction:g}", "mean"), sweep.mean(results, "synafa", fraction, BUDGET), printed))
    note = "Differences: paired bootstrap over the test rows of all instances; mean: Student's over instances."
    return ReportTable("Differences at budget 8", "fixed-v-full-significance", ("target", "baseline"), rows, note)


def _correlations(results: Results, sweep: Sweep) -> list[ReportTable]:
    each = sweep.instance_correlations(results, "synafa", BUDGET)
    found = dict(zip(sweep.instances, each))
    rows = [
        interval_row((f"{i}",), found[i], paper_value("appendix-fixed-v-instances", i, "value"))
        if i in found
        else ReportRow((f"{i}",), None, paper_value("appendix-fixed-v-instances", i, "value"))
        for i in INSTANCES
    ]
    return [
        ReportTable(
            "Correlation of advantage with Syn/V",
            "appendix-correlations",
            ("sweep / budget", "statistic"),
            correlation_rows(results, sweep, "fixed-V", BUDGET),
            "Interval of the mean: jackknife over instances; of one instance's correlation: its test rows resampled.",
        ),
        ReportTable(
            "Correlation in each instance",
            "appendix-fixed-v-instances",
            ("instance",),
            rows,
            "Intervals resample the test rows of the instance.",
        ),
    ]


def runs_changed(results: Results, sweep: Sweep) -> int | None:
    """In how many SynAFA runs at least one row acquires more under the corrected harness."""
    changed = 0
    for level in sweep.levels:
        for instance in sweep.instances:
            both = [
                array(results, "mask", method, BUDGET, instance, **sweep.where(level))
                for method in ("synafa", "synafa-uncorrected")
            ]
            if both[0] is None or both[1] is None:
                return None
            changed += not np.array_equal(both[0], both[1])
    return changed


def _harness(results: Results, sweep: Sweep) -> ReportTable:
    rows = [
        ReportRow(
            ("SynAFA runs changed by the correction",),
            runs_changed(results, sweep),
            paper_value("appendix-harness", "fixed-V runs changed", "value"),
            deterministic=True,
        )
    ]
    for method, word in (("synafa-uncorrected", "uncorrected"), ("synafa", "corrected")):
        printed = paper_value("appendix-harness", f"fixed-V correlation {word}", "value")
        found = sweep.correlation(results, method, BUDGET)
        rows.append(interval_row((f"correlation, {word} harness",), found, printed))
    return ReportTable("Corrected and uncorrected harness", "appendix-harness", ("statistic",), rows)


def figures(results: Results) -> list[Figure]:
    sweep = fixed_v_sweep(results.settings)
    figure, (axes,) = new_figure(width=4.2, height=3.2)
    values = sweep.advantages(results, "synafa", BUDGET)
    if np.isnan(values).any():
        return []
    for index, name in enumerate(BASELINES):
        found = [sweep.pooled(results, "synafa", name, level, BUDGET) for level in sweep.levels]
        there = [one for one in found if one is not None]
        draw(
            axes,
            [position + 0.006 * (index - 1) for position in sweep.positions],
            there,
            f"against {NAMES[name]}",
            index + 3,
        )
    means = [sweep.mean(results, "synafa", level, BUDGET) for level in sweep.levels]
    draw(axes, sweep.positions, means, "mean of the three", 0, band=True)
    zero_line(axes)
    axes.set(xlabel="realised Syn/V of the pair", ylabel="accuracy advantage", title="(c) V held at 0.10 bits")
    legend_below(axes, columns=2)
    caption = (
        "Fixed-V control at budget 8: advantage against the pair's synergy share with its joint information held "
        "constant. Bars: 95 % paired-bootstrap intervals, instances pooled; band: Student's over instances."
    )
    return [Figure("fixed-v", "Advantage at constant information", caption, figure)]


def headline(results: Results) -> list[Headline]:
    sweep = fixed_v_sweep(results.settings)
    found = sweep.correlation(results, "synafa", BUDGET)
    before = sweep.correlation(results, "synafa-uncorrected", BUDGET)
    each = [one.value for one in sweep.instance_correlations(results, "synafa", BUDGET)]
    if found.value is None or any(value is None for value in each):
        return []
    positive = sum(value > 0 for value in each if value is not None)
    text = (
        f"Fixed-V control: correlation of advantage with the synergy share {found.value:+.2f} (paper +0.87), positive "
        f"in {positive} of {len(each)} instances"
    )
    text += f"; {before.value:+.2f} under the uncorrected harness (paper +0.92)." if before.value is not None else "."
    return [Headline(text, held=found.value > 0 and positive == len(each), rank=2)]
