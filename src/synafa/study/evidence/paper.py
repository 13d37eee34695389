"""The paper's printed values, table by table, as they are printed: the number, its decimals and its star.

`paper_values.toml` holds for each table its columns, its row names and the printed cells ("-0.034*"; "tie"; "").
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from synafa.errors import SynafaError

Label = str | int | float

# This library's names -> the paper's, in lower case.
_ALIASES = {
    "bank": "bankmarketing",
    "ol-with-mask": "ol (with mask)",
    "ol-without-mask": "ol (without mask)",
    "odin-model-based": "odin",
}

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class PaperValue:
    """One printed cell: `value` (None for words such as "tie"), its star, its text and its decimals.

    `significant` is None where the table marks no significance. A cell in percent has its value in percent.
    `place` is where it is printed: table, row, column.
    """

    value: float | None
    significant: bool | None
    text: str
    place: tuple[str, str, str] | None = field(default=None, repr=False, compare=False)

    @property
    def decimals(self) -> int:
        number = _NUMBER.search(self.text)
        return len(number.group().partition(".")[2]) if number else 0


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: `columns` of numbers, `rows` of names, cells by (row, column)."""

    label: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: dict[tuple[str, str], PaperValue]

    def __len__(self) -> int:
        return len(self.cells)


@cache
def _tables() -> dict[str, PaperTable]:
    stored = tomllib.loads(files("synafa.study.evidence").joinpath("paper_values.toml").read_text(encoding="utf-8"))
    return {label: _read(label, table) for label, table in stored.items()}


def _read(label: str, stored: dict[str, Any]) -> PaperTable:
    columns = tuple(stored["columns"])
    unstarred = set(stored.get("unstarred", ())) if stored.get("starred", False) else set(columns)
    unstarred_rows = set(stored.get("unstarred_rows", ()))
    cells = {}
    for row, printed in stored["rows"].items():
        if len(printed) != len(columns):
            raise SynafaError(
                f"Row {row!r} of the paper's table {label!r} has {len(printed)} cells, not {len(columns)}."
            )
        for column, text in zip(columns, printed):
            if text:
                found = parse_cell(text, starred=column not in unstarred and row not in unstarred_rows)
                cells[row, column] = replace(found, place=(label, row, column))
    return PaperTable(label, stored["title"], columns, tuple(stored["rows"]), cells)


def parse_cell(text: str, starred: bool) -> PaperValue:
    """A printed cell, e.g. "-0.034*"; without a star it is not significant where the table uses stars."""
    number = _NUMBER.match(text.lstrip("<"))
    value = float(number.group()) if number else None
    significant = text.endswith("*") if starred else None
    return PaperValue(value, significant, text)


def paper_labels() -> tuple[str, ...]:
    """The labels of all transcribed tables."""
    return tuple(_tables())


def paper_table(label: str) -> PaperTable:
    """A table of the paper by its label, e.g. `physionet-clean`."""
    try:
        return _tables()[label]
    except KeyError:
        raise SynafaError(f"The paper has no table {label!r}; it has {', '.join(_tables())}.") from None


def paper_value(table: str, row: Label | Sequence[Label], column: Label) -> PaperValue:
    """One printed cell; the parts of a row's name may be given one by one, and by the names this library uses.

    >>> paper_value("physionet-clean", "AACO", 10)
    PaperValue(value=-0.034, significant=True, text='-0.034*')
    >>> paper_value("v1-headline", ("bank", 2), "aaco").value
    0.034
    """
    found = paper_table(table)
    wanted = _name([row] if isinstance(row, str | int | float) else row), _name([column])
    for (printed_row, printed_column), value in found.cells.items():
        if (_name([printed_row]), _name([printed_column])) == wanted:
            return value
    raise SynafaError(
        f"The paper's table {table!r} prints nothing at row {row!r}, column {column!r}; "
        f"rows: {', '.join(found.rows)}; columns: {', '.join(found.columns)}."
    )


def find_value(table: str, row: Label | Sequence[Label], column: Label) -> PaperValue | None:
    """`paper_value`, or None where the paper prints nothing."""
    try:
        return paper_value(table, row, column)
    except SynafaError:
        return None


def _name(parts: Sequence[Label]) -> str:
    """A row's or column's name in one spelling: numbers shortest, this library's names as the paper's, lower case."""
    words = " / ".join(f"{part:g}" if isinstance(part, int | float) else part for part in parts).casefold()
    return " / ".join(_ALIASES.get(word, word) for word in words.split(" / "))
