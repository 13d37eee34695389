"""What smaller budgets bring: the tree followed with less money, on rows that confirmed it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.plan.decide import Rule
from synafa.plan.judge import Judge

POINTS = 12


@dataclass(frozen=True)
class BudgetPoint:
    """A budget, what was spent and measured on average, mean loss, natural log loss in bits, AUROC of two classes."""

    budget: float
    spent: float
    measurements: float
    loss: float
    log_loss: float
    auroc: float


def budget_curve(rule: Rule, judge: Judge, values: np.ndarray, rows: np.ndarray, budget: float) -> list[BudgetPoint]:
    """One point for each of at most twelve budgets from 0 to the whole."""
    from synafa.plan.decide_kernels import acquire

    whole = float(rule.prices.price.sum())
    most = min(budget, whole)
    costs = np.cumsum(np.sort(rule.prices.price[rule.prices.price > 0]))
    levels = np.unique(np.concatenate([[0.0], costs[costs < most], [most]]))
    if len(levels) > POINTS:
        levels = np.linspace(0.0, most, POINTS)
    n, d = len(rows), values.shape[1]
    known = np.broadcast_to(rule.known, (n, d)).copy()
    blocked = np.broadcast_to(rule.unavailable, (n, d)).copy()
    found = []
    for level in levels:
        order, _, mask, spent = acquire(
            np.ascontiguousarray(values[rows], dtype=np.float64), known, blocked, float(level), *rule.arrays,
            rule.prices.reveals, False, d,
        )  # fmt: skip
        proba = honest_proba(judge, mask, rows)
        loss = -judge.measure(proba, judge.y[rows]).astype(np.float64).mean()
        measured = float((order >= 0).sum(axis=1).mean())
        found.append(_point(float(level), float(spent.mean()), measured, float(loss), proba, judge.y[rows]))
    return found


def honest_proba(judge: Judge, mask: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Probabilities of rows that know different sets, each set predicted together."""
    sets, which = np.unique(mask, axis=0, return_inverse=True)
    out = np.empty((len(rows), judge.scorer.n_classes))
    for s, chosen in enumerate(sets):
        here = np.flatnonzero(which.ravel() == s)
        out[here] = judge.proba(np.flatnonzero(chosen).tolist(), rows[here])
    return out


def _point(budget: float, spent: float, measured: float, loss: float, proba: np.ndarray, y: np.ndarray) -> BudgetPoint:
    from synafa.stats import roc_area

    log_loss = float(-np.log2(np.maximum(proba[np.arange(len(y)), y], 1e-12)).mean())
    area = roc_area(y == 1, proba[:, 1]) if proba.shape[1] == 2 else np.nan
    return BudgetPoint(budget, spent, measured, loss, log_loss, area)
