"""Is there synergy beyond pairs? `Synergy3 = I(Xi,Xj,Xk;Y) - max(pair_ij, pair_ik, pair_jk)` of all triples, in bits.

Binary codes are packed 64 rows to a word, one plane per class and feature; plug-in estimates, no smoothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError
from synafa.information.labels import check_labels


@dataclass(frozen=True)
class Synergy3Result:
    """`values[t]` belongs to the features `triples[t]` (i < j < k, lexicographic); all in bits."""

    mean: float
    p90: float
    maximum: float
    values: NDArray[np.float64]
    triples: NDArray[np.int64]


def synergy3(codes: ArrayLike, y: ArrayLike) -> Synergy3Result:
    """Synergy beyond the best pair, for every triple of binary features.

    Parameters
    ----------
    codes : array of 0 and 1, shape (n, D)
        Binarised training rows (`synafa.Discretizer(n_bins=2)`), at least three features.
    y : array, shape (n,)
        Classes, of any type.

    Examples
    --------
    >>> grid = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
    >>> round(synergy3(grid, grid.sum(axis=1) % 2).maximum, 6)
    1.0
    """
    from synafa.analysis.kernels.triples import pair_ones, triple_information

    bits, label, n_classes = _checked(codes, y)
    n, d = bits.shape
    planes = packed_planes(bits, label, n_classes)
    ones = pair_ones(planes)
    sizes = np.bincount(label, minlength=n_classes)
    whole = np.arange(n + 1, dtype=np.float64)
    xlogx = whole * np.log(np.maximum(whole, 1.0))
    triples = _all_triples(d)
    first = np.zeros(d * d, np.int64)
    opens = np.flatnonzero(triples[:, 2] == triples[:, 1] + 1)
    first[triples[opens, 0] * d + triples[opens, 1]] = opens
    joint = triple_information(planes, ones, sizes, xlogx, first)
    pair = _pair_information(ones, sizes, xlogx)
    i, j, k = triples.T
    best = np.maximum(np.maximum(pair[i, j], pair[i, k]), pair[j, k])
    values = (joint - best) / (n * log(2.0))
    return Synergy3Result(float(values.mean()), float(np.quantile(values, 0.9)), float(values.max()), values, triples)


def packed_planes(bits: NDArray[np.uint8], label: NDArray[np.int64], n_classes: int) -> NDArray[np.uint64]:
    """Planes (K, D, W): the rows of each class, 64 to a word, zeros behind the last row."""
    words = max(1, (int(np.bincount(label, minlength=n_classes).max()) + 63) // 64)
    planes = np.zeros((n_classes, bits.shape[1], words * 8), np.uint8)
    for c in range(n_classes):
        packed = np.packbits(bits[label == c].T, axis=1)
        planes[c, :, : packed.shape[1]] = packed
    return planes.view(np.uint64)


def _pair_information(
    ones: NDArray[np.int64], sizes: NDArray[np.int64], xlogx: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`n * I(Xi,Xj;Y)` (D, D), in the unit of `xlogx`."""
    alone = np.diagonal(ones, axis1=1, axis2=2)
    row, column = alone[:, :, None], alone[:, None, :]
    cells = np.stack([ones, row - ones, column - ones, sizes[:, None, None] - row - column + ones])
    constant = xlogx[sizes.sum()] - xlogx[sizes].sum()
    return constant + xlogx[cells].sum(axis=(0, 1)) - xlogx[cells.sum(axis=1)].sum(axis=0)


def _all_triples(d: int) -> NDArray[np.int64]:
    """All i < j < k below d, lexicographic, shape (C(d, 3), 3)."""
    i, j = np.triu_indices(d, 1)
    repeats = d - 1 - j
    start = np.repeat(np.cumsum(repeats) - repeats, repeats)
    i, j = np.repeat(i, repeats), np.repeat(j, repeats)
    return np.column_stack([i, j, j + 1 + np.arange(i.size) - start])


def _checked(codes: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.uint8], NDArray[np.int64], int]:
    bits, target = np.asarray(codes), np.asarray(y)
    if bits.ndim != 2 or target.shape != bits.shape[:1] or target.size == 0:
        raise SynafaError(f"codes must be (n, D) and y (n,), with rows, got shapes: {bits.shape}, {target.shape}.")
    if bits.shape[1] < 3:
        raise SynafaError(f"A triple needs three features, got: {bits.shape[1]}.")
    if not ((bits == 0) | (bits == 1)).all():
        raise SynafaError("codes must be binary (0 or 1); binarise them with synafa.Discretizer(n_bins=2) first.")
    classes, label = np.unique(check_labels(target, len(bits)), return_inverse=True)
    return bits.astype(np.uint8), label, classes.size
