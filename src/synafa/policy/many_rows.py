"""A decision rule for many rows: what the kernels need of it, prepared once, with plain costs or panels and groups.

With plain costs the score of a pair never changes, and pairs come best first. Where a price falls once a group was
paid, they come by the best score that they can ever have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from synafa.money.prices import TOLERANCE
from synafa.policy.rule import AFFORDABILITY, DecisionRule


def most_steps(costs: np.ndarray, budget: float) -> int:
    """How many features the budget buys at most."""
    return int((np.cumsum(np.sort(costs)) <= budget + TOLERANCE).sum())


def with_acquired(seen: np.ndarray, order: np.ndarray) -> np.ndarray:
    """What is known in the end, bool (n, D): what was at the start, and the features of `order`."""
    rows, at = np.nonzero(order >= 0)
    mask = seen.copy()
    mask[rows, order[rows, at]] = True
    return mask


@dataclass(frozen=True, eq=False)
class ManyRows:
    """The rule with its lists of pairs."""

    rule: DecisionRule

    def acquire(
        self, codes: np.ndarray, seen: np.ndarray, blocked: np.ndarray, budget: float, force: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Whole episodes of rows (n, D): order and branch (n, steps), what is known in the end, and money spent."""
        rule = self.rule
        steps = most_steps(rule.costs_in_group, budget)
        rest = (rule.cost_weight, budget, self._mode, force, steps)
        if rule.prices is not None:
            from synafa.policy import priced_kernels

            rows = (codes, np.ascontiguousarray(seen), blocked)
            (order, branch, spent), mask = priced_kernels.acquire(*rows, *self._priced, *rest)
            return order, branch, mask, spent
        from synafa.policy import kernels

        order, branch, spent = kernels.acquire(codes, seen, blocked, *self._plain, *rest)
        return order, branch, with_acquired(seen, order), spent

    def propose(self, codes: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One decision of every row in its own state: feature (-1: stop) and branch (n,)."""
        rule = self.rule
        state = (codes, mask, rule.unavailable, remaining)
        if rule.prices is not None:
            from synafa.policy import priced_kernels

            return priced_kernels.propose(*state, *self._priced, rule.cost_weight, self._mode)
        from synafa.policy import kernels

        return kernels.propose(*state, *self._plain, rule.cost_weight, self._mode)

    @property
    def _mode(self) -> int:
        return AFFORDABILITY.index(self.rule.affordability)

    @cached_property
    def _plain(self) -> tuple[np.ndarray, ...]:
        """single, cond by value, the pairs worth proposing with their scores, best first, and costs."""
        rule = self.rule
        first, second, scores = self._pairs(rule.pair_scores)
        return rule.single, rule.cond_by_value, first, second, scores, rule.costs

    @cached_property
    def _priced(self) -> tuple[Any, ...]:
        """single, cond by value, pairs with their bits and the best score they can ever have, and prices."""
        rule = self.rule
        assert rule.prices is not None
        first, second, hope = self._pairs(rule.pair - rule.cost_weight * rule.pair_costs(rule.costs_in_group))
        pairs = (first, second, rule.pair[first, second], hope)
        prices = (rule.costs, rule.costs_in_group, rule.prices.group, rule.reveals, rule.known)
        return rule.single, rule.cond_by_value, pairs, prices

    def _pairs(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Both members and the score of each pair above 0, best first, ties in (j, k) order."""
        first, second = np.triu_indices(self.rule.n_features if self.rule.pair_branch else 0, k=1)
        scores = scores[first, second]
        usable = np.flatnonzero(scores > 0)
        by_score = usable[np.argsort(-scores[usable], kind="stable")]
        return first[by_score], second[by_score], scores[by_score]
