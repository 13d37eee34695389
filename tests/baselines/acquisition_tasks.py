"""Small acquisition tasks with a known best behaviour, and a runner that spends a hard budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from synafa.datasets import Dataset


def make(
    X: np.ndarray,
    y: np.ndarray,
    costs: list[float] | None = None,
    groups: tuple[tuple[int, ...], ...] = (),
) -> Dataset:
    """A dataset of these rows: 60 % training, 20 % validation, 20 % test, in order."""
    n, d = X.shape
    parts = np.split(np.arange(n, dtype=np.int64), [int(0.6 * n), int(0.8 * n)])
    return Dataset(
        name="task",
        instance=0,
        X=X.astype(np.float32),
        y=y.astype(np.int64),
        feature_names=tuple(f"x{i}" for i in range(d)),
        costs=np.ones(d) if costs is None else np.asarray(costs, dtype=np.float64),
        budgets=(2.0,),
        train=parts[0],
        validation=parts[1],
        test=parts[2],
        source="generated",
        groups=groups,
    )


def decisive(n: int = 1000, d: int = 6, which: int = 3, costs: list[float] | None = None) -> Dataset:
    """The class is the sign of one feature, the others are noise."""
    X = np.random.default_rng(0).normal(size=(n, d))
    return make(X, X[:, which] > 0, costs)


def branch(n: int = 1500, permuted: bool = False) -> Dataset:
    """Four classes: x0 tells the high bit, then x1 (if it is 0) or x2 (if it is 1) tells the low bit; x3-x5 are noise.

    Two features suffice when the second depends on the first; any fixed pair is right on three rows in four at most.
    """
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, n)
    X = rng.choice([-1.0, 1.0], size=(n, 6))
    high, low = y // 2, y % 2
    X[:, 0] = 2 * high - 1
    X[high == 0, 1] = 2 * low[high == 0] - 1
    X[high == 1, 2] = 2 * low[high == 1] - 1
    X += 0.1 * rng.normal(size=X.shape)
    return make(X, rng.permutation(y) if permuted else y)


def xor(n: int = 1500, d: int = 5) -> Dataset:
    """The class is the sign of x1 * x3; each alone says nothing."""
    X = np.random.default_rng(2).choice([-1.0, 1.0], size=(n, d))
    return make(X, X[:, 1] * X[:, 3] > 0)


def spend(
    policy: Any, dataset: Dataset, budget: float, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Order (n, D) of the features taken, -1 padded, and the mask, after asking until the policy says stop."""
    X = dataset.X[dataset.test]
    mask = np.zeros(X.shape, dtype=bool)
    remaining = np.full(len(X), float(budget))
    order = np.full(X.shape, -1)
    for step in range(X.shape[1]):
        choice = policy.propose(X * mask, mask, remaining)
        assert choice.dtype == np.int64
        going = choice >= 0
        if not going.any():
            break
        rows_going = np.flatnonzero(going)
        assert not mask[rows_going, choice[going]].any(), "a known feature was asked for again"
        mask[rows_going, choice[going]] = True
        remaining[going] -= dataset.costs[choice[going]]
        order[:, step] = choice
    return order, mask


def accuracy(classifier: Any, dataset: Dataset, mask: np.ndarray) -> float:
    """Share of test rows that `classifier` gets right from what was acquired."""
    X = dataset.X[dataset.test]
    return float((classifier.predict_proba(X * mask, mask).argmax(1) == dataset.y[dataset.test]).mean())
