"""What a policy did with a set of rows: which feature at which step, why, and at what cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.policy.branches import BRANCHES


@dataclass(frozen=True, eq=False)
class Run:
    """Acquisitions of n rows.

    Attributes
    ----------
    order : int32 (n, steps), the feature acquired at each step, -1 after the last
    branch : int8 (n, steps), index into `branch_names`, -1 after the last step
    mask : bool (n, D), everything known at the end, what was known at the start included
    cost : float64 (n,), money spent
    feature_names : D names
    """

    order: np.ndarray
    branch: np.ndarray
    mask: np.ndarray
    cost: np.ndarray
    feature_names: tuple[str, ...]
    branch_names: tuple[str, ...] = BRANCHES

    @property
    def n_acquired(self) -> np.ndarray:
        """How many features each row acquired, int64 (n,)."""
        return (self.order >= 0).sum(axis=1)

    def distinct_sets(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct sets of known features, bool (m, D), most frequent first, and how many rows have each."""
        sets, counts = np.unique(self.mask, axis=0, return_counts=True)
        by_count = np.argsort(-counts, kind="stable")
        return sets[by_count], counts[by_count]
