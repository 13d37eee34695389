"""DIME: conditional mutual information of each hidden feature with the class, learned by regression.

Estimate_i = sigmoid(v_i) * entropy of the current prediction (nats), fitted to the drop of the loss that acquiring i
brought; predictor and value network share their first two layers. Acting: argmax over what is hidden of estimate/cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import Plateau, Ticker, adam, masked_input, mlp, one_epoch, sample_losses, set_lr
from synafa.baselines.predictor import Joint, PredictorPolicy
from synafa.baselines.settings import PredictorSettings
from synafa.neural.resume import resumable


@dataclass(frozen=True)
class Settings(PredictorSettings):
    pretrain_epochs: int = 200
    epsilon: float = 0.05
    epsilon_decay: float = 0.2
    decays: int = 10
    unit_weights: bool = False  # class weights of mean 1 over rows in place of sum 1 over classes


PROFILES = {
    "paper": Settings(),
    "standard": Settings(pretrain_epochs=15, epochs=30, lr=3e-3, decays=4, least_steps=1200, unit_weights=True),
    "quick": Settings(pretrain_epochs=5, epochs=10, lr=3e-3, patience=4, decays=2, least_steps=400, unit_weights=True),
}


class _Networks(nn.Module):
    """A trunk of two layers with two heads: class scores, and one value per feature."""

    def __init__(self, settings: Settings, n_features: int, n_classes: int) -> None:
        super().__init__()
        trunk = mlp([2 * n_features, *settings.hidden, 1], settings.dropout)
        self.trunk = trunk[:-1]
        self.classes = nn.Linear(settings.hidden[-1], n_classes)
        self.values = nn.Linear(settings.hidden[-1], n_features)

    @property
    def first_trained(self) -> nn.Module:
        return self

    def predict(self, inputs: Tensor) -> Tensor:
        return self.classes(self.trunk(inputs))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Class scores and estimates."""
        hidden = self.trunk(inputs)
        scores = self.classes(hidden)
        log_p = torch.log_softmax(scores.detach(), dim=1)
        entropy = -(log_p.exp() * log_p).sum(dim=1, keepdim=True)
        return scores, torch.sigmoid(self.values(hidden)) * entropy


class _Joint(Joint):
    """Epsilon-greedy episodes of B acquisitions; one optimiser step per batch."""

    def train(self, tick: Ticker) -> None:
        settings, rows = self.settings, self.rows
        optimiser = adam(self.network.parameters(), settings.lr)
        plateau = Plateau(self.network, optimiser, settings.patience, settings.min_lr)
        if settings.unit_weights:  # the estimate is bounded by an entropy in nats, so the loss must be in nats too
            self.weights = rows.unit_weights()
        kept = {"epsilon": settings.epsilon, "decays": 0}
        parts = {"network": self.network, "optimiser": optimiser, "plateau": plateau, "kept": kept}
        for _ in resumable("DIME", settings.epochs, **parts):
            self.epsilon = kept["epsilon"]
            self.network.train()
            one_epoch(rows, settings.batch, optimiser, self.loss)
            self.network.eval()
            tick()
            if plateau.step(self.greedy_loss(rows.x_validation, rows.y_validation)):
                kept["decays"] += 1
                if kept["decays"] >= settings.decays:
                    break
                kept["epsilon"] *= settings.epsilon_decay
                plateau.bad_epochs = 0
                set_lr(optimiser, settings.lr)
        plateau.restore()

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Squared error of the estimates and the prediction losses of the B + 1 states, each divided by B + 1."""
        purse = self.purse(len(x))
        losses, estimates, live = [], [], []
        for step in range(self.steps + 1):
            scores, estimate = self.network(masked_input(x, purse.shown))
            losses.append(sample_losses(scores, y, self.weights))
            if step == self.steps:
                break
            ratio = purse.scores(estimate.detach() / self.rows.costs)
            if self.epsilon > 0:
                lottery = torch.rand_like(ratio).masked_fill(torch.isinf(ratio), -1.0)
                explore = torch.rand(len(x)) < self.epsilon
                choice = torch.where(explore, lottery.argmax(dim=1), ratio.argmax(dim=1))
            else:
                choice = ratio.argmax(dim=1)
            live.append(torch.isfinite(ratio.gather(1, choice[:, None]))[:, 0])
            estimates.append(estimate.gather(1, choice[:, None])[:, 0])
            purse.take(choice, ratio)
        after = torch.stack(losses)
        gained = (after[:-1] - after[1:]).detach()
        error = ((torch.stack(estimates) - gained) ** 2 * torch.stack(live)).mean(dim=1).sum()
        return (error + after.mean(dim=1).sum()) / (self.steps + 1)

    @torch.no_grad()
    def greedy_loss(self, x: Tensor, y: Tensor) -> float:
        """The mean prediction loss of the B + 1 states of greedy episodes, the empty one included, as in training."""
        purse = self.purse(len(x))
        total = 0.0
        for step in range(self.steps + 1):
            scores, estimate = self.network(masked_input(x, purse.shown))
            total += float(sample_losses(scores, y, self.weights).mean())
            if step < self.steps:
                ratio = purse.scores(estimate / self.rows.costs)
                purse.take(ratio.argmax(dim=1), ratio)
        return total / (self.steps + 1)


class DIME(PredictorPolicy):
    """Discriminative estimation of conditional mutual information."""

    name = "dime"
    profiles = PROFILES
    network_class = _Networks
    joint_class = _Joint

    def estimates(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The estimated information of each feature, nats, float32 (n, D)."""
        return self.ask(self._estimates, values, mask)

    def _estimates(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.network_(masked_input(values, mask))[1]

    def scores(self, values: Tensor, mask: Tensor) -> Tensor:
        """Estimate per cost for every feature, (n, D)."""
        return self._estimates(values, mask).double() / torch.from_numpy(self.weighed(mask.numpy()))
