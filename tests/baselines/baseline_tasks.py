"""Small tasks with a known answer, for the tests of the baselines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synafa.datasets.dataset import Dataset


def task(X: np.ndarray, y: np.ndarray, name: str = "task", costs: np.ndarray | None = None) -> Dataset:
    """Rows as a dataset, split 60/20/20 in their order."""
    n, d = X.shape
    rows = np.arange(n)
    return Dataset(
        name=name,
        instance=0,
        X=X.astype(np.float32),
        y=y.astype(np.int64),
        feature_names=tuple(f"x{i}" for i in range(d)),
        costs=np.ones(d) if costs is None else np.asarray(costs, dtype=np.float64),
        budgets=(2.0,),
        train=rows[: int(0.6 * n)],
        validation=rows[int(0.6 * n) : int(0.8 * n)],
        test=rows[int(0.8 * n) :],
        source="made for a test",
    )


def one_feature_decides(n: int = 600, d: int = 8, which: int = 5, seed: int = 0) -> Dataset:
    """y is the sign of one feature; the others are noise."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return task(X, X[:, which] > 0, "one-feature")


def xor_pair(n: int = 2000, d: int = 8, pair: tuple[int, int] = (2, 6), seed: int = 0) -> Dataset:
    """y is the exclusive or of two signs; each alone says nothing."""
    X = np.sign(np.random.default_rng(seed).normal(size=(n, d)))
    return task(X, (X[:, pair[0]] > 0) ^ (X[:, pair[1]] > 0), "xor")


def permuted(dataset: Dataset, seed: int = 1) -> Dataset:
    """The same rows with their training and validation classes shuffled."""
    y = dataset.y.copy()
    known = np.concatenate([dataset.train, dataset.validation])
    y[known] = np.random.default_rng(seed).permutation(y[known])
    return replace(dataset, y=y, name=dataset.name + "-permuted")


class Table:
    """A classifier that knows the sign rule of `one_feature_decides` or `xor_pair`, and offers no layers."""

    def __init__(self, *features: int) -> None:
        self.features = list(features)

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        odd = (values[:, self.features] > 0).sum(axis=1) % 2 == 1
        p = np.where(mask[:, self.features].all(axis=1), np.where(odd, 0.99, 0.01), 0.5)
        return np.stack([1 - p, p], axis=1).astype(np.float32)
