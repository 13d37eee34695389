"""Every cell becomes a few numbers: the value, its normal score, bends at quantiles; or the slot of a category.

What a cell gives depends on that cell alone and is zero where the cell is unknown, so that the first layer of a linear
model or network is a sum over known cells. `FeatureBasis` holds what was learnt from training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CLIP = 8.0  # standardised values are clipped to plus and minus this
LARGEST = 1e100  # values beyond this count as this, so that no square overflows
BENDS = (0.2, 0.4, 0.6, 0.8)  # a number column's piecewise linear part bends at these quantiles
KNOTS = len(BENDS)
WIDTH = 3 + KNOTS  # numbers a known number cell becomes: one, clipped value, normal score, a hinge for every bend
GRID = 33  # quantiles between which the normal score is interpolated
LEVELS = 32  # categories with a slot of their own; the rarer ones share one
FEW_ROWS = 32  # up to this many rows a cell's place among the quantiles is counted for all columns at once


@dataclass(frozen=True)
class FeatureBasis:
    """How every column is expanded.

    Attributes
    ----------
    numbers, texts : int64 (Dn,), (Dc,) positions of the number and of the text columns
    centre, scale : float64 (Dn,) of the standardised value
    grid, score : float64 (Dn, GRID) quantiles (padded with infinity) and their normal scores
    knots : float64 (Dn, KNOTS) normal scores at which a hinge starts, infinity where there is none
    slot_start : int64 (Dc + 1,) where each text column's slots start
    level_start : int64 (Dc + 1,) where each text column's categories start in `slot_of_level`
    slot_of_level : int64, the slot (within its column) of every category; the last slot is the shared one
    """

    numbers: np.ndarray
    texts: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    grid: np.ndarray
    score: np.ndarray
    knots: np.ndarray
    slot_start: np.ndarray
    level_start: np.ndarray
    slot_of_level: np.ndarray

    @property
    def n_features(self) -> int:
        return len(self.numbers) + len(self.texts)

    def expand(self, values: np.ndarray, known: np.ndarray) -> np.ndarray:
        """float32 (n, Dn, WIDTH) of the number columns, zero where `known` is False."""
        cells = np.where(known[:, self.numbers], values[:, self.numbers], 0.0)
        np.clip(cells, -LARGEST, LARGEST, out=cells)
        at = self._place(cells)
        column = np.arange(len(self.numbers))
        low, high = self.grid[column, at], self.grid[column, at + 1]
        with np.errstate(invalid="ignore"):
            part = np.clip((cells - low) / (high - low), 0.0, 1.0)
        bottom = self.score[column, at]
        out = np.empty((*cells.shape, WIDTH), dtype=np.float32)
        out[..., 0] = 1.0
        out[..., 1] = np.clip((cells - self.centre) / self.scale, -CLIP, CLIP)
        normal = bottom + part * (self.score[column, at + 1] - bottom)
        out[..., 2] = normal
        for knot in range(KNOTS):
            out[..., 3 + knot] = np.maximum(normal - self.knots[:, knot], 0.0)
        out *= known[:, self.numbers, None]
        return out

    def slots(self, values: np.ndarray, known: np.ndarray) -> np.ndarray:
        """int64 (n, Dc) position of every text cell's slot among all slots, -1 where `known` is False."""
        out = np.full((len(values), len(self.texts)), -1, dtype=np.int64)
        for i, j in enumerate(self.texts):
            there = known[:, j]
            n_levels = self.level_start[i + 1] - self.level_start[i]
            level = np.where(there, values[:, j], -1.0)
            level = np.where((level >= 0) & (level < n_levels), level, n_levels).astype(np.int64)
            shared = self.slot_start[i + 1] - self.slot_start[i] - 1
            of_level = np.append(self.slot_of_level[self.level_start[i] : self.level_start[i + 1]], shared)
            out[:, i] = np.where(there, self.slot_start[i] + of_level[level], -1)
        return out

    def only(self, feature: int) -> FeatureBasis:
        """The basis of one column alone."""
        number = np.flatnonzero(self.numbers == feature)
        text = np.flatnonzero(self.texts == feature)
        slots, levels = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        of_level = self.slot_of_level[:0]
        if len(text):
            i = int(text[0])
            slots = self.slot_start[i : i + 2] - self.slot_start[i]
            levels = self.level_start[i : i + 2] - self.level_start[i]
            of_level = self.slot_of_level[self.level_start[i] : self.level_start[i + 1]]
        zero = np.zeros(1, dtype=np.int64)
        return FeatureBasis(
            *(zero[: len(number)], zero[: len(text)], self.centre[number], self.scale[number]),
            *(self.grid[number], self.score[number], self.knots[number], slots, levels, of_level),
        )

    def _place(self, cells: np.ndarray) -> np.ndarray:
        """int64 (n, Dn): the quantile interval every number lies in (the first or last one when outside)."""
        if len(cells) <= FEW_ROWS:
            count = (cells[:, :, None] >= self.grid).sum(axis=2)
        else:
            count = np.empty(cells.shape, dtype=np.int64)
            for i, grid in enumerate(self.grid):
                count[:, i] = np.searchsorted(grid, cells[:, i], side="right")
        last = np.isfinite(self.grid).sum(axis=1) - 2
        return np.clip(count - 1, 0, last)


def fit_basis(values: np.ndarray, categories: Sequence[int]) -> FeatureBasis:
    """Learn the expansion of every column from its observed cells."""
    kinds = np.asarray(categories, dtype=np.int64)
    numbers, texts = np.flatnonzero(kinds == 0), np.flatnonzero(kinds > 0)
    centre, scale = np.zeros(len(numbers)), np.ones(len(numbers))
    grid = np.full((len(numbers), GRID), np.inf)
    grid[:, :2] = 0.0, 1.0
    score = np.zeros((len(numbers), GRID))
    knots = np.full((len(numbers), KNOTS), np.inf)
    for i, j in enumerate(numbers):
        seen = values[:, j]
        seen = np.sort(np.clip(seen[~np.isnan(seen)], -LARGEST, LARGEST))
        if len(seen) and seen[0] < seen[-1]:
            centre[i], scale[i] = _centre_and_scale(seen)
            grid[i], score[i], knots[i] = _normal_scores(seen)
    slot_start, level_start, of_level = [0], [0], [np.zeros(0, dtype=np.int64)]
    for j in texts:
        seen = values[:, j]
        counts = np.bincount(seen[~np.isnan(seen)].astype(np.int64), minlength=kinds[j])[: kinds[j]]
        often = np.argsort(-counts, kind="stable")[:LEVELS]
        often = np.sort(often[counts[often] > 0])
        slot = np.full(kinds[j], len(often), dtype=np.int64)
        slot[often] = np.arange(len(often))
        of_level.append(slot)
        slot_start.append(slot_start[-1] + len(often) + 1)
        level_start.append(level_start[-1] + int(kinds[j]))
    starts = np.array(slot_start), np.array(level_start)
    return FeatureBasis(numbers, texts, centre, scale, grid, score, knots, *starts, np.concatenate(of_level))


def _centre_and_scale(seen: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation with the outermost hundredths pulled in: a typing error must not set the scale."""
    for tail in (0.01, 0.0):
        low, high = np.quantile(seen, (tail, 1 - tail))
        pulled = np.clip(seen, low, high)
        spread = float(pulled.std())
        if spread > 1e-12 * max(abs(low), abs(high)):
            return float(pulled.mean()), spread
    return float(seen.mean()), float(seen[-1] - seen[0])


def _normal_scores(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantiles of sorted numbers, the normal scores of their mid-ranks, and the scores at which hinges start."""
    from scipy.special import ndtri

    points = np.unique(np.quantile(seen, np.linspace(0, 1, GRID), method="nearest"))
    middle = (np.searchsorted(seen, points, "left") + np.searchsorted(seen, points, "right")) / (2 * len(seen))
    scores = ndtri(middle)
    inner = scores[1:-1]
    if len(inner) > KNOTS:
        inner = np.unique(inner[np.abs(inner[:, None] - ndtri(BENDS)).argmin(axis=0)])
    grid, score, knots = np.full(GRID, np.inf), np.full(GRID, scores[-1]), np.full(KNOTS, np.inf)
    grid[: len(points)], score[: len(points)] = points, scores
    knots[: len(inner)] = inner
    return grid, score, knots
