"""Reference policies for every comparison: random, two static rankings, and everything at once.

`static-single` acquires by decreasing I(X_j;Y). `static-pair` keeps SynAFA's decision rule, pair proposals included,
but scores with population averages, I(Y;X_j|X_k) = pair[j,k] - single[k], in place of cond[j,k,x_k]: it does not see
the values, so that every row acquires in the same order. None of them stops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.errors import SynafaError

REFERENCES = ("random", "static-single", "static-pair", "all")


@dataclass(frozen=True, eq=False)
class StaticPolicy:
    """Acquires the features in one fixed order, skipping what is known already.

    order : int64 (D,), every feature once, first to last
    ignores_budget : what `evaluate` shows is the classifier with every feature, whatever the budget
    """

    order: np.ndarray
    name: str = "static"
    ignores_budget: bool = False
    uses_remaining: bool = False

    def __post_init__(self) -> None:
        order = np.asarray(self.order, dtype=np.int64)
        if order.ndim != 1 or not np.array_equal(np.sort(order), np.arange(len(order))):
            raise SynafaError(f"The order of policy {self.name!r} must hold every feature index once.")
        object.__setattr__(self, "order", order)

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        choice = self.order[mask[:, self.order].argmin(axis=1)]
        return np.where(mask.all(axis=1), -1, choice)


@dataclass(frozen=True)
class RandomPolicy:
    """Acquires in a random order of its own for every row.

    The order is a hash of (seed, row, feature), so that it depends neither on the batch nor on the other rows. The
    harness tells the dataset's row numbers; `propose` alone counts the rows it is given from 0.
    """

    seed: int = 0
    name: str = "random"
    uses_remaining: bool = False

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        return self.propose_for_rows(np.arange(len(mask)), values, mask, remaining)

    def propose_for_rows(
        self, rows: np.ndarray, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray
    ) -> np.ndarray:
        start = _mix(np.array([self.seed], dtype=np.int64).view(np.uint64))
        of_row = _mix(start ^ np.asarray(rows, dtype=np.uint64))
        keys = _mix(of_row[:, None] ^ _mix(np.arange(mask.shape[1], dtype=np.uint64))[None, :])
        choice = np.where(mask, np.uint64(2**64 - 1), keys).argmin(axis=1)
        return np.where(mask.all(axis=1), -1, choice)


def all_features(n_features: int) -> StaticPolicy:
    """Every feature, whatever it costs: what the classifier can do at best."""
    return StaticPolicy(np.arange(n_features), name="all", ignores_budget=True)


def static_single(single: np.ndarray, costs: np.ndarray | None = None, cost_weight: float = 0.01) -> StaticPolicy:
    """Features by decreasing `single[j] - cost_weight * costs[j]`, the lower index first on a tie."""
    single = np.asarray(single, dtype=np.float64)
    score = single - cost_weight * (np.ones(len(single)) if costs is None else np.asarray(costs, dtype=np.float64))
    return StaticPolicy(np.argsort(-score, kind="stable"), name="static-single")


def static_pair(
    single: np.ndarray, pair: np.ndarray, costs: np.ndarray | None = None, cost_weight: float = 0.01
) -> StaticPolicy:
    """SynAFA's decision rule on population averages: the paper's static-pairwise ablation.

    With S acquired, a hidden j scores max(single[j], max over k in S of pair[j,k] - single[k]) - cost_weight * costs[j]
    and a pair of hidden features pair[j,k] - cost_weight * (costs[j] + costs[k]). A pair replaces the best single only
    if strictly larger; its member with the larger `single` is acquired. Where nothing scores above 0 the rest follow by
    index, as the harness's fallback would have it.
    """
    single, pair = np.asarray(single, dtype=np.float64), np.asarray(pair, dtype=np.float64)
    d = len(single)
    if pair.shape != (d, d):
        raise SynafaError(f"`pair` must have shape ({d}, {d}) like `single`, got: {pair.shape}.")
    price = cost_weight * (np.ones(d) if costs is None else np.asarray(costs, dtype=np.float64))
    average = pair - single[None, :]  # I(Y; X_j | X_k)
    upper = np.triu(np.ones((d, d), dtype=bool), k=1)
    joint = np.where(upper, pair - price[:, None] - price[None, :], -np.inf)
    score = single.copy()
    hidden = np.ones(d, dtype=bool)
    order: list[int] = []
    while hidden.any():
        net = np.where(hidden, score - price, -np.inf)
        choice = int(net.argmax())
        both = int(joint.argmax()) if d > 1 else 0
        if max(net[choice], joint.flat[both]) <= 0:
            order += np.nonzero(hidden)[0].tolist()
            break
        if joint.flat[both] > net[choice]:
            j, k = divmod(both, d)
            choice = j if single[j] >= single[k] else k
        order.append(choice)
        hidden[choice] = False
        joint[choice], joint[:, choice] = -np.inf, -np.inf
        score = np.maximum(score, average[:, choice])
    return StaticPolicy(np.array(order, dtype=np.int64), name="static-pair")


def _mix(keys: np.ndarray) -> np.ndarray:
    """Scramble 64-bit keys (the finaliser of SplitMix64), so that neighbouring keys become unrelated."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
