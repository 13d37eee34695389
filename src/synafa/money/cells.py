"""Turns the cells of a small hand-made CSV into text and numbers, and says which line and column cannot be read.

Decimal commas are understood; a cell that could mean two numbers ("1,234") is refused.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synafa.errors import SynafaError

MOST_BYTES = 50_000_000
EMPTY = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")
_SPACES = " \u00a0\u2007\u2009\u202f"
_CURRENCY = re.compile(r"^(?:[€$£¥]|EUR|USD|GBP|CHF|JPY)$", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(?:\d.*|[.,]\d+)", re.DOTALL)
_THREES = {mark: re.compile(rf"\d{{1,3}}(?:[{re.escape(mark)}]\d{{3}})+") for mark in (".", ",", f"{_SPACES}'\u2019")}


@dataclass(frozen=True)
class SmallTable:
    """The header and the rows of a CSV as text without surrounding spaces; `lines` are the rows' line numbers."""

    path: str
    separator: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def error(self, row: int, column: str, text: str) -> SynafaError:
        """A sentence that names file, line and column."""
        return SynafaError(f"{self.path!r}, line {self.lines[row]}, column {column!r}: {text}.")


def read_cells(path: str | os.PathLike[str], what: str) -> SmallTable:
    """The cells of a CSV (comma, semicolon or tab), every row as wide as the header.

    what : what the file is called in sentences, "price list"
    """
    file = Path(path)
    if not file.exists():
        raise SynafaError(f"There is no {what} {str(file)!r}.")
    if file.is_dir():
        raise SynafaError(f"{str(file)!r} is a folder; give a CSV file as the {what}.")
    if file.is_char_device() or file.is_block_device():  # one such as /dev/zero has no end
        raise SynafaError(f"{str(file)!r} is a device; give a CSV file as the {what}.")
    if file.stat().st_size > MOST_BYTES:
        raise SynafaError(f"The {what} {str(file)!r} has {file.stat().st_size:,} bytes, more than {MOST_BYTES:,}.")
    raw = file.read_bytes()
    if raw.startswith(b"PK\x03\x04"):
        raise SynafaError(f"{str(file)!r} is a spreadsheet; save the {what} as CSV (UTF-8) and give that file.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SynafaError(f"{str(file)!r} is not a text file in UTF-8; save the {what} as CSV in UTF-8.") from error
    if not text.strip():
        raise SynafaError(f"The {what} {str(file)!r} is empty.")
    first = next(line for line in text.splitlines() if line.strip())
    separator = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append(tuple(cell.strip() for cell in cells))
                lines.append(reader.line_num)
    except csv.Error as error:
        raise SynafaError(f"{str(file)!r}, line {reader.line_num}: this is not readable as CSV ({error}).") from error
    width = len(rows[0])
    for found, line in zip(map(len, rows), lines):
        if found > width and separator == ",":
            raise SynafaError(
                f"{str(file)!r}, line {line} has {found} cells and the header {width}; if a number there has a "
                'decimal comma, write it in quotes ("12,50") or separate the columns by semicolons.'
            )
        if found != width:
            raise SynafaError(f"{str(file)!r}, line {line} has {found} cells and the header {width}.")
    return SmallTable(str(file), separator, rows[0], tuple(rows[1:]), tuple(lines[1:]))


def parse_number(text: str) -> float:
    """The number that a cell means.

    Decimal points and decimal commas, thousands in threes, one currency sign before or after are understood.

    Returns
    -------
    number : float
        Possibly NaN or infinite, if the cell says so.

    Raises
    ------
    ValueError
        If it is no number, or could be two; the message completes "the cell ...".

    Examples
    --------
    >>> parse_number("12,50"), parse_number("€ 1.234,5"), parse_number("20 000"), parse_number("1e3")
    (12.5, 1234.5, 20000.0, 1000.0)
    >>> parse_number("1,234")
    Traceback (most recent call last):
    ValueError: holds '1,234', which could be 1.234 or 1234; write it without a comma
    """
    bare = _without_currency(text)
    try:
        if "_" not in bare:
            return float(bare)
    except ValueError:
        pass
    no_number = ValueError(f"holds {text!r}, which is no number")
    if not _NUMBER.fullmatch(bare):
        raise no_number
    sign, digits = (bare[0], bare[1:]) if bare[0] in "+-" else ("", bare)
    whole, fraction = digits, ""
    marks = [mark for mark in ".," if mark in digits]
    decimal = max(marks, key=digits.rfind, default="")
    if decimal and digits.count(decimal) == 1:
        whole, fraction = digits.split(decimal)
        if decimal == "," and len(fraction) == 3 and re.fullmatch(r"[1-9]\d{0,2}", whole):
            raise ValueError(
                f"holds {text!r}, which could be {sign}{whole}.{fraction} or {sign}{whole}{fraction}; "
                "write it without a comma"
            )
    if whole and not whole.isdigit():
        if not any(pattern.fullmatch(whole) for pattern in _THREES.values()):
            raise no_number
        whole = re.sub(r"\D", "", whole)
    if not (whole + fraction).isascii() or (fraction and not fraction.isdigit()):
        raise no_number
    return float(f"{sign}{whole or 0}.{fraction or 0}")


def has_decimal_comma(text: str) -> bool:
    """Whether the cell's decimal mark is a comma."""
    bare = _without_currency(text)
    return bare.count(",") == 1 and bare.rfind(",") > bare.rfind(".")


def is_thousand_like(text: str) -> bool:
    """Whether the cell reads "1.234", a thousand and more where decimals are written with commas."""
    return re.fullmatch(r"[+-]?[1-9]\d{0,2}\.\d{3}", _without_currency(text)) is not None


def _without_currency(text: str) -> str:
    bare = text.strip(_SPACES + "\t")
    for sign in (bare[:3], bare[:1]):
        if _CURRENCY.match(sign):
            return bare[len(sign) :].strip(_SPACES)
    for sign in (bare[-3:], bare[-1:]):
        if _CURRENCY.match(sign):
            return bare[: -len(sign)].strip(_SPACES)
    return bare


def as_price(name: str, value: Any, what: str = "price") -> float:
    """A finite number of at least 0."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise SynafaError(f"The {what} of {name!r} is {value!r}; a {what} must be a finite number of at least 0.")
    return number
