"""Raw columns into the study's values: label-encode text, fill with the column mean, z-normalise; and the seeded split.

Filling and scaling look at the whole table, before the split: that is the published protocol, and leaks a little test
information into the scaling. `synafa.SynAFA` itself fits everything on training rows only.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

MISSING = ("", "?", "NA")


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table as its source has it: values float64 (n, D) with NaN for a missing cell, y int64 (n,), D names."""

    values: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]


def encode_columns(
    frame: pl.DataFrame, missing_category: str | None = None, missing: tuple[str, ...] = MISSING
) -> np.ndarray:
    """Turn a frame of strings into float64 (n, D): numbers as they are, text as ranks of its distinct strings.

    missing_category : the string under which missing cells of a text column are ranked; None leaves them NaN
    """
    columns = [_encode(frame[name], missing_category, missing) for name in frame.columns]
    return np.column_stack(columns) if columns else np.empty((frame.height, 0))


def _encode(column: pl.Series, missing_category: str | None, missing: tuple[str, ...]) -> np.ndarray:
    import polars as pl

    text = column.str.strip_chars()
    text = text.set(text.is_in(list(missing)), None)
    number = text.cast(pl.Float64, strict=False)
    if number.null_count() == text.null_count():
        return number.fill_null(np.nan).to_numpy().astype(np.float64)
    if missing_category is not None:
        text = text.fill_null(missing_category)
    rank = {word: float(position) for position, word in enumerate(sorted(text.drop_nulls().unique().to_list()))}
    return text.replace_strict(rank, default=None, return_dtype=pl.Float64).fill_null(np.nan).to_numpy()


def fill_and_scale(values: np.ndarray) -> np.ndarray:
    """Fill NaN with the column mean and z-normalise (population deviation, 1 for a constant column), as float32."""
    missing = np.isnan(values)
    known = np.maximum((~missing).sum(axis=0), 1)  # a column without a single value becomes zeros
    mean = np.where(missing, 0.0, values).sum(axis=0) / known
    filled = np.where(missing, mean, values)
    deviation = filled.std(axis=0)
    constant = filled.min(axis=0) == filled.max(axis=0)  # rounding can leave a constant column a tiny deviation
    return ((filled - filled.mean(axis=0)) / np.where(constant, 1.0, deviation)).astype(np.float32)


def split_rows(n: int, instance: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the 60/20/20 split: Python's own shuffle, whose order is the same on every machine."""
    rows = list(range(n))
    random.Random(instance).shuffle(rows)
    order = np.array(rows, dtype=np.int64)
    first, second = int(0.6 * n), int(0.6 * n) + int(0.2 * n)
    return order[:first], order[first:second], order[second:]
