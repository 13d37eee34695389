"""The expanded cells that networks train on, standardised, and how weights on them become weights on raw cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.predictor.basis import WIDTH, FeatureBasis

BEND_SCALE = 0.3  # so that a straight line is learnt first and weight decay holds bends back
MOST_COLUMNS = 1_500  # about; wide tables lose their bends, then their normal scores, until so many are left


@dataclass(frozen=True)
class TrainingColumns:
    """Centred and scaled columns of expanded cells; those that never vary are left out.

    Attributes
    ----------
    number_at : int64 positions of the number columns kept, in the flattened (Dn, WIDTH)
    slot_at : int64 positions of the slots kept
    feature_of : int64 (P,) feature of every column: number columns first
    centre, scale : float64 (P,)
    """

    basis: FeatureBasis
    number_at: np.ndarray
    slot_at: np.ndarray
    feature_of: np.ndarray
    centre: np.ndarray
    scale: np.ndarray

    def fold(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First-layer weights (P, H) on these columns become float32 (Dn, WIDTH, H) and (slots, H) on raw cells."""
        basis, hidden = self.basis, weights.shape[1]
        raw = weights.astype(np.float64) / self.scale[:, None]
        shift = -raw * self.centre[:, None]
        numbers = np.zeros((len(basis.numbers) * WIDTH, hidden))
        slots = np.zeros((int(basis.slot_start[-1]), hidden))
        cut = len(self.number_at)
        numbers[self.number_at] = raw[:cut]
        np.add.at(numbers, self.number_at // WIDTH * WIDTH, shift[:cut])
        slots[self.slot_at] = raw[cut:]
        column = np.searchsorted(basis.slot_start, self.slot_at, side="right") - 1
        per_column = np.zeros((len(basis.texts), hidden))
        np.add.at(per_column, column, shift[cut:])
        slots += np.repeat(per_column, np.diff(basis.slot_start), axis=0)
        return numbers.reshape(-1, WIDTH, hidden).astype(np.float32), slots.astype(np.float32)


def training_columns(basis: FeatureBasis, values: np.ndarray) -> tuple[TrainingColumns, np.ndarray]:
    """Choose, centre and scale the columns on observed training cells.

    Returns
    -------
    The columns, and float32 (n, P) of these rows, zero where not observed.
    """
    observed = ~np.isnan(values)
    n = len(values)
    cells = basis.expand(values, observed).reshape(n, -1)
    slots = basis.slots(values, observed)
    count = observed[:, basis.numbers].sum(axis=0).repeat(WIDTH)
    mean = cells.sum(axis=0, dtype=np.float64) / np.maximum(count, 1)
    square = np.einsum("ij,ij->j", cells, cells, dtype=np.float64) / np.maximum(count, 1)
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    constant = np.arange(len(mean)) % WIDTH == 0
    mean[constant], spread[constant] = 0.0, 1.0
    number_at = np.flatnonzero((spread > 1e-4) & (count > 0) & _wanted(basis))
    spread[np.arange(len(spread)) % WIDTH >= 3] /= BEND_SCALE
    share = np.zeros(int(basis.slot_start[-1]))
    for i in range(len(basis.texts)):
        there = slots[:, i] >= 0
        counts = np.bincount(slots[there, i], minlength=len(share))
        share += counts / max(1, int(there.sum()))
    slot_at = np.flatnonzero(share > 0)
    slot_feature = basis.texts[np.searchsorted(basis.slot_start, slot_at, side="right") - 1]
    columns = TrainingColumns(
        *(basis, number_at, slot_at, np.concatenate([basis.numbers[number_at // WIDTH], slot_feature])),
        np.concatenate([mean[number_at], share[slot_at]]),
        np.concatenate([spread[number_at], np.sqrt(share * (1 - share) + 0.02)[slot_at]]),
    )
    out = np.empty((n, len(columns.feature_of)), dtype=np.float32)
    out[:, : len(number_at)] = cells[:, number_at]
    column = np.searchsorted(basis.slot_start, slot_at, side="right") - 1
    out[:, len(number_at) :] = slots[:, column] == slot_at
    out -= columns.centre.astype(np.float32)
    out /= columns.scale.astype(np.float32)
    out *= observed[:, columns.feature_of]
    return columns, out


def _wanted(basis: FeatureBasis) -> np.ndarray:
    """Which of the (Dn, WIDTH) columns to learn from; the normal score of a column with two values says nothing new."""
    wanted = np.ones((len(basis.numbers), WIDTH), dtype=bool)
    wanted[np.isfinite(basis.grid).sum(axis=1) <= 2, 2] = False
    if WIDTH * len(wanted) > MOST_COLUMNS:
        wanted[:, 3:] = False
    if 3 * len(wanted) > MOST_COLUMNS:
        wanted[:, 2] = False
    return wanted.ravel()
