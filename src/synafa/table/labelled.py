"""A labelled table taken apart: the columns to leave out, the class, and the column that names the patient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.table.names import close_names
from synafa.table.reading import split_target

if TYPE_CHECKING:
    import polars as pl


def split_labelled(table: pl.DataFrame, target: str, drop: Sequence[str] = ()) -> tuple[pl.DataFrame, Any]:
    """Features and labels, without the columns to leave out."""
    if target in drop:
        raise SynafaError(f"The target {target!r} cannot be dropped.")
    for name in drop:
        if name not in table.columns:
            raise SynafaError(f"Unknown feature {name!r}{close_names(name, table.columns)}.")
    return split_target(table.drop(drop), target)


def split_group(features: pl.DataFrame, group: str | None) -> tuple[np.ndarray | None, pl.DataFrame]:
    """The patient of every row, int64 (n,), from the column that names it, and the features without that column."""
    if group is None:
        return None, features
    if group not in features.columns:
        raise SynafaError(f"There is no column {group!r} for --group{close_names(group, features.columns)}.")
    if features.width == 1:
        raise SynafaError(f"The table has no column beside the target and {group!r}.")
    cells = features[group].to_list()
    if any(cell is None for cell in cells):
        row = next(i for i, cell in enumerate(cells) if cell is None)
        raise SynafaError(f"The column {group!r} names no patient in row {row + 1}; fill it in or leave the row out.")
    return np.unique([str(cell) for cell in cells], return_inverse=True)[1], features.drop(group)
