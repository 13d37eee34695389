"""`fit_predictor`: training rows become a `MaskedPredictor`.

Rows are dealt into folds; a network is trained on all folds but one, on freshly masked copies of its rows, and judged on
masked copies of the fold it did not see. The step to stop at and the sharpness are chosen on those judgements together,
and the predictor is the mean of the networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.predictor.basis import fit_basis
from synafa.predictor.calibration import best_sharpness, log_loss
from synafa.predictor.columns import TrainingColumns, training_columns
from synafa.predictor.folds import deal_folds
from synafa.predictor.masks import random_masks
from synafa.predictor.model import Heads, MaskedPredictor
from synafa.predictor.network import NetworkSettings, Weights, forward, softmax, start_weights, train_network

Progress = Callable[[float, str], None]

MOST_ROWS = 50_000
"""Of more rows than this, a random sample of this size is learnt from."""
FOLDS = 4
"""Networks, each trained without one fold."""
JUDGED = 2_000
"""About this many masked rows of a fold judge its network."""
FEW = 10
"""With fewer rows than this nothing but the class shares is learnt."""


def fit_predictor(
    values: Any,
    y: Any,
    n_classes: int,
    *,
    categories: Sequence[int] | None = None,
    groups: Any = None,
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
    values, y, categories = check_table(values, y, n_classes, categories)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # sums in the same order, whatever the number of threads
        return _fit(values, y, n_classes, categories, groups, seed, progress or (lambda fraction, words: None))


def check_table(
    values: Any, y: Any, n_classes: int, categories: Sequence[int] | None
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
    seed: int,
    progress: Progress,
) -> MaskedPredictor:
    progress(0.0, "preparing the columns")
    rng = np.random.default_rng([seed, 1])
    prior = (np.bincount(y, minlength=n_classes) + 0.5) / (len(y) + 0.5 * n_classes)
    rows = np.sort(rng.permutation(len(y))[:MOST_ROWS]) if len(y) > MOST_ROWS else np.arange(len(y))
    values, y = values[rows], y[rows]
    fold = deal_folds(y, FOLDS, rng, None if groups is None else np.asarray(groups)[rows])
    basis = fit_basis(values, categories)
    columns, cells = training_columns(basis, values)
    observed = ~np.isnan(values)
    settings = _settings(len(y), cells.shape[1])
    done, all_ticks = 0, FOLDS * (settings.checkpoints + 1)

    def tick() -> None:
        nonlocal done
        done += 1
        progress(min(0.99, done / all_ticks), "training the predictor")

    kept: list[list[Weights]] = []
    judged: list[tuple[np.ndarray, np.ndarray]] = []
    for e in range(FOLDS):
        train, held = np.flatnonzero(fold != e), np.flatnonzero(fold == e)
        start = start_weights(cells.shape[1], values.shape[1], prior, settings, seed=[seed, 2, e])
        if len(y) < FEW or not len(held) or not len(train):
            kept.append([start])
            continue
        parts = cells[train], observed[train], y[train]
        kept.append(train_network(*parts, columns.feature_of, start, settings, seed=[seed, 3, e], tick=tick))
        copies = max(1, JUDGED // len(held))
        held = np.tile(held, copies) if copies > 1 else held[:JUDGED]
        masks = random_masks(observed[held], np.random.default_rng([seed, 4, e]))
        judged.append((cells[held] * masks[:, columns.feature_of], y[held]))
    stop = _stop(kept, judged)
    chosen = [points[min(stop, len(points) - 1)] for points in kept]
    sharpness = 1.0
    if judged:
        logits = np.concatenate([forward(known, net)[2] for (known, _), net in zip(judged, chosen)])
        sharpness = best_sharpness(logits, np.concatenate([truth for _, truth in judged]))
    progress(1.0, "the predictor is ready")
    notes = {"rows": len(rows), "stop": stop, "seed": seed}
    return _assemble(columns, chosen, sharpness, notes)


def _settings(n: int, n_columns: int) -> NetworkSettings:
    return NetworkSettings(steps=int(np.clip(n * 60 / 256, 600, 2500)))


def _stop(kept: list[list[Weights]], judged: list[tuple[np.ndarray, np.ndarray]]) -> int:
    """The checkpoint with the least mean log loss over folds; 0 is the class shares."""
    if not judged:
        return 0
    curves = [
        [log_loss(softmax(forward(known, net)[2]), truth) for net in points]
        for points, (known, truth) in zip(kept, judged)
    ]
    return int(np.mean(curves, axis=0).argmin())


def _assemble(
    columns: TrainingColumns, chosen: list[Weights], sharpness: float, notes: dict[str, Any]
) -> MaskedPredictor:
    """Networks side by side in one hidden state."""
    numbers, slots = columns.fold(np.concatenate([net[0] for net in chosen], axis=1))
    stacked = [np.stack([net[i] for net in chosen]) for i in (2, 3, 4, 5)]
    heads = Heads(*stacked, np.full(len(chosen), 1 / len(chosen)), sharpness)
    return MaskedPredictor(columns.basis, numbers, slots, np.concatenate([net[1] for net in chosen]), heads, notes)
