"""A policy as a user would bring it: measures the features in a fixed order."""

from __future__ import annotations

import numpy as np


class Backwards:
    """The last feature first; does not look at anything."""

    uses_remaining = False

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> Backwards:
        self.width = X.shape[1]
        return self

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        order = np.arange(self.width, dtype=float)
        return np.where(mask, -1.0, order).argmax(axis=1)


class Silent:
    """Not a policy."""
