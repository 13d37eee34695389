"""One decision of the rule under every combination of realised values: which feature wins, and by how much.

At a prefix of acquired features all 2^m value combinations are enumerated. A feature's proposal is the better of its
single score and the best pair that would start with it; the margin is the winner's lead over any other feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from synafa.policy.rule import DecisionRule


@dataclass(frozen=True)
class Branching:
    """A decision at one prefix, over all combinations of its values.

    winners : features that win somewhere, ascending
    margin, single_margin : smallest lead over another feature, among all proposals and among single proposals
    pair_score, single_score : best pair score, and the smallest best single score
    """

    prefix: tuple[int, ...]
    combinations: int
    winners: tuple[int, ...]
    single_winners: tuple[int, ...]
    margin: float
    single_margin: float
    pair_score: float
    single_score: float


def branching(rule: DecisionRule, prefix: tuple[int, ...]) -> Branching:
    """Enumerate the next decision after acquiring `prefix`."""
    observed = np.zeros(rule.n_features, dtype=bool)
    observed[list(prefix)] = True
    hidden = np.flatnonzero(~observed)
    pairs = _started_pairs(rule, hidden)
    winners, single_winners, margins, single_margins, singles = set(), set(), [], [], []
    for values in product((0, 1), repeat=len(prefix)):
        codes = np.zeros(rule.n_features, dtype=np.uint8)
        codes[list(prefix)] = values
        single = (rule.scores(observed, codes)[0] - rule.cost_weight * rule.costs)[hidden]
        best = np.maximum(single, pairs)
        decided = rule.decide(observed, codes, np.inf).feature
        winners.add(decided)
        single_winners.add(int(hidden[np.argmax(single)]))
        margins.append(_lead(best))
        single_margins.append(_lead(single))
        singles.append(float(single.max()))
    return Branching(
        prefix=prefix,
        combinations=len(margins),
        winners=tuple(sorted(winners)),
        single_winners=tuple(sorted(single_winners)),
        margin=min(margins),
        single_margin=min(single_margins),
        pair_score=float(pairs.max()),
        single_score=min(singles),
    )


def _lead(scores: np.ndarray) -> float:
    """The largest score minus the next."""
    second, first = np.partition(scores, -2)[-2:]
    return float(first - second)


def _started_pairs(rule: DecisionRule, hidden: np.ndarray) -> np.ndarray:
    """For every hidden feature the best pair whose first acquired member it would be; -inf without one."""
    scores = rule.pair_scores[np.ix_(hidden, hidden)].copy()
    single = rule.single[hidden]
    index = np.arange(len(hidden))
    starts = (single[:, None] > single[None, :]) | (
        (single[:, None] == single[None, :]) & (index[:, None] < index[None, :])
    )
    scores[~starts] = -np.inf
    return scores.max(axis=1)


def prefixes(order: np.ndarray, length: int) -> list[tuple[tuple[int, ...], int]]:
    """The distinct first `length` acquired features, in order, and how many rows have each, most frequent first."""
    reached = order[(order[:, :length] >= 0).all(axis=1), :length]
    sets, counts = np.unique(reached, axis=0, return_counts=True)
    by_count = np.argsort(-counts, kind="stable")
    return [(tuple(int(j) for j in sets[i]), int(counts[i])) for i in by_count]
