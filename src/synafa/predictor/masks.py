"""Random sets of known cells: few known cells are drawn as often as many."""

from __future__ import annotations

import numpy as np

ALL_KNOWN = 0.1
"""Share of training copies in which every observed cell is known."""

FOCUSED = 0.5
"""Share of training copies that know one of the sets that matter most, where there are such."""


def random_masks(observed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random known set a row, its size log-uniform from 1 to D (observed cells come first).

    Examples
    --------
    >>> observed = np.array([[True, False, True]] * 4)
    >>> bool(random_masks(observed, np.random.default_rng(0))[:, 1].any())
    False
    """
    n, d = observed.shape
    size = np.floor(np.exp(rng.uniform(0.0, np.log(d + 1), size=(n, 1))))
    rank = (rng.random((n, d)) + 2.0 * ~observed).argsort(axis=1).argsort(axis=1)
    return (rank < size) & observed


def training_masks(observed: np.ndarray, rng: np.random.Generator, focus: np.ndarray | None = None) -> np.ndarray:
    """Nearly the same, without sorting: every cell is kept with a row's own log-uniform probability.

    Also draws rows that know nothing and, in a tenth of the cases, everything. With `focus`, sets that matter most,
    bool (F, D), half of the rows know one of them.
    """
    n, d = observed.shape
    low = 1.0 / d if d > 1 else 0.3
    keep = low ** rng.random(n)
    keep[rng.random(n) < ALL_KNOWN] = 1.1
    masks = (rng.random((n, d), dtype=np.float32) < keep[:, None].astype(np.float32)) & observed
    return masks if focus is None else focused(masks, observed, focus, rng)


def focused(masks: np.ndarray, observed: np.ndarray, focus: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The masks with a random half of them replaced by one of the sets (F, D) each."""
    rows = np.flatnonzero(rng.random(len(masks)) < FOCUSED)
    masks[rows] = focus[rng.integers(len(focus), size=len(rows))] & observed[rows]
    return masks
