"""A dataset of the study as one small frozen object: values, classes, names, costs, budgets and the three row sets."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from synafa.money.prices import reveal_matrix


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

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1 if len(self.y) else 0

    @property
    def full_cost(self) -> float:
        """What all features cost together: a group is paid once, by its cheapest member."""
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
        return digest.hexdigest()[:20]
