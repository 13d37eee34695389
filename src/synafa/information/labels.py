"""Class labels: what is refused, the classes in order, and rows grouped by class as bit planes hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

from synafa.errors import SynafaError


def check_labels(y: Any, n_rows: int) -> np.ndarray:
    """Class labels, one a row, none missing, all of types that can be compared.

    A zero character is refused, for NumPy would take `p` and `p\\0` for one class.
    """
    refuse_zero_characters(y)
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise SynafaError(f"y must hold one class for each of the {n_rows} rows, got shape {labels.shape}.")
    if labels.dtype.kind == "O":
        missing = np.array([_is_missing(label) for label in labels], dtype=bool)
    else:
        missing = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(0, bool)
    if missing.any():
        raise SynafaError(f"y has {int(missing.sum())} missing label(s), the first in row {int(np.argmax(missing))}.")
    if labels.dtype.kind == "O":
        try:
            labels.copy().sort()
        except TypeError as error:
            kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
            raise SynafaError(
                f"y mixes labels of the types {kinds}; give all of them as text or as numbers."
            ) from error
    return labels


def refuse_zero_characters(y: Any) -> None:
    """Refuse a text with a zero character while `y` is not a NumPy array yet, which drops it at the end of a text."""
    dtype: Any = getattr(y, "dtype", None)
    if type(y).__module__.partition(".")[0] == "polars":
        found = not dtype.is_numeric() and any("\0" in str(label) for label in y.unique())
    else:
        objects = isinstance(y, list | tuple) or getattr(dtype, "kind", "") == "O"
        found = objects and any(isinstance(label, str) and "\0" in label for label in y)
    if found:
        raise SynafaError("y holds a class with a zero character; remove it, two classes may otherwise look like one.")


def _is_missing(label: Any) -> bool:
    """None, NaN, and pandas' NA and NaT."""
    return (
        label is None or type(label).__name__ in ("NAType", "NaTType") or (isinstance(label, float) and label != label)
    )


def classes_of(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes in order and each row's place among them; small whole numbers are not sorted but looked up."""
    if labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < len(labels):
        there = np.bincount(labels) > 0
        return np.flatnonzero(there).astype(labels.dtype), (np.cumsum(there) - 1)[labels]
    return np.unique(labels, return_inverse=True)


def rows_by_class(indices: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows grouped by class, each group padded with -1 to whole groups of 64-bit words, and each one's first word."""
    from synafa.information.kernels.counts import WORDS

    sizes = np.bincount(indices, minlength=n_classes)
    starts = np.concatenate([[0], WORDS * np.cumsum(-(-sizes // (64 * WORDS)))])
    order = np.full(64 * int(starts[-1]), -1, np.int64)
    narrow = indices.astype(np.uint16) if n_classes <= 1 << 16 else indices  # 16 bits are sorted by counting
    by_class = np.argsort(narrow, kind="stable")
    first = np.concatenate([[0], np.cumsum(sizes)])
    for y in range(n_classes):
        order[64 * starts[y] : 64 * starts[y] + sizes[y]] = by_class[first[y] : first[y + 1]]
    return order, starts
