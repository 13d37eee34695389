"""The benchmark beyond accuracy: the harness's effect, every measure of every policy, differences by other measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from synafa.report.figures import new_figure
from synafa.report.style import COLOURS
from synafa.stats.multiplicity import adjusted_stars
from synafa.study.engine.results import Results
from synafa.study.evidence.paper import paper_value
from synafa.study.evidence.tables import Figure, PlainTable, ReportRow, ReportTable
from synafa.study.experiments.shared import EIGHT, REFERENCES, compare, find, metric

Listed = Sequence[tuple[str, int]]
_GENERATIVE = ("eddi", "eddi-builtin", "odin-model-based", "odin-model-free")


def harness_table(results: Results, titles: Mapping[str, str]) -> ReportTable:
    """Percent of test rows that reach the budget without the fallback, and what the correction did to accuracy."""
    rows, largest = [], None
    for name, budget in (("physionet", 10), ("physionet", 15), ("bank", 7), ("actg175", 10)):
        share = metric(results, "no_fallback_share", "synafa", budget, dataset=name)
        printed = paper_value("appendix-harness", (titles[name], budget), "value")
        here = None if share is None else 100.0 * share
        rows.append(ReportRow((titles[name], f"{budget}", "percent"), here, printed, deterministic=True))
    for name, budget in (("physionet", 10), ("physionet", 15), ("bank", 7), ("actg175", 10)):
        shift = compare(results, "synafa", "synafa-uncorrected", budget, dataset=name)
        if shift is None:
            rows.append(ReportRow((titles[name], f"{budget}", "corrected minus uncorrected accuracy"), None))
            continue
        label = (titles[name], f"{budget}", "corrected minus uncorrected accuracy")
        rows.append(ReportRow.tested(label, shift.value, shift.low, shift.high, shift.p, None))
        if largest is None or abs(shift.value) > abs(largest.value):
            largest = shift
    printed = paper_value("appendix-harness", "largest shift", "value")
    if largest is None:
        rows.append(ReportRow(("all", "", "largest shift"), None, printed))
    else:
        low, high = sorted((abs(largest.low), abs(largest.high)))
        low = 0.0 if largest.low <= 0 <= largest.high else low
        rows.append(ReportRow(("all", "", "largest shift"), abs(largest.value), printed, low, high))
    return ReportTable("Corrected and uncorrected harness", "appendix-harness", ("dataset", "budget", "number"), rows)


def measures_table(results: Results, listed: Listed, titles: Mapping[str, str], names: Mapping[str, str]) -> PlainTable:
    """Every policy by every measure."""
    columns: tuple[str, ...] = (
        "auroc",
        "log_loss",
        "balanced_accuracy",
        "accuracy",
        "positive_share",
        "calibration_error",
    )
    columns += ("mean_cost", "distinct_sets", "majority_set_share")
    rows: list[tuple[Any, ...]] = []
    for dataset, budget in listed:
        for method in ("synafa", "synafa-uncorrected", *EIGHT, *_GENERATIVE, *REFERENCES):
            if find(results, method, budget, dataset=dataset) is None:
                continue
            values = (metric(results, name, method, budget, dataset=dataset) for name in columns)
            rows.append((titles[dataset], budget, _title(method, names), *values))
    words = tuple(name.replace("_", " ") for name in columns)
    return PlainTable(
        "Every policy by every measure",
        "benchmark-measures",
        ("dataset", "budget", "policy", *words),
        rows,
        "Positive share: rows predicted as class 1. Majority set share: rows with the most frequent feature set.",
        digits=3,
    )


_LEADING = {
    "auroc": "AUROC",
    "log_loss": "log loss",
    "balanced_accuracy": "balanced accuracy",
    "threshold_matched": "threshold-matched accuracy",
    "accuracy": "accuracy",
}


def other_measures_table(
    results: Results, listed: Listed, titles: Mapping[str, str], names: Mapping[str, str]
) -> PlainTable:
    """SynAFA minus each other policy by five measures, over rows and seeds; stars adjusted within a measure."""
    labels: list[tuple[Any, ...]] = []
    tested: list[list[Cell]] = []
    for dataset, budget in listed:
        for method in (*EIGHT, *_GENERATIVE, *REFERENCES):
            found = [compare(results, "synafa", method, budget, measure=m, dataset=dataset) for m in _LEADING]
            if found[-1] is not None:
                labels.append((titles[dataset], budget, _title(method, names), found[-1].runs))
                tested.append([None if one is None else (one.value, one.p) for one in found])
    shown = [_column(cells) for cells in zip(*tested)]  # a measure is a family of tests of its own
    rows = [(*label, *cells) for label, cells in zip(labels, zip(*shown))]
    note = (
        "Plain accuracy under a class-weighted classifier grows when a policy pushes it towards the majority class, so "
        "it stands last. Log loss: lower is better. Threshold-matched: each judge's threshold is set on validation "
        "rows to the positive share of the validation rows. Runs: judges times trainings."
    )
    columns = ("dataset", "budget", "against", "runs", *_LEADING.values())
    return PlainTable("SynAFA minus the others by five measures", "benchmark-other-measures", columns, rows, note)


def positive_share_figure(results: Results, listed: Listed, titles: Mapping[str, str]) -> Figure | None:
    """Accuracy and AUROC of every policy against the share of rows it makes the classifier call positive."""
    shown = [dataset for dataset in ("physionet", "bank") if any(name == dataset for name, _ in listed)]
    points = {
        dataset: [
            (method, *(metric(results, name, method, budget, dataset=dataset) for name in _AXES))
            for name_, budget in listed
            if name_ == dataset
            for method in ("synafa", *EIGHT)
        ]
        for dataset in shown
    }
    there = {d: [p for p in found if None not in p] for d, found in points.items()}
    kept = [dataset for dataset in shown if len(there[dataset]) > 2]
    if not kept:
        return None
    figure, panels = new_figure(columns=2, rows=len(kept), width=3.7, height=2.7)
    for row, dataset in enumerate(kept):
        share, right, area = (np.array([p[i] for p in there[dataset]], dtype=float) for i in (1, 2, 3))
        own = np.array([p[0] == "synafa" for p in there[dataset]])
        for axes, values, word in zip(panels[2 * row : 2 * row + 2], (right, area), ("accuracy", "AUROC")):
            axes.scatter(share[~own], values[~own], s=18, color=COLOURS["grey"], label="baselines")
            axes.scatter(share[own], values[own], s=30, color=COLOURS["vermillion"], marker="D", label="SynAFA")
            r = float(np.corrcoef(share, values)[0, 1]) if values.std() > 0 and share.std() > 0 else float("nan")
            axes.set(xlabel="share of rows predicted positive", ylabel=word, title=f"{titles[dataset]}, r = {r:+.2f}")
        panels[2 * row].legend(fontsize=7)
    caption = (
        "Every policy at every budget, mean over judges and trainings. Where accuracy falls with the predicted "
        "positive share, accuracy mostly tells where a threshold lies; AUROC does not."
    )
    return Figure("positive-share", "What accuracy measures on two tables", caption, figure)


_AXES = ("positive_share", "accuracy", "auroc")
Cell = tuple[float, float] | None  # a difference and its p


def _column(cells: Sequence[Cell]) -> list[str]:
    stars = adjusted_stars([None if cell is None else cell[1] for cell in cells])
    return ["" if cell is None else f"{cell[0]:+.3f}{star}" for cell, star in zip(cells, stars)]


def _title(method: str, names: Mapping[str, str]) -> str:
    own = {"synafa": "SynAFA", "synafa-uncorrected": "SynAFA, uncorrected harness"}
    return {**own, **names}.get(method, method)
