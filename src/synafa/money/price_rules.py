"""What a price list must be, and what buying a set of features costs under it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from synafa.errors import SynafaError
from synafa.money.cells import as_price

if TYPE_CHECKING:
    from synafa.money.prices import PriceList


def check_prices(prices: PriceList, n_groups: int) -> None:
    """Refuse a list that contradicts itself; the sentence names the feature, the panel or the column."""
    d, names = prices.n_features, prices.feature_names
    if len(set(names)) < d:
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise SynafaError(f"The feature {twice!r} is in the price list twice.")
    for column in ("price", "group", "price_in_group"):
        if getattr(prices, column).shape != (d,):
            raise SynafaError(f"{column} must hold one value for each of the {d} features.")
    if n_groups > len(prices.group_names) or prices.group.min(initial=-1) < -1:
        raise SynafaError(f"group must hold -1 or positions among the {len(prices.group_names)} group names.")
    if len(prices.panel_names) != len(prices.panels):
        raise SynafaError(f"There are {len(prices.panel_names)} panel names for {len(prices.panels)} panels.")
    for j, name in enumerate(names):
        as_price(name, float(prices.price[j]))
        as_price(name, float(prices.price_in_group[j]), "price_in_group")
        if prices.price_in_group[j] > prices.price[j]:
            raise SynafaError(
                f"price_in_group of {name!r} is {prices.price_in_group[j]:g}, more than its price {prices.price[j]:g}."
            )
        if prices.group[j] < 0 and prices.price_in_group[j] != prices.price[j]:
            raise SynafaError(f"{name!r} has a price_in_group but no group.")
    seen: set[int] = set()
    for panel, label in zip(prices.panels, prices.panel_names):
        if (
            len(set(panel)) < 2
            or min(panel) < 0
            or max(panel) >= d
            or seen & set(panel)
            or len(set(panel)) < len(panel)
        ):
            raise SynafaError(f"The panel {label!r} must hold two or more features that are in no other panel.")
        seen |= set(panel)
        for values in (prices.price, prices.group, prices.price_in_group):
            if len(set(values[list(panel)].tolist())) > 1:
                members = ", ".join(repr(names[j]) for j in panel)
                raise SynafaError(f"The members of panel {label!r} ({members}) must have one price and one group.")


def set_cost(prices: PriceList, features: Iterable[int], acquired: np.ndarray | None) -> float:
    """What all of `features` cost in the cheapest order: a panel once, and of a group one member in full."""
    have = np.zeros(prices.n_features, dtype=bool) if acquired is None else np.asarray(acquired, dtype=bool)
    have_panels = {int(i) for i in prices.panel[have] if i >= 0}
    paid_groups = {int(g) for g in prices.group[have]}
    wanted: dict[tuple[str, int], int] = {}
    for feature in features:
        j = int(feature)
        i = int(prices.panel[j])
        if not have[j] and i not in have_panels:
            wanted.setdefault(("panel", i) if i >= 0 else ("feature", j), j)
    by_group: dict[int, list[int]] = {}
    for j in wanted.values():
        by_group.setdefault(int(prices.group[j]), []).append(j)
    terms: list[float] = []
    for g, members in by_group.items():
        full = prices.price[members].tolist()
        inside = prices.price_in_group[members].tolist()
        if g < 0:
            terms += full
        elif g in paid_groups:
            terms += inside
        else:
            first = min(range(len(members)), key=lambda u: full[u] - inside[u])
            terms += [full[u] if u == first else inside[u] for u in range(len(members))]
    return math.fsum(terms)
