"""Reads what a practitioner has: a CSV or Parquet file, the name of its target column, a list of costs.

Types come from a sample of rows, and from all of them where the sample was wrong. Cells that hold one of `NA_STRINGS`
are missing. Whatever changes a cell's meaning is said (`Notice`); every way in which a file can be unusable is one
sentence.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.table.names import close_names
from synafa.table.notices import Notice, Tell, warn
from synafa.table.numbers import NA_STRINGS, NEARLY_NUMERIC, tidy
from synafa.table.panics import unless_panic
from synafa.table.text_files import MAX_COLUMNS, TextFile, check_widths, decoded, open_text, size_limit, too_large

if TYPE_CHECKING:
    import polars as pl

MAX_CLASSES = 256
_SAMPLE_ROWS = 10_000
_MOST_COST_BYTES = 50_000_000
_CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_PARQUET_SUFFIXES = (".parquet", ".pq")
_EXCEL_SUFFIXES = (".xlsx", ".xls", ".xlsm", ".ods")


def read_table(
    path: str | os.PathLike[str],
    *,
    nearly_numeric: str = "missing",
    as_text: Iterable[str] = (),
    tell: Tell = warn,
    max_bytes: int | None = None,
    max_columns: int = MAX_COLUMNS,
) -> pl.DataFrame:
    """A CSV (comma, semicolon or tab) or Parquet file as a Polars DataFrame with unique names and at least one row.

    Parameters
    ----------
    path : str or path
        A file that ends in .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .pq.
    nearly_numeric : {"missing", "stop", "text"}, default "missing"
        What to do with the other cells of a CSV column of which at least 95 % are numbers.
    as_text : iterable of str, default none
        Columns to which `nearly_numeric` does not apply, such as the target.
    tell : function of a Notice, default a Python warning (`TableWarning`)
    max_bytes : int, default `SYNAFA_MAX_TABLE_GIB` or 80 % of the free memory
        How large a compressed file may become.
    max_columns : int, default 100,000

    Returns
    -------
    DataFrame

    Raises
    ------
    SynafaError
        When the file cannot be used, with the reason.
    """
    path = Path(path)
    name = path.name.lower()
    if nearly_numeric not in NEARLY_NUMERIC:
        raise SynafaError(f"nearly_numeric must be one of {list(NEARLY_NUMERIC)}, got: {nearly_numeric!r}.")
    _check_file(path, name)
    if name.endswith(_PARQUET_SUFFIXES):
        table = _read_parquet(path, size_limit(max_bytes), max_columns)
    else:
        table = _read_csv(path, nearly_numeric, set(as_text), tell, max_bytes, max_columns)
    if table.width == 0:
        raise SynafaError(f"{str(path)!r} has no columns.")
    if table.height == 0:
        raise SynafaError(f"{str(path)!r} has column names but no rows.")
    return table


def _check_file(path: Path, name: str) -> None:
    try:
        if not path.exists():
            raise SynafaError(f"There is no file {str(path)!r}.")
        if path.is_dir():
            raise SynafaError(f"{str(path)!r} is a folder; give a CSV or Parquet file.")
        if name.endswith(_EXCEL_SUFFIXES):
            raise SynafaError(f"{str(path)!r} is an Excel workbook; save its sheet as CSV (UTF-8) and give that file.")
        if not name.endswith(_CSV_SUFFIXES + _PARQUET_SUFFIXES):
            raise SynafaError(
                f"{str(path)!r} is neither CSV nor Parquet; give a file that ends in .csv, .tsv or .parquet."
            )
        if path.is_file() and path.stat().st_size == 0:
            raise SynafaError(f"{str(path)!r} is empty.")
        if not path.is_file():
            raise SynafaError(f"{str(path)!r} is not a file; give a CSV or Parquet file.")
    except ValueError as error:
        if isinstance(error, SynafaError):
            raise
        raise SynafaError(f"{str(path)[:80]!r} cannot be the name of a file.") from error  # a zero character


def split_target(table: pl.DataFrame, target: str) -> tuple[pl.DataFrame, np.ndarray]:
    """The feature columns and the class labels of a table; every row must have a label."""
    if target not in table.columns:
        raise SynafaError(f"There is no column {target!r} for the target{close_names(target, table.columns)}.")
    import polars as pl

    column = table[target]
    if column.dtype.is_float():
        column = column.cast(pl.Float64).fill_nan(None)  # half precision has no NumPy routines for classes
    missing = np.flatnonzero(column.is_null().to_numpy())
    if len(missing):
        raise SynafaError(
            f"The target {target!r} is missing in {len(missing)} of {table.height} rows, first in row "
            f"{missing[0] + 1}; label these rows or leave them out."
        )
    if column.dtype.is_temporal() or column.dtype.is_nested():
        raise SynafaError(f"The target {target!r} holds {column.dtype}; it must hold class labels (numbers or text).")
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        zero = column.str.contains("\0", literal=True).arg_true()
        if len(zero):
            raise SynafaError(
                f"The target {target!r} holds a zero character in row {zero[0] + 1}; remove it, two classes may "
                "otherwise look like one."
            )
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
    except (TypeError, ValueError, OverflowError):
        cost = math.nan
    if not math.isfinite(cost) or cost < 0:
        shown = repr(value)[:40] if not isinstance(value, int) or abs(value) < 10**30 else "a number of many digits"
        raise SynafaError(f"The cost of {name[:60]!r} is {shown}; a cost must be a finite number of at least 0.")
    return cost


def _read_costs(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise SynafaError(f"There is no cost file {str(path)!r}.")
    if path.suffix.lower() == ".json":
        try:
            if path.stat().st_size > _MOST_COST_BYTES:
                raise SynafaError(
                    f"The cost file {str(path)!r} has {path.stat().st_size:,} bytes, more than {_MOST_COST_BYTES:,}; "
                    "it must hold one cost for each feature."
                )
            value = json.loads(path.read_text(encoding="utf-8"))
        except SynafaError:
            raise
        except (ValueError, OSError, RecursionError) as error:
            raise SynafaError(f"The cost file {str(path)!r} is not readable JSON.") from error
        if not isinstance(value, dict):
            raise SynafaError(f"The cost file {str(path)!r} must hold one object of the form {{name: cost}}.")
        return value
    table = read_table(path)
    if not {"feature", "cost"} <= set(table.columns):
        raise SynafaError(f"The cost file {str(path)!r} needs the columns 'feature' and 'cost'.")
    names = [str(name) for name in table["feature"]]
    seen: set[str] = set()
    twice = next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise SynafaError(f"The cost file {str(path)!r} names {twice!r} twice.")
    return dict(zip(names, table["cost"].to_list()))


def _read_parquet(path: Path, limit: int, max_columns: int) -> pl.DataFrame:
    import polars as pl

    try:
        with unless_panic():
            lazy = pl.scan_parquet(path)
            schema = lazy.collect_schema()
            if len(schema) > max_columns:
                raise SynafaError(
                    f"{str(path)!r} has {len(schema):,} columns, more than {max_columns:,}; leave out those that are "
                    "not needed."
                )
            rows = int(lazy.select(pl.len()).collect().item())
            if 8 * rows * len(schema) > limit:
                raise too_large(path, 8 * rows * len(schema), limit)
            table = pl.read_parquet(path)
    except SynafaError:
        raise
    except MemoryError as error:
        raise SynafaError(f"There is not enough memory for {str(path)!r}; leave out columns or rows.") from error
    except Exception as error:
        raise SynafaError(f"{str(path)!r} is not a readable Parquet file.") from error
    narrow = [name for name, dtype in table.schema.items() if str(dtype) in ("Float16", "Int128", "UInt128")]
    return table.with_columns(pl.col(name).cast(pl.Float64) for name in narrow)


def _read_csv(
    path: Path, nearly_numeric: str, as_text: set[str], tell: Tell, max_bytes: int | None, max_columns: int
) -> pl.DataFrame:
    import polars as pl

    file = open_text(path, max_bytes, max_columns, tell)
    _check_header(file)
    try:
        table = _parsed(file)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        again = decoded(file, tell)
        if again is None:
            check_widths(file, len(file.header))
            raise SynafaError(f"{str(path)!r} is not a readable CSV file: {_first_line(error)}.") from error
        file = again
        try:
            table = _parsed(file)
        except pl.exceptions.PolarsError as second:
            check_widths(file, len(file.header))
            raise SynafaError(f"{str(path)!r} is not a readable CSV file: {_first_line(second)}.") from second
    table = _without_row_names(table, file, tell)
    if table.height and table.to_series(-1).null_count():
        check_widths(file, len(file.header))  # Polars pads a short row with empty cells
    changed = []
    for name, dtype in table.schema.items():
        if str(dtype) in ("Int128", "UInt128"):  # beyond 64 bits (identifiers, mostly) there is no NumPy type
            changed.append(table[name].cast(pl.Float64))
        elif dtype == pl.String:
            changed.append(tidy(table[name], "text" if name in as_text else nearly_numeric, file.separator, tell))
    return table.with_columns(changed)


def _check_header(file: TextFile) -> None:
    header = file.header
    if len(set(header)) < len(header):
        seen: set[str] = set()
        twice = next(name for name in header if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise SynafaError(f"Two columns of {file.name!r} are called {twice!r}; give every column its own name.")
    if all(_is_number(cell) for cell in header):
        raise SynafaError(f"The first line of {file.name!r} holds numbers; it must hold the column names.")
    if "" in header[1:]:
        raise SynafaError(f"Column {header.index('', 1) + 1} of {file.name!r} has no name.")


def _parsed(file: TextFile) -> pl.DataFrame:
    """The cells, typed by a sample of rows; as text when the sample was wrong."""
    import polars as pl

    options: dict[str, Any] = {"separator": file.separator, "null_values": list(NA_STRINGS)}
    if file.short_header:
        options |= {"has_header": False, "skip_rows": 1}
    try:
        table = pl.read_csv(file.source, **options, infer_schema_length=_SAMPLE_ROWS)
    except pl.exceptions.PolarsError:
        table = pl.read_csv(file.source, **options, infer_schema=False)
    if table.width != len(file.header):
        check_widths(file, len(file.header))
        raise SynafaError(f"{file.name!r} has {len(file.header)} names for {table.width} columns.")
    table.columns = file.header
    return table


def _without_row_names(table: pl.DataFrame, file: TextFile, tell: Tell) -> pl.DataFrame:
    """The table without a first column that has no name and differs in every row, as R and pandas write it."""
    if file.header[0] != "":
        return table
    names = table.to_series(0)
    if table.width == 1 or names.n_unique() < table.height or names.null_count():
        if file.short_header:
            raise SynafaError(
                f"Line 2 of {file.name!r} has {len(file.header)} cells, the header has {len(file.header) - 1}."
            )
        raise SynafaError(f"Column 1 of {file.name!r} has no name.")
    tell(Notice(f"The first column of {file.name!r} has no name and a different value in every row; it was left out."))
    return table[:, 1:]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["unknown reason"])[0].rstrip(".")
