"""Two values that very likely enclose a column's median, from samples of the rows.

A few sorted rows offer values, many more rows say how far from the middle each is: the bracket is then hardly wider
than the larger sample's uncertainty, and nothing but the small sample was sorted.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

SORTED = 256  # rows that offer values
OFFERED = 8  # how many they offer
STEP = 9  # their distance in the sorted rows; together they reach 4 standard deviations to both sides
SAMPLE = 4096  # rows that judge them
DEVIATIONS = 4.0  # half the bracket's width in standard deviations of the median's rank in the sample
BLOCK = 16  # columns copied together: one cache line of float32
STRIPE = 112  # columns counted together: their edges and counts stay in the nearest cache
SHARES = 8  # parts of the sample that threads take


def brackets(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (D,) that very likely enclose each column's median, and the least of the sorted, of rows far apart."""
    rows = np.arange(SAMPLE) * len(X) // SAMPLE
    ordered = _columns(X, rows[:: SAMPLE // SORTED])
    ordered.sort(axis=1)
    begin = SORTED // 2 - STEP * (OFFERED - 1) // 2
    middle = ordered[:, begin : begin + STEP * (OFFERED - 1) + 1]
    offered = np.ascontiguousarray(middle[:, ::STEP].T)
    above = _judge(X, rows, offered).sum(axis=0, dtype=np.int64)  # falls from one offered value to the next
    reach = int(DEVIATIONS * np.sqrt(SAMPLE) / 2)
    few, many = SAMPLE // 2 - reach, SAMPLE // 2 + reach
    last = np.maximum((above >= many).sum(axis=0) - 1, 0)
    first = np.minimum((above > few).sum(axis=0), OFFERED - 1)
    without_ties = (middle[:, 1:] == middle[:, :-1]).sum(axis=1) == 0
    lower = _between(offered, above, last, last + 1, many, without_ties)
    upper = _between(offered, above, first, first - 1, few, without_ties)
    return lower, upper, ordered[:, 0].copy()


def _between(
    offered: np.ndarray, above: np.ndarray, safe: np.ndarray, next_to: np.ndarray, goal: int, wanted: np.ndarray
) -> np.ndarray:
    """Offered value number `safe` of each column, moved towards number `next_to` until about `goal` rows exceed it.

    It stays where a move is not `wanted`, where there is no neighbour, and where it lies on the goal's other side.
    """
    columns = np.arange(len(safe))
    next_to = np.clip(next_to, 0, OFFERED - 1)
    here, there = above[safe, columns], above[next_to, columns]
    share = np.divide(here - goal, here - there, out=np.zeros(len(safe)), where=wanted & (here != there))
    value, moved = offered[safe, columns], share > 0  # the others may be infinite, and nothing is done with them
    part = np.minimum(share[moved], 1).astype(offered.dtype)
    value[moved] = (1 - part) * value[moved] + part * offered[next_to[moved], columns[moved]]
    return value


@njit(parallel=True, cache=True)
def _columns(X, rows):  # type: ignore[no-untyped-def]
    """The columns (D, rows) of some rows."""
    d = X.shape[1]
    result = np.empty((d, rows.size), X.dtype)
    for block in prange((d + BLOCK - 1) // BLOCK):
        for i in range(rows.size):
            for j in range(BLOCK * block, min(d, BLOCK * (block + 1))):
                result[j, i] = X[rows[i], j]
    return result


@njit(cache=True)
def _more(edge, a, b, c, d):  # type: ignore[no-untyped-def]
    """How many of four values exceed an edge."""
    return np.uint32(np.uint32(a > edge) + np.uint32(b > edge) + np.uint32(c > edge) + np.uint32(d > edge))


@njit(cache=True)
def _add_counts(X, eight, part, edges, counts):  # type: ignore[no-untyped-def]
    """Add to `counts` (OFFERED, width) how many of eight rows exceed each edge, in a part of the columns.

    The rows are written out: as a loop inside the one over columns they would keep it from being vectorised.
    """
    a, b, c, d = X[eight[0], part], X[eight[1], part], X[eight[2], part], X[eight[3], part]
    e, f, g, h = X[eight[4], part], X[eight[5], part], X[eight[6], part], X[eight[7], part]
    for k in range(edges.shape[0]):
        row, total = edges[k], counts[k]
        for j in range(row.size):
            more = _more(row[j], a[j], b[j], c[j], d[j]) + _more(row[j], e[j], f[j], g[j], h[j])
            total[j] = np.uint32(total[j] + more)


@njit(parallel=True, cache=True)
def _judge(X, rows, offered):  # type: ignore[no-untyped-def]
    """How many of the rows exceed each offered value (OFFERED, D): uint32 (SHARES, OFFERED, D)."""
    n_offered, d = offered.shape
    counts = np.zeros((SHARES, n_offered, d), np.uint32)  # as wide as float32: a vector holds as many of both
    stripes = (d + STRIPE - 1) // STRIPE
    for task in prange(SHARES * stripes):
        share, stripe = task % SHARES, task // SHARES
        part = slice(STRIPE * stripe, min(d, STRIPE * (stripe + 1)))
        edges = offered[:, part].copy()
        mine = np.zeros(edges.shape, np.uint32)
        for first in range(share * rows.size // SHARES, (share + 1) * rows.size // SHARES, 8):
            _add_counts(X, rows[first : first + 8], part, edges, mine)
        counts[share, :, part] = mine
    return counts
