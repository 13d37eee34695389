"""Bit-packed planes and their population counts.

A plane is the indicator of one code (1, 2, ...) of one feature; code 0 follows from the margins. Rows are grouped by
class and every class starts at a fresh 64-bit word, so one AND and one population count give a joint count per class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic

GROUP = 4  # planes counted against another one at a time


@intrinsic
def popcount(typingctx: Any, word: Any) -> Any:
    """The number of ones in a 64-bit word, as one machine instruction where there is one."""
    signature = types.uint64(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return signature, codegen


@njit(parallel=True, cache=True)
def pack_planes(codes: np.ndarray, order: np.ndarray, n_planes: int) -> np.ndarray:
    """Planes, uint64 (D * n_planes, words); `order` lists a row for each bit, -1 for padding."""
    d = codes.shape[1]
    words = order.size // 64
    by_word = np.empty((words, n_planes * d), np.uint64)
    for w in prange(words):
        for p in range(n_planes * d):
            by_word[w, p] = 0
        for bit in range(64):
            row = order[64 * w + bit]
            if row < 0:
                continue
            for b in range(n_planes):
                code = np.uint8(b + 1)
                for j in range(d):
                    by_word[w, b * d + j] |= np.uint64(codes[row, j] == code) << np.uint64(bit)
    planes = np.empty((d * n_planes, words), np.uint64)
    for j in prange(d):
        for b in range(n_planes):
            for w in range(words):
                planes[j * n_planes + b, w] = by_word[w, b * d + j]
    return planes


@njit(parallel=True, cache=True)
def single_counts(planes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Rows of each class in each plane, int64 (K, P); class y occupies words starts[y]..starts[y+1]."""
    n_classes = starts.size - 1
    counts = np.empty((n_classes, planes.shape[0]), np.int64)
    for p in prange(planes.shape[0]):
        for y in range(n_classes):
            total = np.uint64(0)
            for w in range(starts[y], starts[y + 1]):
                total += popcount(planes[p, w])
            counts[y, p] = np.int64(total)
    return counts


@njit(parallel=True, cache=True)
def add_pair_counts(planes: np.ndarray, starts: np.ndarray, joint: np.ndarray) -> None:
    """Add to `joint`, int64 (K, P, P), the rows of each class that are in both planes p < q (upper triangle only)."""
    n_planes = planes.shape[0]
    n_classes = starts.size - 1
    groups = (n_planes + GROUP - 1) // GROUP
    last = n_planes - 1
    for index in prange(groups):
        group = index // 2 if index % 2 == 0 else groups - 1 - index // 2  # short and long columns in turn
        q = GROUP * group
        # four planes at a time against every earlier one: each word of p is loaded once for the four
        q0, q1, q2, q3 = planes[q], planes[min(q + 1, last)], planes[min(q + 2, last)], planes[min(q + 3, last)]
        for p in range(min(q + GROUP - 1, last)):
            plane = planes[p]
            for y in range(n_classes):
                n0, n1, n2, n3 = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
                for w in range(starts[y], starts[y + 1]):
                    word = plane[w]
                    n0 += popcount(word & q0[w])
                    n1 += popcount(word & q1[w])
                    n2 += popcount(word & q2[w])
                    n3 += popcount(word & q3[w])
                if p < q:
                    joint[y, p, q] += np.int64(n0)
                if p < q + 1 <= last:
                    joint[y, p, q + 1] += np.int64(n1)
                if p < q + 2 <= last:
                    joint[y, p, q + 2] += np.int64(n2)
                if p < q + 3 <= last:
                    joint[y, p, q + 3] += np.int64(n3)
