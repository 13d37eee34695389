"""Bit-packed planes and their population counts.

A plane is the indicator of one code (1, 2, ...) of one feature; code 0 follows from the margins. Rows are grouped by
class and every class starts at a fresh 64-bit word, so one AND and one population count give a joint count per class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic

GROUP = 8  # planes that stay in cache while the others are counted against them


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


@njit(cache=True, inline="always")
def _add(a, b, c):  # type: ignore[no-untyped-def]
    """The sum of three bits in each of 64 places: the ones and the carries."""
    either = a ^ b
    return either ^ c, (a & b) | (either & c)


@njit(cache=True)
def _both(a, b, part):  # type: ignore[no-untyped-def]
    """The number of ones in a & b; `part` is a seventh of the words, rounded down to whole vectors of four.

    Seven words are added place by place into ones, twos and fours, so that three population counts serve for seven.
    """
    ones_count, twos_count, fours_count = np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(part):
        i1, i2, i3, i4, i5, i6 = i + part, i + 2 * part, i + 3 * part, i + 4 * part, i + 5 * part, i + 6 * part
        sum1, carry1 = _add(a[i] & b[i], a[i1] & b[i1], a[i2] & b[i2])
        sum2, carry2 = _add(a[i3] & b[i3], a[i4] & b[i4], a[i5] & b[i5])
        ones, carry3 = _add(sum1, sum2, a[i6] & b[i6])
        twos, fours = _add(carry1, carry2, carry3)
        ones_count += popcount(ones)
        twos_count += popcount(twos)
        fours_count += popcount(fours)
    total = ones_count + np.uint64(2) * twos_count + np.uint64(4) * fours_count
    for w in range(7 * part, a.size):
        total += popcount(a[w] & b[w])
    return np.int64(total)


@njit(parallel=True, cache=True)
def add_pair_counts(planes: np.ndarray, starts: np.ndarray, joint: np.ndarray) -> None:
    """Add to `joint`, int64 (K, P, P), the rows of each class that are in both planes p < q (upper triangle only)."""
    n_planes = planes.shape[0]
    groups = (n_planes + GROUP - 1) // GROUP
    parts = (starts[1:] - starts[:-1]) // 28 * 4  # computed out here: inside `_both` it would keep the loop scalar
    for index in prange(groups):
        group = index // 2 if index % 2 == 0 else groups - 1 - index // 2  # short and long columns in turn
        first, last = GROUP * group, min(n_planes, GROUP * (group + 1))
        for p in range(last):  # a group stays in cache while every earlier plane passes by
            for q in range(max(first, p + 1), last):
                for y in range(starts.size - 1):
                    words = slice(starts[y], starts[y + 1])
                    joint[y, p, q] += _both(planes[p, words], planes[q, words], parts[y])
