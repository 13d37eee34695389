"""GDFS: a selector network that names the next feature, trained through relaxed samples with a predictor.

Selector logits l(x, m); training masks max(m, Concrete((l - log c) / 0.2, tau)), tau falling from 1 to 0.1; acting:
argmax over what is hidden of l - log c (the same cost term as in training).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import BestState, Plateau, Ticker, adam, batches, masked_input, mlp, weighted_loss
from synafa.baselines.dropped_layers import DroppedLayers, seed
from synafa.baselines.gdfs_kernels import by_logits, by_sample, drawn, relaxed, soften
from synafa.baselines.layers import as_one_vector, linear_layers
from synafa.baselines.predictor import Episodes, Joint, PredictorPolicy
from synafa.baselines.selector_kernels import class_losses
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

    @property
    def predicting(self) -> list[nn.Linear]:
        return linear_layers(self.predictor)

    def predict(self, inputs: Tensor) -> Tensor:
        return self.predictor(inputs)


class _Learner:
    """The loss of a batch, averaged over the B steps of episodes, and its gradients, which must exist.

    Masks move by hard draws without gradient; then all B relaxed predictions are one pass, and so is each network's
    gradient. The last batch's `selector`, `predictor`, `episodes` and relaxed `weights` are kept.
    """

    def __init__(self, joint: Joint, most: int) -> None:
        self.joint, self.most = joint, most
        self.log_costs = joint.rows.costs.log().numpy()
        network, dropout = joint.network, joint.settings.dropout
        self.selector = DroppedLayers.of(linear_layers(network.selector), dropout, (joint.steps + 1) * most)
        self.predictor = DroppedLayers.of(linear_layers(network.predictor), dropout, joint.steps * most)

    @torch.no_grad()
    def set_gradients(self, temperature: float, x: Tensor, y: Tensor) -> None:
        self._forward(temperature, x, y, training=True)
        n, reveal = self.joint.steps * len(x), self.joint.rows.reveal
        self.predictor.backward(n, to_input=True)
        flow = by_sample(self.episodes.x, self.episodes.states, self.predictor.flows[0][:n].numpy())
        if reveal is not None:
            unclamped = torch.from_numpy(self.weights) @ reveal <= 1.0
            flow = ((torch.from_numpy(flow) * unclamped) @ reveal.T).numpy()
        factor = 1 / (temperature * self.joint.settings.logit_scale)
        by_logits(self.weights, flow, factor, self.selector.flows[-1][:n].numpy())
        self.selector.backward(n)

    @torch.no_grad()
    def loss(self, temperature: float, x: Tensor, y: Tensor) -> float:
        """The loss of any number of rows, dropout off."""
        pieces = zip(x.split(self.most), y.split(self.most))
        total = sum(float(self._forward(temperature, *piece, training=False).sum()) for piece in pieces)
        return total / (self.joint.steps * len(x))

    def _forward(self, temperature: float, x: Tensor, y: Tensor, training: bool) -> np.ndarray:
        """The losses of all B * n relaxed masks; the gradient of the predictor's output is set."""
        n, steps, rows, weights = len(x), self.joint.steps, self.joint.rows, self.joint.weights.numpy()
        score = self.log_costs, self.joint.settings.logit_scale
        self.episodes = episodes = Episodes(self.joint, x, self.selector.kept[0])
        for step in range(steps):
            part = episodes.part(step)
            logits = self.selector.forward(part.start, part.stop, training).numpy()
            if step < steps - 1:
                state = episodes.states[part], episodes.left[step], episodes.costs
                episodes.take(step, drawn(logits, *score, seed(), *state))
        logits, states = self.selector.kept[-1][: steps * n].numpy(), episodes.states[: steps * n]
        state = states, episodes.left[:steps].ravel(), episodes.costs
        self.weights = relaxed(logits, *score, seed(), *state, temperature)
        sample = rows.shown(torch.from_numpy(self.weights)).numpy()
        soften(episodes.x, states, sample, self.predictor.kept[0].numpy())
        outputs = self.predictor.forward(0, steps * n, training).numpy()
        gradient = self.predictor.flows[-1][: steps * n].numpy()
        return class_losses(outputs, y.numpy(), weights, 1 / (steps * n), gradient)[0]


class _Joint(Joint):
    """The joint training at each of the falling temperatures."""

    def train(self, tick: Ticker) -> None:
        settings, rows = self.settings, self.rows
        best = BestState(self.network)
        whole = as_one_vector(self.network.eval())
        self.learner = _Learner(self, settings.batch)
        for stage, temperature in settings.stages():
            optimiser = adam([whole], settings.lr)
            plateau = Plateau(self.network, optimiser, settings.patience, settings.min_lr)
            parts = {"network": self.network, "optimiser": optimiser, "plateau": plateau, "best": best}
            for _ in resumable(f"GDFS {stage}", settings.epochs, **parts):
                for index in batches(len(rows.x), settings.batch):
                    self.learner.set_gradients(temperature, rows.x[index], rows.y[index])
                    optimiser.step()
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

    def soft_loss(self, temperature: float, x: Tensor, y: Tensor) -> float:
        """The loss that is trained, on other rows: what the plateau at this temperature watches."""
        return self.learner.loss(temperature, x, y)

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
