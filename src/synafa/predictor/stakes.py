"""What errors cost, while the predictor learns: rows of dear classes count more, and decisions choose between members.

With a matrix of costs a predictor is there to decide. A class that is rare and dear to miss hardly moves the plain log
loss, so a row counts as much as the dearest mistake about its class, `w_k = max_c cost[k, c]`, scaled to mean 1; the
weights are taken out of the probabilities afterwards: `p(k) ~ p_weighted(k) / w_k`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

HALF = 0.5
"""The linear member's share, unless decisions of the networks alone are cheaper by more than their error."""
UNEQUAL = 4.0
"""The dearest class must weigh so many times the cheapest for that; else the log loss chooses the share."""


@dataclass(frozen=True, eq=False)
class Stakes:
    """matrix : float64 (K, K), cost of deciding the column when the row is true; weights : float64 (K,) of the rows."""

    matrix: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, matrix: Any, prior: np.ndarray) -> Stakes:
        """Weights with mean 1 under the class shares; a class that costs nothing to miss still counts a little."""
        matrix = np.asarray(matrix, dtype=np.float64)
        dearest = matrix.max(axis=1)
        dearest = np.maximum(dearest, 0.01 * dearest.max()) if dearest.max() > 0 else np.ones(len(matrix))
        return cls(matrix, dearest / (dearest @ prior))

    @property
    def unequal(self) -> bool:
        """Whether a rare class can cost so much that the log loss says little of what decisions cost."""
        return float(self.weights.max()) >= UNEQUAL * float(self.weights.min())

    def paid(self, weighted: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What deciding by probabilities of weighted rows costs, row by row."""
        return self.matrix[y, (weighted / self.weights @ self.matrix).argmin(axis=1)]

    def share(self, networks: np.ndarray, linear: np.ndarray, y: np.ndarray, n_rows: int) -> float:
        """Half, or nothing where the networks alone decide at less cost, by more than the error of `n_rows` rows."""
        gain = self.paid((1 - HALF) * networks + HALF * linear, y) - self.paid(networks, y)
        return 0.0 if gain.mean() > gain.std() / np.sqrt(n_rows) else HALF

    def unweighted(self, members: Any) -> Any:
        """The members with the weights taken out of their probabilities."""
        shift = np.log(self.weights)
        networks = [(*net[:5], (net[5] - shift).astype(np.float32)) for net in members.networks]
        linear = members.linear.copy()
        linear[-1] -= shift
        return replace(members, networks=networks, linear=linear)
