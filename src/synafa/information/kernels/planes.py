"""Values straight to bit planes: one pass over the matrix finds what lies above the study's threshold.

Samples of the rows bracket each column's median between two values. The pass packs `x >= lower` and `x > upper` into
bits and keeps the few values in between; the exact median is selected among those, and only their bits are still open.
A bracket of one value needs no selection: one of the two planes is the answer. A bracket that begins with the column's
minimum, of which there may be many, is opened there: `x > lower` is packed instead.
Columns where this fails (the bracket missed, or many ties around the median) are done one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic

from synafa.information.kernels.brackets import SAMPLE, brackets
from synafa.information.kernels.codes import binary_threshold
from synafa.information.kernels.compare import LANES, compare_64, locate
from synafa.information.kernels.counts import popcount
from synafa.information.kernels.switch import CACHE

STREAMED = 2 * SAMPLE  # rows from which on a sample pays
SHARES = 8  # parts of the rows that threads take
STRIPE = 256  # columns, about, of a part of the matrix that stays in cache
BLOCK = 16  # columns handled together: one cache line of float32
BUCKETS = 512  # parts of a bracket
ROOM = 5  # a share keeps at most about a fifth of its rows of a column; a sorted column may overflow that


@intrinsic
def _lowest_one(typingctx: Any, word: Any) -> Any:
    """The position of the lowest one of a word that has one."""
    signature = types.uint64(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return signature, codegen


@njit(cache=CACHE)
def _keep_between(X, rows, first, some, above, single, kept, n_kept):  # type: ignore[no-untyped-def]
    """Append the values of 64 rows whose bit is set in `some` but not in `above`, column by column from `first` on."""
    one, room = np.uint64(1), np.uint64(kept.shape[1])  # unsigned indices: negative ones would have to be looked for
    for j in range(some.size):
        between = np.uint64(0) if single[j] else some[j] & ~above[j]
        at = n_kept[j]
        if at + np.uint64(64) > room:  # full: the column is given up
            n_kept[j] = room if between else at
            continue
        while between:
            kept[j, at] = X[np.uint64(rows[_lowest_one(between)]), first + j]
            between &= between - one
            at += one
        n_kept[j] = at


@njit(parallel=True, cache=CACHE)
def _stream(X, rows, below, upper, single, some, above, kept, n_kept, mark):  # type: ignore[no-untyped-def]
    """One pass: bits (words, D) of `x > below` and `x > upper`, and the values in between, share by share.

    Returns (SHARES, D) the least values; `mark` (SHARES, D) stays 0 where all values are finite.
    """
    n_words, d = some.shape
    length = (n_words + SHARES - 1) // SHARES
    stripes = max(1, d // STRIPE)
    least = np.full((SHARES, d), np.inf, X.dtype)
    for task in prange(SHARES * stripes):
        share, stripe = task % SHARES, task // SHARES
        part = slice(stripe * d // stripes, (stripe + 1) * d // stripes)
        mine, at, ahead = X[:, part], np.empty(64, np.int64), np.empty(64, np.int64)
        low, high, alone = below[part], upper[part], single[part]
        minima, marks = least[share, part], mark[share, part]
        values, count = kept[share, part], n_kept[share, part]
        for w in range(share * length, min(n_words, (share + 1) * length)):
            shown = locate(mine, rows, w, at)
            locate(mine, rows, w + 1, ahead)
            compare_64(mine, at, ahead, shown, low, high, some[w, part], above[w, part], minima, marks)
            here = rows[64 * w : 64 * w + 64]
            _keep_between(X, here, part.start, some[w, part], above[w, part], alone, values, count)
    return least


@njit(cache=CACHE)
def _place_kept(some, above, kept, n_kept, j, lower, upper, first, second):  # type: ignore[no-untyped-def]
    """Set the bits of the kept values that exceed the mean of those of rank `first` and `second`, the same or the next.

    A value's bucket grows with it, so only values in the buckets of the two ranks need a closer look. False if the
    bracket cannot be divided into buckets.
    """
    scale = kept.dtype.type(BUCKETS) / (upper - lower)
    if not np.isfinite(upper - lower) or not np.isfinite(scale):
        return False
    sizes = np.zeros(BUCKETS + 1, np.int64)
    for share in range(SHARES):
        for i in range(np.int64(n_kept[share, j])):
            sizes[np.uint32((kept[share, j, i] - lower) * scale)] += 1
    before, low = 0, 0
    while before + sizes[low] <= first:
        before += sizes[low]
        low += 1
    up_to, high = before + sizes[low], low
    while up_to <= second:
        high += 1
        up_to += sizes[high]
    near = np.empty(up_to - before, kept.dtype)
    near_word, near_bit = np.empty(near.size, np.int64), np.empty(near.size, np.uint64)
    count = 0
    length = (some.size + SHARES - 1) // SHARES
    for share in range(SHARES):
        at = np.uint64(0)
        for w in range(share * length, min(some.size, (share + 1) * length)):
            word = above[w]
            between = some[w] & ~word
            while between:
                lowest = between & (~between + np.uint64(1))
                between ^= lowest
                bucket = np.int64(np.uint32((kept[share, j, at] - lower) * scale))
                word |= lowest * np.uint64(bucket > high)  # no branch: it would be mispredicted half the time
                if low <= bucket <= high:
                    near[count], near_word[count], near_bit[count] = kept[share, j, at], w, lowest
                    count += 1
                at += np.uint64(1)
            above[w] = word
    ordered = np.sort(near)
    one, other = np.float64(ordered[first - before]), np.float64(ordered[second - before])
    median = one if one == other else 0.5 * one + 0.5 * other
    for i in range(near.size):
        above[near_word[i]] |= near_bit[i] * np.uint64(near[i] > median)
    return True


@njit(cache=CACHE)
def _settle(n, some, above, kept, n_kept, j, lower, upper, from_least):  # type: ignore[no-untyped-def]
    """Turn `above` into the column's plane; False when the bracket did not hold the median, or too many values did.

    from_least : what is not in `some` is the column's minimum
    """
    at_least, beyond = np.int64(0), np.int64(0)
    for w in range(some.size):
        at_least += np.int64(popcount(some[w]))
        beyond += np.int64(popcount(above[w]))
    first, second = (n - 1) // 2 - (n - at_least), n // 2 - (n - at_least)  # ranks of the middle two in the bracket
    if second < 0 and from_least:  # the median is the minimum
        above[:] = some
        return True
    if first < 0 or second >= at_least - beyond:
        return False
    if lower == upper:  # the bracket is a single value, which is the median
        if beyond == 0 and at_least < n:  # and the maximum: the threshold lies right below it
            above[:] = some
        return True
    if beyond == 0 or n_kept[:, j].max() == kept.shape[2]:
        return False
    return _place_kept(some, above, kept, n_kept, j, lower, upper, first, second)


@njit(parallel=True, cache=CACHE)
def _planes(n, lower, upper, from_least, some, above, kept, n_kept, planes):  # type: ignore[no-untyped-def]
    """Fill `planes` (D, words); True (D,) where a column could not be settled."""
    n_words, d = some.shape
    failed = np.zeros(d, np.bool_)
    for block in prange((d + BLOCK - 1) // BLOCK):
        first, last = BLOCK * block, min(d, BLOCK * (block + 1))
        mine = np.empty((BLOCK, n_words), np.uint64)
        for w in range(n_words):
            for c in range(last - first):
                mine[c, w] = some[w, first + c]
                planes[first + c, w] = above[w, first + c]
        for j in range(first, last):
            bits = mine[j - first]
            failed[j] = not _settle(n, bits, planes[j], kept, n_kept, j, lower[j], upper[j], from_least[j])
    return failed


@njit(parallel=True, cache=CACHE)
def _one_by_one(X, rows, columns, planes):  # type: ignore[no-untyped-def]
    """The planes of these columns, from the column's own threshold; False where one holds NaN or infinity."""
    finite = np.ones(columns.size, np.bool_)
    n = X.shape[0]
    zero = X.dtype.type(0)
    for block in prange((columns.size + BLOCK - 1) // BLOCK):
        mine = columns[BLOCK * block : BLOCK * (block + 1)]
        gathered = np.empty((mine.size, n), X.dtype)
        for i in range(n):
            for c in range(mine.size):
                gathered[c, i] = X[i, mine[c]] + zero
        for c in range(mine.size):
            finite[BLOCK * block + c] = np.isfinite(gathered[c]).all()
            threshold = binary_threshold(gathered[c])
            for w in range(planes.shape[1]):
                word = np.uint64(0)
                for bit in range(64):
                    row = rows[64 * w + bit]
                    if row >= 0 and gathered[c, row] > threshold:
                        word |= np.uint64(1) << np.uint64(bit)
                planes[mine[c], w] = word
    return finite


def pack_values(X: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
    """Bit planes (D, words) of the study's binarisation; `rows` lists a row for each bit, -1 for padding.

    None when X holds NaN or infinity.
    """
    n, d = X.shape
    planes = np.empty((d, rows.size // 64), np.uint64)
    columns = np.arange(d)
    if n >= STREAMED and d >= LANES:
        lower, upper, smallest = brackets(X)
        single, opened = lower == upper, (lower == smallest) & (lower < upper)
        below = np.where(opened, lower, np.nextafter(lower, X.dtype.type(-np.inf)))
        some, above = np.empty((2, rows.size // 64, d), np.uint64)  # NumPy asks for large pages, Numba does not
        kept = np.empty((SHARES, d, n // SHARES // ROOM + 64), X.dtype)
        n_kept = np.zeros((SHARES, d), np.uint64)
        mark = np.zeros((SHARES, d), np.uint32 if X.itemsize == 4 else np.uint64)
        least = _stream(X, rows, below, upper, single, some, above, kept, n_kept, mark)
        if mark.any():
            return None
        from_least = opened & (least.min(axis=0) == lower)
        columns = np.flatnonzero(_planes(n, lower, upper, from_least, some, above, kept, n_kept, planes))
    return planes if _one_by_one(X, rows, columns, planes).all() else None


@njit(parallel=True, cache=True)
def unpack_planes(planes, rows, n):  # type: ignore[no-untyped-def]
    """uint8 (n, D) from planes of one bit a feature; `rows` lists a row for each bit, -1 for padding."""
    d = planes.shape[0]
    codes = np.empty((n, d), np.uint8)
    for w in prange(planes.shape[1]):
        words = planes[:, w].copy()
        for bit in range(64):
            row = rows[64 * w + bit]
            if row >= 0:
                for j in range(d):
                    codes[row, j] = np.uint8(words[j] >> np.uint64(bit) & np.uint64(1))
    return codes
