"""CSV files to lazy frames of one schema, with the types that one table of all their rows would have.

A column is numbers when all its cells are, or all but a few (`nearly_numeric`), over all files together; those of truth
values are 0 and 1; everything else is text. Cells are counted once to find that out, and nothing is kept in memory but
files that are compressed or not in UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from synafa.errors import SynafaError
from synafa.stream.files import Scans, check_columns
from synafa.table.notices import Notice, Tell
from synafa.table.numbers import DECIMAL_COMMA, NA_STRINGS, NEARLY, SPACES
from synafa.table.text_files import MAX_COLUMNS, TextFile, check_widths, open_text

_SAMPLED_LINES = 10_000  # lines from which types are guessed before all of a file is looked at
_END = 1 << 16  # bytes in which a last line is looked for
_SMALL = 1 << 28  # bytes of a file up to which the width of every line is checked where cells are empty


@dataclass
class _Seen:
    """A file, the types that its cells have, and how many cells of each column are there, numbers, truth values."""

    file: TextFile
    types: dict[str, Any]
    cells: dict[str, dict[str, int]]


def scan_csv(paths: list[Path], nearly_numeric: str, as_text: Iterable[str], tell: Tell) -> Scans:
    """Schema and lazy frames; how many rows there are is not known before they are read."""
    files = [open_text(path, None, MAX_COLUMNS, tell) for path in paths]
    header = _names(files[0])
    for file in files:
        _check_header(file)
        check_columns(repr(file.name), _names(file), header, repr(files[0].name))
        _check_last_line(file)
    seen = [_look_at(file) for file in files]
    _tell_of_last_lines(files, tell)
    schema = {name: _decided(name, seen, "text" if name in set(as_text) else nearly_numeric, tell) for name in header}
    if "" in files[0].header:
        tell(Notice(f"The first column of {files[0].name!r} has no name; it was left out."))
    return schema, [partial(_scan, one, schema) for one in seen], [None] * len(paths)


def _names(file: TextFile) -> list[str]:
    """The columns that have names; row names, as R and pandas write them, have none."""
    return [name for name in file.header if name]


def _check_header(file: TextFile) -> None:
    seen: set[str] = set()
    for name in file.header:
        if name in seen:
            raise SynafaError(f"Two columns of {file.name!r} are called {name!r}; give every column its own name.")
        seen.add(name)
    if "" in file.header[1:]:
        raise SynafaError(f"Column {file.header.index('', 1) + 1} of {file.name!r} has no name.")


def _lazy(file: TextFile, types: dict[str, Any] | None, sample: int | None = _SAMPLED_LINES) -> Any:
    """The file as it stands, with given types or with types guessed from a sample of its lines."""
    import polars as pl

    options: dict[str, Any] = {"separator": file.separator, "null_values": list(NA_STRINGS), "glob": False}
    if types is not None:
        options["schema"] = types
    else:
        options |= {"infer_schema_length": sample, "new_columns": file.header}
    if file.short_header:
        options |= {"has_header": False, "skip_rows": 1}
    return pl.scan_csv(file.source, **options)


def _look_at(file: TextFile) -> _Seen:
    """Types from a sample of lines if all lines agree, else all text; and the counts of cells."""
    import polars as pl

    said = ""
    for guess in (True, False):
        try:
            types: dict[str, Any] = dict.fromkeys(file.header, pl.String())
            if guess:
                types = dict(_lazy(file, None).collect_schema())
                types = {n: pl.Float64() if "128" in str(t) else t for n, t in types.items()}
            counts = _lazy(file, types).select(*[_counted(name, dtype) for name, dtype in types.items()])
            found = counts.collect(engine="streaming")
            cells = {name: found[name].item() for name in types}
            last = cells[file.header[-1]]
            if last["rows"] > last["filled"] and _size(file) <= _SMALL:
                check_widths(file, len(file.header))  # Polars pads a short row with empty cells
            return _Seen(file, types, cells)
        except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
            said = (str(error).strip().splitlines() or ["unknown reason"])[0].rstrip(".")
    check_widths(file, len(file.header))
    raise SynafaError(f"{file.name!r} is not a readable CSV file: {said}.")


def _size(file: TextFile) -> int:
    return file.source.stat().st_size if isinstance(file.source, Path) else len(file.source)


def _counted(name: str, dtype: Any) -> Any:
    """How many cells of a column are filled, numbers, truth values, and numbers with a decimal comma."""
    import polars as pl

    column = pl.col(name)
    filled = column.is_not_null().sum()
    none = pl.lit(0)
    if dtype == pl.String:
        text = _tidy(column)
        filled = text.is_not_null().sum()
        numbers = text.cast(pl.Float64, strict=False).is_not_null().sum()
        truths = text.str.to_lowercase().is_in(["true", "false"]).sum()
        commas = text.str.contains(DECIMAL_COMMA).sum()
    else:
        truth = dtype == pl.Boolean
        numbers, truths, commas = (none if truth else filled), (filled if truth else none), none
    parts = {"rows": pl.len(), "filled": filled, "numbers": numbers, "truths": truths, "commas": commas}
    return pl.struct(**parts).alias(name)


def _tidy(column: Any) -> Any:
    """Text without surrounding spaces, nothing where that is one of the signs for missing."""
    import polars as pl

    text = column.str.strip_chars(SPACES)
    return pl.when(~text.is_in(list(NA_STRINGS))).then(text)


def _decided(name: str, seen: list[_Seen], nearly_numeric: str, tell: Tell) -> Any:
    """The type of a column over all files."""
    import polars as pl

    total = {key: sum(one.cells[name][key] for one in seen) for key in ("filled", "numbers", "truths", "commas")}
    filled, numbers = total["filled"], total["numbers"]
    if not filled:
        return pl.String()
    if total["truths"] == filled:
        return pl.Boolean()
    if total["commas"] and numbers + total["commas"] >= NEARLY * filled:
        worst = next(one for one in seen if one.cells[name]["commas"])
        raise SynafaError(
            f"Column {name!r} of {worst.file.name!r} has decimal commas, which are not read from a stream; write a "
            "decimal point, or read the table into memory."
        )
    if numbers == filled or (numbers >= NEARLY * filled and nearly_numeric == "missing"):
        if numbers < filled:
            file, row, cell = _first_other(name, seen)
            words = (
                f"Column {name!r} holds numbers but for {filled - numbers} cell(s), first {cell!r} in row {row} of "
                f"{file!r}; {'it is' if filled - numbers == 1 else 'they are'} treated as missing."
            )
            tell(Notice(words, name, row, cell, filled - numbers))
        kinds = {str(one.types[name]) for one in seen}
        return seen[0].types[name] if len(kinds) == 1 and pl.String() != seen[0].types[name] else pl.Float64()
    if numbers >= NEARLY * filled:
        file, row, cell = _first_other(name, seen)
        if nearly_numeric == "stop":
            raise SynafaError(
                f"Column {name!r} holds numbers but for {filled - numbers} cell(s), first {cell!r} in row {row} of "
                f"{file!r}; correct or empty them, or choose 'missing' or 'text' for nearly numeric columns."
            )
        words = (
            f"Column {name!r} is kept as text because of {filled - numbers} cell(s), first {cell!r} in row {row} of "
            f"{file!r}."
        )
        tell(Notice(words, name, row, cell, filled - numbers))
    else:
        _tell_of_types(name, seen, tell)
    return pl.String()


def _tell_of_types(name: str, seen: list[_Seen], tell: Tell) -> None:
    """Say so when a column holds nothing but numbers in one file and none in another: one of them may be wrong."""
    there = [one for one in seen if one.cells[name]["filled"]]
    numbers = [one for one in there if one.cells[name]["numbers"] == one.cells[name]["filled"]]
    texts = [one for one in there if not one.cells[name]["numbers"]]
    if numbers and texts:
        file, row, cell = _first_other(name, texts)
        words = (
            f"Column {name!r} holds numbers in {numbers[0].file.name!r} and text in {file!r}, first {cell!r} in row "
            f"{row}; all of it is read as text."
        )
        tell(Notice(words, name, row, cell, texts[0].cells[name]["filled"]))


def _first_other(name: str, seen: list[_Seen]) -> tuple[str, int, str]:
    """File, row (from 1) and content of the first cell that is not empty and not a number."""
    import polars as pl

    one = next(one for one in seen if one.cells[name]["numbers"] < one.cells[name]["filled"])
    text = _lazy(one.file, one.types | {name: pl.String()}).select(_tidy(pl.col(name)).alias("cell")).with_row_index()
    other = pl.col("cell").is_not_null() & pl.col("cell").cast(pl.Float64, strict=False).is_null()
    found = text.filter(other).head(1).collect(engine="streaming")
    return one.file.name, int(found["index"][0]) + 1, str(found["cell"][0])[:60]


def _scan(one: _Seen, schema: dict[str, Any]) -> Any:
    """A lazy frame of a file with the types of all; cells are read as text where its own types are others."""
    import polars as pl

    raw, tidied = dict(one.types), []
    for name, wanted in schema.items():
        if wanted == pl.String or one.types[name] == pl.String:
            raw[name] = pl.String()
            text = _tidy(pl.col(name))
            if wanted == pl.Boolean:
                text = text.str.to_lowercase() == "true"
            elif wanted != pl.String:
                text = text.cast(wanted, strict=False)
            tidied.append(text.alias(name))
        elif one.types[name] != wanted:
            tidied.append(pl.col(name).cast(wanted))
    return _lazy(one.file, raw).with_columns(*tidied).select(list(schema))


def _check_last_line(file: TextFile) -> None:
    """Refuse a file that ends in the middle of a row; quoted cells are left to the reader."""
    lines = _end(file).decode("utf-8", "replace").rstrip("\r\n").splitlines()
    cells = lines[-1].count(file.separator) + 1 if lines else 0
    if len(lines) > 1 and '"' not in lines[-1] and cells < len(file.header):
        raise SynafaError(
            f"{file.name!r} is cut short: its last line has {cells} cell{'s' * (cells != 1)}, the header has "
            f"{len(file.header)}."
        )


def _tell_of_last_lines(files: list[TextFile], tell: Tell) -> None:
    """Say so when only some files end with a line break: the last cell of the others may be cut short."""
    ended = [_end(file).endswith((b"\n", b"\r")) for file in files]
    for file, whole in zip(files, ended):
        if any(ended) and not whole:
            other = files[ended.index(True)].name
            words = f"{file.name!r} does not end with a line break, and {other!r} does; its last cell may be cut short."
            tell(Notice(words))


def _end(file: TextFile) -> bytes:
    """The last bytes of a file."""
    if isinstance(file.source, bytes):
        return file.source[-_END:]
    with file.source.open("rb") as raw:
        raw.seek(max(0, _size(file) - _END))
        return raw.read()
