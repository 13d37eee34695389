"""The leaderboard: policies x tables x budgets, mean ranks with their critical difference, and what they cost.

Ranked by AUROC, and beside it by log loss.

Real tables are met in five instances, each with classifiers trained on its own training rows: these are our own
conclusions, not the paper's. Instances 1 to 4 train what is trained for a budget at the middle budget only.
A policy of one's own (`module:Class`) or a table of one's own is run by the same units and ranked beside the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synafa.report.figures import new_figure
from synafa.report.style import COLOURS
from synafa.stats.multiplicity import adjusted_stars
from synafa.stats.ranks import RankResult, mean_ranks
from synafa.study.engine.results import Results
from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.comparisons import metric, runs
from synafa.study.evidence.names import BUDGETS, NAMES, TITLES
from synafa.study.evidence.tables import Figure, Headline, PlainTable, ReportTable
from synafa.study.experiments.shared import EIGHT, SWEEPS, THREE, VERSION, per_budget, policy_units
from synafa.study.experiments.shared import run_policy_unit as run

__all__ = ["COVERS", "NAME", "TITLE", "VERSION", "figures", "headline", "run", "tables", "units"]

NAME = "leaderboard"
TITLE = "Leaderboard: all policies on all tables"
COVERS = ()

OWN = ("plan-tree", "synafa", "synafa-masked")
SIMPLE = ("random", "static-single", "static-pair")
GENERATIVE = ("eddi", "odin-model-based")
SHOWN = {
    "plan-tree": "plan tree",
    "synafa": "SynAFA",
    "synafa-masked": "SynAFA, feasible pairs",
    "random": "random order",
    "static-single": "static, single information",
    "static-pair": "static, pairs",
    **NAMES,
}
MEASURE, LOSS = "auroc", "log_loss"


@dataclass(frozen=True)
class Board:
    """One table of the leaderboard: which dataset, at which budgets, in which instances, met by which policies."""

    title: str
    dataset: str
    budgets: tuple[float, ...]
    instances: tuple[int, ...]
    methods: tuple[str, ...]
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def middle(self) -> float:
        return self.budgets[len(self.budgets) // 2]

    @property
    def where(self) -> dict[str, Any]:
        plain = {k: float(v) if isinstance(v, int | float) else v for k, v in self.parameters.items()}
        return {"dataset": self.dataset, **plain}


def boards(settings: Settings) -> list[Board]:
    """The tables at hand."""
    instances = tuple(range(settings.repeats.instances))
    full = (*OWN, *SIMPLE, *EIGHT)
    found = [
        Board(
            TITLES[name], name, BUDGETS[name], instances, (*full, *GENERATIVE) if name in ("ckd", "actg175") else full
        )
        for name in settings.tabular
    ]
    if "mnist-loop" in settings.datasets:
        found.append(
            Board("MNIST-loop", "mnist-loop", (5, 10, 20), (0,), ("plan-tree", "synafa", "static-single", *THREE))
        )
    if settings.quick:
        return found[:1]
    cube = (*full, *GENERATIVE)
    found.append(Board("CUBE", "cube", (3, 5, 10), (0,), cube))
    found.append(Board("CUBE, costs 1, 2, 4", "cube-costs", (7, 14, 21), (0,), cube))
    swept = (*OWN, *THREE)
    found.append(Board("alpha sweep, alpha = 1", "synergy-sweep", (3, 5, 8), (0, 1, 2, 3, 4), swept, {"alpha": 1.0}))
    found.append(Board("fixed-V, 0.9", "fixed-v", (8,), (0, 1, 2, 3, 4), swept, {"fraction": 0.9}))
    return found


def board_units(settings: Settings, board: Board, methods: Sequence[str] | None = None) -> list[Unit]:
    """The units of a table; other instances of a real table train per-budget policies once, at the middle budget."""
    from synafa.baselines import REGISTRY

    found = []
    for method in board.methods if methods is None else methods:
        if settings.quick and method in REGISTRY and method not in ("aaco", "permutation"):
            continue  # seconds each even when quick
        for_a_budget = per_budget(method)
        for instance in board.instances:
            further = instance > 0 and board.dataset not in SWEEPS
            budgets = (board.middle,) if further and for_a_budget else board.budgets
            count = 1 if further and method in REGISTRY and REGISTRY[method].trained else None
            found += policy_units(settings, board.dataset, instance, method, budgets, count, **board.parameters)
    return found


def units(settings: Settings) -> list[Unit]:
    return [unit for board in boards(settings) for unit in board_units(settings, board)]


def score(
    results: Results, board: Board, method: str, budget: float, instances: Sequence[int], measure: str = MEASURE
) -> float | None:
    """Mean measure over judges, runs and these instances; None if one of them is missing."""
    found = [metric(results, measure, method, budget, instance, **board.where) for instance in instances]
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if known and len(known) == len(found) else None


def board_scores(results: Results, board: Board, methods: Sequence[str], measure: str = MEASURE) -> np.ndarray:
    """Scores, float64 (budgets, methods), NaN where a policy has not met the table; over the instances that all met."""
    table = np.full((len(board.budgets), len(methods)), np.nan)
    present = [m for m in methods if any(runs(results, m, b, 0, **board.where) for b in board.budgets)]
    for row, budget in enumerate(board.budgets):
        shared = [i for i in board.instances if all(runs(results, m, budget, i, **board.where) for m in present)]
        for column, method in enumerate(methods):
            value = score(results, board, method, budget, shared or (0,), measure) if method in present else None
            table[row, column] = np.nan if value is None else value
    return table


@dataclass(frozen=True, eq=False)
class Ranking:
    """Policies that met all of some tables, best first, with their mean ranks."""

    methods: tuple[str, ...]
    ranks: RankResult
    tables: tuple[str, ...]


def ranking(
    results: Results, listed: Sequence[Board], methods: Sequence[str], measure: str = MEASURE
) -> Ranking | None:
    """Mean rank over the tables that most policies met; budgets of one table are averaged first, no new tables."""
    from scipy.stats import rankdata

    sign = -1.0 if measure == LOSS else 1.0
    cells = {board.title: sign * board_scores(results, board, methods, measure) for board in listed}
    full = [title for title, table in cells.items() if np.isfinite(table).all(axis=0).sum() >= len(methods) / 2]
    if not full:
        return None
    complete = np.all([np.isfinite(cells[title]).all(axis=0) for title in full], axis=0)
    chosen = [i for i in range(len(methods)) if complete[i]]
    if len(chosen) < 2:
        return None
    by_table = np.array([-rankdata(-cells[title][:, chosen], axis=1).mean(axis=0) for title in full])
    found = mean_ranks(by_table)  # ranks of a table's mean ranks: a table counts once
    order = np.argsort(found.mean_ranks, kind="stable")
    ordered = RankResult(found.mean_ranks[order], found.critical_difference, found.pvalue, found.n_tables, found.alpha)
    return Ranking(tuple(methods[chosen[i]] for i in order), ordered, tuple(full))


def cost_of(results: Results, method: str) -> tuple[float | None, float | None]:
    """Mean seconds of a training and milliseconds of a decision, over all units of a policy."""
    fits, steps = [], []
    for result in results:
        if result.unit.parameters.get("method") != method or not result.rows:
            continue
        row = result.rows[0]
        if row.get("fit_seconds") is not None:
            fits.append(float(row["fit_seconds"]))
        budgets = result.unit["budgets"]
        decisions = row.get("n", 0) * max(float(budget) for budget in budgets)
        if row.get("run_seconds") is not None and decisions:
            steps.append(1000 * float(row["run_seconds"]) / decisions)
    return (float(np.mean(fits)) if fits else None), (float(np.mean(steps)) if steps else None)


def policies(results: Results) -> tuple[str, ...]:
    """All policies with results: the study's in order, then others."""
    met = {str(result.unit.parameters["method"]) for result in results if "method" in result.unit.parameters}
    known = [method for method in SHOWN if method in met]
    return (*known, *sorted(met - set(known) - {"synafa-no-pairs", "synafa-uncorrected", "all-features"}))


def tables(results: Results, listed: Sequence[Board] | None = None) -> list[ReportTable | PlainTable]:
    listed = boards(results.settings) if listed is None else listed
    methods = policies(results)
    return [
        _ranks_table(results, listed, methods),
        _scores_table(results, listed, methods),
        _conclusions(results, listed),
    ]


def _ranks_table(results: Results, listed: Sequence[Board], methods: Sequence[str]) -> PlainTable:
    found = ranking(results, listed, methods) if methods else None
    rows: list[tuple[Any, ...]] = []
    by_loss = ranking(results, listed, methods, LOSS) if methods else None
    place, second = ({} if one is None else dict(zip(one.methods, one.ranks.mean_ranks)) for one in (found, by_loss))
    for method in sorted(methods, key=lambda m: (place.get(m, 99.0), m)):
        ranks = [f"{known[method]:.2f}" if method in known else "not on all tables" for known in (place, second)]
        shown = ["" if value is None else f"{value:.3g}" for value in cost_of(results, method)]
        rows.append((SHOWN.get(method, method), *ranks, *shown))
    note = "Nothing to rank yet."
    if found is not None:
        note = (
            f"Mean rank over {len(found.tables)} tables ({', '.join(found.tables)}); budgets of a table are averaged "
            f"first. Two ranks that differ by less than {found.ranks.critical_difference:.2f} are not told apart "
            f"(Nemenyi, 5 %). Friedman's p, AUROC: {found.ranks.pvalue:.3g}. Log loss is that of the class-weighted "
            "classifiers as they answer."
        )
    columns = ("policy", "mean rank, AUROC", "mean rank, log loss", "training, s", "decision, ms")
    return PlainTable("Mean ranks", "leaderboard-ranks", columns, rows, note)


def _scores_table(results: Results, listed: Sequence[Board], methods: Sequence[str]) -> PlainTable:
    rows = []
    for board in listed:
        for budget, line in zip(board.budgets, board_scores(results, board, methods)):
            if np.isfinite(line).any():
                best = np.nanmax(line)
                cells = ["" if np.isnan(v) else f"{v:.3f}{' (best)' if v == best else ''}" for v in line]
                rows.append((board.title, f"{budget:g}", *cells))
    note = "AUROC (one class against the rest with more than two), mean over judges, trainings or draws, and instances."
    columns = ("table", "budget", *(SHOWN.get(m, m) for m in methods))
    return PlainTable("AUROC of every policy", "leaderboard-scores", columns, rows, note)


def _conclusions(results: Results, listed: Sequence[Board]) -> PlainTable:
    """SynAFA minus each policy at the middle budget, over instances: our own conclusions."""
    from synafa.stats import t_interval

    rows, p = [], []
    for board in listed:
        for method in board.methods:
            if method == "synafa" or len(board.instances) < 2:
                continue
            gaps = [_gap(results, board, method, instance) for instance in board.instances]
            known = [gap for gap in gaps if gap is not None]
            if len(known) < len(gaps):
                continue
            found = t_interval(known)
            p.append(found.pvalue)
            interval = f"[{found.low:+.3f}, {found.high:+.3f}]"
            rows.append((board.title, f"{board.middle:g}", SHOWN.get(method, method), found.estimate, interval))
    stars = adjusted_stars(p)
    shown = [(*row[:3], f"{row[3]:+.4f}{star}", row[4]) for row, star in zip(rows, stars)]
    note = (
        "Difference of AUROC at the middle budget, mean over instances of the split with classifiers trained on each "
        "instance's own training rows; Student's 95 % interval, stars adjusted over the table. Instances share rows, "
        "so that the interval is somewhat too narrow for another cohort."
    )
    columns = ("table", "budget", "SynAFA minus", "AUROC", "95 % interval")
    return PlainTable("Our own conclusions over instances", "leaderboard-instances", columns, shown, note)


def _gap(results: Results, board: Board, method: str, instance: int) -> float | None:
    own, other = (metric(results, MEASURE, m, board.middle, instance, **board.where) for m in ("synafa", method))
    return None if own is None or other is None else own - other


def figures(results: Results) -> list[Figure]:
    found = ranking(results, boards(results.settings), policies(results))
    if found is None:
        return []
    figure, (axes,) = new_figure(width=6.4, height=0.4 + 0.24 * len(found.methods))
    ranks = found.ranks.mean_ranks
    for row, (method, rank) in enumerate(zip(found.methods, ranks)):
        colour = COLOURS["vermillion"] if method in OWN else COLOURS["blue"]
        axes.plot([rank], [row], "o", color=colour, ms=5)
    axes.axvspan(ranks[0], ranks[0] + found.ranks.critical_difference, color=COLOURS["grey"], alpha=0.15, lw=0)
    axes.set_yticks(range(len(ranks)), [SHOWN.get(method, method) for method in found.methods])
    axes.invert_yaxis()
    axes.set(xlabel="mean rank by AUROC (1 is best)")
    caption = "Mean ranks; the shaded band is one critical difference from the best: inside it nothing is told apart."
    return [Figure("leaderboard", "Mean ranks of all policies", caption, figure)]


def headline(results: Results) -> list[Headline]:
    found = ranking(results, boards(results.settings), policies(results))
    if found is None or "synafa" not in found.methods or len(found.tables) < 3:
        return []
    place = found.methods.index("synafa")
    gap = found.ranks.mean_ranks[place] - found.ranks.mean_ranks[0]
    best = SHOWN.get(found.methods[0], found.methods[0])
    apart = "told apart from it" if gap > found.ranks.critical_difference else "not told apart from it"
    text = (
        f"Leaderboard by AUROC over {len(found.tables)} tables: {best} is first (mean rank "
        f"{found.ranks.mean_ranks[0]:.1f}), SynAFA {place + 1} of {len(found.methods)} "
        f"({found.ranks.mean_ranks[place]:.1f}), {apart}."
    )
    return [Headline(text, rank=2)]
