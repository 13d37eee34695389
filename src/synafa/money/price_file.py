"""Reads and writes price lists as CSV: `feature,price,panel,group,price_in_group`, all but the first two optional.

Every problem is one sentence that names file, line and column.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.files import write_text
from synafa.money.cells import (
    EMPTY,
    SmallTable,
    as_price,
    has_decimal_comma,
    is_thousand_like,
    parse_number,
    read_cells,
)
from synafa.table.names import close_names, some_names

if TYPE_CHECKING:
    from synafa.money.prices import PriceList

COLUMNS = ("feature", "price", "panel", "group", "price_in_group")
Complain = Callable[[int, str, str], SynafaError]


@dataclass(frozen=True)
class _Entry:
    """One line of a price list."""

    feature: str
    price: float
    panel: str
    group: str
    price_in_group: float | None


def read_prices(
    path: str | os.PathLike[str],
    feature_names: Iterable[str] | None = None,
    *,
    known: Iterable[str] = (),
    default: float | None = None,
    left_out: Iterable[str] = (),
) -> dict[str, Any]:
    """See `PriceList.from_csv`."""
    table = read_cells(path, "price list")
    columns = _columns(table)
    entries = [_entry(table, columns, row) for row in range(len(table.rows))]
    _refuse_mixed_decimals(table, columns)
    _refuse_split_numbers(table, columns, entries)
    names = None if feature_names is None else [str(name) for name in feature_names]
    if names is not None:
        may = {*names, *map(str, left_out)}
        for row, entry in enumerate(entries):
            if entry.feature not in may:
                raise table.error(
                    row, "feature", f"{entry.feature!r} is not a feature{close_names(entry.feature, names)}"
                )
    _check(entries, table.error)
    if names is not None:
        there = {entry.feature for entry in entries}
        free = {str(name) for name in known}
        missing = [name for name in names if name not in there]
        unpriced = [name for name in missing if name not in free]
        if unpriced and default is None:
            raise SynafaError(
                f"The price list {table.path!r} has no price for {some_names(unpriced)}; add a line for each."
            )
        added = {name: 0.0 if name in free else as_price(name, default) for name in missing}
        by_name = {entry.feature: entry for entry in entries}
        entries = [by_name.get(name) or _Entry(name, added[name], "", "", None) for name in names]
    if not entries:
        raise SynafaError(f"The price list {table.path!r} has column names but no features.")
    return _price_list(entries)


def from_columns(
    feature: Sequence[str],
    price: Sequence[Any],
    panel: Sequence[str | None] | None = None,
    group: Sequence[str | None] | None = None,
    price_in_group: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """See `PriceList.from_columns`."""
    n = len(feature)
    columns: list[Sequence[Any]] = [
        [""] * n if column is None else column for column in (feature, price, panel, group, price_in_group)
    ]
    for name, column in zip(COLUMNS, columns):
        if len(column) != n:
            raise SynafaError(f"The column {name!r} has {len(column)} cells for {n} features.")
    entries = []
    for name, cost, in_panel, in_group, inside in zip(*columns):
        label = str(name)
        reduced = None if inside is None or inside == "" else as_price(label, inside, "price_in_group")
        entries.append(_Entry(label, as_price(label, cost), str(in_panel or ""), str(in_group or ""), reduced))
    _check(entries, lambda row, column, text: SynafaError(f"{text[0].upper()}{text[1:]}."))
    return _price_list(entries)


def write_prices(prices: PriceList, path: str | os.PathLike[str]) -> None:
    """See `PriceList.to_csv`."""
    columns: list[list[str]] = [list(prices.feature_names), [_text(price) for price in prices.price]]
    header = ["feature", "price"]
    if prices.panels:
        header.append("panel")
        columns.append([prices.panel_names[i] if i >= 0 else "" for i in prices.panel])
    if (prices.group >= 0).any():
        header += ["group", "price_in_group"]
        columns.append([prices.group_names[g] if g >= 0 else "" for g in prices.group])
        columns.append([_text(q) if g >= 0 else "" for q, g in zip(prices.price_in_group, prices.group)])
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(zip(*columns))
    write_text(path, buffer.getvalue())


def _columns(table: SmallTable) -> dict[str, int]:
    """Where the columns are."""
    found: dict[str, int] = {}
    for position, cell in enumerate(table.header):
        name = cell.lower()
        if name not in COLUMNS:
            raise SynafaError(
                f"The price list {table.path!r} has an unknown column {cell!r}; its columns are {', '.join(COLUMNS)}."
            )
        if name in found:
            raise SynafaError(f"The price list {table.path!r} has two columns {name!r}.")
        found[name] = position
    for name in COLUMNS[:2]:
        if name not in found:
            raise SynafaError(f"The price list {table.path!r} has no column {name!r}; it needs 'feature' and 'price'.")
    return found


def _entry(table: SmallTable, columns: dict[str, int], row: int) -> _Entry:
    cells = {name: table.rows[row][position] for name, position in columns.items()}
    cells = {
        name: "" if name in ("panel", "group", "price_in_group") and cell in EMPTY else cell
        for name, cell in cells.items()
    }
    if not cells["feature"]:
        raise table.error(row, "feature", "the name of the feature is missing")
    if not cells["price"]:
        raise table.error(row, "price", f"the price of {cells['feature']!r} is missing")
    numbers: dict[str, float | None] = {"price": None, "price_in_group": None}
    for name in numbers:
        if cells.get(name):
            try:
                number = parse_number(cells[name])
            except ValueError as error:
                raise table.error(row, name, f"the cell {error}") from None
            if not math.isfinite(number) or number < 0:
                raise table.error(
                    row, name, f"the price of {cells['feature']!r} is {cells[name]}; it must be finite and at least 0"
                )
            numbers[name] = number
    price = numbers["price"]
    assert price is not None
    return _Entry(cells["feature"], price, cells.get("panel", ""), cells.get("group", ""), numbers["price_in_group"])


def _refuse_mixed_decimals(table: SmallTable, columns: dict[str, int]) -> None:
    """In a list with decimal commas, 1.234 may be meant as one thousand and more."""
    places = [(row, name) for row in range(len(table.rows)) for name in ("price", "price_in_group") if name in columns]
    cells = [table.rows[row][columns[name]] for row, name in places]
    comma = next((i for i, cell in enumerate(cells) if has_decimal_comma(cell)), None)
    point = next((i for i, cell in enumerate(cells) if is_thousand_like(cell)), None)
    if comma is not None and point is not None:
        row, name = places[point]
        line = table.lines[places[comma][0]]
        raise table.error(
            row,
            name,
            f"{cells[point]!r} is ambiguous in a list with decimal commas ({cells[comma]!r} in line {line}); "
            "write all numbers alike and without marks for thousands",
        )


def _refuse_split_numbers(table: SmallTable, columns: dict[str, int], entries: list[_Entry]) -> None:
    """`thal,102,90` in a comma-separated list puts the 90 into the next column, mostly the panel."""
    if table.separator != ",":
        return
    for name in ("panel", "group"):
        if columns.get(name) != columns["price"] + 1:
            continue
        labels = [getattr(entry, name) for entry in entries]
        for row, label in enumerate(labels):
            if label.isdigit() and labels.count(label) == 1:
                price = table.rows[row][columns["price"]]
                raise table.error(
                    row,
                    name,
                    f"{label!r} stands alone after the price {price}; if the price is {price},{label}, write it in "
                    f"quotes, else give the {name} another name",
                )


def _check(entries: list[_Entry], complain: Complain) -> None:
    """Refuse what contradicts itself."""
    first: dict[str, int] = {}
    first_in_panel: dict[str, int] = {}
    for row, entry in enumerate(entries):
        name = entry.feature
        if name in first:
            raise complain(row, "feature", f"{name!r} is in the price list twice")
        first[name] = row
        if entry.price_in_group is not None and not entry.group:
            raise complain(row, "price_in_group", f"{name!r} has a price_in_group but no group")
        if entry.group and entry.price_in_group is None:
            raise complain(
                row,
                "price_in_group",
                f"{name!r} is in the group {entry.group!r} but has no price_in_group; write what it costs once another "
                "member was paid",
            )
        if entry.price_in_group is not None and entry.price_in_group > entry.price:
            raise complain(
                row,
                "price_in_group",
                f"price_in_group of {name!r} is {entry.price_in_group:g}, more than its price {entry.price:g}",
            )
        if entry.panel:
            other = entries[first_in_panel.setdefault(entry.panel, row)]
            for column, mine, theirs in (
                ("price", entry.price, other.price),
                ("group", entry.group or "none", other.group or "none"),
                ("price_in_group", entry.price_in_group, other.price_in_group),
            ):
                if mine != theirs:
                    raise complain(
                        row,
                        column,
                        f"{name!r} has {column} {_said(mine)} but {other.feature!r}, of the same panel "
                        f"{entry.panel!r}, has {_said(theirs)}; a panel has one price and one group",
                    )


def _price_list(entries: list[_Entry]) -> dict[str, Any]:
    panels: dict[str, list[int]] = {}
    groups: dict[str, int] = {}
    for j, entry in enumerate(entries):
        if entry.panel:
            panels.setdefault(entry.panel, []).append(j)
        if entry.group:
            groups.setdefault(entry.group, len(groups))
    panels = {name: members for name, members in panels.items() if len(members) > 1}
    return dict(
        feature_names=tuple(entry.feature for entry in entries),
        price=np.array([entry.price for entry in entries]),
        panels=tuple(tuple(members) for members in panels.values()),
        group=np.array([groups.get(entry.group, -1) for entry in entries]),
        price_in_group=np.array([e.price if e.price_in_group is None else e.price_in_group for e in entries]),
        group_names=tuple(groups),
        panel_names=tuple(panels),
    )


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _text(number: float) -> str:
    return repr(float(number)).removesuffix(".0")
