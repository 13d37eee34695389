"""The policies that the demonstration compares, and the predictor that judges what they have measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.evaluation import Policy
from synafa.money.prices import TOLERANCE
from synafa.policy.synafa import SynAFA

POLICIES = ("SynAFA", "no pair branch", "static ranking", "random")


def fitted_policy(name: str, data: Dataset, seed: int) -> Policy:
    """One of `POLICIES`, fitted on the training rows.

    static ranking : the same features for every row, by single information less their cost
    random : a new order for every row; both skip what no longer fits
    """
    policy = SynAFA(budget=data.budgets[-1], costs=data.costs, pair_branch=name == "SynAFA")
    policy.fit(data.X[data.train], data.y[data.train])
    if name in ("SynAFA", "no pair branch"):
        return policy
    order = np.tile(np.arange(data.n_features), (len(data.X), 1))
    if name == "random":
        order[data.test] = np.random.default_rng(seed).permuted(order[data.test], axis=1)
    else:
        order[:] = np.argsort(-(policy.tables_.single - policy.cost_weight * data.costs), kind="stable")
    return InOrder(order, data.costs, name)


@dataclass(frozen=True, eq=False)
class InOrder:
    """Every row goes through its own order, int64 (rows of the dataset, D), and skips what it cannot pay."""

    order: np.ndarray
    costs: np.ndarray
    name: str = "in order"

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        return self.propose_for_rows(np.arange(len(mask)), values, mask, remaining)

    def propose_for_rows(
        self, rows: np.ndarray, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray
    ) -> np.ndarray:
        order = self.order[rows]
        may = ~np.take_along_axis(mask, order, axis=1) & (self.costs[order] <= remaining[:, None] + TOLERANCE)
        first = np.take_along_axis(order, may.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(may.any(axis=1), first, -1)


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

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities (n, K) from whatever is known."""
        return np.asarray(self.model_.predict_proba(np.where(mask, values, np.nan)))
