"""Small drawn tables and a predictor fitted on one of them."""

from __future__ import annotations

from functools import cache

import numpy as np

from synafa.predictor import MaskedPredictor, fit_predictor


def mixed_table(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Three classes; number, skewed, constant, empty, two-valued and text columns, a fifth of the cells missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    columns = (
        y + rng.normal(size=n),
        np.exp(rng.normal(size=n) + (y == 1)),
        np.full(n, 7.0),
        np.full(n, np.nan),
        (rng.random(n) < 0.2 + 0.3 * y).astype(float),
        (y + rng.integers(0, 3, n)) % 5,
        rng.integers(0, 60, n),
    )
    X = np.column_stack(columns).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y, [0, 0, 0, 0, 0, 5, 60]


@cache
def mixed_predictor() -> MaskedPredictor:
    X, y, categories = mixed_table()
    return fit_predictor(X, y, 3, categories=categories, seed=1)


def xor_table(n: int, seed: int, n_features: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)
