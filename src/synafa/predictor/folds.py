"""Rows are dealt into folds: classes evenly, rows of one group together."""

from __future__ import annotations

from typing import Any

import numpy as np


def deal_folds(y: np.ndarray, n_folds: int, rng: np.random.Generator, groups: Any = None) -> np.ndarray:
    """The fold of every row, int64 (n,).

    Examples
    --------
    >>> fold = deal_folds(np.array([0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> bool((np.bincount(fold[:2]) == 1).all() and (np.bincount(fold[2:]) == 1).all())
    True
    """
    if groups is None:
        order = np.lexsort((rng.random(len(y)), y))
        fold = np.empty(len(y), dtype=np.int64)
        fold[order] = np.arange(len(y)) % n_folds
        return rng.permutation(n_folds)[fold]
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    size = np.bincount(group)
    filled, of_group = np.zeros(n_folds), np.empty(len(size), dtype=np.int64)
    for g in np.lexsort((rng.random(len(size)), -size)):  # large groups first, each into the emptiest fold
        of_group[g] = filled.argmin()
        filled[of_group[g]] += size[g]
    return of_group[group]


def inner_folds(y: np.ndarray, n_folds: int, rng: np.random.Generator, groups: Any = None) -> np.ndarray:
    """`deal_folds` with fewer folds where there are fewer rows or groups; a single group is not kept together."""
    if groups is not None and len(np.unique(np.asarray(groups))) < 2:
        groups = None
    units = len(y) if groups is None else len(np.unique(np.asarray(groups)))
    return deal_folds(y, max(1, min(n_folds, units)), rng, groups)
