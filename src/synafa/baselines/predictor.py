"""The predictor that GDFS and DIME start from, [x*m, m] -> class scores, and what the two share when acting.

It is trained under random masks: each batch draws one p ~ U(lo, hi) and hides every entry independently with
probability p; plain class weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from synafa.baselines.common import (
    Plateau,
    Purse,
    Rows,
    Ticker,
    adam,
    batches,
    masked_input,
    most_steps,
    uniform,
    weighted_loss,
)
from synafa.baselines.dropped_layers import DroppedLayers
from synafa.baselines.first_stage import first_stage
from synafa.baselines.layers import as_one_vector
from synafa.baselines.network_policy import NetworkPolicy
from synafa.baselines.selector_kernels import acquire, class_losses
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
        self.costs = rows.costs.numpy()
        self.reveal = np.empty((0, 0), np.float32) if rows.reveal is None else rows.reveal.numpy()
        self.to_spend = np.inf if faithful or uniform(self.costs) else budget

    @abstractmethod
    def train(self, tick: Ticker) -> None:
        """Train `network`, the best state restored at the end."""

    def purse(self, n: int) -> Purse:
        """Fresh episodes for n rows."""
        return Purse(self.rows, n, self.budget, self.faithful)


class Episodes:
    """The episodes of a batch in arrays that the kernels read: the same rules as `Purse`'s.

    `states` is float32 ((B + 1) n, 2D), the inputs [x*m, m] of one state after the other; `left` is float32
    (B + 1, n), what each may spend, infinite where costs do not matter; `choice` is int64 (B, n), -1 for nothing.
    """

    def __init__(self, joint: Joint, x: Tensor, states: Tensor) -> None:
        n, states_in_all = len(x), joint.steps + 1
        self.n, self.x, self.costs, self.reveal = n, x.numpy(), joint.costs, joint.reveal
        self.states = states[: states_in_all * n].numpy()
        self.states[:n] = 0.0
        self.left = np.full((states_in_all, n), joint.to_spend, np.float32)
        self.choice = np.empty((joint.steps, n), np.int64)

    def part(self, step: int) -> slice:
        """The rows of a state."""
        return slice(step * self.n, (step + 1) * self.n)

    def take(self, step: int, choice: np.ndarray) -> None:
        """The state after `step`, when each row takes its choice."""
        self.choice[step] = choice
        before, after = (self.states[self.part(number)] for number in (step, step + 1))
        acquire(self.x, choice, self.costs, self.reveal, before, after, *self.left[step : step + 2])


class PredictorPolicy(NetworkPolicy):
    """A policy with a predictor of its own: trained first by itself, then together with what selects.

    The network has `predict([x*m, m])`, its linear layers `predicting`, with dropout and ReLU between, and
    `first_trained`, the part of it that the first stage trains.
    """

    joint_class: ClassVar[type[Joint]]

    def train_network(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        settings, network, steps = self.settings_, self.network_, most_steps(dataset, self.budget_)
        tick = Ticker(progress, settings.most_epochs, self.name.upper())
        first_stage(self.name, network.first_trained, rows, settings, lambda: pretrain(network, rows, settings, tick))
        self.joint_class(network, rows, settings, steps, self.budget_, self.faithful).train(tick)

    def probabilities(self, values: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(self.network_.predict(masked_input(values, mask)), dim=1)


def pretrain(network: Any, rows: Rows, settings: PredictorSettings, tick: Ticker) -> None:
    """Train `network.first_trained` so that `predict([x*m, m])` gives good class scores, best state restored.

    The validation masks are drawn once, from the same range, so that epochs are compared on the same task.
    """
    weights, module = rows.weights(normalised=False), network.first_trained.eval()
    optimiser = adam([as_one_vector(module)], settings.lr)
    layers = DroppedLayers.of(network.predicting, settings.dropout, settings.batch)
    plateau = Plateau(module, optimiser, settings.patience)
    low, high = settings.hide
    share = low + (high - low) * torch.rand(len(rows.x_validation), 1)
    validation = masked_input(rows.x_validation, (torch.rand_like(rows.x_validation) >= share).float())
    parts = {"module": module, "optimiser": optimiser, "plateau": plateau}
    for _ in resumable("predictor", settings.pretrain_epochs, **parts):
        for index in batches(len(rows.x), settings.batch):
            x = rows.x[index]
            p = low + (high - low) * float(torch.rand(()))
            set_gradients(layers, x, torch.rand_like(x) >= p, rows.y[index], weights)
            optimiser.step()
        with torch.no_grad():
            stop = plateau.step(float(weighted_loss(network.predict(validation), rows.y_validation, weights)))
        tick()
        if stop:
            break
    plateau.restore()


@torch.no_grad()
def set_gradients(layers: DroppedLayers, x: Tensor, mask: Tensor, y: Tensor, weights: Tensor) -> None:
    """Set the gradients of layers that read [x*m, m] to those of their `weighted_loss`, dropout on."""
    n, d = x.shape
    torch.mul(x, mask, out=layers.kept[0][:n, :d])
    layers.kept[0][:n, d:] = mask
    scores = layers.forward(0, n)
    class_losses(scores.numpy(), y.numpy(), weights.numpy(), 1 / n, layers.flows[-1][:n].numpy())
    layers.backward(n)
