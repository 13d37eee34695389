"""The text of a CSV file: its encoding, its compression, its separator, its header and the width of its rows.

Nothing is decompressed beyond a limit, and a file that is not UTF-8 is read as what it most likely is, with a notice.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from synafa.errors import SynafaError
from synafa.memory import available_bytes, size_in_words
from synafa.table.notices import Notice, Tell

MAX_COLUMNS = 100_000
_LIMIT = "SYNAFA_MAX_TABLE_GIB"
_PIECE = 1 << 22


@dataclass(frozen=True)
class TextFile:
    """A CSV file ready to be read: a path of UTF-8 text, or its decoded bytes; its separator and column names.

    R writes row names without a name for their column: their name is "" here, and `short_header` says that the first
    line has one cell less than the others.
    """

    name: str
    source: Path | bytes
    separator: str
    header: list[str]
    short_header: bool = False

    def lines(self) -> Any:
        """The text, for Python's csv reader."""
        raw = self.source.open("rb") if isinstance(self.source, Path) else io.BytesIO(self.source)
        return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


def size_limit(max_bytes: int | None = None) -> int:
    """How large a table may become in memory: what was asked for, else `SYNAFA_MAX_TABLE_GIB`, else most of it."""
    if max_bytes is not None:
        return max_bytes
    chosen = os.environ.get(_LIMIT)
    if chosen:
        try:
            limit = float(chosen)
            return int(limit * 2**30) if limit > 0 else _bad_limit(chosen)
        except (ValueError, OverflowError):
            _bad_limit(chosen)
    free = available_bytes()
    return int(0.8 * free) if free is not None else 16 * 2**30


def too_large(path: Path, needed: float, limit: int) -> SynafaError:
    """A table that would not fit, in words."""
    return SynafaError(
        f"{str(path)!r} unpacks to {size_in_words(needed)} or more, and {size_in_words(limit)} are allowed; "
        f"leave out columns or rows, or set {_LIMIT} to a larger number."
    )


def open_text(path: Path, max_bytes: int | None, max_columns: int, tell: Tell) -> TextFile:
    """A CSV file, decompressed and decoded as far as it has to be, with its separator and header."""
    source: Path | bytes = path
    if path.name.lower().endswith(".gz"):
        source = _decompressed(path, size_limit(max_bytes))
    start = _start(source)
    _refuse_foreign(path, start)
    try:
        separator, header, width = _header(path, source)
    except UnicodeDecodeError:
        source = _decoded(path, source, start, tell)
        separator, header, width = _header(path, source)
    if len(header) > max_columns:
        raise SynafaError(
            f"{str(path)!r} has {len(header):,} columns, more than {max_columns:,}; leave out what is not needed."
        )
    short = width == len(header) + 1 and "" not in header
    return TextFile(str(path), source, separator, ["", *header] if short else header, short)


def decoded(file: TextFile, tell: Tell) -> TextFile | None:
    """The file again when a cell below its header is not UTF-8; None when all of it is."""
    raw = file.source.read_bytes() if isinstance(file.source, Path) else file.source
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        path = Path(file.name)
        return replace(file, source=_decoded(path, raw, raw[:4], tell))
    return None


def check_widths(file: TextFile, width: int) -> None:
    """Refuse the first row whose number of cells differs from the header's."""
    if _all_as_wide(file, width):
        return
    try:
        with file.lines() as lines:
            for number, row in enumerate(csv.reader(lines, delimiter=file.separator), start=1):
                if row and len(row) != width and not (number == 1 and file.short_header):
                    raise SynafaError(f"Line {number} of {file.name!r} has {len(row)} cells, the header has {width}.")
    except UnicodeDecodeError as error:
        raise SynafaError(f"{file.name!r} is not a text file in UTF-8; save it as CSV in UTF-8.") from error
    except csv.Error as error:
        raise SynafaError(f"{file.name!r} is not a readable CSV file: {str(error).rstrip('.')}.") from error


def _all_as_wide(file: TextFile, width: int) -> bool:
    """Whether every line surely has `width` cells: separators are counted outside quotes, without a loop in Python."""
    import polars as pl

    unused = "\x1e"
    try:
        lines = pl.read_csv(
            file.source, separator=unused, quote_char=None, has_header=False, infer_schema=False, new_columns=["line"]
        )["line"]
    except (pl.exceptions.PolarsError, OSError):
        return False
    lines = lines[int(file.short_header) :].drop_nulls().str.replace_all(r'"[^"]*"', "")
    counts = lines.str.count_matches(file.separator, literal=True)
    return bool(((counts == width - 1) | (lines.str.strip_chars("\r") == "")).all())


def _start(source: Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:4]
    with source.open("rb") as file:
        return file.read(4)


def _refuse_foreign(path: Path, start: bytes) -> None:
    """A workbook or a Parquet file that is merely called .csv."""
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise SynafaError(f"{str(path)!r} is an Excel workbook or an archive; save its sheet as CSV (UTF-8) first.")
    if start == b"PAR1":
        raise SynafaError(f"{str(path)!r} is a Parquet file; let its name end in .parquet.")


def _decompressed(path: Path, limit: int) -> bytes:
    pieces, size = [], 0
    try:
        with gzip.open(path, "rb") as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                if size > limit:
                    raise too_large(path, size, limit)
                pieces.append(piece)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SynafaError(f"{str(path)!r} is cut off or damaged: it cannot be decompressed; fetch it again.") from error
    if not size:
        raise SynafaError(f"{str(path)!r} is empty.")
    return b"".join(pieces)


def _decoded(path: Path, source: Path | bytes, start: bytes, tell: Tell) -> bytes:
    """The bytes of a file as UTF-8, from UTF-16 with a mark, else from Windows-1252 (which contains latin-1)."""
    raw = source.read_bytes() if isinstance(source, Path) else source
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding, called = "utf-16", "UTF-16"
    elif b"\0" in raw:
        raise SynafaError(f"{str(path)!r} is not a text file in UTF-8; save it as CSV in UTF-8.")
    else:
        encoding, called = "cp1252", "Windows-1252 (latin-1)"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-16":
            raise SynafaError(f"{str(path)!r} is not a text file in UTF-8; save it as CSV in UTF-8.") from error
        text = raw.decode("latin-1")
    tell(Notice(f"{str(path)!r} is not UTF-8; it was read as {called}."))
    return text.encode("utf-8")


def _header(path: Path, source: Path | bytes) -> tuple[str, list[str], int]:
    """The separator (the likeliest of comma, semicolon and tab in the first line), the column names, the next width."""
    file = TextFile(str(path), source, ",", [])
    csv.field_size_limit(2**31 - 1)
    try:
        with file.lines() as lines:
            line = re.sub(r'"[^"]*"', "", lines.readline())
            separator = max(",;\t", key=line.count)
            lines.seek(0)
            rows = csv.reader(lines, delimiter=separator)
            header = next(rows, [])
            width = len(next(rows, []))
    except csv.Error as error:
        raise SynafaError(f"{str(path)!r} is not a readable CSV file: {str(error).rstrip('.')}.") from error
    header = [name.strip() for name in header]
    if not any(header):
        raise SynafaError(f"{str(path)!r} has no column names in its first line.")
    return separator, header, width


def _bad_limit(chosen: str) -> int:
    raise SynafaError(f"{_LIMIT} must be a number of GiB above 0, got: {chosen!r}.")
