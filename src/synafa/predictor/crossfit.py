"""`cross_fit`: every row gets a predictor that was fitted without it, and without the rows of its group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.predictor.fitting import check_table, fit_predictor
from synafa.predictor.folds import deal_folds
from synafa.predictor.members import Progress
from synafa.predictor.model import MaskedPredictor


@dataclass(frozen=True)
class CrossFitted:
    """Predictors of folds.

    Attributes
    ----------
    predictors : one for each fold, fitted on the rows of the other folds
    fold : int64 (n,) fold of every training row
    """

    predictors: tuple[MaskedPredictor, ...]
    fold: np.ndarray

    def predict_proba(self, values: Any, mask: Any, rows: Any = None) -> np.ndarray:
        """Class probabilities of training rows, each from the predictor that did not see it.

        Parameters
        ----------
        values : (m, D), mask : bool (m, D)
        rows : (m,) which training row each of them is; default: all training rows in order

        Returns
        -------
        float64 (m, K)
        """
        values, mask = np.asarray(values, dtype=np.float64), np.asarray(mask, dtype=bool)
        fold = self.fold if rows is None else self.fold[np.asarray(rows)]
        if len(values) != len(fold):
            raise SynafaError(
                f"There are {len(fold)} training rows to predict but {len(values)} rows of values: pass rows."
            )
        out = np.empty((len(values), self.predictors[0].n_classes))
        for f, predictor in enumerate(self.predictors):
            there = fold == f
            if there.any():
                out[there] = predictor.predict_proba(values[there], mask[there])
        return out


def cross_fit(
    values: Any,
    y: Any,
    n_classes: int,
    *,
    folds: int = 5,
    seed: int = 0,
    groups: Any = None,
    categories: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> CrossFitted:
    """Fit a predictor for every fold on the rows of the others.

    Parameters
    ----------
    values, y, n_classes, categories, seed, progress : as in `fit_predictor`
    folds : number of folds, default 5
    groups : (n,) rows with the same entry stay in one fold; default: every row on its own

    Returns
    -------
    CrossFitted

    Raises
    ------
    SynafaError
        When there are more folds than rows or groups.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> fitted = cross_fit(X, (X[:, 0] > 0).astype(int), 2, folds=2)
    >>> fitted.predict_proba(X, np.ones(X.shape, dtype=bool)).shape
    (200, 2)
    """
    values, y, categories = check_table(values, y, n_classes, categories, groups)
    units = len(y) if groups is None else len(np.unique(np.asarray(groups)))
    if not 2 <= folds <= units:
        raise SynafaError(f"folds must be from 2 to {units}, the number of rows or groups, got: {folds}.")
    fold = deal_folds(y, folds, np.random.default_rng([seed, 0]), groups)
    predictors = []
    for f in range(folds):
        rest = np.flatnonzero(fold != f)

        def told(fraction: float, words: str, f: int = f) -> None:
            if progress is not None:
                progress((f + fraction) / folds, words)

        within = None if groups is None else np.asarray(groups)[rest]
        predictors.append(
            fit_predictor(
                values[rest], y[rest], n_classes, categories=categories, groups=within, seed=seed, progress=told
            )
        )
    return CrossFitted(tuple(predictors), fold)
