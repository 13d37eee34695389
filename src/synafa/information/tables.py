"""Counts to the three information tables of the policy, plug-in estimates in bits, no smoothing.

single[j]     = I(X_j; Y)
pair[j, k]    = I(X_j, X_k; Y)
cond[j, k, v] = I(Y; X_j | X_k = v), 0 where no training row has X_k = v
A missing cell is left out: each value is of the rows that have all the cells it needs (`complete.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from synafa import notebook
from synafa.errors import SynafaError
from synafa.information.complete import complete_tables
from synafa.information.counts import PairCounts
from synafa.information.pid import Atoms, decompose, specific_information
from synafa.wording import worded


@dataclass(frozen=True, eq=False)
class InformationTables:
    r"""Exact pairwise information of D features about the class, plug-in estimates in bits.

    Attributes
    ----------
    single : float64 (D,)
        What each feature tells alone.
    pair : float64 (D, D)
        What two features tell together; symmetric, the diagonal is `single`.
    cond : float64 (D, D, n_bins)
        `cond[j, k, v]`: what feature j tells among the rows with code v of feature k; 0 on the diagonal and where no
        training row has that code.
    specific : float64 (K, D) or None
        Specific information of each class, from which the decomposition follows; None for estimated tables.
    class_counts : int64 (K,)
        Training rows of each class.
    missing : bool, default=False
        Whether training cells were missing. Then `single[j]` is of the rows that have feature j, and `pair[j, k]`,
        `cond[j, k, v]` and the atoms of a pair are of the rows that have both; 0 where these are fewer than 50 and less
        than half of all, for so few rows seem to tell much by chance alone.
    atoms : Atoms or None, default=None
        The atoms of all pairs where cells were missing; None elsewhere, where they follow from the rest.

    Notes
    -----
    .. math::

       \mathrm{single}_j = I(X_j; Y)

       \mathrm{pair}_{jk} = I(X_j, X_k; Y)

       \mathrm{cond}_{jkv} = I(Y; X_j \mid X_k = v)

    with shares of the training rows for probabilities and no smoothing.

    References
    ----------
    .. [1] J. Li, M. A. Dhali, H. R. Bouma, "When Does Synergy Help Active Feature Acquisition? A PID-Based Study".

    Examples
    --------
    Two bits that tell nothing alone and everything together:

    >>> import numpy as np
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    >>> tables = InformationTables.from_codes(codes, codes[:, 0] ^ codes[:, 1])
    >>> tables.single.tolist(), tables.pair[0, 1].item(), tables.pid().synergy[0, 1].item()
    ([0.0, 0.0], 1.0, 1.0)
    """

    single: np.ndarray
    pair: np.ndarray
    cond: np.ndarray
    specific: np.ndarray | None
    class_counts: np.ndarray
    missing: bool = False
    atoms: Atoms | None = None

    @classmethod
    @worded
    def from_codes(cls, codes: Any, y: Any, n_bins: int | None = None, missing: bool = False) -> InformationTables:
        """Tables of training codes and their classes.

        {codes}

        {tables}
        """
        return cls.from_counts(PairCounts.from_codes(codes, y, n_bins, missing))

    @classmethod
    @worded
    def from_values(cls, X: Any, y: Any) -> InformationTables:
        """Tables of training values cut into two bins, in one pass over X.

        The same as `Discretizer(2)` and `from_codes`, and the fastest way for large matrices.

        Parameters
        ----------
        X : array (n, D)
            Numbers.
        y : array (n,)
            Class labels.

        {tables}
        """
        return cls.from_counts(PairCounts.from_values(X, y))

    @classmethod
    def from_stream(cls, source: Any, target: str, n_bins: int = 2, **settings: Any) -> InformationTables:
        """Tables of a table that is read batch by batch.

        Parameters
        ----------
        source : files, folder, pattern, lazy frame or Arrow stream
            What `SynAFA.fit_stream` takes.
        target : str
            The column that holds the class.
        n_bins : int, default=2
            Bins of a feature, 2 to 16.
        **settings : Any
            As for `synafa.stream.passes.stream_counts`.

        Returns
        -------
        InformationTables
            The same as of the whole table in memory.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.LazyFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [0, 1, 1, 0]})
        >>> InformationTables.from_stream(table, "y").pair[0, 1].item()
        1.0
        """
        stream = import_module("synafa.stream.passes")  # lies above; only this convenience looks up to it
        return cls.from_counts(stream.stream_counts(source, target, n_bins=n_bins, **{"keep": 0} | settings).counts)

    @classmethod
    def from_counts(cls, counts: PairCounts) -> InformationTables:
        """Tables of counts, wherever and in however many parts they were taken.

        Parameters
        ----------
        counts : PairCounts
            Counts of all pairs.

        Returns
        -------
        InformationTables
            Exact tables of the rows that were counted.
        """
        from synafa.information.kernels.tables import n_log_n, pair_tables, pair_tables_two, single_table

        codes = counts.code_counts()
        if counts.missing:
            single, pair, cond, atoms = complete_tables(counts)
            specific = specific_information(codes[:, :, : counts.n_bins])
            return cls(single, pair, cond, specific, counts.class_counts, missing=True, atoms=atoms)
        f, step = n_log_n(counts.n_rows)
        single = single_table(codes, counts.class_counts, f, step)
        kernel = pair_tables_two if codes.shape[::2] == (2, 2) else pair_tables
        d, n_bins = codes.shape[1:]
        pair, cond = np.empty((d, d)), np.empty((d, d, n_bins))
        kernel(counts.joint, codes, counts.class_counts, f, step, pair, cond)
        pair[np.arange(d), np.arange(d)], cond[np.arange(d), np.arange(d)] = single, 0.0
        return cls(single, pair, cond, specific_information(codes), counts.class_counts)

    def pid(self) -> Atoms:
        r"""Williams-Beer atoms of every pair.

        Returns
        -------
        Atoms
            Redundant, unique and synergistic information of all pairs in bits.

        Raises
        ------
        SynafaError
            When the tables are estimated, for atoms need exact ones; when training cells were missing and the tables
            come from a file, which does not hold the atoms.

        Notes
        -----
        Redundancy is :math:`I_{\min}`, what both features tell about each class at least; see `Atoms`.
        """
        if self.specific is None:
            raise SynafaError(
                "These tables are estimated from samples, and atoms need exact ones; use InformationTables.from_codes."
            )
        if self.atoms is not None:
            return self.atoms
        if self.missing:
            raise SynafaError(
                "Training cells were missing, and a model file does not hold the atoms of each pair's complete rows; "
                "fit the policy again for them."
            )
        return decompose(self.single, self.pair, self.specific, self.class_counts / self.class_counts.sum())

    def _repr_html_(self) -> str:
        """The strongest features and pairs, for a notebook."""
        best = np.argsort(-self.single, kind="stable")[: notebook.SHOWN]
        singles = [[str(j), f"{self.single[j]:.4f}"] for j in best]
        pairs = [[f"{j} and {k}", f"{self.pair[j, k]:.4f}"] for j, k in notebook.strongest_of(self.pair)]
        features = notebook.counted(len(self.single), "feature")
        classes = notebook.counted(len(self.class_counts), "class", "classes")
        rows = notebook.counted(int(self.class_counts.sum()), "row")
        return notebook.card(
            f"Information about the class in bits: {features}, {classes}, {rows}.",
            notebook.small_table(["feature", "single"], singles),
            notebook.small_table(["features", "pair"], pairs),
        )
