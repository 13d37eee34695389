"""Rows in parts with a predictor each, and lists of features: what the scorers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Features = Sequence[int]
Parts = Sequence[tuple[Any, np.ndarray]]


def flat(lists: Sequence[Features]) -> tuple[np.ndarray, np.ndarray]:
    """Lists of features one after the other, int64, and where each starts (and the last ends)."""
    start = np.cumsum([0, *(len(features) for features in lists)])
    return np.array([j for features in lists for j in features], dtype=np.int64), start


def part_numbers(parts: Parts, n: int) -> np.ndarray:
    """Which part each row belongs to, int32 (n,)."""
    number = np.full(n, -1, dtype=np.int32)
    for index, (_, rows) in enumerate(parts):
        number[rows] = index
    assert (number >= 0).all()
    return number
