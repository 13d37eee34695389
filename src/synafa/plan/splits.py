"""Proposes splits of a node: which feature to ask first, at which threshold, and a plan for each side.

Effects of dropping each feature of the plan and of adding each candidate, judged exactly on the node's rows, are
summed up by bins of every feature that could be asked; the best splits by that approximation are handed on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.plan.search import Plan, Task
from synafa.plan.splits_kernels import MISSING, MOVES, side_moves, split_values

QUANTILES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
LEAST_ROWS = 25
PROPOSE_ROWS = 3000
MOST_QUESTIONS = 64


@dataclass(frozen=True)
class Split:
    """Ask `ask` (-1: known already), which reveals `feature`; its values up to `threshold` go left.

    Empty cells go to the side that `missing_left` says.
    """

    feature: int
    ask: int
    threshold: float
    missing_left: bool
    value: float
    left_plan: Plan  # to be bought after the question
    right_plan: Plan

    def goes_left(self, column: np.ndarray) -> np.ndarray:
        """bool (m,) of the feature's values."""
        return np.where(np.isnan(column), self.missing_left, column <= self.threshold)


@dataclass(frozen=True, eq=False)
class Effects:
    """Per-row effects on a plan: `columns` are its features, then candidates; `table` float32 (m, C)."""

    columns: np.ndarray
    n_plan: int
    table: np.ndarray
    prices: np.ndarray


def effects_of(task: Task, asked: Plan, plan: Plan, candidates: np.ndarray, rows: np.ndarray) -> Effects:
    """The loss of dropping each feature of the plan and the gain of adding each candidate, row by row."""
    judge = task.judge
    whole = judge.utility((*asked, *plan), rows)
    without = [judge.utility((*asked, *plan[:i], *plan[i + 1 :]), rows) for i in range(len(plan))]
    options = task.options((*asked, *plan), np.inf, candidates)
    added = judge.sweep((*asked, *plan), [(int(j),) for j in options], rows) - whole[:, None]
    dropped = [whole - each for each in without]
    columns = np.concatenate([np.array(plan, dtype=np.int64), options]).astype(np.int64)
    table = np.column_stack([*dropped, added]) if dropped else added
    prices = task.prices.all_now(asked)[columns]
    return Effects(columns, len(plan), np.ascontiguousarray(table, dtype=np.float32), np.ascontiguousarray(prices))


def thresholds(column: np.ndarray) -> np.ndarray:
    """Where a column may be split: between few distinct values, else above quantiles, each midway to the next value."""
    present = np.sort(column[~np.isnan(column)])
    if not len(present):
        return np.empty(0)
    distinct = np.unique(present) if len(present) < 4000 or present[0] == present[-1] else None
    if distinct is None:
        below = np.unique(np.quantile(present, QUANTILES, method="lower"))
        after = np.searchsorted(present, below, side="right")
        below, after = below[after < len(present)], after[after < len(present)]
        return np.array([plain_between(a, b) for a, b in zip(below, present[after])])
    if len(distinct) > len(QUANTILES) + 1:
        below = np.unique(np.quantile(present, QUANTILES, method="lower"))
        place = np.searchsorted(distinct, below)
        place = place[place < len(distinct) - 1]
    else:
        place = np.arange(len(distinct) - 1)
    return np.array([plain_between(distinct[i], distinct[i + 1]) for i in place])


def plain_between(low: float, high: float) -> float:
    """The number with the fewest digits at or near the middle of two values, at least the lower, below the upper."""
    middle = low + 0.5 * (high - low)
    for digits in range(1, 12):
        short = float(f"{middle:.{digits}g}")
        if low < short < high and abs(short - middle) <= 0.25 * (high - low):
            return short
    return float(middle) if low <= middle < high else float(low)


def propose(
    task: Task,
    values: np.ndarray,
    asked: Plan,
    plan: Plan,
    left: float,
    candidates: np.ndarray,
    rows: np.ndarray,
    most: int,
) -> list[Split]:
    """At most `most` splits, best first, at most two thresholds of a feature."""
    rows = rows[:PROPOSE_ROWS]
    effects = effects_of(task, asked, plan, candidates, rows)
    owner = _questions(task, asked, effects, left)
    questions = np.array(sorted(owner), dtype=np.int64)
    edges = [thresholds(values[rows, j]) for j in questions]
    kept = [i for i, edge in enumerate(edges) if len(edge)]
    if not kept:
        return []
    questions, edges = questions[kept], [edges[i] for i in kept]
    bins = np.column_stack([_bins(values[rows, j], edge) for j, edge in zip(questions, edges)])
    n_bins = np.array([len(edge) + 1 for edge in edges])
    column = np.array([owner[int(j)] for j in questions])
    slack = left - task.prices.cost(plan, asked)
    slack = 1e18 if not np.isfinite(slack) else slack
    alone = _stopping(task, asked, plan, effects, column, rows)
    found, empty_left = split_values(
        bins, n_bins, effects.table, effects.prices, effects.n_plan, column, alone, slack, task.margin,
        not task.spend_all, LEAST_ROWS,
    )  # fmt: skip
    chosen = _best(found, most)
    return [
        _split(task, effects, values[rows, questions[f]], questions[f], edges[f][t], bool(empty_left[f, t]),
               found[f, t], int(column[f]), alone[:, f], slack)
        for f, t in chosen
    ]  # fmt: skip


def _stopping(
    task: Task, asked: Plan, plan: Plan, effects: Effects, column: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """What each row gains over the plan, float32 (m, F), when the question is answered and nothing is bought after it.

    Prices count; this is what ends a case early, which exchanges of one or two features would not find.
    """
    owners = np.unique(column)
    bought = [(int(effects.columns[c]),) if c >= 0 else () for c in owners]
    gain = task.judge.sweep(asked, bought, rows) - task.judge.utility((*asked, *plan), rows)[:, None]
    whole = task.prices.cost(plan, asked)
    gain += np.array([task.margin * (whole - task.prices.cost(each, asked)) for each in bought], dtype=np.float32)
    return np.ascontiguousarray(gain[:, np.searchsorted(owners, column)], dtype=np.float32)


def _questions(task: Task, asked: Plan, effects: Effects, left: float) -> dict[int, int]:
    """What a split could look at, and the column of effects that has to be bought for it; -1 for what is known."""
    shown = task.prices.shown
    fits = effects.prices <= left
    fits[: effects.n_plan] = True
    others = np.arange(effects.n_plan, len(effects.columns))
    if len(others) > MOST_QUESTIONS:
        strength = np.abs(effects.table[:, effects.n_plan :]).mean(axis=0)
        fits[others[np.argsort(-strength, kind="stable")[MOST_QUESTIONS:]]] = False
    owner = {k: -1 for j in (*task.judge.known, *asked) for k in shown[j]}
    for i in np.flatnonzero(fits):
        for k in shown[effects.columns[i]]:
            owner.setdefault(k, int(i))
    return owner


def _bins(column: np.ndarray, edges: np.ndarray) -> np.ndarray:
    bins = np.searchsorted(edges, column, side="left").astype(np.uint8)  # value <= edge: left of it
    bins[np.isnan(column)] = MISSING
    return bins


def _best(values: np.ndarray, most: int) -> list[tuple[int, int]]:
    order = np.argsort(-values, axis=None, kind="stable")
    taken: dict[int, int] = {}
    chosen: list[tuple[int, int]] = []
    for flat in order:
        f, t = divmod(int(flat), values.shape[1])
        if values[f, t] <= 0 or len(chosen) == most:
            break
        if taken.get(f, 0) < 2:
            taken[f] = taken.get(f, 0) + 1
            chosen.append((f, t))
    return chosen


def _split(
    task: Task, effects: Effects, column: np.ndarray, feature: int, threshold: float, missing_left: bool,
    value: float, question: int, alone: np.ndarray, slack: float,
) -> Split:  # fmt: skip
    """The split with the plan of each side that the approximation suggests."""
    ask = int(effects.columns[question]) if question >= 0 else -1
    left = np.where(np.isnan(column), missing_left, column <= threshold)
    plans = []
    for side in (left, ~left):
        sums = effects.table[side].sum(axis=0, dtype=np.float64)
        bought, gain = side_moves(
            sums, int(side.sum()), effects.prices, effects.n_plan, question, slack, task.margin,
            not task.spend_all, MOVES,
        )  # fmt: skip
        ends = not task.spend_all and alone[side].sum(dtype=np.float64) > gain
        plans.append(() if ends else tuple(int(j) for j in effects.columns[bought] if j != ask))
    return Split(int(feature), ask, float(threshold), missing_left, float(value), plans[0], plans[1])
