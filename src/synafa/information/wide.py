"""Bit planes of a very wide table to rows of its information tables, when somebody asks for them.

`pair` and `cond` of 20,000 features are 10 GB of doubles; the planes of 10,000 rows are 25 MB, and from them a row of
either takes a fraction of a second. Every value is the one that `InformationTables` holds, to the last bit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from synafa.errors import SynafaError
from synafa.information.complete import least_rows
from synafa.information.labels import rows_by_class
from synafa.information.pid import Atoms, specific_information

if TYPE_CHECKING:
    from synafa.information.planes import BinaryPlanes

DENSE_LIMIT = 2**30  # bytes of counts and tables of all pairs from which on only rows of them are made
_BLOCK_BYTES = 2**26  # of the counts of a block of features
_REMEMBERED_BYTES = 2**28  # of rows that were asked for


def dense_bytes(n_features: int, n_bins: int, n_classes: int, missing: bool = False) -> int:
    """What counts, tables and the copies that decisions search take together when all pairs are kept.

    Where cells are `missing`, they are counted too, and the atoms of all pairs are kept.

    >>> dense_bytes(784, 2, 2) < DENSE_LIMIT < dense_bytes(20_000, 2, 2)
    True
    """
    pairs, inner = n_features * n_features, (n_bins - 1 + missing) ** 2
    return 8 * pairs * (n_classes * inner + 2 * n_bins + 2 + 3 * missing)


def is_wide(n_features: int, n_bins: int, n_classes: int, missing: bool = False) -> bool:
    """Whether all pairs would take more than `DENSE_LIMIT`."""
    return dense_bytes(n_features, n_bins, n_classes, missing) > DENSE_LIMIT


class PackedRows:
    """Training rows as bit planes, from which rows of `pair` and `cond` follow.

    Attributes
    ----------
    planes : uint64 (P, words)
        P = D * (codes - 1), rows grouped by class.
    starts : int64 (K + 1,)
        The first word of each class.
    class_counts : int64 (K,)
        Rows of each class.
    missing : bool
        Whether there is one code more than bins, the last, for missing cells; every value is then of the rows that
        have all the cells it needs.
    code_counts : int64 (K, D, codes)
        Rows of each class with each code of each feature.
    """

    def __init__(
        self, planes: np.ndarray, starts: np.ndarray, class_counts: np.ndarray, n_bins: int, missing: bool = False
    ) -> None:
        from synafa.information.kernels.counts import single_counts
        from synafa.information.kernels.tables import n_log_n

        self.planes, self.starts, self.class_counts = planes, starts, class_counts
        self.n_bins, self.missing = n_bins, missing
        upper = single_counts(planes, starts).reshape(len(class_counts), -1, n_bins - 1 + missing)
        rest = class_counts[:, None] - upper.sum(axis=2)
        self.code_counts = np.concatenate([rest[:, :, None], upper], axis=2)
        self._f, self._step = n_log_n(int(class_counts.sum()))
        self._least = least_rows(int(class_counts.sum()))
        self._remembered: OrderedDict[int, tuple[np.ndarray, np.ndarray]] = OrderedDict()

    @classmethod
    def from_planes(cls, found: BinaryPlanes) -> PackedRows:
        """Of a matrix in two bins."""
        return cls(found.planes, found.starts, found.class_counts, 2)

    @classmethod
    def from_codes(
        cls, codes: np.ndarray, y: np.ndarray, n_classes: int, n_bins: int, missing: bool = False
    ) -> PackedRows:
        """Of codes, uint8 (n, D), and class indices; where cells may be `missing`, they have the code `n_bins`.

        >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
        >>> rows = PackedRows.from_codes(codes, codes[:, 0] ^ codes[:, 1], 2, 2)
        >>> rows.pair_row(0).tolist(), rows.cond_row(0, 1).tolist()
        ([0.0, 1.0], [0.0, 1.0])
        """
        from synafa.information.kernels.counts import pack_planes

        order, starts = rows_by_class(y, n_classes)
        planes = pack_planes(np.ascontiguousarray(codes), order, n_bins - 1 + missing)
        return cls(planes, starts, np.bincount(y, minlength=n_classes), n_bins, missing)

    @property
    def n_features(self) -> int:
        return self.code_counts.shape[1]

    def single(self) -> np.ndarray:
        """I(X_j; Y), float64 (D,)."""
        from synafa.information.kernels.complete import single_complete
        from synafa.information.kernels.tables import single_table

        if self.missing:
            return single_complete(self.code_counts, self._least, self._f, self._step)
        return single_table(self.code_counts, self.class_counts, self._f, self._step)

    def rows(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the features j = first..last-1.

        Returns
        -------
        pair : float64 (m, D)
            `pair[j - first, k]` = I(X_j, X_k; Y); of a feature with itself its `single`.
        cond : float64 (m, n_bins, D)
            `cond[j - first, v, k]` = I(Y; X_k | X_j = v).
        """
        from synafa.information.kernels.complete import block_tables_complete
        from synafa.information.kernels.wide import block_counts, block_tables, block_tables_two

        n_classes, d, n_codes = self.code_counts.shape
        n_bins, width, m = self.n_bins, n_codes - 1, last - first
        joint = np.empty((n_classes, m * width, d * width), np.int32)
        block_counts(self.planes, self.starts, first * width, joint)
        pair, cond = np.zeros((m, d)), np.zeros((m, n_bins, d))
        if self.missing:
            block_tables_complete(joint, first, self.code_counts, self._least, self._f, self._step, pair, cond)
            return pair, cond
        kernel = block_tables_two if (n_classes, n_bins) == (2, 2) else block_tables
        kernel(joint, first, self.code_counts, self.class_counts, self._f, self._step, pair, cond)
        return pair, cond

    def blocks(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """All rows, a block of features at a time: the first feature, and what `rows` returns."""
        n_classes, d, n_codes = self.code_counts.shape
        size = 8 * max(1, _BLOCK_BYTES // (8 * 4 * n_classes * d * (n_codes - 1) ** 2))
        for first in range(0, d, size):
            yield first, *self.rows(first, min(first + size, d))

    def pair_row(self, j: int) -> np.ndarray:
        """I(X_j, X_k; Y) of all k, float64 (D,)."""
        return self._row(j)[0]

    def cond_row(self, k: int, code: int) -> np.ndarray:
        """I(Y; X_j | X_k = code) of all j, float64 (D,)."""
        return self._row(k)[1][code]

    def _row(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        found = self._remembered.pop(j, None)
        if found is None:
            pair, cond = self.rows(j, j + 1)
            found = pair[0], cond[0]
            if len(self._remembered) * 8 * cond.size > _REMEMBERED_BYTES:
                self._remembered.popitem(last=False)
        self._remembered[j] = found
        return found


class WideTables:
    """What `InformationTables` tells of a table so wide that all pairs at once would not fit.

    Attributes
    ----------
    single : float64 (D,)
        What each feature tells alone, in bits.
    specific : float64 (K, D)
        Specific information of each class.
    class_counts : int64 (K,)
        Training rows of each class.
    rows : PackedRows or None
        Gives rows of `pair` and `cond`; None for a model that was read from a file.
    """

    def __init__(
        self, single: np.ndarray, specific: np.ndarray, class_counts: np.ndarray, rows: PackedRows | None = None
    ) -> None:
        self.single, self.specific, self.class_counts, self.rows = single, specific, class_counts, rows

    @classmethod
    def from_rows(cls, rows: PackedRows) -> WideTables:
        """The tables of packed training rows."""
        return cls(rows.single(), specific_information(rows.code_counts[:, :, : rows.n_bins]), rows.class_counts, rows)

    @property
    def pair(self) -> np.ndarray:
        """Not offered."""
        raise self._too_wide("pair")

    @property
    def cond(self) -> np.ndarray:
        """Not offered."""
        raise self._too_wide("cond")

    def pid(self) -> Atoms:
        """Not offered."""
        raise self._too_wide("the atoms")

    def _too_wide(self, what: str) -> SynafaError:
        return SynafaError(
            f"With {len(self.single):,} features {what} of all pairs is not kept; take rows of the fitted policy's "
            "tables_.rows (pair_row, cond_row), or fewer features."
        )
