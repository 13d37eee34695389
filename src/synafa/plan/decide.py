"""The decision of one row from the finished tree, in plain NumPy, and what decisions depend on besides the tree.

Known features that were not told come first, at no price; then the tree's questions as far as its answers are known;
then the items of the node reached. A question that cannot be asked hands over to the node's own plan, and an item
that cannot be had to the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from synafa.money.prices import TOLERANCE
from synafa.plan.prices import Prices
from synafa.plan.tree import Tree

__all__ = ["PLAN", "QUESTION", "REASONS", "REPLAN", "TELL", "Choice", "Rule"]

# The reason of a step, by number. "question": its answer decides what comes next; "plan": it is next in the plan;
# "replan": the plan could not be followed, or there is more money; "tell": it is known from the start.
REASONS = ("question", "plan", "replan", "tell", "fallback")
QUESTION, PLAN, REPLAN, TELL, FALLBACK = range(5)


@dataclass(frozen=True)
class Choice:
    """A decision by index: feature -1 for stop, reason, the node it was taken in, and its place in the items or -1."""

    feature: int
    reason: int
    node: int
    item: int


@dataclass(frozen=True, eq=False)
class Rule:
    """Tree, prices, and which features are known from the start or never to be had, bool (D,)."""

    tree: Tree
    prices: Prices
    known: np.ndarray
    unavailable: np.ndarray

    def decide(
        self, values: np.ndarray, mask: np.ndarray, remaining: float, blocked: np.ndarray | None = None
    ) -> Choice:
        """The next feature of one row; values matter only where `mask`."""
        tree = self.tree
        can = self.can_ask(mask, remaining, blocked)
        untold = np.flatnonzero(self.known & ~mask & (True if blocked is None else ~blocked))
        if len(untold):
            return Choice(int(untold[0]), TELL, 0, -1)
        node, replan = 0, False
        while tree.feature[node] >= 0:
            f = tree.feature[node]
            if not mask[f]:
                if can[tree.ask[node]]:
                    return Choice(int(tree.ask[node]), QUESTION, node, -1)
                replan = True
                break
            x = values[f]
            goes_left = tree.missing_left[node] if np.isnan(x) else x <= tree.threshold[node]
            node = int(tree.left[node] if goes_left else tree.right[node])
        for i in range(tree.start[node], tree.stop[node]):
            j = int(tree.items[i])
            if mask[j]:
                continue
            if can[j]:
                return Choice(j, REPLAN if replan or i >= tree.planned[node] else PLAN, node, i)
            replan = True
        return Choice(-1, -1, node, -1)

    def can_ask(self, mask: np.ndarray, remaining: float, blocked: np.ndarray | None = None) -> np.ndarray:
        """bool (D,): hidden, to be had, affordable, and not to be computed from what is known."""
        asked = np.flatnonzero(mask & ~self.known).tolist()
        can = ~mask & ~self.unavailable & (self.prices.all_now(asked) <= remaining + TOLERANCE)
        if blocked is not None:
            can &= ~blocked
        if mask.any():
            can &= ~self.prices.follows[mask].any(axis=0)
        return can

    def spent(self, mask: np.ndarray) -> float:
        """The least that what is known can have cost; what was known from the start costs nothing."""
        total, prices = 0.0, self.prices
        todo = mask & ~self.known
        paid: set[int] = set()
        while todo.any():
            j = int(np.argmax(todo))
            todo &= ~prices.reveals[j]
            group = int(prices.group[j])
            total += prices.price_in_group[j] if group in paid else prices.price[j]
            if group >= 0:
                paid.add(group)
        return float(total)

    @cached_property
    def arrays(self) -> tuple[Any, Any, Any]:
        """Nodes, lists and prices as the kernels take them."""
        t, p = self.tree, self.prices
        told_first = np.flatnonzero(self.known)
        return (
            (t.feature, t.ask, t.left, t.right, t.threshold, t.missing_left),
            (t.start, t.planned, t.stop, t.items),
            (p.price, p.price_in_group, p.group, self.known, told_first, p.follows, bool(p.follows.any())),
        )
