"""Permutation importance: one static order for everybody.

A network on the full features is trained once; the importance of i is the drop of the validation AUROC (one-vs-rest,
macro) when column i is replaced by draws with replacement from the training column. Acquire in descending order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import Plateau, Rows, Ticker, adam, mlp, one_epoch, weighted_loss
from synafa.baselines.policy import BaselinePolicy
from synafa.baselines.settings import EpochSettings
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset
from synafa.neural.resume import resumable
from synafa.stats import roc_area


@dataclass(frozen=True)
class Settings(EpochSettings):
    patience: int = 2


PROFILES = {
    "paper": Settings(),
    "standard": Settings(epochs=60, batch=256, least_steps=600),
    "quick": Settings(epochs=15, least_steps=200),
}


class PermutationImportance(BaselinePolicy):
    """Acquires in the order of permutation importance; unaffordable features are skipped."""

    name = "permutation"
    profiles = PROFILES
    kept = ("importance",)
    importance_: np.ndarray

    def learn(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        """Train the network and rank the features; neither budget nor classifier is used."""
        network = _train(rows, self.settings_, Ticker(progress, self.settings_.most_epochs, "permutation importance"))
        self.importance_ = _importance(network, rows, np.random.default_rng(seed))

    @property
    def order(self) -> np.ndarray:
        """Feature indices, most important first; ties by index."""
        return np.argsort(-self.importance_, kind="stable")

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        return self.best(self.importance_[None, :], mask, remaining)


def _train(rows: Rows, settings: Settings, tick: Ticker) -> nn.Sequential:
    network = mlp([rows.n_features, *settings.hidden, rows.n_classes])
    weights = rows.weights()
    optimiser = adam(network.parameters(), settings.lr)
    plateau = Plateau(network, optimiser, settings.patience, settings.min_lr)
    for _ in resumable("importance", settings.epochs, network=network, optimiser=optimiser, plateau=plateau):
        one_epoch(rows, settings.batch, optimiser, lambda x, y: weighted_loss(network(x), y, weights))
        tick()
        with torch.no_grad():
            if plateau.step(float(weighted_loss(network(rows.x_validation), rows.y_validation, weights))):
                break
    plateau.restore()
    return network


@torch.no_grad()
def _importance(network: nn.Sequential, rows: Rows, rng: np.random.Generator) -> np.ndarray:
    """The drop of AUROC per feature; a changed column changes the first layer by one outer product only."""
    x, y = rows.x_validation, rows.y_validation.numpy()
    first: Any = network[0]
    rest = network[1:]
    hidden = first(x)

    def score(changed: Tensor) -> float:
        return auroc(torch.softmax(rest(changed), dim=1).numpy(), y)

    base = score(hidden.clone())
    drop = np.empty(rows.n_features)
    for i in range(rows.n_features):
        drawn = rows.x[torch.from_numpy(rng.integers(len(rows.x), size=len(x))), i]
        drop[i] = base - score(hidden + torch.outer(drawn - x[:, i], first.weight[:, i]))
    return drop


def auroc(probabilities: np.ndarray, y: np.ndarray) -> float:
    """One-vs-rest macro AUROC over the classes that have both kinds of rows; 0.5 when there is none."""
    areas = [roc_area(y == k, probabilities[:, k]) for k in range(probabilities.shape[1])]
    areas = [area for area in areas if not np.isnan(area)]
    return float(np.mean(areas)) if areas else 0.5
