"""What every baseline is: `fit` learns from a dataset for a budget, `propose` names the next feature of each row.

A method says what it learns, how it proposes and which arrays it keeps; the order of `fit`, what may be proposed,
storing and loading are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np

from synafa.baselines.common import Rows, allowed, best_allowed, rows_of, training, uniform
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset
from synafa.money.prices import PriceList


class BaselinePolicy(ABC):
    """A published policy.

    Attributes
    ----------
    faithful : reproduce the study's choices where they differ from sensible ones
    profiles : the settings of each profile
    kept : the arrays that make up a trained policy, each an attribute with `_` behind its name
    settings_, budget_, costs_ : set by `fit`
    prices_ : the dataset's price list where a price depends on what was paid, else None
    """

    name: str = "baseline"
    version: ClassVar[int] = 1
    profiles: ClassVar[Mapping[str, Any]]
    kept: ClassVar[tuple[str, ...]] = ()
    profile: str | None = None
    classifier: Any = None

    settings_: Any
    budget_: float
    costs_: np.ndarray
    prices_: PriceList | None = None

    def __init__(self, faithful: bool = False) -> None:
        self.faithful = faithful

    @abstractmethod
    def learn(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        """Train; torch's generator is seeded, and settings, budget, costs and classifier are set."""

    @abstractmethod
    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        """The next feature of each row, int64 (n,); -1 where nothing can be had."""

    @property
    def uses_remaining(self) -> bool:
        """With equal costs what remains cannot change the choice; in faithful mode it is not looked at."""
        return not (self.faithful or (self.prices_ is None and uniform(self.costs_)))

    def costs_now(self, mask: np.ndarray) -> np.ndarray:
        """What each feature costs in each state, float64 (n, D), or (D,) where prices never change."""
        return self.costs_ if self.prices_ is None else self.prices_.now(mask)

    def weighed(self, mask: np.ndarray) -> np.ndarray:
        """As `costs_now`, to divide by: a price that fell to nothing counts as next to nothing."""
        if self.prices_ is None:
            return self.costs_
        return np.maximum(self.prices_.now(mask), 1e-6 * float(self.costs_.mean()))

    def fit(
        self,
        dataset: Dataset,
        budget: float,
        settings: Any = None,
        seed: int = 0,
        classifier: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on the dataset's training rows for `budget`; settings None means the standard profile's."""
        self.settings_ = self.profiles["standard"].adapted(dataset) if settings is None else settings
        self.budget_ = float(budget)
        self.costs_ = np.asarray(dataset.costs, dtype=np.float64)
        self.prices_ = dataset.prices
        self.classifier = classifier
        with training(seed):
            self.learn(dataset, rows_of(dataset), seed, progress or _silent)
        return self

    def best(self, scores: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        """int64 (n,): the feature of highest score among those that may be proposed, -1 where there is none."""
        return best_allowed(scores, allowed(mask, self.costs_now(mask), remaining, self.faithful))

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the JSON-serialisable rest."""
        arrays = {name: getattr(self, f"{name}_") for name in self.kept}
        meta: dict[str, Any] = {"settings": asdict(self.settings_), "budget": self.budget_, "faithful": self.faithful}
        if self.prices_ is not None:
            meta["prices"] = self.prices_.to_meta()
        return {**arrays, "costs": self.costs_}, meta

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Self:
        """The policy that `state` described."""
        policy = cls(faithful=bool(meta.get("faithful", False)))
        known = {key: tuple(value) if isinstance(value, list) else value for key, value in meta["settings"].items()}
        policy.settings_ = type(cls.profiles["standard"])(**known)
        policy.budget_ = float(meta["budget"])
        policy.costs_ = np.asarray(arrays["costs"], dtype=np.float64)
        if "prices" in meta:
            policy.prices_ = PriceList.from_meta(meta["prices"])
        for name in cls.kept:
            setattr(policy, f"{name}_", arrays[name])
        return policy


def _silent(share: float, text: str) -> None:
    """Progress for nobody."""
