"""GDFS: a selector network that names the next feature, trained through relaxed samples with a predictor.

Selector logits l(x, m); training masks max(m, Concrete((l - log c) / 0.2, tau)), tau falling from 1 to 0.1; acting:
argmax over what is hidden of l - log c (the same cost term as in training).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import (
    BestState,
    Plateau,
    Ticker,
    adam,
    concrete,
    hard_draw,
    masked_input,
    mlp,
    one_epoch,
    weighted_loss,
)
from synafa.baselines.predictor import Joint, PredictorPolicy
from synafa.baselines.settings import AnnealedSettings, PredictorSettings
from synafa.neural.resume import resumable


@dataclass(frozen=True)
class Settings(PredictorSettings, AnnealedSettings):
    min_lr: float = 1e-5
    temperatures: tuple[float, float, int] = (1.0, 0.1, 5)


PROFILES = {
    "paper": Settings(),
    "standard": Settings(pretrain_epochs=20, epochs=6, batch=256, lr=2e-3, patience=3, least_steps=400),
    "quick": Settings(pretrain_epochs=5, epochs=2, lr=3e-3, patience=2, least_steps=80),
}


class _Networks(nn.Module):
    def __init__(self, settings: Settings, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.predictor = mlp([2 * n_features, *settings.hidden, n_classes], settings.dropout)
        self.selector = mlp([2 * n_features, *settings.hidden, n_features], settings.dropout)

    @property
    def first_trained(self) -> nn.Module:
        return self.predictor

    def predict(self, inputs: Tensor) -> Tensor:
        return self.predictor(inputs)


class _Joint(Joint):
    """The joint training: hard masks are rolled out first, then all B relaxed predictions are made in one pass."""

    def train(self, tick: Ticker) -> None:
        settings, rows = self.settings, self.rows
        best = BestState(self.network)
        for stage, temperature in settings.stages():
            optimiser = adam(self.network.parameters(), settings.lr)
            plateau = Plateau(self.network, optimiser, settings.patience, settings.min_lr)
            parts = {"network": self.network, "optimiser": optimiser, "plateau": plateau, "best": best}
            for _ in resumable(f"GDFS {stage}", settings.epochs, **parts):
                self.network.train()
                one_epoch(rows, settings.batch, optimiser, partial(self.relaxed_loss, temperature))
                self.network.eval()
                best.offer(self.hard_loss(rows.x_validation, rows.y_validation))
                tick()
                if plateau.step(self.soft_loss(temperature, rows.x_validation, rows.y_validation)):
                    break
            plateau.restore()
            tick.reach(settings.pretrain_epochs + stage * settings.epochs)
        best.restore()

    def merit(self, x: Tensor, shown: Tensor) -> Tensor:
        """l - log c, (n, D)."""
        return self.network.selector(masked_input(x, shown)) - self.rows.costs.log()

    def relaxed_loss(self, temperature: float, x: Tensor, y: Tensor) -> Tensor:
        """The loss averaged over the B steps; masks move by hard draws without gradient."""
        purse = self.purse(len(x))
        masks, scores = [], []
        for step in range(self.steps):
            score = self.merit(x, purse.shown) / self.settings.logit_scale
            dear = purse.unaffordable()
            scores.append(score if dear is None else score.masked_fill(dear, -1e9))
            masks.append(purse.shown)
            if step < self.steps - 1:
                possible = purse.scores(score.detach())
                purse.take(hard_draw(possible), possible)
        sample = self.rows.shown(concrete(torch.cat(scores), temperature))
        soft = torch.maximum(torch.cat(masks), sample)
        logits = self.network.predictor(masked_input(x.repeat(self.steps, 1), soft))
        return weighted_loss(logits, y.repeat(self.steps), self.weights)

    @torch.no_grad()
    def soft_loss(self, temperature: float, x: Tensor, y: Tensor) -> float:
        """The loss that is trained, on other rows: what the plateau at this temperature watches."""
        return float(self.relaxed_loss(temperature, x, y))

    @torch.no_grad()
    def hard_loss(self, x: Tensor, y: Tensor) -> float:
        """The loss averaged over the B steps when acting as at test."""
        purse = self.purse(len(x))
        total = 0.0
        for _ in range(self.steps):
            possible = purse.scores(self.merit(x, purse.shown))
            purse.take(possible.argmax(dim=1), possible)
            total += float(weighted_loss(self.network.predictor(masked_input(x, purse.shown)), y, self.weights))
        return total / self.steps


class GDFS(PredictorPolicy):
    """Greedy dynamic feature selection."""

    name = "gdfs"
    profiles = PROFILES
    network_class = _Networks
    joint_class = _Joint

    def scores(self, values: Tensor, mask: Tensor) -> Tensor:
        """l - log c for every feature, float32 (n, D)."""
        log_cost = torch.from_numpy(np.log(self.weighed(mask.numpy())).astype(np.float32))
        return self.network_.selector(masked_input(values, mask)) - log_cost
