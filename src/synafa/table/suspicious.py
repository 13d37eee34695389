"""Columns that look wrong for learning, each with a sentence: identifiers, row numbers, leaks, too many texts.

A leak is a column that alone tells nearly every class: a tree of a few leaves on it, judged on rows it did not see,
has a balanced accuracy of at least `LEAK`. A target that is a measurement rather than a class is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synafa.errors import SynafaError
from synafa.table.encoder import MOST_CATEGORIES

if TYPE_CHECKING:
    import polars as pl

IDENTIFIER, ROW_NUMBER, LEAK_KIND, MANY_TEXTS = "identifier", "row number", "leak", "many texts"
LEAK = 0.98
DISTINCT = 0.99  # share of whole numbers that are distinct in an identifier
DISTINCT_TEXT = 0.9
LEAST_ROWS = 20  # below this everything may be distinct
MOST_NUMBERS = 30  # distinct numbers that may still be classes
_SAMPLE = 20_000
_HEAD = 100_000


@dataclass(frozen=True)
class Suspicion:
    """A column, what it looks like, and a sentence about it.

    Attributes
    ----------
    column : str
    kind : "identifier", "row number", "leak" or "many texts"
    text : str
    left_out : bool
        Whether the column says nothing to a model anyway and is left out.
    """

    column: str
    kind: str
    text: str
    left_out: bool = False


def suspicious_columns(table: pl.DataFrame, labels: np.ndarray, seed: int = 0) -> list[Suspicion]:
    """What looks wrong among the feature columns of a table.

    Parameters
    ----------
    table : polars DataFrame
        The features.
    labels : array (n,)
        The classes.
    seed : int, default=0
        Of the rows that are looked at in a large table.

    Returns
    -------
    list of Suspicion, in the order of the columns; at most one for each

    Examples
    --------
    >>> import polars as pl
    >>> y = np.arange(100) % 2
    >>> table = pl.DataFrame({"id": range(100), "outcome": y * 2.0, "lab": np.arange(100) % 7})
    >>> [(one.column, one.kind) for one in suspicious_columns(table, y)]
    [('id', 'row number'), ('outcome', 'leak')]
    """
    found = []
    rows = np.arange(table.height)
    if table.height > _SAMPLE:
        rows = np.sort(np.random.default_rng(seed).choice(table.height, _SAMPLE, replace=False))
    classes = np.unique(labels[rows], return_inverse=True)[1]
    for name in table.columns:
        one = _identity(table[name]) or _leak(table[name][rows], classes)
        if one is not None:
            found.append(one)
    return found


def check_target(labels: np.ndarray, target: str) -> None:
    """Refuse a target that is a measurement: numbers with fractions, or very many different ones.

    Raises
    ------
    SynafaError
        With a hint how to make classes of it.
    """
    if labels.dtype.kind not in "iuf":
        return
    distinct = np.unique(labels)
    fractions = bool((distinct != np.floor(distinct)).any())
    if fractions or (len(distinct) > MOST_NUMBERS and len(distinct) > 0.05 * len(labels)):
        middle = float(np.median(labels))
        raise SynafaError(
            f"The target {target!r} holds {len(distinct)} different numbers, so it is a measurement and not a class; "
            f"make classes of it first, for example a column that says whether it is above {middle:.4g}."
        )


def _identity(column: pl.Series) -> Suspicion | None:
    """Whether a column names its rows."""
    import polars as pl

    name, seen = column.name, column.drop_nulls()
    if len(seen) < LEAST_ROWS:
        return None
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        distinct = seen.n_unique()
        if distinct >= DISTINCT_TEXT * len(seen):
            text = f"{name!r} has a different text in nearly every row, like a name or an identifier; it is left out."
            return Suspicion(name, IDENTIFIER, text, True)
        if distinct > MOST_CATEGORIES:
            text = (
                f"{name!r} has {distinct} different texts; it is left out and none of them is stored. "
                "Group them into fewer values if they matter."
            )
            return Suspicion(name, MANY_TEXTS, text, True)
        return None
    if not column.dtype.is_numeric():
        return None
    if _surely_none(seen.head(_HEAD).cast(pl.Float64).to_numpy(), len(seen)):
        return None
    numbers = seen.cast(pl.Float64).to_numpy()
    if (numbers != np.floor(numbers)).any() or len(np.unique(numbers)) < DISTINCT * len(numbers):
        return None
    if (np.abs(np.diff(numbers)) == 1).all():
        return Suspicion(name, ROW_NUMBER, f"{name!r} counts the rows; is it a measurement? If not: --drop {name}.")
    text = (
        f"{name!r} has a different whole number in nearly every row, like an identifier; if it is one: --drop {name}."
    )
    return Suspicion(name, IDENTIFIER, text)


def _surely_none(head: np.ndarray, n: int) -> bool:
    """Whether the first cells alone show that a column of n is no identifier: fractions, or too many repetitions."""
    return bool((head != np.floor(head)).any()) or len(head) - len(np.unique(head)) > (1 - DISTINCT) * n


def _leak(column: pl.Series, classes: np.ndarray) -> Suspicion | None:
    """Whether a column alone tells nearly every class."""
    import polars as pl

    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        codes = column.cast(pl.String).rank("dense").cast(pl.Float64).to_numpy()
    elif column.dtype.is_numeric() or column.dtype == pl.Boolean:
        codes = column.cast(pl.Float64).to_numpy()
    else:
        return None
    share = told_alone(codes, classes)
    if share < LEAK:
        return None
    text = (
        f"{column.name!r} alone tells {share:.1%} of the classes; was it known before the class was? "
        f"If not: --drop {column.name}."
    )
    return Suspicion(column.name, LEAK_KIND, text)


def told_alone(codes: np.ndarray, classes: np.ndarray) -> float:
    """Balanced accuracy of a small tree on one column, on the half of the rows that it was not grown on, both ways."""
    from sklearn.tree import DecisionTreeClassifier

    n_classes = int(classes.max()) + 1
    if n_classes < 2 or len(classes) < LEAST_ROWS or np.isnan(codes).all():
        return 0.0
    known = np.where(np.isnan(codes), np.nanmin(codes) - 1.0, codes)[:, None]
    half = np.zeros(len(classes), bool)
    for k in range(n_classes):  # every second row of each class
        half[np.flatnonzero(classes == k)[::2]] = True
    hits: list[Sequence[float]] = []
    for grown in (half, ~half):
        if len(np.unique(classes[grown])) < n_classes or len(np.unique(classes[~grown])) < n_classes:
            return 0.0
        tree = DecisionTreeClassifier(max_leaf_nodes=max(8, 2 * n_classes), class_weight="balanced", random_state=0)
        right = tree.fit(known[grown], classes[grown]).predict(known[~grown]) == classes[~grown]
        hits.append([float(right[classes[~grown] == k].mean()) for k in range(n_classes)])
    return float(np.mean(hits))
