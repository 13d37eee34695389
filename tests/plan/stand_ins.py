"""Small predictors whose right answer is known, and tables made for one question each.

`CellBayes` knows which latent cell every training row is from; given the cell, features are independent and normal. It
has the additive interface: a feature adds its log likelihood to each cell's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from synafa.plan.scorers import softmax


class CellBayes:
    """Bayes' rule over latent cells."""

    def __init__(self, values: np.ndarray, y: np.ndarray, n_classes: int, cells: np.ndarray) -> None:
        names, cell = np.unique(cells, axis=0, return_inverse=True)
        cell = cell.ravel()
        h = len(names)
        self.mean, self.scale = np.empty((h, values.shape[1])), np.empty((h, values.shape[1]))
        overall = np.nanstd(values, axis=0) + 1e-6
        for k in range(h):
            part = values[cell == k]
            self.mean[k] = (np.nansum(part, axis=0) + 2 * np.nanmean(values, axis=0)) / (len(part) + 2)
            spread = np.nansum((part - self.mean[k]) ** 2, axis=0)
            self.scale[k] = np.sqrt((spread + 2 * overall**2) / (len(part) + 2))
        share = np.bincount(cell, minlength=h) / len(cell)
        counts = np.zeros((h, n_classes)) + 0.5
        np.add.at(counts, (cell, y), 1)
        self.classes = counts / counts.sum(axis=1, keepdims=True)
        self.base = np.log(share).astype(np.float32)

    def contribution(self, column: np.ndarray, j: int) -> np.ndarray:
        z = (np.asarray(column, float)[:, None] - self.mean[:, j]) / self.scale[:, j]
        return np.nan_to_num(-0.5 * z**2 - np.log(self.scale[:, j])) * ~np.isnan(column)[:, None]

    def contributions(self, values: np.ndarray) -> np.ndarray:
        columns = [self.contribution(values[:, j], j) for j in range(values.shape[1])]
        return np.stack(columns, axis=1).astype(np.float32)

    def head(self, state: np.ndarray) -> np.ndarray:
        return softmax(np.asarray(state, float)) @ self.classes

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        known = np.asarray(mask, bool)[:, :, None]
        values = np.where(mask, np.asarray(values, float), np.nan)
        return self.head(self.base + np.where(known, self.contributions(values), 0.0).sum(axis=1))


class Opaque:
    """The same without the additive interface."""

    def __init__(self, inner: CellBayes) -> None:
        self._inner = inner

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return self._inner.predict_proba(values, mask)


def bayes(cells: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None, opaque: bool = False) -> Any:
    """A function that fits a `CellBayes`; without `cells` the classes are the cells."""

    def fit(values: np.ndarray, y: np.ndarray, n_classes: int, **_: Any) -> Any:
        fitted = CellBayes(values, y, n_classes, y if cells is None else cells(values, y))
        return Opaque(fitted) if opaque else fitted

    return fit


def exclusive_or(n: int = 800, seed: int = 0, extra: int = 4) -> tuple[np.ndarray, np.ndarray, Any]:
    """Two bits whose exclusive or is the class, weak hints and noise; and a predictor that knows of the bits."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, size=(n, 2))
    y = bits[:, 0] ^ bits[:, 1]
    hints = y[:, None] * 0.3 + rng.normal(size=(n, 2))
    X = np.column_stack([hints, bits + 0.02 * rng.normal(size=(n, 2)), rng.normal(size=(n, extra))])
    return X, y, bayes(lambda values, y: np.column_stack([values[:, 2] > 0.5, y]))


def context(n: int = 1500, seed: int = 0, block: int = 3) -> tuple[np.ndarray, np.ndarray, Any]:
    """Feature 0 says which of two blocks of features tells the class; the other block is noise."""
    rng = np.random.default_rng(seed)
    which, y = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = rng.normal(size=(n, 1 + 2 * block))
    X[:, 0] = which + 0.05 * rng.normal(size=n)
    for b in range(2):
        columns = slice(1 + b * block, 1 + (b + 1) * block)
        X[which == b, columns] += (2.0 * y[which == b] - 1.0)[:, None] * 1.2
    return X, y, bayes(lambda values, y: np.column_stack([values[:, 0] > 0.5, y]))


def copied(n: int = 500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A good feature three times, in other units, and two weaker ones."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    good = y + 0.6 * rng.normal(size=n)
    weak = y[:, None] * 0.7 + rng.normal(size=(n, 2))
    return np.column_stack([good, 1.8 * good + 32.0, weak, -good]), y


def noise(n: int = 300, d: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features that tell nothing."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, 2, n)
