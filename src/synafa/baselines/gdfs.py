"""GDFS: a selector network that names the next feature, trained through relaxed samples with a predictor.

Selector logits l(x, m); training masks max(m, Concrete((l - log c) / 0.2, tau)), tau falling from 1 to 0.1; acting:
argmax over what is hidden of l - log c (the same cost term as in training).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import (
    BestState,
    Plateau,
    Purse,
    Rows,
    Ticker,
    adam,
    batches,
    concrete,
    hard_draw,
    masked_input,
    mlp,
    most_steps,
    rows_of,
    scaled,
    training,
    weighted_loss,
)
from synafa.baselines.predictor import PredictorPolicy, pretrain
from synafa.datasets.dataset import Dataset


@dataclass(frozen=True)
class Settings:
    hidden: tuple[int, int] = (128, 128)
    dropout: float = 0.3
    hide: tuple[float, float] = (0.0, 0.9)
    pretrain_epochs: int = 100
    epochs: int = 250  # at most, for each temperature
    batch: int = 128
    lr: float = 1e-3
    min_lr: float = 1e-5
    patience: int = 5
    temperatures: tuple[float, float, int] = (1.0, 0.1, 5)
    logit_scale: float = 0.2
    least_steps: int = 0


PROFILES = {
    "paper": Settings(),
    "standard": Settings(pretrain_epochs=20, epochs=6, batch=256, lr=2e-3, patience=3, least_steps=400),
    "quick": Settings(pretrain_epochs=5, epochs=2, lr=3e-3, patience=2, least_steps=80),
}


def adapt(settings: Settings, dataset: Dataset) -> Settings:
    """More passes over few rows; pixels are hidden much more often than measurements."""
    settings = scaled(settings, len(dataset.train))
    return replace(settings, hide=(0.75, 0.99)) if dataset.name.startswith("mnist") else settings


class GDFS(PredictorPolicy):
    """Greedy dynamic feature selection."""

    name = "gdfs"
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
        """Train predictor and selector for `budget`; `classifier` is not used."""
        settings = settings or adapt(PROFILES["standard"], dataset)
        rows = rows_of(dataset)
        steps = most_steps(dataset, budget)
        most = settings.pretrain_epochs + settings.epochs * settings.temperatures[2]
        tick = Ticker(progress, most, "GDFS")
        with training(seed):
            model = _Networks(rows.n_features, rows.n_classes, settings)
            pretrain(
                model.predictor,
                model.predictor,
                rows,
                settings.hide,
                settings.pretrain_epochs,
                settings.batch,
                settings.patience,
                settings.lr,
                tick,
            )
            _Joint(model, rows, settings, steps, float(budget), self.faithful).train(tick)
        model.eval()
        self.model_, self.settings_ = model, settings
        self.costs_ = np.asarray(dataset.costs, dtype=np.float64)
        return self

    @staticmethod
    def build(n_features: int, n_classes: int, settings: Settings) -> nn.Module:
        return _Networks(n_features, n_classes, settings)

    def scores(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """l - log c for every feature, float32 (n, D)."""
        return self.ask(self.model_.selector, values, mask) - np.log(self.costs_).astype(np.float32)


class _Networks(nn.Module):
    def __init__(self, n_features: int, n_classes: int, settings: Settings) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.predictor = mlp([2 * n_features, *settings.hidden, n_classes], settings.dropout)
        self.selector = mlp([2 * n_features, *settings.hidden, n_features], settings.dropout)

    def predict(self, inputs: Tensor) -> Tensor:
        return self.predictor(inputs)


class _Joint:
    """The joint training: hard masks are rolled out first, then all B relaxed predictions are made in one pass."""

    def __init__(
        self, model: _Networks, rows: Rows, settings: Settings, steps: int, budget: float, faithful: bool
    ) -> None:
        self.model, self.rows, self.settings, self.steps = model, rows, settings, steps
        self.budget, self.faithful = budget, faithful
        self.weights = rows.weights()
        self.log_cost = rows.costs.log()

    def train(self, tick: Ticker) -> None:
        settings = self.settings
        best = BestState(self.model)
        first, last, count = settings.temperatures
        for stage, temperature in enumerate(np.geomspace(first, last, count), start=1):
            optimiser = adam(self.model.parameters(), settings.lr)
            plateau = Plateau(self.model, optimiser, settings.patience, settings.min_lr)
            for _ in range(settings.epochs):
                self.model.train()
                for index in batches(len(self.rows.x), settings.batch):
                    loss = self.relaxed_loss(self.rows.x[index], self.rows.y[index], float(temperature))
                    optimiser.zero_grad(set_to_none=True)
                    loss.backward()
                    optimiser.step()
                self.model.eval()
                validation = self.hard_loss(self.rows.x_validation, self.rows.y_validation)
                best.offer(validation)
                tick()
                if plateau.step(validation):
                    break
            plateau.restore()
            tick.reach(settings.pretrain_epochs + stage * settings.epochs)
        best.restore()

    def relaxed_loss(self, x: Tensor, y: Tensor, temperature: float) -> Tensor:
        """The loss averaged over the B steps; masks move by hard draws without gradient."""
        purse = Purse(self.rows, len(x), self.budget, self.faithful)
        masks, scores = [], []
        for step in range(self.steps):
            score = (self.model.selector(masked_input(x, purse.shown)) - self.log_cost) / self.settings.logit_scale
            dear = purse.unaffordable()
            scores.append(score if dear is None else score.masked_fill(dear, -1e9))
            masks.append(purse.shown)
            if step < self.steps - 1:
                possible = purse.scores(score.detach())
                purse.take(hard_draw(possible), possible)
        sample = self.rows.shown(concrete(torch.cat(scores), temperature))
        soft = torch.maximum(torch.cat(masks), sample)
        logits = self.model.predictor(masked_input(x.repeat(self.steps, 1), soft))
        return weighted_loss(logits, y.repeat(self.steps), self.weights)

    @torch.no_grad()
    def hard_loss(self, x: Tensor, y: Tensor) -> float:
        """The loss averaged over the B steps when acting as at test."""
        purse = Purse(self.rows, len(x), self.budget, self.faithful)
        total = 0.0
        for _ in range(self.steps):
            possible = purse.scores(self.model.selector(masked_input(x, purse.shown)) - self.log_cost)
            purse.take(possible.argmax(dim=1), possible)
            total += float(weighted_loss(self.model.predictor(masked_input(x, purse.shown)), y, self.weights))
        return total / self.steps
