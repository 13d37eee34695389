"""Information tables, prices and settings to the decision rule of a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.tables import InformationTables
from synafa.information.wide import WideTables
from synafa.money.prices import PriceList
from synafa.policy.rule import DecisionRule, Rule, check_amount, name_mask
from synafa.policy.wide_rule import WideRule
from synafa.table.encoder import TableEncoder


def make_rule(
    tables: InformationTables | WideTables,
    encoder: TableEncoder,
    *,
    known: Any,
    costs: Any,
    prices: Any,
    progress: Callable[[float, str], Any] | None = None,
    **settings: Any,
) -> Rule:
    """The rule of tables: whole, or of very wide ones what decisions can reach.

    Parameters
    ----------
    tables : InformationTables or WideTables
    encoder : TableEncoder
    known : names
        Features that are known from the start and cost nothing.
    costs, prices : Any
        What a user gives: costs as `resolve_costs` takes them, or a price list; not both.
    progress : function or None, default=None
        Called as `progress(share, text)` while the pairs of a very wide table are counted.
    **settings
        The other fields of `Rule`.
    """
    names = encoder.feature_names_
    at_start = name_mask(known, names)
    listed = None
    if prices is not None:
        if costs is not None:
            raise SynafaError("Give either costs or prices, not both.")
        listed = PriceList.resolve(prices, names, known=[name for name, there in zip(names, at_start) if there])
    price = resolve_costs(costs, names) if listed is None else listed.price
    plain = listed is None or listed.is_plain
    settings |= {
        "encoder": encoder,
        "single": tables.single,
        "costs": np.where(at_start, 0.0, price),
        "known": at_start,
        "prices": None if plain else listed,
    }
    if isinstance(tables, InformationTables):
        return DecisionRule(**settings, pair=tables.pair, cond=tables.cond)
    if not plain:
        raise SynafaError(
            f"With {len(names):,} features a policy takes plain prices only; leave panels and groups out."
        )
    assert tables.rows is not None
    return WideRule.of_rows(tables.rows, progress, **settings)


def resolve_costs(costs: Any, names: tuple[str, ...]) -> np.ndarray:
    """Costs (D,) from None, an array or a mapping by name; every cost is finite and at least 0."""
    if costs is None:
        return np.ones(len(names))
    if isinstance(costs, Mapping):
        name_mask(costs, names)
        given = [costs.get(name, 1.0) for name in names]
    else:
        array = np.asarray(costs, dtype=object)
        if array.shape != (len(names),):
            raise SynafaError(f"costs must hold one cost for each of the {len(names)} features, got {array.shape}.")
        given = array.tolist()
    return np.array([check_amount(f"The cost of {name!r}", cost) for name, cost in zip(names, given)])
