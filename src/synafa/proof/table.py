"""A labelled table as the proof takes it: features, classes, which rows belong together, and what to report by."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.table.labelled import split_group
from synafa.table.names import close_names
from synafa.table.suspicious import Suspicion, check_target, suspicious_columns

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 20_000
LEAST_OF_A_CLASS = 5
MOST_PARTS = 8


@dataclass(frozen=True, eq=False)
class ProofTable:
    """Rows to prove a model on.

    Attributes
    ----------
    features : polars DataFrame, n rows
    y : int64 (n,), positions in `classes`
    classes : tuple of K labels
    target : what the class is called
    groups : (n,) or None, rows with the same entry stay together
    by : tuple of str (n,) or None, the part of each row; by_name : what the parts are of
    n_given : rows before a sample was drawn
    noticed : tuple of Suspicion, columns that look wrong; names, identifiers and free text are no features
    """

    features: pl.DataFrame
    y: np.ndarray
    classes: tuple[Any, ...]
    target: str = "the class"
    groups: np.ndarray | None = None
    by: np.ndarray | None = None
    by_name: str = ""
    n_given: int = 0
    noticed: tuple[Suspicion, ...] = ()

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @classmethod
    def of(
        cls,
        features: pl.DataFrame,
        labels: Any,
        *,
        target: str = "the class",
        group: str | None = None,
        by: str | None = None,
        seed: int = 0,
    ) -> ProofTable:
        """Split off the column of groups, cut the column to report by into parts, and draw a sample of very many rows.

        Parameters
        ----------
        features : polars DataFrame
        labels : (n,)
        target : str, default="the class"
            What the class is called.
        group : str or None, default=None
            Column that says which rows belong together (one patient); it is no feature.
        by : str or None, default=None
            Column whose parts are reported one by one; it stays a feature.
        seed : int, default=0
            Of the sample.

        Raises
        ------
        SynafaError
            When a column is missing, or a class has fewer than five rows.
        """
        if by is not None and by not in features.columns:
            raise SynafaError(f"There is no column {by!r} for --by{close_names(by, features.columns)}.")
        parts = None if by is None else _parts(features[by])
        groups, features = split_group(features, group)
        check_target(np.asarray(labels), target)
        noticed = tuple(suspicious_columns(features, np.asarray(labels), seed))
        features = features.drop([one.column for one in noticed if one.left_out])
        if not features.width:
            raise SynafaError("No column is left to learn from; every one is a name, an identifier or free text.")
        names, y = np.unique(np.asarray(labels), return_inverse=True)
        n = len(y)
        if n > MOST_ROWS:
            rows = np.sort(np.random.default_rng([seed, 21]).permutation(n)[:MOST_ROWS])
            features, y = features[rows], y[rows]
            groups = None if groups is None else groups[rows]
            parts = None if parts is None else parts[rows]
        counts = np.bincount(y, minlength=len(names))
        if len(names) < 2:
            raise SynafaError(f"All rows are of one class ({str(names[0])!r}); there is nothing to tell apart.")
        if counts.min() < LEAST_OF_A_CLASS:
            rare = str(names[int(counts.argmin())])
            raise SynafaError(
                f"The class {rare!r} has {int(counts.min())} rows; a proof needs at least {LEAST_OF_A_CLASS} of every "
                "class: join it with another one or leave its rows out."
            )
        if groups is not None and len(np.unique(groups)) < 2:
            raise SynafaError(f"The column {group!r} puts all rows into one group; there must be two or more.")
        return cls(features, y.astype(np.int64), tuple(names.tolist()), target, groups, parts, by or "", n, noticed)


def _parts(column: pl.Series) -> np.ndarray:
    """The part of every row as text: few values as they are, many numbers in quarters, rare texts together."""
    if column.dtype.is_numeric() and column.n_unique() > MOST_PARTS:
        values = np.asarray(column.cast(float).fill_null(np.nan), dtype=np.float64)
        cuts = np.unique(np.nanquantile(values, [0.25, 0.5, 0.75]))
        place = np.searchsorted(cuts, values, side="left")
        between = [f"{a:g} to {b:g}" for a, b in pairwise(cuts)]
        edges = [f"up to {cuts[0]:g}", *between, f"above {cuts[-1]:g}"]
        return np.where(np.isnan(values), "not measured", np.array(edges)[np.minimum(place, len(cuts))])
    text = np.array(["not measured" if cell is None else str(cell) for cell in column.to_list()])
    names, place, counts = np.unique(text, return_inverse=True, return_counts=True)
    frequent = set(np.argsort(-counts, kind="stable")[:MOST_PARTS].tolist())
    shown = np.array([name if i in frequent else "others" for i, name in enumerate(names.tolist())])
    return shown[place]
