"""Do swaps that raise the objective T(S) raise utility? For each accepted swap of the local search, dT against dU.

U is the shared classifier's probability of the true class; the control replaces the same member by a random outsider.
The units are those of `local-search`, where the swaps are made. Intervals resample test rows, not swaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from synafa.report.figures import new_figure, zero_line
from synafa.report.style import COLOURS, CYCLE
from synafa.study import Figure, Headline, PlainTable, ReportRow, ReportTable, Settings, Unit
from synafa.study.engine.results import Results
from synafa.study.evidence.paper import find_value, paper_value
from synafa.study.experiments import local_search
from synafa.study.experiments.local_search import GROUPS, NINE, SETTINGS, present

NAME = "alignment"
TITLE = "Objective against utility, swap by swap"
VERSION = 1
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


def _corrected(results: Results) -> list[dict[str, Any]]:
    return [row for row in results.select(search="corrected") if row.get("rho") is not None]


def tables(results: Results) -> list[ReportTable | PlainTable]:
    rows = []
    for setting in present(results):
        for budget in setting.budgets:
            row = (results.select(setting=setting.name, budget=budget, search="corrected") or [{}])[0]
            for shown, column, name in _COLUMNS:
                paper = find_value("objective-alignment", (setting.paper, budget), column) if column else None
                deterministic = name == "n" or (name == "accepted" and setting.name not in GROUPS)
                low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
                also = [find_value("objective-alignment", (setting.paper, budget), side) for side in ("low", "high")]
                beside = tuple(value for value in also if value is not None) if name == "rho" else ()
                note = "depends on the trained forests" if name == "accepted" and not deterministic else ""
                if name == "accepted" and not deterministic and paper is not None:
                    rows.append(
                        ReportRow(
                            (setting.title, str(budget), shown), row.get(name), paper, comparable=False, note=note
                        )
                    )
                    continue
                rows.append(
                    ReportRow(
                        (setting.title, str(budget), shown),
                        row.get(name),
                        paper,
                        low,
                        high,
                        deterministic=deterministic,
                        digits=None if paper is not None else 0 if name in ("accepted", "n") else 3,
                        beside=beside,
                    )
                )
    note = "Intervals: 10,000 bootstrap resamples of test rows with all their swaps."
    return [
        ReportTable(
            "Change of objective and of utility", "objective-alignment", ("setting", "budget", "figure"), rows, note
        ),
        _ranges(results),
    ]


def _ranges(results: Results) -> ReportTable:
    """The ranges of the text, over those of the nine settings that were run."""
    found = [row for row in _corrected(results) if row["setting"] in NINE]
    note = "" if len(found) == 9 else f"{len(found)} of the paper's nine settings run here"
    rows = []
    for shown, name in (("Pearson", "rho"), ("Spearman", "spearman"), ("mean dU", "dU"), ("P(dU>0)", "up")):
        for side, pick in (("low", min), ("high", max)):
            here = pick(row[name] for row in found) if found else None
            paper = paper_value("appendix-alignment", shown, side)
            rows.append(ReportRow((shown, side), here, paper, comparable=len(found) == 9, note=note))
    total = sum(row["accepted"] for row in found) if found else None
    paper = paper_value("appendix-alignment", "accepted swaps", "low")
    rows.append(ReportRow(("accepted swaps", "total"), total, paper, comparable=False, note=note, digits=0))
    for side, pick in (("low", min), ("high", max)):
        here = pick(row["accepted"] / row["n"] for row in found) if found else None
        paper = paper_value("appendix-alignment", "swaps per instance", side)
        rows.append(ReportRow(("swaps per instance", side), here, paper, comparable=len(found) == 9, note=note))
    return ReportTable("Ranges over the settings", "appendix-alignment", ("figure", "side"), rows)


def figures(results: Results) -> list[Figure]:
    found = _corrected(results)
    if not found:
        return []
    figure, (left, right) = new_figure(columns=2, width=4.0, height=3.0)
    for index, setting in enumerate(s for s in SETTINGS if any(row["setting"] == s.name for row in found)):
        mine = sorted((row for row in found if row["setting"] == setting.name), key=lambda row: row["budget"])
        x = np.array([row["budget"] for row in mine]) + 0.25 * (index - 1.5)
        colour = CYCLE[index]
        for axes, name in ((left, "rho"), (right, "up")):
            value = np.array([row[name] for row in mine])
            error = [value - [row[f"{name}_low"] for row in mine], [row[f"{name}_high"] for row in mine] - value]
            axes.errorbar(x, value, yerr=error, fmt="o", color=colour, capsize=2, ms=4, label=setting.title)
        chance = [row["up_random"] for row in mine]
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
    caption = "Change of T against change of utility. 95 % intervals over test rows; dotted: 0.11, and one half."
    return [Figure("alignment", "Objective and utility, swap by swap", caption, figure)]


def headline(results: Results) -> list[Headline]:
    """Weak alignment is claimed of every setting shown, whichever pairs the forests learned from."""
    found = _corrected(results)
    if not found:
        return []
    titles = {setting.name: setting.title for setting in SETTINGS}
    most = max(found, key=lambda row: abs(row["rho"]))
    small = sum(abs(row["rho"]) < LIMIT for row in found)
    raised = sum(row["dU"] > 0 for row in found)
    return [
        Headline(
            f"Gains of the objective against gains of utility, swap by swap: |correlation| below {LIMIT} in {small} of "
            f"{len(found)} settings, largest {most['rho']:+.3f} ({titles[most['setting']]}, budget {most['budget']}; "
            f"paper: +0.107 in its nine); swaps raise mean utility in {raised}.",
            held=small == len(found),
            rank=3,
        )
    ]
