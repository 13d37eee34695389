"""Counts with missing cells to information tables: every value from its complete cases.

`single[j]` is of the rows that have feature j; `pair[j, k]`, `cond[j, k, v]` and the atoms of a pair are of the rows
that have both, with the classes of those rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from synafa.information.pid import Atoms, atoms_of

if TYPE_CHECKING:
    from synafa.information.counts import PairCounts


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

    codes, d = counts.code_counts(), counts.n_features
    f, step = n_log_n(counts.n_rows)
    single = single_complete(codes, f, step)
    pair, alone, redundant = np.empty((3, d, d))
    cond = np.empty((d, d, counts.n_bins))
    pair_tables_complete(counts.joint, codes, counts.class_counts, f, step, pair, cond, alone, redundant)
    for table in (pair, alone, redundant):
        np.fill_diagonal(table, single)
    cond[np.arange(d), np.arange(d)] = 0.0
    return single, pair, cond, atoms_of(alone, pair, redundant)
