"""Counts with missing cells to information tables: every value from its complete cases.

`single[j]` is of the rows that have feature j; `pair[j, k]`, `cond[j, k, v]` and the atoms of a pair are of the rows
that have both, with the classes of those rows. Where so few rows have them that chance alone would tell much, fewer
than `LEAST_ROWS` and less than half of all, the value is 0: a pair of three rows seems to tell everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from synafa.information.pid import Atoms, atoms_of

if TYPE_CHECKING:
    from synafa.information.counts import PairCounts


LEAST_ROWS = 50


def least_rows(n: int) -> int:
    """Complete cases of n rows from which on a value counts.

    >>> least_rows(40), least_rows(1000)
    (20, 50)
    """
    return min(LEAST_ROWS, n // 2)


def complete_tables(counts: PairCounts) -> tuple[np.ndarray, np.ndarray, np.ndarray, Atoms]:
    """`single` (D,), `pair` (D, D), `cond` (D, D, bins) and the atoms of all pairs.

    >>> from synafa.information.counts import PairCounts
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]], dtype=np.uint8)
    >>> single, pair, cond, atoms = complete_tables(PairCounts.from_codes(codes, [0, 1, 1, 0, 0], 2, missing=True))
    >>> pair[0, 1].item(), atoms.synergy[0, 1].item()
    (1.0, 1.0)
    """
    from synafa.information.kernels.complete import pair_tables_complete, single_complete
    from synafa.information.kernels.tables import n_log_n

    codes, d, least = counts.code_counts(), counts.n_features, least_rows(counts.n_rows)
    f, step = n_log_n(counts.n_rows)
    single = single_complete(codes, least, f, step)
    pair, alone, redundant = np.zeros((3, d, d))
    cond = np.zeros((d, d, counts.n_bins))
    pair_tables_complete(counts.joint, codes, counts.class_counts, least, f, step, pair, cond, alone, redundant)
    for table in (pair, alone, redundant):
        np.fill_diagonal(table, single)
    return single, pair, cond, atoms_of(alone, pair, redundant)
