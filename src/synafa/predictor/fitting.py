"""`fit_predictor`: training rows become a `MaskedPredictor`.

Columns are expanded, members are trained on masked rows (`members.py`), and everything is folded into arrays. Of very
many rows a sample is learnt from.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.predictor.basis import fit_basis
from synafa.predictor.columns import TrainingColumns, training_columns
from synafa.predictor.folds import inner_folds
from synafa.predictor.members import Members, Progress, Work, train_members
from synafa.predictor.model import Heads, MaskedPredictor
from synafa.predictor.network import NetworkSettings
from synafa.predictor.stakes import Stakes

MOST_ROWS = 50_000  # of more rows than this, a random sample of this size is learnt from
FOLDS = 4  # networks, each trained without one fold
SMALL = 2_000  # up to this many rows there is a linear member beside the networks
FEW = 10  # with fewer rows than this nothing but the class shares is learnt


def fit_predictor(
    values: Any,
    y: Any,
    n_classes: int,
    *,
    categories: Sequence[int] | None = None,
    groups: Any = None,
    error_costs: Any = None,
    focus: Any = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> MaskedPredictor:
    """Learn class probabilities from any subset of features.

    Parameters
    ----------
    values : (n, D) numbers, NaN = not measured; a text column holds positions among its categories
    y : (n,) classes 0..n_classes - 1; classes count as often as they occur
    n_classes : number of classes K
    categories : number of categories of every column, 0 for a number column; default: all are numbers
    groups : (n,) rows with the same entry (one patient) stay in one fold; default: every row on its own
    error_costs : (K, K) cost of deciding the column when the row is true; then a training row counts as much as the
        dearest mistake about its class, and probabilities stay those of the unweighted rows; default: all rows alike
    focus : bool (F, D) sets of features that will be known most often: half of what is learnt from knows one of them
    seed : of folds, starting weights, batches and masks; the result does not depend on the number of threads
    progress : called now and then with a fraction and words

    Returns
    -------
    MaskedPredictor

    Raises
    ------
    SynafaError
        When shapes or classes do not fit.

    Notes
    -----
    Standardised values are clipped to plus and minus 8. Of more than 50,000 rows a random 50,000 are learnt from.
    A text column's 32 most frequent categories are told apart, the rest is one.
    """
    values, y, categories = check_table(values, y, n_classes, categories, groups)
    from threadpoolctl import threadpool_limits

    import_module("scipy.linalg.cython_blas")  # with which kernels multiply; there before its threads are limited
    with threadpool_limits(1, user_api="blas"):  # sums in the same order, whatever the number of threads
        say = progress or (lambda fraction, words: None)
        return _fit(values, y, n_classes, categories, groups, (error_costs, focus), seed, say)


def check_table(
    values: Any, y: Any, n_classes: int, categories: Sequence[int] | None, groups: Any = None
) -> tuple[np.ndarray, np.ndarray, Sequence[int]]:
    """Arrays of the right types and shapes, or a sentence."""
    values, y = np.asarray(values, dtype=np.float64), np.asarray(y)
    if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] < 1:
        raise SynafaError(
            f"The values must be a table with at least one row and column, got the shape: {values.shape}."
        )
    if y.shape != (len(values),):
        raise SynafaError(f"There must be one class for each of the {len(values)} rows, got the shape: {y.shape}.")
    if n_classes < 1 or y.dtype.kind not in "iub" or y.min() < 0 or y.max() >= n_classes:
        raise SynafaError(f"Classes must be whole numbers from 0 to n_classes - 1 = {n_classes - 1}.")
    if groups is not None and np.asarray(groups).shape != y.shape:
        raise SynafaError(f"groups must have one entry for each of {len(y)} rows, got: {np.asarray(groups).shape}.")
    categories = [0] * values.shape[1] if categories is None else [int(c) for c in categories]
    if len(categories) != values.shape[1]:
        raise SynafaError(
            f"categories must have one entry for each of {values.shape[1]} columns, got: {len(categories)}."
        )
    for j, count in enumerate(categories):
        if count:
            seen = values[:, j][~np.isnan(values[:, j])]
            if len(seen) and (seen.min() < 0 or seen.max() >= count or (seen != np.floor(seen)).any()):
                raise SynafaError(f"Column {j} has {count} categories, so its values must be 0 to {count - 1} or NaN.")
    return values, y.astype(np.int64), categories


def _fit(
    values: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    categories: Sequence[int],
    groups: Any,
    hints: tuple[Any, Any],
    seed: int,
    progress: Progress,
) -> MaskedPredictor:
    progress(0.0, "preparing the columns")
    rng = np.random.default_rng([seed, 1])
    prior = (np.bincount(y, minlength=n_classes) + 0.5) / (len(y) + 0.5 * n_classes)
    rows = np.sort(rng.permutation(len(y))[:MOST_ROWS]) if len(y) > MOST_ROWS else np.arange(len(y))
    values, y = values[rows], y[rows]
    fold = inner_folds(y, FOLDS, rng, None if groups is None else np.asarray(groups)[rows])
    columns, cells = training_columns(fit_basis(values, categories), values)
    error_costs, focus = hints
    focus = None if focus is None or not len(focus) else np.asarray(focus, dtype=bool).reshape(-1, values.shape[1])
    stakes = None if error_costs is None else Stakes.of(error_costs, prior)
    if stakes is not None:
        prior = stakes.weights * prior
    work = Work(cells, ~np.isnan(values), y, columns.feature_of, prior, fold, seed, stakes, focus)
    settings = _settings(len(y), cells.shape[1])
    members = train_members(work, settings, with_linear=FEW <= len(y) <= SMALL, few=len(y) < FEW, progress=progress)
    progress(1.0, "the predictor is ready")
    if stakes is not None:
        members = stakes.unweighted(members)
    return _assemble(columns, members, {"rows": len(rows), "seed": seed, **members.notes})


def _settings(n: int, n_columns: int) -> NetworkSettings:
    """More steps on more rows, fewer on very wide tables; more decay on fewer rows."""
    steps = int(np.clip(300 + 0.8 * n, 400, 1_600)) if n_columns <= 1_000 else 400
    return NetworkSettings(steps=steps, decay=float(np.clip(300 / n, 0.3, 2.0)))


def _assemble(columns: TrainingColumns, members: Members, notes: dict[str, Any]) -> MaskedPredictor:
    """All members side by side in one hidden state."""
    first = [net[0] for net in members.networks]
    base = [net[1] for net in members.networks]
    share = members.share
    if share > 0:
        first.append(members.linear[:-1].astype(np.float32))
        base.append(members.linear[-1].astype(np.float32))
    numbers, slots = columns.fold(np.concatenate(first, axis=1))
    stacks = [np.stack([net[i] for net in members.networks]) for i in (2, 3, 4, 5)]
    n_nets = len(members.networks)
    heads = Heads(stacks[0], stacks[1], stacks[2], stacks[3], np.append(np.full(n_nets, (1 - share) / n_nets), share))
    return MaskedPredictor(columns.basis, numbers, slots, np.concatenate(base), heads, notes)
