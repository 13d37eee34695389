"""What a policy did on every row: features, reasons, costs and class probabilities, step by step, as flat arrays.

The first steps whose summed cost fits a smaller budget are the episode of that budget, for a policy that does not look
at the remaining budget.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from synafa.arrays import read_file, write_file
from synafa.errors import SynafaError
from synafa.money.prices import TOLERANCE

ENDINGS = ("spent", "stop", "unaffordable", "complete")
SPENT, STOP, UNAFFORDABLE, COMPLETE = range(4)
_KIND = "set of episodes"


@dataclass(frozen=True, eq=False)
class Episodes:
    """The episodes of one policy on n rows.

    Attributes
    ----------
    policy, dataset : the policy's name and the dataset's key
    budget, forced : the hard budget, and whether a stop was replaced by the fallback
    rows, y : int64 (n,), the dataset rows and their classes
    feature : int32 (n, steps), -1 where the episode was over
    reason : int8 (n, steps), index into `reason_names`, -1 where the episode was over
    cost : float64 (n, steps), 0 where the episode was over
    ending : int8 (n,), index into `ENDINGS`: no hidden feature is affordable, the policy stopped, the choice was
        not affordable, nothing is hidden
    probabilities : float32 (n, steps + 1, K), index 0 with nothing measured; None without a classifier
    feature_costs : float64 (D,); groups : features revealed together
    uses_remaining : whether the policy may look at the remaining budget (then no prefix is valid)
    """

    policy: str
    dataset: str
    budget: float
    forced: bool
    rows: np.ndarray
    y: np.ndarray
    feature: np.ndarray
    reason: np.ndarray
    cost: np.ndarray
    ending: np.ndarray
    probabilities: np.ndarray | None
    reason_names: tuple[str, ...]
    feature_costs: np.ndarray
    groups: tuple[tuple[int, ...], ...] = ()
    uses_remaining: bool = True

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def n_steps(self) -> int:
        return self.feature.shape[1]

    @property
    def n_features(self) -> int:
        return len(self.feature_costs)

    @property
    def total_cost(self) -> np.ndarray:
        """What each row paid, float64 (n,)."""
        return self.cost.sum(axis=1)

    @property
    def used_fallback(self) -> np.ndarray:
        """Whether a stop was replaced by the lowest-index hidden feature at least once, bool (n,)."""
        if "fallback" not in self.reason_names:
            return np.zeros(self.n_rows, dtype=bool)
        return (self.reason == self.reason_names.index("fallback")).any(axis=1)

    @property
    def final_probabilities(self) -> np.ndarray:
        """Class probabilities at the end of each episode, float32 (n, K)."""
        if self.probabilities is None:
            raise SynafaError("These episodes carry no class probabilities; run the policy with a classifier.")
        return self.probabilities[:, -1]

    @property
    def predictions(self) -> np.ndarray:
        """The most probable class at the end of each episode, int64 (n,)."""
        return self.final_probabilities.argmax(axis=1)

    def mask(self, budget: float | None = None) -> np.ndarray:
        """Which features are known at the end, or at the end of the prefix that fits `budget`; bool (n, D)."""
        if budget is not None:
            return self.at(budget).mask()
        return _known(self.feature, self.n_features, self.groups)

    def at(self, budget: float) -> Episodes:
        """The episodes the same policy has under a smaller budget.

        Raises if the policy looks at the remaining budget, for its decisions under a smaller one may differ.
        """
        if budget == self.budget:
            return self
        if budget > self.budget:
            raise SynafaError(f"Episodes run at budget {self.budget:g} cannot be read at the larger budget {budget:g}.")
        if self.uses_remaining:
            raise SynafaError(
                f"Policy {self.policy!r} may look at the remaining budget; run it again at budget {budget:g} "
                f"instead of reading a prefix."
            )
        taken = self.feature >= 0
        kept = taken & (np.cumsum(self.cost, axis=1) <= budget + TOLERANCE)
        steps = int(kept.sum(axis=1).max(initial=0))
        feature = np.where(kept, self.feature, -1)[:, :steps]
        known = _known(feature, self.n_features, self.groups)
        cost = np.where(kept, self.cost, 0.0)[:, :steps]
        left = budget - cost.sum(axis=1)
        ending = np.where((taken & ~kept).any(axis=1), UNAFFORDABLE, self.ending)
        ending = np.where(cheapest_hidden(known, self.feature_costs) > left + TOLERANCE, SPENT, ending)
        ending = np.where(known.all(axis=1), COMPLETE, ending)
        probabilities = None
        if self.probabilities is not None:
            # step t of the prefix, or the row's last kept step when it ended earlier
            step = np.minimum(np.arange(steps + 1)[None, :], kept.sum(axis=1)[:, None])
            probabilities = np.take_along_axis(self.probabilities, step[:, :, None], axis=1)
        return replace(
            self,
            budget=float(budget),
            feature=feature,
            reason=np.where(kept, self.reason, -1)[:, :steps].astype(np.int8),
            cost=cost,
            ending=ending.astype(np.int8),
            probabilities=probabilities,
        )

    def to_frame(self) -> pl.DataFrame:
        """One line per row and step; step 0, with a null feature, is the state in which nothing is measured."""
        n = self.n_rows
        there = np.column_stack([np.ones(n, dtype=bool), self.feature >= 0])
        feature = np.column_stack([np.full(n, -1, dtype=np.int32), self.feature])
        cost = np.column_stack([np.zeros(n), self.cost])
        reason = np.column_stack([np.full(n, -1, dtype=np.int8), self.reason])
        where, step = np.nonzero(there)
        names = np.array([*self.reason_names, None], dtype=object)
        columns: dict[str, Any] = {
            "row": self.rows[where],
            "y": self.y[where],
            "step": step.astype(np.int32),
            "feature": pl.Series(feature[there]).replace(-1, None),
            "reason": pl.Series(names[reason[there]].tolist(), dtype=pl.String),
            "cost": cost[there],
            "spent": np.cumsum(cost, axis=1)[there],
            "last": step == (self.feature >= 0).sum(axis=1)[where],
            "ending": pl.Series(np.array(ENDINGS)[self.ending[where]].tolist(), dtype=pl.String),
        }
        if self.probabilities is not None:
            visible = self.probabilities[there]
            columns |= {f"p_{k}": visible[:, k] for k in range(visible.shape[1])}
        return pl.DataFrame(columns).select(
            pl.lit(self.dataset).alias("dataset"),
            pl.lit(self.policy).alias("policy"),
            pl.lit(float(self.budget)).alias("budget"),
            pl.all(),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as one safetensors file."""
        meta = {
            "policy": self.policy,
            "dataset": self.dataset,
            "budget": self.budget,
            "forced": self.forced,
            "reason_names": self.reason_names,
            "groups": self.groups,
            "uses_remaining": self.uses_remaining,
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        if self.probabilities is not None:
            arrays["probabilities"] = self.probabilities
        write_file(path, _KIND, arrays, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Episodes:
        """Read what `save` wrote."""
        arrays, meta = read_file(path, _KIND)
        if not set(_ARRAYS) <= set(arrays):
            raise SynafaError(f"{os.fspath(path)!r} lacks a part of the episodes; run the policy again.")
        meta["reason_names"] = tuple(meta["reason_names"])
        meta["groups"] = tuple(tuple(group) for group in meta["groups"])
        fields: dict[str, Any] = {"probabilities": None, **meta, **arrays}
        return cls(**fields)


_ARRAYS = ("rows", "y", "feature", "reason", "cost", "ending", "feature_costs")


def cheapest_hidden(mask: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """The smallest cost among the hidden features of each row; infinite where nothing is hidden."""
    return np.where(mask, np.inf, costs).min(axis=1, initial=np.inf)


def revealed_by(n_features: int, groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """bool (D, D): which features become known when feature j is acquired."""
    revealed = np.eye(n_features, dtype=bool)
    for group in groups:
        revealed[np.ix_(group, group)] = True
    return revealed


def _known(feature: np.ndarray, n_features: int, groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    mask = np.zeros((len(feature), n_features), dtype=bool)
    row, step = np.nonzero(feature >= 0)
    mask[row, feature[row, step]] = True
    for group in groups:
        members = list(group)
        mask[:, members] |= mask[:, members].any(axis=1, keepdims=True)
    return mask
