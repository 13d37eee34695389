"""What a list of measurements costs in the order they are asked, and what each of them reveals.

Prices are indexed by feature. A panel's members are revealed together; a group's later members cost less; a feature
that is a linear copy of another (the same quantity in other units) is revealed with it, for its value follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from synafa.money.prices import reveal_matrix


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices and what they buy.

    Attributes
    ----------
    price, price_in_group : float64 (D,), the price of asking, and after another member of the group was paid
    group : int64 (D,), -1 for none
    reveals : bool (D, D), row j holds all that asking j reveals
    follows : bool (D, D), row j holds what follows from those values: linear copies, whose value can be computed
    fills : whether the predictor is told what follows; if not, it is just not bought again
    """

    price: np.ndarray
    price_in_group: np.ndarray
    group: np.ndarray
    reveals: np.ndarray
    follows: np.ndarray
    fills: bool = True

    @classmethod
    def plain(cls, costs: Any, panels: Iterable[Sequence[int]] = ()) -> Prices:
        """One price a feature; members of a panel are revealed together."""
        price = np.asarray(costs, dtype=np.float64).copy()
        reveals = reveal_matrix(len(price), panels)
        return cls(price, price.copy(), np.full(len(price), -1), reveals, np.zeros_like(reveals))

    @classmethod
    def of(cls, prices: Any) -> Prices:
        """The prices of a `synafa.money.PriceList`."""
        return cls(
            np.asarray(prices.price, dtype=np.float64),
            np.asarray(prices.price_in_group, dtype=np.float64),
            np.asarray(prices.group, dtype=np.int64),
            np.asarray(prices.reveals, dtype=bool),
            np.zeros((len(prices.price), len(prices.price)), bool),
        )

    def free(self, features: np.ndarray) -> Prices:
        """The same with some features at no price."""
        price = np.where(features, 0.0, self.price)
        return replace(self, price=price, price_in_group=np.where(features, 0.0, self.price_in_group))

    def with_copies(self, copies: np.ndarray, fills: bool) -> Prices:
        """The same where the values of copies, bool (D, D), follow from what is revealed."""
        linked = self.reveals.astype(np.float32) @ copies.astype(np.float32) > 0  # counts up to 2 ** 24 are exact
        return replace(self, follows=linked & ~self.reveals, fills=fills)

    @cached_property
    def has_groups(self) -> bool:
        return bool((self.group >= 0).any())

    @cached_property
    def closures(self) -> tuple[tuple[int, ...], ...]:
        """What the predictor knows after asking each feature, as sorted indices."""
        known = self.reveals | self.follows if self.fills else self.reveals
        return tuple(tuple(np.flatnonzero(row).tolist()) for row in known)

    @cached_property
    def shown(self) -> tuple[tuple[int, ...], ...]:
        """What asking each feature reveals, as sorted indices."""
        return tuple(tuple(np.flatnonzero(row).tolist()) for row in self.reveals)

    @cached_property
    def settled(self) -> np.ndarray:
        """bool (D, D): what need not be bought after asking each feature."""
        return self.reveals | self.follows

    @cached_property
    def typical(self) -> float:
        """The mean price above 0: the unit of the margin."""
        paid = self.price[self.price > 0]
        return float(paid.mean()) if len(paid) else 1.0

    def now(self, j: int, asked: Iterable[int]) -> float:
        """The price of asking j after `asked` were paid."""
        if self.group[j] >= 0 and any(self.group[k] == self.group[j] for k in asked):
            return float(self.price_in_group[j])
        return float(self.price[j])

    def all_now(self, asked: Sequence[int]) -> np.ndarray:
        """The price of every feature after `asked` were paid, float64 (D,)."""
        if not self.has_groups or not len(asked):
            return self.price
        paid = np.isin(self.group, self.group[list(asked)]) & (self.group >= 0)
        return np.where(paid, self.price_in_group, self.price)

    def cost(self, plan: Sequence[int], asked: Sequence[int] = ()) -> float:
        """What the plan costs when asked in its order after `asked`."""
        if not self.has_groups:
            return float(sum(self.price[j] for j in plan))
        before, total = list(asked), 0.0
        for j in plan:
            total += self.now(j, before)
            before.append(j)
        return total
