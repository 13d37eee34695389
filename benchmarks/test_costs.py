"""Reads the tables with published test prices: fold files and cost files into rows, `PriceList` and `ErrorCosts`.

A cost file `NAME-LEVEL-costs.csv` holds, separated by spaces, the matrix of error costs (rows: true class, columns:
decided class), a line of column names, and a line for each feature: name, price, price once another feature of its
group was paid, group (`x`: none), first and last of the binary columns it became.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from synafa.errors import SynafaError
from synafa.money import ErrorCosts, PriceList

TABLES = ("heart", "hepatitis", "diabetes", "breast", "wine", "glass", "flare")
LEVELS = ("low", "middle", "high")
FOLDS = range(1, 11)
_NO_GROUP = "x"


@dataclass(frozen=True, eq=False)
class FoldCosts:
    """What one cost file says.

    prices : of the features, in the order of their binary columns
    errors : of the classes 0, 1, ...
    columns : first and last binary column of every feature
    """

    prices: PriceList
    errors: ErrorCosts
    columns: tuple[tuple[int, int], ...]

    @property
    def n_columns(self) -> int:
        return self.columns[-1][1] + 1

    def column_prices(self) -> PriceList:
        """Prices of the binary columns: those of one feature are a panel."""
        owner = [j for j, (first, last) in enumerate(self.columns) for _ in range(first, last + 1)]
        names = self.prices.feature_names
        groups = [self.prices.group_names[g] if g >= 0 else "" for g in self.prices.group]
        return PriceList.from_columns(
            [f"{names[j]}_{c - self.columns[j][0]}" for c, j in enumerate(owner)],
            self.prices.price[owner].tolist(),
            [names[j] for j in owner],
            [groups[j] for j in owner],
            [float(self.prices.price_in_group[j]) if groups[j] else None for j in owner],
        )


def read_costs(path: str | os.PathLike[str]) -> FoldCosts:
    """Read a cost file.

    Raises
    ------
    SynafaError
        If a line is not as described at the top of this module.
    """
    path = Path(path)
    lines = [line.split() for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
    header = next((i for i, words in enumerate(lines) if words[0] == "Attribute-name"), None)
    if header is None:
        raise SynafaError(f"{str(path)!r} has no line that begins with 'Attribute-name'.")
    columns: list[tuple[int, int]] = []
    rows: list[tuple[str, float, str, float | None]] = []
    try:
        errors = ErrorCosts(tuple(range(header)), np.array([[float(w) for w in words] for words in lines[:header]]))
        for name, price, inside, group, first, last in lines[header + 1 :]:
            there = "" if group == _NO_GROUP else group
            rows.append((name, float(price), there, float(inside) if there else None))
            columns.append((int(first), int(last)))
    except ValueError as error:
        raise SynafaError(f"{str(path)!r} is not a file of test prices ({error}).") from error
    starts = [0, *(last + 1 for _, last in columns)]
    if any(first != start or last < first for (first, last), start in zip(columns, starts)):
        raise SynafaError(f"The binary columns in {str(path)!r} do not follow each other.")
    names, prices, groups, insides = zip(*rows)
    return FoldCosts(
        PriceList.from_columns(names, prices, group=groups, price_in_group=insides), errors, tuple(columns)
    )


def read_rows(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """Binary columns, uint8 (n, columns), and classes, int64 (n,), of a fold file."""
    values = np.loadtxt(path, dtype=np.int64, ndmin=2)
    if not np.isin(values[:, 1:], (0, 1)).all():
        raise SynafaError(f"{os.fspath(path)!r} holds columns that are not binary.")
    return values[:, 1:].astype(np.uint8), values[:, 0]
