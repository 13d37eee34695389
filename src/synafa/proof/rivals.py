"""What is simpler than the model: a fixed panel by forward selection with logistic regression, and a CART.

Both see encoded values (NaN where a cell is empty) of training rows and predict held-out ones. The panel takes the
feature that lowers the cross-validated log loss most per price until nothing lowers it or fits the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from synafa.money.prices import TOLERANCE, PriceList
from synafa.predictor.folds import deal_folds

INNER = 3
SELECT_ROWS = 1_500  # training rows that choose a panel
TRIED_AGAIN = 20  # features that are tried after the first step: those that bring most alone
STRENGTHS = (0.1, 1.0, 10.0)
LEAST_LEAVES = (2, 5, 20)
MOST_SLOTS = 40


def widened(proba: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities (n, K) from those of the classes that were seen, 0 for the others."""
    out = np.zeros((len(proba), n_classes))
    out[:, np.asarray(classes, dtype=np.int64)] = proba
    return out


def mean_log_loss(proba: np.ndarray, y: np.ndarray) -> float:
    return float(-np.log(np.clip(proba[np.arange(len(y)), y], 1e-7, 1)).mean())


class Logistic:
    """Regularised logistic regression on chosen features: numbers standardised, empty cells as 0 with an indicator."""

    strengths: tuple[float, ...] = STRENGTHS

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def fit(self, X: np.ndarray, y: np.ndarray, panel: Sequence[int], categories: Sequence[int]) -> Logistic:
        """Fit on columns `panel` of X (n, D)."""
        from sklearn.linear_model import LogisticRegression

        self.panel, self.categories = list(panel), categories
        columns = [X[:, j][~np.isnan(X[:, j])] for j in self.panel]
        self.mean = [float(column.mean()) if len(column) else 0.0 for column in columns]
        self.scale = [(float(column.std()) if len(column) else 0.0) or 1.0 for column in columns]
        self.model = LogisticRegression(C=self.strength, max_iter=200).fit(self._cells(X), y)
        return self

    def predict_proba(self, X: np.ndarray, n_classes: int) -> np.ndarray:
        """Class probabilities (n, K)."""
        return widened(self.model.predict_proba(self._cells(X)), self.model.classes_, n_classes)

    def _cells(self, X: np.ndarray) -> np.ndarray:
        parts = []
        for j, mean, scale in zip(self.panel, self.mean, self.scale):
            empty = np.isnan(X[:, j])
            if self.categories[j]:
                parts.append((X[:, j][:, None] == np.arange(min(self.categories[j], MOST_SLOTS))).astype(np.float64))
            else:
                parts.append(np.where(empty, 0.0, (X[:, j] - mean) / scale)[:, None])
                parts.append(empty[:, None].astype(np.float64))
        return np.concatenate(parts, axis=1)


class ForwardPanel:
    """Fixed panels chosen by forward selection on one set of training rows.

    Parameters
    ----------
    X, y : float64 (n, D) with NaN for empty cells, int64 (n,)
    n_classes : int
    categories : sequence of int
        Number of categories of each column, 0 for a number column.
    prices : PriceList or None, default=None
        None: every feature costs 1.
    known : bool (D,) or None, default=None
        Features that are there from the start.
    groups : (n,) or None, default=None
        Rows of one group stay in one inner fold.
    model : class, default=Logistic
        With `strengths`, `fit(X, y, panel, categories)` and `predict_proba(X, n_classes)`.
    seed : int, default=0
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        n_classes: int,
        categories: Sequence[int],
        *,
        prices: PriceList | None = None,
        known: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        model: Callable[..., Any] = Logistic,
        seed: int = 0,
    ) -> None:
        self.X, self.y, self.n_classes, self.categories, self.model = X, y, n_classes, categories, model
        d = X.shape[1]
        self.prices = PriceList.plain([f"x{j}" for j in range(d)]) if prices is None else prices
        self.known = np.zeros(d, bool) if known is None else np.asarray(known, dtype=bool)
        self.fold = deal_folds(y, INNER, np.random.default_rng([seed, 3]), groups)
        self.rows = np.random.default_rng([seed, 4]).permutation(len(y))[:SELECT_ROWS]
        self._losses: dict[frozenset[int], float] = {}
        self._options: list[int] | None = None

    def choose(self, budget: float) -> tuple[int, ...]:
        """The features to ask for, in order."""
        order: list[int] = []
        known, asked, left = self.known.copy(), np.zeros(len(self.known), bool), budget
        while True:
            now = self.prices.now(asked)
            options = [j for j in self._pool() if not known[j] and now[j] <= left + TOLERANCE]
            before = self._loss(known)
            losses = {j: self._loss(known | self.prices.reveals[j]) for j in options}
            better = [j for j in options if losses[j] < before]
            if not better:
                return tuple(order)
            best = min(better, key=lambda j: (losses[j] - before) / max(float(now[j]), 1e-6))
            order.append(best)
            left -= float(now[best])
            asked[best] = True
            known |= self.prices.reveals[best]

    def _pool(self) -> list[int]:
        """Features that are tried: those that bring most after what is known, in all and per price."""
        if self._options is None:
            before, price = self._loss(self.known), np.maximum(self.prices.price, 1e-6)
            gains = {j: before - self._loss(self.known | self.prices.reveals[j]) for j in np.flatnonzero(~self.known)}
            most = sorted(gains, key=lambda j: -gains[j])[:TRIED_AGAIN]
            cheap = sorted(gains, key=lambda j: -gains[j] / price[j])[:TRIED_AGAIN]
            self._options = sorted({int(j) for j in (*most, *cheap)})
        return self._options

    def shown(self, order: Sequence[int]) -> list[int]:
        """Everything that is known when the panel has been asked for."""
        known = self.known.copy()
        for j in order:
            known |= self.prices.reveals[j]
        return np.flatnonzero(known).tolist()

    def predict(self, order: Sequence[int], X: np.ndarray) -> np.ndarray:
        """Class probabilities of new rows from the panel, its strength chosen by cross-validation."""
        shown = self.shown(order)
        if not shown:
            shares = np.bincount(self.y, minlength=self.n_classes) / len(self.y)
            return np.tile(shares, (len(X), 1))
        rows = np.arange(len(self.y))
        strengths = self.model.strengths  # type: ignore[attr-defined]
        best = min(strengths, key=lambda c: self._score(shown, rows, c)) if len(strengths) > 1 else strengths[0]
        return self.model(best).fit(self.X, self.y, shown, self.categories).predict_proba(X, self.n_classes)

    def _loss(self, known: np.ndarray) -> float:
        panel = frozenset(np.flatnonzero(known).tolist())
        if panel not in self._losses:
            self._losses[panel] = self._score(sorted(panel), self.rows, 1.0)
        return self._losses[panel]

    def _score(self, panel: list[int], rows: np.ndarray, strength: float) -> float:
        """Mean log loss over the inner folds."""
        X, y, fold = self.X[rows], self.y[rows], self.fold[rows]
        losses = []
        for f in np.unique(fold):
            rest = fold != f
            if not panel or len(np.unique(y[rest])) < 2:
                shares = np.bincount(y[rest], minlength=self.n_classes) / max(rest.sum(), 1)
                losses.append(mean_log_loss(np.tile(shares, ((~rest).sum(), 1)), y[~rest]))
                continue
            fitted = self.model(strength).fit(X[rest], y[rest], panel, self.categories)
            losses.append(mean_log_loss(fitted.predict_proba(X[~rest], self.n_classes), y[~rest]))
        return float(np.mean(losses))


class Cart:
    """scikit-learn's decision tree of a given depth, its smallest leaf chosen by cross-validation.

    A leaf's shares are drawn towards the class shares of all rows by one row's weight.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, n_classes: int, depth: int, seed: int = 0) -> None:
        fold = deal_folds(y, INNER, np.random.default_rng([seed, 3]))
        self.n_classes = n_classes

        def loss(leaf: int) -> float:
            parts = [(fold != f, fold == f) for f in np.unique(fold)]
            made = [(_tree(depth, leaf, seed).fit(X[rest], y[rest]), held) for rest, held in parts]
            return float(np.mean([mean_log_loss(self._shares(tree, X[held]), y[held]) for tree, held in made]))

        self.tree = _tree(depth, min(LEAST_LEAVES, key=loss), seed).fit(X, y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities (n, K)."""
        return self._shares(self.tree, X)

    def orders(self, X: np.ndarray) -> list[list[int]]:
        """The features each row was asked for, in order, each once."""
        inner = self.tree.tree_
        ways: dict[int, list[int]] = {}
        stack: list[tuple[int, list[int]]] = [(0, [])]
        while stack:
            node, asked = stack.pop()
            j = int(inner.feature[node])
            if j < 0:
                ways[node] = asked
                continue
            after = asked if j in asked else [*asked, j]
            stack += [(int(inner.children_left[node]), after), (int(inner.children_right[node]), after)]
        return [ways[int(leaf)] for leaf in self.tree.apply(X)]

    def _shares(self, tree: Any, X: np.ndarray) -> np.ndarray:
        shares, counts = tree.tree_.value[:, 0, :], tree.tree_.n_node_samples[:, None]
        leaf = tree.apply(X)
        proba = (shares[leaf] * counts[leaf] + shares[0]) / (counts[leaf] + 1)
        return widened(proba, tree.classes_, self.n_classes)


def _tree(depth: int, leaf: int, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=max(depth, 1), min_samples_leaf=leaf, random_state=seed)
