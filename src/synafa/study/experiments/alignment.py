"""Do swaps that raise the objective T(S) raise utility? For each accepted swap of the local search, dT against dU.

U is the shared classifier's probability of the true class, under each judge; the control replaces the same member by a
random outsider. The units are those of `local-search`, where the swaps are made. Intervals resample test rows (not
swaps), judges and trainings of the forests.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from synafa.report.figures import new_figure, zero_line
from synafa.report.style import COLOURS, CYCLE
from synafa.study import Figure, Headline, PlainTable, ReportRow, ReportTable, Settings, Unit
from synafa.study.engine.results import Results
from synafa.study.evidence.comparisons import Difference
from synafa.study.evidence.paper import PaperValue, find_value, paper_value
from synafa.study.experiments import local_search
from synafa.study.experiments.local_search import FORESTS, NINE, SETTINGS, Setting, aligned, figure_row, present
from synafa.study.experiments.swaps import FIGURES

NAME = "alignment"
TITLE = "Objective against utility, swap by swap"
VERSION = 2
COVERS = ("objective-alignment", "appendix-alignment")
LIMIT = 0.11  # the paper: |rho| <= 0.11 in its nine settings


def units(settings: Settings) -> list[Unit]:
    return [unit for unit in local_search.units(settings) if unit.experiment == local_search.NAME]


def run(unit: Unit) -> dict[str, Any]:
    """The local-search unit itself: its swaps are what is measured here."""
    return local_search.run(unit)


_COLUMNS = (
    ("test rows", "n", "n"),
    ("accepted swaps", "swaps", "accepted"),
    ("mean change of utility", "mean dU", "dU"),
    ("share of swaps that raise utility", "P(dU>0)", "up"),
    ("the same, random replacement", "P(dU random>0)", "up_random"),
    ("Pearson rho(dT, dU)", "rho", "rho"),
    ("Spearman rho(dT, dU)", "", "spearman"),
)


@dataclass(frozen=True)
class Aligned:
    """The swaps of one setting and budget: `found` has the figures, `counts` the accepted swaps of each search."""

    setting: Setting
    budget: int
    n: int
    counts: list[int]
    found: dict[str, Difference]


@lru_cache(maxsize=1)  # asked for by tables, figure and headline
def measured(results: Results) -> list[Aligned]:
    """Every setting and budget whose accepted swaps have figures."""
    cells = []
    for setting in SETTINGS:
        for budget in setting.budgets:
            rows = results.select(setting=setting.name, budget=budget, search="corrected")
            figures_ = {name: aligned(results, setting.name, budget, name) for name in FIGURES}
            there = {name: one for name, one in figures_.items() if one is not None}
            if rows and len(there) == len(FIGURES):
                cells.append(Aligned(setting, budget, rows[0]["n"], [row["accepted"] for row in rows], there))
    return cells


def tables(results: Results) -> list[ReportTable | PlainTable]:
    cells = {(one.setting.name, one.budget): one for one in measured(results)}
    rows = []
    for setting in present(results):
        for budget in setting.budgets:
            one = cells.get((setting.name, budget))
            for shown, column, name in _COLUMNS:
                paper = find_value("objective-alignment", (setting.paper, budget), column) if column else None
                rows.append(_row(setting, budget, one, shown, name, paper))
    note = (
        "Means over judges and trainings of the forests. Intervals: 10,000 bootstrap resamples of test rows with all "
        "their swaps, of judges and of trainings."
    )
    return [
        ReportTable(
            "Change of objective and of utility", "objective-alignment", ("setting", "budget", "figure"), rows, note
        ),
        _ranges(results),
    ]


def _row(
    setting: Setting, budget: int, one: Aligned | None, shown: str, name: str, paper: PaperValue | None
) -> ReportRow:
    labels = (setting.title, str(budget), shown)
    if name == "n":
        return ReportRow(labels, None if one is None else one.n, paper, deterministic=True, digits=0)
    if name == "accepted":
        counts = [] if one is None else one.counts
        if setting.name not in FORESTS:
            return ReportRow(labels, counts[0] if counts else None, paper, deterministic=True, digits=0)
        return ReportRow.repeated(labels, counts, paper, digits=0, note="depends on the trained forests")
    also = [find_value("objective-alignment", (setting.paper, budget), side) for side in ("low", "high")]
    beside = tuple(value for value in also if value is not None) if name == "rho" else ()
    found = None if one is None else one.found[name]
    return figure_row(labels, found, paper, digits=3 if paper is None else None, beside=beside)


def _ranges(results: Results) -> ReportTable:
    """The ranges of the text, over those of the nine settings that were run."""
    cells = [one for one in measured(results) if one.setting.name in NINE]
    whole = len(cells) == 9
    note = "" if whole else f"{len(cells)} of the paper's nine settings run here"
    accepted = [float(np.mean(one.counts)) for one in cells]
    rows = []
    for shown, name in (("Pearson", "rho"), ("Spearman", "spearman"), ("mean dU", "dU"), ("P(dU>0)", "up")):
        for side, pick in (("low", min), ("high", max)):
            here = pick(one.found[name].value for one in cells) if cells else None
            paper = paper_value("appendix-alignment", shown, side)
            rows.append(ReportRow((shown, side), here, paper, comparable=whole, note=note))
    paper = paper_value("appendix-alignment", "accepted swaps", "low")
    total = sum(accepted) if cells else None
    rows.append(ReportRow(("accepted swaps", "total"), total, paper, comparable=False, note=note, digits=0))
    for side, pick in (("low", min), ("high", max)):
        here = pick(count / one.n for count, one in zip(accepted, cells)) if cells else None
        paper = paper_value("appendix-alignment", "swaps per instance", side)
        rows.append(ReportRow(("swaps per instance", side), here, paper, comparable=whole, note=note))
    return ReportTable("Ranges over the settings", "appendix-alignment", ("figure", "side"), rows)


def figures(results: Results) -> list[Figure]:
    cells = measured(results)
    if not cells:
        return []
    figure, (left, right) = new_figure(columns=2, width=4.0, height=3.0)
    for index, setting in enumerate(s for s in SETTINGS if any(one.setting == s for one in cells)):
        mine = [one for one in cells if one.setting == setting]
        x = np.array([one.budget for one in mine]) + 0.25 * (index - 1.5)
        colour = CYCLE[index]
        for axes, name in ((left, "rho"), (right, "up")):
            value, low, high = np.array([(d.value, d.low, d.high) for d in (one.found[name] for one in mine)]).T
            error = [value - low, high - value]
            axes.errorbar(x, value, yerr=error, fmt="o", color=colour, capsize=2, ms=4, label=setting.title)
        chance = [one.found["up_random"].value for one in mine]
        right.scatter(x, chance, marker="_", s=60, color=colour, zorder=3)
    zero_line(left)
    for limit in (-LIMIT, LIMIT):
        left.axhline(limit, color=COLOURS["grey"], lw=0.8, ls=":")
    right.axhline(0.5, color=COLOURS["grey"], lw=0.8, ls=":")
    left.set(xlabel="budget", ylabel="Pearson correlation of dT and dU", ylim=(-0.3, 0.3))
    right.set(xlabel="budget", ylabel="share of swaps that raise utility")
    left.set_title("a  Accepted swaps")
    right.set_title("b  Accepted (dots), random (dashes)")
    for axes in (left, right):
        axes.set_xticks((5, 10, 15, 20))
    right.legend(*left.get_legend_handles_labels(), fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    caption = (
        "Change of T against change of utility. 95 % intervals over test rows and judges; dotted: 0.11, and one half."
    )
    return [Figure("alignment", "Objective and utility, swap by swap", caption, figure)]


def headline(results: Results) -> list[Headline]:
    """Weak alignment is claimed of every setting shown, whichever pairs the forests learned from."""
    cells = measured(results)
    if not cells:
        return []
    most = max(cells, key=lambda one: abs(one.found["rho"].value))
    small = sum(abs(one.found["rho"].value) < LIMIT for one in cells)
    raised = sum(one.found["dU"].value > 0 for one in cells)
    return [
        Headline(
            f"Gains of the objective against gains of utility, swap by swap: |correlation| below {LIMIT} in {small} of "
            f"{len(cells)} settings, largest {most.found['rho'].value:+.3f} ({most.setting.title}, "
            f"budget {most.budget}; paper: +0.107 in its nine); swaps raise mean utility in {raised}.",
            held=small == len(cells),
            rank=3,
        )
    ]
