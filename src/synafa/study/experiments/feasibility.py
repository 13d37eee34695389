"""The feasibility mask: what happens when a pair is proposed only if the remaining budget can pay for both members?

The alpha sweep again with that one change; the deployed policy and the baselines are the alpha sweep's own units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.datasets.synthetic import ALPHAS
from synafa.report.figures import new_figure, zero_line
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.paper import paper_value
from synafa.study.evidence.tables import Figure, Headline, PlainTable, ReportRow, ReportTable
from synafa.study.experiments.alpha_sweep import pooled_rows
from synafa.study.experiments.shared import THREE, VERSION, Difference, array, compare
from synafa.study.experiments.shared import run_policy_unit as run
from synafa.study.experiments.sweeps import Sweep, alpha_sweep, draw, interval_row, legend_below

__all__ = ["COVERS", "NAME", "TITLE", "VERSION", "figures", "headline", "run", "tables", "units"]

NAME = "feasibility"
TITLE = "Feasibility mask: pairs only when both members are affordable"
COVERS = (
    "feasibility-main",
    "synergy-budget-mask-sensitivity",
    "synergy-budget-mask-sensitivity-full",
    "appendix-mask-unchanged",
)
_STATISTICS = ("changed cells", "cells", "largest change")
METHODS = {"deployed": "synafa", "masked": "synafa-masked"}


def units(settings: Settings) -> list[Unit]:
    return alpha_sweep(settings).units(settings, (*METHODS.values(), *THREE))


def tables(results: Results) -> list[ReportTable | PlainTable]:
    sweep = alpha_sweep(results.settings)
    main = [
        interval_row(
            (f"{budget}", name),
            sweep.mean(results, method, 1.0, budget),
            paper_value("feasibility-main", budget, name),
        )
        for budget in (3, 5, 8)
        for name, method in METHODS.items()
    ]
    whole = [
        interval_row(
            (f"{alpha:g}", f"{budget}", name),
            sweep.mean(results, method, alpha, budget),
            paper_value("synergy-budget-mask-sensitivity", alpha, f"{budget} {name}"),
        )
        for alpha in ALPHAS
        for budget in (3, 5)
        for name, method in METHODS.items()
    ]
    note = "Mean advantage over AACO, CAE and permutation; Student's intervals over instances."
    label = "synergy-budget-mask-sensitivity"
    return [
        ReportTable("The mask at alpha = 1", "feasibility-main", ("budget", "rule"), main, note),
        ReportTable("The mask at budgets 3 and 5", label, ("alpha", "budget", "rule"), whole, note),
        ReportTable(
            "Masked policy against each baseline, instances pooled",
            f"{label}-full",
            ("alpha", "baseline", "budget"),
            pooled_rows(results, sweep, "synafa-masked", f"{label}-full", (3, 5)),
        ),
        _unchanged(results, sweep),
        _cells(results, sweep),
    ]


@dataclass(frozen=True)
class Change:
    """One cell of the sweep at budget 8: share of test rows that acquire another set, accuracy masked - deployed."""

    alpha: float
    instance: int
    share: float
    gain: Difference

    @property
    def moves(self) -> bool:
        """Whether accuracy changes at all."""
        return self.gain.value != 0

    @property
    def visible(self) -> bool:
        """Whether three decimals could show it."""
        return abs(self.gain.value) >= 0.001


def changes_at_8(results: Results, sweep: Sweep) -> list[Change] | None:
    """The cells in which the mask changes what some test row acquires at budget 8."""
    changed = []
    for alpha in sweep.levels:
        for instance in sweep.instances:
            where = sweep.where(alpha)
            masks = [array(results, "mask", method, 8, instance, **where) for method in METHODS.values()]
            gain = compare(results, "synafa-masked", "synafa", 8, (instance,), **where)
            if masks[0] is None or masks[1] is None or gain is None:
                return None
            share = float((masks[0] != masks[1]).any(axis=1).mean())
            if share > 0:
                changed.append(Change(alpha, instance, share, gain))
    return changed


def _unchanged(results: Results, sweep: Sweep) -> ReportTable:
    printed = {name: paper_value("appendix-mask-unchanged", name, "value") for name in _STATISTICS}
    changed = changes_at_8(results, sweep)
    if changed is None:
        rows = [ReportRow((name,), None, printed[name]) for name in _STATISTICS]
        return ReportTable("The mask at budget 8", "appendix-mask-unchanged", ("statistic",), rows)
    note = (
        f"cells in which accuracy changes at all; some row acquires another set in {len(changed)}, accuracy moves by "
        f"0.001 or more in {sum(one.visible for one in changed)}; the paper does not say what it calls identical"
    )
    largest = max((one.gain for one in changed), key=lambda gain: abs(gain.value), default=None)
    bounds = (None, None) if largest is None else sorted((abs(largest.low), abs(largest.high)))
    rows = [
        ReportRow(("changed cells",), sum(one.moves for one in changed), printed["changed cells"], note=note),
        ReportRow(("cells",), len(sweep.levels) * len(sweep.instances), printed["cells"], deterministic=True),
        ReportRow(
            ("largest change",), 0.0 if largest is None else abs(largest.value), printed["largest change"], *bounds
        ),
    ]
    return ReportTable("The mask at budget 8", "appendix-mask-unchanged", ("statistic",), rows)


def _cells(results: Results, sweep: Sweep) -> PlainTable:
    columns = ("alpha", "instance", "rows with another set", "accuracy masked - deployed", "p")
    cells = changes_at_8(results, sweep) or []
    rows = [(f"{one.alpha:g}", one.instance, one.share, f"{one.gain.value:+.4f}", one.gain.p) for one in cells]
    note = "In all but one of the paper's 25 cells the last unit of budget buys B2 instead of B3, or the reverse."
    return PlainTable("Where the mask changes budget 8", "mask-at-8", columns, rows, note, digits=3)


def figures(results: Results) -> list[Figure]:
    sweep = alpha_sweep(results.settings)
    figure, panels = new_figure(columns=3, width=3.0)
    for axes, budget in zip(panels, (3, 5, 8)):
        for index, (name, method) in enumerate(METHODS.items()):
            if np.isnan(sweep.advantages(results, method, budget)).any():
                return []
            found = [sweep.mean(results, method, alpha, budget) for alpha in sweep.levels]
            draw(axes, sweep.levels, found, name, index, band=True)
        zero_line(axes)
        axes.set(xlabel="alpha", ylabel="accuracy advantage", title=f"budget {budget}")
        legend_below(axes)
    caption = "Mean advantage with the deployed rule and with the mask; bands: 95 % over instances."
    return [Figure("feasibility", "The feasibility mask", caption, figure)]


def headline(results: Results) -> list[Headline]:
    sweep = alpha_sweep(results.settings)
    high = [alpha for alpha in sweep.levels if alpha >= 0.5]
    masked = [sweep.mean(results, "synafa-masked", alpha, budget).value for budget in (3, 5) for alpha in high]
    before = [sweep.mean(results, "synafa", alpha, budget).value for budget in (3, 5) for alpha in high]
    there = [value for value in masked if value is not None]
    if len(there) < len(masked) or any(value is None for value in before):
        return []
    positive = sum(value > 0 for value in there)
    negative = sum(value < 0 for value in before if value is not None)
    text = (
        f"Feasibility mask at budgets 3 and 5, alpha >= 0.5: mean advantage positive in {positive} of {len(there)} "
        f"cells with the mask, negative in {negative} of {len(before)} without."
    )
    said = [Headline(text, held=positive == len(there), rank=2)]
    changed = changes_at_8(results, sweep)
    if changed is not None:
        cells = len(sweep.levels) * len(sweep.instances)
        moved, visible = sum(one.moves for one in changed), sum(one.visible for one in changed)
        text = (
            f"At budget 8 the mask leaves accuracy identical in {cells - moved} of {cells} cells (paper: 22 of 25) and "
            f"moves it by 0.001 or more in {visible}."
        )
        said.append(Headline(text, held=moved <= 3, rank=7))
    return said
