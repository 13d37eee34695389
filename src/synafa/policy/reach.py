"""What decisions can reach: of all pairs and of all conditional scores the few that can ever win.

A proposal wins only if every better one that is not dearer is out: known already, or not to be had. Where at most
`reach` features are out, an entry of a row with more than `reach` better ones that cost no more can therefore never
win, whatever is left of the budget. A row keeps its `reach + 1` best entries, and more only where better ones cost
more; a pair is kept when the rows of both members keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.wide import PackedRows
from synafa.money.prices import TOLERANCE
from synafa.policy.question import Question

SPARE = 32  # features that may be out beside those that the budget buys
MOST_ENTRIES = 8_000_000  # kept entries of all rows; 12 bytes each in a model file


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of `pair` and `cond`.

    Attributes
    ----------
    reach : int
        How many features may be out for a decision to be exact, beside those that are never to be had.
    pair_first, pair_second : int32 (M,)
        Pairs j < k, the best score first, ties by j and k.
    pair_bits : float64 (M,)
        I(X_j, X_k; Y).
    cond_start : int64 (D * bins + 1,)
        Where the entries of code v of feature k begin, at k * bins + v.
    cond_feature : int32 (N,)
        Features j, ascending for each code.
    cond_bits : float64 (N,)
        I(Y; X_j | X_k = v), more than j tells alone.
    """

    reach: int
    pair_first: np.ndarray
    pair_second: np.ndarray
    pair_bits: np.ndarray
    cond_start: np.ndarray
    cond_feature: np.ndarray
    cond_bits: np.ndarray


def wanted_reach(asked: Question) -> int:
    """Features that may be out in an episode: those known, those the budget buys, and some that cannot be had."""
    bought = int((np.cumsum(np.sort(asked.costs)) <= asked.budget + TOLERANCE).sum())
    return min(bought + int(asked.known.sum()) + SPARE, len(asked.costs))


def choose(
    rows: PackedRows, asked: Question, progress: Callable[[float, str], Any] | None = None
) -> tuple[Kept, np.ndarray]:
    """The entries that decisions can reach, and for every feature the most that one of its lost pairs can score.

    The reach is what an episode within the budget needs, or as much of it as `MOST_ENTRIES` hold.
    """
    reach = min(wanted_reach(asked), MOST_ENTRIES // ((rows.n_bins + 1) * rows.n_features))
    while True:
        found = _Choice(rows, asked, reach)
        if found.run(progress):
            return found.kept(), found.tail
        if reach == 0:
            raise SynafaError(
                f"The {rows.n_features:,} features have too many different costs that grow with what they tell; round "
                "the costs, use fewer features, or affordability='deployed'."
            )
        reach //= 2


class _Choice:
    """One pass over all rows with a given reach."""

    def __init__(self, rows: PackedRows, asked: Question, reach: int) -> None:
        self.rows, self.asked, self.reach = rows, asked, reach
        d = rows.n_features
        everything = np.arange(d), np.array([d])
        priced = _by_price(asked.costs)
        self.cond_order = priced if asked.affordability == "strict" else everything
        self.pair_order = everything if asked.affordability == "deployed" else priced
        self.never = np.where(asked.unavailable, np.inf, 0.0)  # what an entry must tell more than
        self.tail = np.zeros(d)
        self.pairs: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.conds: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.entries = 0

    def run(self, progress: Callable[[float, str], Any] | None) -> bool:
        """Collect the entries; False as soon as there are too many of them."""
        d = self.rows.n_features
        for first, pair, cond in self.rows.blocks():
            self._add_cond(first, cond)
            if self.asked.pair_branch:
                self._add_pairs(first, pair)
            done = first + len(pair)
            if self.entries > MOST_ENTRIES * min(1.0, (done + d / 8) / d):
                return False
            if progress is not None:
                progress(done / d, f"pairs of {d:,} features")
        return True

    def _add_cond(self, first: int, cond: np.ndarray) -> None:
        m, bins, d = cond.shape
        found = cond.reshape(m * bins, d)
        itself = np.repeat(np.arange(first, first + m), bins)
        least = np.maximum(self.asked.single, self.never)
        kept, _ = self._keep(found, least, np.zeros(m * bins), self.cond_order, itself)
        at, feature = np.nonzero(kept)
        self.entries += len(at)
        self.conds.append((kept.sum(axis=1), feature.astype(np.int32), found[at, feature]))

    def _add_pairs(self, first: int, pair: np.ndarray) -> None:
        itself = np.arange(first, first + len(pair))
        kept, self.tail[itself] = self._keep(pair, self.never, self.asked.costs[itself], self.pair_order, itself)
        kept[self.asked.unavailable[itself]] = False
        at, other = np.nonzero(kept)
        self.entries += len(at)
        self.pairs.append((at + first, other, pair[at, other]))

    def _keep(
        self, bits: np.ndarray, least: np.ndarray, own: np.ndarray, by: tuple[np.ndarray, np.ndarray], skip: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        from synafa.policy.reach_kernels import keep_best

        kept, tail = np.zeros(bits.shape, bool), np.zeros(len(bits))
        weight, most = self.asked.cost_weight, self.reach + 1
        keep_best(bits, least, self.asked.costs, own, weight, *by, most, skip, kept, tail)
        return kept, tail

    def kept(self) -> Kept:
        """The entries in the order in which decisions look for them."""
        first, second, bits = self._mutual_pairs()
        sizes, feature, cond = (np.concatenate(parts) for parts in zip(*self.conds))
        start = np.concatenate([[0], np.cumsum(sizes)])
        return Kept(self.reach, first, second, bits, start, feature, cond)

    def _mutual_pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs that the rows of both members keep, best first."""
        if not self.pairs:
            return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
        row, column, bits = (np.concatenate(parts) for parts in zip(*self.pairs))
        place = np.minimum(row, column) * self.rows.n_features + np.maximum(row, column)
        by_place = np.argsort(place, kind="stable")
        twice = by_place[1:][place[by_place[1:]] == place[by_place[:-1]]]
        first, second = np.minimum(row, column)[twice], np.maximum(row, column)[twice]
        scores = pair_scores(bits[twice], self.asked.costs, self.asked.cost_weight, first, second)
        best = np.argsort(-scores, kind="stable")
        return first[best].astype(np.int32), second[best].astype(np.int32), bits[twice][best]


def pair_scores(bits: np.ndarray, costs: np.ndarray, weight: float, first: np.ndarray, second: np.ndarray) -> Any:
    """pair - cost_weight * (cost + cost) of listed pairs."""
    return bits - weight * (costs[first] + costs[second])


def _by_price(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features from the cheapest on, and where each price ends."""
    order = np.argsort(costs, kind="stable")
    return order, np.append(np.flatnonzero(np.diff(costs[order])) + 1, len(order))
