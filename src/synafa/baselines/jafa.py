"""JAFA (Shim et al. 2018): a set encoder shared by a classifier and a double-DQN that learns what to ask for.

The encoder turns the observed set into 16 numbers; the Q-network reads them without a gradient, the classifier with one
and keeps training on the states visited. An episode's only reward under a hard budget comes at its end: -w_y * CE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from synafa.baselines.common import Rows, adam, descend, mlp, sample_losses
from synafa.baselines.network_policy import NetworkPolicy
from synafa.baselines.rl import (
    Arena,
    affordable,
    collect,
    double_q_value,
    epsilon_greedy,
    lambda_returns,
    soft_update,
    target_copy,
)
from synafa.baselines.rl_training import PretrainSettings, greedy_loss, run_batches, supervised_start
from synafa.baselines.set_encoder import SetEncoder, start_lively
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
        optimiser = adam(network.parameters(), settings.learning_rate)
        weights = rows.weights()

        def one_batch(batch: int) -> None:
            encodings: list[Tensor] = []
            epsilon = settings.epsilon(batch)

            def choose(arena: Arena) -> Tensor:
                encodings.append(network.encoder(arena.values(), arena.mask))
                return epsilon_greedy(network.q(encodings[-1]), arena.allowed, epsilon)

            with torch.no_grad():
                frames = collect(arena, choose, settings.steps)
                encodings.append(network.encoder(arena.values(), arena.mask))
            # The states the actions led to train the classifier; where one ended its episode its loss is the reward.
            reached, index = frames.after.flatten(0, 1), frames.rows[:-1].flatten()
            losses = sample_losses(network.logits(rows.x[index] * reached, reached), rows.y[index], weights)
            reward = torch.where(frames.done, -losses.detach().view(frames.done.shape), 0.0)
            # The network has not changed since the frames were collected, so their encodings still hold.
            states = torch.stack(encodings)
            q = network.q(states)
            may = affordable(frames.mask[1:], frames.remaining[1:], arena.costs)
            with torch.no_grad():
                following = double_q_value(q[1:], target(states[1:]), may)
                returns = lambda_returns(reward, frames.done, following, settings.trace)
            taken = q[:-1].gather(-1, frames.action[..., None]).squeeze(-1)
            descend(optimiser, losses.mean() + nn.functional.mse_loss(taken, returns))
            soft_update(target, network.q, settings.target_rate)

        parts = {"target": target, "optimiser": optimiser, "arena": arena}

        def validation_loss() -> float:
            return greedy_loss(network, rows, arena.costs, self.budget_)

        run_batches(network, settings, one_batch, validation_loss, progress, 0.2, "jafa: policy", **parts)
