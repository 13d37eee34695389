"""The predictor that GDFS and DIME start from, [x*m, m] -> class scores, and what the two share when acting.

It is trained under random masks: each batch draws one p ~ U(lo, hi) and hides every entry independently with
probability p; plain class weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from synafa.baselines.common import (
    Plateau,
    Purse,
    Rows,
    Ticker,
    adam,
    masked_input,
    most_steps,
    one_epoch,
    weighted_loss,
)
from synafa.baselines.first_stage import first_stage
from synafa.baselines.network_policy import NetworkPolicy
from synafa.baselines.settings import PredictorSettings
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset
from synafa.neural.resume import resumable


class Joint(ABC):
    """The second stage: predictor and selector trained together on episodes of at most `steps` acquisitions."""

    def __init__(self, network: Any, rows: Rows, settings: Any, steps: int, budget: float, faithful: bool) -> None:
        self.network, self.rows, self.settings, self.steps = network, rows, settings, steps
        self.budget, self.faithful = budget, faithful
        self.weights = rows.weights()

    @abstractmethod
    def train(self, tick: Ticker) -> None:
        """Train `network`, the best state restored at the end."""

    def purse(self, n: int) -> Purse:
        """Fresh episodes for n rows."""
        return Purse(self.rows, n, self.budget, self.faithful)


class PredictorPolicy(NetworkPolicy):
    """A policy with a predictor of its own: trained first by itself, then together with what selects.

    The network has `predict([x*m, m])` and `first_trained`, the part of it that the first stage trains.
    """

    joint_class: ClassVar[type[Joint]]

    def train_network(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        settings, network, steps = self.settings_, self.network_, most_steps(dataset, self.budget_)
        tick = Ticker(progress, settings.most_epochs, self.name.upper())
        part = network.first_trained
        first_stage(self.name, part, rows, settings, lambda: pretrain(part, network.predict, rows, settings, tick))
        self.joint_class(network, rows, settings, steps, self.budget_, self.faithful).train(tick)

    def probabilities(self, values: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(self.network_.predict(masked_input(values, mask)), dim=1)


def pretrain(
    module: nn.Module,
    predict: Callable[[Tensor], Tensor],
    rows: Rows,
    settings: PredictorSettings,
    tick: Ticker,
) -> None:
    """Train `module` so that `predict([x*m, m])` gives good class scores, best state restored.

    The validation masks are drawn once, from the same range, so that epochs are compared on the same task.
    """
    weights = rows.weights(normalised=False)
    optimiser = adam(module.parameters(), settings.lr)
    plateau = Plateau(module, optimiser, settings.patience)
    low, high = settings.hide
    share = low + (high - low) * torch.rand(len(rows.x_validation), 1)
    validation = masked_input(rows.x_validation, (torch.rand_like(rows.x_validation) >= share).float())

    def loss(x: Tensor, y: Tensor) -> Tensor:
        p = low + (high - low) * float(torch.rand(()))
        return weighted_loss(predict(masked_input(x, (torch.rand_like(x) >= p).float())), y, weights)

    parts = {"module": module, "optimiser": optimiser, "plateau": plateau}
    for _ in resumable("predictor", settings.pretrain_epochs, **parts):
        module.train()
        one_epoch(rows, settings.batch, optimiser, loss)
        module.eval()
        with torch.no_grad():
            stop = plateau.step(float(weighted_loss(predict(validation), rows.y_validation, weights)))
        tick()
        if stop:
            break
    plateau.restore()
