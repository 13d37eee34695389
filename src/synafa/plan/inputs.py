"""What a user hands over becomes what the search works on: encoded values, prices, copies, honest predictors, rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.plan.build import deal_rows
from synafa.plan.scorers import Parts
from synafa.table.encoder import Column, TableEncoder

CROSS_FIT_ROWS = 20_000  # up to so many rows every row is judged by a predictor that did not see it
FIVE_FOLD_ROWS = 5_000
JUDGED_ROWS = 10_000  # of more rows, this many (at most 30 %) are held out and judged
CHECKED_SHARE = 0.4  # of the judged rows confirm splits
Progress = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows that are judged, with the predictor of each part of them; and which of them propose and confirm."""

    rows: np.ndarray  # positions in the training table
    parts: Parts  # predictors with positions in `rows`
    chosen: np.ndarray  # positions in `rows`
    checked: np.ndarray


def judged_rows(
    values: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    categories: Sequence[int],
    groups: np.ndarray | None,
    predictor: Any,
    seed: int,
    progress: Progress | None,
) -> Judged:
    """Predictors that did not see the rows they judge: cross-fitted for a small table, else fitted on the rest."""
    n = len(y)
    if predictor is not None and hasattr(predictor, "predict_proba"):  # fitted elsewhere, on other rows
        everyone = np.arange(n)
        return Judged(everyone, ((predictor, everyone),), *deal_rows(y, groups, CHECKED_SHARE, seed))
    fit = predictor_factory(predictor)
    if n <= CROSS_FIT_ROWS:
        folds = min(5 if n <= FIVE_FOLD_ROWS else 3, n)
        parts = _cross_fitted(values, y, n_classes, categories, groups, fit, folds, seed, progress)
        return Judged(np.arange(n), parts, *deal_rows(y, groups, CHECKED_SHARE, seed))
    share = min(0.3, JUDGED_ROWS / n)
    rest, held = deal_rows(y, groups, share, seed + 1)
    held = np.sort(held)
    fitted = fit(values[rest], y[rest], n_classes, categories=categories, seed=seed, progress=progress)
    inner = None if groups is None else groups[held]
    return Judged(held, ((fitted, np.arange(len(held))),), *deal_rows(y[held], inner, CHECKED_SHARE, seed))


def given_rows(predictor: Any, n_train: int, n_validation: int, seed: int) -> Judged:
    """Training rows, which the predictor saw, propose; validation rows after them confirm."""
    rng = np.random.default_rng([seed, 14])
    everyone = np.arange(n_train + n_validation)
    chosen, checked = rng.permutation(n_train), n_train + rng.permutation(n_validation)
    return Judged(everyone, ((predictor, everyone),), chosen, checked)


def number_encoder(values: np.ndarray, names: Iterable[str] | None = None) -> TableEncoder:
    """The encoder of an array of numbers, named x0, x1, ... unless names are given."""
    empty = np.isnan(values).all(axis=0)
    fill = np.where(empty, 0.0, np.nanmean(np.where(empty, 0.0, values), axis=0))
    named = [f"x{j}" for j in range(values.shape[1])] if names is None else [str(name) for name in names]
    encoder = TableEncoder()
    encoder.columns_ = tuple(Column(name, "number", (), float(mean)) for name, mean in zip(named, fill))
    return encoder


def predictor_factory(predictor: Any) -> Callable[..., Any]:
    """The function that fits a predictor: the package's own, or the user's."""
    if predictor is not None:
        if not callable(predictor):
            raise SynafaError(
                "predictor must be None, a fitted object with predict_proba(values, mask), or a function "
                f"(values, y, n_classes, categories=, seed=, progress=) that fits one, got: {type(predictor).__name__}."
            )
        return predictor
    from synafa.predictor import fit_predictor

    return fit_predictor


def _cross_fitted(
    values: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    categories: Sequence[int],
    groups: np.ndarray | None,
    fit: Callable[..., Any],
    folds: int,
    seed: int,
    progress: Progress | None,
) -> Parts:
    from synafa.predictor.folds import deal_folds

    fold = deal_folds(y, folds, np.random.default_rng([seed, 13]), groups)
    parts = []
    for f in range(folds):
        rest, held = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        if not len(held):
            continue
        if progress is not None:
            progress(f / folds, f"predictor {f + 1} of {folds}")
        parts.append((fit(values[rest], y[rest], n_classes, categories=categories, seed=seed, progress=None), held))
    return parts


def candidates_of(reveals: np.ndarray, known: np.ndarray, unavailable: np.ndarray) -> np.ndarray:
    """Features that may be asked for: one for each panel, none that is known or not to be had, ascending."""
    found: list[int] = []
    covered = np.zeros(len(known), bool)
    for j in np.flatnonzero(~known & ~unavailable):
        if not covered[j]:
            found.append(int(j))
            if reveals[j].sum() > 1:
                covered |= reveals[j]
    return np.array(found, dtype=np.int64)
