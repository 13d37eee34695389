"""The plan tree against the other policies under the study's harness: gains, tree sizes, and what adapting is worth.

A gain is positive where the tree is better: its AUROC minus the other's (balanced accuracy with more than two
classes), the other's log loss minus its own. Real tables are met in five instances, each with classifiers trained on
its own training rows; a tree is grown with three of them, and both sides of a difference are judged by the same ones
(AACO: each draw has a classifier of its own, and the draws are dealt out to the trees).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from synafa.report.figures import new_figure
from synafa.report.style import COLOURS
from synafa.stats import hierarchical_bootstrap, t_interval
from synafa.stats.multiplicity import adjusted_stars, benjamini_hochberg
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.comparisons import RESAMPLES, metric, paired, row_values, runs, values_of
from synafa.study.evidence.names import BUDGETS, NAMES, TITLES
from synafa.study.evidence.tables import Figure, Headline, PlainTable, ReportTable
from synafa.study.experiments.leaderboard import GENERATIVE, Board
from synafa.study.experiments.shared import EIGHT, SWEEPS, VERSION, per_budget, policy_units
from synafa.study.experiments.shared import run_policy_unit as run

__all__ = ["COVERS", "NAME", "TITLE", "VERSION", "figures", "headline", "run", "tables", "units"]

NAME = "plan-tree"
TITLE = "The plan tree against the other policies"
COVERS = ()
TREE, PANEL = "plan-tree", "plan-panel"
SHOWN = {
    PANEL: "its own root plan",
    "synafa": "SynAFA",
    "synafa-strict": "SynAFA, strict",
    "static-greedy": "static greedy",
    **NAMES,
}
SELECTORS = ("gdfs", "dime")
OTHERS = ("synafa", "synafa-strict", "static-greedy", "permutation", "aaco")
TEN = (*OTHERS, *(method for method in EIGHT if method not in OTHERS), *GENERATIVE)  # the published ones, and ours
LEARNERS = tuple(method for method in TEN if method not in (*OTHERS, *SELECTORS, "cae"))  # slow: instance 0 only
ALPHAS = (0.0, 0.5, 1.0)
EVERY = (0, 1, 2, 3, 4)


def boards(settings: Settings) -> list[Board]:
    """The tables at hand, with everything the tree is compared with on any of their instances."""
    instances = tuple(range(settings.repeats.instances))
    found = [
        Board(TITLES[name], name, BUDGETS[name], instances, TEN) for name in settings.tabular if name != "miniboone"
    ]
    if settings.quick:
        return [Board(TITLES[name], name, BUDGETS[name][:1], instances, OTHERS) for name in settings.tabular[:1]]
    if "mnist-loop" in settings.datasets:
        found.append(Board("MNIST-loop", "mnist-loop", (5, 10, 20), EVERY, (*OTHERS, "cae", *SELECTORS)))
    found.append(Board("CUBE", "cube", (3, 5, 10), EVERY, TEN))
    found.append(Board("CUBE, costs 1, 2, 4", "cube-costs", (7, 14, 21), EVERY, TEN))
    return found + [
        Board(f"alpha sweep, alpha = {alpha:g}", "synergy-sweep", (3, 5, 8), EVERY, TEN, {"alpha": alpha})
        for alpha in ALPHAS
    ]


def board_units(settings: Settings, board: Board) -> list[Unit]:
    """The units of a table: those of the leaderboard wherever both ask for the same."""
    found = []
    for method in (TREE, PANEL, *board.methods):
        for instance in board.instances:
            budgets, count = asked(settings, board, method, instance)
            if budgets:
                found += policy_units(settings, board.dataset, instance, method, budgets, count, **board.parameters)
    return found


def asked(settings: Settings, board: Board, method: str, instance: int) -> tuple[tuple[float, ...], int | None]:
    """At which budgets a method meets an instance, and how often it is trained there (None: as the study does).

    Instance 0 meets everything, others neither the slow learners nor CAE; selectors trained for a budget, and trees
    over 784 pixels, meet the others at the middle budget. Over 784 pixels selectors are trained for the middle budget
    of instance 0 only. On the sweeps what is trained per budget, but CAE, is trained for the largest one: selectors
    once an instance, as the sweeps do, slow learners on instance 0 as often as on a real table.
    """
    from synafa.baselines import REGISTRY

    trained = method in REGISTRY and REGISTRY[method].trained
    wide = board.dataset == "mnist-loop"
    if board.dataset in SWEEPS:
        if method in LEARNERS:
            return ((board.budgets[-1],), settings.repeats.trainings) if instance == 0 else ((), None)
        return ((board.budgets[-1],) if method in SELECTORS else board.budgets), None
    if wide and method in SELECTORS:
        return ((board.middle,) if instance == 0 else ()), None
    if instance == 0:
        return board.budgets, None
    if method in (*LEARNERS, "cae"):
        return (), None
    for_a_budget = per_budget(method) and (trained or wide)
    return ((board.middle,) if for_a_budget else board.budgets), (1 if trained else None)


def units(settings: Settings) -> list[Unit]:
    return [unit for board in boards(settings) for unit in board_units(settings, board)]


@dataclass(frozen=True)
class Gain:
    """What the tree gains over another policy, with its interval over rows and classifiers, and over instances.

    runs : (classifiers, trainings or draws) behind it; over_instances : Student's interval, None below two instances
    """

    value: float
    low: float
    high: float
    p: float
    instances: int
    runs: tuple[int, ...]
    over_instances: tuple[float, float] | None


def measures(results: Results, board: Board) -> tuple[str, str]:
    """AUROC and log loss; balanced accuracy in place of the former where there are more than two classes."""
    first = runs(results, TREE, board.middle, 0, **board.where) or runs(results, TREE, board.budgets[0], **board.where)
    several = bool(first) and int(first[0].arrays["y"].max()) > 1
    return ("balanced_accuracy" if several else "auroc"), "log_loss"


def gain(results: Results, board: Board, other: str, budget: float, measure: str) -> Gain | None:
    """The tree against `other`, over the instances that both have met; None if there is none."""
    parts, rows = [], []
    for instance in board.instances:
        found = _gap(results, board, other, budget, instance, measure)
        if found is not None:
            parts.append(found[0])
            rows.append(found[1] if _real(board) else found[1] + instance * 10_000_000)
    if not parts:
        return None
    judges = min(part.shape[0] for part in parts)
    even = len({part.shape[1] for part in parts}) == 1
    cubes = [part[:judges] if even else part[:judges].mean(axis=1, keepdims=True) for part in parts]
    values = clustered(np.concatenate(cubes, axis=2), np.concatenate(rows))
    done = hierarchical_bootstrap(values, n_resamples=RESAMPLES)
    means = [float(part.mean()) for part in parts]
    few = t_interval(means) if len(means) > 1 else None
    bounds = None if few is None else (few.low, few.high)
    return Gain(done.estimate, done.low, done.high, done.pvalue, len(parts), values.shape[:2], bounds)


def clustered(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Values (..., n) of rows that may occur several times -> (..., clusters), with the same mean.

    A row of a real table is a test row of several instances; what is said of it twice is not two observations. A
    cluster's value is the mean plus the sum of its rows' deviations, in units of a mean cluster.
    """
    names, label = np.unique(rows, return_inverse=True)
    if len(names) == len(rows):
        return values
    mean = values.mean(axis=-1, keepdims=True)
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(label[order]) > 0])
    sums = np.add.reduceat((values - mean)[..., order], starts, axis=-1)
    return mean + sums * (len(names) / len(rows))


def _gap(
    results: Results, board: Board, other: str, budget: float, instance: int, measure: str
) -> tuple[np.ndarray, np.ndarray] | None:
    """Gains (classifiers, runs, n) on one instance, and which rows of the table they are."""
    both = [values_of(results, method, budget, instance, measure, **board.where) for method in (TREE, other)]
    if both[0] is None or both[1] is None:
        return None
    sign = -1.0 if measure == "log_loss" else 1.0
    if other == "aaco":
        draws = _draws(results, board, budget, instance, measure)
        count = min(len(both[0][1]), len(draws))
        difference: np.ndarray | None = (dealt(both[0][1][:, 0], count) - dealt(draws, count))[:, None]
    else:
        difference = paired(both[0], both[1])
    if difference is None:
        return None
    return sign * difference, runs(results, TREE, budget, instance, **board.where)[0].arrays["row"].astype(np.int64)


def _draws(results: Results, board: Board, budget: float, instance: int, measure: str) -> np.ndarray:
    """Every draw of AACO, whichever classifier it asked, (draws, n)."""
    found = [row_values(one, budget, measure) for one in runs(results, "aaco", budget, instance, **board.where)]
    return np.stack([cell[0] for cell in found if cell is not None])


def dealt(values: np.ndarray, count: int) -> np.ndarray:
    """Runs (r, n) dealt out into `count` hands, the mean of each: (count, n); every run counts, none twice."""
    return np.stack([values[first::count].mean(axis=0) for first in range(count)])


def _real(board: Board) -> bool:
    return board.dataset in (*TITLES, "mnist-loop")


def tables(results: Results) -> list[ReportTable | PlainTable]:
    listed = boards(results.settings)
    cells = all_gains(results)
    return [_summary(cells), _gains_table(cells), _adapting(results, listed, cells), _sizes(results, listed)]


Cell = tuple[Board, float, str, tuple[Gain, Gain]]


@lru_cache(maxsize=1)  # asked for by tables, figure and headline; minutes on large tables
def all_gains(results: Results) -> list[Cell]:
    """Every table, budget and other policy that has been met, with the gains by both measures."""
    found: list[Cell] = []
    for board in boards(results.settings):
        by = measures(results, board)
        for other in (PANEL, *board.methods):
            for budget in board.budgets:
                first, second = (gain(results, board, other, budget, measure) for measure in by)
                if first is not None and second is not None:
                    found.append((board, budget, other, (first, second)))
    return found


def _against(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with other policies: the root plan has its own table."""
    return [cell for cell in cells if cell[2] != PANEL]


def _outcomes(cells: Sequence[Cell], measure: int) -> list[str]:
    """`won`, `level` or `lost` of each cell, 5 % adjusted over all of them."""
    if not cells:
        return []
    adjusted = benjamini_hochberg([cell[3][measure].p for cell in cells]).adjusted
    return [
        "level" if p >= 0.05 else "won" if cell[3][measure].value > 0 else "lost" for cell, p in zip(cells, adjusted)
    ]


def _summary(cells: Sequence[Cell]) -> PlainTable:
    against = _against(cells)
    told = list(zip(against, _outcomes(against, 0), _outcomes(against, 1)))
    rows: list[tuple[Any, ...]] = []
    for other in dict.fromkeys(cell[2] for cell in against):
        mine = [(one, two) for cell, one, two in told if cell[2] == other]
        counts = ["/".join(str(side.count(word)) for word in ("won", "level", "lost")) for side in zip(*mine)]
        rows.append((SHOWN[other], len(mine), *counts))
    note = (
        "Cells (table, budget) that the plan tree wins, holds or loses; two-sided 5 % over rows and classifiers, "
        "Benjamini-Hochberg over all cells of a measure. CUBE has eight classes: balanced accuracy in place of AUROC."
    )
    columns = ("against", "cells", "AUROC won/level/lost", "log loss won/level/lost")
    return PlainTable("The plan tree: cells won, level and lost", "plan-tree-summary", columns, rows, note)


def _gains_table(cells: Sequence[Cell]) -> PlainTable:
    against = _against(cells)
    stars = [adjusted_stars([cell[3][i].p for cell in against]) for i in (0, 1)]
    rows = [
        (board.title, f"{budget:g}", SHOWN[other], *_shown(both[0], one), *_shown(both[1], two), both[0].instances)
        for (board, budget, other, both), one, two in zip(against, *stars)
    ]
    note = (
        "Positive: the tree is better. Intervals are 95 % over rows (a row that several instances test is one cluster) "
        "and classifiers, trainings or draws together; stars 5 %, Benjamini-Hochberg over the table's cells of a "
        "measure. Log loss is that of the class-weighted classifiers as they answer. CUBE: balanced accuracy."
    )
    columns = ("table", "budget", "against", "AUROC", "95 % interval", "log loss", "95 % interval, log loss")
    return PlainTable("What the plan tree gains", "plan-tree-gains", (*columns, "instances"), rows, note)


def _shown(found: Gain, star: str) -> tuple[str, str]:
    return f"{found.value:+.4f}{star}", f"[{found.low:+.4f}, {found.high:+.4f}]"


def _adapting(results: Results, listed: Sequence[Board], cells: Sequence[Cell]) -> PlainTable:
    """Tree minus its own root plan."""
    own = [cell for cell in cells if cell[2] == PANEL]
    stars = [adjusted_stars([cell[3][i].p for cell in own]) for i in (0, 1)]
    rows = [
        (
            *(board.title, f"{budget:g}", *_shown(both[0], one)),
            *("" if both[0].over_instances is None else "[{:+.4f}, {:+.4f}]".format(*both[0].over_instances),),
            *(*_shown(both[1], two), both[0].instances),
        )
        for (board, budget, _, both), one, two in zip(own, *stars)
    ]
    note = (
        "The tree minus the plan at its own root, bought for every row: zero where it has one leaf. Intervals as in "
        "the table of gains; the second is Student's over instances."
    )
    columns = ("table", "budget", "AUROC", "95 % interval", "over instances", "log loss", "95 % interval, log loss")
    return PlainTable("What adapting is worth", "plan-tree-adapting", (*columns, "instances"), rows, note)


def _sizes(results: Results, listed: Sequence[Board]) -> PlainTable:
    rows: list[tuple[Any, ...]] = []
    for board in listed:
        for budget in board.budgets:
            met = [runs(results, TREE, budget, instance, **board.where) for instance in board.instances]
            leaves = [int(one.rows[0]["leaves"]) for several in met for one in several]
            if leaves:
                seconds = metric(results, "fit_seconds", TREE, budget, **board.where)
                spread = (min(leaves), float(np.median(leaves)), max(leaves))
                share = sum(count == 1 for count in leaves) / len(leaves)
                rows.append((board.title, f"{budget:g}", len(leaves), *spread, share, seconds))
    columns = ("table", "budget", "trees", "fewest leaves", "median", "most", "share with one leaf", "fit, s")
    note = "Trees over instances and classifiers. One leaf is a fixed panel."
    return PlainTable("Sizes of the trees", "plan-tree-sizes", columns, rows, note, digits=2)


def figures(results: Results) -> list[Figure]:
    cells = [cell for cell in all_gains(results) if cell[2] in (PANEL, "static-greedy")]
    if not cells:
        return []
    places = list(dict.fromkeys((board.title, budget) for board, budget, *_ in cells))
    figure, panels = new_figure(columns=2, width=4.2, height=0.6 + 0.19 * len(places))
    colours = {PANEL: COLOURS["vermillion"], "static-greedy": COLOURS["blue"]}
    for axes, at, word in zip(panels, (0, 1), ("AUROC", "log loss")):
        for shift, (other, colour) in zip((-0.15, 0.15), colours.items()):
            mine = [(places.index((b.title, budget)), both[at]) for b, budget, name, both in cells if name == other]
            if mine:
                y, found = [place + shift for place, _ in mine], [one for _, one in mine]
                error = [[one.value - one.low for one in found], [one.high - one.value for one in found]]
                middle = [one.value for one in found]
                axes.errorbar(middle, y, xerr=error, fmt="o", ms=3, lw=1, color=colour, label=SHOWN[other])
        axes.axvline(0, color=COLOURS["grey"], lw=0.8)
        axes.set_yticks(range(len(places)), [f"{title}, {budget:g}" for title, budget in places], fontsize=6)
        axes.invert_yaxis()
        axes.set(xlabel=f"gain in {word}")
    panels[1].set_yticklabels([])
    panels[0].legend(fontsize=7)
    caption = "The plan tree against the plan at its own root and against static greedy selection; 95 % intervals."
    return [Figure("plan-tree", "What the plan tree gains over fixed panels", caption, figure)]


def headline(results: Results) -> list[Headline]:
    cells = _against(all_gains(results))
    if len({cell[0].title for cell in cells}) < 3:
        return []
    told = []
    for at, word in ((0, "AUROC"), (1, "log loss")):
        outcomes = _outcomes(cells, at)
        told.append(f"{word} {'/'.join(str(outcomes.count(w)) for w in ('won', 'level', 'lost'))}")
    lost = sum(outcome == "lost" for at in (0, 1) for outcome in _outcomes(cells, at))
    text = f"Plan tree against {len({cell[2] for cell in cells})} policies, cells won/level/lost: {', '.join(told)}"
    return [Headline(f"{text}{'; no significant loss' if not lost else ''}.", rank=2)]
