"""Joint counts with missing cells to information: every value from the rows that have all it needs.

Counts have one code more than there are bins, the last, for a missing cell. What a pair tells comes from the rows that
have both of its cells, and is 0 where they are fewer than `least`. The sums are those of `tables.py`: integers in fixed
point, in any order.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.information.kernels.tables import BLOCK, _bits, _f, _load_cells


@njit(cache=True)
def _base(margins, f, step):  # type: ignore[no-untyped-def]
    """Of counts (K, bins) of a feature's codes: all rows, and f of them minus f of each class."""
    n, classes = 0, 0
    for y in range(margins.shape[0]):
        rows = 0
        for a in range(margins.shape[1]):
            rows += margins[y, a]
        n += rows
        classes += _f(f, step, rows)
    return n, _f(f, step, n) - classes


@njit(cache=True)
def _of_code(margins, a, f, step):  # type: ignore[no-untyped-def]
    """Rows with code a, and f of their classes minus f of them."""
    rows, terms = 0, 0
    for y in range(margins.shape[0]):
        rows += margins[y, a]
        terms += _f(f, step, margins[y, a])
    return rows, terms - _f(f, step, rows)


@njit(cache=True)
def _alone(margins, f, step):  # type: ignore[no-untyped-def]
    """I(X; Y) from the counts (K, bins) of a feature's codes."""
    n, total = _base(margins, f, step)
    for a in range(margins.shape[1]):
        total += _of_code(margins, a, f, step)[1]
    return _bits(total, n, step)


@njit(cache=True)
def _specific(margins, y, n, of_class):  # type: ignore[no-untyped-def]
    """p(y) times the specific information of class y: sum over x of p(x, y) log2( p(y|x) / p(y) )."""
    total = 0.0
    for a in range(margins.shape[1]):
        count = margins[y, a]
        if count:
            rows = margins[:, a].sum()
            total += count * np.log2((count / rows) / (of_class / n))
    return total / n


@njit(cache=True)
def _redundant(one, other):  # type: ignore[no-untyped-def]
    """What both features tell about each class at least, from the counts (K, bins) of their codes in the same rows."""
    n, total = one.sum(), 0.0
    for y in range(one.shape[0]):
        of_class = one[y].sum()
        if of_class:
            total += min(_specific(one, y, n, of_class), _specific(other, y, n, of_class))
    return total


@njit(cache=True)
def _sum_up(cells, f, step, one, other, along_one, along_other):  # type: ignore[no-untyped-def]
    """Margins (K, bins) of both features in the complete cases, and the terms of the cells along each; their sum."""
    bins = one.shape[1]
    one[:], other[:] = 0, 0
    along_one[:], along_other[:] = 0, 0
    total = 0
    for a in range(bins):
        for b in range(bins):
            rows, term = 0, 0
            for y in range(one.shape[0]):
                count = cells[y, a, b]
                rows += count
                term += _f(f, step, count)
                one[y, a] += count
                other[y, b] += count
            term -= _f(f, step, rows)
            along_one[a] += term
            along_other[b] += term
            total += term
    return total


@njit(parallel=True, cache=True)
def single_complete(codes: np.ndarray, least: int, f: np.ndarray, step: float) -> np.ndarray:
    """I(X_j; Y) from the rows that have feature j; counts (K, D, bins + 1) of its codes, missing cells last."""
    single = np.zeros(codes.shape[1])
    for j in prange(codes.shape[1]):
        margins = codes[:, j, :-1]
        if margins.sum() >= least:
            single[j] = _alone(margins, f, step)
    return single


@njit(parallel=True, cache=True)
def pair_tables_complete(joint, codes, class_counts, least, f, step, pair, cond, alone, redundant):  # type: ignore[no-untyped-def]
    """Fill the tables of all pairs, which hold zeros, from their complete cases, but not the diagonals.

    joint : (K, P, P), codes : (K, D, bins + 1), missing cells last
    pair (D, D) : I(X_j, X_k; Y), cond (D, D, bins) : I(Y; X_j | X_k = v), alone (D, D) : I(X_j; Y) in the complete
    cases of j and k, redundant (D, D) : what both tell about each class at least
    """
    n_classes, d, n_codes = codes.shape
    bins = n_codes - 1
    blocks = (d + BLOCK - 1) // BLOCK
    for index in prange(blocks):
        block = index // 2 if index % 2 == 0 else blocks - 1 - index // 2  # long and short parts in turn
        first, last = block * BLOCK, min(d, (block + 1) * BLOCK)
        cells = np.zeros((n_classes, n_codes, n_codes), np.int64)
        one, other = np.empty((n_classes, bins), np.int64), np.empty((n_classes, bins), np.int64)
        along_one, along_other = np.empty(bins, np.int64), np.empty(bins, np.int64)
        for k in range(first + 1, d):
            for j in range(first, min(last, k)):
                _load_cells(joint, codes, class_counts, j, k, cells)
                total = _sum_up(cells, f, step, one, other, along_one, along_other)
                n, base = _base(one, f, step)
                if n < least:
                    continue
                pair[j, k] = _bits(base + total, n, step)
                pair[k, j] = pair[j, k]
                for a in range(bins):
                    rows, terms = _of_code(one, a, f, step)
                    cond[k, j, a] = _bits(along_one[a] - terms, rows, step)
                    rows, terms = _of_code(other, a, f, step)
                    cond[j, k, a] = _bits(along_other[a] - terms, rows, step)
                alone[j, k], alone[k, j] = _alone(one, f, step), _alone(other, f, step)
                redundant[j, k] = _redundant(one, other)
                redundant[k, j] = redundant[j, k]


@njit(parallel=True, cache=True)
def block_tables_complete(joint, first, codes, least, f, step, pair, cond):  # type: ignore[no-untyped-def]
    """`wide.block_tables` from complete cases: rows of features j = first + i of `pair` (m, D) and `cond` (m, bins, D).

    Both hold zeros.
    joint : int32 (K, m * bins, D * bins) of the planes of the codes 1, 2, ..., missing cells last
    """
    n_classes, d, n_codes = codes.shape
    bins = n_codes - 1
    for i in prange(pair.shape[0]):
        j = first + i
        cells = np.zeros((n_classes, n_codes, n_codes), np.int64)
        one, other = np.empty((n_classes, bins), np.int64), np.empty((n_classes, bins), np.int64)
        along_one, along_other = np.empty(bins, np.int64), np.empty(bins, np.int64)
        for k in range(d):
            for y in range(n_classes):
                for b in range(n_codes):
                    cells[y, 0, b] = codes[y, k, b]
                for a in range(1, n_codes):
                    cells[y, a, 0] = codes[y, j, a]
                    for b in range(1, n_codes):
                        count = np.int64(joint[y, i * bins + a - 1, k * bins + b - 1])
                        cells[y, a, b] = count
                        cells[y, a, 0] -= count
                        cells[y, 0, b] -= count
                    cells[y, 0, 0] -= cells[y, a, 0]
            total = _sum_up(cells, f, step, one, other, along_one, along_other)
            n, base = _base(one, f, step)
            if n < least:
                continue
            pair[i, k] = _bits(base + total, n, step)
            for a in range(bins):
                rows, terms = _of_code(one, a, f, step)
                cond[i, a, k] = _bits(along_one[a] - terms, rows, step)
