"""Two values that very likely enclose a column's median, from samples of the rows.

A few sorted rows offer values, many more rows say how far from the middle each is: the bracket is then hardly wider
than the larger sample's uncertainty, and nothing but the small sample was sorted.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.compare_kernels import compare_64, locate
from synafa.counts_kernels import popcount

SORTED = 256  # rows that offer values
OFFERED = 16  # how many they offer, an even number
STEP = 4  # their distance in the sorted rows; together they reach 3.75 standard deviations to both sides
SAMPLE = 4096  # rows that judge them
DEVIATIONS = 3.5  # half the bracket's width in standard deviations of the median's rank in the sample
SHARES = 8  # parts of the sample that threads take


def brackets(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (D,) that very likely enclose each column's median, and the least of the sorted, of rows far apart."""
    rows = np.arange(SAMPLE) * len(X) // SAMPLE
    ordered = np.ascontiguousarray(X[rows[:: SAMPLE // SORTED]].T)
    ordered.sort(axis=1)
    first = SORTED // 2 - STEP * OFFERED // 2
    offered = np.ascontiguousarray(ordered[:, first : first + STEP * OFFERED : STEP].T)
    mark = np.zeros((SHARES, X.shape[1]), np.uint32 if X.itemsize == 4 else np.uint64)
    above = _judge(X, rows, offered, mark).sum(axis=0)  # falls from one offered value to the next
    reach = int(DEVIATIONS * np.sqrt(SAMPLE) / 2)
    last = np.maximum((above >= SAMPLE // 2 + reach).sum(axis=0) - 1, 0)
    enough = np.minimum((above > SAMPLE // 2 - reach).sum(axis=0), OFFERED - 1)
    columns = np.arange(X.shape[1])
    return offered[last, columns], offered[enough, columns], ordered[:, 0].copy()


@njit(parallel=True, cache=True)
def _judge(X, rows, offered, mark):  # type: ignore[no-untyped-def]
    """How many of the rows exceed each offered value (OFFERED, D): int64 (SHARES, OFFERED, D)."""
    n_offered, d = offered.shape
    counts = np.zeros((SHARES, n_offered, d), np.int64)
    groups = rows.size // 64
    for share in prange(SHARES):
        at, ahead = np.empty(64, np.int64), np.empty(64, np.int64)
        words, least = np.empty((2, d), np.uint64), np.zeros(d, X.dtype)
        for w in range(share * groups // SHARES, (share + 1) * groups // SHARES):
            shown = locate(X, rows, w, at)
            locate(X, rows, w + 1, ahead)
            for k in range(0, n_offered, 2):
                compare_64(X, at, ahead, shown, offered[k], offered[k + 1], words[0], words[1], least, mark[share])
                for j in range(d):
                    counts[share, k, j] += np.int64(popcount(words[0, j]))
                    counts[share, k + 1, j] += np.int64(popcount(words[1, j]))
    return counts
