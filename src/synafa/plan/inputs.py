"""What a user hands over becomes what the search works on: encoded values, prices, copies, honest predictors, rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.wide import dense_bytes, is_wide
from synafa.memory import size_in_words
from synafa.plan.build import deal_rows
from synafa.plan.scorers import Parts
from synafa.table.encoder import TableEncoder

FOCUS_ROWS = 3_000  # up to so many rows the predictor learns once more, with the sets that plans would use
LOOK_ROWS = 1_000  # of more rows, predictors of two halves find those sets
CROSS_FIT_ROWS = 20_000  # up to so many rows every row is judged by a predictor that did not see it
FIVE_FOLD_ROWS = 5_000  # of more rows three folds, whose predictors see enough of them
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


@dataclass(frozen=True, eq=False)
class Training:
    """The training rows: values (n, D), classes (n,), categories of every column, groups of rows or None."""

    values: np.ndarray
    y: np.ndarray
    n_classes: int
    categories: Sequence[int]
    groups: np.ndarray | None
    seed: int


def check_width(n_features: int, n_classes: int) -> None:
    """Refuse a table so wide that a tree, which holds all pairs, would take more than `DENSE_LIMIT` for them."""
    if is_wide(n_features, 2, n_classes):
        size = size_in_words(dense_bytes(n_features, 2, n_classes))
        raise SynafaError(
            f"A plan tree holds all pairs of features, which of {n_features:,} take {size}; use SynAFA (synafa fit "
            "--policy synafa), or give fewer columns."
        )


def judged_rows(table: Training, fitter: Fitter, progress: Progress | None, folds: int | None = None) -> Judged:
    """Predictors that did not see the rows they judge: cross-fitted for a small table, else fitted on the rest."""
    y, groups, n, seed = table.y, table.groups, len(table.y), table.seed
    if n <= CROSS_FIT_ROWS:
        parts = _cross_fitted(table, fitter, min(folds or (5 if n <= FIVE_FOLD_ROWS else 3), n), progress)
        return Judged(np.arange(n), parts, *deal_rows(y, groups, CHECKED_SHARE, seed))
    rest, held = deal_rows(y, groups, min(0.3, JUDGED_ROWS / n), seed + 1)
    held = np.sort(held)
    fitted = fitter.on(table, progress, rest)
    inner = None if groups is None else groups[held]
    return Judged(held, ((fitted, np.arange(len(held))),), *deal_rows(y[held], inner, CHECKED_SHARE, seed))


def judged_by(predictor: Any, y: np.ndarray, groups: np.ndarray | None, seed: int) -> Judged:
    """All rows, judged by one predictor that was fitted elsewhere, on other rows."""
    everyone = np.arange(len(y))
    return Judged(everyone, ((predictor, everyone),), *deal_rows(y, groups, CHECKED_SHARE, seed))


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
    return TableEncoder.of_means(fill, names)


@dataclass(frozen=True, eq=False)
class Fitter:
    """What fits a predictor: the package's own function, or the user's.

    The own one, and one that says `takes_hints`, is told what errors cost, float64 (K, K), and which sets of features
    will be known most often.
    """

    fit: Callable[..., Any]
    takes_hints: bool
    error_costs: np.ndarray | None = None
    focus: np.ndarray | None = None

    @classmethod
    def of(cls, predictor: Any, error_costs: np.ndarray | None = None) -> Fitter:
        """For the setting `predictor`: None, or a function; anything else is refused."""
        if error_costs is not None:  # the unit of money does not matter to it
            error_costs = np.round(error_costs / max(float(error_costs.max()), 1e-300), 9)
        if predictor is None:
            from synafa.predictor import fit_predictor

            return cls(fit_predictor, True, error_costs)
        if not callable(predictor):
            raise SynafaError(
                "predictor must be None, a fitted object with predict_proba(values, mask), or a function "
                f"(values, y, n_classes, categories=, seed=, progress=) that fits one, got: {type(predictor).__name__}."
            )
        return cls(predictor, bool(getattr(predictor, "takes_hints", False)), error_costs)

    def on(self, table: Training, progress: Progress | None, rows: Any = slice(None)) -> Any:
        """The predictor that is fitted to some rows of a table."""
        options: dict[str, Any] = {"categories": table.categories, "seed": table.seed, "progress": progress}
        if self.takes_hints:
            options |= {"error_costs": self.error_costs, "focus": self.focus}
        return self.fit(table.values[rows], table.y[rows], table.n_classes, **options)


def _cross_fitted(table: Training, fitter: Fitter, folds: int, progress: Progress | None) -> Parts:
    from synafa.predictor.folds import deal_folds

    fold = deal_folds(table.y, folds, np.random.default_rng([table.seed, 13]), table.groups)
    parts = []
    for f in range(folds):
        rest, held = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        if not len(held):
            continue
        if progress is not None:
            progress(f / folds, f"predictor {f + 1} of {folds}")
        parts.append((fitter.on(table, None, rest), held))
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
