"""The policies that the demonstration compares, as masks of what each has measured at every budget, and their judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from synafa.money.prices import TOLERANCE
from synafa.policy.synafa import SynAFA

if TYPE_CHECKING:
    from synafa.demo.run import Task

POLICIES = ("SynAFA", "no pair branch", "static ranking", "random")


def masks_by_budget(name: str, task: Task, train: np.ndarray, test: np.ndarray, seed: int) -> list[np.ndarray]:
    """What a policy knows of every test row at each of the task's budgets, bool (n, D) each.

    static ranking : the same features for every row, by single information less their cost
    random : a new order for every row; both skip what no longer fits
    """
    policy = SynAFA(budget=task.budgets[-1], costs=task.costs, pair_branch=name == "SynAFA")
    policy.fit(task.X[train], task.y[train])
    if name in ("SynAFA", "no pair branch"):
        return [policy.acquire(task.X[test], budget=budget, on_stop="fallback").mask for budget in task.budgets]
    rng = np.random.default_rng(seed)
    n, d = len(test), len(task.feature_names)
    if name == "random":
        order = rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1)
    else:
        worth = policy.tables_.single - policy.cost_weight * task.costs
        order = np.tile(np.argsort(-worth, kind="stable"), (n, 1))
    return [spend(order, task.costs, budget) for budget in task.budgets]


def spend(order: np.ndarray, costs: np.ndarray, budget: float) -> np.ndarray:
    """The features that fit when each row goes through its order and skips what it cannot pay, bool (n, D)."""
    n, d = order.shape
    mask = np.zeros((n, d), bool)
    left = np.full(n, float(budget))
    rows = np.arange(n)
    for step in range(d):
        feature = order[:, step]
        fits = costs[feature] <= left + TOLERANCE
        mask[rows[fits], feature[fits]] = True
        left -= np.where(fits, costs[feature], 0.0)
    return mask


def random_masks(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Random sets of known features, bool (n, d), their sizes uniform on a logarithmic scale.

    Small sets must be frequent: that is where a budget ends, and where two features that only count together are alone.
    """
    size = np.minimum(np.exp(rng.random(n) * np.log(d + 1)).astype(np.int64), d)
    rank = rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1)
    return rank < size[:, None]


class MaskedPredictor:
    """Gradient boosting that has seen every row under several random masks, hidden cells as missing values."""

    def __init__(self, copies: int = 4, seed: int = 0) -> None:
        self.copies = copies
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> MaskedPredictor:
        from sklearn.ensemble import HistGradientBoostingClassifier

        rng = np.random.default_rng(self.seed)
        copies = max(self.copies, -(-12_000 // len(X)))  # a small table needs more masks per row
        rows = np.tile(np.arange(len(X)), copies)
        hidden = np.where(random_masks(len(rows), X.shape[1], rng), X[rows], np.nan)
        self.model_ = HistGradientBoostingClassifier(
            max_iter=100, learning_rate=0.15, early_stopping=False, random_state=self.seed
        ).fit(hidden, y[rows])
        return self

    def predict(self, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.asarray(self.model_.predict(np.where(mask, X, np.nan)))
