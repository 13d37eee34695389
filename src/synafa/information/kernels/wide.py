"""Rows of the information tables of a very wide table, a block of features at a time, straight from bit planes.

The sums are those of `kernels/tables.py`, of the same integers, so every value is equal to the last bit; but nothing is
as large as all pairs.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.information.kernels.counts import LANES, count_common
from synafa.information.kernels.switch import CACHE
from synafa.information.kernels.tables import _bits, _f, _two

CHUNK = 128  # planes that stay in cache while all tiles of a block pass by


@njit(parallel=True, cache=CACHE)
def block_counts(planes: np.ndarray, starts: np.ndarray, first: int, joint: np.ndarray) -> None:
    """Fill `joint`, int32 (K, m, P): rows of each class that plane `first + i` shares with every plane."""
    n_classes, m, n_planes = joint.shape
    n_tiles = (m + LANES - 1) // LANES
    tiles = np.zeros((n_tiles, planes.shape[1], LANES), np.uint64)
    for number in prange(n_tiles):
        for c in range(min(LANES, m - LANES * number)):
            for w in range(planes.shape[1]):
                tiles[number, w, c] = planes[first + LANES * number + c, w]
    for chunk in prange((n_planes + CHUNK - 1) // CHUNK):
        totals = np.empty(LANES, np.uint64)
        for y in range(n_classes):
            words = starts[y + 1] - starts[y]
            for number in range(n_tiles):
                tile = tiles[number, starts[y] : starts[y + 1]]
                for p in range(CHUNK * chunk, min(CHUNK * (chunk + 1), n_planes)):
                    count_common(tile, planes, p, starts[y], words, totals)
                    for c in range(min(LANES, m - LANES * number)):
                        joint[y, LANES * number + c, p] = np.int32(totals[c])


@njit(parallel=True, cache=True)
def block_tables(  # type: ignore[no-untyped-def]
    joint: np.ndarray, first: int, codes: np.ndarray, class_counts: np.ndarray, f: np.ndarray, step: float, pair, cond
) -> None:
    """Fill rows of features j = first + i: pair[i, k] = I(X_j, X_k; Y) and cond[i, v, k] = I(Y; X_k | X_j = v)."""
    n_classes, d, n_bins = codes.shape
    width = n_bins - 1
    n = class_counts.sum()
    base = _f(f, step, n)
    for y in range(n_classes):
        base -= _f(f, step, class_counts[y])
    for i in prange(pair.shape[0]):
        j = first + i
        cells = np.empty((n_classes, n_bins), np.int64)  # of one code of j
        for k in range(d):
            total = base
            for a in range(n_bins):
                stratum, along = 0, 0
                for y in range(n_classes):
                    left = codes[y, j, a]
                    stratum += left
                    along -= _f(f, step, left)
                    for b in range(1, n_bins):
                        count = codes[y, k, b]
                        if a:
                            count = np.int64(joint[y, i * width + a - 1, k * width + b - 1])
                        else:  # what the other codes of j leave over
                            for other in range(width):
                                count -= joint[y, i * width + other, k * width + b - 1]
                        cells[y, b] = count
                        left -= count
                    cells[y, 0] = left
                terms = 0
                for b in range(n_bins):
                    rows = 0
                    for y in range(n_classes):
                        rows += cells[y, b]
                        terms += _f(f, step, cells[y, b])
                    terms -= _f(f, step, rows)
                total += terms
                cond[i, a, k] = _bits(terms + along + _f(f, step, stratum), stratum, step)
            pair[i, k] = _bits(total, n, step)


@njit(parallel=True, cache=True)
def block_tables_two(  # type: ignore[no-untyped-def]
    joint: np.ndarray, first: int, codes: np.ndarray, class_counts: np.ndarray, f: np.ndarray, step: float, pair, cond
) -> None:
    """`block_tables` for two bins and two classes, without scratch arrays."""
    d = codes.shape[1]
    n = class_counts[0] + class_counts[1]
    base = _f(f, step, n) - _f(f, step, class_counts[0]) - _f(f, step, class_counts[1])
    rows = codes[0] + codes[1]  # (D, 2)
    ones = codes[1]
    for i in prange(pair.shape[0]):
        j = first + i
        low = _f(f, step, rows[j, 0]) - _f(f, step, codes[0, j, 0]) - _f(f, step, ones[j, 0])
        high = _f(f, step, rows[j, 1]) - _f(f, step, codes[0, j, 1]) - _f(f, step, ones[j, 1])
        for k in range(d):
            both_ones = np.int64(joint[1, i, k])
            both = np.int64(joint[0, i, k]) + both_ones
            right, right_ones = rows[k, 1] - both, ones[k, 1] - both_ones  # k above its edge, j not
            term11 = _two(both, both_ones, f, step)
            term10 = _two(rows[j, 1] - both, ones[j, 1] - both_ones, f, step)
            term01 = _two(right, right_ones, f, step)
            term00 = _two(rows[j, 0] - right, ones[j, 0] - right_ones, f, step)
            cond[i, 0, k] = _bits(term00 + term01 + low, rows[j, 0], step)
            cond[i, 1, k] = _bits(term10 + term11 + high, rows[j, 1], step)
            pair[i, k] = _bits(base + term00 + term01 + term10 + term11, n, step)
