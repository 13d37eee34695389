"""Columns that arrive as text and may be numbers: spaces, decimal commas, a cell in a hundred that was mistyped.

A column counts as nearly numeric when at least 95 % of its cells that are not empty are numbers. What then happens to
the other cells is the caller's choice, and it is always said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synafa.errors import SynafaError
from synafa.table.notices import Notice, Tell

if TYPE_CHECKING:
    import polars as pl

NA_STRINGS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
NEARLY_NUMERIC = ("missing", "stop", "text")
NEARLY = 0.95
# What `str.strip()` takes off: Polars' own idea of a space leaves out four control characters.
SPACES = "".join(chr(i) for i in range(0x3001) if chr(i).isspace())
DECIMAL_COMMA = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?$"
_WORDS = ("true", "false", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan", "+nan", "-nan")
_THOUSANDS = r"^[+-]?\d{1,3},\d{3}$"


def tidy(column: pl.Series, nearly_numeric: str, separator: str, tell: Tell) -> pl.Series:
    """A text column without surrounding spaces and NA words, as numbers or booleans where that is what it holds.

    Parameters
    ----------
    column : Series of String
    nearly_numeric : "missing", "stop" or "text"
        What to do with the other cells of a nearly numeric column: leave them empty, refuse the table, or keep the
        whole column as text.
    separator : str
        Of the file; in a comma-separated file `1,234` may be a thousand and is left alone.
    tell : called with a Notice for everything that changes a meaning

    Raises
    ------
    SynafaError
        For a nearly numeric column under "stop".
    """
    import polars as pl

    if _surely_text(column):
        return column
    text = column.str.strip_chars(SPACES)
    text = pl.select(pl.when(text.is_in(list(NA_STRINGS))).then(None).otherwise(text).alias(column.name)).to_series()
    filled = len(text) - text.null_count()
    if not filled:
        return text
    whole = text.cast(pl.Int64, strict=False)
    if whole.null_count() == text.null_count():
        return whole
    numbers, commas = _numbers(text, separator, tell)
    good = len(numbers) - numbers.null_count()
    if good == filled or (good >= NEARLY * filled and nearly_numeric != "text"):
        if commas:
            tell(_commas_read(text, commas))
        if good < filled:
            _left_empty(text, numbers, nearly_numeric, tell)
        return numbers
    if good >= NEARLY * filled:
        row, cell = _first_other(text, numbers)
        words = (
            f"Column {column.name!r} is kept as text because of {filled - good} cell(s), first {cell!r} in row {row}."
        )
        tell(Notice(words, column.name, row, cell, filled - good))
        return text
    lower = text.str.to_lowercase()
    if lower.is_in(["true", "false"]).sum() == filled:
        return (lower == "true").alias(column.name)
    return text


def _surely_text(column: pl.Series) -> bool:
    """Whether a long column has a few distinct cells, all of them tidy and none a number, a truth value or NA."""
    if len(column) < 1000:
        return False
    distinct = column.unique().drop_nulls()
    if len(distinct) > 1000:
        return False
    return not any(
        cell != cell.strip() or cell in NA_STRINGS or cell.lower() in _WORDS or cell.strip("+-.")[:1].isdigit()
        for cell in distinct.to_list()
    )


def _numbers(text: pl.Series, separator: str, tell: Tell) -> tuple[pl.Series, int]:
    """The cells as numbers, null where a cell is none, and how many of them had a decimal comma."""
    import polars as pl

    numbers = text.cast(pl.Float64, strict=False)
    comma = text.str.contains(DECIMAL_COMMA)
    count = int(comma.sum() or 0)
    if not count:
        return numbers, 0
    if separator == "," and text.filter(comma.fill_null(False)).str.contains(_THOUSANDS).all():
        row = int(comma.fill_null(False).arg_true()[0]) + 1
        cell = str(text[row - 1])
        words = (
            f"Column {text.name!r} is kept as text: {cell!r} in row {row} may be a thousand or a decimal number; "
            "write it with a decimal point."
        )
        tell(Notice(words, text.name, row, cell, count))
        return numbers, 0
    pointed = text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    read = pointed.cast(pl.Float64, strict=False)
    return pl.select(pl.when(comma).then(read).otherwise(numbers).alias(text.name)).to_series(), count


def _commas_read(text: pl.Series, count: int) -> Notice:
    row = int(text.str.contains(DECIMAL_COMMA).fill_null(False).arg_true()[0]) + 1
    cell = str(text[row - 1])
    words = f"Column {text.name!r} has decimal commas in {count} cell(s), first {cell!r} in row {row}; read as numbers."
    return Notice(words, text.name, row, cell, count)


def _left_empty(text: pl.Series, numbers: pl.Series, nearly_numeric: str, tell: Tell) -> None:
    row, cell = _first_other(text, numbers)
    count = numbers.null_count() - text.null_count()
    if nearly_numeric == "stop":
        raise SynafaError(
            f"Column {text.name!r} holds numbers but for {count} cell(s), first {cell!r} in row {row}; correct or "
            "empty them, or choose 'missing' or 'text' for nearly numeric columns."
        )
    words = (
        f"Column {text.name!r} holds numbers but for {count} cell(s), first {cell!r} in row {row}; "
        f"{'it is' if count == 1 else 'they are'} treated as missing."
    )
    tell(Notice(words, text.name, row, cell, count))


def _first_other(text: pl.Series, numbers: pl.Series) -> tuple[int, str]:
    """Row (from 1) and content of the first cell that is not empty and not a number."""
    at = int((text.is_not_null() & numbers.is_null()).arg_true()[0])
    return at + 1, str(text[at])[:60]
