"""Joint counts to mutual information, pair by pair.

Every value is a sum of `f(n) = n log2 n` over integer counts. `f` is tabulated in fixed point, so the sums are sums of
integers: they do not depend on the order of the cells, and features that are copies or complements of each other get
equal values to the last bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

BLOCK = 8  # features handled together
TABULATED = 1 << 21  # counts below this are looked up, larger ones computed: a table of them would not fit


def n_log_n(largest: int) -> tuple[np.ndarray, float]:
    """`f(n)` for n = 0..largest below TABULATED, int64, in units of the returned step (a power of two, in bits)."""
    counts = np.arange(min(largest + 1, TABULATED), dtype=np.float64)
    bits = counts * np.log2(np.maximum(counts, 1.0))
    shift = 60 - int(np.ceil(np.log2(largest * np.log2(max(largest, 1.0)) + 2.0)))
    return np.rint(bits * 2.0**shift).astype(np.int64), 2.0**-shift


@njit(cache=True)
def _f(f, step, count):  # type: ignore[no-untyped-def]
    """`f(count)`."""
    if count < f.size:
        return f[count]
    return np.int64(np.rint(count * np.log2(np.float64(count)) / step))


@njit(cache=True)
def _load_cells(
    joint: np.ndarray, codes: np.ndarray, class_counts: np.ndarray, j: int, k: int, cells: np.ndarray
) -> None:
    """Fill `cells` (K, bins, bins) of features j < k from the planes' joint counts and the codes' counts."""
    n_bins = codes.shape[2]
    width = n_bins - 1
    for y in range(class_counts.size):
        corner = class_counts[y]
        for b in range(1, n_bins):
            cells[y, b, 0] = codes[y, j, b]
            cells[y, 0, b] = codes[y, k, b]
        for a in range(1, n_bins):
            for b in range(1, n_bins):
                count = joint[y, j * width + a - 1, k * width + b - 1]
                cells[y, a, b] = count
                cells[y, a, 0] -= count
                cells[y, 0, b] -= count
                corner -= count
        for b in range(1, n_bins):
            corner -= cells[y, b, 0] + cells[y, 0, b]
        cells[y, 0, 0] = corner


@njit(cache=True)
def _bits(total: int, rows: int, step: float) -> float:
    """A fixed-point sum as bits per row; what rounding leaves below zero is zero."""
    return max(total, 0) * step / rows if rows else 0.0


@njit(parallel=True, cache=True)
def single_table(codes: np.ndarray, class_counts: np.ndarray, f: np.ndarray, step: float) -> np.ndarray:
    """I(X_j; Y) of every feature from the counts (K, D, bins) of its codes."""
    n_classes, d, n_bins = codes.shape
    n = class_counts.sum()
    single = np.empty(d)
    for j in prange(d):
        total = _f(f, step, n)
        for y in range(n_classes):
            total -= _f(f, step, class_counts[y])
        for a in range(n_bins):
            rows = 0
            for y in range(n_classes):
                rows += codes[y, j, a]
                total += _f(f, step, codes[y, j, a])
            total -= _f(f, step, rows)
        single[j] = _bits(total, n, step)
    return single


@njit(parallel=True, cache=True)
def pair_tables(  # type: ignore[no-untyped-def]
    joint: np.ndarray, codes: np.ndarray, class_counts: np.ndarray, f: np.ndarray, step: float, pair, cond
) -> None:
    """Fill `pair` (D, D): I(X_j, X_k; Y), and `cond` (D, D, bins): I(Y; X_j | X_k = v), but not their diagonals."""
    n_classes, d, n_bins = codes.shape
    n = class_counts.sum()
    base = _f(f, step, n)
    for y in range(n_classes):
        base -= _f(f, step, class_counts[y])
    # f of the margins: rows with code a (D, bins), and the class terms of each code (D, bins)
    code_rows = np.zeros((d, n_bins), np.int64)
    class_terms = np.zeros((d, n_bins), np.int64)
    for j in prange(d):
        for a in range(n_bins):
            for y in range(n_classes):
                code_rows[j, a] += codes[y, j, a]
                class_terms[j, a] += _f(f, step, codes[y, j, a])
    blocks = (d + BLOCK - 1) // BLOCK
    for index in prange(blocks):
        block = index // 2 if index % 2 == 0 else blocks - 1 - index // 2  # long and short parts in turn
        first, last = block * BLOCK, min(d, (block + 1) * BLOCK)
        cells = np.zeros((n_classes, n_bins, n_bins), np.int64)
        along_j = np.zeros(n_bins, np.int64)
        for k in range(first + 1, d):
            for j in range(first, min(last, k)):  # neighbours j write to one cache line of row k
                _load_cells(joint, codes, class_counts, j, k, cells)
                total = base
                along_j[:] = 0
                for b in range(n_bins):
                    along_k = 0
                    for a in range(n_bins):
                        rows = 0
                        term = 0
                        for y in range(n_classes):
                            rows += cells[y, a, b]
                            term += _f(f, step, cells[y, a, b])
                        term -= _f(f, step, rows)
                        along_k += term
                        along_j[a] += term
                    total += along_k
                    # I(Y; X_j | X_k = b): sum of cells - rows - classes + stratum
                    stratum = code_rows[k, b]
                    cond[j, k, b] = _bits(along_k - class_terms[k, b] + _f(f, step, stratum), stratum, step)
                for a in range(n_bins):
                    stratum = code_rows[j, a]
                    cond[k, j, a] = _bits(along_j[a] - class_terms[j, a] + _f(f, step, stratum), stratum, step)
                value = _bits(total, n, step)
                pair[j, k] = value
                pair[k, j] = value


@njit(cache=True)
def _two(rows, ones, f, step):  # type: ignore[no-untyped-def]
    """f of both classes of a cell minus f of the cell, for `rows` rows of which `ones` are of the second class."""
    return _f(f, step, ones) + _f(f, step, rows - ones) - _f(f, step, rows)


@njit(parallel=True, cache=True)
def pair_tables_two(  # type: ignore[no-untyped-def]
    joint: np.ndarray, codes: np.ndarray, class_counts: np.ndarray, f: np.ndarray, step: float, pair, cond
) -> None:
    """`pair_tables` for two bins and two classes, without the scratch arrays: the same sums, so the same values."""
    d = codes.shape[1]
    n = class_counts[0] + class_counts[1]
    base = _f(f, step, n) - _f(f, step, class_counts[0]) - _f(f, step, class_counts[1])
    rows = np.empty((d, 2), np.int64)
    terms = np.empty((d, 2), np.int64)  # f(stratum) minus the class terms of the stratum
    for j in range(d):
        for a in range(2):
            rows[j, a] = codes[0, j, a] + codes[1, j, a]
            terms[j, a] = _f(f, step, rows[j, a]) - _f(f, step, codes[0, j, a]) - _f(f, step, codes[1, j, a])
    blocks = (d + BLOCK - 1) // BLOCK
    for index in prange(blocks):
        block = index // 2 if index % 2 == 0 else blocks - 1 - index // 2
        first, last = block * BLOCK, min(d, (block + 1) * BLOCK)
        for k in range(first + 1, d):
            for j in range(first, min(last, k)):
                ones = joint[1, j, k]
                both = joint[0, j, k] + ones
                term11 = _two(both, ones, f, step)
                term10 = _two(rows[j, 1] - both, codes[1, j, 1] - ones, f, step)
                term01 = _two(rows[k, 1] - both, codes[1, k, 1] - ones, f, step)
                left, left_ones = rows[j, 0] - rows[k, 1] + both, codes[1, j, 0] - codes[1, k, 1] + ones
                term00 = _two(left, left_ones, f, step)
                cond[j, k, 0] = _bits(term00 + term10 + terms[k, 0], rows[k, 0], step)
                cond[j, k, 1] = _bits(term01 + term11 + terms[k, 1], rows[k, 1], step)
                cond[k, j, 0] = _bits(term00 + term01 + terms[j, 0], rows[j, 0], step)
                cond[k, j, 1] = _bits(term10 + term11 + terms[j, 1], rows[j, 1], step)
                value = _bits(base + term00 + term01 + term10 + term11, n, step)
                pair[j, k] = value
                pair[k, j] = value
