"""What the plan tree is compared with on public tables: panels by forward selection, CART, SynAFA, all features.

Every method is a function from a `Split` and a budget (a number of features) to class probabilities of the held-out
rows and how many features each of them needed. All choices are made on the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from synafa import PlanTree, SynAFA
from synafa.predictor.folds import deal_folds
from synafa.proof.kept import KeptFits

INNER = 3
SELECT_ROWS = 1_500  # rows that choose a panel
FIRST_KEPT = 20  # features that are tried again after the first step, by what they bring alone
STRENGTHS = (0.1, 1.0, 10.0)
LEAST_LEAVES = (2, 5, 20)
Answer = tuple[np.ndarray, np.ndarray]


@dataclass(eq=False)
class Split:
    """Training and held-out rows of a table, NaN for empty cells; categories 0: a number column."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    n_classes: int
    categories: Sequence[int]
    seed: int = 0
    kept: KeptFits = field(default_factory=KeptFits)

    def frame(self, X: np.ndarray) -> pl.DataFrame:
        """The table as a user has it: categories as text."""
        columns: dict[str, Any] = {}
        for j, count in enumerate(self.categories):
            cells = X[:, j]
            columns[f"f{j}"] = [None if np.isnan(v) else f"c{int(v):04d}" for v in cells] if count else cells
        frame = pl.DataFrame(columns)
        return frame.with_columns(pl.col(pl.Float64).fill_nan(None))

    @cached_property
    def inner(self) -> np.ndarray:
        return deal_folds(self.y, INNER, np.random.default_rng([self.seed, 3]))

    @cached_property
    def tree(self) -> PlanTree:
        """A plan tree whose predictor other methods use too."""
        return self.plan(1.0)

    def plan(self, budget: float, adaptive: bool = True) -> PlanTree:
        policy = PlanTree(budget, predictor=self.kept, adaptive=adaptive, random_state=self.seed)
        return policy.fit(self.frame(self.X), self.y)

    def predict(self, mask: np.ndarray) -> np.ndarray:
        """The package's predictor, fitted on all training rows, on the held-out rows."""
        values = self.tree.encode(self.frame(self.X_test))
        return widened(self.tree.predict_proba(values, mask), self.tree.classes_, self.n_classes)


def widened(proba: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    out = np.zeros((len(proba), n_classes))
    out[:, np.asarray(classes, dtype=int)] = proba
    return out


def plan_tree(split: Split, budget: int, adaptive: bool = True) -> Answer:
    policy = split.plan(budget, adaptive)
    rows = split.frame(split.X_test)
    run = policy.acquire(rows)
    proba = policy.predict_proba(policy.encode(rows), run.mask)
    return widened(proba, policy.classes_, split.n_classes), run.mask.sum(axis=1)


def synafa(split: Split, budget: int) -> Answer:
    policy = SynAFA(budget=budget).fit(split.frame(split.X), split.y)
    mask = policy.acquire(split.frame(split.X_test)).mask
    return split.predict(mask), mask.sum(axis=1)


def everything(split: Split, budget: int) -> Answer:
    mask = np.ones(split.X_test.shape, bool)
    return split.predict(mask), mask.sum(axis=1)


def cart(split: Split, budget: int) -> Answer:
    """A tree of depth `budget`, its smallest leaf chosen by cross-validation, its shares drawn towards the prior."""
    model = _cart(split, budget)
    return _smoothed(model, split.X_test, split.n_classes), _path_mask(model, split.X_test).sum(axis=1)


def cart_path(split: Split, budget: int) -> Answer:
    """The features on the path of that tree, judged by the package's predictor."""
    mask = _path_mask(_cart(split, budget), split.X_test)
    return split.predict(mask), mask.sum(axis=1)


def _cart(split: Split, depth: int) -> DecisionTreeClassifier:
    def made(leaf: int) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=split.seed)

    def loss(leaf: int) -> float:
        losses = []
        for f in range(INNER):
            rest = split.inner != f
            proba = _smoothed(made(leaf).fit(split.X[rest], split.y[rest]), split.X[~rest], split.n_classes)
            losses.append(_loss(proba, split.y[~rest]))
        return float(np.mean(losses))

    return made(min(LEAST_LEAVES, key=loss)).fit(split.X, split.y)


def _smoothed(model: DecisionTreeClassifier, X: np.ndarray, n_classes: int) -> np.ndarray:
    """Shares of the leaves, with one more row of the tree's own class shares in each."""
    tree = model.tree_
    shares = tree.value[:, 0, :]
    counts = tree.n_node_samples[:, None]
    leaf = model.apply(X)
    proba = (shares[leaf] * counts[leaf] + shares[0]) / (counts[leaf] + 1)
    return widened(proba, model.classes_, n_classes)


def _path_mask(model: DecisionTreeClassifier, X: np.ndarray) -> np.ndarray:
    asked = np.zeros(X.shape, bool)
    path = model.decision_path(X)
    feature = model.tree_.feature
    row, node = path.nonzero()
    inner = feature[node] >= 0
    asked[row[inner], feature[node[inner]]] = True
    return asked


def _loss(proba: np.ndarray, y: np.ndarray) -> float:
    return float(-np.log(np.clip(proba[np.arange(len(y)), y], 1e-7, 1)).mean())


class Logistic:
    """Regularised logistic regression on standardised, imputed and one-hot columns of chosen features."""

    def __init__(self, strength: float | None = None) -> None:
        self.strength = strength

    def fit(self, X: np.ndarray, y: np.ndarray, panel: Sequence[int], categories: Sequence[int]) -> Logistic:
        self.panel, self.categories = list(panel), categories
        self.mean = np.array([_mean(X[:, j]) for j in self.panel])
        self.scale = np.array([_scale(X[:, j]) for j in self.panel])
        self.model = LogisticRegression(C=self.strength or 1.0, max_iter=200).fit(self._cells(X), y)
        return self

    def predict_proba(self, X: np.ndarray, n_classes: int) -> np.ndarray:
        return widened(self.model.predict_proba(self._cells(X)), self.model.classes_, n_classes)

    def _cells(self, X: np.ndarray) -> np.ndarray:
        parts = []
        for i, j in enumerate(self.panel):
            empty = np.isnan(X[:, j])
            if self.categories[j]:
                levels = np.arange(min(self.categories[j], 40))
                parts.append((X[:, j][:, None] == levels).astype(float))
            else:
                parts.append(np.where(empty, 0.0, (X[:, j] - self.mean[i]) / self.scale[i])[:, None])
                parts.append(empty[:, None].astype(float))
        return np.concatenate(parts, axis=1)


class Boosting:
    """scikit-learn's HistGradientBoosting on chosen features."""

    def __init__(self, strength: float | None = None) -> None:
        del strength

    def fit(self, X: np.ndarray, y: np.ndarray, panel: Sequence[int], categories: Sequence[int]) -> Boosting:
        self.panel = list(panel)
        self.model = HistGradientBoostingClassifier(
            max_iter=60,
            max_leaf_nodes=8,
            min_samples_leaf=10,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=0,
        )
        self.model.fit(X[:, self.panel], y)
        return self

    def predict_proba(self, X: np.ndarray, n_classes: int) -> np.ndarray:
        return widened(self.model.predict_proba(X[:, self.panel]), self.model.classes_, n_classes)


def _mean(column: np.ndarray) -> float:
    return 0.0 if np.isnan(column).all() else float(np.nanmean(column))


def _scale(column: np.ndarray) -> float:
    spread = 0.0 if np.isnan(column).all() else float(np.nanstd(column))
    return spread or 1.0


class ForwardPanel:
    """Panels of growing size: the feature that lowers the cross-validated log loss most comes next."""

    def __init__(self, model: Callable[..., Any]) -> None:
        self.model = model
        self._orders: dict[int, list[int]] = {}

    def __call__(self, split: Split, budget: int) -> Answer:
        order = self._order(split, budget)[:budget]
        strengths = STRENGTHS if self.model is Logistic else (1.0,)
        rows = np.arange(len(split.y))
        best = min(strengths, key=lambda c: self._score(split, order, rows, c)) if len(strengths) > 1 else strengths[0]
        fitted = self.model(best).fit(split.X, split.y, order, split.categories)
        proba = fitted.predict_proba(split.X_test, split.n_classes)
        return proba, np.full(len(split.X_test), len(order))

    def _order(self, split: Split, size: int) -> list[int]:
        order = self._orders.setdefault(id(split), [])
        rows = np.random.default_rng([split.seed, 4]).permutation(len(split.y))[:SELECT_ROWS]
        options = getattr(split, f"_options_{self.model.__name__}", list(range(split.X.shape[1])))
        while len(order) < min(size, split.X.shape[1]):
            scores = {j: self._score(split, [*order, j], rows, 1.0) for j in options if j not in order}
            if not scores:
                break
            if not order:
                options = sorted(scores, key=scores.__getitem__)[:FIRST_KEPT]
                setattr(split, f"_options_{self.model.__name__}", options)
            order.append(min(scores, key=scores.__getitem__))
        return order

    def _score(self, split: Split, panel: list[int], rows: np.ndarray, strength: float) -> float:
        X, y, fold = split.X[rows], split.y[rows], split.inner[rows]
        losses = []
        for f in range(INNER):
            rest = fold != f
            fitted = self.model(strength).fit(X[rest], y[rest], panel, split.categories)
            losses.append(_loss(fitted.predict_proba(X[~rest], split.n_classes), y[~rest]))
        return float(np.mean(losses))


def methods() -> dict[str, Callable[[Split, int], Answer]]:
    """Fresh ones, for panels remember their order."""
    return {
        "plan tree": plan_tree,
        "its fixed panel": lambda split, budget: plan_tree(split, budget, adaptive=False),
        "panel, logistic": ForwardPanel(Logistic),
        "panel, boosting": ForwardPanel(Boosting),
        "CART": cart,
        "CART, our predictor": cart_path,
        "SynAFA": synafa,
        "all features": everything,
    }
