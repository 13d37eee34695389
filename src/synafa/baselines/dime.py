"""DIME: conditional mutual information of each hidden feature with the class, learned by regression.

Estimate_i = sigmoid(v_i) * entropy of the current prediction (nats), fitted to the drop of the loss that acquiring i
brought; predictor and value network share their first two layers. Acting: argmax over what is hidden of estimate/cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import Plateau, Ticker, adam, batches, masked_input, mlp, sample_losses, set_lr
from synafa.baselines.dime_kernels import choices, error_gradient
from synafa.baselines.dropped_layers import DroppedLayers, Pairs, pairs
from synafa.baselines.layers import as_one_vector, linear_layers
from synafa.baselines.predictor import Episodes, Joint, PredictorPolicy
from synafa.baselines.selector_kernels import class_losses
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

    @property
    def predicting(self) -> list[nn.Linear]:
        return [*linear_layers(self.trunk), self.classes]

    def predict(self, inputs: Tensor) -> Tensor:
        return self.classes(self.trunk(inputs))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Class scores and estimates."""
        hidden = self.trunk(inputs)
        scores = self.classes(hidden)
        log_p = torch.log_softmax(scores.detach(), dim=1)
        entropy = -(log_p.exp() * log_p).sum(dim=1, keepdim=True)
        return scores, torch.sigmoid(self.values(hidden)) * entropy


class _Learner:
    """Sets the network's gradients, which must exist, to those of the loss on a batch of epsilon-greedy episodes.

    The loss is the squared error of the estimates and the prediction losses of the B + 1 states, each divided by
    B + 1. The heads are read as one layer, class scores first; the last batch's `layers`, `episodes` are kept.
    """

    def __init__(self, joint: Joint, most: int) -> None:
        self.joint, self.network = joint, joint.network
        self.heads, self.by_heads = pairs([self.network.classes, self.network.values])
        trunk, by_trunk = pairs(linear_layers(self.network.trunk))
        self.head, by_head = _joined(self.heads), _joined(self.by_heads)
        most_rows = (joint.steps + 1) * most
        self.layers = DroppedLayers([*trunk, self.head], [*by_trunk, by_head], joint.settings.dropout, most_rows)

    @torch.no_grad()
    def set_gradients(self, x: Tensor, y: Tensor, epsilon: float) -> None:
        torch._foreach_copy_(list(self.head), list(_joined(self.heads)))
        self._episodes(x, y, epsilon)
        self.layers.backward(len(self.episodes.states))
        for joined, parts in zip(self.layers.gradients[-1], zip(*self.by_heads)):
            torch._foreach_copy_(list(parts), list(joined.split([len(part) for part in parts])))

    def _episodes(self, x: Tensor, y: Tensor, epsilon: float) -> None:
        """Run them; the gradient of the layers' output is set."""
        layers, steps, weights = self.layers, self.joint.steps, self.joint.weights.numpy()
        self.episodes = episodes = Episodes(self.joint, x, layers.kept[0])
        outputs, gradient = (rows[: len(episodes.states)].numpy() for rows in (layers.kept[-1], layers.flows[-1]))
        luck, share = torch.rand(steps, len(x), 2).numpy(), 1 / len(episodes.states)
        losses, entropy = np.empty((2, len(outputs)), dtype=np.float32)
        for step in range(steps + 1):
            part = episodes.part(step)
            layers.forward(part.start, part.stop)
            losses[part], entropy[part] = class_losses(outputs[part], y.numpy(), weights, share, gradient[part])
            if step < steps:
                state = episodes.states[part], episodes.left[step], episodes.costs
                episodes.take(step, choices(outputs[part], entropy[part], *state, luck[step], epsilon))
        error_gradient(outputs, len(weights), entropy, losses, episodes.choice.ravel(), share, gradient)


def _joined(heads: Pairs) -> tuple[Tensor, Tensor]:
    """Two layers with the same input as one: weight and bias."""
    (first, first_bias), (second, second_bias) = heads
    return torch.cat([first, second]), torch.cat([first_bias, second_bias])


class _Joint(Joint):
    """Epsilon-greedy episodes of B acquisitions; one optimiser step per batch."""

    def train(self, tick: Ticker) -> None:
        settings, rows = self.settings, self.rows
        optimiser = adam([as_one_vector(self.network.eval())], settings.lr)
        plateau = Plateau(self.network, optimiser, settings.patience, settings.min_lr)
        if settings.unit_weights:  # the estimate is bounded by an entropy in nats, so the loss must be in nats too
            self.weights = rows.unit_weights()
        learner = _Learner(self, settings.batch)
        kept = {"epsilon": settings.epsilon, "decays": 0}
        parts = {"network": self.network, "optimiser": optimiser, "plateau": plateau, "kept": kept}
        for _ in resumable("DIME", settings.epochs, **parts):
            for index in batches(len(rows.x), settings.batch):
                learner.set_gradients(rows.x[index], rows.y[index], kept["epsilon"])
                optimiser.step()
            tick()
            if plateau.step(self.greedy_loss(rows.x_validation, rows.y_validation)):
                kept["decays"] += 1
                if kept["decays"] >= settings.decays:
                    break
                kept["epsilon"] *= settings.epsilon_decay
                plateau.bad_epochs = 0
                set_lr(optimiser, settings.lr)
        plateau.restore()

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
