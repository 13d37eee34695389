"""JAFA (Shim et al. 2018): a set encoder shared by a classifier and a double-DQN that learns what to ask for.

The encoder turns the observed set into 16 numbers; the Q-network reads them without a gradient, the classifier with one
and keeps training on the states visited. An episode's only reward under a hard budget comes at its end: -w_y * CE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from synafa.baselines.common import Rows, adam, mlp
from synafa.baselines.layers import Layers, as_one_vector, gradients_of
from synafa.baselines.network_policy import NetworkPolicy
from synafa.baselines.rl import (
    Arena,
    Frames,
    affordable,
    collect,
    double_q_value,
    epsilon_greedy,
    lambda_returns,
    soft_update,
    target_copy,
)
from synafa.baselines.rl_training import PretrainSettings, greedy_loss, run_batches, supervised_start
from synafa.baselines.set_encoder import Pass, SetEncoder, start_lively
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset


@dataclass(frozen=True)
class Settings(PretrainSettings):
    """Published numbers: 10,000 batches of 512 frames, encoder 32-32-16 with five rounds, classifier and Q 32-32."""

    encoder_hidden: tuple[int, int] = (32, 32)
    encoder_width: int = 16
    rounds: int = 5
    classifier_hidden: tuple[int, ...] = (32, 32)
    q_hidden: tuple[int, ...] = (32, 32)
    for_images: ClassVar[dict[str, Any]] = {"classifier_hidden": (128, 128)}


PROFILES = {
    "paper": Settings(),
    "standard": Settings(batches=1500, pretrain_batches=2000, pretrain_patience=5, checks=10),
    "quick": Settings(batches=250, pretrain_batches=500, pretrain_patience=5, checks=5),
}


class _Network(nn.Module):
    def __init__(self, settings: Settings, n_features: int, n_classes: int) -> None:
        super().__init__()
        width = settings.encoder_width
        self.encoder = SetEncoder(n_features, settings.encoder_hidden, width, settings.rounds)
        self.classifier = mlp((width, *settings.classifier_hidden, n_classes))
        start_lively(self.classifier)
        self.q = mlp((width, *settings.q_hidden, n_features))

    def logits(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.classifier(self.encoder(values, mask))

    def scores(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.q(self.encoder(values, mask).detach())


class _Learner:
    """Collects a batch of frames and sets the network's gradients, which must exist, to those of its loss on them."""

    def __init__(self, network: _Network, rows: Rows, trace: float) -> None:
        self.network, self.rows, self.trace = network, rows, trace
        self.weights = rows.weights()
        self.q, self.classifier = Layers.trained(network.q), Layers.trained(network.classifier)

    @torch.no_grad()
    def set_gradients(self, arena: Arena, target: nn.Module, steps: int, epsilon: float) -> None:
        encoder = self.network.encoder
        encodings: list[Tensor] = []

        def choose(arena: Arena) -> Tensor:
            encodings.append(encoder(arena.values(), arena.mask))
            return epsilon_greedy(self.q.forward(encodings[-1]), arena.allowed, epsilon)

        frames = collect(arena, choose, steps)
        # The states the actions led to train the classifier; where one ended its episode its loss is the reward.
        reached, index = frames.after.flatten(0, 1), frames.rows[:-1].flatten()
        once = Pass(encoder)
        encoded = once.forward(self.rows.x[index] * reached, reached, keep=True)
        losses, by_encoded = self._classify(encoded, self.rows.y[index])
        torch._foreach_copy_(gradients_of(encoder.own), once.backward(by_encoded))
        # The network has not changed meanwhile: the last encodings hold for the next states, or these are empty.
        last = torch.where(frames.done[-1][:, None], encoder.empty, encoded[-len(arena.rows) :])
        may = affordable(frames.mask[1:], frames.remaining[1:], arena.costs)
        reward = torch.where(frames.done, -losses.view(frames.done.shape), 0.0)
        self._value(torch.stack([*encodings, last]), frames, may, reward, target)

    def _classify(self, encoded: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Each row's weighted cross-entropy, and its mean's gradient: the classifier's is set, the input's returned."""
        log_p = torch.log_softmax(self.classifier.forward(encoded), dim=1)
        weight, truth = self.weights[y], y[:, None]
        losses = -weight * log_p.gather(1, truth)[:, 0]
        wrong = log_p.exp_().scatter_add_(1, truth, torch.full(truth.shape, -1.0))
        return losses, self.classifier.backward(wrong.mul_(weight[:, None] / len(y)))

    def _value(self, states: Tensor, frames: Frames, may: Tensor, reward: Tensor, target: nn.Module) -> None:
        """The gradient of the squared distance between the actions' values and their returns."""
        q = self.q.forward(states.flatten(0, 1)).view(*states.shape[:2], -1)
        following = double_q_value(q[1:], target(states[1:]), may)
        returns = lambda_returns(reward, frames.done, following, self.trace)
        action = frames.action[..., None]
        surplus = q[:-1].gather(-1, action) - returns[..., None]
        self.q.backward(torch.zeros_like(q).scatter_(-1, action, surplus * (2 / returns.numel())).flatten(0, 1))


class JAFA(NetworkPolicy):
    """Joint active feature acquisition and classification."""

    name = "jafa"
    profiles = PROFILES
    network_class = _Network
    network_: _Network

    def train_network(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        settings, network = self.settings_, self.network_
        arena = Arena.of(self, rows, settings.parallel)
        reader = nn.ModuleList([network.encoder, network.classifier])
        supervised_start(
            "jafa", reader, network.logits, rows, settings, lambda share: progress(0.2 * share, "jafa: classifier")
        )
        target = target_copy(network.q)
        optimiser = adam([as_one_vector(network)], settings.learning_rate)
        learner = _Learner(network, rows, settings.trace)

        def one_batch(batch: int) -> None:
            learner.set_gradients(arena, target, settings.steps, settings.epsilon(batch))
            optimiser.step()
            soft_update(target, network.q, settings.target_rate)

        parts = {"target": target, "optimiser": optimiser, "arena": arena}

        def validation_loss() -> float:
            return greedy_loss(network, rows, arena.costs, self.budget_)

        run_batches(network, settings, one_batch, validation_loss, progress, 0.2, "jafa: policy", **parts)
