"""What a policy did with a set of rows: which feature at which step, why, and at what cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa import notebook
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

    def _repr_html_(self) -> str:
        """The most frequent ways through the features, for a notebook."""
        n = len(self.order)
        rows = notebook.counted(n, "row")
        if n == 0:
            return notebook.card(f"{rows}.")
        ways: dict[tuple[int, ...], list[int]] = {}
        for i, order in enumerate(self.order.tolist()):
            ways.setdefault(tuple(j for j in order if j >= 0), []).append(i)
        frequent = sorted(ways.items(), key=lambda way: -len(way[1]))
        lines = [
            [
                " → ".join(self.feature_names[j] for j in way) or "nothing",
                f"{len(who):,}",
                f"{self.cost[who].mean():.2f}",
            ]
            for way, who in frequent[: notebook.SHOWN]
        ]
        more = len(frequent) - len(lines)
        caption = f"{rows}, {self.n_acquired.mean():.2f} features and a cost of {self.cost.mean():.2f} each on average."
        foot = f"and {notebook.counted(more, 'more way', 'more ways')}" if more else ""
        return notebook.card(caption, notebook.small_table(["acquired", "rows", "mean cost"], lines, foot))
