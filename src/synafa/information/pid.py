"""Williams-Beer I_min decomposition of every pair of features at once.

I_spec(y; X) = sum_x p(x|y) log2( p(y|x) / p(y) )
R = sum_y p(y) min(I_spec(y; X_j), I_spec(y; X_k)),  U_j = I(X_j;Y) - R,
Syn = I(X_j,X_k;Y) - I(X_j;Y) - I(X_k;Y) + R
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa import notebook


@dataclass(frozen=True, eq=False)
class Atoms:
    r"""Partial information decomposition of all pairs, in bits.

    Attributes
    ----------
    redundant : float64 (D, D)
        What both features of a pair tell.
    unique : float64 (D, D)
        `unique[j, k]` is what only j of the pair (j, k) tells.
    synergy : float64 (D, D)
        What neither tells alone and both tell together.

    Notes
    -----
    The decomposition of Williams and Beer [1]_, from the specific information of each class:

    .. math::

       I_{\mathrm{spec}}(y; X) = \sum_x p(x \mid y) \log_2 \frac{p(y \mid x)}{p(y)}

       R = \sum_y p(y) \min(I_{\mathrm{spec}}(y; X_j), I_{\mathrm{spec}}(y; X_k))

       U_j = I(X_j; Y) - R

       S = I(X_j, X_k; Y) - I(X_j; Y) - I(X_k; Y) + R

    References
    ----------
    .. [1] P. L. Williams, R. D. Beer, "Nonnegative Decomposition of Multivariate Information", 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from synafa import InformationTables
    >>> codes = np.array([[0, 0], [0, 0], [1, 1], [1, 1]], dtype=np.uint8)
    >>> atoms = InformationTables.from_codes(codes, [0, 0, 1, 1]).pid()
    >>> atoms.redundant[0, 1].item(), atoms.synergy[0, 1].item()
    (1.0, 0.0)
    """

    redundant: np.ndarray
    unique: np.ndarray
    synergy: np.ndarray

    def _repr_html_(self) -> str:
        """The most synergistic and the most redundant pairs, for a notebook."""
        header = ["features", "redundant", "unique 1st", "unique 2nd", "synergy"]
        tables = [
            notebook.small_table(header, [self._line(j, k) for j, k in notebook.strongest_of(atom)], f"by {name}")
            for name, atom in (("synergy", self.synergy), ("redundancy", self.redundant))
        ]
        features = notebook.counted(len(self.synergy), "feature")
        return notebook.card(f"Atoms of the pairs of {features}, in bits.", *tables)

    def _line(self, j: int, k: int) -> list[str]:
        values = (self.redundant[j, k], self.unique[j, k], self.unique[k, j], self.synergy[j, k])
        return [f"{j} and {k}", *(f"{value:.4f}" for value in values)]


def specific_information(code_counts: np.ndarray) -> np.ndarray:
    """I_spec(y; X_j) of every class and feature, (K, D), from the counts (K, D, bins) of the codes."""
    rows, of_class = code_counts.sum(axis=0), code_counts.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.log2(code_counts * (of_class.sum(axis=0) / of_class)[:, :, None]) - np.log2(rows)
        terms = np.where(code_counts > 0, code_counts * lift, 0.0)
        return np.where(of_class > 0, terms.sum(axis=2) / of_class, 0.0)


def decompose(single: np.ndarray, pair: np.ndarray, specific: np.ndarray, prior: np.ndarray) -> Atoms:
    """The atoms of all pairs from what each feature tells alone, and what it tells of each class."""
    redundant = np.zeros_like(pair)
    for p, of_class in zip(prior, specific):
        redundant += p * np.minimum(of_class[:, None], of_class[None, :])
    return atoms_of(np.broadcast_to(single[:, None], pair.shape), pair, redundant)


def atoms_of(alone: np.ndarray, pair: np.ndarray, redundant: np.ndarray) -> Atoms:
    """The atoms of all pairs; `alone[j, k]` is what j tells in the rows of the pair (j, k).

    Rounding below zero is cut off, and a feature is wholly redundant with itself.
    """
    redundant = np.clip(redundant, 0.0, np.minimum(alone, alone.T))
    unique = alone - redundant
    synergy = np.maximum(pair - alone - alone.T + redundant, 0.0)
    np.fill_diagonal(redundant, alone.diagonal())
    np.fill_diagonal(unique, 0.0)
    np.fill_diagonal(synergy, 0.0)
    return Atoms(redundant, unique, synergy)
