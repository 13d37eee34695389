"""Values to codes: every feature is cut into a few bins whose edges come from the observed cells of training rows.

With two bins the rule is the study's: one distinct value is a constant, two are split at their midpoint, otherwise
the median splits, and where `x > median` would put every row on one side, the largest value strictly below the
maximum does. A code is the number of edges that the value exceeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from synafa.errors import SynafaError
from synafa.wording import worded

MAX_BINS = 16


class Discretizer(TransformerMixin, BaseEstimator):
    """Cut every feature into a few bins at training quantiles.

    Parameters
    ----------
    n_bins : int, default=2
        Bins of a feature, 2 to 16.

    Attributes
    ----------
    edges_ : float64 (D, n_bins - 1)
        Ascending; padded with +inf where a feature has fewer bins.
    fill_ : float64 (D,)
        The training mean, which takes the place of missing (NaN) cells unless they have a code of their own.

    Notes
    -----
    A code is the number of edges that a value exceeds. With two bins the rule is the study's: two distinct values are
    split at their midpoint, otherwise the median splits; where `x > median` would put every row on one side, the
    largest value below the maximum does. With more bins the edges are quantiles, none of them at the maximum.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]])
    >>> Discretizer(n_bins=2).fit(X).transform(X)
    array([[0, 0],
           [0, 0],
           [1, 0],
           [1, 0]], dtype=uint8)
    """

    edges_: np.ndarray
    fill_: np.ndarray

    def __init__(self, n_bins: int = 2) -> None:
        self.n_bins = n_bins

    @worded
    def fit(self, X: Any, y: Any = None) -> Discretizer:
        """Learn edges and fill values from training rows.

        {numbers}

        Returns
        -------
        Discretizer
            The object itself.

        Raises
        ------
        SynafaError
            When `n_bins` is not a whole number from 2 to 16, there is no row, or a cell is infinite.
        """
        if not isinstance(self.n_bins, (int, np.integer)) or not 2 <= self.n_bins <= MAX_BINS:
            raise SynafaError(f"n_bins must be a whole number from 2 to {MAX_BINS}, got: {self.n_bins!r}.")
        values = as_matrix(X)
        if not len(values):
            raise SynafaError("There are no training rows (n = 0); give at least one.")
        from synafa.table.sums import exact_mean, mean_of

        if self.n_bins == 2:
            from synafa.information.kernels.codes import summarise_binary

            sums, thresholds, cells = summarise_binary(values)
            for j in np.flatnonzero(cells < 0):
                _observed(values[:, j], int(j))  # names the infinite cell
            self.fill_ = np.array([exact_mean(chunks, int(n)) for chunks, n in zip(sums, cells)])
            self.edges_ = thresholds[:, None]
        else:
            columns = [_observed(values[:, j], j) for j in range(values.shape[1])]
            self.fill_ = np.array([mean_of(column) for column in columns])
            self.edges_ = np.stack([_quantile_edges(column, self.n_bins) for column in columns])
        return self

    def transform(self, X: Any, missing: str = "mean") -> np.ndarray:
        """Codes of rows.

        Parameters
        ----------
        X : array (n, D)
            Numbers; NaN is a missing cell.
        missing : {"mean", "own"}, default="mean"
            The code of a missing cell: "mean" that of the feature's training mean, "own" the code `n_bins`, which no
            value has, so that `PairCounts` can leave such cells out.

        Returns
        -------
        uint8 (n, D)
            How many of its feature's edges each value exceeds.

        Raises
        ------
        SynafaError
            When nothing was fitted or the number of features is another one.
        """
        if missing not in ("mean", "own"):
            raise SynafaError(f"missing must be 'mean' or 'own', got: {missing!r}.")
        if not hasattr(self, "edges_"):
            raise SynafaError("This Discretizer is not fitted; call fit with training rows first.")
        values = as_matrix(X)
        if values.shape[1] != len(self.edges_):
            raise SynafaError(f"X has {values.shape[1]} features, but {len(self.edges_)} were seen at fit time.")
        from synafa.information.kernels.codes import encode

        apart = np.full(len(self.edges_), self.edges_.shape[1] + 1, np.uint8)
        return encode(values, self.edges_, apart if missing == "own" else codes_of(self.fill_, self.edges_))

    @worded
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn from rows and return their codes, `fit(X).transform(X)`.

        {numbers}

        Returns
        -------
        uint8 (n, D)
            Codes of the same rows.
        """
        return self.fit(X).transform(X)


def as_matrix(X: Any) -> np.ndarray:
    """A C-ordered float32 or float64 matrix."""
    values = np.asarray(X)
    if values.ndim != 2:
        raise SynafaError(f"X must be a table with rows and columns, got an array of {values.ndim} dimension(s).")
    if values.dtype not in (np.float32, np.float64):
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise SynafaError(f"X must hold numbers, got: {str(error).strip()}.") from error
    return np.ascontiguousarray(values)


def codes_of(row: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The codes of one row of finite values: how many of its feature's edges each exceeds."""
    return (row[:, None] > edges).sum(axis=1).astype(np.uint8)


def _observed(column: np.ndarray, index: int) -> np.ndarray:
    """The cells of a column that are not missing; an infinite one is refused."""
    infinite = np.isinf(column)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise SynafaError(f"X holds an infinite value (row {row}, column {index}); correct it or leave the cell empty.")
    return np.ascontiguousarray(column[~np.isnan(column)])


def _quantile_edges(column: np.ndarray, n_bins: int) -> np.ndarray:
    """Edges of one feature: midpoints between few distinct values, else quantiles, none of them at the maximum."""
    if not len(column):
        return np.full(n_bins - 1, np.inf)
    column = column.astype(np.float64) + 0.0  # -0.0 becomes 0.0: equal values, equal bits
    distinct = np.unique(column)
    if len(distinct) <= n_bins:
        edges = 0.5 * distinct[:-1] + 0.5 * distinct[1:]
    else:
        quantiles = np.quantile(column, np.arange(1, n_bins) / n_bins)
        edges = np.unique(np.minimum(quantiles, distinct[-2]))
    return np.concatenate([edges, np.full(n_bins - 1 - len(edges), np.inf)])
