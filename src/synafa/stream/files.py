"""CSV and Parquet files: which there are, whether they fit together, and Parquet files as lazy frames of one schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from synafa.errors import SynafaError
from synafa.table.panics import PanicError, unless_panic

_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
Scans = tuple[dict[str, Any], list[Callable[[], Any]], list[int | None]]


def kind_of(path: Path) -> str:
    """`csv`, `parquet`, or nothing."""
    name = path.name.lower()
    return "csv" if name.endswith(_CSV) else "parquet" if name.endswith(_PARQUET) else ""


def check_file(path: Path) -> None:
    """Refuse what is not there, is empty, or is neither CSV nor Parquet."""
    if not path.exists():
        raise SynafaError(f"There is no file {str(path)!r}.")
    if not kind_of(path):
        raise SynafaError(f"{str(path)!r} is neither CSV nor Parquet; give a file that ends in .csv, .tsv or .parquet.")
    if path.stat().st_size == 0:
        raise SynafaError(f"{str(path)!r} is empty.")


def check_columns(name: str, found: Sequence[str], wanted: Sequence[str], of: str) -> None:
    """Refuse a part whose columns are not those of the first, in whatever order."""
    lacking = [column for column in wanted if column not in set(found)]
    more = [column for column in found if column not in set(wanted)]
    if lacking:
        raise SynafaError(f"{name} lacks the column {lacking[0]!r}, which {of} has; give files with the same columns.")
    if more:
        raise SynafaError(f"{name} has the column {more[0]!r}, which {of} lacks; give files with the same columns.")


def scan_parquet(paths: list[Path]) -> Scans:
    """Schema, lazy frames and numbers of rows, from the files' footers."""
    import polars as pl

    schema: dict[str, Any] = {}
    rows: list[int | None] = []
    for path in paths:
        try:
            with unless_panic():
                found = dict(pl.scan_parquet(path, glob=False).collect_schema())
                rows.append(int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()))
        except (pl.exceptions.PolarsError, OSError, PanicError) as error:
            raise SynafaError(f"{str(path)!r} is cut short or is not a readable Parquet file.") from error
        if not schema:
            schema = found
        check_columns(repr(str(path)), list(found), list(schema), repr(str(paths[0])))
        for column, dtype in found.items():
            if family(dtype) != family(schema[column]):
                raise SynafaError(
                    f"The column {column!r} holds {dtype} in {str(path)!r} and {schema[column]} in {str(paths[0])!r}; "
                    "give it one type."
                )
    return schema, [partial(pl.scan_parquet, path, glob=False) for path in paths], rows


def family(dtype: Any) -> str:
    """Types that are treated alike: `number`, `text`, or the type's own name."""
    import polars as pl

    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return "number"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary) else str(dtype)
