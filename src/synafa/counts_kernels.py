"""Bit-packed planes and their population counts.

A plane is the indicator of one code (1, 2, ...) of one feature; code 0 follows from the margins. Rows are grouped by
class and every class starts at a fresh 64-bit word, so one AND and one population count give a joint count per class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic

TILE = 8  # planes a tile of the pair loop holds in cache


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
    tiles = (n_planes + TILE - 1) // TILE
    for index in prange(tiles * (tiles + 1) // 2):
        row = np.int64((np.sqrt(8.0 * index + 1.0) - 1.0) / 2.0)  # tile pairs along the triangle, one a task
        while row * (row + 1) // 2 > index:
            row -= 1
        while (row + 1) * (row + 2) // 2 <= index:
            row += 1
        column = index - row * (row + 1) // 2
        for p in range(column * TILE, min(n_planes, (column + 1) * TILE)):
            for q in range(max(p + 1, row * TILE), min(n_planes, (row + 1) * TILE)):
                for y in range(n_classes):
                    total = np.uint64(0)
                    for w in range(starts[y], starts[y + 1]):
                        total += popcount(planes[p, w] & planes[q, w])
                    joint[y, p, q] += np.int64(total)
