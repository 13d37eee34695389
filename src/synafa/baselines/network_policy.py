"""What the reinforcement-learning and partial-VAE policies share: a network scores the features, the best allowed wins.

A subclass says how its network is built, trained and asked; proposing in chunks, storing and loading are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import (
    Rows,
    allowed,
    best_allowed,
    load_module,
    module_arrays,
    one_thread,
    rows_of,
    training,
    uniform,
)
from synafa.datasets.dataset import Dataset

Progress = Callable[[float, str], None]


class NetworkPolicy(ABC):
    """A policy whose `scores` come from `network`; parameters and settings are all there is to store."""

    version: ClassVar[int] = 1
    name: str = ""
    settings_class: ClassVar[type]
    chunk: ClassVar[int] = 4096

    network: Any  # an nn.Module; with `logits(values, mask)` unless `probabilities` is overridden
    settings: Any
    costs: np.ndarray
    budget: float
    n_classes: int

    def __init__(self, faithful: bool = False) -> None:
        self.faithful = faithful

    @abstractmethod
    def build(self, settings: Any, n_features: int, n_classes: int) -> nn.Module:
        """The untrained network."""

    @abstractmethod
    def learn(self, dataset: Dataset, rows: Rows, costs: Tensor, seed: int, progress: Progress) -> None:
        """Train `self.network`."""

    @abstractmethod
    def scores(self, values: Tensor, mask: Tensor) -> Tensor:
        """(n, D): the larger, the sooner."""

    @property
    def uses_remaining(self) -> bool:
        """With equal costs what remains cannot change the choice; in faithful mode it is not looked at."""
        return not (self.faithful or uniform(self.costs))

    def fit(
        self,
        dataset: Dataset,
        budget: float,
        settings: Any = None,
        seed: int = 0,
        classifier: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on the dataset's training rows for `budget`."""
        self.settings = self.settings_class() if settings is None else settings
        self.budget = float(budget)
        self.costs = np.asarray(dataset.costs, dtype=np.float64)
        self.n_classes = dataset.n_classes
        self.classifier = classifier
        with training(seed):
            self.network = self.build(self.settings, dataset.n_features, dataset.n_classes)
            self.learn(dataset, rows_of(dataset), torch.from_numpy(self.costs), seed, progress or _silent)
        self.network.eval().requires_grad_(False)
        return self

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        """The next feature of each row, int64 (n,); -1 where nothing can be had."""
        may = allowed(mask, self.costs, remaining, self.faithful)
        scores = np.empty(np.shape(mask), dtype=np.float32)
        with one_thread(), torch.inference_mode():
            for start in range(0, len(scores), self.chunk):
                part = slice(start, start + self.chunk)
                known = torch.from_numpy(np.array(mask[part], dtype=bool))
                seen = torch.from_numpy(np.array(values[part], dtype=np.float32)) * known
                scores[part] = self.scores(seen, known).numpy()
        return best_allowed(scores, may)

    def probabilities(self, values: Tensor, mask: Tensor) -> Tensor:
        """(n, K): what the policy's own classifier makes of a state, dropout off."""
        return torch.softmax(self.network.logits(values, mask), dim=1)

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities of the policy's own classifier, float32 (n, K)."""
        known = torch.from_numpy(np.array(mask, dtype=bool))
        seen = torch.from_numpy(np.array(values, dtype=np.float32)) * known
        with one_thread(), torch.inference_mode():
            return self.probabilities(seen, known).numpy()

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the JSON-serialisable rest."""
        arrays = {**module_arrays(self.network, "network."), "costs": self.costs}
        meta = {
            "settings": asdict(self.settings),
            "budget": self.budget,
            "n_classes": self.n_classes,
            "faithful": self.faithful,
        }
        return arrays, meta

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Self:
        """The policy that `state` described."""
        policy = cls(faithful=bool(meta.get("faithful", False)))
        known = {key: tuple(value) if isinstance(value, list) else value for key, value in meta["settings"].items()}
        policy.settings = cls.settings_class(**known)
        policy.budget = float(meta["budget"])
        policy.n_classes = int(meta["n_classes"])
        policy.costs = np.asarray(arrays["costs"], dtype=np.float64)
        policy.classifier = None
        with training(0):
            policy.network = policy.build(policy.settings, len(policy.costs), policy.n_classes)
        load_module(policy.network, arrays, "network.")
        policy.network.requires_grad_(False)
        return policy


def _silent(share: float, text: str) -> None:
    """Progress for nobody."""
