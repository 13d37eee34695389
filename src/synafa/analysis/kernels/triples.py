"""Counts of all triples of binary features within the rows of each class, by popcount of bit-packed planes.

The eight cells of a triple follow from the counts of ones of its singles, pairs and the triple itself, so one AND and
one popcount per 64 rows is all a triple costs beyond its pairs.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, inline="always")
def popcount(x: np.uint64) -> np.uint64:
    """Number of ones in a word."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True, nogil=True)
def pair_ones(planes: np.ndarray) -> np.ndarray:
    """Rows in which both features are 1: `planes` (K, D, W) uint64 to (K, D, D); the diagonal counts one feature."""
    n_classes, n_features, n_words = planes.shape
    ones = np.zeros((n_classes, n_features, n_features), np.int64)
    for c in range(n_classes):
        for i in range(n_features):
            for j in range(i, n_features):
                total = np.uint64(0)
                for w in range(n_words):
                    total += popcount(planes[c, i, w] & planes[c, j, w])
                ones[c, i, j] = total
                ones[c, j, i] = total
    return ones


@njit(cache=True, inline="always")
def _cells(n: int, i: int, j: int, k: int, ij: int, ik: int, jk: int, ijk: int, out: np.ndarray) -> None:
    """The eight cells of a triple from its counts of ones (inclusion and exclusion)."""
    out[7] = ijk
    out[6] = ij - ijk
    out[5] = ik - ijk
    out[3] = jk - ijk
    out[4] = i - ij - ik + ijk
    out[2] = j - ij - jk + ijk
    out[1] = k - ik - jk + ijk
    out[0] = n - i - j - k + ij + ik + jk - ijk


@njit(cache=True, parallel=True, nogil=True)
def triple_information(
    planes: np.ndarray, ones: np.ndarray, sizes: np.ndarray, xlogx: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """`n * I(Xi,Xj,Xk;Y)` in the unit of `xlogx`, for all i < j < k in lexicographic order.

    `first[i * D + j]` is the position of the triple (i, j, j + 1); each pair (i, j) is one independent piece of work.
    """
    n_classes, n_features, n_words = planes.shape
    values = np.empty(n_features * (n_features - 1) * (n_features - 2) // 6)
    n = sizes.sum()
    constant = xlogx[n]
    for c in range(n_classes):
        constant -= xlogx[sizes[c]]
    for pair in prange(n_features * n_features):
        i, j = pair // n_features, pair % n_features
        if i >= j or j >= n_features - 1:
            continue
        both = np.empty((n_classes, n_words), np.uint64)
        for c in range(n_classes):
            for w in range(n_words):
                both[c, w] = planes[c, i, w] & planes[c, j, w]
        cells, pooled = np.empty(8, np.int64), np.empty(8, np.int64)
        for k in range(j + 1, n_features):
            pooled[:] = 0
            value = constant
            for c in range(n_classes):
                total = np.uint64(0)
                for w in range(n_words):
                    total += popcount(both[c, w] & planes[c, k, w])
                o = ones[c]
                _cells(sizes[c], o[i, i], o[j, j], o[k, k], o[i, j], o[i, k], o[j, k], int(total), cells)
                for s in range(8):
                    pooled[s] += cells[s]
                    value += xlogx[cells[s]]
            for s in range(8):
                value -= xlogx[pooled[s]]
            values[first[pair] + k - j - 1] = value
    return values
