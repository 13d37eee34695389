"""Reads what a practitioner has: a CSV or Parquet file, the name of its target column, a list of costs.

Cells that hold one of `NA_STRINGS` are missing. Every way in which a file can be unusable is one sentence.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.table.names import close_names

if TYPE_CHECKING:
    import polars as pl

NA_STRINGS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
MAX_CLASSES = 256
_CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_PARQUET_SUFFIXES = (".parquet", ".pq")


def read_table(path: str | os.PathLike[str]) -> pl.DataFrame:
    """A CSV (comma, semicolon or tab) or Parquet file as a Polars DataFrame with unique names and at least one row."""
    path = Path(path)
    name = path.name.lower()
    if not path.exists():
        raise SynafaError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise SynafaError(f"{str(path)!r} is a folder; give a CSV or Parquet file.")
    if not name.endswith(_CSV_SUFFIXES + _PARQUET_SUFFIXES):
        raise SynafaError(f"{str(path)!r} is neither CSV nor Parquet; give a file that ends in .csv, .tsv or .parquet.")
    if path.stat().st_size == 0:
        raise SynafaError(f"{str(path)!r} is empty.")
    table = _read_parquet(path) if name.endswith(_PARQUET_SUFFIXES) else _read_csv(path)
    if table.width == 0:
        raise SynafaError(f"{str(path)!r} has no columns.")
    if table.height == 0:
        raise SynafaError(f"{str(path)!r} has column names but no rows.")
    return table


def split_target(table: pl.DataFrame, target: str) -> tuple[pl.DataFrame, np.ndarray]:
    """The feature columns and the class labels of a table; every row must have a label."""
    if target not in table.columns:
        raise SynafaError(f"There is no column {target!r} for the target{close_names(target, table.columns)}.")
    column = table[target]
    if column.dtype.is_float():
        column = column.fill_nan(None)
    missing = np.flatnonzero(column.is_null().to_numpy())
    if len(missing):
        raise SynafaError(
            f"The target {target!r} is missing in {len(missing)} of {table.height} rows, first in row "
            f"{missing[0] + 1}; label these rows or leave them out."
        )
    if column.dtype.is_temporal() or column.dtype.is_nested():
        raise SynafaError(f"The target {target!r} holds {column.dtype}; it must hold class labels (numbers or text).")
    distinct = column.n_unique()
    if distinct > MAX_CLASSES:
        raise SynafaError(
            f"The target {target!r} has {distinct} distinct values, more than {MAX_CLASSES} classes; "
            "group a measured number into classes first."
        )
    if table.width == 1:
        raise SynafaError(f"The table has no column beside the target {target!r}.")
    labels = column.to_numpy()
    if labels.dtype.kind == "f":
        if np.isinf(labels).any():
            row = int(np.flatnonzero(np.isinf(labels))[0])
            raise SynafaError(f"The target {target!r} is infinite in row {row + 1}; it must hold class labels.")
        if (labels == np.round(labels)).all() and (np.abs(labels) < 2**53).all():
            labels = labels.astype(np.int64)
    return table.drop(target), labels.astype(str) if labels.dtype.kind == "O" else labels


def parse_costs(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Iterable[str] | None, feature_names: Sequence[str]
) -> dict[str, float] | None:
    """Costs by feature name, 1 where nothing is said; None when `spec` says nothing at all.

    spec : a mapping, words `name=cost`, or a CSV file (columns `feature`, `cost`) or JSON file (an object)
    """
    given: dict[str, Any] = {}
    if spec is None:
        return None
    if isinstance(spec, Mapping):
        given.update({str(name): cost for name, cost in spec.items()})
    else:
        for word in [spec] if isinstance(spec, str | os.PathLike) else list(spec):
            text = os.fspath(word)
            if text.lower().endswith((".csv", ".json")) and (Path(text).exists() or "=" not in text):
                given.update(_read_costs(Path(text)))
            elif "=" in text:
                name, cost = text.rsplit("=", 1)
                given[name.strip()] = cost
            else:
                raise SynafaError(f"Cannot read the cost {text!r}; write name=cost or give a .csv or .json file.")
    if not given:
        return None
    costs = dict.fromkeys(feature_names, 1.0)
    for name, cost in given.items():
        if name not in costs:
            raise SynafaError(f"A cost is given for the unknown feature {name!r}{close_names(name, feature_names)}.")
        costs[name] = _cost(name, cost)
    return costs


def _cost(name: str, value: Any) -> float:
    try:
        cost = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        cost = math.nan
    if not math.isfinite(cost) or cost < 0:
        raise SynafaError(f"The cost of {name!r} is {value!r}; a cost must be a finite number of at least 0.")
    return cost


def _read_costs(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise SynafaError(f"There is no cost file {str(path)!r}.")
    if path.suffix.lower() == ".json":
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, OSError) as error:
            raise SynafaError(f"The cost file {str(path)!r} is not readable JSON.") from error
        if not isinstance(value, dict):
            raise SynafaError(f"The cost file {str(path)!r} must hold one object of the form {{name: cost}}.")
        return value
    table = read_table(path)
    if not {"feature", "cost"} <= set(table.columns):
        raise SynafaError(f"The cost file {str(path)!r} needs the columns 'feature' and 'cost'.")
    names = [str(name) for name in table["feature"]]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise SynafaError(f"The cost file {str(path)!r} names {twice!r} twice.")
    return dict(zip(names, table["cost"].to_list()))


def _read_parquet(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SynafaError(f"{str(path)!r} is not a readable Parquet file.") from error


def _read_csv(path: Path) -> pl.DataFrame:
    import polars as pl

    separator, header = _header(path)
    if len(set(header)) < len(header):
        twice = next(name for i, name in enumerate(header) if name in header[:i])
        raise SynafaError(f"Two columns of {str(path)!r} are called {twice!r}; give every column its own name.")
    if all(_is_number(cell) for cell in header):
        raise SynafaError(f"The first line of {str(path)!r} holds numbers; it must hold the column names.")
    if "" in header:
        raise SynafaError(f"Column {header.index('') + 1} of {str(path)!r} has no name.")
    try:
        table = pl.read_csv(path, separator=separator, null_values=list(NA_STRINGS), infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        _check_widths(path, separator, len(header))
        raise SynafaError(f"{str(path)!r} is not a readable CSV file: {_first_line(error)}.") from error
    if table.width != len(header):
        _check_widths(path, separator, len(header))
        raise SynafaError(f"{str(path)!r} has {len(header)} names for {table.width} columns.")
    table.columns = header
    if table.height and table.to_series(-1).null_count():
        _check_widths(path, separator, len(header))  # Polars pads a short row with empty cells
    # Whole numbers beyond 64 bits (identifiers, mostly) have no NumPy type.
    huge = [
        pl.col(name).cast(pl.Float64) for name, dtype in table.schema.items() if str(dtype) in ("Int128", "UInt128")
    ]
    texts = [_tidy(table[name]) for name, dtype in table.schema.items() if dtype == pl.String]
    return table.with_columns(*huge, *texts)


def _tidy(column: pl.Series) -> pl.Series:
    """Text without surrounding spaces; numbers that only spaces had made text."""
    import polars as pl

    text = column.str.strip_chars()
    text = pl.select(pl.when(text.is_in(list(NA_STRINGS))).then(None).otherwise(text).alias(column.name)).to_series()
    numbers = text.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == text.null_count() else text


def _open(path: Path) -> Any:
    if path.name.lower().endswith(".gz"):
        import gzip

        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _header(path: Path) -> tuple[str, list[str]]:
    """The separator (the likeliest of comma, semicolon and tab in the first line) and the column names."""
    try:
        with _open(path) as file:
            line = file.readline()
            separator = max(",;\t", key=line.count)
            file.seek(0)
            header = next(csv.reader(file, delimiter=separator), [])
    except (UnicodeDecodeError, OSError, EOFError, csv.Error) as error:
        raise SynafaError(f"{str(path)!r} is not a text file in UTF-8; save it as CSV in UTF-8.") from error
    header = [name.strip() for name in header]
    if not any(header):
        raise SynafaError(f"{str(path)!r} has no column names in its first line.")
    return separator, header


def _check_widths(path: Path, separator: str, width: int) -> None:
    """Refuse the first row whose number of cells differs from the header's."""
    try:
        with _open(path) as file:
            for number, row in enumerate(csv.reader(file, delimiter=separator), start=1):
                if row and len(row) != width:
                    raise SynafaError(f"Line {number} of {str(path)!r} has {len(row)} cells, the header has {width}.")
    except UnicodeDecodeError as error:
        raise SynafaError(f"{str(path)!r} is not a text file in UTF-8; save it as CSV in UTF-8.") from error
    except csv.Error as error:
        raise SynafaError(f"{str(path)!r} is not a readable CSV file: {_first_line(error)}.") from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["unknown reason"])[0].rstrip(".")
