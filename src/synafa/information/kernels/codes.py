"""Compiled pieces of the discretizer: exact medians and thresholds, block of columns by block, and coding of rows."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.table.sums import CHUNKS, add_values

BLOCK = 16  # columns a thread handles together: one cache line of float32
TILE = 64  # rows copied together
SHARES = 8  # parts of the columns that threads take


@njit(cache=True)
def _kth_key(keys: np.ndarray, k: int) -> np.uint32:
    """The k-th smallest of order-preserving uint32 keys, by radix selection: 11, 11, then 10 bits. Reorders `keys`."""
    count = keys.size
    for shift, bits in ((21, 11), (10, 11), (0, 10)):
        digits = np.uint32((1 << bits) - 1)
        histogram = np.zeros(1 << 11, np.int64)
        for i in range(count):
            histogram[(keys[i] >> np.uint32(shift)) & digits] += 1
        digit = 0
        while histogram[digit] <= k:
            k -= histogram[digit]
            digit += 1
        kept = 0
        for i in range(count):  # the kept keys move to the front; later passes see only them
            key = keys[i]
            keys[kept] = key
            kept += ((key >> np.uint32(shift)) & digits) == digit
        count = kept
    return keys[0]


@njit(cache=True)
def _key(bits: np.uint32) -> np.uint32:
    """The bits of a float32 as an unsigned integer with the same order."""
    sign = np.uint32(0) - (bits >> np.uint32(31))  # all ones for a negative number: no branch to mispredict
    return np.uint32(bits ^ (sign | np.uint32(0x80000000)))


@njit(cache=True)
def _value(key: np.uint32) -> np.float32:
    """The float32 of a key."""
    bits = np.empty(1, np.uint32)
    bits[0] = key & np.uint32(0x7FFFFFFF) if key >> np.uint32(31) else ~key
    return bits.view(np.float32)[0]


@njit(cache=True)
def _keys(values: np.ndarray) -> np.ndarray:
    keys = np.empty(values.size, np.uint32)
    bits = values.view(np.uint32)
    for i in range(values.size):
        keys[i] = _key(bits[i])
    return keys


@njit(cache=True)
def mean_of_two(values, first, second):  # type: ignore[no-untyped-def]
    """The mean of the values of rank `first` and `second` (the same or the next), counted from 0."""
    if values.itemsize == 4:
        keys = _keys(values)
        key = _kth_key(keys.copy(), first)
        at_most = 0
        following = np.uint32(0xFFFFFFFF)
        for i in range(keys.size):  # integers, so that the loop is vectorised
            at_most += keys[i] <= key
            above = keys[i] if keys[i] > key else np.uint32(0xFFFFFFFF)
            following = above if above < following else following
        lower = np.float64(_value(key))
        upper = np.float64(_value(key if at_most > second else following))
    else:
        ordered = np.partition(values, second)
        upper = np.float64(ordered[second])
        lower = upper if first == second else np.float64(ordered[:second].max())
    return lower if lower == upper else 0.5 * lower + 0.5 * upper


@njit(cache=True)
def _threshold(column: np.ndarray, median: float, low: float, high: float, third: bool) -> float:
    """The study's rule: +inf for a constant, the midpoint of two values, else the median unless nothing is above it."""
    if low == high:
        return np.inf
    if not third:
        return 0.5 * low + 0.5 * high
    if median < high:
        return median
    below = low  # the median is the maximum: take the largest value strictly below it
    for i in range(column.size):
        if column[i] < high and column[i] > below:
            below = column[i]
    return below


@njit(cache=True)
def binary_threshold(column: np.ndarray) -> float:
    """The threshold of one column."""
    n = column.size
    low = column[0]
    high = column[0]
    for i in range(n):  # written out, because min() and max() look after NaN and keep the loop scalar
        low = column[i] if column[i] < low else low
        high = column[i] if column[i] > high else high
    n_low = 0
    n_high = 0
    for i in range(n):
        n_low += column[i] == low
        n_high += column[i] == high
    third = n_low + n_high < n
    if 2 * n_low > n:  # common in sparse data, and no selection is needed then
        median = float(low)
    elif 2 * n_high > n:
        median = float(high)
    elif not third:
        median = np.inf
    else:
        median = mean_of_two(column, (n - 1) // 2, n // 2)
    return _threshold(column, median, low, high, third)


@njit(cache=True)
def _finite(column):  # type: ignore[no-untyped-def]
    """Whether no value is NaN or infinite."""
    odd = 0
    for i in range(column.size):
        odd += column[i] - column[i] != 0
    return odd == 0


@njit(cache=True)
def _to_front(column):  # type: ignore[no-untyped-def]
    """Move what is not NaN to the front; returns how many there are, -1 if one is infinite."""
    kept, infinite = 0, 0
    for i in range(column.size):
        value = column[i]
        column[kept] = value
        kept += value == value
        infinite += (value == value) & (value - value != 0)
    return -1 if infinite else kept


@njit(parallel=True, cache=True)
def summarise_binary(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exact sums (D, CHUNKS), thresholds (D,) of the study's binarisation and cells (D,), all of what is not NaN.

    A column with infinity has -1 cells.
    """
    n, d = X.shape
    sums = np.zeros((d, CHUNKS), np.int64)
    thresholds, cells = np.full(d, np.inf), np.full(d, n)
    zero = X.dtype.type(0)
    blocks = (d + BLOCK - 1) // BLOCK
    for share in prange(SHARES):
        columns = np.empty((BLOCK, n), X.dtype)  # one buffer for many blocks: fresh memory costs page faults
        for block in range(share, blocks, SHARES):
            start = block * BLOCK
            width = min(BLOCK, d - start)
            for first in range(0, n, TILE):  # in tiles, so that each page of X is touched once a block
                last = min(n, first + TILE)
                for c in range(width):
                    for i in range(first, last):
                        columns[c, i] = X[i, start + c] + zero  # -0.0 becomes 0.0: equal values, equal bits
            for c in range(width):
                if not _finite(columns[c]):
                    cells[start + c] = _to_front(columns[c])
                if cells[start + c] > 0:
                    observed = columns[c, : cells[start + c]]
                    add_values(sums[start + c], observed)
                    thresholds[start + c] = binary_threshold(observed)
    return sums, thresholds, cells


@njit(parallel=True, cache=True)
def encode(X: np.ndarray, edges: np.ndarray, fill_codes: np.ndarray) -> np.ndarray:
    """uint8 codes: the number of edges (D, bins - 1) that a value exceeds; a NaN cell gets its column's fill code."""
    n, d = X.shape
    codes = np.empty((n, d), np.uint8)
    single = np.ascontiguousarray(edges[:, 0])
    for i in prange(n):
        if edges.shape[1] == 1:
            for j in range(d):
                codes[i, j] = fill_codes[j] if X[i, j] != X[i, j] else np.uint8(X[i, j] > single[j])
        else:
            for j in range(d):
                code = 0
                for e in range(edges.shape[1]):
                    code += X[i, j] > edges[j, e]
                codes[i, j] = fill_codes[j] if X[i, j] != X[i, j] else code
    return codes
