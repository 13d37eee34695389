"""DIME: conditional mutual information of each hidden feature with the class, learned by regression.

Estimate_i = sigmoid(v_i) * entropy of the current prediction (nats), fitted to the drop of the loss that acquiring i
brought; predictor and value network share their first two layers. Acting: argmax over what is hidden of estimate/cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import (
    Plateau,
    Purse,
    Rows,
    Ticker,
    adam,
    batches,
    masked_input,
    mlp,
    most_steps,
    rows_of,
    sample_losses,
    scaled,
    set_lr,
    training,
)
from synafa.baselines.predictor import PredictorPolicy, pretrain
from synafa.datasets.dataset import Dataset


@dataclass(frozen=True)
class Settings:
    hidden: tuple[int, int] = (128, 128)
    dropout: float = 0.3
    hide: tuple[float, float] = (0.0, 0.9)
    pretrain_epochs: int = 200
    epochs: int = 250
    batch: int = 128
    lr: float = 1e-3
    min_lr: float = 1e-6
    patience: int = 5
    epsilon: float = 0.05
    epsilon_decay: float = 0.2
    decays: int = 10
    least_steps: int = 0


PROFILES = {
    "paper": Settings(),
    "standard": Settings(pretrain_epochs=15, epochs=30, lr=3e-3, decays=4, least_steps=1200),
    "quick": Settings(pretrain_epochs=5, epochs=10, lr=3e-3, patience=4, decays=2, least_steps=400),
}


def adapt(settings: Settings, dataset: Dataset) -> Settings:
    """More passes over few rows; pixels are hidden much more often than measurements."""
    settings = scaled(settings, len(dataset.train))
    return replace(settings, hide=(0.75, 0.99)) if dataset.name.startswith("mnist") else settings


class DIME(PredictorPolicy):
    """Discriminative estimation of conditional mutual information."""

    name = "dime"
    settings_class = Settings
    model_: _Networks

    def fit(
        self,
        dataset: Dataset,
        budget: float,
        settings: Settings | None = None,
        seed: int = 0,
        classifier: Any = None,
        progress: Any = None,
    ) -> Self:
        """Train predictor and value network for `budget`; `classifier` is not used."""
        settings = settings or adapt(PROFILES["standard"], dataset)
        rows = rows_of(dataset)
        tick = Ticker(progress, settings.pretrain_epochs + settings.epochs, "DIME")
        with training(seed):
            model = _Networks(rows.n_features, rows.n_classes, settings)
            pretrain(
                model,
                model.predict,
                rows,
                settings.hide,
                settings.pretrain_epochs,
                settings.batch,
                settings.patience,
                settings.lr,
                tick,
            )
            _Joint(model, rows, settings, most_steps(dataset, budget), float(budget), self.faithful).train(tick)
        model.eval()
        self.model_, self.settings_ = model, settings
        self.costs_ = np.asarray(dataset.costs, dtype=np.float64)
        return self

    @staticmethod
    def build(n_features: int, n_classes: int, settings: Settings) -> nn.Module:
        return _Networks(n_features, n_classes, settings)

    def estimates(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The estimated information of each feature, nats, float32 (n, D)."""
        return self.ask(lambda inputs: self.model_(inputs)[1], values, mask)

    def scores(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Estimate per cost for every feature, (n, D)."""
        return self.estimates(values, mask) / self.costs_


class _Networks(nn.Module):
    """A trunk of two layers with two heads: class scores, and one value per feature."""

    def __init__(self, n_features: int, n_classes: int, settings: Settings) -> None:
        super().__init__()
        self.n_classes = n_classes
        trunk = mlp([2 * n_features, *settings.hidden, 1], settings.dropout)
        self.trunk = trunk[:-1]
        self.classes = nn.Linear(settings.hidden[-1], n_classes)
        self.values = nn.Linear(settings.hidden[-1], n_features)

    def predict(self, inputs: Tensor) -> Tensor:
        return self.classes(self.trunk(inputs))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Class scores and estimates."""
        hidden = self.trunk(inputs)
        scores = self.classes(hidden)
        log_p = torch.log_softmax(scores.detach(), dim=1)
        entropy = -(log_p.exp() * log_p).sum(dim=1, keepdim=True)
        return scores, torch.sigmoid(self.values(hidden)) * entropy


class _Joint:
    """Epsilon-greedy episodes of B acquisitions; one optimiser step per batch."""

    def __init__(
        self, model: _Networks, rows: Rows, settings: Settings, steps: int, budget: float, faithful: bool
    ) -> None:
        self.model, self.rows, self.settings, self.steps = model, rows, settings, steps
        self.budget, self.faithful = budget, faithful
        self.weights = rows.weights()

    def train(self, tick: Ticker) -> None:
        settings = self.settings
        optimiser = adam(self.model.parameters(), settings.lr)
        plateau = Plateau(self.model, optimiser, settings.patience, settings.min_lr)
        epsilon, decays = settings.epsilon, 0
        for _ in range(settings.epochs):
            self.model.train()
            for index in batches(len(self.rows.x), settings.batch):
                loss = self.loss(self.rows.x[index], self.rows.y[index], epsilon)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
            self.model.eval()
            tick()
            if plateau.step(self.greedy_loss(self.rows.x_validation, self.rows.y_validation)):
                decays += 1
                if decays >= settings.decays:
                    break
                epsilon *= settings.epsilon_decay
                plateau.bad_epochs = 0
                set_lr(optimiser, settings.lr)
        plateau.restore()

    def loss(self, x: Tensor, y: Tensor, epsilon: float) -> Tensor:
        """Squared error of the estimates and the prediction losses of the B + 1 states, each divided by B + 1."""
        purse = Purse(self.rows, len(x), self.budget, self.faithful)
        losses, estimates, live = [], [], []
        for step in range(self.steps + 1):
            scores, estimate = self.model(masked_input(x, purse.shown))
            losses.append(sample_losses(scores, y, self.weights))
            if step == self.steps:
                break
            ratio = purse.scores(estimate.detach() / self.rows.costs)
            if epsilon > 0:
                lottery = torch.rand_like(ratio).masked_fill(torch.isinf(ratio), -1.0)
                explore = torch.rand(len(x)) < epsilon
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
        """The mean prediction loss along the greedy episodes, as at test."""
        purse = Purse(self.rows, len(x), self.budget, self.faithful)
        total = 0.0
        for step in range(self.steps + 1):
            scores, estimate = self.model(masked_input(x, purse.shown))
            if step > 0:
                total += float(sample_losses(scores, y, self.weights).mean())
            if step < self.steps:
                ratio = purse.scores(estimate / self.rows.costs)
                purse.take(ratio.argmax(dim=1), ratio)
        return total / self.steps
