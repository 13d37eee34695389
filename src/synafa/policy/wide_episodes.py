"""Episodes and proposals of many rows by a `WideRule`: the kernel's, and one by one where a row is beyond its reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.money.prices import TOLERANCE
from synafa.policy.branches import FALLBACK
from synafa.policy.many_rows import most_steps, with_acquired
from synafa.policy.rule import AFFORDABILITY
from synafa.policy.wide_rule import WideRule


@dataclass(frozen=True, eq=False)
class WideEpisodes:
    """A wide rule for many rows, with the interface of `ManyRows`."""

    rule: WideRule

    def acquire(
        self, codes: np.ndarray, seen: np.ndarray, blocked: np.ndarray, budget: float, force: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Whole episodes of rows (n, D): order and branch (n, steps), what is known in the end, and money spent."""
        from synafa.policy.wide_kernels import acquire

        rule, steps = self.rule, most_steps(self.rule.costs, budget)
        (order, branch, spent), beyond = acquire(codes, seen, blocked, *_kept(rule), budget, _mode(rule), force, steps)
        for i in np.flatnonzero(beyond):
            order[i], branch[i], spent[i] = _episode(rule, codes[i], seen[i], blocked[i], budget, force, steps)
        return order, branch, with_acquired(seen, order), spent

    def propose(self, codes: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One decision of every row in its own state: feature (-1: stop) and branch (n,)."""
        from synafa.policy.wide_kernels import propose

        never, *kept = _kept(self.rule)
        feature, branch, beyond = propose(codes, mask, never, remaining, *kept, _mode(self.rule))
        for i in np.flatnonzero(beyond):
            found = self.rule.decide(mask[i], codes[i], float(remaining[i]))
            feature[i], branch[i] = found.feature, found.branch
        return feature, branch


def _kept(rule: WideRule) -> tuple[Any, ...]:
    """What both kernels take of a rule, in their order."""
    kept = rule.kept
    conditional = (kept.cond_start, kept.cond_feature, kept.cond_bits)
    pairs = (kept.pair_first, kept.pair_second, rule.pair_scores)
    return (rule.unavailable, kept.reach, conditional, rule.single, *pairs, rule.costs, rule.cost_weight)


def _mode(rule: WideRule) -> int:
    return AFFORDABILITY.index(rule.affordability)


def _episode(
    rule: WideRule, codes: np.ndarray, seen: np.ndarray, blocked: np.ndarray, budget: float, force: bool, steps: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """The episode of one row, decision by decision."""
    order, branch = np.full(steps, -1, np.int32), np.full(steps, -1, np.int8)
    observed, remaining, spent = seen.copy(), budget, 0.0
    for step in range(steps):
        found = rule.decide(observed, codes, remaining, blocked)
        feature, why = found.feature, found.branch
        if feature < 0 and force:
            feature, why = _lowest_left(rule, observed | blocked, remaining), FALLBACK
        if feature < 0 or rule.costs[feature] > remaining + TOLERANCE:
            break
        order[step], branch[step] = feature, why
        spent += rule.costs[feature]
        remaining -= rule.costs[feature]
        observed[feature] = True
    return order, branch, spent


def _lowest_left(rule: WideRule, out: np.ndarray, remaining: float) -> int:
    """The lowest-index feature that is left (in strict mode: and affordable), or -1."""
    left = ~out
    if rule.affordability == "strict":
        left &= rule.costs <= remaining + TOLERANCE
    return int(np.argmax(left)) if left.any() else -1
