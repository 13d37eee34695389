"""What the policies with a network share: it scores the features, the best one allowed wins.

A subclass says how its network is built, trained and asked; proposing in chunks, storing and loading are here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import Rows, load_module, module_arrays, one_thread, training
from synafa.baselines.policy import BaselinePolicy
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset


class NetworkPolicy(BaselinePolicy):
    """A policy whose `scores` come from `network_`; parameters and settings are all there is to store.

    The network is an nn.Module made by `network_class(settings, n_features, n_classes)`, with `logits(values, mask)`
    and `scores(values, mask)` unless `probabilities` and `scores` are overridden.
    """

    network_class: ClassVar[type[nn.Module]]
    chunk: ClassVar[int] = 4096

    network_: Any
    n_classes_: int

    @abstractmethod
    def train_network(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        """Train `self.network_`."""

    def learn(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        self._build(rows.n_classes)
        self.train_network(dataset, rows, seed, progress)
        self.network_.eval().requires_grad_(False)

    def _build(self, n_classes: int) -> None:
        self.n_classes_ = n_classes
        self.network_ = self.network_class(self.settings_, len(self.costs_), n_classes)

    def scores(self, values: Tensor, mask: Tensor) -> Tensor:
        """(n, D): the larger, the sooner."""
        return self.network_.scores(values, mask)

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        scores = np.empty(np.shape(mask))
        for start in range(0, len(scores), self.chunk):
            part = slice(start, start + self.chunk)
            scores[part] = self.ask(self.scores, values[part], mask[part])
        return self.best(scores, mask, remaining)

    def ask(self, what: Callable[[Tensor, Tensor], Tensor], values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """`what(values, mask)` of states given as arrays, hidden values at 0."""
        known = torch.from_numpy(np.array(mask, dtype=bool))
        seen = torch.from_numpy(np.array(values, dtype=np.float32)) * known
        with one_thread(), torch.inference_mode():
            return what(seen, known).numpy()

    def probabilities(self, values: Tensor, mask: Tensor) -> Tensor:
        """(n, K): what the policy's own classifier makes of a state, dropout off."""
        return torch.softmax(self.network_.logits(values, mask), dim=1)

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities of the policy's own classifier, float32 (n, K)."""
        return self.ask(self.probabilities, values, mask)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, meta = super().state()
        return {**arrays, **module_arrays(self.network_, "network.")}, {**meta, "n_classes": self.n_classes_}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Self:
        policy = super().from_state(arrays, meta)
        with training(0):
            policy._build(int(meta["n_classes"]))
        load_module(policy.network_, arrays, "network.")
        policy.network_.requires_grad_(False)
        return policy
