"""Values straight to bit planes: one pass over the matrix finds what lies above the study's threshold.

A sample of the rows brackets each column's median between two of its values. The pass packs `x >= lower` and
`x > upper` into bits and keeps the few values in between; the exact median is selected among those, and only their bits
are still open. A bracket of one value needs no selection: one of the two planes is the answer. A bracket that begins
with the column's minimum, of which there may be many, is opened there: `x > lower` is packed instead.
Columns where this fails (the bracket missed, or many ties around the median) are done one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic

from synafa.codes_kernels import binary_threshold, mean_of_two
from synafa.counts_kernels import popcount

SAMPLE = 1024  # rows that bracket the medians
DEVIATIONS = 3.5  # half the bracket's width in standard deviations of the sample median's rank
STREAMED = 8 * SAMPLE  # rows from which on a sample pays
SHARES = 8  # parts of the rows that threads take
BLOCK = 16  # columns handled together: one cache line of float32
ROOM = 6  # a share keeps at most about a sixth of its rows of a column; a sorted column overflows that


@intrinsic
def _lowest_one(typingctx: Any, word: Any) -> Any:
    """The position of the lowest one of a word that has one."""
    signature = types.uint64(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return signature, codegen


def _brackets(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (D,) that very likely enclose each column's median, and the least, of rows at equal distances."""
    sample = X[np.arange(SAMPLE) * len(X) // SAMPLE]
    sample.sort(axis=0)
    reach = int(DEVIATIONS * np.sqrt(SAMPLE) / 2)
    return sample[SAMPLE // 2 - reach], sample[SAMPLE // 2 + reach], sample[0]


@njit(cache=True)
def _pack_32(X, rows, edges, words):  # type: ignore[no-untyped-def]
    """Bit i of `words` (D,): whether row rows[i] exceeds the column's edge; a row of -1 is padding and exceeds none."""
    words[:] = 0
    for i in range(31, -1, -1):
        if rows[i] < 0:
            for j in range(words.size):
                words[j] = words[j] + words[j]
        else:
            values = X[rows[i]]
            for j in range(words.size):
                words[j] = words[j] + words[j] + np.uint32(values[j] > edges[j])


@njit(cache=True)
def _pack_64(X, rows, edges, low, high, words):  # type: ignore[no-untyped-def]
    """`_pack_32` of 64 rows; as many 32-bit numbers as float32 fit into a vector, which is why it goes by halves."""
    _pack_32(X, rows[:32], edges, low)
    _pack_32(X, rows[32:], edges, high)
    for j in range(words.size):
        words[j] = np.uint64(low[j]) | np.uint64(high[j]) << np.uint64(32)


@njit(cache=True)
def _keep_between(X, rows, some, above, single, kept, n_kept):  # type: ignore[no-untyped-def]
    """Append the values of 64 rows whose bit is set in `some` but not in `above`, column by column."""
    for j in range(some.size):
        between = np.uint64(0) if single[j] else some[j] & ~above[j]
        at = n_kept[j]
        if at + 64 > kept.shape[1]:  # full: the column is given up
            n_kept[j] = kept.shape[1] if between else at
            continue
        while between:
            kept[j, at] = X[rows[_lowest_one(between)], j]
            between &= between - np.uint64(1)
            at += 1
        n_kept[j] = at


@njit(parallel=True, cache=True)
def _stream(X, rows, below, upper, single, some, above, kept, n_kept):  # type: ignore[no-untyped-def]
    """One pass: bits (words, D) of `x > below` and `x > upper`, and the values in between, share by share.

    Returns (SHARES, D) the least values, and a sum that is NaN where a column holds NaN or infinity.
    """
    n_words, d = some.shape
    length = (n_words + SHARES - 1) // SHARES
    least = np.full((SHARES, d), np.inf, X.dtype)
    nothing = np.zeros((SHARES, d), X.dtype)
    for share in prange(SHARES):
        low, high = np.empty(d, np.uint32), np.empty(d, np.uint32)
        sums, minima = nothing[share], least[share]
        for w in range(share * length, min(n_words, (share + 1) * length)):
            mine = rows[64 * w : 64 * w + 64]
            for i in range(64):
                if mine[i] >= 0:
                    values = X[mine[i]]
                    for j in range(d):  # with both in one loop it is vectorised
                        value = values[j]
                        bound = minima[j]
                        sums[j] += value - value
                        minima[j] = value if value < bound else bound
            _pack_64(X, mine, below, low, high, some[w])
            _pack_64(X, mine, upper, low, high, above[w])
            _keep_between(X, mine, some[w], above[w], single, kept[share], n_kept[share])
    return least, nothing


@njit(cache=True)
def _settle(n, some, above, from_least, kept, n_kept, values):  # type: ignore[no-untyped-def]
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
    if values.size == 0:  # the bracket is a single value, which is the median
        if beyond == 0 and at_least < n:  # and the maximum: the threshold lies right below it
            above[:] = some
        return True
    if beyond == 0 or n_kept.max() == kept.shape[1]:
        return False
    count = 0
    for share in range(n_kept.size):
        values[count : count + n_kept[share]] = kept[share, : n_kept[share]]
        count += n_kept[share]
    median = mean_of_two(values[:count], first, second)
    at = 0
    for w in range(some.size):
        word = above[w]
        between = some[w] & ~word
        while between:
            lowest = between & (~between + np.uint64(1))
            between ^= lowest
            word |= lowest * np.uint64(values[at] > median)  # no branch: it would be mispredicted half the time
            at += 1
        above[w] = word
    return True


@njit(parallel=True, cache=True)
def _planes(n, single, from_least, some, above, kept, n_kept, planes):  # type: ignore[no-untyped-def]
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
        values = np.empty(kept.shape[0] * kept.shape[2], kept.dtype)
        for j in range(first, last):
            room = values[:0] if single[j] else values
            failed[j] = not _settle(n, mine[j - first], planes[j], from_least[j], kept[:, j], n_kept[:, j], room)
    return failed


@njit(parallel=True, cache=True)
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
    if n >= STREAMED:
        lower, upper, smallest = _brackets(X)
        single, opened = lower == upper, (lower == smallest) & (lower < upper)
        below = np.where(opened, lower, np.nextafter(lower, X.dtype.type(-np.inf)))
        some, above = np.empty((2, rows.size // 64, d), np.uint64)  # NumPy asks for large pages, Numba does not
        kept = np.empty((SHARES, d, n // SHARES // ROOM + 64), X.dtype)
        n_kept = np.zeros((SHARES, d), np.int64)
        least, nothing = _stream(X, rows, below, upper, single, some, above, kept, n_kept)
        if not np.isfinite(nothing).all():
            return None
        from_least = opened & (least.min(axis=0) == lower)
        columns = np.flatnonzero(_planes(n, single, from_least, some, above, kept, n_kept, planes))
    return planes if _one_by_one(X, rows, columns, planes).all() else None
