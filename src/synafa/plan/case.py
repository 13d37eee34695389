"""One case by feature names as the tree sees it: values, masks, copies that follow, and results in words.

Nothing here needs scikit-learn or compilation, so that a saved model answers at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.table.encoder import TableEncoder
from synafa.table.names import close_names


@dataclass(frozen=True, eq=False)
class Copies:
    """Features whose value follows from another one: `target = slope * source + intercept`, all (m,)."""

    source: np.ndarray
    target: np.ndarray
    slope: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, copies: np.ndarray) -> Copies:
        """The lines between pairs of copies, bool (D, D)."""
        from synafa.plan.build import line_between

        source, target = np.nonzero(copies)
        lines = [line_between(values[:, j].astype(np.float64), values[:, k]) for j, k in zip(source, target)]
        slope, intercept = np.array(lines, dtype=np.float64).reshape(-1, 2).T
        return cls(source.astype(np.int32), target.astype(np.int32), slope.copy(), intercept.copy())

    def fill(self, values: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and mask with everything that follows filled in."""
        if not len(self.source):
            return values, mask
        values, told = np.array(values, dtype=np.float64), mask.copy()
        for j, k, slope, intercept in zip(self.source, self.target, self.slope, self.intercept):
            new = mask[:, j] & ~mask[:, k]
            values[new, k] = slope * values[new, j] + intercept
            told[:, k] |= new
        return values, told


def encode_case(encoder: TableEncoder, observed: Mapping[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
    """Values (D,) and mask (D,) of named values; None or NaN stands for a measurement without a result."""
    names = encoder.feature_names_
    values, mask = np.full(len(names), np.nan), np.zeros(len(names), bool)
    for name, value in (observed or {}).items():
        if name not in names:
            raise SynafaError(f"Unknown feature {name!r}{close_names(str(name), names)}.")
        j = names.index(name)
        mask[j] = True
        if value is None or (isinstance(value, float) and np.isnan(value)):
            continue
        values[j] = encoder.encode_value(name, value)
        if np.isnan(values[j]):
            known = encoder.categories_.get(name, ())
            listed = f"; the values are: {', '.join(known[:12])}" if known else ""
            raise SynafaError(f"{value!r} is not a value of {name!r} seen in training{listed}.")
    return values, mask


def side_words(encoder: TableEncoder, feature: int, threshold: float, below: bool) -> tuple[str, str]:
    """One side of a split in words, whole and without the name: `age <= 54` and `<= 54`, or `sex = f` and `= f`."""
    column = encoder.columns_[feature]
    if column.categories:
        inside = [c for i, c in enumerate(column.categories) if (i <= threshold) == below]
        result = f"= {' or '.join(inside)}" if len(inside) <= 3 else f"in {', '.join(inside)}"
    else:
        result = f"{'<=' if below else '>'} {threshold:.6g}"
    return f"{column.name} {result}", result


def names_to_mask(names: Iterable[str], known: tuple[str, ...]) -> np.ndarray:
    """bool (D,), True at the named features."""
    if isinstance(names, str):
        raise SynafaError(f"Feature names must be a list, got the single string {names!r}.")
    mask = np.zeros(len(known), bool)
    for name in names:
        if name not in known:
            raise SynafaError(f"Unknown feature {name!r}{close_names(str(name), known)}.")
        mask[known.index(name)] = True
    return mask
