"""One's own table into the fields of a `Dataset`: numbers without gaps, prices, a split that keeps groups together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.money.prices import PriceList
from synafa.table.encoder import TableEncoder

TIMES = (1.0, 2.0, 4.0, 8.0)
LEAST_ROWS = 10


def own_table(
    features: Any, labels: Any, name: str, prices: Any, budgets: Iterable[float], rows_together: Any, instance: int
) -> dict[str, Any]:
    """The arguments of a `Dataset`; see `Dataset.from_table`."""
    classes, y = np.unique(np.asarray(labels), return_inverse=True)
    n = len(y)
    if n < LEAST_ROWS or len(classes) < 2:
        raise SynafaError(f"A table of {n} rows and {len(classes)} classes cannot be split; give 10 rows, 2 classes.")
    train, validation, test = split_table(y, instance, rows_together)
    if not hasattr(features, "columns"):
        import polars as pl

        features = pl.DataFrame(np.asarray(features, dtype=np.float64), schema=_names(np.shape(features)[1]))
    encoder = TableEncoder().fit(_rows(features, train))
    values = encoder.transform(features)
    if len(values) != n:
        raise SynafaError(f"There are {len(values)} rows of features and {n} labels.")
    values = np.where(np.isnan(values), np.asarray(encoder.fill_values_), values)
    mean, deviation = values[train].mean(axis=0), values[train].std(axis=0)
    scaled = (values - mean) / np.where(deviation > 0, deviation, 1.0)
    listed = PriceList.resolve(prices, encoder.feature_names_)
    wanted = tuple(sorted({float(b) for b in budgets}))
    paid = listed.price[listed.price > 0]
    typical = float(paid.mean()) if len(paid) else 1.0
    return {
        "name": name,
        "instance": int(instance),
        "X": scaled.astype(np.float32),
        "y": y.astype(np.int64),
        "feature_names": tuple(encoder.feature_names_),
        "costs": np.array(listed.price),
        "budgets": wanted or tuple(float(f"{times * typical:.3g}") for times in TIMES),
        "train": train,
        "validation": validation,
        "test": test,
        "source": "a table of one's own",
        "groups": listed.panels,
        "prices": None if listed.is_plain else listed,
    }


def own_file(
    path: str | os.PathLike[str], target: str, prices: Any, group: str | None, drop: tuple[str, ...],
    budgets: Iterable[float], instance: int, tell: Callable[[Any], None] | None,
) -> dict[str, Any]:  # fmt: skip
    """The arguments of a `Dataset`; see `Dataset.from_file`."""
    from pathlib import Path

    from synafa.table.labelled import split_group, split_labelled
    from synafa.table.notices import warn
    from synafa.table.reading import read_table
    from synafa.table.suspicious import check_target

    table = read_table(path, as_text=(target,), tell=warn if tell is None else tell)
    features, labels = split_labelled(table, target, drop)
    together, features = split_group(features, group)
    check_target(labels, target)
    passed_over = [name for name in table.columns if name != target]
    prices = PriceList.resolve(prices, features.columns, left_out=passed_over)
    return own_table(features, labels, Path(path).stem, prices, budgets, together, instance)


def split_table(y: np.ndarray, seed: int, together: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that train, validate and test, 60, 20 and 20 % of every class, or of the groups."""
    from synafa.predictor.folds import deal_folds

    fold = deal_folds(y, 5, np.random.default_rng([seed, 23]), together)
    parts = np.flatnonzero(fold < 3), np.flatnonzero(fold == 3), np.flatnonzero(fold == 4)
    if any(not len(part) for part in parts):
        raise SynafaError("There are too few groups of rows for training, validation and test rows; give five or more.")
    return parts


def _names(d: int) -> list[str]:
    return [f"x{j}" for j in range(d)]


def _rows(features: Any, rows: np.ndarray) -> Any:
    return features.iloc[rows] if hasattr(features, "iloc") else features[rows]
