"""A dataset of the study, or one's own table, as one small frozen object: values, classes, names, costs, row sets."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.money.prices import PriceList, reveal_matrix
from synafa.wording import worded


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled table with its split.

    Attributes
    ----------
    name, instance : the name given to `load`, and the instance (split and generator seed)
    X : float32 (n, D), no missing cells
    y : int64 (n,), classes 0..K-1
    feature_names : D names
    costs : float64 (D,)
    budgets : the study's hard budgets, ascending
    train, validation, test : int64 row indices
    source : where the rows came from, in words
    parameters : the generator's parameters as (name, value) pairs, empty for a file
    groups : features revealed together, at the cost of the one that was asked for
    prices : PriceList or None, in place of `costs` and `groups` where prices depend on what was paid already
    """

    name: str
    instance: int
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    costs: np.ndarray
    budgets: tuple[float, ...]
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    source: str
    parameters: tuple[tuple[str, float], ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    prices: PriceList | None = None

    @classmethod
    @worded
    def from_table(
        cls,
        features: Any,
        labels: Any,
        *,
        name: str = "table",
        prices: Any = None,
        budgets: Iterable[float] = (),
        rows_together: Any = None,
        instance: int = 0,
    ) -> Dataset:
        """One's own table as a dataset of the research tools.

        Text becomes the position of its category, empty cells the mean (text: the most frequent category), columns are
        scaled; all of it is learnt on the training rows. 60, 20 and 20 % of every class train, validate and test.

        Parameters
        ----------
        features : DataFrame or array (n, D)
        labels : array (n,)
            Classes, of any kind.
        name : str, default="table"
        prices : None, PriceList, path of its CSV, array of D costs or mapping by name, default=None
            None: every feature costs 1.
        budgets : iterable of float, default=()
            Hard budgets; none: 1, 2, 4 and 8 times the mean price.
        rows_together : array (n,) or None, default=None
            Rows with the same entry (one patient) stay in one part of the split.
        instance : int, default=0
            Seed of the split.

        {dataset}

        Examples
        --------
        >>> X = np.arange(40.0).reshape(20, 2)
        >>> data = Dataset.from_table(X, ["yes", "no"] * 10, name="mine")
        >>> data.key, data.X.shape, data.n_classes, len(data.train)
        ('mine#0', (20, 2), 2, 12)
        """
        from synafa.datasets.own_table import own_table

        return cls(**own_table(features, labels, name, prices, budgets, rows_together, instance))

    @classmethod
    @worded
    def from_file(
        cls,
        path: str | os.PathLike[str],
        target: str,
        *,
        prices: Any = None,
        group: str | None = None,
        drop: Iterable[str] = (),
        budgets: Iterable[float] = (),
        instance: int = 0,
        tell: Callable[[Any], None] | None = None,
    ) -> Dataset:
        """One's own file as a dataset of the research tools: read as `synafa fit` reads it, then as `from_table`.

        Parameters
        ----------
        path : str or path
            CSV or Parquet.
        target : str
            The column that holds the class.
        prices, budgets, instance : as in `from_table`
        group : str or None, default=None
            Column that names the patient: rows of one stay together; it is no feature.
        drop : names, default=()
            Columns to leave out.
        tell : function or None, default=None
            Called with each notice about the table.

        {dataset}
        """
        from synafa.datasets.own_table import own_file

        return cls(**own_file(path, target, prices, group, tuple(drop), budgets, instance, tell))

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1 if len(self.y) else 0

    @property
    def full_cost(self) -> float:
        """What all features cost together: a group is paid once, by its cheapest member."""
        if self.prices is not None:
            return self.prices.cost_of(range(self.n_features))
        costs = np.array(self.costs, dtype=np.float64)
        for group in self.groups:
            members = list(group)
            costs[members[0]], costs[members[1:]] = costs[members].min(), 0.0
        return float(costs.sum())

    @property
    def reveals(self) -> np.ndarray:
        """bool (D, D): row j marks what asking for feature j shows, its group or itself."""
        return reveal_matrix(self.n_features, self.groups)

    @property
    def key(self) -> str:
        """The name with its parameters and instance, e.g. `synergy-sweep[alpha=0.5]#3`."""
        inside = ",".join(f"{name}={value:g}" for name, value in self.parameters)
        return f"{self.name}{f'[{inside}]' if inside else ''}#{self.instance}"

    def fingerprint(self) -> str:
        """A hash of everything a model trained on this dataset can depend on."""
        digest = hashlib.sha256(repr((self.key, self.feature_names, self.budgets, self.groups)).encode())
        for array in (self.X, self.y, self.costs, self.train, self.validation, self.test):
            digest.update(str((array.dtype.str, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).data)
        if self.prices is not None:
            digest.update(json.dumps(self.prices.to_meta(), sort_keys=True).encode())
        return digest.hexdigest()[:20]
