"""Turns a labelled table into its strongest synergistic and redundant pairs, with their Williams-Beer atoms in bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synafa.information.pid import Atoms


@dataclass(frozen=True)
class PairAtoms:
    """The decomposition of I(first, second; class): joint = redundant + unique_first + unique_second + synergy."""

    first: str
    second: str
    joint: float
    redundant: float
    unique_first: float
    unique_second: float
    synergy: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def strongest_pairs(X: Any, y: Any, top: int = 10, n_bins: int = 2) -> dict[str, list[PairAtoms]]:
    """The `top` pairs by synergy and by redundancy.

    A pair's information is of the rows that have both cells, and counts as nothing where these are fewer than 50 and
    less than half of all.

    Examples
    --------
    >>> X = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> strongest_pairs(X, X[:, 0] ^ X[:, 1], top=1)["synergistic"][0].synergy
    1.0
    """
    from synafa.information.codes import Discretizer
    from synafa.information.tables import InformationTables
    from synafa.table.encoder import TableEncoder

    encoder = TableEncoder()
    values = encoder.fit_transform(X)
    codes = Discretizer(n_bins=n_bins).fit(values).transform(values, missing="own")
    tables = InformationTables.from_codes(codes, y, n_bins, missing=bool(codes.max() >= n_bins))
    return rank_pairs(encoder.feature_names_, tables.pair, tables.pid(), top)


def rank_pairs(names: Sequence[str], pair: np.ndarray, atoms: Atoms, top: int) -> dict[str, list[PairAtoms]]:
    """The pairs of largest synergy and of largest redundancy; ties go to the first pair in column order."""
    j, k = np.triu_indices(len(names), 1)
    result = {}
    for kind, atom in (("synergistic", atoms.synergy), ("redundant", atoms.redundant)):
        best = np.argsort(-atom[j, k], kind="stable")[:top]
        result[kind] = [_pair(names, pair, atoms, int(j[i]), int(k[i])) for i in best]
    return result


def _pair(names: Sequence[str], pair: np.ndarray, atoms: Atoms, j: int, k: int) -> PairAtoms:
    return PairAtoms(
        names[j],
        names[k],
        float(pair[j, k]),
        float(atoms.redundant[j, k]),
        float(atoms.unique[j, k]),
        float(atoms.unique[k, j]),
        float(atoms.synergy[j, k]),
    )
