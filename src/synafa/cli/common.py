"""What several commands share: words to names and values, output files that are whole or absent."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from synafa.cli.options import MOST as MOST
from synafa.errors import SynafaError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console


def console(error: bool = False) -> Console:
    """A Rich console on standard output or standard error."""
    from rich.console import Console

    return Console(stderr=error, highlight=False)


def print_json(value: Any) -> None:
    """One JSON value on standard output; NaN and infinity, which JSON does not have, become null."""
    typer.echo(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """NumPy scalars and arrays, mappings and sequences as plain JSON values."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def split_names(words: Iterable[str] | None, known: Sequence[str] | None = None) -> list[str]:
    """Names from repeated and comma-separated words; a name that itself holds a comma is recognised."""
    names: list[str] = []
    for word in words or ():
        if known is not None and word in known:
            names.append(word)
        else:
            names.extend(part.strip() for part in word.split(",") if part.strip())
    if known is not None:
        check_names(names, known)
    return names


def check_names(names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse a name that is none of the features, with the closest one."""
    from synafa.table.names import close_names

    for name in names:
        if name not in known:
            raise SynafaError(f"Unknown feature {name!r}{close_names(name, known)}.")


def parse_values(words: Iterable[str] | None, known: Sequence[str]) -> dict[str, str | None]:
    """`name=value` words as a mapping from known features; a name that itself holds `=` is recognised.

    `name=` is a measurement that was made and gave no result: None.
    """
    values: dict[str, str | None] = {}
    for word in words or ():
        name, sign, value = word.partition("=")
        fitting = max((name for name in known if word.startswith(f"{name}=")), key=len, default=None)
        if fitting is not None:
            name, value = fitting, word[len(fitting) + 1 :]
        if not sign or not name.strip():
            raise SynafaError(
                f"Cannot read the observation {word!r}; write name=value, or name= for a measurement without a result."
            )
        if name.strip() in values:
            raise SynafaError(f"The feature {name.strip()!r} is observed twice.")
        values[name.strip()] = value.strip() or None
    check_names(values, known)
    return values


def tell(notice: Any) -> None:
    """A notice about a table, on standard error."""
    typer.echo(f"Note: {notice.text}", err=True)


def read_labelled(
    data: Path, target: str, drop: Iterable[str] | None, nearly_numeric: str = "missing"
) -> tuple[pl.DataFrame, Any]:
    """Features and labels of a file, without the columns to leave out."""
    from synafa.table.labelled import split_labelled
    from synafa.table.reading import read_table

    table = read_table(data, nearly_numeric=nearly_numeric, as_text=(target,), tell=tell)
    return split_labelled(table, target, split_names(drop, table.columns))


def check_output(path: Path, suffixes: Sequence[str]) -> str:
    """The lower-case suffix of an output path, checked before any work is done."""
    from synafa.files import is_stream

    suffix = path.suffix.lower()
    if is_stream(path):  # a pipe or device has no name to tell the format by: the first one
        return suffix if suffix in suffixes or not suffixes else suffixes[0]
    if suffixes and suffix not in suffixes:
        raise SynafaError(f"Cannot tell the format of {str(path)!r}; let it end in {', '.join(suffixes)}.")
    if path.is_dir():
        raise SynafaError(f"{str(path)!r} is a folder; give the name of a file.")
    parent = Path(os.path.realpath(path)).parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise SynafaError(f"Cannot write {str(path)!r}: {str(parent)!r} is not a folder one can write to.")
    return suffix


def say(text: str, output: Path | None = None) -> None:
    """A line for the person at the terminal; on standard error where standard output is the output file."""
    from synafa.files import is_standard_output

    typer.echo(text, err=output is not None and is_standard_output(output))


def number(value: float) -> str:
    """A number for people: no trailing zeros."""
    return f"{value:.4g}" if math.isfinite(value) else "unlimited"
