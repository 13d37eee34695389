"""The study's diagnostic set objective and the non-greedy search that revises acquired sets under it.

    T(S) = sum over j in S of max( single[j], max over k in S without j of cond[j, k, x_k] )

T is an aggregation of local scores, not the information of the set: M copies of one feature score M times its value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.errors import SynafaError
from synafa.information.tables import InformationTables


@dataclass(frozen=True, eq=False)
class LocalSearch:
    """Revised sets and the swaps that led there.

    mask : bool (n, D), the final sets
    row, round, removed, added, delta : one entry a swap, in order of row and round; delta is the change of T
    converged : bool (n,), whether the row stopped before the last round
    """

    mask: np.ndarray
    row: np.ndarray
    round: np.ndarray
    removed: np.ndarray
    added: np.ndarray
    delta: np.ndarray
    converged: np.ndarray


def set_objective(tables: InformationTables, codes: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """T(S) of every row, float64 (n,), for its codes (n, D) and its set (n, D)."""
    from synafa.analysis.kernels.objective import objectives

    codes, mask = _check(tables, codes, mask)
    return objectives(codes, mask, tables.single, _by_value(tables))


def local_search(
    tables: InformationTables,
    codes: np.ndarray,
    mask: np.ndarray,
    *,
    tolerance: float = 1e-4,
    max_rounds: int = 200,
    corrected: bool = True,
) -> LocalSearch:
    """Exchange one member for one outsider as long as that raises T by more than `tolerance`.

    The corrected search recomputes T for every exchange and takes the best. The uncorrected one exchanges the member
    that contributes least for the outsider that would contribute most, judged by the unchanged set, so T may fall.
    """
    from synafa.analysis.kernels.objective import search

    codes, mask = _check(tables, codes, mask)
    final, removed, added, delta = search(
        codes, mask, tables.single, _by_value(tables), tolerance, max_rounds, corrected
    )
    row, turn = np.nonzero(added >= 0)
    converged = added[:, -1] < 0
    return LocalSearch(final, row, turn, removed[row, turn], added[row, turn], delta[row, turn], converged)


def _by_value(tables: InformationTables) -> np.ndarray:
    return np.ascontiguousarray(tables.cond.transpose(1, 2, 0))


def _check(tables: InformationTables, codes: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    expected = (len(codes), len(tables.single))
    if np.shape(codes) != expected or np.shape(mask) != expected:
        raise SynafaError(f"codes and mask must both be {expected}, got {np.shape(codes)} and {np.shape(mask)}.")
    codes = np.ascontiguousarray(codes, np.uint8)
    if codes.size and codes.max() >= tables.cond.shape[2]:
        raise SynafaError(
            f"codes holds the code {codes.max()}, but the tables have {tables.cond.shape[2]} bins; a missing cell has "
            "no objective: fill it first."
        )
    return codes, np.ascontiguousarray(mask, bool)
