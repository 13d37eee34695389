"""Bit planes back to the thresholds that made them, and the columns' exact sums, in one pass over the values.

A plane says which rows exceed the threshold; the threshold itself follows from the largest value at or below it and
the smallest one above. Once both are nearly right, hardly a tile of rows holds a value in between, and only those
tiles are looked at row by row.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.information.kernels.counts import popcount
from synafa.table.sums import CHUNKS, add_doubles

BLOCK = 64  # columns handled together
TILE = 256  # rows handled together: a class is padded to whole tiles, so that padding stands at the end of them


@njit(cache=True)
def _place(values, below, above):  # type: ignore[no-untyped-def]
    """How many values lie strictly between two, and how many beyond them."""
    between, beyond = 0, 0
    for i in range(values.size):
        between += (values[i] > below) & (values[i] < above)
        beyond += (values[i] < below) | (values[i] > above)
    return between, beyond


@njit(cache=True)
def _narrow(values, words, below, above):  # type: ignore[no-untyped-def]
    """The largest value whose bit is not set, and the smallest whose bit is, `below` and `above` included."""
    for i in range(values.size):
        if words[i // 64] >> np.uint64(i % 64) & np.uint64(1):
            above = min(above, values[i])
        else:
            below = max(below, values[i])
    return below, above


@njit(cache=True)
def _gather(X, rows, first, width, values):  # type: ignore[no-untyped-def]
    """Copy a tile's rows, as many as there are, of some columns to `values` (columns, rows); returns how many."""
    size = 0
    while size < rows.size and rows[size] >= 0:
        row = X[rows[size], first : first + width]
        for c in range(width):
            values[c, size] = np.float64(row[c]) + 0.0  # -0.0 becomes 0.0
        size += 1
    return size


@njit(parallel=True, cache=True)
def edges_of_planes(X, rows, planes):  # type: ignore[no-untyped-def]
    """Exact sums (D, CHUNKS) and thresholds (D,) of the columns of X, all finite; `rows` lists a row for each bit."""
    n, d = X.shape
    sums, thresholds = np.zeros((d, CHUNKS), np.int64), np.empty(d)
    for block in prange((d + BLOCK - 1) // BLOCK):
        first, width = BLOCK * block, min(BLOCK, d - BLOCK * block)
        values = np.empty((BLOCK, TILE + 24))  # rows of a power of two would fall into the same few cache lines
        below, above = np.full(BLOCK, -np.inf), np.full(BLOCK, np.inf)
        third = np.zeros(BLOCK, np.bool_)  # whether a value was seen that is neither `below` nor `above`
        for tile in range(rows.size // TILE):
            size = _gather(X, rows[TILE * tile : TILE * (tile + 1)], first, width, values)
            for c in range(width):
                mine = values[c, :size]
                add_doubles(sums[first + c], mine)
                between, beyond = _place(mine, below[c], above[c])
                if between:
                    words = planes[first + c, TILE // 64 * tile : TILE // 64 * (tile + 1)]
                    low, high = _narrow(mine, words, below[c], above[c])
                    third[c] |= (low > below[c] > -np.inf) | (high < above[c] < np.inf)
                    below[c], above[c] = low, high
                    beyond = _place(mine, low, high)[1]
                third[c] |= beyond > 0
        for c in range(width):
            n_above = np.int64(0)
            for w in range(planes.shape[1]):
                n_above += np.int64(popcount(planes[first + c, w]))
            # The rule chose `below` itself, unless it took the middle of two values; a constant has nothing above.
            middle = 2 * n_above == n or not third[c]
            chosen = 0.5 * below[c] + 0.5 * above[c] if middle else below[c]
            thresholds[first + c] = chosen if n_above else np.inf
    return sums, thresholds
