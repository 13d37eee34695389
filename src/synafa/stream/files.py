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


def scan_parquet(paths: list[Path]) -> tuple[*Scans, Callable[[int], Any] | None]:
    """Schema, lazy frames and numbers of rows, from the files' footers; and one frame of all from a file on.

    The latter is None where files have their columns in another order or of other types.
    """
    import polars as pl

    schemas: list[dict[str, Any]] = []
    rows: list[int | None] = []
    for path in paths:
        try:
            with unless_panic():
                schemas.append(dict(pl.scan_parquet(path, glob=False).collect_schema()))
                rows.append(int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()))
        except (pl.exceptions.PolarsError, OSError, PanicError) as error:
            raise SynafaError(f"{str(path)!r} is cut short or is not a readable Parquet file.") from error
    schema = one_schema([repr(str(path)) for path in paths], schemas)
    scans: list[Callable[[], Any]] = []
    for path, found in zip(paths, schemas):
        scans.append(partial(_scan, path, casts(found, schema)))
    alike = all(list(found.items()) == list(schema.items()) for found in schemas)
    return schema, scans, rows, (lambda first: pl.scan_parquet(paths[first:], glob=False)) if alike else None


def _scan(path: Path, casts: list[Any]) -> Any:
    import polars as pl

    lazy = pl.scan_parquet(path, glob=False)
    return lazy.with_columns(*casts) if casts else lazy


def one_schema(names: Sequence[str], schemas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The types that one table of all parts has; refuses parts with other columns or with types of another family.

    A column without any value, as pandas writes it, fits to every type.
    """
    import polars as pl

    for name, found in zip(names, schemas):
        check_columns(name, list(found), list(schemas[0]), names[0])
    schema = {}
    for column in schemas[0]:
        typed = [(name, found[column]) for name, found in zip(names, schemas) if found[column] != pl.Null]
        for name, dtype in typed:
            first, other = typed[0]
            if family(dtype) != family(other):
                raise SynafaError(
                    f"The column {column!r} holds {dtype} in {name} and {other} in {first}; give it one type."
                )
        schema[column] = _common([dtype for _, dtype in typed])
    return schema


def _common(types: list[Any]) -> Any:
    """One type for values of several, all of one family."""
    import polars as pl

    if not types:
        return pl.Null()
    if all(dtype == types[0] for dtype in types) and types[0] != pl.Binary:
        return types[0]
    if family(types[0]) == "text":
        return pl.String()
    whole = all(dtype == pl.Boolean or dtype.is_integer() for dtype in types)
    return (
        pl.Int64() if whole and not any("128" in str(dtype) or dtype == pl.UInt64 for dtype in types) else pl.Float64()
    )


def casts(found: dict[str, Any], schema: dict[str, Any]) -> list[Any]:
    """What gives a part with these types the types of all."""
    import polars as pl

    return [pl.col(name).cast(dtype) for name, dtype in schema.items() if found[name] != dtype]


def family(dtype: Any) -> str:
    """Types that are treated alike: `number`, `text`, or the type's own name."""
    import polars as pl

    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return "number"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary) else str(dtype)
